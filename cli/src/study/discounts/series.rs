//! Samples of independent documents, which three functions rank, and the NDCG of these samples as documents are added
//! one by one.

use rand::seq::SliceRandom;

use super::limits::{CASES, Case, Decay, LABEL_1, LABEL_2};
use crate::study::*;

/// Limits are fitted only to samples of at least this number of documents. If fewer than three list lengths are that
/// large, smaller samples are used as well.
const FITTED_FROM: usize = 1000;

/// The NDCG of every sample, as `[case][ranking function][size][sample]`.
#[derive(Debug, Clone)]
pub(super) struct Series {
    pub(super) sizes: Vec<usize>,
    pub(super) values: Vec<[Vec<Vec<f64>>; 3]>,
}

impl Series {
    /// Draws samples of documents, and computes their NDCG each time they reach one of `sizes`.
    pub(super) fn draw(
        population: &Population,
        sizes: &[usize],
        samples: usize,
        seed: u64,
        mut done: impl FnMut(usize),
    ) -> Self {
        let largest = sizes.last().copied().unwrap_or(0);
        let discounts = Decay::ALL.map(|decay| (1..=largest).map(|rank| decay.at(rank as f64)).collect::<Vec<f64>>());
        let none = || [(); 3].map(|()| vec![Vec::new(); sizes.len()]);
        let mut values: Vec<[Vec<Vec<f64>>; 3]> = CASES.iter().map(|_| none()).collect();
        for number in 0..samples {
            done(number);
            let sample = population.draw(largest, &mut random(seed, "discounts", number));
            for (at, &n) in sizes.iter().enumerate() {
                for (ranker, _) in RANKERS.iter().enumerate() {
                    for (of_case, value) in values.iter_mut().zip(ndcg(&sample, ranker, n, &discounts)) {
                        of_case[ranker][at].push(value);
                    }
                }
            }
        }
        Self { sizes: sizes.to_vec(), values }
    }

    /// Returns the NDCG of all samples, for a case, a ranking function and the index of a size.
    pub(super) fn at(&self, case: usize, ranker: usize, size: usize) -> &[f64] {
        &self.values[case][ranker][size]
    }

    /// Fits a limit to the NDCG of each sample, for each ranking function. A sample of `n` documents has the weight
    /// `n`, because the variance of its NDCG is proportional to `1 / n`.
    pub(super) fn fitted(&self, case: usize) -> Vec<Vec<f64>> {
        let enough = self.sizes.iter().filter(|n| **n >= FITTED_FROM).count() >= 3;
        let from = if enough { FITTED_FROM } else { 0 };
        let used: Vec<usize> = (0..self.sizes.len()).filter(|at| self.sizes[*at] >= from).collect();
        let terms: Vec<Vec<f64>> = used.iter().map(|at| CASES[case].rate.terms(self.sizes[*at] as f64)).collect();
        let weights: Vec<f64> = used.iter().map(|at| self.sizes[*at] as f64).collect();
        let of_ranker = |values: &Vec<Vec<f64>>| {
            let samples = values.first().map_or(0, Vec::len);
            let of_sample = |sample: usize| {
                let observed: Vec<f64> = used.iter().map(|at| values[*at][sample]).collect();
                constant_of_fit(&terms, &weights, &observed)
            };
            (0..samples).map(of_sample).collect()
        };
        self.values[case].iter().map(of_ranker).collect()
    }

    /// For pairs of samples, returns the differences in NDCG at the smallest and at the largest size. Uses the best
    /// ranking function.
    pub(super) fn spread(&self, case: usize) -> Vec<(f64, f64)> {
        let [good, ..] = &self.values[case];
        let (Some(first), Some(last)) = (good.first(), good.last()) else { return Vec::new() };
        let apart = |of: &[f64]| of.chunks_exact(2).map(|two| (two[0] - two[1]).abs()).collect::<Vec<_>>();
        apart(first).into_iter().zip(apart(last)).collect()
    }

    /// Counts, for each sample, how often the order of two ranking functions by NDCG changes from one size to the next.
    /// Changes are counted for all three pairs of functions. The first and the second half of the sizes are counted
    /// separately.
    pub(super) fn flips(&self, case: usize) -> (Vec<f64>, Vec<f64>) {
        let of = &self.values[case];
        let samples = of[0].first().map_or(0, Vec::len);
        let steps = self.sizes.len().saturating_sub(1);
        let (mut early, mut late) = (vec![0.0; samples], vec![0.0; samples]);
        for (left, right) in [(0, 1), (0, 2), (1, 2)] {
            for sample in 0..samples {
                let ahead = |at: usize| of[left][at][sample] > of[right][at][sample];
                for step in (0..steps).filter(|step| ahead(*step) != ahead(step + 1)) {
                    if 2 * step < steps { early[sample] += 1.0 } else { late[sample] += 1.0 }
                }
            }
        }
        (early, late)
    }
}

/// Computes the NDCG of the first `n` documents in every case. It is 0 if none of them is relevant.
fn ndcg(sample: &Sample, ranker: usize, n: usize, discounts: &[Vec<f64>; 4]) -> Vec<f64> {
    let mut ranked: Vec<(f64, f64)> =
        sample.scores[ranker][..n].iter().copied().zip(sample.labels[..n].iter().copied()).collect();
    ranked.sort_unstable_by(|left, right| right.0.total_cmp(&left.0));
    let ranked: Vec<f64> = ranked.into_iter().map(|(_, label)| label).collect();
    let mut ideal: Vec<f64> = sample.labels[..n].to_vec();
    ideal.sort_unstable_by(|left, right| right.total_cmp(left));
    let of_case = |case: &Case| {
        let gain = |label: f64| if case.graded { label } else { f64::from(u8::from(label >= 1.0)) };
        let discounts = &discounts[case.decay as usize][..case.cut.of(n)];
        let dcg = |labels: &[f64]| -> f64 {
            discounts.iter().zip(labels).map(|(discount, label)| discount * gain(*label)).sum()
        };
        let ideal = dcg(&ideal);
        if ideal > 0.0 { dcg(&ranked) / ideal } else { 0.0 }
    };
    CASES.iter().map(of_case).collect()
}

/// Fits a constant plus multiples of `terms` to `observed` by weighted least squares, and returns the constant.
fn constant_of_fit(terms: &[Vec<f64>], weights: &[f64], observed: &[f64]) -> f64 {
    let rows: Vec<Vec<f64>> = terms.iter().map(|terms| [&[1.0][..], terms].concat()).collect();
    let Some(size) = rows.first().map(Vec::len).filter(|size| *size <= rows.len()) else { return f64::NAN };
    // The normal equations with the right side as a last column.
    let mut matrix = vec![vec![0.0; size + 1]; size];
    for ((row, weight), value) in rows.iter().zip(weights).zip(observed) {
        for i in 0..size {
            for j in 0..size {
                matrix[i][j] += weight * row[i] * row[j];
            }
            matrix[i][size] += weight * row[i] * value;
        }
    }
    for column in 0..size {
        let pivot = (column..size).max_by(|i, j| matrix[*i][column].abs().total_cmp(&matrix[*j][column].abs()));
        matrix.swap(column, pivot.unwrap_or(column));
        let pivot = matrix[column].clone();
        for (_, row) in matrix.iter_mut().enumerate().filter(|(row, _)| *row != column) {
            let factor = row[column] / pivot[column];
            row.iter_mut().zip(&pivot).for_each(|(cell, of_pivot)| *cell -= factor * of_pivot);
        }
    }
    matrix[0][size] / matrix[0][0]
}

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
        documents.shuffle(&mut random(1, "study pool", 0));
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
    use rand::SeedableRng;

    use super::*;
    use crate::study::discounts::limits::{HALVING, LOG, Rate};

    #[test]
    fn ndcg_is_that_of_the_sorted_list() {
        let sample = Sample {
            labels: vec![0.0, 2.0, 1.0, 0.0],
            scores: [vec![0.9, 0.8, 0.1, 0.2], vec![0.1, 0.2, 0.3, 0.4], vec![0.4, 0.3, 0.2, 0.1]],
        };
        let discounts = Decay::ALL.map(|decay| (1..=4).map(|rank| decay.at(f64::from(rank))).collect::<Vec<f64>>());
        let found = ndcg(&sample, 0, 4, &discounts);
        let log = |rank: f64| 1.0 / (1.0 + rank).ln();
        assert!((found[LOG] - (log(2.0) + log(4.0)) / (log(1.0) + log(2.0))).abs() < 1e-12);
        assert!((found[LOG + 1] - (2.0 * log(2.0) + log(4.0)) / (2.0 * log(1.0) + log(2.0))).abs() < 1e-12);
        assert!((found[HALVING] - (0.25 + 0.0625) / 0.75).abs() < 1e-12);
        // The first two documents, of which the one with label 2 is second.
        assert!((ndcg(&sample, 0, 2, &discounts)[HALVING] - 0.5).abs() < 1e-12);
        assert_eq!(ndcg(&sample, 0, 1, &discounts)[HALVING], 0.0, "no relevant document");
    }

    #[test]
    fn a_fit_finds_the_constant() {
        let sizes = [1e3, 1e4, 1e5, 1e6];
        let terms: Vec<Vec<f64>> = sizes.iter().map(|n| Rate::Logarithms.terms(*n)).collect();
        let observed: Vec<f64> = sizes.iter().map(|n| 0.7 - 0.4 / n.ln() + 2.0 / n.ln().powi(2)).collect();
        assert!((constant_of_fit(&terms, &sizes, &observed) - 0.7).abs() < 1e-9);
        assert!(constant_of_fit(&terms[..2], &sizes[..2], &observed[..2]).is_nan(), "more terms than sizes");
    }

    #[test]
    fn flips_are_counted_by_sample_and_half() {
        let one = |values: [f64; 3]| values.map(|value| vec![value]).to_vec();
        let series = Series {
            sizes: vec![10, 20, 30],
            values: vec![[one([0.9, 0.1, 0.9]), one([0.5, 0.5, 0.5]), one([0.2, 0.2, 0.2])]],
        };
        // Good and middling flip in both steps, good and random likewise.
        assert_eq!(series.flips(0), (vec![2.0], vec![2.0]));
    }

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
