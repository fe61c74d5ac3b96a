//! [`above_expectation`](crate::op::above_expectation()), expectations under noisy scores by generating functions, and
//! the comparisons of documents with noisy scores (trials), as arrays over pairs.

use super::*;

/// Returns `out_i = a_i E[A_i D(R_i)]`, or 0 at padding. The rank `R_i`, counted from 0, is the number of documents
/// above `i`, and its discount is `D(r) = sum_m c_m z_m^r`. The factor `A_i` is 1, or `b_i` plus the sum of `b_j` over
/// the documents above `i`, or the product of `1 - b_j` over these documents.
///
/// Each document `j != i` ranks above `i` independently, with the probability `pi_ji` of a
/// [`Comparison`](crate::op::Comparison). The expectation is averaged over the comparisons of `noise`. For exact noise
/// in `f32`, the CPU integrates over levels of the noisy score instead of a mixture of comparisons. For one comparison,
/// let `f_jm = 1 + pi_ji (z_m - 1)`. Then the expectations are:
///
/// - with a sum, `sum_m c_m (b_i + sum_j b_j pi_ji z_m / f_jm) prod_j f_jm`;
/// - with a product, `sum_m c_m prod_j (1 + pi_ji (z_m (1 - b_j) - 1))`, where `b = 0` leaves only the discount.
///
/// Only `x` is differentiable. Documents with `a_i = 0` are skipped. Each of the remaining documents takes O(Q M n)
/// time, for `M` terms and `Q` comparisons. Under exact noise, the CPU needs only O(M n) time per document in `f32`.
/// The CPU needs O(n) memory; other backends compute as many rows at once as the memory budget allows. If only the rank
/// matters, `M` numbers per document are stored for the gradient.
///
/// # Shapes
/// - `x`, `a`, `b`, `mask` and the output have the shape `[batch, documents]`. For a product, `b` must be in `[0, 1]`;
///   at padding, it must be 0. The mask is 1 for documents and 0 for padding.
///
/// # Panics
/// Panics if the inputs differ in shape or type.
#[track_caller]
pub fn above_expectation(
    x: Tensor<2>,
    a: Tensor<2>,
    b: Tensor<2>,
    mask: Tensor<2>,
    expectation: &AboveExpectation,
) -> Tensor<2> {
    assert_alike("above_expectation", ("x", &x), &[("a", &a), ("b", &b), ("mask", &mask)]);
    if expectation.terms.is_empty() || expectation.noise == ScoreNoise::Mixture(Vec::new()) || x.dims()[1] == 0 {
        return x.zeros_like();
    }
    expectation.clone().run([x, a.detach(), b.detach(), mask])
}

/// The inputs are the scores, the weights `a`, the contributions `b` and the mask. For [independent
/// ranks](AboveExpectation::of_independent_ranks), the second output is the product of each term,
/// `[batch, documents, terms]`.
impl Primitive for AboveExpectation {
    fn definition<B: Backend>(&self, inputs: Arrays<B>) -> Arrays<B> {
        let [x, a, b, mask] = exactly(inputs);
        match self.of_independent_ranks() {
            Some(comparison) => self.of_ranks(x, a, mask, comparison),
            None => vec![self.value(x, a, b, mask)],
        }
    }

    /// Let `f_j` be the factors of a term `m`, `P` their product, and `S` the sum that multiplies `P`. The derivative
    /// with respect to `pi_ji` is `c_m P / f_j` times `z_m (1 - b_j) - 1` for the product, and times
    /// `S (z_m - 1) + b_j z_m / f_j` for the sum.
    fn definition_gradient<B: Backend>(&self, inputs: Arrays<B>, _: Arrays<B>, g: Array<B>) -> Arrays<B> {
        let [x, a, b, mask] = exactly(inputs);
        let Self { noise, terms, above } = self;
        let b = self.contributed(b, &mask);
        let mixture = noise.mixture(x.dims::<2>()[1]);
        let g = g * a * mask.clone();
        let to_x = gradient_of_trials(&x, &mixture, 0, |weight, comparison, rows| {
            let [ahead, behind, trial] = trials(&x, &mask, comparison, rows);
            let of_term = |term: &ExponentialTerm| {
                let base = base(term, &b, *above);
                let factor = (ahead.clone() * base.clone() + behind.clone()).at_least(SMALLEST);
                let product = factor.clone().product(2) * g.rows(rows) * (weight * term.coefficient);
                let inner = match above {
                    Above::Nothing | Above::Product => base - 1.0,
                    Above::Sum => {
                        let sum = tilted_sum(&ahead, &factor, &b, term.base, rows) * (term.base - 1.0);
                        b.columns() * term.base / factor.clone() + sum.column()
                    }
                };
                product.column() * inner / factor
            };
            let flow = terms.iter().map(of_term).reduce(|flow, here| flow + here);
            flow.unwrap_or_else(|| trial.clone() * 0.0) * density(&x, comparison, rows) * trial
        });
        vec![to_x]
    }

    fn cpu<T: Real>(&self, inputs: &[&[T]], n: usize) -> Option<Vec<Vec<T>>> {
        Some(cpu::above_expectation(first(inputs), n, self))
    }

    fn cpu_gradient<T: Real>(&self, inputs: &[&[T]], saved: &[&[T]], g: &[T], n: usize) -> Option<Vec<Vec<T>>> {
        Some(vec![cpu::above_expectation_gradient(first(inputs), saved.first().copied(), g, n, self)])
    }

    #[cfg(feature = "_cube")]
    fn gpu(&self, inputs: &[&CubeTensor]) -> Outputs {
        match self.of_independent_ranks() {
            Some(comparison) => gpu::rank_expectation(first(inputs), comparison.rate, &self.terms),
            None => gpu::above_expectation(first(inputs), self),
        }
    }

    #[cfg(feature = "_cube")]
    fn gpu_gradient(&self, inputs: &[&CubeTensor], saved: &[&CubeTensor], g: &CubeTensor) -> Outputs {
        match self.of_independent_ranks() {
            Some(comparison) => {
                gpu::rank_expectation_gradient(first(inputs), saved.first()?, g, comparison.rate, &self.terms)
            }
            None => gpu::above_expectation_gradient(first(inputs), g, self),
        }
    }

    fn shapes(&self, [batch, documents]: [usize; 2]) -> Vec<Vec<usize>> {
        let products = self.of_independent_ranks().map(|_| vec![batch, documents, self.terms.len()]);
        std::iter::once(vec![batch, documents]).chain(products).collect()
    }
}

/// The smallest value that a factor of a product may have. The bound is above 0, because the gradient divides by the
/// factors.
const SMALLEST: f64 = 1e-18;

/// Returns the factor by which a document `j` above multiplies one exponential term: `z_m`, or `z_m (1 - b_j)` with
/// [`Above::Product`].
fn base<B: Backend>(term: &ExponentialTerm, b: &Array<B>, above: Above) -> Array<B> {
    match above {
        Above::Nothing | Above::Sum => b.columns() * 0.0 + term.base,
        Above::Product => (b.columns() * -1.0 + 1.0) * term.base,
    }
}

/// Computes `b_i + sum_j b_j pi_ji z / f_j`. With [`Above::Sum`], a term of the expectation is this number times the
/// product of the factors.
fn tilted_sum<B: Backend>(ahead: &Array<B>, factor: &Array<B>, b: &Array<B>, base: f64, rows: Rows) -> Array<B> {
    (ahead.clone() * b.columns() * base / factor.clone()).sum(2) + b.rows(rows)
}

impl AboveExpectation {
    /// Returns the contributions; if only the rank matters, they are replaced by numbers that have no effect.
    fn contributed<B: Backend>(&self, b: Array<B>, mask: &Array<B>) -> Array<B> {
        if self.above == Above::Nothing { mask.clone() } else { b }
    }

    fn value<B: Backend>(&self, x: Array<B>, a: Array<B>, b: Array<B>, mask: Array<B>) -> Array<B> {
        let Self { noise, terms, above } = self;
        let b = self.contributed(b, &mask);
        let mixture = noise.mixture(x.dims::<2>()[1]);
        let [out] = by_rows(&x, |rows| {
            let mut out = x.rows(rows) * 0.0;
            for &(weight, comparison) in mixture.iter() {
                let [ahead, behind, _] = trials(&x, &mask, comparison, rows);
                for term in terms {
                    let factor = (ahead.clone() * base(term, &b, *above) + behind.clone()).at_least(SMALLEST);
                    let product = factor.clone().product(2);
                    let value = match above {
                        Above::Sum => product * tilted_sum(&ahead, &factor, &b, term.base, rows),
                        Above::Nothing | Above::Product => product,
                    };
                    out = out + value * (weight * term.coefficient);
                }
            }
            [out * a.rows(rows) * mask.rows(rows)]
        });
        out
    }

    /// Returns the value for [independent ranks](Self::of_independent_ranks), and the product of every term, `[batch,
    /// documents, terms]`. Factors near 1 are added up as logarithms, since rounding the factors would lose the small
    /// differences that matter in a long list.
    fn of_ranks<B: Backend>(&self, x: Array<B>, a: Array<B>, mask: Array<B>, comparison: Comparison) -> Arrays<B> {
        let results = by_rows(&x, |rows| {
            let [ahead, ..] = trials(&x, &mask, comparison, rows);
            let product = |term: &ExponentialTerm| {
                let above = ahead.clone() * (term.base - 1.0);
                if term.base > 0.5 { above.log_1p().sum(2).exp() } else { (above + 1.0).product(2) }
            };
            let products: Vec<_> = self.terms.iter().map(product).collect();
            let weighted = products.iter().zip(&self.terms).map(|(product, term)| product.clone() * term.coefficient);
            let out = weighted.reduce(|sum, term| sum + term).unwrap_or_else(|| x.rows(rows) * 0.0);
            [out * a.rows(rows) * mask.rows(rows), Array::stack_last(products)]
        });
        results.into()
    }
}

/// Returns three arrays over pairs of the given rows `i` with all documents `j`. They hold `pi_ji`, `1 - pi_ji`, and
/// whether the pair is a trial (1 or 0). A pair is a trial if `j` is a document (not padding) other than `i`. A pair
/// that is not a trial has the values 0, 1 and 0.
pub fn trials<B: Backend>(x: &Array<B>, mask: &Array<B>, comparison: Comparison, rows: Rows) -> [Array<B>; 3] {
    let [_, documents] = x.dims();
    let itself = x.indices(documents).differences(rows).equals_zero();
    let trial = mask.columns() * (itself * -1.0 + 1.0);
    let beats = |t: Array<B>| (t.erf() + 1.0) * 0.5 * trial.clone();
    let t = x.differences(rows) * comparison.rate - comparison.shift;
    [beats(t.clone()), beats(-t) + (trial.clone() * -1.0 + 1.0), trial.clone()]
}

/// Returns the derivative of the probability `pi_ji` with respect to `x_j`, for the given rows `i` and all documents
/// `j`.
pub fn density<B: Backend>(x: &Array<B>, comparison: Comparison, rows: Rows) -> Array<B> {
    let t = x.differences(rows) * comparison.rate - comparison.shift;
    (-t.square()).exp() * (0.5 * std::f64::consts::FRAC_2_SQRT_PI * comparison.rate)
}

/// Returns the gradient with respect to `x` for a mixture of comparisons. For a weighted comparison and a range of
/// rows, `flow` returns the derivative of each trial of these rows with respect to `x_j`. While it runs, `flow` needs
/// memory for `numbers` values per row.
pub fn gradient_of_trials<B: Backend>(
    x: &Array<B>,
    mixture: &[(f64, Comparison)],
    numbers: usize,
    flow: impl Fn(f64, Comparison, Rows) -> Array<B>,
) -> Array<B> {
    let [_, documents] = x.dims();
    // Each chunk gives `[batch, rows]`, and `[batch, 1, documents]` with what its rows send to every document.
    let [to_rows, to_all] = in_chunks(x, chunks_of(x, documents, numbers), |rows| {
        let sent = mixture.iter().map(|&(weight, comparison)| flow(weight, comparison, rows));
        let sent = sent.reduce(|sent, here| sent + here).unwrap_or_else(|| x.differences(rows) * 0.0);
        [sent.clone().sum(2), sent.sum(1).columns()]
    });
    to_all.sum(1) - to_rows
}
