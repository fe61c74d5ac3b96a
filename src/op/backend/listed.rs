//! The backends for which this build implements [`Primitives`](super::primitives::Primitives). Cargo turns on a feature
//! of a dependency for the whole program if any crate asks for it. A tensor may therefore belong to a backend of burn
//! that no feature of this crate has turned on.

// Supported for users of older models.
#![cfg_attr(any(feature = "ndarray", feature = "tch"), allow(deprecated))]

use burn::backend::{DispatchTensor, DispatchTensorKind, TensorMetadata};

/// Returns whether this build implements [`Primitives`](super::primitives::Primitives) for the backend of `tensor`.
pub fn is_listed(tensor: &DispatchTensor) -> bool {
    kind_is_listed(&tensor.kind)
}

// Which patterns are reachable depends on burn's features, which other crates may turn on.
#[allow(unreachable_patterns)]
fn kind_is_listed(kind: &DispatchTensorKind) -> bool {
    match kind {
        DispatchTensorKind::Autodiff(inner) => kind_is_listed(inner),
        #[cfg(any(feature = "flex", test))]
        DispatchTensorKind::Flex(_) => true,
        #[cfg(feature = "ndarray")]
        DispatchTensorKind::NdArray(_) => true,
        #[cfg(feature = "tch")]
        DispatchTensorKind::LibTorch(_) => true,
        #[cfg(feature = "remote")]
        DispatchTensorKind::Remote(_) => true,
        #[cfg(feature = "_cube")]
        DispatchTensorKind::Cube(_) => true,
        _ => false,
    }
}

/// The names of burn's backends, each with the features of this crate that turn it on. All GPU backends share one
/// entry.
const FEATURES: [(&str, &str); 5] = [
    ("Flex", "flex"),
    ("NdArray", "ndarray"),
    ("LibTorch", "tch"),
    ("Remote", "remote"),
    ("Cube", "cuda, rocm, vulkan, wgpu or metal"),
];

/// A backend for which this build has no [`Primitives`](super::primitives::Primitives).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unlisted {
    /// The name of the backend in burn.
    pub backend: String,
    /// The feature of this crate that would add the backend, or `None` if no feature does.
    pub feature: Option<&'static str>,
}

/// Returns the backend of `tensor` if this build has no [`Primitives`](super::primitives::Primitives) for it.
pub fn unlisted(tensor: &DispatchTensor) -> Option<Unlisted> {
    if is_listed(tensor) {
        return None;
    }
    let device = format!("{:?}", tensor.device());
    let backend = device.split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default().to_owned();
    let feature = FEATURES.iter().find(|(name, _)| *name == backend).map(|&(_, feature)| feature);
    Some(Unlisted { backend, feature })
}
