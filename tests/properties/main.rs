//! Properties over random and adversarial inputs.

mod loss_contract;
mod op_fused;
