//! Times in microseconds, from 1 µs to 1 h, kept with 3 significant digits and merged without loss.

use std::io::Read as _;
use std::sync::Arc;

use flate2::read::ZlibDecoder;
use hdrhistogram::Histogram as Hdr;
use hdrhistogram::serialization::{Deserializer, Serializer, V2DeflateSerializer};

/// Smallest time kept apart, in µs; shorter ones count as this.
pub const LOWEST_US: u64 = 1;
/// Longest time kept apart, in µs (one hour); longer ones count as this.
pub const HIGHEST_US: u64 = 3_600_000_000;

/// Most times that a stored histogram may hold; far more than one second has, and sums of them fit 64 bits.
const MOST_STORED: u64 = u32::MAX as u64;

/// Buckets of one block. The buckets are those of HdrHistogram with 3 significant digits: below 2,048 µs each is 1 µs wide,
/// and from there on their width doubles with every block.
const BLOCK: usize = 1024;
/// Blocks up to [`HIGHEST_US`].
const BLOCKS: usize = 23;

/// Counts of times, with exact count, sum, minimum and maximum beside the buckets.
///
/// Memory is taken for the range of times that occur, 8 KB for each doubling, and never exceeds 190 KB. Adding two histograms
/// gives exactly the histogram of all samples together, so percentiles of workers, seconds and runs are never averaged.
#[derive(Clone, Debug, Default)]
pub struct Histogram {
    blocks: [Option<Box<[u64; BLOCK]>>; BLOCKS],
    count: u64,
    min_us: u64,
    max_us: u64,
    sum_us: u64,
    sum_squares: f64,
}

/// A stored histogram cannot be read.
#[derive(Clone, Debug, thiserror::Error)]
#[error("stored histogram is damaged: {0}")]
pub struct DecodeError(pub Arc<str>);

/// The bucket of a time: its block, and its place there.
#[inline]
fn bucket_of(us: u64) -> (usize, usize) {
    // How often the width has doubled: 0 below 2,048.
    let doubled = 53 - (us | 2047).leading_zeros();
    let place = (us >> doubled) as usize;
    (doubled as usize + place / BLOCK, place % BLOCK)
}

/// The lowest and the highest time of a bucket in µs.
fn range_of(block: usize, place: usize) -> (u64, u64) {
    let doubled = block.saturating_sub(1);
    let low = ((if block == 0 { 0 } else { BLOCK } + place) as u64) << doubled;
    (low, low + (1 << doubled) - 1)
}

fn empty_hdr() -> Hdr<u64> {
    Hdr::new_with_bounds(LOWEST_US, HIGHEST_US, 3).expect("bounds are constants that hdrhistogram accepts")
}

#[cold]
fn empty_block() -> Box<[u64; BLOCK]> {
    Box::new([0; BLOCK])
}

impl Histogram {
    /// Counts one time.
    #[inline]
    pub fn record(&mut self, us: u64) {
        let us = us.clamp(LOWEST_US, HIGHEST_US);
        let (block, place) = bucket_of(us);
        self.blocks[block].get_or_insert_with(empty_block)[place] += 1;
        self.min_us = if self.count == 0 { us } else { self.min_us.min(us) };
        self.max_us = self.max_us.max(us);
        self.count += 1;
        self.sum_us += us;
        self.sum_squares += us as f64 * us as f64;
    }

    /// Adds all of `other`.
    pub fn add(&mut self, other: &Histogram) {
        if other.count == 0 {
            return;
        }
        for (ours, theirs) in self.blocks.iter_mut().zip(&other.blocks) {
            match (&mut *ours, theirs) {
                (_, None) => {}
                (None, Some(theirs)) => *ours = Some(theirs.clone()),
                (Some(ours), Some(theirs)) => {
                    ours.iter_mut().zip(&**theirs).for_each(|(ours, theirs)| *ours = ours.saturating_add(*theirs));
                }
            }
        }
        self.min_us = if self.count == 0 { other.min_us } else { self.min_us.min(other.min_us) };
        self.max_us = self.max_us.max(other.max_us);
        self.count = self.count.saturating_add(other.count);
        self.sum_us = self.sum_us.saturating_add(other.sum_us);
        self.sum_squares += other.sum_squares;
    }

    /// The filled buckets in order: lowest time, highest time, count.
    fn filled(&self) -> impl DoubleEndedIterator<Item = (u64, u64, u64)> {
        let blocks = self.blocks.iter().enumerate().filter_map(|(n, block)| Some((n, block.as_deref()?)));
        blocks.flat_map(|(n, block)| {
            let filled = block.iter().enumerate().filter(|(_, count)| **count > 0);
            filled.map(move |(place, count)| {
                let (low, high) = range_of(n, place);
                (low, high, *count)
            })
        })
    }

    /// Number of times counted.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Exact smallest time in µs.
    pub fn min_us(&self) -> Option<u64> {
        (self.count > 0).then_some(self.min_us)
    }

    /// Exact largest time in µs.
    pub fn max_us(&self) -> Option<u64> {
        (self.count > 0).then_some(self.max_us)
    }

    /// Exact arithmetic mean in µs.
    pub fn mean_us(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum_us as f64 / self.count as f64)
    }

    /// Sample standard deviation in µs, with n − 1 in the denominator; 0 for a single time.
    pub fn stddev_us(&self) -> Option<f64> {
        let n = self.count as f64;
        let mean = self.mean_us()?;
        if self.count == 1 {
            return Some(0.0);
        }
        Some(((self.sum_squares - n * mean * mean) / (n - 1.0)).max(0.0).sqrt())
    }

    /// Nearest-rank percentile in µs: the ⌈q·n⌉-th smallest, q in thousandths of a percent (99.9 % = 99 900).
    ///
    /// Within 0.05 % of the sample, and never outside [min, max].
    pub fn percentile_us(&self, q: u32) -> Option<u64> {
        self.percentile_among_us(q, self.count)
    }

    /// As [`Histogram::percentile_us`], among `all` of which those not counted here are longer than any time; `None` where it
    /// is one of them.
    pub fn percentile_among_us(&self, q: u32, all: u64) -> Option<u64> {
        if self.count == 0 {
            return None;
        }
        let all = all.max(self.count);
        let rank = (u128::from(all) * u128::from(q.min(100_000))).div_ceil(100_000).max(1) as u64;
        if rank > self.count {
            return None;
        }
        if rank == self.count {
            return Some(self.max_us);
        }
        let mut seen = 0;
        for (low, high, count) in self.filled() {
            seen += count;
            if seen >= rank {
                // The middle of the bucket.
                return Some((low + (high - low).div_ceil(2)).clamp(self.min_us, self.max_us));
            }
        }
        Some(self.max_us)
    }

    /// The buckets as the library keeps them; `None` without any time.
    pub(crate) fn to_hdr(&self) -> Option<Hdr<u64>> {
        let mut hdr = (self.count > 0).then(empty_hdr)?;
        self.filled().for_each(|(low, _, count)| hdr.saturating_record_n(low, count));
        Some(hdr)
    }

    /// The filled buckets as (highest time of the bucket in µs, count), in order.
    pub fn buckets(&self) -> Vec<(u64, u64)> {
        self.filled().map(|(_, high, count)| (high, count)).collect()
    }

    /// Appends the stored form: length, HDR V2 deflate, then the exact figures.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let mut blob = Vec::new();
        if let Some(hdr) = self.to_hdr() {
            V2DeflateSerializer::new().serialize(&hdr, &mut blob).expect("writing to memory does not fail");
        }
        out.extend_from_slice(&(blob.len() as u32).to_le_bytes());
        if blob.is_empty() {
            return;
        }
        out.extend_from_slice(&blob);
        for value in [self.count, self.min_us, self.max_us, self.sum_us, self.sum_squares.to_bits()] {
            out.extend_from_slice(&value.to_le_bytes());
        }
    }

    /// Reads the stored form from the front of `bytes`, which moves past it.
    ///
    /// # Errors
    /// [`DecodeError`] when the bytes are cut or are not a histogram.
    pub fn decode(bytes: &mut &[u8]) -> Result<Histogram, DecodeError> {
        let length = u32::from_le_bytes(take::<4>(bytes)?) as usize;
        if length == 0 {
            return Ok(Histogram::default());
        }
        let blob = bytes.get(..length).ok_or_else(|| DecodeError("cut short".into()))?;
        *bytes = &bytes[length..];
        let hdr = read_buckets(blob)?;
        let mut next = || take::<8>(bytes).map(u64::from_le_bytes);
        let mut read = Histogram {
            blocks: Default::default(),
            count: next()?,
            min_us: next()?,
            max_us: next()?,
            sum_us: next()?,
            sum_squares: f64::from_bits(next()?),
        };
        let mut sum = 0_u64;
        for bucket in hdr.iter_recorded() {
            let (block, place) = bucket_of(hdr.lowest_equivalent(bucket.value_iterated_to()));
            let count = bucket.count_at_value();
            sum = sum.saturating_add(count);
            let block = read.blocks.get_mut(block).ok_or_else(|| DecodeError("a time is too long".into()))?;
            block.get_or_insert_with(empty_block)[place] = count;
        }
        if read.is_sound(sum) { Ok(read) } else { Err(DecodeError("its figures contradict each other".into())) }
    }

    /// Whether the exact figures can be those of the buckets, whose counts have this sum.
    fn is_sound(&self, sum: u64) -> bool {
        let sums = |us: u64| u128::from(self.count) * u128::from(us);
        let bucket = |us: u64| {
            let (block, place) = bucket_of(us);
            range_of(block, place)
        };
        let ends = self.filled().next().zip(self.filled().next_back());
        (1..=MOST_STORED).contains(&self.count)
            && sum == self.count
            && LOWEST_US <= self.min_us
            && self.min_us <= self.max_us
            && self.max_us <= HIGHEST_US
            && ends.is_some_and(|(first, last)| {
                (first.0, first.1) == bucket(self.min_us) && (last.0, last.1) == bucket(self.max_us)
            })
            && (sums(self.min_us)..=sums(self.max_us)).contains(&u128::from(self.sum_us))
            && self.sum_squares.is_finite()
            && self.sum_squares >= 0.0
    }
}

/// Cookie, length, offset, digits, both bounds, ratio.
const HEAD: usize = 40;

fn foreign() -> DecodeError {
    DecodeError("not a histogram of this program".into())
}

/// Reads the buckets as [`Histogram::encode`] stores them.
fn read_buckets(blob: &[u8]) -> Result<Hdr<u64>, DecodeError> {
    Deserializer::new().deserialize(&mut &unpacked(blob)?[..]).map_err(|e| DecodeError(format!("{e:?}").into()))
}

/// Unpacks what the library wrote. What the bytes ask room for is looked at first: the library makes room for whatever a
/// damaged head says.
fn unpacked(blob: &[u8]) -> Result<Vec<u8>, DecodeError> {
    // A count takes 9 bytes at most.
    let most = HEAD + 9 * BLOCKS * BLOCK;
    let mut plain = Vec::new();
    let deflated = blob.get(8..).ok_or_else(foreign)?;
    ZlibDecoder::new(deflated)
        .take(most as u64 + 1)
        .read_to_end(&mut plain)
        .map_err(|e| DecodeError(e.to_string().into()))?;
    if !(HEAD..=most).contains(&plain.len()) {
        return Err(foreign());
    }
    let (head, counts) = plain.split_at(HEAD);
    let length = (counts.len() as u32).to_be_bytes();
    let bounds = [LOWEST_US.to_be_bytes(), HIGHEST_US.to_be_bytes(), 1_f64.to_be_bytes()].concat();
    let expected = [&length[..], &0_u32.to_be_bytes(), &3_u32.to_be_bytes(), &bounds].concat();
    // The library cannot negate the smallest number, which is written as nine times 0xff; no count is so long.
    if head[4..] != expected || counts.windows(9).any(|number| number == [0xff; 9]) {
        return Err(foreign());
    }
    Ok(plain)
}

/// Reads the filled buckets of a stored histogram as [`Histogram::buckets`] gives them, from the front of `bytes`, which moves
/// past it. Where many are looked through, this is several times quicker than [`Histogram::decode`], which makes room for every
/// bucket there can be.
///
/// # Errors
/// As [`Histogram::decode`].
pub fn stored_buckets(bytes: &mut &[u8]) -> Result<Vec<(u64, u64)>, DecodeError> {
    let length = u32::from_le_bytes(take::<4>(bytes)?) as usize;
    if length == 0 {
        return Ok(Vec::new());
    }
    let blob = bytes.get(..length).ok_or_else(|| DecodeError("cut short".into()))?;
    *bytes = &bytes[length..];
    let plain = unpacked(blob)?;
    let mut counts = plain.get(HEAD..).ok_or_else(foreign)?;
    let (mut buckets, mut index, mut sum) = (Vec::new(), 0_usize, 0_u64);
    while !counts.is_empty() {
        // A negative number is how many empty buckets follow.
        let number = varint(&mut counts)?;
        let empty = usize::try_from(number.unsigned_abs()).map_err(|_| foreign())?;
        if number < 0 {
            index = index.saturating_add(empty);
        } else {
            if number > 0 {
                buckets.push((range_of(index / BLOCK, index % BLOCK).1, number.unsigned_abs()));
                sum = sum.saturating_add(number.unsigned_abs());
            }
            index += 1;
        }
        if index > BLOCKS * BLOCK {
            return Err(foreign());
        }
    }
    let count = u64::from_le_bytes(take::<8>(bytes)?);
    // Smallest, largest, sum and sum of squares are not asked for.
    take::<32>(bytes)?;
    let sound = sum == count && (1..=MOST_STORED).contains(&count);
    if sound { Ok(buckets) } else { Err(DecodeError("its figures contradict each other".into())) }
}

/// A number of the library's format: groups of seven bits, the lowest first, the ninth group of eight; the lowest bit is the sign.
fn varint(bytes: &mut &[u8]) -> Result<i64, DecodeError> {
    let mut value = 0_u64;
    for place in 0..9 {
        let [byte] = take::<1>(bytes)?;
        let last = place == 8;
        value |= u64::from(if last { byte } else { byte & 0x7f }) << (7 * place);
        if last || byte < 0x80 {
            break;
        }
    }
    Ok((value >> 1) as i64 ^ -((value & 1) as i64))
}

/// Two histograms are equal when they hold the same counts.
impl PartialEq for Histogram {
    fn eq(&self, other: &Self) -> bool {
        (self.count, self.min_us, self.max_us, self.sum_us) == (other.count, other.min_us, other.max_us, other.sum_us)
            && self.buckets() == other.buckets()
    }
}

/// Takes `N` bytes from the front.
pub(crate) fn take<const N: usize>(bytes: &mut &[u8]) -> Result<[u8; N], DecodeError> {
    let (front, rest) = bytes.split_first_chunk::<N>().ok_or_else(|| DecodeError("cut short".into()))?;
    *bytes = rest;
    Ok(*front)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(samples: &[u64]) -> Histogram {
        let mut h = Histogram::default();
        samples.iter().for_each(|s| h.record(*s));
        h
    }

    #[test]
    fn b06_one_sample_is_every_figure() {
        let h = of(&[575_000]);
        assert_eq!([h.percentile_us(50_000), h.percentile_us(99_900), h.min_us(), h.max_us()], [Some(575_000); 4]);
        assert_eq!((h.mean_us(), h.stddev_us()), (Some(575_000.0), Some(0.0)));
        let h = of(&[10_000, 1_000_000]);
        assert!((h.percentile_us(50_000).unwrap() as f64 / 10_000.0 - 1.0).abs() < 0.001);
        assert_eq!(h.percentile_us(50_001), Some(1_000_000));
    }

    #[test]
    fn no_samples_have_no_figures() {
        let h = Histogram::default();
        assert_eq!((h.percentile_us(50_000), h.mean_us(), h.stddev_us(), h.min_us()), (None, None, None, None));
    }

    #[test]
    fn memory_is_taken_only_for_times_that_occur() {
        let blocks = |h: &Histogram| h.blocks.iter().flatten().count();
        let mut h = of(&[300, 900, 1_500, 3_000, 3_900]);
        assert_eq!((blocks(&Histogram::default()), blocks(&h)), (0, 3));
        h.add(&of(&[500, HIGHEST_US, u64::MAX, 0]));
        assert_eq!(blocks(&h), 4);
    }

    proptest! {
        #[test]
        fn buckets_are_those_of_hdrhistogram(us in prop_oneof![1..10_000u64, 1..=HIGHEST_US]) {
            let (block, place) = bucket_of(us);
            let hdr = empty_hdr();
            prop_assert!(block < BLOCKS);
            prop_assert_eq!(range_of(block, place), (hdr.lowest_equivalent(us), hdr.highest_equivalent(us)));
            let mut one = of(&[us, us]);
            one.max_us = HIGHEST_US;
            one.count += 1;
            prop_assert_eq!(one.percentile_us(50_000), Some(hdr.median_equivalent(us).clamp(us, HIGHEST_US)));
        }

        #[test]
        fn percentiles_agree_with_all_samples(mut samples in prop::collection::vec(1u64..=HIGHEST_US, 1..400), q in 1u32..=100_000) {
            let h = of(&samples);
            samples.sort_unstable();
            let rank = (samples.len() as u64 * u64::from(q)).div_ceil(100_000).max(1);
            let exact = samples[rank as usize - 1] as f64;
            let ours = h.percentile_us(q).unwrap() as f64;
            prop_assert!((ours / exact - 1.0).abs() <= 0.001, "{} against {}", ours, exact);
        }

        #[test]
        fn merging_and_storing_lose_nothing(a in prop::collection::vec(1u64..=HIGHEST_US, 0..100), b in prop::collection::vec(1u64..1000, 0..100)) {
            let mut merged = of(&a);
            merged.add(&of(&b));
            let all = of(&[a, b].concat());
            prop_assert_eq!(&merged, &all);
            let mut bytes = Vec::new();
            merged.encode(&mut bytes);
            let mut rest = &bytes[..];
            prop_assert_eq!(&Histogram::decode(&mut rest).unwrap(), &all);
            prop_assert!(rest.is_empty());
            let mut rest = &bytes[..];
            prop_assert_eq!(stored_buckets(&mut rest).unwrap(), all.buckets());
            prop_assert!(rest.is_empty());
            for cut in 0..bytes.len() {
                prop_assert!(Histogram::decode(&mut &bytes[..cut]).is_err());
                prop_assert!(stored_buckets(&mut &bytes[..cut]).is_err());
            }
        }
    }
}
