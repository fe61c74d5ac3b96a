//! The primitives on Flex: fused kernels for `f32` and `f64`, tensor definitions for any other type.

use burn::backend::{Flex, TensorMetadata, flex::FlexTensor, tensor::FloatTensor};
use burn::tensor::{DType, Element, TensorData};

use super::{pair_weight::Weight, pairwise::Pairwise};
use crate::op::cpu::{
    self, AboveExpectation, AboveInputs, AboveRecursion, Comparison, ExponentialTerm, IndicatorInputs,
    NeuralSortMatrix, PairLoss, Real, Step,
};
use crate::op::definition::{
    above_expectation, above_recursion, array::Array, at_rank, exp2, ideal_dcg, indicator_sum, log_softmax,
    log2_discount, neural_sort_sum, pair_loss, rank, rank_expectation, rank_recursion, step_sum,
};

/// A type whose values can be borrowed from a tensor.
pub(crate) trait Stored: Real + Element {
    /// The values of a contiguous tensor of this type.
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

/// A tensor with these values.
pub(crate) fn tensor<T: Stored>(values: Vec<T>, shape: impl Into<burn::tensor::Shape>) -> FlexTensor {
    FlexTensor::from_data(TensorData::new(values, shape))
}

/// Runs `$fused` with `$T` the type of `$x` when there is a kernel for it, else `$definition`.
macro_rules! by_type {
    ($x:ident, $T:ident => $fused:expr, $definition:expr) => {
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

/// Borrows the values of tensors, made contiguous first.
macro_rules! values {
    ($T:ident; $($tensor:ident),+) => {
        $(let $tensor = $tensor.to_contiguous();)+
        $(let $tensor = <$T as Stored>::of_tensor(&$tensor);)+
    };
}

impl Pairwise for Flex {
    fn step_sum(x: FloatTensor<Self>, v: FloatTensor<Self>, alpha: f64, step: Step) -> FloatTensor<Self> {
        let shape: [usize; 2] = x.shape().dims();
        by_type!(x, T => {
            values!(T; x, v);
            tensor(cpu::step_sum(x, v, shape[1], alpha, step), shape)
        }, step_sum::value::<Self>(x, v, alpha, step))
    }

    fn counted_step_sum(
        x: FloatTensor<Self>,
        v: FloatTensor<Self>,
        counted: FloatTensor<Self>,
        alpha: f64,
        step: Step,
    ) -> FloatTensor<Self> {
        let shape: [usize; 2] = x.shape().dims();
        by_type!(x, T => {
            values!(T; x, v, counted);
            tensor(cpu::counted_step_sum(x, v, counted, shape[1], alpha, step), shape)
        }, step_sum::counted::<Self>(x, v, counted, alpha, step))
    }

    fn where_counted(values: FloatTensor<Self>, counted: FloatTensor<Self>) -> FloatTensor<Self> {
        let shape: [usize; 2] = values.shape().dims();
        by_type!(values, T => {
            values!(T; values, counted);
            tensor(cpu::where_counted(values, counted), shape)
        }, Array::<Self>(counted).select(Array(values)).0)
    }

    fn step_sum_gradient(
        x: FloatTensor<Self>,
        v: FloatTensor<Self>,
        gradient: FloatTensor<Self>,
        alpha: f64,
        step: Step,
    ) -> FloatTensor<Self> {
        let shape: [usize; 2] = x.shape().dims();
        by_type!(x, T => {
            values!(T; x, v, gradient);
            tensor(cpu::step_sum_gradient(x, v, gradient, shape[1], alpha, step), shape)
        }, step_sum::gradient::<Self>(x, v, gradient, alpha, step))
    }

    fn rank_expectation(
        x: FloatTensor<Self>,
        mask: FloatTensor<Self>,
        sigma: f64,
        terms: Vec<ExponentialTerm>,
    ) -> (FloatTensor<Self>, FloatTensor<Self>) {
        let shape: [usize; 2] = x.shape().dims();
        by_type!(x, T => {
            values!(T; x, mask);
            let (out, products) = cpu::rank_expectation(x, mask, None, shape[1], sigma, &terms);
            (tensor(out, shape), tensor(products, [shape[0], shape[1], terms.len()]))
        }, rank_expectation::value::<Self>(x, mask, sigma, &terms))
    }

    fn counted_rank_expectation(
        x: FloatTensor<Self>,
        mask: FloatTensor<Self>,
        counted: FloatTensor<Self>,
        sigma: f64,
        terms: Vec<ExponentialTerm>,
    ) -> (FloatTensor<Self>, FloatTensor<Self>) {
        let shape: [usize; 2] = x.shape().dims();
        by_type!(x, T => {
            values!(T; x, mask, counted);
            let (out, products) = cpu::rank_expectation(x, mask, Some(counted), shape[1], sigma, &terms);
            (tensor(out, shape), tensor(products, [shape[0], shape[1], terms.len()]))
        }, {
            let (out, products) = rank_expectation::value::<Self>(x, mask, sigma, &terms);
            (Self::where_counted(out, counted), products)
        })
    }

    fn rank_expectation_gradient(
        x: FloatTensor<Self>,
        mask: FloatTensor<Self>,
        products: FloatTensor<Self>,
        gradient: FloatTensor<Self>,
        sigma: f64,
        terms: Vec<ExponentialTerm>,
    ) -> FloatTensor<Self> {
        let shape: [usize; 2] = x.shape().dims();
        by_type!(x, T => {
            values!(T; x, mask, products, gradient);
            tensor(cpu::rank_expectation_gradient(x, mask, products, gradient, shape[1], sigma, &terms), shape)
        }, rank_expectation::gradient::<Self>(x, mask, products, gradient, sigma, &terms))
    }

    fn rank_recursion(
        x: FloatTensor<Self>,
        mask: FloatTensor<Self>,
        comparison: Comparison,
        discounts: Vec<f64>,
    ) -> FloatTensor<Self> {
        let shape: [usize; 2] = x.shape().dims();
        by_type!(x, T => {
            values!(T; x, mask);
            tensor(cpu::rank_recursion(x, mask, None, shape[1], comparison, &discounts), shape)
        }, rank_recursion::value::<Self>(x, mask, comparison, &discounts))
    }

    fn counted_rank_recursion(
        x: FloatTensor<Self>,
        mask: FloatTensor<Self>,
        counted: FloatTensor<Self>,
        comparison: Comparison,
        discounts: Vec<f64>,
    ) -> FloatTensor<Self> {
        let shape: [usize; 2] = x.shape().dims();
        by_type!(x, T => {
            values!(T; x, mask, counted);
            tensor(cpu::rank_recursion(x, mask, Some(counted), shape[1], comparison, &discounts), shape)
        }, Self::where_counted(rank_recursion::value::<Self>(x, mask, comparison, &discounts), counted))
    }

    fn rank_recursion_gradient(
        x: FloatTensor<Self>,
        mask: FloatTensor<Self>,
        gradient: FloatTensor<Self>,
        comparison: Comparison,
        discounts: Vec<f64>,
    ) -> FloatTensor<Self> {
        let shape: [usize; 2] = x.shape().dims();
        by_type!(x, T => {
            values!(T; x, mask, gradient);
            tensor(cpu::rank_recursion_gradient(x, mask, gradient, shape[1], comparison, &discounts), shape)
        }, rank_recursion::gradient::<Self>(x, mask, gradient, comparison, &discounts))
    }

    fn above_expectation(
        x: FloatTensor<Self>,
        a: FloatTensor<Self>,
        b: FloatTensor<Self>,
        mask: FloatTensor<Self>,
        expectation: AboveExpectation,
    ) -> FloatTensor<Self> {
        let shape: [usize; 2] = x.shape().dims();
        by_type!(x, T => {
            values!(T; x, a, b, mask);
            let inputs = AboveInputs { x, a, b, mask, n: shape[1] };
            tensor(cpu::above_expectation(inputs, &expectation), shape)
        }, above_expectation::value::<Self>(x, a, b, mask, &expectation))
    }

    fn above_expectation_gradient(
        x: FloatTensor<Self>,
        a: FloatTensor<Self>,
        b: FloatTensor<Self>,
        mask: FloatTensor<Self>,
        gradient: FloatTensor<Self>,
        expectation: AboveExpectation,
    ) -> FloatTensor<Self> {
        let shape: [usize; 2] = x.shape().dims();
        by_type!(x, T => {
            values!(T; x, a, b, mask, gradient);
            let inputs = AboveInputs { x, a, b, mask, n: shape[1] };
            tensor(cpu::above_expectation_gradient(inputs, gradient, &expectation), shape)
        }, above_expectation::gradient::<Self>(x, a, b, mask, gradient, &expectation))
    }

    fn above_recursion(
        x: FloatTensor<Self>,
        a: FloatTensor<Self>,
        b: FloatTensor<Self>,
        mask: FloatTensor<Self>,
        values: FloatTensor<Self>,
        recursion: AboveRecursion,
    ) -> FloatTensor<Self> {
        let shape: [usize; 2] = x.shape().dims();
        by_type!(x, T => {
            values!(T; x, a, b, mask, values);
            let inputs = AboveInputs { x, a, b, mask, n: shape[1] };
            tensor(cpu::above_recursion(inputs, values, &recursion), shape)
        }, above_recursion::value::<Self>(x, a, b, mask, values, &recursion))
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
        let shape: [usize; 2] = x.shape().dims();
        by_type!(x, T => {
            values!(T; x, a, b, mask, values, gradient);
            let inputs = AboveInputs { x, a, b, mask, n: shape[1] };
            tensor(cpu::above_recursion_gradient(inputs, values, gradient, &recursion), shape)
        }, above_recursion::gradient::<Self>(x, a, b, mask, values, gradient, &recursion))
    }

    fn indicator_sum(
        x: FloatTensor<Self>,
        a: FloatTensor<Self>,
        mask: FloatTensor<Self>,
        sigma: f64,
    ) -> (FloatTensor<Self>, FloatTensor<Self>) {
        let shape: [usize; 2] = x.shape().dims();
        by_type!(x, T => {
            values!(T; x, a, mask);
            let (out, total) = cpu::indicator_sum(x, a, mask, shape[1], sigma);
            (tensor(out, shape), tensor(total, shape))
        }, indicator_sum::value::<Self>(x, a, mask, sigma))
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
        let shape: [usize; 2] = x.shape().dims();
        by_type!(x, T => {
            values!(T; x, a, mask, out, total, gradient);
            let inputs = IndicatorInputs { x, a, mask, out, total, g: gradient };
            tensor(cpu::indicator_sum_gradient(inputs, shape[1], sigma), shape)
        }, {
            let forward = indicator_sum::Forward { out, total };
            indicator_sum::gradient::<Self>(x, a, mask, forward, gradient, sigma)
        })
    }

    fn pair_loss(
        x: FloatTensor<Self>,
        labels: FloatTensor<Self>,
        mask: FloatTensor<Self>,
        weight: Weight<Self>,
        loss: PairLoss,
    ) -> FloatTensor<Self> {
        let shape: [usize; 2] = x.shape().dims();
        by_type!(x, T => {
            values!(T; x, labels, mask);
            let weight = weight.map(|values| values.to_contiguous());
            let weight = weight.as_ref().map(T::of_tensor);
            tensor(cpu::pair_loss::<T>(x, labels, mask, weight, shape[1], loss), shape)
        }, pair_loss::value::<Self>(x, labels, mask, weight, loss))
    }

    fn pair_loss_gradient(
        x: FloatTensor<Self>,
        labels: FloatTensor<Self>,
        mask: FloatTensor<Self>,
        weight: Weight<Self>,
        gradient: FloatTensor<Self>,
        loss: PairLoss,
    ) -> FloatTensor<Self> {
        let shape: [usize; 2] = x.shape().dims();
        by_type!(x, T => {
            values!(T; x, labels, mask, gradient);
            let weight = weight.map(|values| values.to_contiguous());
            let weight = weight.as_ref().map(T::of_tensor);
            tensor(cpu::pair_loss_gradient::<T>(x, labels, mask, weight, gradient, shape[1], loss), shape)
        }, pair_loss::gradient::<Self>(x, labels, mask, weight, gradient, loss))
    }

    fn neural_sort_sum(
        x: FloatTensor<Self>,
        v: FloatTensor<Self>,
        mask: FloatTensor<Self>,
        sort: NeuralSortMatrix,
    ) -> FloatTensor<Self> {
        let shape: [usize; 2] = x.shape().dims();
        by_type!(x, T => {
            values!(T; x, v, mask);
            tensor(cpu::neural_sort_sum(x, v, mask, shape[1], &sort), shape)
        }, neural_sort_sum::value::<Self>(x, v, mask, &sort))
    }

    fn neural_sort_sum_gradient(
        x: FloatTensor<Self>,
        v: FloatTensor<Self>,
        mask: FloatTensor<Self>,
        gradient: FloatTensor<Self>,
        sort: NeuralSortMatrix,
    ) -> (FloatTensor<Self>, FloatTensor<Self>) {
        let shape: [usize; 2] = x.shape().dims();
        by_type!(x, T => {
            values!(T; x, v, mask, gradient);
            let [to_x, to_v] = cpu::neural_sort_sum_gradient(x, v, mask, gradient, shape[1], &sort);
            (tensor(to_x, shape), tensor(to_v, shape))
        }, neural_sort_sum::gradient::<Self>(x, v, mask, gradient, &sort))
    }

    fn rank(x: FloatTensor<Self>, mask: FloatTensor<Self>) -> FloatTensor<Self> {
        let shape: [usize; 2] = x.shape().dims();
        by_type!(x, T => {
            values!(T; x, mask);
            tensor(cpu::rank(x, mask, shape[1]), shape)
        }, rank::value::<Self>(x, mask))
    }

    fn at_rank(ranks: FloatTensor<Self>, table: Vec<f64>) -> FloatTensor<Self> {
        let shape = ranks.shape();
        by_type!(ranks, T => {
            values!(T; ranks);
            tensor(cpu::at_rank(ranks, &table), shape)
        }, at_rank::value::<Self>(ranks, table))
    }

    fn exp2(x: FloatTensor<Self>) -> FloatTensor<Self> {
        let shape = x.shape();
        by_type!(x, T => {
            values!(T; x);
            tensor(cpu::exp2(x), shape)
        }, exp2::value::<Self>(x))
    }

    fn log2_discount(positions: FloatTensor<Self>) -> FloatTensor<Self> {
        let shape = positions.shape();
        by_type!(positions, T => {
            values!(T; positions);
            tensor(cpu::log2_discount(positions), shape)
        }, log2_discount::value::<Self>(positions))
    }

    fn masked_log_softmax(x: FloatTensor<Self>, mask: FloatTensor<Self>) -> FloatTensor<Self> {
        let shape: [usize; 2] = x.shape().dims();
        by_type!(x, T => {
            values!(T; x, mask);
            tensor(cpu::log_softmax(x, mask, shape[1]), shape)
        }, log_softmax::value::<Self>(x, mask))
    }

    fn masked_log_softmax_gradient(
        out: FloatTensor<Self>,
        mask: FloatTensor<Self>,
        gradient: FloatTensor<Self>,
    ) -> FloatTensor<Self> {
        let shape: [usize; 2] = out.shape().dims();
        by_type!(out, T => {
            values!(T; out, mask, gradient);
            tensor(cpu::log_softmax_gradient(out, mask, gradient, shape[1]), shape)
        }, log_softmax::gradient::<Self>(out, mask, gradient))
    }

    fn ideal_dcg(gains: FloatTensor<Self>, mask: FloatTensor<Self>, discounts: Vec<f64>) -> FloatTensor<Self> {
        let [lists, _]: [usize; 2] = gains.shape().dims();
        by_type!(gains, T => {
            values!(T; gains, mask);
            tensor(cpu::ideal_dcg(gains, mask, &discounts), [lists])
        }, ideal_dcg::value::<Self>(gains, mask, discounts))
    }
}
