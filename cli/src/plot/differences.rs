//! A bar plot of differences in descending order. Each bar extends up or down from 0.

use plotters::prelude::{PathElement, Rectangle};

use super::axis::{Axis, Grid, axes, fill, stroke};
use super::{Ink, Plot, svg};

/// The largest number of bars. If there are more values, an evenly spaced selection is drawn.
const MOST: usize = 300;

/// A plot with a bar from 0 to each value, in descending order.
#[derive(Debug, Clone, PartialEq)]
pub struct Differences {
    /// A description of the plot for readers who cannot see it.
    pub label: String,
    /// The title of the horizontal axis.
    pub x_name: String,
    /// The values, in any order; values that are not finite are left out.
    pub values: Vec<f64>,
    /// The subjects of bars above 0 and below 0, which determine their colors.
    pub inks: [Ink; 2],
    /// Values that the vertical axis must also cover, so that several plots have the same axis.
    pub heights: Vec<f64>,
}

impl Plot for Differences {
    fn drawn(&self, width: u32) -> String {
        let mut values: Vec<f64> = self.values.iter().copied().filter(|value| value.is_finite()).collect();
        values.sort_by(|a, b| b.total_cmp(a));
        let count = values.len();
        let bars = count.min(MOST);
        let each = count as f64 / bars.max(1) as f64;
        let bar = |bar: usize| {
            let (from, to) = (bar as f64 * each, (bar + 1) as f64 * each);
            (from + 0.05 * each, to - 0.05 * each, values[(0.5 * (from + to)) as usize])
        };
        let x = Axis::between(0.0, count.max(1) as f64, 6).whole();
        let y = Axis::around(values.iter().chain(&self.heights).copied().chain([0.0]), 0.05, 5);
        svg(width, 240, &self.label, |area| {
            let mut chart = axes(area, &x, &y, &self.x_name, Grid::Horizontal)?;
            chart.draw_series((0..bars).map(bar).map(|(from, to, value)| {
                let ink = if value > 0.0 { self.inks[0] } else { self.inks[1] };
                Rectangle::new([(from, 0.0), (to, value)], fill(ink))
            }))?;
            chart.draw_series([PathElement::new(vec![(x.from, 0.0), (x.to, 0.0)], stroke(Ink::Mark, 1))])?;
            Ok(())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_values_have_few_bars() {
        let plot = |values: Vec<f64>| {
            let inks = [Ink::Test, Ink::Validation];
            Differences { label: String::new(), x_name: String::new(), values, inks, heights: vec![] }.svg()
        };
        let bars = |svg: &str, ink: &str| {
            svg.lines().filter(|line| line.starts_with("<rect") && line.contains(&format!("\"{ink}\""))).count()
        };
        let few = plot(vec![-0.5, 0.25, 1.0, f64::NAN]);
        assert_eq!((bars(&few, "fill-test"), bars(&few, "fill-validation")), (2, 1));
        let many = plot((0..10_000).map(|value| f64::from(value) - 2_500.5).collect());
        assert_eq!((bars(&many, "fill-test"), bars(&many, "fill-validation")), (225, 75));
        assert!(plot(vec![]).contains("svg"));
    }
}
