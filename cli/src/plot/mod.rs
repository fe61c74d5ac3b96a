//! Plots as inline SVG, drawn with the library plotters.
//!
//! A plot contains no colors. Each stroke and fill has a CSS class named after its meaning ([`Ink`]). The page's style
//! sheet chooses a color for each class, in light and dark schemes. A plot has no fixed size either, but scales to the
//! available width.

mod axis;
mod bars;
mod lines;

pub use bars::{Bars, Dot, Group, Row, Rows};
pub use lines::{Line, Lines, Point, Scale, Scatter};

use burn_rank::workbench::text::escape_markup;
use plotters::coord::Shift;
use plotters::prelude::{DrawingArea, IntoDrawingArea, SVGBackend};
use plotters::style::RGBColor;

/// The number of drawing units per pixel; the `plotters` library rounds positions to whole units.
const UNITS: u32 = 10;

/// The width of a plot in pixels, before it is scaled to the page: of one next to others, and of one that has the whole
/// width of a page.
pub const WIDTH: u32 = 480;
pub const WHOLE_WIDTH: u32 = 1000;

type Drawn = Result<(), Box<dyn std::error::Error>>;

/// A plot, which can be drawn at several widths.
pub trait Plot {
    /// Draws the plot as SVG for a width in pixels. `label` describes it to readers who cannot see it.
    fn drawn(&self, width: u32, label: &str) -> String;
}

/// Returns an SVG file with only this plot, in the colors of the light scheme.
pub fn standalone(plot: &dyn Plot, label: &str) -> String {
    let svg = plot.drawn(STANDALONE_WIDTH, label);
    let size = svg.split_once("viewBox=\"0 0 ").and_then(|(_, rest)| rest.split_once('"')).map_or("", |(size, _)| size);
    let (width, height) = size.split_once(' ').unwrap_or_default();
    let [width, height] = [width, height].map(|units| units.parse::<u32>().unwrap_or_default() / UNITS);
    let root = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" font-family=\"sans-serif\""
    );
    to_colors(&svg.replacen("<svg class=\"plot\"", &root, 1))
}

/// The width of a plot that fills a file, in pixels.
const STANDALONE_WIDTH: u32 = 720;

/// Converts pixels to units.
fn px(pixels: u32) -> u32 {
    pixels * UNITS
}

/// Returns a plot as SVG that is `width` by `height` pixels large and contains the shapes that `draw` adds. `label`
/// describes the plot to readers who cannot see it.
fn svg(width: u32, height: u32, label: &str, draw: impl FnOnce(&DrawingArea<SVGBackend, Shift>) -> Drawn) -> String {
    let mut drawn = String::new();
    {
        let area = SVGBackend::with_string(&mut drawn, (px(width), px(height))).into_drawing_area();
        draw(&area).and_then(|()| Ok(area.present()?)).expect("a string takes any drawing");
    }
    // The first line opens an element with plotters' fixed size and a namespace that HTML does not need.
    let shapes = drawn.split_once('\n').map_or("", |(_, shapes)| shapes);
    let (width, height, label, shapes) = (px(width), px(height), escape_markup(label), to_classes(shapes));
    format!("<svg class=\"plot\" viewBox=\"0 0 {width} {height}\" role=\"img\" aria-label=\"{label}\">\n{shapes}")
}

/// The subject of a line or an area.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ink {
    /// Labels of axes.
    Text,
    /// Axes.
    Axis,
    /// Lines behind the data.
    Grid,
    /// A line at one value, such as the selected round or a mean.
    Mark,
    /// The training queries.
    Train,
    /// The validation queries.
    Validation,
    /// The test queries.
    Test,
    /// The surrogate measure on the training queries.
    Surrogate,
    /// The learner's objective.
    Objective,
}

impl Ink {
    /// Every ink with its name and its color in the light scheme of pages, in the order of the variants.
    const ALL: [(Ink, &str, &str); 9] = [
        (Ink::Text, "text", "#5a6470"),
        (Ink::Axis, "axis", "#adb1b7"),
        (Ink::Grid, "grid", "#dde1e6"),
        (Ink::Mark, "mark", "#6b7480"),
        (Ink::Train, "train", "#1f6fb5"),
        (Ink::Validation, "validation", "#b4430a"),
        (Ink::Test, "test", "#0b7a5c"),
        (Ink::Surrogate, "surrogate", "#7a4fb5"),
        (Ink::Objective, "objective", "#4b5560"),
    ];

    /// Returns the name that appears in the ink's CSS classes, `stroke-NAME` and `fill-NAME`.
    pub fn name(self) -> &'static str {
        Self::ALL[self as usize].1
    }

    /// Returns the ink for a set of queries, such as `train` or `test`.
    pub fn from_set(set: &str) -> Self {
        match set {
            "train" => Ink::Train,
            "validation" => Ink::Validation,
            _ => Ink::Test,
        }
    }

    /// Returns the placeholder color of the ink.
    fn color(self) -> RGBColor {
        RGBColor(0, 0, 1 + self as u8)
    }
}

/// Replaces one attribute of each ink with another, for strokes and for fills.
fn replaced(svg: &str, one: fn(&str, Ink) -> String, other: fn(&str, Ink) -> String) -> String {
    let attributes = Ink::ALL.iter().flat_map(|(ink, ..)| ["stroke", "fill"].map(|what| (what, *ink)));
    attributes.fold(svg.to_string(), |svg, (what, ink)| svg.replace(&one(what, ink), &other(what, ink)))
}

/// Replaces the CSS class of each ink with its color in the light scheme of pages.
fn to_colors(svg: &str) -> String {
    replaced(svg, class, |what, ink| format!("{what}=\"{}\"", Ink::ALL[ink as usize].2))
}

/// Replaces the placeholder color of each ink with a CSS class.
fn to_classes(shapes: &str) -> String {
    let plain = shapes.replace(" opacity=\"1\"", "").replace(" font-family=\"sans-serif\"", "");
    let placeholder = |what: &str, ink: Ink| {
        let RGBColor(r, g, b) = ink.color();
        format!("{what}=\"#{r:02X}{g:02X}{b:02X}\"")
    };
    replaced(&plain, placeholder, class)
}

fn class(what: &str, ink: Ink) -> String {
    format!("class=\"{what}-{}\"", ink.name())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns plots of every kind, including plots of empty and of constant data, which occur in reports.
    fn plots() -> Vec<String> {
        fn svg(plot: impl Plot) -> String {
            plot.drawn(WIDTH, "<&\">")
        }
        let line = |points: Vec<(f64, f64)>| Line { name: "a".into(), ink: Ink::Train, points };
        let lines = |lines| Lines {
            x_name: "round".into(),
            lines,
            marks: vec![],
            x_labels: None,
            across: Scale::Linear,
            upward: Scale::Linear,
            heights: vec![],
        };
        let group = |shares| (Ink::Test, shares);
        let point = |x, y| Point { x, y, ink: Ink::Mark };
        let scatter = |points| Scatter { x_name: "key".into(), points, x_labels: None, across: Scale::Linear };
        let logarithmic = |points| Lines { across: Scale::Log, upward: Scale::Log, ..lines(vec![line(points)]) };
        let row = || Row { name: "1".into(), dots: vec![Dot::new(-0.5, Ink::Train).with_error(Some(0.1))] };
        vec![
            svg(lines(vec![line(vec![(1.0, 0.2), (2.0, 0.5)]), line(vec![])])),
            svg(lines(vec![])),
            svg(lines(vec![line(vec![(1.0, 1e300), (2.0, -1e300)])])),
            svg(lines(vec![line(vec![(7.0, 0.0)])])),
            svg(logarithmic(vec![(1e-3, 1e-9), (1e3, 2.0)])),
            svg(logarithmic(vec![(0.0, -1.0), (5.0, 5.0)])),
            svg(lines(vec![line(vec![(1.0, f64::NAN), (2.0, 0.5), (3.0, f64::INFINITY)])])),
            svg(Bars::grouped(vec!["0".into(), "1".into()], &[group(vec![0.9, 0.1])])),
            svg(Bars::grouped(vec![], &[])),
            svg(Bars::histogram(&[0.0, 0.5, 1.0], Ink::Test, 0.5)),
            svg(Bars::histogram(&[], Ink::Test, 0.5)),
            svg(Bars::histogram(&[-3.0], Ink::Test, 0.5)),
            svg(Bars::differences("queries", &[0.5, -1.0, f64::INFINITY], [Ink::Test, Ink::Train], &[2.0])),
            svg(scatter(vec![point(0.5, 0.25), point(f64::NAN, 1.0)])),
            svg(scatter(vec![])),
            svg(Scatter { across: Scale::Log, ..scatter(vec![point(0.0, 1.0), point(1e-3, 1.0), point(10.0, 2.0)]) }),
            svg(Scatter { x_labels: Some(vec!["<a>".into(), "b".into()]), ..scatter(vec![point(2.0, 0.5)]) }),
            svg(Rows { rows: vec![], zero: true }),
            svg(Rows { rows: vec![row()], zero: true }),
        ]
    }

    #[test]
    fn a_plot_has_classes_for_colors_and_no_size_of_its_own() {
        for svg in plots() {
            assert!(svg.starts_with("<svg class=\"plot\" viewBox=\"0 0 4800 "), "{svg}");
            assert!(svg.trim_end().ends_with("</svg>"), "{svg}");
            for color in ["=\"#", "width=\"4800\"", "xmlns", "font-family"] {
                assert!(!svg.contains(color), "{color}: {svg}");
            }
        }
        assert!(plots()[0].contains("aria-label=\"&lt;&amp;&quot;&gt;\""));
        assert!(plots()[0].contains("class=\"stroke-train\""));
    }

    #[test]
    fn a_plot_in_a_file_of_its_own_has_a_size_and_colors() {
        let dot = Dot::new(0.5, Ink::Test).with_interval(0.25, 1.0);
        let rows = Rows { rows: vec![Row { name: "b".into(), dots: vec![dot] }], zero: true };
        let svg = standalone(&rows, "a < b");
        assert!(svg.starts_with("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"720\" height=\"62\""), "{svg}");
        assert!(svg.contains("stroke=\"#0b7a5c\"") && !svg.contains("class="), "{svg}");
    }

    #[test]
    fn every_point_is_in_the_frame() {
        for svg in plots() {
            for points in svg.split("points=\"").skip(1).map(|rest| rest.split('"').next().unwrap()) {
                for point in points.split_whitespace() {
                    let (x, y) = point.split_once(',').unwrap();
                    let (x, y): (i32, i32) = (x.parse().unwrap(), y.parse().unwrap());
                    assert!((0..=4800).contains(&x) && (0..=4800).contains(&y), "{point}: {svg}");
                }
            }
        }
    }
}
