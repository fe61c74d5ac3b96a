//! Scatter plots.

use plotters::prelude::Circle;

use super::axis::{Axis, Grid, axes, fill};
use super::{Ink, Plot, Scale, px, svg};

/// One point.
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
    /// A description of the plot for readers who cannot see it.
    pub label: String,
    /// The title of the horizontal axis.
    pub x_name: String,
    /// The points. Later ones are drawn over earlier ones, and points that are not finite are not drawn.
    pub points: Vec<Point>,
    /// Labels on the horizontal axis, shown in place of the numbers 1, 2, ...
    pub x_labels: Option<Vec<String>>,
    /// Whether the horizontal axis is linear or logarithmic. It is always linear if `x_labels` is given.
    pub across: Scale,
}

impl Plot for Scatter {
    fn drawn(&self, width: u32) -> String {
        let across = if self.x_labels.is_some() { Scale::Linear } else { self.across };
        let place = |point: &Point| Point { x: across.place(point.x), ..*point };
        let points: Vec<Point> =
            self.points.iter().map(place).filter(|point| point.x.is_finite() && point.y.is_finite()).collect();
        let xs = || points.iter().map(|point| point.x);
        let x = match (&self.x_labels, across) {
            (Some(labels), _) => Axis::places(1.0, labels, 8),
            (None, Scale::Log) => Axis::powers(xs(), 0.04, 6),
            (None, Scale::Linear) if xs().all(|x| x.fract() == 0.0) => Axis::around(xs(), 0.04, 6).whole(),
            (None, Scale::Linear) => Axis::around(xs(), 0.04, 6),
        };
        let y = Axis::around(points.iter().map(|point| point.y), 0.05, 5);
        svg(width, 240, &self.label, |area| {
            let mut chart = axes(area, &x, &y, &self.x_name, Grid::Horizontal)?;
            chart.draw_series(points.iter().map(|point| Circle::new((point.x, point.y), px(4), fill(point.ink))))?;
            Ok(())
        })
    }
}
