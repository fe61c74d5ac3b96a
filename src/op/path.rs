//! Which path a primitive takes.

use crate::execution::{Execution, PrimitivePath};

/// Whether a primitive called now uses its tensor definition.
pub(super) fn uses_tensor_path() -> bool {
    Execution::current().path() == PrimitivePath::Tensor
}
