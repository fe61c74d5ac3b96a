//! The kernels under burn's kernel fusion, where operations wait in a queue and neighbours become one kernel.
//!
//! Each primitive over pairs, and `rank`, is one operation of the queue, which fusion runs as it is: our kernel, or the
//! definition on the unfused backend, in row chunks within the memory budget. The other primitives are short sequences
//! of the backend's own operations: their default bodies enter the queue one by one and may be fused.

use std::fmt;

use burn::backend::fusion::custom::{
    CustomOpIr, HandleContainer, Operation, OperationIr, StreamId, TensorId, TensorIr,
};
use burn::backend::fusion::{ExecutionError, FusionRuntime};
use burn::backend::{Cube, TensorMetadata, tensor::FloatTensor};
use burn::tensor::Shape;
use burn_cubecl::CubeBackend;
use burn_cubecl::fusion::FusionCubeRuntime;
use burn_cubecl::tensor::CubeTensor;

use super::{pair_weight::Weight, pairwise::Pairwise};
use crate::execution::Execution;
use crate::op::cpu::{
    AboveExpectation, AboveRecursion, Comparison, ExponentialTerm, NeuralSortMatrix, PairLoss, PairWeight, Step,
};

type Handles = HandleContainer<<FusionCubeRuntime as FusionRuntime>::FusionHandle>;

/// Gives the inputs of an operation, one a call, in their order.
type Next<'a> = &'a mut dyn FnMut() -> CubeTensor;

/// An operation of the queue: `compute` makes the outputs of the inputs, on the thread that works the queue off.
struct Queued<F, const K: usize> {
    name: &'static str,
    inputs: Vec<TensorIr>,
    outputs: [TensorId; K],
    compute: F,
}

impl<F, const K: usize> fmt::Debug for Queued<F, K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

impl<F, const K: usize> Operation<FusionCubeRuntime> for Queued<F, K>
where
    F: Fn(Next) -> [CubeTensor; K] + Send + Sync,
{
    fn execute(&self, handles: &mut Handles) -> Result<(), ExecutionError> {
        let mut inputs = self.inputs.iter();
        let outputs = (self.compute)(&mut || {
            let input = inputs.next().expect("as many inputs as `compute` takes");
            handles.get_float_tensor::<CubeBackend>(input)
        });
        for (id, output) in self.outputs.iter().zip(outputs) {
            handles.register_float_tensor::<CubeBackend>(id, output);
        }
        Ok(())
    }
}

/// Puts `compute` into the queue: from `inputs`, the first of which says device and type, to outputs of `shapes`.
fn queue<const K: usize>(
    name: &'static str,
    inputs: Vec<FloatTensor<Cube>>,
    shapes: [Shape; K],
    compute: impl Fn(Next) -> [CubeTensor; K] + Send + Sync + 'static,
) -> [FloatTensor<Cube>; K] {
    let (client, dtype) = (inputs[0].client.clone(), inputs[0].dtype);
    // The queue is worked off on another thread: how to compute is said by this one.
    let execution = Execution::current();
    let compute = move |next: Next| execution.scope(|| compute(next));
    let inputs: Vec<_> = inputs.into_iter().map(|input| input.into_ir()).collect();
    let outputs = shapes.map(|shape| TensorIr::uninit(client.create_empty_handle(), shape, dtype));
    let description = OperationIr::Custom(CustomOpIr::new(name, &inputs, &outputs));
    let operation = Queued { name, inputs, outputs: outputs.map(|output| output.id), compute };
    let outputs = client.register(StreamId::current(), description, operation);
    outputs.try_into().unwrap_or_else(|_| unreachable!("the queue gives a tensor for each output described"))
}

/// Moves the tensors of `weight` to the end of `inputs`; what is left says how many come back.
fn unload(weight: Weight<Cube>, inputs: &mut Vec<FloatTensor<Cube>>) -> PairWeight<()> {
    weight.map(|values| inputs.push(values))
}

/// The weight whose tensors come next.
fn load(weight: PairWeight<()>, next: Next) -> Weight<CubeBackend> {
    weight.map(|()| next())
}

impl Pairwise for Cube {
    fn step_sum(x: FloatTensor<Self>, v: FloatTensor<Self>, alpha: f64, step: Step) -> FloatTensor<Self> {
        let shape = x.shape();
        let [out] =
            queue("step_sum", vec![x, v], [shape], move |next| [CubeBackend::step_sum(next(), next(), alpha, step)]);
        out
    }

    fn counted_step_sum(
        x: FloatTensor<Self>,
        v: FloatTensor<Self>,
        counted: FloatTensor<Self>,
        alpha: f64,
        step: Step,
    ) -> FloatTensor<Self> {
        let shape = x.shape();
        let [out] = queue("counted_step_sum", vec![x, v, counted], [shape], move |next| {
            [CubeBackend::counted_step_sum(next(), next(), next(), alpha, step)]
        });
        out
    }

    fn step_sum_gradient(
        x: FloatTensor<Self>,
        v: FloatTensor<Self>,
        gradient: FloatTensor<Self>,
        alpha: f64,
        step: Step,
    ) -> FloatTensor<Self> {
        let shape = x.shape();
        let [to_x] = queue("step_sum_gradient", vec![x, v, gradient], [shape], move |next| {
            [CubeBackend::step_sum_gradient(next(), next(), next(), alpha, step)]
        });
        to_x
    }

    fn rank_expectation(
        x: FloatTensor<Self>,
        mask: FloatTensor<Self>,
        sigma: f64,
        terms: Vec<ExponentialTerm>,
    ) -> (FloatTensor<Self>, FloatTensor<Self>) {
        let shape = x.shape();
        let [batch, documents] = shape.dims();
        let shapes = [shape, Shape::new([batch, documents, terms.len()])];
        let [out, products] = queue("rank_expectation", vec![x, mask], shapes, move |next| {
            CubeBackend::rank_expectation(next(), next(), sigma, terms.clone()).into()
        });
        (out, products)
    }

    fn rank_expectation_gradient(
        x: FloatTensor<Self>,
        mask: FloatTensor<Self>,
        products: FloatTensor<Self>,
        gradient: FloatTensor<Self>,
        sigma: f64,
        terms: Vec<ExponentialTerm>,
    ) -> FloatTensor<Self> {
        let shape = x.shape();
        let [to_x] = queue("rank_expectation_gradient", vec![x, mask, products, gradient], [shape], move |next| {
            [CubeBackend::rank_expectation_gradient(next(), next(), next(), next(), sigma, terms.clone())]
        });
        to_x
    }

    fn rank_recursion(
        x: FloatTensor<Self>,
        mask: FloatTensor<Self>,
        comparison: Comparison,
        discounts: Vec<f64>,
    ) -> FloatTensor<Self> {
        let shape = x.shape();
        let [out] = queue("rank_recursion", vec![x, mask], [shape], move |next| {
            [CubeBackend::rank_recursion(next(), next(), comparison, discounts.clone())]
        });
        out
    }

    fn rank_recursion_gradient(
        x: FloatTensor<Self>,
        mask: FloatTensor<Self>,
        gradient: FloatTensor<Self>,
        comparison: Comparison,
        discounts: Vec<f64>,
    ) -> FloatTensor<Self> {
        let shape = x.shape();
        let [to_x] = queue("rank_recursion_gradient", vec![x, mask, gradient], [shape], move |next| {
            [CubeBackend::rank_recursion_gradient(next(), next(), next(), comparison, discounts.clone())]
        });
        to_x
    }

    fn above_expectation(
        x: FloatTensor<Self>,
        a: FloatTensor<Self>,
        b: FloatTensor<Self>,
        mask: FloatTensor<Self>,
        expectation: AboveExpectation,
    ) -> FloatTensor<Self> {
        let shape = x.shape();
        let [out] = queue("above_expectation", vec![x, a, b, mask], [shape], move |next| {
            [CubeBackend::above_expectation(next(), next(), next(), next(), expectation.clone())]
        });
        out
    }

    fn above_expectation_gradient(
        x: FloatTensor<Self>,
        a: FloatTensor<Self>,
        b: FloatTensor<Self>,
        mask: FloatTensor<Self>,
        gradient: FloatTensor<Self>,
        expectation: AboveExpectation,
    ) -> FloatTensor<Self> {
        let shape = x.shape();
        let [to_x] = queue("above_expectation_gradient", vec![x, a, b, mask, gradient], [shape], move |next| {
            [CubeBackend::above_expectation_gradient(next(), next(), next(), next(), next(), expectation.clone())]
        });
        to_x
    }

    fn above_recursion(
        x: FloatTensor<Self>,
        a: FloatTensor<Self>,
        b: FloatTensor<Self>,
        mask: FloatTensor<Self>,
        values: FloatTensor<Self>,
        recursion: AboveRecursion,
    ) -> FloatTensor<Self> {
        let shape = x.shape();
        let [out] = queue("above_recursion", vec![x, a, b, mask, values], [shape], move |next| {
            [CubeBackend::above_recursion(next(), next(), next(), next(), next(), recursion.clone())]
        });
        out
    }

    fn above_recursion_gradient(
        x: FloatTensor<Self>,
        a: FloatTensor<Self>,
        b: FloatTensor<Self>,
        mask: FloatTensor<Self>,
        values: FloatTensor<Self>,
        gradient: FloatTensor<Self>,
        recursion: AboveRecursion,
    ) -> FloatTensor<Self> {
        let (shape, inputs) = (x.shape(), vec![x, a, b, mask, values, gradient]);
        let [to_x] = queue("above_recursion_gradient", inputs, [shape], move |next| {
            [CubeBackend::above_recursion_gradient(next(), next(), next(), next(), next(), next(), recursion.clone())]
        });
        to_x
    }

    fn indicator_sum(
        x: FloatTensor<Self>,
        a: FloatTensor<Self>,
        mask: FloatTensor<Self>,
        sigma: f64,
    ) -> (FloatTensor<Self>, FloatTensor<Self>) {
        let shape = x.shape();
        let [out, total] = queue("indicator_sum", vec![x, a, mask], [shape.clone(), shape], move |next| {
            CubeBackend::indicator_sum(next(), next(), next(), sigma).into()
        });
        (out, total)
    }

    fn indicator_sum_gradient(
        x: FloatTensor<Self>,
        a: FloatTensor<Self>,
        mask: FloatTensor<Self>,
        out: FloatTensor<Self>,
        total: FloatTensor<Self>,
        gradient: FloatTensor<Self>,
        sigma: f64,
    ) -> FloatTensor<Self> {
        let shape = x.shape();
        let inputs = vec![x, a, mask, out, total, gradient];
        let [to_x] = queue("indicator_sum_gradient", inputs, [shape], move |next| {
            [CubeBackend::indicator_sum_gradient(next(), next(), next(), next(), next(), next(), sigma)]
        });
        to_x
    }

    fn pair_loss(
        x: FloatTensor<Self>,
        labels: FloatTensor<Self>,
        mask: FloatTensor<Self>,
        weight: Weight<Self>,
        loss: PairLoss,
    ) -> FloatTensor<Self> {
        let shape = x.shape();
        let mut inputs = vec![x, labels, mask];
        let weight = unload(weight, &mut inputs);
        let [out] = queue("pair_loss", inputs, [shape], move |next| {
            [CubeBackend::pair_loss(next(), next(), next(), load(weight, next), loss)]
        });
        out
    }

    fn pair_loss_gradient(
        x: FloatTensor<Self>,
        labels: FloatTensor<Self>,
        mask: FloatTensor<Self>,
        weight: Weight<Self>,
        gradient: FloatTensor<Self>,
        loss: PairLoss,
    ) -> FloatTensor<Self> {
        let shape = x.shape();
        let mut inputs = vec![x, labels, mask];
        let weight = unload(weight, &mut inputs);
        inputs.push(gradient);
        let [to_x] = queue("pair_loss_gradient", inputs, [shape], move |next| {
            [CubeBackend::pair_loss_gradient(next(), next(), next(), load(weight, next), next(), loss)]
        });
        to_x
    }

    fn distance_sum(x: FloatTensor<Self>, mask: FloatTensor<Self>) -> FloatTensor<Self> {
        let shape = x.shape();
        let [out] = queue("distance_sum", vec![x, mask], [shape], |next| [CubeBackend::distance_sum(next(), next())]);
        out
    }

    fn distance_sum_gradient(
        x: FloatTensor<Self>,
        mask: FloatTensor<Self>,
        gradient: FloatTensor<Self>,
    ) -> FloatTensor<Self> {
        let shape = x.shape();
        let [to_x] = queue("distance_sum_gradient", vec![x, mask, gradient], [shape], |next| {
            [CubeBackend::distance_sum_gradient(next(), next(), next())]
        });
        to_x
    }

    fn neural_sort_sum(
        x: FloatTensor<Self>,
        v: FloatTensor<Self>,
        mask: FloatTensor<Self>,
        sort: NeuralSortMatrix,
    ) -> FloatTensor<Self> {
        let shape = x.shape();
        let [out] = queue("neural_sort_sum", vec![x, v, mask], [shape], move |next| {
            [CubeBackend::neural_sort_sum(next(), next(), next(), sort)]
        });
        out
    }

    fn neural_sort_sum_gradient(
        x: FloatTensor<Self>,
        v: FloatTensor<Self>,
        mask: FloatTensor<Self>,
        gradient: FloatTensor<Self>,
        sort: NeuralSortMatrix,
    ) -> (FloatTensor<Self>, FloatTensor<Self>) {
        let shape = x.shape();
        let [to_x, to_v] =
            queue("neural_sort_sum_gradient", vec![x, v, mask, gradient], [shape.clone(), shape], move |next| {
                CubeBackend::neural_sort_sum_gradient(next(), next(), next(), next(), sort).into()
            });
        (to_x, to_v)
    }

    fn rank(x: FloatTensor<Self>, mask: FloatTensor<Self>) -> FloatTensor<Self> {
        let shape = x.shape();
        let [out] = queue("rank", vec![x, mask], [shape], |next| [CubeBackend::rank(next(), next())]);
        out
    }
}
