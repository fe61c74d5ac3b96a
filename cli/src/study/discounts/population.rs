//! Samples of independent documents, and three functions that rank them.

use burn_rank::seed::seed_for;
use rand::RngExt;
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;

use crate::study::Subject;

/// The ranking functions. `good` knows the quality of every document, `middling` knows the quality of a random half,
/// and `random` knows nothing.
pub(super) const RANKERS: [&str; 3] = ["good", "middling", "random"];

/// The distribution from which documents are drawn.
#[derive(Debug, Clone)]
pub(super) enum Population {
    /// Generated documents have a quality `u` that is uniform on `[0, 1]`. Labels are 2 with probability `.05 + .1 u`
    /// and 1 with probability `.25 + .3 u`.
    Generated,
    /// The documents of a ranking, given by their labels in ascending order of score.
    Pooled(Vec<f64>),
}

/// The probability of label 2 as a linear function of the quality: its value at 0, and its slope.
pub(super) const LABEL_2: (f64, f64) = (0.05, 0.1);
/// The probability of label 1 as a linear function of the quality: its value at 0, and its slope.
pub(super) const LABEL_1: (f64, f64) = (0.25, 0.3);

/// A sample of documents, in the order in which they were drawn.
#[derive(Debug, Clone, Default)]
pub(super) struct Sample {
    pub(super) labels: Vec<f64>,
    /// The scores that each ranking function gives to the documents, uniform on `[0, 1]`.
    pub(super) scores: [Vec<f64>; 3],
}

impl Population {
    /// Makes one population from the documents of all queries in a ranking. Documents with equal scores are put in
    /// random order.
    pub(super) fn pooled(subject: &Subject) -> Self {
        let mut documents: Vec<(f64, f64)> = subject
            .queries
            .iter()
            .flat_map(|query| query.scores.iter().copied().zip(query.labels.iter().copied()))
            .collect();
        documents.shuffle(&mut ChaCha8Rng::seed_from_u64(seed_for(1, "study pool", 0)));
        documents.sort_by(|left, right| left.0.total_cmp(&right.0));
        Self::Pooled(documents.into_iter().map(|(_, label)| label).collect())
    }

    /// Draws `n` documents.
    pub(super) fn draw(&self, n: usize, random: &mut ChaCha8Rng) -> Sample {
        let mut sample = Sample::default();
        for _ in 0..n {
            let quality: f64 = random.random();
            sample.labels.push(match self {
                Population::Generated => {
                    let at = |(offset, slope): (f64, f64)| offset + slope * quality;
                    match random.random::<f64>() {
                        chance if chance < at(LABEL_2) => 2.0,
                        chance if chance < at(LABEL_2) + at(LABEL_1) => 1.0,
                        _ => 0.0,
                    }
                }
                Population::Pooled(labels) => labels[((quality * labels.len() as f64) as usize).min(labels.len() - 1)],
            });
            let (knows, other, last) = (random.random::<bool>(), random.random::<f64>(), random.random::<f64>());
            for (scores, score) in sample.scores.iter_mut().zip([quality, if knows { quality } else { other }, last]) {
                scores.push(score);
            }
        }
        sample
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::study::ScoredQuery;

    #[test]
    fn labels_have_the_probabilities_that_the_limits_assume() {
        let sample = Population::Generated.draw(40_000, &mut ChaCha8Rng::seed_from_u64(1));
        let share = |label: f64| sample.labels.iter().filter(|of| **of == label).count() as f64 / 40_000.0;
        assert!((share(2.0) - 0.1).abs() < 0.01 && (share(1.0) - 0.4).abs() < 0.02, "{} {}", share(2.0), share(1.0));
        // Among the documents that the good function puts first, the probabilities of quality 1.
        let of_top = |scores: &[f64]| {
            let top: Vec<f64> =
                sample.labels.iter().zip(scores).filter(|(_, score)| **score > 0.9).map(|(label, _)| *label).collect();
            top.iter().filter(|label| **label >= 1.0).count() as f64 / top.len() as f64
        };
        let [good, middling, random] = [0, 1, 2].map(|ranker| of_top(&sample.scores[ranker]));
        assert!((good - 0.68).abs() < 0.03 && (middling - 0.59).abs() < 0.03 && (random - 0.5).abs() < 0.03);
    }

    #[test]
    fn pooled_documents_are_drawn_by_the_order_of_their_scores() {
        let query = ScoredQuery { scores: vec![0.2, 0.9, -0.4, 0.5], labels: vec![0.0, 2.0, 0.0, 1.0] };
        let subject = Subject { origin: String::new(), queries: vec![query] };
        let sample = Population::pooled(&subject).draw(1000, &mut ChaCha8Rng::seed_from_u64(1));
        for (label, quality) in sample.labels.iter().zip(&sample.scores[0]) {
            assert_eq!(*label, [0.0, 0.0, 1.0, 2.0][(quality * 4.0) as usize]);
        }
    }
}
