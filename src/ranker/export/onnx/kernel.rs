//! Builds sums of Gaussian kernels from ONNX operators. As in this crate, the sums are computed in double precision.

use super::graph::{GraphBuilder, Value};
use super::messages::Attribute;
use crate::ranker::kernel_expansion::KernelExpansion;

/// Adds a kernel expansion to the graph. Squared distances are computed as `||x - l||^2 = x . x - 2 x . l + l . l`.
///
/// # Shapes
/// - `x`: `[documents, features]`
/// - output: `[documents, 1]`
pub(super) fn kernel_scores(graph: &mut GraphBuilder, expansion: &KernelExpansion, x: &Value) -> Value {
    let KernelExpansion { feature_count: features, landmarks, coefficients, gamma } = expansion;
    let features = *features;
    let count = coefficients.len();
    let rows = || landmarks.chunks_exact(features);
    let columns: Vec<f64> =
        (0..features).flat_map(|feature| rows().map(move |row| -2.0 * f64::from(row[feature]))).collect();
    let squares: Vec<f64> = rows().map(|row| row.iter().map(|&value| f64::from(value).powi(2)).sum::<f64>()).collect();
    let columns = graph.doubles("kernel.landmarks", &[features, count], &columns);
    let squares = graph.doubles("kernel.squares", &[count], &squares);
    let gamma = graph.doubles("kernel.gamma", &[], &[-gamma]);
    let coefficients = graph.doubles("kernel.coefficients", &[count, 1], coefficients);
    let zero = graph.doubles("zero", &[], &[0.0]);

    let x = graph.as_double(x);
    let square = graph.node("Mul", &[&x, &x]);
    let axes = graph.integers("last_axis", &[1], &[-1]);
    let own = graph.node_with("ReduceSum", &[&square, &axes], vec![Attribute::int("keepdims", 1)]);
    let products = graph.node("MatMul", &[&x, &columns]);
    let distance = graph.node("Add", &[&products, &squares]);
    let distance = graph.node("Add", &[&distance, &own]);
    // Rounding may leave a distance of 0 a little below it.
    let distance = graph.node("Max", &[&distance, &zero]);
    let exponent = graph.node("Mul", &[&distance, &gamma]);
    let kernels = graph.node("Exp", &[&exponent]);
    let scores = graph.node("MatMul", &[&kernels, &coefficients]);
    graph.as_float(&scores)
}
