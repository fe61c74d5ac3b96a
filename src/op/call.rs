//! [`Call`], a value that holds a primitive with its inputs, for backends, tensor definitions and automatic
//! differentiation.
//!
//! The inputs of each primitive are listed only in this file: in a variant of [`Call`], in [`Call::map`] and in a few
//! other methods.

#[cfg(feature = "_cube")]
use burn::backend::fusion::custom::TensorSpec;
use burn::backend::{Backend, ExtensionType, tensor::FloatTensor};

use super::cpu::{AboveExpectation, AboveRecursion, NeuralSortMatrix, PairLoss, PairWeight, Step};

/// Up to four tensors of one backend, for optional inputs and for outputs. burn's dispatch accepts neither an `Option`
/// nor a `Vec` of tensors.
#[derive(Clone, Debug, ExtensionType)]
#[extension_type(fusion: cfg(feature = "_cube"))]
pub enum Tensors<B: Backend> {
    None,
    One(FloatTensor<B>),
    Two(FloatTensor<B>, FloatTensor<B>),
    Three(FloatTensor<B>, FloatTensor<B>, FloatTensor<B>),
    Four(FloatTensor<B>, FloatTensor<B>, FloatTensor<B>, FloatTensor<B>),
}

impl<B: Backend> Tensors<B> {
    pub fn new(tensors: impl IntoIterator<Item = FloatTensor<B>>) -> Self {
        let mut rest = tensors.into_iter();
        let first: [Option<FloatTensor<B>>; 4] = std::array::from_fn(|_| rest.next());
        match (first, rest.next()) {
            ([None, ..], None) => Self::None,
            ([Some(a), None, ..], None) => Self::One(a),
            ([Some(a), Some(b), None, _], None) => Self::Two(a, b),
            ([Some(a), Some(b), Some(c), None], None) => Self::Three(a, b, c),
            ([Some(a), Some(b), Some(c), Some(d)], None) => Self::Four(a, b, c, d),
            _ => unreachable!("no primitive has five optional inputs or outputs"),
        }
    }

    pub fn into_vec(self) -> Vec<FloatTensor<B>> {
        match self {
            Self::None => Vec::new(),
            Self::One(a) => vec![a],
            Self::Two(a, b) => vec![a, b],
            Self::Three(a, b, c) => vec![a, b, c],
            Self::Four(a, b, c, d) => vec![a, b, c, d],
        }
    }

    /// Returns all tensors as an array; panics if there are not `K` of them.
    #[track_caller]
    pub fn into_array<const K: usize>(self) -> [FloatTensor<B>; K] {
        self.into_vec().try_into().unwrap_or_else(|found: Vec<_>| panic!("{} tensors for {K}", found.len()))
    }

    /// Returns the first tensor, if there is one.
    pub fn first(&self) -> Option<&FloatTensor<B>> {
        self.iter().next()
    }

    pub fn iter(&self) -> impl Iterator<Item = &FloatTensor<B>> {
        let tensors = match self {
            Self::None => [None; 4],
            Self::One(a) => [Some(a), None, None, None],
            Self::Two(a, b) => [Some(a), Some(b), None, None],
            Self::Three(a, b, c) => [Some(a), Some(b), Some(c), None],
            Self::Four(a, b, c, d) => [Some(a), Some(b), Some(c), Some(d)],
        };
        tensors.into_iter().flatten()
    }

    fn map<C: Backend>(self, f: impl FnMut(FloatTensor<B>) -> FloatTensor<C>) -> Tensors<C> {
        Tensors::new(self.into_vec().into_iter().map(f))
    }
}

/// A [`PairWeight`] whose arrays over documents are tensors of one backend. The tensors are stored in the order in
/// which [`PairWeight::map`] visits the arrays.
#[derive(Clone, Debug, ExtensionType)]
#[extension_type(fusion: cfg(feature = "_cube"))]
pub struct Weight<B: Backend> {
    form: PairWeight<()>,
    #[extension_type]
    tensors: Tensors<B>,
}

impl<B: Backend> Weight<B> {
    pub fn new(weight: PairWeight<FloatTensor<B>>) -> Self {
        let mut tensors = Vec::new();
        let form = weight.map(|tensor| tensors.push(tensor));
        Self { form, tensors: Tensors::new(tensors) }
    }

    pub fn as_ref(&self) -> PairWeight<&FloatTensor<B>> {
        let mut tensors = self.tensors.iter();
        self.form.map(|()| tensors.next().expect("a tensor for each place of the form"))
    }
}

/// A primitive with its inputs, which are tensors of shape `[batch, documents]`. If an optional tensor `rows` is given,
/// sums are computed only for the documents where it is nonzero.
#[derive(Clone, Debug, ExtensionType)]
#[extension_type(fusion: cfg(feature = "_cube"))]
pub enum Call<B: Backend> {
    /// See [`step_sum()`](crate::op::step_sum()). Documents whose sum is not computed receive 1/2.
    StepSum {
        x: FloatTensor<B>,
        v: FloatTensor<B>,
        #[extension_type]
        rows: Tensors<B>,
        alpha: f64,
        step: Step,
    },
    /// See [`above_expectation()`](crate::op::above_expectation()). For [independent
    /// ranks](AboveExpectation::of_independent_ranks), the call has a second output without a gradient: the product of
    /// each term, `[batch, documents, terms]`.
    AboveExpectation {
        x: FloatTensor<B>,
        a: FloatTensor<B>,
        b: FloatTensor<B>,
        mask: FloatTensor<B>,
        expectation: AboveExpectation,
    },
    /// See [`above_recursion()`](crate::op::above_recursion()). The shape of `values` is `[batch, ranks]`.
    AboveRecursion {
        x: FloatTensor<B>,
        a: FloatTensor<B>,
        b: FloatTensor<B>,
        mask: FloatTensor<B>,
        values: FloatTensor<B>,
        recursion: AboveRecursion,
    },
    /// See [`indicator_sum()`](crate::op::indicator_sum()). The second output holds the denominators of the softmax and
    /// has no gradient.
    IndicatorSum { x: FloatTensor<B>, a: FloatTensor<B>, mask: FloatTensor<B>, sigma: f64 },
    /// See [`pair_loss()`](crate::op::pair_loss()).
    PairLoss {
        x: FloatTensor<B>,
        labels: FloatTensor<B>,
        mask: FloatTensor<B>,
        #[extension_type]
        weight: Weight<B>,
        loss: PairLoss,
    },
    /// For each document, the sum of the distances of its score from all other scores.
    DistanceSum { x: FloatTensor<B>, mask: FloatTensor<B> },
    /// See [`neural_sort_sum()`](crate::op::neural_sort_sum()).
    NeuralSortSum { x: FloatTensor<B>, v: FloatTensor<B>, mask: FloatTensor<B>, sort: NeuralSortMatrix },
    /// See [`rank()`](crate::op::rank()).
    Rank { x: FloatTensor<B>, mask: FloatTensor<B> },
    /// See [`at_rank()`](crate::op::at_rank()).
    AtRank { x: FloatTensor<B>, table: Vec<f64> },
    /// See [`exp2()`](crate::op::exp2()).
    Exp2 { x: FloatTensor<B> },
    /// See [`log2_discount()`](crate::op::log2_discount()).
    Log2Discount { x: FloatTensor<B> },
    /// See [`log_softmax()`](crate::op::log_softmax()).
    LogSoftmax { x: FloatTensor<B>, mask: FloatTensor<B> },
    /// See [`ideal_dcg()`](crate::op::ideal_dcg()). The gains are `x`, and the output has the shape `[batch]`.
    IdealDcg { x: FloatTensor<B>, mask: FloatTensor<B>, discounts: Vec<f64> },
    /// Keeps `x` where `rows` is nonzero, and replaces every other value with 0, even NaN.
    Select { x: FloatTensor<B>, rows: FloatTensor<B> },
}

impl<B: Backend> Call<B> {
    /// Applies `f` to each tensor of the call, which usually moves it to another backend.
    pub fn map<C: Backend>(self, mut f: impl FnMut(FloatTensor<B>) -> FloatTensor<C>) -> Call<C> {
        match self {
            Self::StepSum { x, v, rows, alpha, step } => {
                Call::StepSum { x: f(x), v: f(v), rows: rows.map(f), alpha, step }
            }
            Self::AboveExpectation { x, a, b, mask, expectation } => {
                Call::AboveExpectation { x: f(x), a: f(a), b: f(b), mask: f(mask), expectation }
            }
            Self::AboveRecursion { x, a, b, mask, values, recursion } => {
                Call::AboveRecursion { x: f(x), a: f(a), b: f(b), mask: f(mask), values: f(values), recursion }
            }
            Self::IndicatorSum { x, a, mask, sigma } => Call::IndicatorSum { x: f(x), a: f(a), mask: f(mask), sigma },
            Self::PairLoss { x, labels, mask, weight: Weight { form, tensors }, loss } => Call::PairLoss {
                x: f(x),
                labels: f(labels),
                mask: f(mask),
                weight: Weight { form, tensors: tensors.map(f) },
                loss,
            },
            Self::DistanceSum { x, mask } => Call::DistanceSum { x: f(x), mask: f(mask) },
            Self::NeuralSortSum { x, v, mask, sort } => Call::NeuralSortSum { x: f(x), v: f(v), mask: f(mask), sort },
            Self::Rank { x, mask } => Call::Rank { x: f(x), mask: f(mask) },
            Self::AtRank { x, table } => Call::AtRank { x: f(x), table },
            Self::Exp2 { x } => Call::Exp2 { x: f(x) },
            Self::Log2Discount { x } => Call::Log2Discount { x: f(x) },
            Self::LogSoftmax { x, mask } => Call::LogSoftmax { x: f(x), mask: f(mask) },
            Self::IdealDcg { x, mask, discounts } => Call::IdealDcg { x: f(x), mask: f(mask), discounts },
            Self::Select { x, rows } => Call::Select { x: f(x), rows: f(rows) },
        }
    }

    /// Returns the first input, which determines the device, shape and type of the call.
    pub fn x(&self) -> &FloatTensor<B> {
        match self {
            Self::StepSum { x, .. }
            | Self::AboveExpectation { x, .. }
            | Self::AboveRecursion { x, .. }
            | Self::IndicatorSum { x, .. }
            | Self::PairLoss { x, .. }
            | Self::DistanceSum { x, .. }
            | Self::NeuralSortSum { x, .. }
            | Self::Rank { x, .. }
            | Self::AtRank { x, .. }
            | Self::Exp2 { x }
            | Self::Log2Discount { x }
            | Self::LogSoftmax { x, .. }
            | Self::IdealDcg { x, .. }
            | Self::Select { x, .. } => x,
        }
    }

    /// Returns the tensor that marks the documents whose sums are computed, or `None` for all documents.
    pub fn rows(&self) -> Option<&FloatTensor<B>> {
        match self {
            Self::StepSum { rows, .. } => rows.first(),
            _ => None,
        }
    }

    /// Returns the inputs with respect to which the primitive has a gradient.
    pub fn differentiated(&self) -> Vec<&FloatTensor<B>> {
        match self {
            Self::Rank { .. } | Self::AtRank { .. } | Self::Exp2 { .. } | Self::IdealDcg { .. } => Vec::new(),
            Self::Select { .. } => Vec::new(),
            Self::StepSum { x, v, .. } | Self::IndicatorSum { x, a: v, .. } | Self::NeuralSortSum { x, v, .. } => {
                vec![x, v]
            }
            _ => vec![self.x()],
        }
    }

    /// Returns those outputs of the call that its gradient needs.
    pub fn saved(&self, mut outputs: Vec<FloatTensor<B>>) -> Tensors<B> {
        match self {
            Self::AboveExpectation { .. } => Tensors::new(outputs.drain(1..)),
            Self::IndicatorSum { .. } | Self::Log2Discount { .. } | Self::LogSoftmax { .. } => Tensors::new(outputs),
            _ => Tensors::None,
        }
    }

    /// Returns whether backends without a fused kernel compute the call by a few of burn's operations, which kernel
    /// fusion may merge with others. A sum over pairs is never composed of burn's operations.
    pub fn is_composed(&self) -> bool {
        let elementwise = matches!(self, Self::AtRank { .. } | Self::Exp2 { .. } | Self::Log2Discount { .. });
        elementwise || matches!(self, Self::LogSoftmax { .. } | Self::IdealDcg { .. } | Self::Select { .. })
    }
}

/// Returns the shapes and types of the outputs of a sum over pairs, which kernel fusion must know in advance.
#[cfg(feature = "_cube")]
pub fn outputs(call: &CallMetadata, _: &crate::execution::Execution) -> TensorsMetadata {
    match call {
        CallMetadata::AboveExpectation { x, expectation, .. } if expectation.of_independent_ranks().is_some() => {
            let [batch, documents] = x.shape.dims();
            let products = TensorSpec::new([batch, documents, expectation.terms.len()].into(), x.dtype);
            TensorsMetadata::Two(x.clone(), products)
        }
        CallMetadata::IndicatorSum { x, .. } => TensorsMetadata::Two(x.clone(), x.clone()),
        CallMetadata::StepSum { x, .. }
        | CallMetadata::AboveExpectation { x, .. }
        | CallMetadata::AboveRecursion { x, .. }
        | CallMetadata::PairLoss { x, .. }
        | CallMetadata::DistanceSum { x, .. }
        | CallMetadata::NeuralSortSum { x, .. }
        | CallMetadata::Rank { x, .. } => TensorsMetadata::One(x.clone()),
        composed => unreachable!("{composed:?} enters the queue in parts"),
    }
}

/// Returns the shapes and types of the gradients of a sum over pairs. Every gradient has the shape and type of
/// `gradient`.
#[cfg(feature = "_cube")]
pub fn gradients(
    call: &CallMetadata,
    _: &TensorsMetadata,
    gradient: &TensorSpec,
    _: &crate::execution::Execution,
) -> TensorsMetadata {
    match call {
        CallMetadata::NeuralSortSum { .. } => TensorsMetadata::Two(gradient.clone(), gradient.clone()),
        _ => TensorsMetadata::One(gradient.clone()),
    }
}
