//! Properties over random and adversarial inputs.

mod limits;
mod loss_contract;
mod op_fused;
