//! Code that several learners share, such as the context and the rounds of a fit, and checks of data and settings.

pub(crate) mod anneal;
pub(crate) mod checks;
pub(crate) mod context;
pub(crate) mod cost_path;
pub(crate) mod flat_loss;
pub(crate) mod flat_scorer;
pub(crate) mod gains;
pub(crate) mod judge;
pub(crate) mod position;
pub(crate) mod rounds;
pub(crate) mod share;
