//! Expectations of the rank of a document and of what stands above it. See
//! [`above_expectation`](crate::op::above_expectation()).

use burn::backend::{Backend, tensor::FloatTensor};

use super::{
    array::Array,
    rows::by_rows,
    trials::{density, trials},
};
use crate::op::cpu::{Above, AboveExpectation, ExponentialTerm};

/// Smallest factor of a product. A factor of 0 leaves the product of the others to be found by a division.
const SMALLEST: f64 = 1e-18;

/// Returns the base of one term for every pair: `z_m`, times `1 - b_j` in a product.
fn base<B: Backend>(term: &ExponentialTerm, b: &Array<B>, above: Above) -> Array<B> {
    match above {
        Above::Sum => b.columns() * 0.0 + term.base,
        Above::Product => (b.columns() * -1.0 + 1.0) * term.base,
    }
}

/// `b_i + sum_j b_j pi_ji z / f_j`: the sum over the documents above, where every one of them counts `z` times.
fn tilted_sum<B: Backend>(
    ahead: &Array<B>,
    factor: &Array<B>,
    b: &Array<B>,
    base: f64,
    rows: (usize, usize),
) -> Array<B> {
    (ahead.clone() * b.columns() * base / factor.clone()).sum(2) + b.rows(rows)
}

/// The tensor definition.
pub fn value<B: Backend>(
    x: FloatTensor<B>,
    a: FloatTensor<B>,
    b: FloatTensor<B>,
    mask: FloatTensor<B>,
    expectation: &AboveExpectation,
) -> FloatTensor<B> {
    let AboveExpectation { noise, terms, above } = expectation;
    let (x, a, b, mask) = (Array::<B>(x), Array::<B>(a), Array::<B>(b), Array::<B>(mask));
    let [_, documents] = x.dims();
    let mixture = noise.mixture(documents);
    let [out] = by_rows(&x, |rows| {
        let mut out = x.rows(rows) * 0.0;
        for &(weight, comparison) in mixture.iter() {
            let [ahead, behind, _] = trials(&x, &mask, comparison, rows);
            for term in terms {
                let factor = (ahead.clone() * base(term, &b, *above) + behind.clone()).at_least(SMALLEST);
                let product = factor.clone().product(2);
                let value = match above {
                    Above::Sum => product * tilted_sum(&ahead, &factor, &b, term.base, rows),
                    Above::Product => product,
                };
                out = out + value * (weight * term.coefficient);
            }
        }
        [out * a.rows(rows) * mask.rows(rows)]
    });
    out.0
}

/// Gradient with respect to `x`. With `f_j` the factors of a term `m`, `P` their product and `S` the sum above, the
/// derivative by `pi_ji` is `c_m P / f_j` times `z_m (1 - b_j) - 1` for the product, and times
/// `(z_m - 1) S + b_j z_m / f_j` for the sum.
pub fn gradient<B: Backend>(
    x: FloatTensor<B>,
    a: FloatTensor<B>,
    b: FloatTensor<B>,
    mask: FloatTensor<B>,
    gradient: FloatTensor<B>,
    expectation: &AboveExpectation,
) -> FloatTensor<B> {
    let AboveExpectation { noise, terms, above } = expectation;
    let (x, b, mask) = (Array::<B>(x), Array::<B>(b), Array::<B>(mask));
    let [_, documents] = x.dims();
    let mixture = noise.mixture(documents);
    let g = Array::<B>(gradient) * Array(a) * mask.clone();
    // Each chunk gives `[batch, rows]`, and `[batch, 1, documents]`: what its rows send to every document.
    let [to_rows, to_all] = by_rows(&x, |rows| {
        let mut sent: Option<Array<B>> = None;
        for &(weight, comparison) in mixture.iter() {
            let [ahead, behind, trial] = trials(&x, &mask, comparison, rows);
            let mut flow: Option<Array<B>> = None;
            for term in terms {
                let base = base(term, &b, *above);
                let factor = (ahead.clone() * base.clone() + behind.clone()).at_least(SMALLEST);
                let product = factor.clone().product(2) * g.rows(rows) * (weight * term.coefficient);
                let inner = match above {
                    Above::Product => base - 1.0,
                    Above::Sum => {
                        let sum = tilted_sum(&ahead, &factor, &b, term.base, rows) * (term.base - 1.0);
                        b.columns() * term.base / factor.clone() + sum.column()
                    }
                };
                let here = product.column() * inner / factor;
                flow = Some(flow.map_or(here.clone(), |flow| flow + here));
            }
            let here = flow.unwrap_or_else(|| trial.clone() * 0.0) * density(&x, comparison, rows) * trial;
            sent = Some(sent.map_or(here.clone(), |sent| sent + here));
        }
        let sent = sent.unwrap_or_else(|| x.differences(rows) * 0.0);
        [sent.clone().sum(2), sent.sum(1).columns()]
    });
    (to_all.sum(1) - to_rows).0
}
