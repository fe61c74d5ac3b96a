//! Curves and scatter plots.

use plotters::prelude::{Circle, LineSeries, PathElement};
use serde::{Deserialize, Serialize};

use super::axis::{Axis, DATA, Grid, fill, plotted, stroke};
use super::{Ink, Plot, px};

/// A line with at most this number of points has a dot at each point.
const MARKED_POINTS: usize = 40;

/// One curve.
#[derive(Debug, Clone, PartialEq)]
pub struct Line {
    /// Name in a legend.
    pub name: String,
    /// The subject of the curve, which determines its color.
    pub ink: Ink,
    /// The points in ascending order of x; a point that is not finite interrupts the curve.
    pub points: Vec<(f64, f64)>,
}

/// Whether an axis is linear or logarithmic.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Scale {
    /// Positions are proportional to values.
    #[default]
    Linear,
    /// Positions are proportional to logarithms; values that are 0 or negative are not drawn.
    Log,
}

impl Scale {
    /// Returns the position of a value on the axis, or NaN if it cannot be drawn.
    pub(super) fn place(self, value: f64) -> f64 {
        match self {
            Scale::Linear => value,
            Scale::Log if value > 0.0 => value.log10(),
            Scale::Log => f64::NAN,
        }
    }

    /// Returns an axis that covers these positions.
    fn axis(self, positions: impl Iterator<Item = f64>, room: f64, most: usize) -> Axis {
        match self {
            Scale::Linear => Axis::around(positions, room, most),
            Scale::Log => Axis::powers(positions, room, most),
        }
    }
}

/// Curves on common axes.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Lines {
    /// The title of the horizontal axis.
    pub x_name: String,
    /// The curves; later ones are drawn over earlier ones.
    pub lines: Vec<Line>,
    /// The x values at which vertical lines are drawn.
    pub marks: Vec<f64>,
    /// Labels on the horizontal axis, shown in place of the numbers 1, 2, ...
    pub x_labels: Option<Vec<String>>,
    /// Whether the horizontal axis is linear or logarithmic; with `x_labels`, it must be linear.
    pub across: Scale,
    /// Whether the vertical axis is linear or logarithmic.
    pub upward: Scale,
    /// Values that the vertical axis must also cover, so that several plots have the same axis.
    pub heights: Vec<f64>,
}

impl Plot for Lines {
    fn drawn(&self, width: u32, label: &str) -> String {
        let finite = |(x, y): &(f64, f64)| x.is_finite() && y.is_finite();
        let place = |(x, y): &(f64, f64)| (self.across.place(*x), self.upward.place(*y));
        let lines: Vec<(Ink, Vec<(f64, f64)>)> =
            self.lines.iter().map(|line| (line.ink, line.points.iter().map(place).collect())).collect();
        let all = || lines.iter().flat_map(|(_, points)| points.iter().copied()).filter(finite);
        let marks: Vec<f64> = self.marks.iter().map(|mark| self.across.place(*mark)).collect();
        let xs: Vec<f64> = all().map(|(x, _)| x).chain(marks.iter().copied()).collect();
        let x = across(&xs, self.x_labels.as_deref(), self.across, 0.02);
        let ys = all().map(|(_, y)| y).chain(self.heights.iter().map(|height| self.upward.place(*height)));
        let y = self.upward.axis(ys, 0.05, 5);
        plotted((width, 280), label, [&x, &y], &self.x_name, Grid::Horizontal, |chart| {
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

/// Returns the horizontal axis for points at these places, with room at both ends.
fn across(xs: &[f64], labels: Option<&[String]>, scale: Scale, room: f64) -> Axis {
    let axis = scale.axis(xs.iter().copied(), room, 6);
    match labels {
        Some(labels) => Axis::places(1.0, labels, 8),
        None if scale == Scale::Linear && xs.iter().all(|x| x.fract() == 0.0) => axis.whole(),
        None => axis,
    }
}

/// One point of a scatter plot.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Point {
    /// Place across.
    pub x: f64,
    /// Height.
    pub y: f64,
    /// The subject of the point, which determines its color.
    pub ink: Ink,
}

/// Points on common axes.
#[derive(Debug, Clone, PartialEq)]
pub struct Scatter {
    /// The title of the horizontal axis.
    pub x_name: String,
    /// The points. Later ones are drawn over earlier ones, and points that are not finite are not drawn.
    pub points: Vec<Point>,
    /// Labels on the horizontal axis, shown in place of the numbers 1, 2, ...
    pub x_labels: Option<Vec<String>>,
    /// Whether the horizontal axis is linear or logarithmic; with `x_labels`, it must be linear.
    pub across: Scale,
}

impl Plot for Scatter {
    fn drawn(&self, width: u32, label: &str) -> String {
        let place = |point: &Point| Point { x: self.across.place(point.x), ..*point };
        let points: Vec<Point> =
            self.points.iter().map(place).filter(|point| point.x.is_finite() && point.y.is_finite()).collect();
        let xs: Vec<f64> = points.iter().map(|point| point.x).collect();
        let x = across(&xs, self.x_labels.as_deref(), self.across, 0.04);
        let y = Axis::around(points.iter().map(|point| point.y), 0.05, 5);
        plotted((width, 240), label, [&x, &y], &self.x_name, Grid::Horizontal, |chart| {
            chart.draw_series(points.iter().map(|point| Circle::new((point.x, point.y), px(4), fill(point.ink))))?;
            Ok(())
        })
    }
}
