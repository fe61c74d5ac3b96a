//! Properties tested on random and adversarial inputs.

mod backend_table;
mod burn_modules;
mod defaults_train;
mod devices;
mod document_weights;
mod estimators;
/// Example calls of all primitives, which unit tests of the library read, too.
#[path = "../../src/op/example_cases.rs"]
mod example_cases;
mod limits;
mod loss_contract;
mod measures;
mod memory;
mod op_fused;
mod op_shapes;
#[cfg(feature = "learners")]
mod own_loss;
mod packed;
mod process;
mod short_lists;
mod teacher;
#[cfg(feature = "learners")]
mod unbiased;

/// The items that the example calls import.
mod op {
    pub use burn_rank::op::Step;
    pub use burn_rank::workbench::op::*;
}
