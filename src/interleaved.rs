//! Adds numbers in eight interleaved parts, which the compiler can keep in vector registers. The order of the additions
//! depends only on the number of terms.

/// Returns `term(0) + .. + term(length - 1)`.
pub(crate) fn sum(length: usize, term: impl Fn(usize) -> f64) -> f64 {
    let mut parts = [0.0; 8];
    let whole = length - length % 8;
    for start in (0..whole).step_by(8) {
        for (lane, part) in parts.iter_mut().enumerate() {
            *part += term(start + lane);
        }
    }
    (whole..length).map(term).sum::<f64>() + parts.iter().sum::<f64>()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_term_counts_once() {
        for length in [0, 1, 7, 8, 9, 16, 100] {
            assert_eq!(sum(length, |i| (i + 1) as f64), (length * (length + 1) / 2) as f64);
        }
    }
}
