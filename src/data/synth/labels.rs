//! The frequencies of labels in MSLR-WEB. Generated labels have the same frequencies.

/// The shares of the labels below 1, below 2, below 3 and below 4. The labels 0 to 4 have the shares 0.52, 0.23, 0.19,
/// 0.04 and 0.02.
pub(super) const SHARES_BELOW: [f64; 4] = [0.52, 0.75, 0.94, 0.98];

/// Returns the label for a number drawn uniformly from `[0, 1)`.
pub fn label(draw: f64) -> u8 {
    SHARES_BELOW.iter().filter(|&&below| draw >= below).count() as u8
}
