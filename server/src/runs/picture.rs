//! Charts as files of their own, and the picture that previews of a public link show.

use std::collections::VecDeque;
use std::fmt::Write as _;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};
use std::time::Duration;

use oleada_app::chart::overview::Overview;
use oleada_app::chart::report::{self, Timing};
use oleada_app::chart::{Chart, Mark, Viewport, svg};
use oleada_app::pages::run::{PICTURE, RunPage, summary};
use oleada_app::ui::words::plan_sentence;
use resvg::{tiny_skia, usvg};
use tokio::sync::Semaphore;

use super::export::{Source, xml_text};
use crate::error::{Error, Result};
use crate::store::shares::ShareRow;

/// Pictures drawn at once.
const AT_ONCE: usize = 2;
/// How long a picture waits for its turn.
const PATIENCE: Duration = Duration::from_secs(10);
/// Pictures of links that are kept.
const KEPT: usize = 64;
/// Samples a line may have per column of a drawing.
const COLUMNS: usize = 1200;
/// Seconds of a run under way that change its picture.
const FRESH_S: usize = 10;

/// Light colours and fonts, the same as on the page; variables and the system's fonts do not reach a file.
const STYLE: &str = "text{font-family:'Liberation Sans',Arial,Helvetica,sans-serif;fill:#14212b}\
.ground{fill:#fff}.title{font-size:20px;font-weight:700}.muted{fill:#51606c;font-size:13px}.key-text{font-size:13px}\
.grid{stroke:#d8dfe4;stroke-width:1}.axis,.tick-mark{stroke:#7c8b96;stroke-width:1}\
.tick,.axis-title{fill:#51606c;font-size:12px}.axis-title{font-weight:700}\
.line{fill:none;stroke-width:2;stroke-linejoin:round;stroke-linecap:round}.area{opacity:.14;stroke:none}\
.dot{stroke:#fff;stroke-width:1.5}.band{stroke:none;opacity:.14}.b-p95{fill:#5a4fcf}.b-p99{fill:#c03a86;opacity:.1}\
.line.s-p50{stroke:#0b7a92;stroke-width:2.5}.line.s-p95{stroke:#5a4fcf}.line.s-p99{stroke:#c03a86;stroke-dasharray:6 3}\
.line.s-max{stroke:#7b6a5b;stroke-width:1.25;stroke-dasharray:1.5 3}.line.s-clients{stroke:#8a99a5;stroke-width:1.25}\
.line.s-ok{stroke:#1c7540}.line.s-sent{stroke:#5a4fcf;stroke-width:1.5;stroke-dasharray:6 3}.line.s-error-rate{stroke:#c9302c}\
.area.s-clients,.dot.s-clients,.key.s-clients{fill:#8a99a5}.area.s-ok,.dot.s-ok,.key.s-ok{fill:#1c7540}\
.dot.s-p50,.key.s-p50{fill:#0b7a92}.dot.s-p95,.key.s-p95,.dot.s-sent,.key.s-sent{fill:#5a4fcf}.dot.s-p99,.key.s-p99{fill:#c03a86}\
.dot.s-max,.key.s-max{fill:#7b6a5b}.bar.s-errors,.key.s-errors,.dot.s-error-rate,.key.s-error-rate{fill:#c9302c}\
.figure{font-size:50px;font-weight:700}.label{font-size:22px;fill:#51606c}.name{font-size:38px;font-weight:700}\
.sub{font-size:22px;fill:#51606c}.brand{font-size:22px;font-weight:700;fill:#0b6a7f}";

/// Which chart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Response time and clients.
    Times,
    /// Requests per second.
    Rates,
}

fn chart(kind: Kind, source: &Source) -> Chart {
    let Overview { points, stretch, facts, .. } = Overview::of(&source.points);
    let timing = Timing::over(stretch, source.result.duration_s);
    match kind {
        Kind::Times => report::response_times("times", &points, timing, &facts),
        Kind::Rates => report::throughput("rates", &points, timing, &facts),
    }
    .thinned(COLUMNS)
}

/// A chart as an SVG file: title, legend, drawing; nothing is loaded from elsewhere.
pub fn chart_file(kind: Kind, source: &Source) -> String {
    const MARGIN: f64 = 24.0;
    let chart = chart(kind, source);
    let viewport = Viewport { hidden: chart.initially_hidden(), ..Viewport::wide() };
    let (width, height) = (viewport.width + 2.0 * MARGIN, viewport.height + 132.0);
    let mut out = begin(width, height);
    text(&mut out, "title", MARGIN, 42.0, &short(&source.name, 80));
    text(&mut out, "muted", MARGIN, 64.0, &chart.title);
    legend(&mut out, &chart, &viewport, MARGIN, 90.0);
    drawing(&mut out, &chart, &viewport, MARGIN, 108.0);
    out.push_str("</svg>\n");
    out
}

/// The picture of a link: name, headline figures, the response times.
pub fn preview(page: &RunPage) -> String {
    let (width, height) = (f64::from(PICTURE.0), f64::from(PICTURE.1));
    let mut out = begin(width, height);
    text(&mut out, "name", 48.0, 76.0, &short(&page.test_name, 48));
    text(&mut out, "sub", 48.0, 114.0, &short(&plan_sentence(&page.plan), 88));
    match &page.result {
        Some(result) => {
            for (n, (label, value)) in summary::figures(result).into_iter().enumerate() {
                let x = 48.0 + 228.0 * n as f64;
                text(&mut out, "label", x, 172.0, label);
                text(&mut out, "figure", x, 222.0, &value);
            }
            text(&mut out, "sub", 48.0, 606.0, &capitalised(summary::limit(result)));
        }
        None => text(&mut out, "figure", 48.0, 212.0, page.state.label()),
    }
    let chart = summary::chart("times", page).thinned(COLUMNS);
    let viewport = Viewport { width: width - 96.0, height: 320.0, log: false, hidden: chart.initially_hidden() };
    drawing(&mut out, &chart, &viewport, 48.0, 252.0);
    out.push_str("<text class=\"brand\" x=\"1152\" y=\"606\" text-anchor=\"end\">Oleada</text></svg>\n");
    out
}

fn begin(width: f64, height: f64) -> String {
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\">\
         <style>{STYLE}</style><rect class=\"ground\" width=\"{width}\" height=\"{height}\"/>"
    )
}

fn text(out: &mut String, class: &str, x: f64, y: f64, words: &str) {
    let _ = write!(out, "<text class=\"{class}\" x=\"{x}\" y=\"{y}\">{}</text>", xml_text(words));
}

/// The drawing inside another one.
fn drawing(out: &mut String, chart: &Chart, viewport: &Viewport, x: f64, y: f64) {
    let whole = svg::write(&chart.scene(viewport), "file");
    // Without its own frame: only the outermost one may say how large it is.
    let inner = whole.split_once('>').map_or("", |(_, rest)| rest).trim_end_matches("</svg>");
    let _ = write!(out, "<g transform=\"translate({x} {y})\">{inner}</g>");
}

fn legend(out: &mut String, chart: &Chart, viewport: &Viewport, x: f64, y: f64) {
    let mut x = x;
    for series in chart.series.iter().enumerate().filter(|(i, _)| viewport.shows(*i)).map(|(_, series)| series) {
        let height = if series.mark == Mark::Line { 4.0 } else { 10.0 };
        let _ = write!(
            out,
            "<rect class=\"key {}\" x=\"{x}\" y=\"{}\" width=\"14\" height=\"{height}\" rx=\"2\"/>",
            xml_text(&series.class),
            y - 4.0 - height / 2.0
        );
        text(out, "key-text", x + 20.0, y, &series.label);
        // About seven units a letter, and room between the entries.
        x += 44.0 + 7.0 * series.label.chars().count() as f64;
    }
}

fn short(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    let kept: String = text.chars().take(most - 1).collect();
    format!("{}…", kept.trim_end())
}

fn capitalised(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}

/// Draws pictures, a few at a time, and keeps those of links.
#[derive(Debug)]
pub struct Pictures {
    turns: Semaphore,
    // Held to look up or to put in, never across an await. Oldest first.
    kept: Mutex<VecDeque<(String, Arc<[u8]>)>>,
}

impl Default for Pictures {
    fn default() -> Pictures {
        Pictures { turns: Semaphore::new(AT_ONCE), kept: Mutex::default() }
    }
}

impl Pictures {
    /// An SVG text as PNG, `scale` pixels a unit.
    ///
    /// # Errors
    /// [`Error::Unavailable`] when many are waiting.
    pub async fn png(&self, svg: String, scale: f32) -> Result<Vec<u8>> {
        let turn = tokio::time::timeout(PATIENCE, self.turns.acquire()).await;
        let Ok(Ok(_turn)) = turn else {
            return Err(Error::Unavailable("Many pictures are being drawn just now. Try again in a moment.".into()));
        };
        let drawn = tokio::task::spawn_blocking(move || draw(&svg, scale)).await.map_err(anyhow::Error::from)?;
        Ok(drawn.map_err(|error| error.context("a picture could not be drawn"))?)
    }

    /// The picture of a link, kept from the last time if nothing that it shows has changed since.
    ///
    /// # Errors
    /// As [`Pictures::png`].
    pub async fn of_link(&self, share: &ShareRow, page: &RunPage) -> Result<Arc<[u8]>> {
        let shown = (share.hide_host, share.hide_headers, page.state.class(), page.points.len() / FRESH_S);
        let key = format!("{} {shown:?}", share.token);
        let kept = self.lock().iter().find(|(known, _)| *known == key).map(|(_, png)| Arc::clone(png));
        if let Some(png) = kept {
            return Ok(png);
        }
        let png: Arc<[u8]> = self.png(preview(page), 1.0).await?.into();
        let mut kept = self.lock();
        kept.retain(|(known, _)| *known != key);
        kept.push_back((key, Arc::clone(&png)));
        while kept.len() > KEPT {
            kept.pop_front();
        }
        drop(kept);
        Ok(png)
    }

    /// A panic elsewhere leaves the list whole: each change is a single call.
    fn lock(&self) -> std::sync::MutexGuard<'_, VecDeque<(String, Arc<[u8]>)>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The fonts of the pictures, so that they look the same on every machine.
static FONTS: LazyLock<Arc<usvg::fontdb::Database>> = LazyLock::new(|| {
    let mut fonts = usvg::fontdb::Database::new();
    fonts.load_font_data(include_bytes!("../../assets/fonts/LiberationSans-Regular.ttf").to_vec());
    fonts.load_font_data(include_bytes!("../../assets/fonts/LiberationSans-Bold.ttf").to_vec());
    Arc::new(fonts)
});

fn draw(svg: &str, scale: f32) -> anyhow::Result<Vec<u8>> {
    let options = usvg::Options {
        fontdb: Arc::clone(&FONTS),
        font_family: "Liberation Sans".to_owned(),
        ..usvg::Options::default()
    };
    let tree = usvg::Tree::from_str(svg, &options)?;
    let pixels = |units: f32| (units * scale).ceil() as u32;
    let mut pixmap = tiny_skia::Pixmap::new(pixels(tree.size().width()), pixels(tree.size().height()))
        .ok_or_else(|| anyhow::anyhow!("the picture has no size"))?;
    resvg::render(&tree, tiny_skia::Transform::from_scale(scale, scale), &mut pixmap.as_mut());
    Ok(pixmap.encode_png()?)
}
