//! The fused dense layer and its gradients, computed in blocks of rows that fit in the cache. Blocks and the order of
//! sums depend only on the number of rows, so results are bitwise identical for any number of threads.

use super::product::{Matrix, multiply};
use crate::op::Real;
use crate::parallel;

/// The number of rows in a block; with 256 neurons of `f32`, a block takes half a megabyte.
const BLOCK: usize = 512;

/// The largest number of partial sums of parameter gradients that are computed in parallel.
const LANES: usize = 16;

/// The parameters of a layer: weights `[inputs, neurons]` and bias `[neurons]`.
#[derive(Clone, Copy)]
pub struct Layer<'a, T> {
    pub weight: &'a [T],
    pub bias: &'a [T],
    pub rectified: bool,
}

/// The loss gradient at a layer's output, and the output itself if rectification sets parts of the gradient to 0.
#[derive(Clone, Copy)]
pub struct Flow<'a, T> {
    /// `[rows, neurons]`
    pub gradient: &'a [T],
    /// The output of a rectified layer, `[rows, neurons]`.
    pub rectified: Option<&'a [T]>,
    /// Number of neurons.
    pub neurons: usize,
}

/// Computes the output of a layer, of shape `[rows, neurons]`, from the inputs `x`, of shape `[rows, inputs]`.
pub fn value<T: Real>(x: &[T], layer: Layer<T>) -> Vec<T> {
    let neurons = layer.bias.len();
    let inputs = layer.weight.len() / neurons;
    let mut out = vec![T::ZERO; x.len() / inputs * neurons];
    parallel::for_each(out.chunks_mut(BLOCK * neurons).zip(x.chunks(BLOCK * inputs)), |(out, x)| {
        out.chunks_exact_mut(neurons).for_each(|row| row.copy_from_slice(layer.bias));
        multiply(Matrix::new(x, inputs), Matrix::new(layer.weight, neurons), out, true);
        if layer.rectified {
            // NaN stays NaN, which a maximum would not ensure.
            out.iter_mut().for_each(|value| *value = if *value < T::ZERO { T::ZERO } else { *value });
        }
    });
    out
}

/// Computes the loss gradient with respect to the inputs, which has the shape `[rows, inputs]`.
pub fn gradient_in_inputs<T: Real>(weight: &[T], flow: Flow<T>) -> Vec<T> {
    let inputs = weight.len() / flow.neurons;
    let mut out = vec![T::ZERO; flow.gradient.len() / flow.neurons * inputs];
    parallel::for_each(out.chunks_mut(BLOCK * inputs).enumerate(), |(block, out)| {
        let (first, mut scratch) = (block * BLOCK, Vec::new());
        let passed = flow.passed(first..first + out.len() / inputs, &mut scratch);
        multiply(Matrix::new(passed, flow.neurons), Matrix::new(weight, flow.neurons).transposed(), out, false);
    });
    out
}

/// Computes the loss gradients with respect to the weights and the bias, for inputs `x`. The gradient of the weights
/// has the shape `[inputs, neurons]`.
pub fn gradient_in_parameters<T: Real>(x: &[T], flow: Flow<T>) -> (Vec<T>, Vec<T>) {
    let rows = flow.gradient.len() / flow.neurons;
    let inputs = x.len() / rows;
    let lane = rows.div_ceil(LANES).max(BLOCK);
    let sums = parallel::map(0..rows.div_ceil(lane), |index| {
        let end = rows.min((index + 1) * lane);
        let mut weight = vec![T::ZERO; inputs * flow.neurons];
        let mut bias = vec![T::ZERO; flow.neurons];
        let mut scratch = Vec::new();
        for first in (index * lane..end).step_by(BLOCK) {
            let block = first..end.min(first + BLOCK);
            let x = Matrix::new(&x[block.start * inputs..block.end * inputs], inputs);
            let passed = flow.passed(block, &mut scratch);
            passed.chunks_exact(flow.neurons).for_each(|row| add(&mut bias, row));
            multiply(x.transposed(), Matrix::new(passed, flow.neurons), &mut weight, true);
        }
        (weight, bias)
    });
    let mut sums = sums.into_iter();
    let (mut weight, mut bias) = sums.next().expect("a layer of at least one row");
    for (other_weight, other_bias) in sums {
        add(&mut weight, &other_weight);
        add(&mut bias, &other_bias);
    }
    (weight, bias)
}

fn add<T: Real>(sum: &mut [T], values: &[T]) {
    sum.iter_mut().zip(values).for_each(|(sum, &value)| *sum = *sum + value);
}

impl<'a, T: Real> Flow<'a, T> {
    /// Returns the gradient for a range of rows, with 0 where the output was rectified. If rectification changes a
    /// value, the result is written to `scratch`.
    fn passed<'b>(&self, rows: std::ops::Range<usize>, scratch: &'b mut Vec<T>) -> &'b [T]
    where
        'a: 'b,
    {
        let cells = rows.start * self.neurons..rows.end * self.neurons;
        let gradient = &self.gradient[cells.clone()];
        let Some(out) = self.rectified else { return gradient };
        scratch.clear();
        let passed = gradient.iter().zip(&out[cells]);
        scratch.extend(passed.map(|(&gradient, &out)| if out > T::ZERO { gradient } else { T::ZERO }));
        scratch
    }
}
