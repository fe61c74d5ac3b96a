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
    /// The points, ascending in x; those that are not finite are left out.
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
}

impl Lines {
    /// The plot.
    pub fn svg(&self) -> String {
        let finite = |line: &Line| -> Vec<(f64, f64)> {
            line.points.iter().copied().filter(|(x, y)| x.is_finite() && y.is_finite()).collect()
        };
        let lines: Vec<(Ink, Vec<(f64, f64)>)> = self.lines.iter().map(|line| (line.ink, finite(line))).collect();
        let all = || lines.iter().flat_map(|(_, points)| points.iter().copied());
        let x = match &self.x_labels {
            Some(labels) => Axis::places(1.0, labels, 8),
            None => Axis::around(all().map(|(x, _)| x).chain(self.marks.iter().copied()), 6).whole(),
        };
        let y = Axis::around(all().map(|(_, y)| y), 5);
        svg(280, &self.label, |area| {
            let mut chart = axes(area, &x, &y, &self.x_name, Grid::Horizontal)?;
            for &mark in &self.marks {
                let ends = vec![(mark, y.from), (mark, y.to)];
                chart.draw_series([PathElement::new(ends, stroke(Ink::Mark, 1))])?;
            }
            for (ink, points) in &lines {
                chart.draw_series(LineSeries::new(points.iter().copied(), stroke(*ink, DATA)))?;
                if points.len() <= MARKED_POINTS {
                    chart.draw_series(points.iter().map(|&point| Circle::new(point, px(3), fill(*ink))))?;
                }
            }
            Ok(())
        })
    }
}
