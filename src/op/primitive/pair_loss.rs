//! [`pair_loss`](crate::op::pair_loss()), a pairwise loss summed over the pairs that the labels order. In the
//! definition, pairs with equal labels have the weight 0.

use burn::backend::TensorMetadata;
use burn::tensor::DType;

use super::*;

/// The weight of a pair in [`pair_loss`](fn@pair_loss), with tensors of shape `[batch, documents]`. The result carries
/// no gradient with respect to the weight.
pub type PairWeight = cpu::PairWeight<Tensor<2>>;

/// Returns `out_i = sum_j w_ij l(x_i - x_j)` over the pairs with `y_i > y_j`.
///
/// Differentiable in `x`.
///
/// # Shapes
/// - `x`, `labels`, `mask`, the tensors of `weight` and the output have the shape `[batch, documents]`. The mask is 1
///   for documents and 0 for padding.
///
/// # Panics
/// Panics if the inputs differ in shape or type.
#[track_caller]
pub fn pair_loss(x: Tensor<2>, labels: Tensor<2>, mask: Tensor<2>, weight: &PairWeight, loss: PairLoss) -> Tensor<2> {
    assert_alike("pair_loss", ("x", &x), &[("labels", &labels), ("mask", &mask)]);
    match weight {
        PairWeight::Unit => {}
        PairWeight::Document(u) => assert_alike("pair_loss", ("x", &x), &[("document weights", u)]),
        PairWeight::Lambda { gain, discount, rank, distance, .. } => {
            assert_alike("pair_loss", ("x", &x), &[("gain", gain), ("discount", discount), ("rank", rank)]);
            if let Some(Distance { scores, .. }) = distance {
                assert_alike("pair_loss", ("x", &x), &[("scores", scores)]);
            }
        }
    }
    let mut inputs = vec![x, labels.detach(), mask.detach()];
    let weight = weight.clone().map(|tensor| inputs.push(tensor.detach()));
    PairSum { loss, weight }.run(inputs)
}

/// The inputs are the scores, the labels and the mask, followed by the arrays of the weight in the order of
/// [`map`](cpu::PairWeight::map).
#[derive(Clone, Debug)]
pub struct PairSum {
    pub loss: PairLoss,
    pub weight: cpu::PairWeight<()>,
}

impl PairSum {
    /// Takes the arrays of the weight from the end of the inputs.
    fn weight<V>(&self, arrays: impl IntoIterator<Item = V>) -> cpu::PairWeight<V> {
        let mut arrays = arrays.into_iter();
        self.weight.map(|()| arrays.next().expect("a tensor for each array of the weight"))
    }
}

impl Primitive for PairSum {
    fn definition<B: Backend>(&self, mut inputs: Arrays<B>) -> Arrays<B> {
        let weight = self.weight(inputs.split_off(3));
        let [x, labels, mask] = exactly(inputs);
        let out = by_rows(&x, |rows| {
            let (ordered, reversed) = order(&labels, &mask, rows);
            let (w, _) = weight.of_rows(ordered, reversed, rows);
            [(self.loss.value(-x.differences(rows), &w) * w).sum(2)]
        });
        out.into()
    }

    /// The gradient with respect to `x` at document `k` is
    /// `g_k sum_j w_kj l'(x_k - x_j) - sum_j g_j w_jk l'(x_j - x_k)`.
    fn definition_gradient<B: Backend>(&self, mut inputs: Arrays<B>, _: Arrays<B>, g: Array<B>) -> Arrays<B> {
        let weight = self.weight(inputs.split_off(3));
        let [x, labels, mask] = exactly(inputs);
        let [to_x] = by_rows(&x, |rows| {
            let (ordered, reversed) = order(&labels, &mask, rows);
            let (above, below) = weight.of_rows(ordered, reversed, rows);
            let d = x.differences(rows);
            let own = (self.loss.slope(-d.clone(), &above) * above).sum(2) * g.rows(rows);
            let others = (self.loss.slope(d, &below) * below * g.columns()).sum(2);
            [own - others]
        });
        // Comparisons turn NaN into numbers, so add NaN to lists with a score that is not finite.
        vec![to_x + (x * 0.0).sum(1).unsqueeze(1)]
    }

    fn cpu<T: Real>(&self, inputs: &[&[T]], n: usize) -> Option<Vec<Vec<T>>> {
        in_single(inputs, |inputs| {
            let weight = self.weight(inputs[3..].iter().copied());
            vec![cpu::pair_loss(first(inputs), weight, n, self.loss)]
        })
    }

    fn cpu_gradient<T: Real>(&self, inputs: &[&[T]], _: &[&[T]], g: &[T], n: usize) -> Option<Vec<Vec<T>>> {
        in_single(&[&[g], inputs].concat(), |inputs| {
            let weight = self.weight(inputs[4..].iter().copied());
            vec![cpu::pair_loss_gradient(first(inputs), weight, n, self.loss)]
        })
    }

    #[cfg(feature = "_cube")]
    fn gpu(&self, inputs: &[&CubeTensor]) -> Outputs {
        gpu::pair_loss(first(inputs), self.weight(inputs[3..].iter().copied()), self.loss)
    }

    #[cfg(feature = "_cube")]
    fn gpu_gradient(&self, inputs: &[&CubeTensor], _: &[&CubeTensor], g: &CubeTensor) -> Outputs {
        gpu::pair_loss_gradient(first(inputs), self.weight(inputs[3..].iter().copied()), g, self.loss)
    }
}

impl<B: Backend> cpu::PairWeight<Array<B>> {
    /// Returns two weights for each pair in the given rows. In the first, the row's document is the more relevant; in
    /// the second, the column's document is.
    fn of_rows(&self, ordered: Array<B>, reversed: Array<B>, rows: Rows) -> (Array<B>, Array<B>) {
        match self {
            Self::Unit => (ordered, reversed),
            Self::Document(u) => (ordered * u.rows(rows).column(), reversed * u.columns()),
            Self::Lambda { gain, discount, rank, absolute, gap, distance } => {
                let apart = |values: &Array<B>| values.differences(rows).abs();
                let mut factor = apart(discount) * *absolute;
                if *gap != 0.0 {
                    let ranks = apart(rank).at_least(1.0);
                    factor = factor + (inverse_log2(ranks.clone() + 1.0) - inverse_log2(ranks + 2.0)) * *gap;
                }
                let mut factor = factor * apart(gain);
                if let Some(Distance { scores, offset }) = distance {
                    factor = factor / (apart(scores) + *offset);
                }
                (ordered * factor.clone(), reversed * factor)
            }
        }
    }
}

fn inverse_log2<B: Backend>(x: Array<B>) -> Array<B> {
    x.log().recip() * std::f64::consts::LN_2
}

impl PairLoss {
    /// Returns the loss `l(t)` of each pair. Where `weight` is 0, `t` is ignored if `l(t)` could overflow.
    fn value<B: Backend>(self, t: Array<B>, weight: &Array<B>) -> Array<B> {
        match self {
            PairLoss::Logistic => -t.log_sigmoid(),
            PairLoss::Hinge { margin } => (-t + margin).relu(),
            PairLoss::SquaredHinge { margin } => (-t + margin).relu().square(),
            PairLoss::Exponential => {
                let t = weight.select(t);
                let bound = exponential_bound(&t);
                let beyond = (-t.clone() - bound).relu();
                (-t.at_least(-bound)).exp() * (beyond + 1.0)
            }
            // This is 1 - sqrt(p), without the cancellation at p close to 1 or the infinite slope at p = 0.
            PairLoss::Fidelity => (-t.clone()).sigmoid() / ((t.log_sigmoid() * 0.5).exp() + 1.0),
            PairLoss::SoftZeroOne => (-t).sigmoid(),
        }
    }

    /// Returns the slope of the loss, `l'(t)`.
    fn slope<B: Backend>(self, t: Array<B>, weight: &Array<B>) -> Array<B> {
        match self {
            PairLoss::Logistic => -(-t).sigmoid(),
            PairLoss::Hinge { margin } => -(-t + margin).above(0.0),
            PairLoss::SquaredHinge { margin } => (-t + margin).relu() * -2.0,
            PairLoss::Exponential => {
                let bound = exponential_bound(&t);
                -(-weight.select(t).at_least(-bound)).exp()
            }
            PairLoss::Fidelity => (-t.clone()).sigmoid() * (t.log_sigmoid() * 0.5).exp() * -0.5,
            PairLoss::SoftZeroOne => -(t.clone().sigmoid() * (-t).sigmoid()),
        }
    }
}

/// Returns [`Real::EXPONENTIAL_BOUND`] for the number type of `t`.
fn exponential_bound<B: Backend>(t: &Array<B>) -> f64 {
    match t.0.dtype() {
        DType::F64 => f64::EXPONENTIAL_BOUND,
        _ => f64::from(f32::EXPONENTIAL_BOUND),
    }
}

/// Returns two arrays that are 1 for ordered pairs and 0 for others. For the first array, an ordered pair has the
/// higher label in its row; for the second, in its column.
fn order<B: Backend>(labels: &Array<B>, mask: &Array<B>, rows: Rows) -> (Array<B>, Array<B>) {
    let valid = mask.columns() * mask.rows(rows).column();
    let d = labels.differences(rows);
    ((-d.clone()).above(0.0) * valid.clone(), d.above(0.0) * valid)
}
