//! Builds normalizers from ONNX operators. As in this crate, normalization uses double precision.

use super::graph::{GraphBuilder, Value};
use super::messages::Attribute;
use crate::data::indicators::Indicators;
use crate::data::{FeatureMap, Normalizer};

/// Adds the raw features to the graph, one row per document, with 0 for padding.
///
/// # Shapes
/// - output: `[documents, features]`, 32-bit floats
pub(super) fn raw(graph: &GraphBuilder, features: usize) -> Value<'_> {
    let input = graph.input();
    let Some(mask) = graph.mask() else { return input };
    let mask = mask.reshaped(&[0, 0, 1]);
    let zero = graph.floats("no_feature", &[], &[0.0]);
    graph.node("Where", &[mask, input, zero]).reshaped(&[-1, features as i64])
}

/// Adds the input columns of a scorer to the graph, one row per document, padding included. The columns are the
/// normalized features. If the normalizer fills missing values, columns that mark missing values follow the features.
///
/// # Shapes
/// - `features`: `[documents, features]`
/// - output: `[documents, columns]`, 32-bit floats
pub(super) fn filled<'g>(normalizer: &Normalizer, features: Value<'g>) -> Value<'g> {
    let Some(Indicators { means, columns }) = normalizer.missing() else {
        return normalized(normalizer, features, false);
    };
    let (graph, missing) = (features.graph, features.apply("IsNaN"));
    let normalized = normalized(normalizer, features, true);
    let means = graph.floats("missing.means", &[means.len()], means);
    let filled = graph.node("Where", &[missing, means, normalized]);
    if columns.is_empty() {
        return filled;
    }
    let places: Vec<i64> = columns.iter().map(|feature| *feature as i64 - 1).collect();
    let places = graph.integers("missing.columns", &[places.len()], &places);
    let missing = graph.node_with("Gather", &[missing, places], vec![Attribute::int("axis", 1)]).as_float();
    graph.node_with("Concat", &[filled, missing], vec![Attribute::int("axis", 1)])
}

/// Adds the normalized features to the graph, with one row for each document, padding included. `may_miss` says whether
/// features can be NaN.
///
/// # Shapes
/// - `features` and output: `[documents, features]`, 32-bit floats
pub(super) fn normalized<'g>(normalizer: &Normalizer, features: Value<'g>, may_miss: bool) -> Value<'g> {
    if matches!(normalizer.map(), FeatureMap::None) {
        return features;
    }
    let (graph, x) = (features.graph, features.as_double());
    let value = match normalizer.map() {
        FeatureMap::None => x,
        FeatureMap::QueryMinMax => match graph.mask() {
            None => query_min_max(features, x, may_miss),
            Some(mask) => query_min_max_of_many(mask, x, normalizer.features(), may_miss),
        },
        FeatureMap::ZScore { mean, scale } => z_score(x, mean, scale),
        FeatureMap::ClippedZScore { mean, scale } => {
            let value = z_score(x, mean, scale);
            let least = graph.doubles("normalizer.least", &[], &[-8.0]);
            let most = graph.doubles("normalizer.most", &[], &[8.0]);
            value.max(least).min(most)
        }
        FeatureMap::Log1p { scale } => {
            let scale = graph.doubles("normalizer.scale", &[scale.len()], scale);
            signed_log1p(x) * scale
        }
        FeatureMap::Quantile { values } => quantile(features, x, values),
        FeatureMap::Gauss { values, places } => gauss(features, x, values, places),
    };
    value.as_float()
}

/// Adds `(x - mean) scale` to the graph.
fn z_score<'g>(x: Value<'g>, mean: &[f64], scale: &[f64]) -> Value<'g> {
    let mean = x.graph.doubles("normalizer.mean", &[mean.len()], mean);
    let scale = x.graph.doubles("normalizer.scale", &[scale.len()], scale);
    (x - mean) * scale
}

/// Adds `sign(x) ln(1 + |x|)` to the graph, in double precision.
pub(super) fn signed_log1p(x: Value) -> Value {
    let one = x.graph.doubles("one", &[], &[1.0]);
    let size = (x.apply("Abs") + one).apply("Log");
    x.apply("Sign") * size
}

/// Adds `(x - min) / (max - min)` over the documents of the query to the graph.
fn query_min_max<'g>(features: Value<'g>, x: Value<'g>, may_miss: bool) -> Value<'g> {
    let graph = x.graph;
    // What a reduction returns for NaN depends on the position of the NaN, so missing values are replaced by numbers
    // outside the range.
    let missing = may_miss.then(|| features.apply("IsNaN"));
    let extreme = |operator: &str, outside: f32, name: &str| {
        let inside = missing
            .map_or(features, |missing| graph.node("Where", &[missing, graph.floats(name, &[], &[outside]), features]));
        graph.node_with(operator, &[inside], vec![Attribute::ints("axes", &[0]), Attribute::int("keepdims", 1)])
    };
    let (low, high) = (extreme("ReduceMin", f32::MAX, "largest"), extreme("ReduceMax", f32::MIN, "least"));
    share(x, low.as_double(), high.as_double())
}

/// Applies [`query_min_max`] to each query of a batch separately.
fn query_min_max_of_many<'g>(mask: Value<'g>, x: Value<'g>, features: usize, may_miss: bool) -> Value<'g> {
    let (graph, x) = (x.graph, x.by_query(&[features as i64]));
    let mask = mask.reshaped(&[0, 0, 1]);
    let missing = may_miss.then(|| x.apply("IsNaN"));
    let extreme = |operator: &str, outside: f64, name: &str| {
        let outside = graph.doubles(name, &[], &[outside]);
        let inside = graph.node("Where", &[mask, x, outside]);
        let inside = missing.map_or(inside, |missing| graph.node("Where", &[missing, outside, inside]));
        graph.node_with(operator, &[inside], vec![Attribute::ints("axes", &[1]), Attribute::int("keepdims", 1)])
    };
    let (low, high) = (extreme("ReduceMin", f64::MAX, "largest"), extreme("ReduceMax", f64::MIN, "least"));
    share(x, low, high).reshaped(&[-1, features as i64])
}

/// Adds `(x - low) / (high - low)` to the graph. For a constant feature, the quotient is 0 / 1, which is 0.
fn share<'g>(x: Value<'g>, low: Value<'g>, high: Value<'g>) -> Value<'g> {
    let range = one_in_place_of_zero(high - low);
    (x - low) / range
}

/// Replaces 0 with 1 in a divisor. The quotient stays correct if the dividend is 0 wherever the divisor is 0.
fn one_in_place_of_zero(value: Value) -> Value {
    let zero = value.graph.doubles("zero", &[], &[0.0]);
    let one = value.graph.doubles("one", &[], &[1.0]);
    let positive = value.graph.node("Greater", &[value, zero]);
    value.graph.node("Where", &[positive, value, one])
}

/// A table for looking up feature values, with a row of ascending values for each feature.
///
/// Each row is padded with infinity to a length that is one less than a power of two. Bisection takes the same number
/// of steps in every padded row, so one gather per step serves all documents. For a constant feature, the row contains
/// only the value 0.
struct Table<'g> {
    values: Value<'g>,
    /// The index at which each feature's row starts.
    rows: Value<'g>,
    /// The index of the last value in each row, not counting padding.
    last: Value<'g>,
    none: Value<'g>,
    one: Value<'g>,
    count: usize,
    width: usize,
}

impl<'g> Table<'g> {
    fn new(graph: &'g GraphBuilder, values: &[Vec<f32>]) -> Self {
        let longest = values.iter().map(Vec::len).max().unwrap_or(0).max(1);
        let width = (longest + 1).next_power_of_two() - 1;
        let count = values.len();
        let table = padded(values, width, 0.0, f32::INFINITY);
        let table = graph.floats("normalizer.quantiles", &[count * width], &table);
        let rows: Vec<i64> = (0..count).map(|feature| (feature * width) as i64).collect();
        let rows = graph.integers("normalizer.rows", &[count], &rows);
        let last: Vec<i64> = values.iter().map(|values| values.len().saturating_sub(1) as i64).collect();
        let last = graph.integers("normalizer.last", &[count], &last);
        let none = graph.integers("integer_0", &[], &[0]);
        let one = graph.integers("integer_1", &[], &[1]);
        Self { values: table, rows, last, none, one, count, width }
    }

    /// Returns the length of each step of the bisection, and the position in each row to probe first.
    fn steps(&self) -> Vec<[Value<'g>; 2]> {
        let graph = self.values.graph;
        let lengths = std::iter::successors(Some(self.width.div_ceil(2)), |step| Some(step / 2));
        let step = |step: usize| {
            let rows: Vec<i64> = (0..self.count).map(|feature| (feature * self.width + step - 1) as i64).collect();
            let length = graph.integers(&format!("step_{step}"), &[], &[step as i64]);
            [length, graph.integers(&format!("normalizer.rows_{step}"), &[self.count], &rows)]
        };
        lengths.take_while(|&step| step > 0).map(step).collect()
    }

    /// For each document and feature, counts the values in the feature's row that are below the document's value
    /// (`Less`) or not above it (`LessOrEqual`).
    fn count(&self, features: Value<'g>, comparison: &str) -> Value<'g> {
        let (graph, mut found) = (features.graph, self.none);
        for [length, probe] in self.steps() {
            let quantile = graph.node("Gather", &[self.values, found + probe]);
            let passed = graph.node(comparison, &[quantile, features]);
            found = found + graph.node("Where", &[passed, length, self.none]);
        }
        found
    }

    /// Returns the indices of the two table values between which a document's value lies. `below` is the number of
    /// table values below the document's value. If the document's value lies below the table, both indices point to the
    /// first value. If it lies above the table, both point to the last value.
    fn sides(&self, below: Value<'g>) -> [Value<'g>; 2] {
        [(below - self.one).max(self.none), below.min(self.last)]
    }

    /// Looks up the entry at position `place` in each row of `numbers`, which has the same layout as this table.
    fn at(&self, numbers: Value<'g>, place: Value<'g>) -> Value<'g> {
        place.graph.node("Gather", &[numbers, place + self.rows]).as_double()
    }
}

/// Pads all rows with `filler` to the same width. An empty row gets the single value `empty` before the padding.
fn padded<T: Copy>(rows: &[Vec<T>], width: usize, empty: T, filler: T) -> Vec<T> {
    let mut table = Vec::with_capacity(rows.len() * width);
    for row in rows {
        table.extend_from_slice(if row.is_empty() { std::slice::from_ref(&empty) } else { row });
        table.resize(table.len().next_multiple_of(width), filler);
    }
    table
}

/// Replaces each feature of a document with its position among the feature's quantiles, from 0 to 1. A constant feature
/// has position 0.
fn quantile<'g>(features: Value<'g>, x: Value<'g>, values: &[Vec<f32>]) -> Value<'g> {
    let (graph, table) = (x.graph, Table::new(x.graph, values));
    let two = graph.doubles("two", &[], &[2.0]);
    let below = table.count(features, "Less");
    let not_above = table.count(features, "LessOrEqual");

    // A value equal to several quantiles gets the middle of their positions.
    let middle = (below + not_above - table.one).as_double() / two;
    // A value between two quantiles is interpolated between their positions. For a value outside the table, both
    // quantiles are the first or the last one, and the position is clamped.
    let [lower, upper] = table.sides(below);
    let share = share(x, table.at(table.values, lower), table.at(table.values, upper));
    let between = lower.as_double() + share;
    let (first, last) = (table.none.as_double(), table.last.as_double());
    let between = between.max(first).min(last);

    let equal = graph.node("Less", &[below, not_above]);
    let position = graph.node("Where", &[equal, middle, between]);
    position / one_in_place_of_zero(last)
}

/// Computes the position of each feature value by linear interpolation between the two nearest knots. A constant
/// feature has position 0.
fn gauss<'g>(features: Value<'g>, x: Value<'g>, values: &[Vec<f32>], places: &[Vec<f64>]) -> Value<'g> {
    let table = Table::new(x.graph, values);
    let places = padded(places, table.width, 0.0, 0.0);
    let places = x.graph.doubles("normalizer.places", &[table.count * table.width], &places);
    let [lower, upper] = table.sides(table.count(features, "Less"));
    let (low, high) = (table.at(table.values, lower), table.at(table.values, upper));
    let (first, last) = (table.at(places, lower), table.at(places, upper));
    // Interpolates downward from the upper knot. For a value outside, both knots are the same, so nothing is
    // subtracted.
    let range = one_in_place_of_zero(high - low);
    let share = (high - x) / range;
    let place = last - share * (last - first);
    place.max(first)
}
