//! Numerical methods that do not depend on rankings.

pub(crate) mod bins;
mod cholesky;
pub(crate) mod cutting_plane;
pub(crate) mod normal_equations;
pub(crate) mod quadratic_program;
pub(crate) mod solved;
pub(crate) mod vectors;
