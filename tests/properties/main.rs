//! Properties tested on random and adversarial inputs.

mod backend_table;
mod burn_modules;
mod defaults_train;
mod devices;
mod document_weights;
mod estimators;
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
