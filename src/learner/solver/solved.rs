//! The result of solving a convex problem.

/// The solution of one convex problem.
pub(crate) struct Solved {
    pub(crate) weights: Vec<f64>,
    pub(crate) objective: f64,
    /// The objective minus a lower bound on the minimum, if a bound is known.
    pub(crate) gap: Option<f64>,
    /// Whether the duality gap is within the tolerance.
    pub(crate) converged: bool,
    /// The reason why the solver stopped early, if it did.
    pub(crate) failure: Option<String>,
    /// Further numbers for the round to report, by name.
    pub(crate) figures: Vec<(String, f64)>,
}

impl Solved {
    /// Returns the name and the value under which a round reports the duality gap.
    pub(crate) fn gap_figure(&self) -> Option<(String, f64)> {
        self.gap.map(|gap| ("duality_gap".to_owned(), gap))
    }
}
