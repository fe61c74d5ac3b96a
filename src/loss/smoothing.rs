//! Which parameter is the temperature of a loss, and in which direction it sharpens the surrogate.

/// The direction in which a temperature must change for the surrogate to approach its measure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sharper {
    /// The surrogate tends to the measure as the parameter grows (`alpha`).
    Larger,
    /// The surrogate tends to the measure as the parameter tends to 0 (`sigma`).
    Smaller,
}

/// The temperature of a surrogate, which a schedule anneals.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Smoothing {
    /// The name of the temperature parameter.
    pub parameter: &'static str,
    /// The direction in which the temperature sharpens the surrogate.
    pub sharper: Sharper,
}
