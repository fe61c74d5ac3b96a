//! Plots that show the values of each item, such as a fold or a feature, as dots in one row.

use burn_rank::workbench::text::shortened;
use plotters::prelude::{Circle, PathElement};

use super::axis::{Axis, DATA, Grid, axes, fill, stroke};
use super::{Ink, Plot, px, svg};

/// The height of a row, in pixels.
const ROW: u32 = 22;

/// The width of a plot in pixels for each character that a name may have, so that names take at most half of the plot.
const CHARACTER: usize = 16;

/// One value.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Dot {
    at: f64,
    ink: Ink,
    interval: Option<(f64, f64)>,
}

impl Dot {
    /// Creates a dot at a value; a value that is not finite is not drawn.
    pub fn new(at: f64, ink: Ink) -> Self {
        Self { at, ink, interval: None }
    }

    /// Adds an error bar that extends by `error` to both sides, if there is an error.
    pub fn with_error(self, error: Option<f64>) -> Self {
        match error.filter(|error| error.is_finite()) {
            Some(error) => self.with_interval(self.at - error, self.at + error),
            None => self,
        }
    }

    /// Adds a bar from `low` to `high`.
    pub fn with_interval(self, low: f64, high: f64) -> Self {
        Self { interval: Some((low, high)).filter(|_| low.is_finite() && high.is_finite()), ..self }
    }
}

/// A named row with the values to draw.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// The name.
    pub name: String,
    /// The values.
    pub dots: Vec<Dot>,
}

/// Rows on common axes.
#[derive(Debug, Clone, PartialEq)]
pub struct Rows {
    /// The rows in order, from top to bottom.
    pub rows: Vec<Row>,
    /// Whether the axis includes 0 and a line leads from 0 to each value.
    pub zero: bool,
}

impl Plot for Rows {
    fn drawn(&self, width: u32, label: &str) -> String {
        let dots = || self.rows.iter().flat_map(|row| &row.dots).filter(|dot| dot.at.is_finite());
        let ends = dots().flat_map(|dot| <[f64; 2]>::from(dot.interval.unwrap_or((dot.at, dot.at))));
        let x = Axis::around(ends.chain(self.zero.then_some(0.0)), 0.05, 7);
        // The vertical axis points up, but the rows are read from the top down.
        let most = (width as usize) / CHARACTER;
        let names: Vec<String> = self.rows.iter().rev().map(|row| shortened(&row.name, most)).collect();
        let y = Axis::places(0.0, &names, names.len());
        let height = 40 + ROW * self.rows.len().max(1) as u32;
        svg(width, height, label, |area| {
            let mut chart = axes(area, &x, &y, "", Grid::Vertical)?;
            if self.zero {
                chart.draw_series([PathElement::new(vec![(0.0, y.from), (0.0, y.to)], stroke(Ink::Mark, 1))])?;
            }
            for (i, row) in self.rows.iter().rev().enumerate() {
                let height = i as f64;
                for dot in row.dots.iter().filter(|dot| dot.at.is_finite()) {
                    let (from, to) = match dot.interval {
                        Some(interval) => interval,
                        None if self.zero => (0.0, dot.at),
                        None => (dot.at, dot.at),
                    };
                    let line = vec![(from, height), (to, height)];
                    chart.draw_series([PathElement::new(line, stroke(dot.ink, DATA))])?;
                    chart.draw_series([Circle::new((dot.at, height), px(5), fill(dot.ink))])?;
                }
            }
            Ok(())
        })
    }
}
