//! Implements the primitives on Flex, with fused kernels for `f32` and `f64` and tensor definitions for every other
//! type.

use burn::backend::{Flex, TensorMetadata, flex::FlexTensor, tensor::FloatTensor};
use burn::tensor::{DType, Element, TensorData};

use super::primitives::Primitives;
use crate::execution::Execution;
use crate::op::call::{Call, Tensors};
use crate::op::cpu::{self, AboveInputs, IndicatorInputs, Real};
use crate::op::definition;

/// A number type whose values can be borrowed from a tensor.
pub(crate) trait Stored: Real + Element {
    /// Borrows the values of a contiguous tensor of this type.
    fn of_tensor(tensor: &FlexTensor) -> &[Self];
}

macro_rules! stored {
    ($type:ty) => {
        impl Stored for $type {
            fn of_tensor(tensor: &FlexTensor) -> &[Self] {
                let cells = tensor.layout().num_elements();
                &tensor.storage::<$type>()[..cells]
            }
        }
    };
}

stored!(f32);
stored!(f64);

/// Creates a tensor with these values.
pub(crate) fn tensor<T: Stored>(values: Vec<T>, shape: impl Into<burn::tensor::Shape>) -> FlexTensor {
    FlexTensor::from_data(TensorData::new(values, shape))
}

/// Computes a call, by the fused kernel if there is one, else by the tensor definition.
fn value<T: Stored>(call: Call<Flex>) -> Tensors<Flex> {
    let call: Call<Flex> = call.map(|tensor| tensor.to_contiguous());
    let (of, shape) = (T::of_tensor, call.x().shape());
    let [lists, n]: [usize; 2] = shape.dims();
    let out = match &call {
        Call::StepSum { x, v, rows, alpha, step } => {
            cpu::step_sum(of(x), of(v), rows.first().map(of), n, *alpha, *step)
        }
        Call::AboveExpectation { x, a, b, mask, expectation } => {
            let inputs = AboveInputs { x: of(x), a: of(a), b: of(b), mask: of(mask), n };
            let (out, products) = cpu::above_expectation(inputs, expectation);
            let products = products.map(|products| tensor(products, [lists, n, expectation.terms.len()]));
            return Tensors::new([tensor(out, shape)].into_iter().chain(products));
        }
        Call::AboveRecursion { x, a, b, mask, values, recursion } => {
            let inputs = AboveInputs { x: of(x), a: of(a), b: of(b), mask: of(mask), n };
            cpu::above_recursion(inputs, of(values), recursion)
        }
        Call::IndicatorSum { x, a, mask, sigma } => {
            let (out, total) = cpu::indicator_sum(of(x), of(a), of(mask), n, *sigma);
            return Tensors::Two(tensor(out, shape.clone()), tensor(total, shape));
        }
        Call::PairLoss { x, labels, mask, weight, loss } => {
            cpu::pair_loss(of(x), of(labels), of(mask), weight.as_ref().map(of), n, *loss)
        }
        Call::DistanceSum { .. } => return definition::forward(call),
        Call::NeuralSortSum { x, v, mask, sort } => cpu::neural_sort_sum(of(x), of(v), of(mask), n, sort),
        Call::Rank { x, mask } => cpu::rank(of(x), of(mask), n),
        Call::AtRank { x, table } => cpu::at_rank(of(x), table),
        Call::Exp2 { x } => cpu::exp2(of(x)),
        Call::Log2Discount { x } => cpu::log2_discount(of(x)),
        Call::LogSoftmax { x, mask } => cpu::log_softmax(of(x), of(mask), n),
        Call::IdealDcg { x, mask, discounts } => {
            return Tensors::One(tensor(cpu::ideal_dcg(of(x), of(mask), discounts), [lists]));
        }
        Call::Select { x, rows } => cpu::select(of(x), of(rows)),
    };
    Tensors::One(tensor(out, shape))
}

/// Computes the gradients of a call, by the fused kernel if there is one, else by the tensor definition.
fn gradient<T: Stored>(call: Call<Flex>, saved: Tensors<Flex>, gradient: FlexTensor) -> Tensors<Flex> {
    let call: Call<Flex> = call.map(|tensor| tensor.to_contiguous());
    let (of, shape) = (T::of_tensor, call.x().shape());
    let [_, n]: [usize; 2] = shape.dims();
    let contiguous = [&gradient].into_iter().chain(saved.iter()).map(FlexTensor::to_contiguous).collect::<Vec<_>>();
    let (g, outputs) = (of(&contiguous[0]), &contiguous[1..]);
    let to_x = match &call {
        Call::StepSum { x, v, alpha, step, .. } => cpu::step_sum_gradient(of(x), of(v), g, n, *alpha, *step),
        Call::AboveExpectation { x, a, b, mask, expectation } => {
            let inputs = AboveInputs { x: of(x), a: of(a), b: of(b), mask: of(mask), n };
            cpu::above_expectation_gradient(inputs, outputs.first().map(of), g, expectation)
        }
        Call::AboveRecursion { x, a, b, mask, values, recursion } => {
            let inputs = AboveInputs { x: of(x), a: of(a), b: of(b), mask: of(mask), n };
            cpu::above_recursion_gradient(inputs, of(values), g, recursion)
        }
        Call::IndicatorSum { x, a, mask, sigma } => {
            let (out, total) = (of(&outputs[0]), of(&outputs[1]));
            let inputs = IndicatorInputs { x: of(x), a: of(a), mask: of(mask), out, total, g };
            cpu::indicator_sum_gradient(inputs, n, *sigma)
        }
        Call::PairLoss { x, labels, mask, weight, loss } => {
            cpu::pair_loss_gradient(of(x), of(labels), of(mask), weight.as_ref().map(of), g, n, *loss)
        }
        Call::NeuralSortSum { x, v, mask, sort } => {
            let gradients = cpu::neural_sort_sum_gradient(of(x), of(v), of(mask), g, n, sort);
            return Tensors::new(gradients.map(|gradient| tensor(gradient, shape.clone())));
        }
        Call::LogSoftmax { mask, .. } => cpu::log_softmax_gradient(of(&outputs[0]), of(mask), g, n),
        _ => return definition::backward(call, saved, gradient),
    };
    Tensors::One(tensor(to_x, shape))
}

/// Evaluates `$fused` with `$T` as the number type of the tensor `$x`, or `$definition` if the kernels do not support
/// this type.
macro_rules! by_type {
    ($x:expr, $T:ident => $fused:expr, $definition:expr) => {
        match $x.dtype() {
            _ if $x.shape().num_elements() == 0 => $definition,
            DType::F32 => {
                type $T = f32;
                $fused
            }
            DType::F64 => {
                type $T = f64;
                $fused
            }
            _ => $definition,
        }
    };
}

impl Primitives for Flex {
    fn forward(call: Call<Self>, execution: Execution) -> Tensors<Self> {
        execution.scope(|| by_type!(call.x(), T => value::<T>(call), definition::forward(call)))
    }

    fn backward(
        call: Call<Self>,
        saved: Tensors<Self>,
        gradient: FloatTensor<Self>,
        execution: Execution,
    ) -> Tensors<Self> {
        execution.scope(|| {
            by_type!(call.x(), T => self::gradient::<T>(call, saved, gradient), definition::backward(call, saved, gradient))
        })
    }

    fn composed(call: Call<Self>, execution: Execution) -> Tensors<Self> {
        Self::forward(call, execution)
    }

    fn composed_backward(
        call: Call<Self>,
        saved: Tensors<Self>,
        gradient: FloatTensor<Self>,
        execution: Execution,
    ) -> Tensors<Self> {
        Self::backward(call, saved, gradient, execution)
    }
}
