//! Builds normalizers from ONNX operators. As in this crate, normalization uses double precision.

use super::graph::{GraphBuilder, Value};
use super::messages::Attribute;
use crate::data::indicators::Indicators;
use crate::data::{FeatureMap, Normalizer};

/// Adds the raw features to the graph, one row per document, with 0 for padding.
///
/// # Shapes
/// - output: `[documents, features]`, 32-bit floats
pub(super) fn raw(graph: &mut GraphBuilder, features: usize) -> Value {
    if let Some(rows) = graph.rows() {
        return rows;
    }
    let input = graph.input();
    let Some(mask) = graph.mask() else { return input };
    let mask = graph.reshaped(&mask, &[0, 0, 1]);
    let zero = graph.floats("no_feature", &[], &[0.0]);
    let clean = graph.node("Where", &[&mask, &input, &zero]);
    graph.reshaped(&clean, &[-1, features as i64])
}

/// Adds the input columns of a scorer to the graph, one row per document, padding included. The columns are the
/// normalized features. If the normalizer fills missing values, columns that mark missing values follow the features.
///
/// # Shapes
/// - output: `[documents, columns]`, 32-bit floats
pub(super) fn filled(graph: &mut GraphBuilder, normalizer: &Normalizer) -> Value {
    let features = raw(graph, normalizer.features());
    let Some(Indicators { means, columns }) = normalizer.missing() else {
        return normalized_from(graph, normalizer, &features, false);
    };
    let missing = graph.node("IsNaN", &[&features]);
    let normalized = normalized_from(graph, normalizer, &features, true);
    let means = graph.floats("missing.means", &[means.len()], means);
    let filled = graph.node("Where", &[&missing, &means, &normalized]);
    if columns.is_empty() {
        return filled;
    }
    let places: Vec<i64> = columns.iter().map(|feature| *feature as i64 - 1).collect();
    let places = graph.integers("missing.columns", &[places.len()], &places);
    let missing = graph.node_with("Gather", &[&missing, &places], vec![Attribute::int("axis", 1)]);
    let missing = graph.as_float(&missing);
    graph.node_with("Concat", &[&filled, &missing], vec![Attribute::int("axis", 1)])
}

/// Adds the normalized features to the graph, with one row for each document, padding included. `may_miss` says whether
/// features can be NaN.
///
/// # Shapes
/// - output: `[documents, features]`, 32-bit floats
pub(super) fn normalized(graph: &mut GraphBuilder, normalizer: &Normalizer, may_miss: bool) -> Value {
    let features = raw(graph, normalizer.features());
    normalized_from(graph, normalizer, &features, may_miss)
}

fn normalized_from(graph: &mut GraphBuilder, normalizer: &Normalizer, raw: &Value, may_miss: bool) -> Value {
    let (features, count) = (raw.clone(), normalizer.features());
    if matches!(normalizer.map(), FeatureMap::None) {
        return features;
    }
    let x = graph.as_double(&features);
    let value = match normalizer.map() {
        FeatureMap::None => x,
        FeatureMap::QueryMinMax => match graph.mask() {
            None => query_min_max(graph, &features, &x, may_miss),
            Some(mask) => query_min_max_of_many(graph, &mask, &x, count, may_miss),
        },
        FeatureMap::ZScore { mean, scale } => z_score(graph, &x, mean, scale),
        FeatureMap::ClippedZScore { mean, scale } => {
            let value = z_score(graph, &x, mean, scale);
            let least = graph.doubles("normalizer.least", &[], &[-8.0]);
            let most = graph.doubles("normalizer.most", &[], &[8.0]);
            let value = graph.node("Max", &[&value, &least]);
            graph.node("Min", &[&value, &most])
        }
        FeatureMap::Log1p { scale } => {
            let scale = graph.doubles("normalizer.scale", &[scale.len()], scale);
            let value = signed_log1p(graph, &x);
            graph.node("Mul", &[&value, &scale])
        }
        FeatureMap::Quantile { values } => quantile(graph, &features, &x, values),
        FeatureMap::Gauss { values, places } => gauss(graph, &features, &x, values, places),
    };
    graph.as_float(&value)
}

/// Adds `(x - mean) scale` to the graph.
fn z_score(graph: &mut GraphBuilder, x: &Value, mean: &[f64], scale: &[f64]) -> Value {
    let mean = graph.doubles("normalizer.mean", &[mean.len()], mean);
    let scale = graph.doubles("normalizer.scale", &[scale.len()], scale);
    let centered = graph.node("Sub", &[x, &mean]);
    graph.node("Mul", &[&centered, &scale])
}

/// Adds `sign(x) ln(1 + |x|)` to the graph, in double precision.
pub(super) fn signed_log1p(graph: &mut GraphBuilder, x: &Value) -> Value {
    let one = graph.doubles("one", &[], &[1.0]);
    let size = graph.node("Abs", &[x]);
    let size = graph.node("Add", &[&size, &one]);
    let size = graph.node("Log", &[&size]);
    let sign = graph.node("Sign", &[x]);
    graph.node("Mul", &[&sign, &size])
}

/// Adds `(x - min) / (max - min)` over the documents of the query to the graph. For a constant feature, the quotient is
/// 0 / 1, which is 0.
fn query_min_max(graph: &mut GraphBuilder, features: &Value, x: &Value, may_miss: bool) -> Value {
    let over_documents = || vec![Attribute::ints("axes", &[0]), Attribute::int("keepdims", 1)];
    // What a reduction returns for NaN depends on the position of the NaN, so missing values are replaced by numbers
    // outside the range.
    let missing = may_miss.then(|| graph.node("IsNaN", &[features]));
    let mut extreme = |operator: &str, outside: f32, name: &str| {
        let inside = match &missing {
            None => features.clone(),
            Some(missing) => {
                let outside = graph.floats(name, &[], &[outside]);
                graph.node("Where", &[missing, &outside, features])
            }
        };
        graph.node_with(operator, &[&inside], over_documents())
    };
    let (low, high) = (extreme("ReduceMin", f32::MAX, "largest"), extreme("ReduceMax", f32::MIN, "least"));
    let (low, high) = (graph.as_double(&low), graph.as_double(&high));
    let range = graph.node("Sub", &[&high, &low]);
    let range = one_in_place_of_zero(graph, &range);
    let above = graph.node("Sub", &[x, &low]);
    graph.node("Div", &[&above, &range])
}

/// Applies [`query_min_max`] to each query of a batch separately.
fn query_min_max_of_many(graph: &mut GraphBuilder, mask: &Value, x: &Value, features: usize, may_miss: bool) -> Value {
    let x = graph.by_query(x, &[features as i64]);
    let mask = graph.reshaped(mask, &[0, 0, 1]);
    let missing = may_miss.then(|| graph.node("IsNaN", &[&x]));
    let mut extreme = |operator: &str, outside: f64, name: &str| {
        let outside = graph.doubles(name, &[], &[outside]);
        let inside = graph.node("Where", &[&mask, &x, &outside]);
        let inside = match &missing {
            None => inside,
            Some(missing) => graph.node("Where", &[missing, &outside, &inside]),
        };
        graph.node_with(operator, &[&inside], vec![Attribute::ints("axes", &[1]), Attribute::int("keepdims", 1)])
    };
    let low = extreme("ReduceMin", f64::MAX, "largest");
    let high = extreme("ReduceMax", f64::MIN, "least");
    let range = graph.node("Sub", &[&high, &low]);
    let range = one_in_place_of_zero(graph, &range);
    let above = graph.node("Sub", &[&x, &low]);
    let share = graph.node("Div", &[&above, &range]);
    graph.reshaped(&share, &[-1, features as i64])
}

/// Replaces 0 with 1 in a divisor. The quotient stays correct if the dividend is 0 wherever the divisor is 0.
fn one_in_place_of_zero(graph: &mut GraphBuilder, value: &Value) -> Value {
    let zero = graph.doubles("zero", &[], &[0.0]);
    let one = graph.doubles("one", &[], &[1.0]);
    let positive = graph.node("Greater", &[value, &zero]);
    graph.node("Where", &[&positive, value, &one])
}

/// A table for looking up feature values, with a row of ascending values for each feature.
///
/// Each row is padded with infinity to a length that is one less than a power of two. Bisection takes the same number
/// of steps in every padded row, so one gather per step serves all documents. For a constant feature, the row contains
/// only the value 0.
struct Table {
    values: Value,
    /// The index at which each feature's row starts.
    rows: Value,
    /// The index of the last value in each row, not counting padding.
    last: Value,
    none: Value,
    one: Value,
    count: usize,
    width: usize,
}

impl Table {
    fn new(graph: &mut GraphBuilder, values: &[Vec<f32>]) -> Self {
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
    fn steps(&self, graph: &mut GraphBuilder) -> Vec<(Value, Value)> {
        let lengths = std::iter::successors(Some(self.width.div_ceil(2)), |step| Some(step / 2));
        lengths
            .take_while(|&step| step > 0)
            .map(|step| {
                let rows: Vec<i64> = (0..self.count).map(|feature| (feature * self.width + step - 1) as i64).collect();
                let length = graph.integers(&format!("step_{step}"), &[], &[step as i64]);
                (length, graph.integers(&format!("normalizer.rows_{step}"), &[self.count], &rows))
            })
            .collect()
    }

    /// For each document and feature, counts the values in the feature's row that are below the document's value
    /// (`Less`) or not above it (`LessOrEqual`).
    fn count(&self, graph: &mut GraphBuilder, features: &Value, comparison: &str) -> Value {
        let mut found = self.none.clone();
        for (length, probe) in &self.steps(graph) {
            let probe = graph.node("Add", &[&found, probe]);
            let quantile = graph.node("Gather", &[&self.values, &probe]);
            let passed = graph.node(comparison, &[&quantile, features]);
            let step = graph.node("Where", &[&passed, length, &self.none]);
            found = graph.node("Add", &[&found, &step]);
        }
        found
    }

    /// Returns the indices of the two table values between which a document's value lies. `below` is the number of
    /// table values below the document's value. If the document's value lies below the table, both indices point to the
    /// first value. If it lies above the table, both point to the last value.
    fn sides(&self, graph: &mut GraphBuilder, below: &Value) -> [Value; 2] {
        let lower = graph.node("Sub", &[below, &self.one]);
        [graph.node("Max", &[&lower, &self.none]), graph.node("Min", &[below, &self.last])]
    }

    /// Looks up the entry at position `place` in each row of `numbers`, which has the same layout as this table.
    fn at(&self, graph: &mut GraphBuilder, numbers: &Value, place: &Value) -> Value {
        let place = graph.node("Add", &[place, &self.rows]);
        let number = graph.node("Gather", &[numbers, &place]);
        graph.as_double(&number)
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
fn quantile(graph: &mut GraphBuilder, features: &Value, x: &Value, values: &[Vec<f32>]) -> Value {
    let table = Table::new(graph, values);
    let two = graph.doubles("two", &[], &[2.0]);
    let below = table.count(graph, features, "Less");
    let not_above = table.count(graph, features, "LessOrEqual");

    // A value equal to several quantiles gets the middle of their positions.
    let sum = graph.node("Add", &[&below, &not_above]);
    let sum = graph.node("Sub", &[&sum, &table.one]);
    let sum = graph.as_double(&sum);
    let middle = graph.node("Div", &[&sum, &two]);
    // A value between two quantiles is interpolated between their positions. For a value outside the table, both
    // quantiles are the first or the last one, and the position is clamped.
    let [lower, upper] = table.sides(graph, &below);
    let low = table.at(graph, &table.values, &lower);
    let high = table.at(graph, &table.values, &upper);
    let range = graph.node("Sub", &[&high, &low]);
    let range = one_in_place_of_zero(graph, &range);
    let above = graph.node("Sub", &[x, &low]);
    let share = graph.node("Div", &[&above, &range]);
    let lower = graph.as_double(&lower);
    let between = graph.node("Add", &[&lower, &share]);
    let (first, last) = (graph.as_double(&table.none), graph.as_double(&table.last));
    let between = graph.node("Max", &[&between, &first]);
    let between = graph.node("Min", &[&between, &last]);

    let equal = graph.node("Less", &[&below, &not_above]);
    let position = graph.node("Where", &[&equal, &middle, &between]);
    let divisor = one_in_place_of_zero(graph, &last);
    graph.node("Div", &[&position, &divisor])
}

/// Computes the position of each feature value by linear interpolation between the two nearest knots. A constant
/// feature has position 0.
fn gauss(graph: &mut GraphBuilder, features: &Value, x: &Value, values: &[Vec<f32>], places: &[Vec<f64>]) -> Value {
    let table = Table::new(graph, values);
    let places = padded(places, table.width, 0.0, 0.0);
    let places = graph.doubles("normalizer.places", &[table.count * table.width], &places);
    let below = table.count(graph, features, "Less");
    let [lower, upper] = table.sides(graph, &below);
    let low = table.at(graph, &table.values, &lower);
    let high = table.at(graph, &table.values, &upper);
    let (first, last) = (table.at(graph, &places, &lower), table.at(graph, &places, &upper));
    // Interpolates downward from the upper knot. For a value outside, both knots are the same, so nothing is
    // subtracted.
    let range = graph.node("Sub", &[&high, &low]);
    let range = one_in_place_of_zero(graph, &range);
    let under = graph.node("Sub", &[&high, x]);
    let share = graph.node("Div", &[&under, &range]);
    let step = graph.node("Sub", &[&last, &first]);
    let step = graph.node("Mul", &[&share, &step]);
    let place = graph.node("Sub", &[&last, &step]);
    graph.node("Max", &[&place, &first])
}
