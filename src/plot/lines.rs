//! Curves over rounds.

use plotters::prelude::{Circle, LineSeries, PathElement};

use super::axis::{Axis, DATA, Grid, axes, fill, stroke};
use super::{Ink, px, svg};

/// Largest number of points of a line for which each point is marked.
const MARKED_POINTS: usize = 40;

/// One curve.
#[derive(Debug, Clone, PartialEq)]
pub struct Line {
    /// Name in a legend.
    pub name: String,
    /// What the curve shows.
    pub ink: Ink,
    /// The points, ascending in x; one that is not finite breaks the curve.
    pub points: Vec<(f64, f64)>,
}

/// Curves on common axes.
#[derive(Debug, Clone, PartialEq)]
pub struct Lines {
    /// A description for readers who cannot see the plot.
    pub label: String,
    /// Name of the horizontal axis.
    pub x_name: String,
    /// The curves, the last on top.
    pub lines: Vec<Line>,
    /// Places of vertical lines.
    pub marks: Vec<f64>,
    /// Labels for 1, 2, ... in place of the numbers.
    pub x_labels: Option<Vec<String>>,
    /// Heights that the plot includes besides those of the curves, so that plots can be compared.
    pub heights: Vec<f64>,
}

impl Lines {
    /// Draws the plot as SVG.
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
