//! Properties over random and adversarial inputs.

mod devices;
mod limits;
mod loss_contract;
mod measures;
mod op_fused;
mod process;
