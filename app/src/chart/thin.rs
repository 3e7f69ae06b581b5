//! Thinning: at most two samples a pixel column, the lowest and the highest, in order of time. Gaps stay gaps.

/// Thins `samples` (in order of time) within [from, to] for `columns` columns. Each inner list is one unbroken stretch; a stretch
/// ends where the next sample is further away than `gap` seconds and than one and a half columns.
pub fn thin(samples: &[(f64, f64)], from: f64, to: f64, columns: usize, gap: f64) -> Vec<Vec<(f64, f64)>> {
    let width = ((to - from) / columns.max(1) as f64).max(f64::MIN_POSITIVE);
    let gap = gap.max(width * 1.5);
    let mut stretches: Vec<Vec<(f64, f64)>> = Vec::new();
    let mut column: Option<Column> = None;
    let mut last: Option<f64> = None;
    for &(x, y) in samples.iter().filter(|(x, y)| y.is_finite() && *x >= from && *x <= to) {
        // The very end belongs to the last column.
        let index = (((x - from) / width) as u64).min(columns.max(1) as u64 - 1);
        let broken = last.is_none_or(|previous| x - previous > gap);
        match &mut column {
            Some(open) if open.index == index && !broken => open.add(x, y),
            open => {
                if let (Some(done), Some(stretch)) = (open.take(), stretches.last_mut()) {
                    done.write(stretch);
                }
                if broken {
                    stretches.push(Vec::new());
                }
                *open = Some(Column { index, low: (x, y), high: (x, y) });
            }
        }
        last = Some(x);
    }
    if let (Some(done), Some(stretch)) = (column, stretches.last_mut()) {
        done.write(stretch);
    }
    stretches
}

/// The extremes of one column.
struct Column {
    index: u64,
    low: (f64, f64),
    high: (f64, f64),
}

impl Column {
    fn add(&mut self, x: f64, y: f64) {
        if y < self.low.1 {
            self.low = (x, y);
        }
        if y > self.high.1 {
            self.high = (x, y);
        }
    }

    fn write(self, stretch: &mut Vec<(f64, f64)>) {
        let (first, second) = if self.low.0 <= self.high.0 { (self.low, self.high) } else { (self.high, self.low) };
        stretch.push(first);
        if second.0 > first.0 {
            stretch.push(second);
        }
    }
}
