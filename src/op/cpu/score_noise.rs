//! The comparisons over which an expectation under noisy scores is averaged.

use std::borrow::Cow;

use super::long::levels::step;
use super::parameters::{Comparison, ScoreNoise};

/// The noise of a document is integrated from minus to plus this number of standard deviations. The probability outside
/// this range is below 1e-10.
pub const RANGE: f64 = 6.5;

/// Returns the number of points of the trapezoidal rule over the noise of a document, for lists of `n` documents.
fn nodes(n: usize) -> usize {
    1 + (2.0 * RANGE / step(n)).ceil() as usize
}

impl ScoreNoise {
    /// Returns the number of comparisons in lists of `n` documents.
    pub(crate) fn comparisons(&self, n: usize) -> usize {
        match self {
            Self::Mixture(mixture) => mixture.len(),
            Self::Exact { .. } => nodes(n),
        }
    }

    /// Returns the comparisons in lists of `n` documents, with weights that add up to 1. Exact noise needs about
    /// `29 sqrt(1 + ln n)` comparisons, one for each value of the document's own noise.
    pub fn mixture(&self, n: usize) -> Cow<'_, [(f64, Comparison)]> {
        match self {
            Self::Mixture(mixture) => Cow::Borrowed(mixture),
            Self::Exact { sigma } => {
                let nodes = nodes(n);
                let noise = |node: usize| RANGE * (2.0 * node as f64 / (nodes - 1) as f64 - 1.0);
                let density = |noise: f64| (-0.5 * noise * noise).exp();
                let total: f64 = (0..nodes).map(|node| density(noise(node))).sum();
                let compared = |noise| (density(noise) / total, Comparison::given(noise, *sigma));
                Cow::Owned((0..nodes).map(noise).map(compared).collect())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::ranks::beats::beats;
    use super::*;

    /// Returns the sum, over all documents, of the probability of being ranked first; the test scores include many
    /// ties. The probabilities of being ranked first add up to 1 for any scores.
    fn first(scores: &[(f64, usize)]) -> f64 {
        let n = scores.iter().map(|(_, count)| count).sum();
        let chance = |own: f64| -> f64 {
            let given = |&(weight, Comparison { rate, shift }): &(f64, Comparison)| {
                let below = |&(other, count): &(f64, usize)| {
                    let count = count - usize::from(other == own);
                    beats::<f64, false>(rate * (other - own) - shift).1.powi(count as i32)
                };
                weight * scores.iter().map(below).product::<f64>()
            };
            ScoreNoise::Exact { sigma: 1.0 }.mixture(n).iter().map(given).sum()
        };
        scores.iter().map(|&(own, count)| count as f64 * chance(own)).sum()
    }

    #[test]
    fn one_document_is_the_first() {
        for n in [2, 3, 5, 10, 20, 60, 200, 1000, 5000] {
            let tied = first(&[(0.0, n)]);
            assert!((tied - 1.0).abs() < 5e-7, "{n} tied: {tied}");
            for gap in [0.5, 1.0, 2.0, 3.5, 6.0] {
                for above in [1, n / 2, n - 1] {
                    let found = first(&[(gap, above), (0.0, n - above)]);
                    assert!((found - 1.0).abs() < 5e-7, "{above} of {n}, {gap} above: {found}");
                }
            }
        }
    }
}
