//! The frequencies of labels in MSLR-WEB, which generated labels follow.

/// The shares of labels below 1, 2, 3 and 4. The labels 0 to 4 have the shares .52 .23 .19 .04 .02.
pub(super) const SHARES_BELOW: [f64; 4] = [0.52, 0.75, 0.94, 0.98];

/// Returns the label for a number drawn uniformly from `[0, 1)`.
pub fn label(draw: f64) -> u8 {
    SHARES_BELOW.iter().filter(|&&below| draw >= below).count() as u8
}
