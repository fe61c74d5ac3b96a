//! Properties tested on random and adversarial inputs.

mod burn_modules;
mod devices;
mod limits;
mod loss_contract;
mod measures;
mod op_fused;
mod op_shapes;
mod process;
