//! Weights of pairs across the dispatch between backends.

use burn::backend::{
    Backend, BackendTensor, Dispatch, DispatchAutodiffContext, DispatchTensor, DispatchTensorKind, ExtensionType,
    tensor::FloatTensor,
};

use crate::op::cpu::PairWeight;

/// The weight of a pair in tensors of one backend.
pub type Weight<B> = PairWeight<FloatTensor<B>>;

/// By hand: burn derives it for types over a backend, and [`PairWeight`] is one over any values.
impl<B: Backend> ExtensionType<B> for Weight<B> {
    type Target = Weight<Dispatch>;

    fn map_to_dispatch<F>(self, map_kind: F, autodiff: DispatchAutodiffContext) -> Self::Target
    where
        F: Fn(BackendTensor<B>) -> DispatchTensorKind,
    {
        self.map(|values| DispatchTensor { kind: map_kind(BackendTensor::Float(values)), autodiff })
    }

    fn map_from_dispatch<F>(target: Self::Target, unwrap_kind: F) -> Self
    where
        F: Fn(DispatchTensor) -> BackendTensor<B>,
    {
        target.map(|values| unwrap_kind(values).float())
    }

    fn routing_tensor(target: &Self::Target) -> Option<&DispatchTensor> {
        let mut first = None;
        target.as_ref().map(|values| first = first.or(Some(values)));
        first
    }

    fn routing_float_tensor(target: &Self::Target) -> Option<&DispatchTensor> {
        <Self as ExtensionType<B>>::routing_tensor(target)
    }

    fn autodiff_context(target: &Self::Target) -> DispatchAutodiffContext {
        let mut context = DispatchAutodiffContext::Disabled;
        target.as_ref().map(|values| context = context.merge(values.autodiff));
        context
    }
}
