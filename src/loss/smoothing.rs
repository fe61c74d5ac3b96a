//! The temperature of a loss, and which way it sharpens.

/// Which way a temperature goes when the surrogate sharpens towards its measure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sharper {
    /// The surrogate tends to the measure as the parameter grows (`alpha`).
    Larger,
    /// The surrogate tends to the measure as the parameter tends to 0 (`sigma`).
    Smaller,
}

/// The temperature of a surrogate: what a schedule anneals.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Smoothing {
    /// Name of the parameter.
    pub parameter: &'static str,
    /// The direction that sharpens.
    pub sharper: Sharper,
}
