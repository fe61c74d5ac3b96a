//! The axes of plots: ranges, labels, and the style of text and lines.

use std::ops::Range;

use plotters::coord::ranged1d::{KeyPointHint, NoDefaultFormatting, Ranged, ValueFormatter};
use plotters::prelude::{Cartesian2d, ChartBuilder, ChartContext, IntoFont, SVGBackend, ShapeStyle, TextStyle};

use super::{Drawn, Ink, px, svg};

/// The font size of all text, in pixels.
const FONT: u32 = 13;

/// An axis: its range, and the positions and texts of its labels.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Axis {
    pub(super) from: f64,
    pub(super) to: f64,
    pub(super) ticks: Vec<(f64, String)>,
}

impl Axis {
    /// Creates an axis that covers `values`, and extends its range at both ends by the fraction `room`. The axis has at
    /// most `most` labels, at round numbers. Values that are not finite are ignored.
    pub(super) fn around(values: impl Iterator<Item = f64>, room: f64, most: usize) -> Self {
        let finite = values.filter(|value| value.is_finite());
        let (low, high) = finite.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| (low.min(v), high.max(v)));
        let (low, high) = if low <= high { (low, high) } else { (0.0, 1.0) };
        // A range must have a width that f64 can resolve; a single value gets some room around it.
        let magnitude = low.abs().max(high.abs());
        let least = if low == high { 0.05 } else { 1e-6 } * magnitude;
        let width = (high / 2.0 - low / 2.0).max(least).clamp(1e-12, f64::MAX / 8.0) * 2.0;
        Self::between((low - room * width).max(f64::MIN / 4.0), (high + room * width).min(f64::MAX / 4.0), most)
    }

    /// Creates the axis from `from` to `to`, with at most `most` labels at round numbers.
    pub(super) fn between(from: f64, to: f64, most: usize) -> Self {
        let step = step((to - from) / most as f64);
        let first = (from / step).ceil();
        let count = ((to - first * step) / step).floor().max(0.0) as usize;
        let ticks = (0..=count).map(|i| (first + i as f64) * step).map(|at| (at, tick_label(at, step)));
        Self { from, to, ticks: ticks.collect() }
    }

    /// Creates an axis for decimal `logarithms`, and extends its range at both ends by the fraction `room`. At most
    /// `most` powers of ten are labeled. If fewer than two fit, 2 and 5 times a power are labeled as well.
    pub(super) fn powers(logarithms: impl Iterator<Item = f64>, room: f64, most: usize) -> Self {
        let around = Self::around(logarithms, room, most);
        let (first, last) = (around.from.ceil(), around.to.floor());
        let every = ((last - first) / most as f64).ceil().max(1.0);
        let count = ((last - first) / every).floor();
        let (factors, powers): (&[u32], Vec<f64>) = match count >= 1.0 {
            true => (&[1], (0..=count as usize).map(|i| first + i as f64 * every).collect()),
            false => (&[1, 2, 5], (first as i64 - 1..=last as i64).map(|power| power as f64).collect()),
        };
        let label = |power: f64, factor: u32| (power + f64::from(factor).log10(), power_label(power, factor));
        let labels = factors.iter().flat_map(|&factor| powers.iter().map(move |&power| label(power, factor)));
        let ticks = labels.filter(|(at, _)| (around.from..=around.to).contains(at)).collect();
        Self { ticks, ..around }
    }

    /// Creates an axis on which the categories have the positions `first`, `first + 1` and so on. The axis has at most
    /// `most` labels.
    pub(super) fn places(first: f64, labels: &[String], most: usize) -> Self {
        let every = labels.len().div_ceil(most.max(1)).max(1);
        let ticks = labels.iter().enumerate().step_by(every).map(|(i, label)| (first + i as f64, label.clone()));
        Self { from: first - 0.5, to: first - 0.5 + labels.len().max(1) as f64, ticks: ticks.collect() }
    }

    /// Keeps only the labels at whole numbers.
    pub(super) fn whole(mut self) -> Self {
        self.ticks.retain(|(at, _)| at.fract() == 0.0);
        self.ticks.iter_mut().for_each(|(at, label)| *label = format!("{at}"));
        self
    }

    /// Returns the approximate width of the longest label, in pixels.
    fn label_width(&self) -> u32 {
        let longest = self.ticks.iter().map(|(_, label)| label.chars().count()).max().unwrap_or(0);
        (longest as f64 * 0.6 * f64::from(FONT)).ceil() as u32
    }
}

impl Ranged for Axis {
    type FormatOption = NoDefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, (start, end): (i32, i32)) -> i32 {
        start + (f64::from(end - start) * (value - self.from) / (self.to - self.from)).round() as i32
    }

    fn key_points<Hint: KeyPointHint>(&self, hint: Hint) -> Vec<f64> {
        match hint.weight().allow_light_points() {
            true => Vec::new(),
            false => self.ticks.iter().map(|(at, _)| *at).collect(),
        }
    }

    fn range(&self) -> Range<f64> {
        self.from..self.to
    }
}

impl ValueFormatter<f64> for Axis {
    fn format_ext(&self, value: &f64) -> String {
        self.ticks.iter().find(|(at, _)| at == value).map(|(_, label)| label.clone()).unwrap_or_default()
    }
}

/// Returns the smallest number that is at least `least` and is 1, 2 or 5 times a power of ten.
fn step(least: f64) -> f64 {
    let power = 10f64.powf(least.log10().floor());
    let steps = [1.0, 2.0, 5.0, 10.0].map(|factor| factor * power);
    steps.into_iter().find(|step| *step >= least * (1.0 - 1e-9)).unwrap_or(least)
}

/// Formats a label with as many decimals as the step between labels requires. Uses scientific notation for large
/// numbers, and if more than five decimals are required.
fn tick_label(at: f64, step: f64) -> String {
    let decimals = -step.log10().floor();
    let label = match decimals {
        _ if at.abs() >= 1e6 || decimals > 5.0 => {
            // Enough digits to tell neighbors apart.
            let digits = at.abs().log10().floor() + decimals;
            format!("{at:.*e}", digits.clamp(1.0, 15.0) as usize)
        }
        decimals => format!("{at:.*}", decimals.max(0.0) as usize),
    };
    // A rounded -0.
    if label.trim_start_matches('-').chars().all(|c| matches!(c, '0' | '.')) {
        return label.trim_start_matches('-').to_string();
    }
    label.replacen('-', "\u{2212}", 1)
}

/// Formats `factor` times ten to the given power.
fn power_label(power: f64, factor: u32) -> String {
    let label = match power {
        power if (-3.0..=5.0).contains(&power) => format!("{}", f64::from(factor) * 10f64.powi(power as i32)),
        power => format!("{factor}e{power}"),
    };
    label.replacen('-', "\u{2212}", 1)
}

/// The width of strokes that show data, in pixels.
pub(super) const DATA: u32 = 2;

/// Returns a stroke `width` pixels wide.
pub(super) fn stroke(ink: Ink, width: u32) -> ShapeStyle {
    ShapeStyle { color: ink.color().into(), filled: false, stroke_width: px(width) }
}

/// Returns a fill.
pub(super) fn fill(ink: Ink) -> ShapeStyle {
    ShapeStyle { color: ink.color().into(), filled: true, stroke_width: 0 }
}

/// Returns the style of text on axes.
fn text() -> TextStyle<'static> {
    // plotters writes the size divided by 1.24.
    ("sans-serif", f64::from(px(FONT)) * 1.24).into_font().color(&Ink::Text.color())
}

pub(super) type Chart<'a, 'b> = ChartContext<'b, SVGBackend<'a>, Cartesian2d<Axis, Axis>>;

/// Which grid lines are drawn behind the data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Grid {
    /// Horizontal lines at the vertical axis's labels.
    Horizontal,
    /// Vertical lines at the horizontal axis's labels.
    Vertical,
}

/// Returns a plot as SVG with a width and a height in pixels: both axes with the title `x_name` below the horizontal
/// one, and the shapes that `draw` adds. `label` describes the plot to readers who cannot see it.
pub(super) fn plotted(
    (width, height): (u32, u32),
    label: &str,
    [x, y]: [&Axis; 2],
    x_name: &str,
    grid: Grid,
    draw: impl FnOnce(&mut Chart) -> Drawn,
) -> String {
    svg(width, height, label, |area| {
        let mut chart = ChartBuilder::on(area)
            .margin_top(px(8))
            .margin_right(px(16))
            .x_label_area_size(px(if x_name.is_empty() { 26 } else { 46 }))
            .y_label_area_size(px(y.label_width() + 14))
            .build_cartesian_2d(x.clone(), y.clone())?;
        let mut mesh = chart.configure_mesh();
        match grid {
            Grid::Horizontal => mesh.disable_x_mesh(),
            Grid::Vertical => mesh.disable_y_mesh(),
        };
        if !x_name.is_empty() {
            mesh.x_desc(x_name);
        }
        mesh.bold_line_style(stroke(Ink::Grid, 1))
            .axis_style(stroke(Ink::Axis, 1))
            .label_style(text())
            .axis_desc_style(text())
            .set_all_tick_mark_size(px(4))
            .draw()?;
        draw(&mut chart)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(axis: &Axis) -> Vec<&str> {
        axis.ticks.iter().map(|(_, label)| label.as_str()).collect()
    }

    #[test]
    fn labels_are_round_numbers_inside_the_range() {
        assert_eq!(labels(&Axis::between(0.0, 1.0, 5)), ["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"]);
        assert_eq!(labels(&Axis::between(-0.5, 99.5, 5)), ["0", "20", "40", "60", "80"]);
        assert_eq!(labels(&Axis::between(-0.31, 0.11, 4)), ["\u{2212}0.2", "0.0"]);
        for (from, to) in [(0.4443, 0.4451), (-7.0, 1e9), (1e-12, 2e-12), (0.888_888, 0.888_889), (4e7, 4.000_01e7)] {
            let axis = Axis::between(from, to, 6);
            assert!((2..=7).contains(&axis.ticks.len()), "{axis:?}");
            assert!(axis.ticks.iter().all(|(at, _)| (from..=to).contains(at)), "{axis:?}");
            let mut texts = labels(&axis);
            texts.dedup();
            assert_eq!(texts.len(), axis.ticks.len(), "{axis:?}");
        }
    }

    #[test]
    fn logarithms_are_labeled_with_what_they_stand_for() {
        let powers = |values: &[f64]| Axis::powers(values.iter().map(|value| value.log10()), 0.05, 5);
        assert_eq!(labels(&powers(&[1.0, 1000.0])), ["1", "10", "100", "1000"]);
        assert_eq!(labels(&powers(&[1e-12, 1.0])), ["1e\u{2212}12", "1e\u{2212}9", "1e\u{2212}6", "0.001", "1"]);
        assert_eq!(labels(&powers(&[15.0, 60.0])), ["20", "50"]);
        assert!(labels(&powers(&[])).len() > 1, "the default range");
    }

    #[test]
    fn the_range_holds_every_finite_value_and_is_never_empty() {
        for values in [vec![], vec![0.0], vec![0.3, 0.3], vec![f64::MAX, f64::MIN], vec![f64::NAN, 2.0]] {
            let axis = Axis::around(values.iter().copied(), 0.05, 5);
            assert!(axis.from < axis.to && (axis.to - axis.from).is_finite(), "{values:?}: {axis:?}");
        }
        let mut constant = Axis::around([0.41, 0.41].into_iter(), 0.05, 5);
        let labels = constant.ticks.len();
        constant.ticks.dedup_by(|a, b| a.1 == b.1);
        assert!(labels > 1 && constant.ticks.len() == labels, "{constant:?}");
        let axis = Axis::around([0.2, 0.7].into_iter(), 0.05, 5);
        assert!(axis.from < 0.2 && axis.to > 0.7 && axis.to < 0.75, "{axis:?}");
    }

    #[test]
    fn places_have_their_labels_thinned_out() {
        let names: Vec<String> = (1..=9).map(|i| i.to_string()).collect();
        assert_eq!(labels(&Axis::places(1.0, &names, 5)), ["1", "3", "5", "7", "9"]);
        assert_eq!((Axis::places(1.0, &names, 5).from, Axis::places(1.0, &names, 5).to), (0.5, 9.5));
    }
}
