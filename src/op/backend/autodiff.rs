//! The primitives under automatic differentiation: one node each, whose backward pass is the analytic gradient of the
//! backend below.

use burn::backend::{
    Autodiff, AutodiffBackend,
    autodiff::{
        checkpoint::{base::Checkpointer, strategy::CheckpointStrategy},
        grads::Gradients,
        ops::{Backward, Ops, OpsKind},
    },
    tensor::FloatTensor,
};

use super::{pair_weight::Weight, pairwise::Pairwise};
use crate::op::cpu::{AboveExpectation, AboveRecursion, Comparison, ExponentialTerm, NeuralSortMatrix, PairLoss, Step};
use crate::op::definition::log2_discount;

/// Registers `$operation` on the inputs `$input`, keeping `$state` for its backward pass.
macro_rules! register {
    ($operation:expr, [$($input:expr),+], $state:expr, $out:expr) => {
        match $operation.prepare::<C>([$($input.node()),+]).compute_bound().stateful() {
            OpsKind::Tracked(prep) => prep.finish($state, $out),
            OpsKind::UnTracked(prep) => prep.finish($out),
        }
    };
}

/// The gradient of the documents that count, 0 for the others; none for all of them.
fn where_counted<B: Pairwise>(gradient: FloatTensor<B>, counted: Option<FloatTensor<B>>) -> FloatTensor<B> {
    match counted {
        Some(counted) => B::where_counted(gradient, counted),
        None => gradient,
    }
}

/// Inputs `x, v`, then the parameters.
type StepSumState<F> = (F, F, f64, Step);

#[derive(Debug)]
struct StepSum;

impl<B: Pairwise> Backward<B, 2> for StepSum {
    /// That of the sum, and which documents count; none for all of them.
    type State = (StepSumState<FloatTensor<B>>, Option<FloatTensor<B>>);

    fn backward(self, ops: Ops<Self::State, 2>, grads: &mut Gradients, _: &mut Checkpointer) {
        let ((x, v, alpha, step), counted) = ops.state;
        let gradient = where_counted::<B>(grads.consume::<B>(&ops.node), counted);
        let [to_x, to_v] = ops.parents;
        if let Some(node) = to_v {
            let gradient = B::step_sum_gradient_in_values(x.clone(), gradient.clone(), alpha, step);
            grads.register::<B>(node.id, gradient);
        }
        if let Some(node) = to_x {
            grads.register::<B>(node.id, B::step_sum_gradient(x, v, gradient, alpha, step));
        }
    }
}

#[derive(Debug)]
struct RankExpectation;

impl<B: Pairwise> Backward<B, 1> for RankExpectation {
    /// Scores, mask and products, which documents count (none for all of them), and the parameters.
    type State = ([FloatTensor<B>; 3], Option<FloatTensor<B>>, f64, Vec<ExponentialTerm>);

    fn backward(self, ops: Ops<Self::State, 1>, grads: &mut Gradients, _: &mut Checkpointer) {
        let ([x, mask, products], counted, sigma, terms) = ops.state;
        let gradient = where_counted::<B>(grads.consume::<B>(&ops.node), counted);
        if let [Some(node)] = ops.parents {
            let gradient = B::rank_expectation_gradient(x, mask, products, gradient, sigma, terms);
            grads.register::<B>(node.id, gradient);
        }
    }
}

#[derive(Debug)]
struct RankRecursion;

impl<B: Pairwise> Backward<B, 1> for RankRecursion {
    /// Scores and mask, which documents count (none for all of them), and the parameters.
    type State = ([FloatTensor<B>; 2], Option<FloatTensor<B>>, Comparison, Vec<f64>);

    fn backward(self, ops: Ops<Self::State, 1>, grads: &mut Gradients, _: &mut Checkpointer) {
        let ([x, mask], counted, comparison, discounts) = ops.state;
        let gradient = where_counted::<B>(grads.consume::<B>(&ops.node), counted);
        if let [Some(node)] = ops.parents {
            grads.register::<B>(node.id, B::rank_recursion_gradient(x, mask, gradient, comparison, discounts));
        }
    }
}

#[derive(Debug)]
struct AboveSum;

impl<B: Pairwise> Backward<B, 1> for AboveSum {
    /// Inputs `x, a, b, mask`, then what is averaged.
    type State = ([FloatTensor<B>; 4], AboveExpectation);

    fn backward(self, ops: Ops<Self::State, 1>, grads: &mut Gradients, _: &mut Checkpointer) {
        let ([x, a, b, mask], expectation) = ops.state;
        let gradient = grads.consume::<B>(&ops.node);
        if let [Some(node)] = ops.parents {
            let gradient = B::above_expectation_gradient(x, a, b, mask, gradient, expectation);
            grads.register::<B>(node.id, gradient);
        }
    }
}

#[derive(Debug)]
struct AboveTrials;

impl<B: Pairwise> Backward<B, 1> for AboveTrials {
    /// Inputs `x, a, b, mask, values`, then what is averaged.
    type State = ([FloatTensor<B>; 5], AboveRecursion);

    fn backward(self, ops: Ops<Self::State, 1>, grads: &mut Gradients, _: &mut Checkpointer) {
        let ([x, a, b, mask, values], recursion) = ops.state;
        let gradient = grads.consume::<B>(&ops.node);
        if let [Some(node)] = ops.parents {
            let gradient = B::above_recursion_gradient(x, a, b, mask, values, gradient, recursion);
            grads.register::<B>(node.id, gradient);
        }
    }
}

/// Inputs `x, a, mask`, outputs `out, total`, then `sigma`.
type IndicatorState<F> = ([F; 3], [F; 2], f64);

#[derive(Debug)]
struct IndicatorSum;

impl<B: Pairwise> Backward<B, 2> for IndicatorSum {
    type State = IndicatorState<FloatTensor<B>>;

    fn backward(self, ops: Ops<Self::State, 2>, grads: &mut Gradients, _: &mut Checkpointer) {
        let ([x, a, mask], [out, total], sigma) = ops.state;
        let gradient = grads.consume::<B>(&ops.node);
        let [to_x, to_a] = ops.parents;
        if let Some(node) = to_a {
            let [x, mask, total, gradient] = [&x, &mask, &total, &gradient].map(Clone::clone);
            grads.register::<B>(node.id, B::indicator_sum_gradient_in_values(x, mask, total, gradient, sigma));
        }
        if let Some(node) = to_x {
            grads.register::<B>(node.id, B::indicator_sum_gradient(x, a, mask, out, total, gradient, sigma));
        }
    }
}

#[derive(Debug)]
struct PairLossSum;

impl<B: Pairwise> Backward<B, 1> for PairLossSum {
    type State = (FloatTensor<B>, FloatTensor<B>, FloatTensor<B>, Weight<B>, PairLoss);

    fn backward(self, ops: Ops<Self::State, 1>, grads: &mut Gradients, _: &mut Checkpointer) {
        let (x, labels, mask, weight, loss) = ops.state;
        let gradient = grads.consume::<B>(&ops.node);
        if let [Some(node)] = ops.parents {
            grads.register::<B>(node.id, B::pair_loss_gradient(x, labels, mask, weight, gradient, loss));
        }
    }
}

#[derive(Debug)]
struct DistanceSum;

impl<B: Pairwise> Backward<B, 1> for DistanceSum {
    /// Scores and mask.
    type State = [FloatTensor<B>; 2];

    fn backward(self, ops: Ops<Self::State, 1>, grads: &mut Gradients, _: &mut Checkpointer) {
        let [x, mask] = ops.state;
        let gradient = grads.consume::<B>(&ops.node);
        if let [Some(node)] = ops.parents {
            grads.register::<B>(node.id, B::distance_sum_gradient(x, mask, gradient));
        }
    }
}

#[derive(Debug)]
struct NeuralSortSum;

impl<B: Pairwise> Backward<B, 2> for NeuralSortSum {
    /// Inputs `x, v, mask`, then the matrix.
    type State = ([FloatTensor<B>; 3], NeuralSortMatrix);

    fn backward(self, ops: Ops<Self::State, 2>, grads: &mut Gradients, _: &mut Checkpointer) {
        let ([x, v, mask], sort) = ops.state;
        let gradient = grads.consume::<B>(&ops.node);
        let (in_x, in_v) = B::neural_sort_sum_gradient(x, v, mask, gradient, sort);
        let [to_x, to_v] = ops.parents;
        if let Some(node) = to_x {
            grads.register::<B>(node.id, in_x);
        }
        if let Some(node) = to_v {
            grads.register::<B>(node.id, in_v);
        }
    }
}

#[derive(Debug)]
struct Log2Discount;

impl<B: Pairwise> Backward<B, 1> for Log2Discount {
    /// Positions and discounts.
    type State = [FloatTensor<B>; 2];

    fn backward(self, ops: Ops<Self::State, 1>, grads: &mut Gradients, _: &mut Checkpointer) {
        let [positions, out] = ops.state;
        let gradient = grads.consume::<B>(&ops.node);
        if let [Some(node)] = ops.parents {
            grads.register::<B>(node.id, log2_discount::gradient::<B>(positions, out, gradient));
        }
    }
}

#[derive(Debug)]
struct LogSoftmax;

impl<B: Pairwise> Backward<B, 1> for LogSoftmax {
    /// Output and mask.
    type State = [FloatTensor<B>; 2];

    fn backward(self, ops: Ops<Self::State, 1>, grads: &mut Gradients, _: &mut Checkpointer) {
        let [out, mask] = ops.state;
        let gradient = grads.consume::<B>(&ops.node);
        if let [Some(node)] = ops.parents {
            grads.register::<B>(node.id, B::masked_log_softmax_gradient(out, mask, gradient));
        }
    }
}

impl<B: Pairwise, C: CheckpointStrategy> Pairwise for Autodiff<B, C> {
    fn step_sum(x: FloatTensor<Self>, v: FloatTensor<Self>, alpha: f64, step: Step) -> FloatTensor<Self> {
        let (x_in, v_in) = (x.primitive().clone(), v.primitive().clone());
        let out = B::step_sum(x_in.clone(), v_in.clone(), alpha, step);
        register!(StepSum, [x, v], ((x_in, v_in, alpha, step), None), out)
    }

    fn counted_step_sum(
        x: FloatTensor<Self>,
        v: FloatTensor<Self>,
        counted: FloatTensor<Self>,
        alpha: f64,
        step: Step,
    ) -> FloatTensor<Self> {
        let (x_in, v_in, counted) = (x.primitive().clone(), v.primitive().clone(), Self::inner(counted));
        let out = B::counted_step_sum(x_in.clone(), v_in.clone(), counted.clone(), alpha, step);
        register!(StepSum, [x, v], ((x_in, v_in, alpha, step), Some(counted)), out)
    }

    fn rank_expectation(
        x: FloatTensor<Self>,
        mask: FloatTensor<Self>,
        sigma: f64,
        terms: Vec<ExponentialTerm>,
    ) -> (FloatTensor<Self>, FloatTensor<Self>) {
        let (x_in, mask) = (x.primitive().clone(), Self::inner(mask));
        let (out, products) = B::rank_expectation(x_in.clone(), mask.clone(), sigma, terms.clone());
        let state = ([x_in, mask, products.clone()], None, sigma, terms);
        (register!(RankExpectation, [x], state, out), Self::from_inner(products))
    }

    fn counted_rank_expectation(
        x: FloatTensor<Self>,
        mask: FloatTensor<Self>,
        counted: FloatTensor<Self>,
        sigma: f64,
        terms: Vec<ExponentialTerm>,
    ) -> (FloatTensor<Self>, FloatTensor<Self>) {
        let (x_in, mask, counted) = (x.primitive().clone(), Self::inner(mask), Self::inner(counted));
        let (out, products) =
            B::counted_rank_expectation(x_in.clone(), mask.clone(), counted.clone(), sigma, terms.clone());
        let state = ([x_in, mask, products.clone()], Some(counted), sigma, terms);
        (register!(RankExpectation, [x], state, out), Self::from_inner(products))
    }

    fn rank_recursion(
        x: FloatTensor<Self>,
        mask: FloatTensor<Self>,
        comparison: Comparison,
        discounts: Vec<f64>,
    ) -> FloatTensor<Self> {
        let (x_in, mask) = (x.primitive().clone(), Self::inner(mask));
        let out = B::rank_recursion(x_in.clone(), mask.clone(), comparison, discounts.clone());
        register!(RankRecursion, [x], ([x_in, mask], None, comparison, discounts), out)
    }

    fn counted_rank_recursion(
        x: FloatTensor<Self>,
        mask: FloatTensor<Self>,
        counted: FloatTensor<Self>,
        comparison: Comparison,
        discounts: Vec<f64>,
    ) -> FloatTensor<Self> {
        let (x_in, mask, counted) = (x.primitive().clone(), Self::inner(mask), Self::inner(counted));
        let out = B::counted_rank_recursion(x_in.clone(), mask.clone(), counted.clone(), comparison, discounts.clone());
        register!(RankRecursion, [x], ([x_in, mask], Some(counted), comparison, discounts), out)
    }

    fn above_expectation(
        x: FloatTensor<Self>,
        a: FloatTensor<Self>,
        b: FloatTensor<Self>,
        mask: FloatTensor<Self>,
        expectation: AboveExpectation,
    ) -> FloatTensor<Self> {
        let inputs = [x.primitive().clone(), Self::inner(a), Self::inner(b), Self::inner(mask)];
        let [x_in, a, b, mask] = inputs.clone();
        let out = B::above_expectation(x_in, a, b, mask, expectation.clone());
        register!(AboveSum, [x], (inputs, expectation), out)
    }

    fn above_recursion(
        x: FloatTensor<Self>,
        a: FloatTensor<Self>,
        b: FloatTensor<Self>,
        mask: FloatTensor<Self>,
        values: FloatTensor<Self>,
        recursion: AboveRecursion,
    ) -> FloatTensor<Self> {
        let [a, b, mask, values] = [a, b, mask, values].map(Self::inner);
        let inputs = [x.primitive().clone(), a, b, mask, values];
        let [x_in, a, b, mask, values] = inputs.clone();
        let out = B::above_recursion(x_in, a, b, mask, values, recursion.clone());
        register!(AboveTrials, [x], (inputs, recursion), out)
    }

    fn indicator_sum(
        x: FloatTensor<Self>,
        a: FloatTensor<Self>,
        mask: FloatTensor<Self>,
        sigma: f64,
    ) -> (FloatTensor<Self>, FloatTensor<Self>) {
        let inputs = [x.primitive().clone(), a.primitive().clone(), Self::inner(mask)];
        let [x_in, a_in, mask] = inputs.clone();
        let (out, total) = B::indicator_sum(x_in, a_in, mask, sigma);
        let state = (inputs, [out.clone(), total.clone()], sigma);
        (register!(IndicatorSum, [x, a], state, out), Self::from_inner(total))
    }

    fn pair_loss(
        x: FloatTensor<Self>,
        labels: FloatTensor<Self>,
        mask: FloatTensor<Self>,
        weight: Weight<Self>,
        loss: PairLoss,
    ) -> FloatTensor<Self> {
        let (x_in, labels, mask) = (x.primitive().clone(), Self::inner(labels), Self::inner(mask));
        let weight = weight.map(Self::inner);
        let out = B::pair_loss(x_in.clone(), labels.clone(), mask.clone(), weight.clone(), loss);
        register!(PairLossSum, [x], (x_in, labels, mask, weight, loss), out)
    }

    fn distance_sum(x: FloatTensor<Self>, mask: FloatTensor<Self>) -> FloatTensor<Self> {
        let (x_in, mask) = (x.primitive().clone(), Self::inner(mask));
        let out = B::distance_sum(x_in.clone(), mask.clone());
        register!(DistanceSum, [x], [x_in, mask], out)
    }

    fn neural_sort_sum(
        x: FloatTensor<Self>,
        v: FloatTensor<Self>,
        mask: FloatTensor<Self>,
        sort: NeuralSortMatrix,
    ) -> FloatTensor<Self> {
        let inputs = [x.primitive().clone(), v.primitive().clone(), Self::inner(mask)];
        let [x_in, v_in, mask] = inputs.clone();
        let out = B::neural_sort_sum(x_in, v_in, mask, sort);
        register!(NeuralSortSum, [x, v], (inputs, sort), out)
    }

    fn rank(x: FloatTensor<Self>, mask: FloatTensor<Self>) -> FloatTensor<Self> {
        Self::from_inner(B::rank(Self::inner(x), Self::inner(mask)))
    }

    fn at_rank(ranks: FloatTensor<Self>, table: Vec<f64>) -> FloatTensor<Self> {
        Self::from_inner(B::at_rank(Self::inner(ranks), table))
    }

    fn exp2(x: FloatTensor<Self>) -> FloatTensor<Self> {
        Self::from_inner(B::exp2(Self::inner(x)))
    }

    fn log2_discount(positions: FloatTensor<Self>) -> FloatTensor<Self> {
        let inner = positions.primitive().clone();
        let out = B::log2_discount(inner.clone());
        register!(Log2Discount, [positions], [inner, out.clone()], out)
    }

    fn masked_log_softmax(x: FloatTensor<Self>, mask: FloatTensor<Self>) -> FloatTensor<Self> {
        let mask = Self::inner(mask);
        let out = B::masked_log_softmax(x.primitive().clone(), mask.clone());
        register!(LogSoftmax, [x], [out.clone(), mask], out)
    }

    fn ideal_dcg(gains: FloatTensor<Self>, mask: FloatTensor<Self>, discounts: Vec<f64>) -> FloatTensor<Self> {
        Self::from_inner(B::ideal_dcg(Self::inner(gains), Self::inner(mask), discounts))
    }
}
