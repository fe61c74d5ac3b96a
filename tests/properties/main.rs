//! Properties over random and adversarial inputs.

mod limits;
mod loss_contract;
mod measures;
mod op_fused;
