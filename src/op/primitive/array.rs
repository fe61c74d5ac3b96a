//! `Array`, a wrapper of a backend's float tensor that adds operators. Code that uses `Array` works for tensors of a
//! plain backend, for tensors under autodiff, and for burn's dispatch at run time. Arrays over pairs are computed in
//! chunks of rows that fit into the memory budget of the calling thread ([`by_rows`]).

use std::ops::{Add, Div, Mul, Neg, Sub};

use burn::backend::{
    Backend, Scalar, Slice, TensorMetadata, get_or_init_device_settings,
    tensor::{BoolTensor, FloatTensor},
};
use burn::tensor::{Shape, TensorData};

use crate::execution::Execution;

/// A range of rows of an array over pairs, from the first to the one after the last.
pub type Rows = (usize, usize);

/// A float tensor of the backend `B`; its binary operators broadcast shapes.
#[derive(Debug)]
pub struct Array<B: Backend>(pub FloatTensor<B>);

impl<B: Backend> Clone for Array<B> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

macro_rules! operator {
    ($trait:ident, $method:ident, $tensor:ident) => {
        impl<B: Backend> $trait for Array<B> {
            type Output = Self;
            fn $method(self, other: Self) -> Self {
                Self(B::$tensor(self.0, other.0))
            }
        }
    };
}

macro_rules! scalar_operator {
    ($trait:ident, $method:ident, $scalar:ident) => {
        impl<B: Backend> $trait<f64> for Array<B> {
            type Output = Self;
            fn $method(self, other: f64) -> Self {
                Self(B::$scalar(self.0, Scalar::Float(other)))
            }
        }
    };
}

macro_rules! functions {
    ($($(#[$doc:meta])* $name:ident: $tensor:ident,)*) => {
        impl<B: Backend> Array<B> {
            $($(#[$doc])* pub fn $name(self) -> Self {
                Self(B::$tensor(self.0))
            })*
        }
    };
}

operator!(Add, add, float_add);
operator!(Sub, sub, float_sub);
operator!(Mul, mul, float_mul);
operator!(Div, div, float_div);
scalar_operator!(Add, add, float_add_scalar);
scalar_operator!(Sub, sub, float_sub_scalar);
scalar_operator!(Mul, mul, float_mul_scalar);
functions! {
    exp: float_exp,
    log: float_log,
    /// Returns `log(1 + x)`, precise for small `x`.
    log_1p: float_log1p,
    sqrt: float_sqrt,
    erf: float_erf,
    atan: float_atan,
    abs: float_abs,
    recip: float_recip,
    sigmoid: sigmoid,
    log_sigmoid: log_sigmoid,
    relu: relu,
    /// Returns the same values, detached from automatic differentiation.
    detach: float_detach,
}

impl<B: Backend> Div<f64> for Array<B> {
    type Output = Self;
    /// Multiplies by the reciprocal, because autodiff rounds the divisor of a scalar division to single precision.
    #[allow(clippy::suspicious_arithmetic_impl)]
    fn div(self, other: f64) -> Self {
        self * other.recip()
    }
}

impl<B: Backend> Neg for Array<B> {
    type Output = Self;
    fn neg(self) -> Self {
        Self(B::float_neg(self.0))
    }
}

impl<B: Backend> Array<B> {
    pub fn dims<const D: usize>(&self) -> [usize; D] {
        self.0.shape().dims()
    }

    pub fn square(self) -> Self {
        self.clone() * self
    }

    /// Returns `2^x` of each value.
    pub fn power_of_two(self) -> Self {
        let ones = Self(B::float_ones(self.0.shape(), &self.0.device(), self.0.dtype().into()));
        Self(B::float_powf((ones.clone() + ones).0, self.0))
    }

    /// Returns `table[rank - 1]` for each rank in an array `[batch, documents]`, without a gradient.
    pub fn look_up(self, table: Vec<f64>) -> Self {
        let (device, dtype) = (self.0.device(), self.0.dtype());
        let ([batch, _], length) = (self.dims(), table.len());
        let table = B::float_from_data(TensorData::new(table, [1, length]).convert_dtype(dtype), &device);
        let table = B::float_expand(table, Shape::from([batch, length]));
        let int = get_or_init_device_settings::<B>(&device).int_dtype;
        Self(B::float_gather(1, table, B::float_into_int((self - 1.0).0, int)))
    }

    pub fn at_least(self, least: f64) -> Self {
        Self(B::float_clamp_min(self.0, Scalar::Float(least)))
    }

    /// Returns the larger of two values, without the gradient of the comparison.
    pub fn max(self, other: Self) -> Self {
        let dtype = get_or_init_device_settings::<B>(&self.0.device()).bool_dtype;
        let is_lower = B::float_lower(self.0.clone(), other.0.clone(), dtype);
        Self(B::float_mask_where(self.0, is_lower, other.0))
    }

    /// Returns the values, with 1 in place of those below `bound`.
    pub fn one_below(self, bound: f64) -> Self {
        let dtype = get_or_init_device_settings::<B>(&self.0.device()).bool_dtype;
        let is_lower = B::float_lower_elem(self.0.clone(), Scalar::Float(bound), dtype);
        Self(B::float_mask_fill(self.0, is_lower, Scalar::Float(1.0)))
    }

    /// Returns the value nearest to 0 of each row where `mask` is nonzero, `[batch, 1]`, without a gradient.
    pub fn nearest_to_zero(&self, mask: &Self) -> Self {
        let values = self.clone().detach();
        let sizes = mask.select_or(values.clone().abs(), f64::from(f32::MAX));
        let int = get_or_init_device_settings::<B>(&self.0.device()).int_dtype;
        Self(B::float_gather(1, values.0, B::float_argmin(sizes.0, 1, int)))
    }

    /// Returns 1 where a value is above `bound`, and 0 elsewhere, without a gradient.
    pub fn above(self, bound: f64) -> Self {
        let dtype = get_or_init_device_settings::<B>(&self.0.device()).bool_dtype;
        let float = self.0.dtype().into();
        Self(B::bool_into_float(B::float_greater_elem(self.0, Scalar::Float(bound), dtype), float))
    }

    /// Returns 1 where a value is 0, and 0 elsewhere, without a gradient.
    pub fn equals_zero(self) -> Self {
        let float = self.0.dtype().into();
        Self(B::bool_into_float(self.zeros(), float))
    }

    /// Returns the values of `other` where this array is nonzero, and 0 elsewhere, even if `other` is NaN there.
    pub fn select(&self, other: Self) -> Self {
        self.select_or(other, 0.0)
    }

    /// Returns the values of `other` where this array is nonzero, and `fill` elsewhere, even if `other` is NaN there.
    pub fn select_or(&self, other: Self, fill: f64) -> Self {
        Self(B::float_mask_fill(other.0, self.clone().zeros(), Scalar::Float(fill)))
    }

    /// Returns the maximum along dimension `dim`, which is removed from the shape.
    pub fn largest(&self, dim: usize) -> Self {
        Self(B::float_max_dim(self.0.clone(), dim)).squeeze(dim)
    }

    fn zeros(self) -> BoolTensor<B> {
        let dtype = get_or_init_device_settings::<B>(&self.0.device()).bool_dtype;
        B::float_equal_elem(self.0, Scalar::Float(0.0), dtype)
    }

    /// Returns the array `0, 1, .., n - 1` of shape `[1, n]`, with the type and device of `self`.
    pub fn indices(&self, n: usize) -> Self {
        let ones = B::float_ones([1, n].into(), &self.0.device(), self.0.dtype().into());
        Self(B::float_cumsum(ones, 1)) - 1.0
    }

    pub fn unsqueeze(self, dim: usize) -> Self {
        let mut dims = self.0.shape().to_vec();
        dims.insert(dim, 1);
        Self(B::float_reshape(self.0, Shape::from(dims)))
    }

    /// Returns the sum along dimension `dim`, which is removed from the shape.
    pub fn sum(self, dim: usize) -> Self {
        Self(B::float_sum_dim(self.0, dim)).squeeze(dim)
    }

    /// Returns the product along dimension `dim`, which is removed from the shape.
    pub fn product(self, dim: usize) -> Self {
        Self(B::float_prod_dim(self.0, dim)).squeeze(dim)
    }

    pub fn squeeze(self, dim: usize) -> Self {
        let mut dims = self.0.shape().to_vec();
        dims.remove(dim);
        Self(B::float_reshape(self.0, Shape::from(dims)))
    }

    /// Returns the part `start..end` of dimension `dim`.
    pub fn narrow(&self, dim: usize, (start, end): (usize, usize)) -> Self {
        let mut slices = vec![Slice::new(0, None, 1); self.0.shape().num_dims()];
        slices[dim] = Slice::new(start as isize, Some(end as isize), 1);
        Self(B::float_slice(self.0.clone(), &slices))
    }

    /// Returns some rows of an array `[batch, documents, ..]`.
    pub fn rows(&self, rows: Rows) -> Self {
        self.narrow(1, rows)
    }

    pub fn concatenate(parts: Vec<Self>, dim: usize) -> Self {
        Self(B::float_cat(parts.into_iter().map(|part| part.0).collect(), dim))
    }

    /// Stacks arrays along a new last dimension.
    pub fn stack_last(parts: Vec<Self>) -> Self {
        let dim = parts.first().map_or(0, |part| part.0.shape().num_dims());
        Self::concatenate(parts.into_iter().map(|part| part.unsqueeze(dim)).collect(), dim)
    }

    /// Reshapes `[B, N]` to `[B, 1, N]`, so that the value of each document `j` meets every row `i`.
    pub fn columns(&self) -> Self {
        self.clone().unsqueeze(1)
    }

    /// Reshapes `[B, R]` to `[B, R, 1]`, so that the value of each row `i` meets every document `j`.
    pub fn column(self) -> Self {
        self.unsqueeze(2)
    }

    /// Returns the differences `x_j - x_i` between every document `j` and each row `i` in the given range, `[B, R, N]`.
    pub fn differences(&self, rows: Rows) -> Self {
        self.columns() - self.rows(rows).column()
    }
}

/// An upper bound for the number of temporary arrays `[batch, rows, documents]` that exist at the same time.
const LIVE_TEMPORARIES: usize = 8;

/// Computes `K` arrays `[batch, documents, ..]`, whose second dimension is split into chunks that fit into the memory
/// budget.
pub fn by_rows<B: Backend, const K: usize>(x: &Array<B>, chunk: impl Fn(Rows) -> [Array<B>; K]) -> [Array<B>; K] {
    let [_, documents] = x.dims();
    in_chunks(x, chunks_of(x, documents, 0), chunk)
}

/// Computes `K` arrays from one array for each of the `chunks`.
pub fn in_chunks<B: Backend, const K: usize>(
    x: &Array<B>,
    chunks: impl Iterator<Item = Rows>,
    chunk: impl Fn(Rows) -> [Array<B>; K],
) -> [Array<B>; K] {
    let mut parts: [Vec<Array<B>>; K] = std::array::from_fn(|_| Vec::new());
    for rows in chunks {
        for (part, value) in parts.iter_mut().zip(chunk(rows)) {
            part.push(value);
        }
    }
    parts.map(|mut part| match part.len() {
        0 => x.clone(),
        1 => part.remove(0),
        _ => Array::concatenate(part, 1),
    })
}

/// Returns how many bytes the temporary arrays of `rows` rows need.
pub fn bytes_of_rows(batch: usize, rows: usize, documents: usize, element_bytes: usize) -> usize {
    [rows, documents, element_bytes, LIVE_TEMPORARIES].into_iter().fold(batch, usize::saturating_mul)
}

/// Splits the first `count` rows into ranges whose temporary arrays fit into the memory budget. Each row needs memory
/// for `numbers` values in addition to its pairs.
pub fn chunks_of<B: Backend>(x: &Array<B>, count: usize, numbers: usize) -> impl Iterator<Item = Rows> + use<B> {
    let ([batch, documents], element) = (x.dims(), x.0.dtype().size());
    let beside = [numbers, element].into_iter().fold(batch, usize::saturating_mul);
    let row_bytes = bytes_of_rows(batch, 1, documents, element).saturating_add(beside);
    chunks(Execution::current().memory_budget(), row_bytes, count)
}

/// Splits `count` rows of `row_bytes` each into ranges that fit into the budget; each range has at least one row.
fn chunks(budget: usize, row_bytes: usize, count: usize) -> impl Iterator<Item = Rows> {
    let rows = (budget / row_bytes.max(1)).clamp(1, count.max(1));
    (0..count).step_by(rows).map(move |start| (start, (start + rows).min(count)))
}

#[cfg(test)]
mod tests {
    use burn::backend::{Flex, ops::FloatTensorOps};
    use burn::tensor::FloatDType;

    use super::*;

    #[test]
    fn chunks_cover_every_row_once() {
        assert_eq!(chunks(100, 25, 10).collect::<Vec<_>>(), [(0, 4), (4, 8), (8, 10)]);
        assert_eq!(chunks(1000, 25, 10).collect::<Vec<_>>(), [(0, 10)]);
        assert_eq!(chunks(100, 25, 0).count(), 0);
    }

    #[test]
    fn a_row_beyond_the_budget_is_taken_alone() {
        assert_eq!(chunks(10, 25, 3).collect::<Vec<_>>(), [(0, 1), (1, 2), (2, 3)]);
    }

    #[test]
    fn the_budget_of_the_thread_cuts_the_rows() {
        let x = Array::<Flex>(Flex::float_zeros([2, 10].into(), &Default::default(), FloatDType::F32));
        let rows = |budget| Execution::current().with_memory_budget(budget).scope(|| chunks_of(&x, 10, 0).count());
        assert_eq!((rows(1), rows(1280), rows(usize::MAX)), (10, 5, 1));
        assert_eq!(chunks_of(&x, 10, 0).count(), 1);
        assert_eq!(Execution::current().with_memory_budget(1).scope(|| chunks_of(&x, 3, 0).count()), 3);
    }
}
