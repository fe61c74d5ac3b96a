//! What a tree is fitted to.

/// First and second derivatives of the loss with respect to each score, to which a tree is fitted.
#[derive(Debug, Clone, Default)]
pub(super) struct Derivatives {
    /// `d loss / d score` of each document.
    pub gradient: Vec<f64>,
    /// Second derivative, above 0, or 1 throughout for least squares.
    pub curvature: Vec<f64>,
}
