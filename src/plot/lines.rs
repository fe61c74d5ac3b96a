//! Curves over rounds.

use plotters::prelude::{Circle, LineSeries, PathElement};

use super::axis::{Axis, DATA, Grid, axes, fill, stroke};
use super::{Ink, px, svg};

/// Points of a line with more are not marked one by one.
const MARKED_POINTS: usize = 40;

/// One curve.
#[derive(Debug, Clone, PartialEq)]
pub struct Line {
    /// Name in a legend.
    pub name: String,
    /// What it shows.
    pub ink: Ink,
    /// The points, ascending in x; one that is not finite breaks the curve.
    pub points: Vec<(f64, f64)>,
}

/// Curves on common axes.
#[derive(Debug, Clone, PartialEq)]
pub struct Lines {
    /// What is seen, for those who cannot.
    pub label: String,
    /// Name of the horizontal axis.
    pub x_name: String,
    /// The curves, the last on top.
    pub lines: Vec<Line>,
    /// Where vertical lines stand.
    pub marks: Vec<f64>,
    /// In place of numbers, the labels of 1, 2, ...
    pub x_labels: Option<Vec<String>>,
    /// Heights that are in the picture besides those of the curves, so that pictures can be compared.
    pub heights: Vec<f64>,
}

impl Lines {
    /// The plot.
    pub fn svg(&self) -> String {
        let finite = |(x, y): &(f64, f64)| x.is_finite() && y.is_finite();
        let all = || self.lines.iter().flat_map(|line| line.points.iter().copied()).filter(finite);
        let x = match &self.x_labels {
            Some(labels) => Axis::places(1.0, labels, 8),
            None => Axis::around(all().map(|(x, _)| x).chain(self.marks.iter().copied()), 0.02, 6).whole(),
        };
        let y = Axis::around(all().map(|(_, y)| y).chain(self.heights.iter().copied()), 0.05, 5);
        svg(280, &self.label, |area| {
            let mut chart = axes(area, &x, &y, &self.x_name, Grid::Horizontal)?;
            for &mark in &self.marks {
                let ends = vec![(mark, y.from), (mark, y.to)];
                chart.draw_series([PathElement::new(ends, stroke(Ink::Mark, 1))])?;
            }
            for Line { ink, points, .. } in &self.lines {
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
