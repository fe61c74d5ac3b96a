//! Properties over random and adversarial inputs.

mod op_fused;
