//! The exponential loss of pairs and the potential of every document, computed without forming any pair.

use crate::learner::prelude::*;

/// The documents of each query, grouped by label in ascending order. Each process of the data's group holds some of the
/// queries.
pub(super) struct Levels<'a> {
    share: Share<'a>,
    /// The number of pairs in all queries.
    pairs: f64,
    /// For each query of this process with at least two different labels, the lists of documents with equal labels.
    queries: Vec<Vec<Vec<usize>>>,
}

impl<'a> Levels<'a> {
    pub(super) fn new(data: &'a RankingDataset) -> Self {
        let share = Share::new(data);
        let mut queries = Vec::new();
        let mut pairs = 0.0;
        for query in share.queries.clone() {
            let mut documents: Vec<usize> = data.range(query).collect();
            documents.sort_by(|&a, &b| data.labels[a].total_cmp(&data.labels[b]));
            let runs: Vec<Vec<usize>> =
                documents.chunk_by(|&a, &b| data.labels[a] == data.labels[b]).map(<[usize]>::to_vec).collect();
            let mut below = 0;
            for run in &runs {
                pairs += (below * run.len()) as f64;
                below += run.len();
            }
            if runs.len() > 1 {
                queries.push(runs);
            }
        }
        // The counts are whole numbers, whose sum does not depend on the order.
        let pairs = share.gather(vec![pairs]).iter().sum();
        Self { share, pairs, queries }
    }

    /// Returns the mean of `exp(H_j - H_i)` over pairs, and the potential of every document.
    pub(super) fn potentials(&self, scores: &[f64]) -> (f64, Vec<f64>) {
        let documents = self.share.documents();
        let mut potentials = vec![0.0; documents.len()];
        // No pair's difference exceeds this, so none of the exponentials below overflows, and not all of them are 0.
        let of_all = |own: f64| self.share.gather(vec![own]).into_iter().fold(f64::NEG_INFINITY, f64::max);
        let largest =
            of_all(self.queries.iter().map(|runs| largest_difference(runs, scores)).fold(f64::NEG_INFINITY, f64::max));
        let mut terms = Vec::with_capacity(documents.len());
        for runs in &self.queries {
            let mut below = ExpSum::EMPTY;
            for run in runs {
                for &d in run {
                    let won = below.times_exp(-scores[d] - largest);
                    potentials[d - documents.start] += won;
                    terms.push(won);
                }
                run.iter().for_each(|&d| below.add_exp(scores[d]));
            }
            let mut above = ExpSum::EMPTY;
            for run in runs.iter().rev() {
                run.iter().for_each(|&d| potentials[d - documents.start] -= above.times_exp(scores[d] - largest));
                run.iter().for_each(|&d| above.add_exp(-scores[d]));
            }
        }
        // The terms are added one by one, whichever process has them.
        let total: f64 = self.share.gather(terms).iter().sum();
        let mut potentials = self.share.gather(potentials);
        potentials.iter_mut().for_each(|potential| *potential /= total);
        (total * largest.exp() / self.pairs, potentials)
    }
}

/// Returns the largest `H_j - H_i` of the pairs of a query.
fn largest_difference(runs: &[Vec<usize>], scores: &[f64]) -> f64 {
    let (mut found, mut highest) = (f64::NEG_INFINITY, f64::NEG_INFINITY);
    for run in runs {
        found = run.iter().map(|&d| highest - scores[d]).fold(found, f64::max);
        highest = run.iter().map(|&d| scores[d]).fold(highest, f64::max);
    }
    found
}

/// A sum of terms `exp(x)`, stored as the largest `x` and the sum divided by the largest term.
struct ExpSum {
    largest: f64,
    sum: f64,
}

impl ExpSum {
    const EMPTY: Self = Self { largest: f64::NEG_INFINITY, sum: 0.0 };

    fn add_exp(&mut self, x: f64) {
        if x > self.largest {
            self.sum = self.sum * (self.largest - x).exp() + 1.0;
            self.largest = x;
        } else {
            self.sum += (x - self.largest).exp();
        }
    }

    /// Returns the sum times `exp(x)`.
    fn times_exp(&self, x: f64) -> f64 {
        self.sum * (self.largest + x).exp()
    }
}
