//! Normalisers as ONNX operators, in double precision as in this crate.

use super::graph::{GraphBuilder, Value};
use super::messages::Attribute;
use crate::data::{FeatureMap, Normalizer};

/// Adds the raw features to the graph, one row per place of a document; places without one have 0.
///
/// # Shapes
/// - output: `[documents, features]`, 32-bit floats
pub(super) fn raw(graph: &mut GraphBuilder, features: usize) -> Value {
    let input = graph.input();
    let Some(mask) = graph.mask() else { return input };
    let mask = graph.reshaped(&mask, &[0, 0, 1]);
    let zero = graph.floats("no_feature", &[], &[0.0]);
    let clean = graph.node("Where", &[&mask, &input, &zero]);
    graph.reshaped(&clean, &[-1, features as i64])
}

/// Adds the normalised features to the graph, one row per place of a document. With `may_miss` a value may be NaN.
///
/// # Shapes
/// - output: `[documents, features]`, 32-bit floats
pub(super) fn normalized(graph: &mut GraphBuilder, normalizer: &Normalizer, may_miss: bool) -> Value {
    let count = normalizer.features();
    let features = raw(graph, count);
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
        FeatureMap::ZScore { mean, scale } => {
            let mean = graph.doubles("normaliser.mean", &[mean.len()], mean);
            let scale = graph.doubles("normaliser.scale", &[scale.len()], scale);
            let centered = graph.node("Sub", &[&x, &mean]);
            graph.node("Mul", &[&centered, &scale])
        }
        FeatureMap::Log1p { scale } => {
            let scale = graph.doubles("normaliser.scale", &[scale.len()], scale);
            let value = signed_log1p(graph, &x);
            graph.node("Mul", &[&value, &scale])
        }
        FeatureMap::Quantile { values } => quantile(graph, &features, &x, values),
    };
    graph.as_float(&value)
}

/// Adds `sign(x) ln(1 + |x|)` of a value in double precision to the graph.
pub(super) fn signed_log1p(graph: &mut GraphBuilder, x: &Value) -> Value {
    let one = graph.doubles("one", &[], &[1.0]);
    let size = graph.node("Abs", &[x]);
    let size = graph.node("Add", &[&size, &one]);
    let size = graph.node("Log", &[&size]);
    let sign = graph.node("Sign", &[x]);
    graph.node("Mul", &[&sign, &size])
}

/// Adds `(x - min) / (max - min)` over the documents to the graph; a constant feature is 0 / 1.
fn query_min_max(graph: &mut GraphBuilder, features: &Value, x: &Value, may_miss: bool) -> Value {
    let over_documents = || vec![Attribute::ints("axes", &[0]), Attribute::int("keepdims", 1)];
    // What a reduction makes of NaN depends on its place; a missing value is not in the range.
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

/// As [`query_min_max`], over the documents of each query of a batch.
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

/// Adds a divisor with 1 in place of 0, for divisors that are 0 only where the dividend is 0.
fn one_in_place_of_zero(graph: &mut GraphBuilder, value: &Value) -> Value {
    let zero = graph.doubles("zero", &[], &[0.0]);
    let one = graph.doubles("one", &[], &[1.0]);
    let positive = graph.node("Greater", &[value, &zero]);
    graph.node("Where", &[&positive, value, &one])
}

/// Adds the share at which each feature lies among its quantiles to the graph.
///
/// The quantiles are in one table with one row per feature. Each row is padded with infinity to a length that is one
/// less than a power of two: bisection then takes the same steps for every feature, as gathers over all documents at
/// once. A constant feature has the single quantile 0, and therefore always the share 0.
fn quantile(graph: &mut GraphBuilder, features: &Value, x: &Value, values: &[Vec<f32>]) -> Value {
    let longest = values.iter().map(Vec::len).max().unwrap_or(0).max(1);
    let width = (longest + 1).next_power_of_two() - 1;
    let count = values.len();
    let mut table = Vec::with_capacity(count * width);
    for values in values {
        table.extend_from_slice(if values.is_empty() { &[0.0] } else { values });
        table.resize(table.len().next_multiple_of(width), f32::INFINITY);
    }
    let table = graph.floats("normaliser.quantiles", &[count * width], &table);
    let row = |start: usize| (0..count).map(|feature| (feature * width + start) as i64).collect::<Vec<_>>();
    let rows = graph.integers("normaliser.rows", &[count], &row(0));
    let last: Vec<i64> = values.iter().map(|values| values.len().saturating_sub(1) as i64).collect();
    let last = graph.integers("normaliser.last", &[count], &last);
    let (none, one, two) = (
        graph.integers("integer_0", &[], &[0]),
        graph.integers("integer_1", &[], &[1]),
        graph.doubles("two", &[], &[2.0]),
    );

    let steps: Vec<(Value, Value)> = std::iter::successors(Some(width.div_ceil(2)), |step| Some(step / 2))
        .take_while(|&step| step > 0)
        .map(|step| {
            let length = graph.integers(&format!("step_{step}"), &[], &[step as i64]);
            (length, graph.integers(&format!("normaliser.rows_{step}"), &[count], &row(step - 1)))
        })
        .collect();
    // Counts, for each value, the quantiles of its feature that are below it (at most it, for `LessOrEqual`).
    let mut count_of = |comparison: &str| {
        let mut found = none.clone();
        for (length, probe) in &steps {
            let probe = graph.node("Add", &[&found, probe]);
            let quantile = graph.node("Gather", &[&table, &probe]);
            let passed = graph.node(comparison, &[&quantile, features]);
            let step = graph.node("Where", &[&passed, length, &none]);
            found = graph.node("Add", &[&found, &step]);
        }
        found
    };
    let below = count_of("Less");
    let not_above = count_of("LessOrEqual");

    // A value equal to some quantiles has the middle of their positions.
    let sum = graph.node("Add", &[&below, &not_above]);
    let sum = graph.node("Sub", &[&sum, &one]);
    let sum = graph.as_double(&sum);
    let middle = graph.node("Div", &[&sum, &two]);
    // A value between two quantiles is interpolated. Outside, both are the first or the last, and the position is
    // clamped to it.
    let lower = graph.node("Sub", &[&below, &one]);
    let lower = graph.node("Max", &[&lower, &none]);
    let upper = graph.node("Min", &[&below, &last]);
    let mut quantile_at = |place: &Value| {
        let place = graph.node("Add", &[place, &rows]);
        let quantile = graph.node("Gather", &[&table, &place]);
        graph.as_double(&quantile)
    };
    let (low, high) = (quantile_at(&lower), quantile_at(&upper));
    let range = graph.node("Sub", &[&high, &low]);
    let range = one_in_place_of_zero(graph, &range);
    let above = graph.node("Sub", &[x, &low]);
    let share = graph.node("Div", &[&above, &range]);
    let lower = graph.as_double(&lower);
    let between = graph.node("Add", &[&lower, &share]);
    let (first, last) = (graph.as_double(&none), graph.as_double(&last));
    let between = graph.node("Max", &[&between, &first]);
    let between = graph.node("Min", &[&between, &last]);

    let equal = graph.node("Less", &[&below, &not_above]);
    let position = graph.node("Where", &[&equal, &middle, &between]);
    let divisor = one_in_place_of_zero(graph, &last);
    graph.node("Div", &[&position, &divisor])
}
