//! Bar charts that show shares per category, and histograms.

use plotters::prelude::{PathElement, Rectangle};

use super::axis::{Axis, DATA, Grid, axes, fill, stroke};
use super::{Ink, Plot, svg};

/// Bins of a histogram.
const BINS: usize = 20;

/// Bars in the same color, one for each category.
#[derive(Debug, Clone, PartialEq)]
pub struct Group {
    /// Name in a legend.
    pub name: String,
    /// The subject of the bars, which determines their color.
    pub ink: Ink,
    /// The height of each category's bar.
    pub shares: Vec<f64>,
}

/// Bars on common axes.
#[derive(Debug, Clone, PartialEq)]
pub struct Bars {
    label: String,
    x: Axis,
    /// Each bar's left and right end, its height, and what it shows.
    bars: Vec<(f64, f64, f64, Ink)>,
    marks: Vec<f64>,
}

impl Bars {
    /// Creates a bar chart with a cluster for each category, in which each group has one bar.
    pub fn grouped(label: &str, categories: Vec<String>, groups: Vec<Group>) -> Self {
        Self::clusters(label, Axis::places(0.0, &categories, 12), &groups)
    }

    /// Creates a bar chart in the same way as [`grouped`](Self::grouped), for categories that are ranges of numbers.
    /// The label of a category is the smallest number in its range.
    pub fn ranges(label: &str, starts: Vec<String>, groups: Vec<Group>) -> Self {
        let mut x = Axis::places(0.0, &starts, 12);
        x.ticks.iter_mut().for_each(|(at, _)| *at -= 0.5);
        Self::clusters(label, x, &groups)
    }

    fn clusters(label: &str, x: Axis, groups: &[Group]) -> Self {
        let width = 0.8 / groups.len().max(1) as f64;
        let bars = groups.iter().enumerate().flat_map(|(g, group)| {
            let left = move |category: usize| category as f64 - 0.4 + g as f64 * width;
            let bar = move |(category, &share)| (left(category), left(category) + width, share, group.ink);
            group.shares.iter().enumerate().map(bar)
        });
        Self { label: label.to_string(), x, bars: bars.collect(), marks: Vec::new() }
    }

    /// Creates a histogram of `values`, which must all be finite, with vertical lines at `marks`. The horizontal axis
    /// covers 0 to 1 if all values lie in this range.
    pub fn histogram(label: &str, values: &[f64], ink: Ink, marks: &[f64]) -> Self {
        let x = if values.iter().all(|value| (0.0..=1.0).contains(value)) {
            Axis::between(0.0, 1.0, 5)
        } else {
            Axis::around(values.iter().copied(), 0.05, 5)
        };
        let width = (x.to - x.from) / BINS as f64;
        let mut counts = [0usize; BINS];
        for value in values {
            // The last bin is closed on both sides.
            counts[(((value - x.from) / width) as usize).min(BINS - 1)] += 1;
        }
        let gap = 0.04 * width;
        let bar = |(bin, count): (usize, &usize)| {
            let left = x.from + bin as f64 * width;
            (left + gap, left + width - gap, *count as f64, ink)
        };
        Self { label: label.to_string(), bars: counts.iter().enumerate().map(bar).collect(), marks: marks.to_vec(), x }
    }
}

impl Plot for Bars {
    fn drawn(&self, width: u32) -> String {
        let highest = self.bars.iter().map(|(_, _, height, _)| *height).filter(|height| height.is_finite());
        let highest = highest.fold(0.0, f64::max);
        let y = Axis::between(0.0, if highest > 0.0 { 1.05 * highest } else { 1.0 }, 5);
        svg(width, 240, &self.label, |area| {
            let mut chart = axes(area, &self.x, &y, "", Grid::Horizontal)?;
            let drawn = self.bars.iter().filter(|(_, _, height, _)| *height > 0.0);
            chart.draw_series(
                drawn.map(|&(from, to, height, ink)| Rectangle::new([(from, 0.0), (to, height)], fill(ink))),
            )?;
            for &mark in &self.marks {
                let ends = vec![(mark, 0.0), (mark, y.to)];
                chart.draw_series([PathElement::new(ends, stroke(Ink::Mark, DATA))])?;
            }
            Ok(())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(bars: &Bars) -> Vec<(f64, f64)> {
        bars.bars.iter().filter(|bar| bar.2 > 0.0).map(|bar| ((bar.0 * 100.0).round() / 100.0, bar.2)).collect()
    }

    #[test]
    fn a_histogram_counts_every_value_once() {
        let bars = Bars::histogram("", &[0.0, 0.04, 0.05, 0.5, 0.999, 1.0], Ink::Test, &[]);
        assert_eq!(counts(&bars), [(0.0, 2.0), (0.05, 1.0), (0.5, 1.0), (0.95, 2.0)]);
        let wide = Bars::histogram("", &[-2.0, 30.0, 7.0], Ink::Test, &[]);
        assert_eq!(counts(&wide).iter().map(|bar| bar.1).sum::<f64>(), 3.0);
    }

    #[test]
    fn groups_stand_beside_each_other() {
        let group = |ink, shares| Group { name: String::new(), ink, shares };
        let groups = vec![group(Ink::Train, vec![0.5, 0.5]), group(Ink::Test, vec![0.25, 0.75])];
        let bars = Bars::grouped("", vec!["0".into(), "1".into()], groups);
        assert_eq!(counts(&bars), [(-0.4, 0.5), (0.6, 0.5), (0.0, 0.25), (1.0, 0.75)]);
    }
}
