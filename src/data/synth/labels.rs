//! The frequencies of the labels in MSLR-WEB, which generated labels follow.

/// Shares of the labels below 1, 2, 3 and 4: the labels 0 to 4 have .52 .23 .19 .04 .02.
pub(super) const SHARES_BELOW: [f64; 4] = [0.52, 0.75, 0.94, 0.98];

/// The label of a number drawn evenly from `[0, 1)`.
pub fn label(draw: f64) -> u8 {
    SHARES_BELOW.iter().filter(|&&below| draw >= below).count() as u8
}
