//! Curves over rounds.

use plotters::prelude::{Circle, LineSeries, PathElement};

use serde::{Deserialize, Serialize};

use super::axis::{Axis, DATA, Grid, axes, fill, stroke};
use super::{Ink, px, svg};

/// The largest number of points of a line that are marked individually.
const MARKED_POINTS: usize = 40;

/// One curve.
#[derive(Debug, Clone, PartialEq)]
pub struct Line {
    /// Name in a legend.
    pub name: String,
    /// The ink, which says what the curve shows.
    pub ink: Ink,
    /// The points, with ascending x; a point that is not finite breaks the curve.
    pub points: Vec<(f64, f64)>,
}

/// The scale of an axis.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Scale {
    /// Places values by their size.
    #[default]
    Linear,
    /// Places values by their logarithm; values that are not above 0 have no place.
    Log,
}

impl Scale {
    /// Returns the place of a value, or NaN if it has none.
    pub(super) fn place(self, value: f64) -> f64 {
        match self {
            Scale::Linear => value,
            Scale::Log if value > 0.0 => value.log10(),
            Scale::Log => f64::NAN,
        }
    }
}

/// Curves on common axes.
#[derive(Debug, Clone, PartialEq)]
pub struct Lines {
    /// A description for readers who cannot see the plot.
    pub label: String,
    /// Name of the horizontal axis.
    pub x_name: String,
    /// The curves, with the last one on top.
    pub lines: Vec<Line>,
    /// The places of vertical lines.
    pub marks: Vec<f64>,
    /// Labels to show in place of the numbers 1, 2, ...
    pub x_labels: Option<Vec<String>>,
    /// The scale of the horizontal axis, which applies only without `x_labels`.
    pub across: Scale,
    /// The scale of the vertical axis.
    pub upward: Scale,
    /// Additional values that the vertical axis includes, to make plots comparable.
    pub heights: Vec<f64>,
}

impl Lines {
    /// Draws the plot as SVG.
    pub fn svg(&self) -> String {
        let across = if self.x_labels.is_some() { Scale::Linear } else { self.across };
        let finite = |(x, y): &(f64, f64)| x.is_finite() && y.is_finite();
        let place = |(x, y): &(f64, f64)| (across.place(*x), self.upward.place(*y));
        let lines: Vec<(Ink, Vec<(f64, f64)>)> =
            self.lines.iter().map(|line| (line.ink, line.points.iter().map(place).collect())).collect();
        let all = || lines.iter().flat_map(|(_, points)| points.iter().copied()).filter(finite);
        let marks: Vec<f64> = self.marks.iter().map(|mark| across.place(*mark)).collect();
        let xs = || all().map(|(x, _)| x).chain(marks.iter().copied());
        let x = match (&self.x_labels, across) {
            (Some(labels), _) => Axis::places(1.0, labels, 8),
            (None, Scale::Log) => Axis::powers(xs(), 0.02, 6),
            (None, Scale::Linear) if xs().all(|x| x.fract() == 0.0) => Axis::around(xs(), 0.02, 6).whole(),
            (None, Scale::Linear) => Axis::around(xs(), 0.02, 6),
        };
        let ys = all().map(|(_, y)| y).chain(self.heights.iter().map(|height| self.upward.place(*height)));
        let y = match self.upward {
            Scale::Log => Axis::powers(ys, 0.05, 5),
            Scale::Linear => Axis::around(ys, 0.05, 5),
        };
        svg(280, &self.label, |area| {
            let mut chart = axes(area, &x, &y, &self.x_name, Grid::Horizontal)?;
            for &mark in marks.iter().filter(|mark| mark.is_finite()) {
                let ends = vec![(mark, y.from), (mark, y.to)];
                chart.draw_series([PathElement::new(ends, stroke(Ink::Mark, 1))])?;
            }
            for (ink, points) in &lines {
                for unbroken in points.split(|point| !finite(point)) {
                    chart.draw_series(LineSeries::new(unbroken.iter().copied(), stroke(*ink, DATA)))?;
                }
                if points.len() <= MARKED_POINTS {
                    let points = points.iter().copied().filter(finite);
                    chart.draw_series(points.map(|point| Circle::new(point, px(3), fill(*ink))))?;
                }
            }
            Ok(())
        })
    }
}
