//! Bar charts that show shares per category, histograms, and differences that extend up or down from 0; and plots that
//! show the values of each item, such as a fold or a feature, as dots in one row.

use burn_rank::workbench::text::shortened;
use plotters::prelude::{Circle, PathElement, Rectangle};

use super::axis::{Axis, DATA, Grid, fill, plotted, stroke};
use super::{Ink, Plot, px};

/// Bins of a histogram.
const BINS: usize = 20;

/// The largest number of bars of differences. If there are more values, an evenly spaced selection is drawn.
const MOST: usize = 300;

/// Bars in the same color: their subject, and the height of each category's bar.
pub type Group = (Ink, Vec<f64>);

/// Bars on common axes.
#[derive(Debug, Clone, PartialEq)]
pub struct Bars {
    x: Axis,
    y: Axis,
    x_name: String,
    /// Each bar's left and right end, its height, and what it shows.
    bars: Vec<(f64, f64, f64, Ink)>,
    /// Lines over the bars, from end to end, each with its width in pixels.
    marks: Vec<([(f64, f64); 2], u32)>,
}

impl Bars {
    /// Creates a bar chart with a cluster for each category, in which each group has one bar.
    pub fn grouped(categories: Vec<String>, groups: &[Group]) -> Self {
        Self::clusters(Axis::places(0.0, &categories, 12), groups)
    }

    /// Creates a bar chart in the same way as [`grouped`](Self::grouped), for categories that are ranges of numbers.
    /// The label of a category is the smallest number in its range.
    pub fn ranges(starts: Vec<String>, groups: &[Group]) -> Self {
        let mut x = Axis::places(0.0, &starts, 12);
        x.ticks.iter_mut().for_each(|(at, _)| *at -= 0.5);
        Self::clusters(x, groups)
    }

    fn clusters(x: Axis, groups: &[Group]) -> Self {
        let width = 0.8 / groups.len().max(1) as f64;
        let bars = groups.iter().enumerate().flat_map(|(g, (ink, shares))| {
            let left = move |category: usize| category as f64 - 0.4 + g as f64 * width;
            let bar = move |(category, &share)| (left(category), left(category) + width, share, *ink);
            shares.iter().enumerate().map(bar)
        });
        Self::upward(x, bars.collect())
    }

    /// Creates a chart whose bars rise from 0.
    fn upward(x: Axis, bars: Vec<(f64, f64, f64, Ink)>) -> Self {
        let heights = bars.iter().map(|(_, _, height, _)| *height).filter(|height| height.is_finite());
        let highest = heights.fold(0.0, f64::max);
        let y = Axis::between(0.0, if highest > 0.0 { 1.05 * highest } else { 1.0 }, 5);
        Self { x, y, x_name: String::new(), bars, marks: Vec::new() }
    }

    /// Creates a histogram of `values`, which must all be finite, with a vertical line at `mark`. The horizontal axis
    /// covers 0 to 1 if all values lie in this range.
    pub fn histogram(values: &[f64], ink: Ink, mark: f64) -> Self {
        let x = match values.iter().all(|value| (0.0..=1.0).contains(value)) {
            true => Axis::between(0.0, 1.0, 5),
            false => Axis::around(values.iter().copied(), 0.05, 5),
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
        let bars = Self::upward(x.clone(), counts.iter().enumerate().map(bar).collect());
        Self { marks: vec![([(mark, 0.0), (mark, bars.y.to)], DATA)], ..bars }
    }

    /// Creates a chart with a bar from 0 to each value, in descending order; values that are not finite are left out.
    /// `inks` are the subjects of the bars above 0 and below it. The vertical axis also covers `heights`, so that
    /// several plots have the same axis.
    pub fn differences(x_name: &str, values: &[f64], inks: [Ink; 2], heights: &[f64]) -> Self {
        let mut values: Vec<f64> = values.iter().copied().filter(|value| value.is_finite()).collect();
        values.sort_by(|a, b| b.total_cmp(a));
        let count = values.len();
        let bars = count.min(MOST);
        let each = count as f64 / bars.max(1) as f64;
        let bar = |bar: usize| {
            let (from, to) = (bar as f64 * each, (bar + 1) as f64 * each);
            let value = values[(0.5 * (from + to)) as usize];
            (from + 0.05 * each, to - 0.05 * each, value, if value > 0.0 { inks[0] } else { inks[1] })
        };
        let x = Axis::between(0.0, count.max(1) as f64, 6).whole();
        let y = Axis::around(values.iter().chain(heights).copied().chain([0.0]), 0.05, 5);
        let marks = vec![([(x.from, 0.0), (x.to, 0.0)], 1)];
        Self { bars: (0..bars).map(bar).collect(), x, y, x_name: x_name.to_string(), marks }
    }
}

impl Plot for Bars {
    fn drawn(&self, width: u32, label: &str) -> String {
        plotted((width, 240), label, [&self.x, &self.y], &self.x_name, Grid::Horizontal, |chart| {
            let bars = self.bars.iter().filter(|(_, _, height, _)| *height != 0.0);
            let bars = bars.map(|&(from, to, height, ink)| Rectangle::new([(from, 0.0), (to, height)], fill(ink)));
            chart.draw_series(bars)?;
            for (ends, width) in &self.marks {
                chart.draw_series([PathElement::new(ends.to_vec(), stroke(Ink::Mark, *width))])?;
            }
            Ok(())
        })
    }
}

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
        error.map_or(self, |error| self.with_interval(self.at - error, self.at + error))
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
        let is_drawn = |dot: &&Dot| dot.at.is_finite();
        let dots = self.rows.iter().flat_map(|row| &row.dots).filter(is_drawn);
        let ends = dots.flat_map(|dot| <[f64; 2]>::from(dot.interval.unwrap_or((dot.at, dot.at))));
        let x = Axis::around(ends.chain(self.zero.then_some(0.0)), 0.05, 7);
        // The vertical axis points up, but the rows are read from the top down.
        let most = (width as usize) / CHARACTER;
        let names: Vec<String> = self.rows.iter().rev().map(|row| shortened(&row.name, most)).collect();
        let y = Axis::places(0.0, &names, names.len());
        let height = 40 + ROW * self.rows.len().max(1) as u32;
        plotted((width, height), label, [&x, &y], "", Grid::Vertical, |chart| {
            if self.zero {
                chart.draw_series([PathElement::new(vec![(0.0, y.from), (0.0, y.to)], stroke(Ink::Mark, 1))])?;
            }
            for (i, row) in self.rows.iter().rev().enumerate() {
                let height = i as f64;
                for dot in row.dots.iter().filter(is_drawn) {
                    let (from, to) = dot.interval.unwrap_or((if self.zero { 0.0 } else { dot.at }, dot.at));
                    let line = vec![(from, height), (to, height)];
                    chart.draw_series([PathElement::new(line, stroke(dot.ink, DATA))])?;
                    chart.draw_series([Circle::new((dot.at, height), px(5), fill(dot.ink))])?;
                }
            }
            Ok(())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plot::WIDTH;

    fn counts(bars: &Bars) -> Vec<(f64, f64)> {
        bars.bars.iter().filter(|bar| bar.2 > 0.0).map(|bar| ((bar.0 * 100.0).round() / 100.0, bar.2)).collect()
    }

    #[test]
    fn a_histogram_counts_every_value_once() {
        let bars = Bars::histogram(&[0.0, 0.04, 0.05, 0.5, 0.999, 1.0], Ink::Test, 0.5);
        assert_eq!(counts(&bars), [(0.0, 2.0), (0.05, 1.0), (0.5, 1.0), (0.95, 2.0)]);
        let wide = Bars::histogram(&[-2.0, 30.0, 7.0], Ink::Test, 0.5);
        assert_eq!(counts(&wide).iter().map(|bar| bar.1).sum::<f64>(), 3.0);
    }

    #[test]
    fn groups_stand_beside_each_other() {
        let groups = [(Ink::Train, vec![0.5, 0.5]), (Ink::Test, vec![0.25, 0.75])];
        let bars = Bars::grouped(vec!["0".into(), "1".into()], &groups);
        assert_eq!(counts(&bars), [(-0.4, 0.5), (0.6, 0.5), (0.0, 0.25), (1.0, 0.75)]);
    }

    #[test]
    fn many_values_have_few_bars() {
        let plot = |values: Vec<f64>| {
            let inks = [Ink::Test, Ink::Validation];
            Bars::differences("", &values, inks, &[]).drawn(WIDTH, "")
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
