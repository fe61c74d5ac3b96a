//! RankBoost: boosting of thresholds on the exponential loss of pairs.
//!
//! Freund, Iyer, Schapire, Singer: An efficient boosting algorithm for combining preferences, JMLR 4 (2003). Over the
//! pairs of documents `i, j` of one query with `y_j < y_i`,
//!
//! ```text
//! loss(H) = mean over pairs of exp(H_j - H_i),    D(j, i) = exp(H_j - H_i) / sum of all
//! ```
//!
//! A weak ranker is `h(x) = 1[x_f > theta]`. With the potential `pi_i = sum_j D(j, i) - sum_j D(i, j)` (over the pairs
//! that `i` should win, and should lose) its edge is `r = sum_i pi_i h(x_i)`, so that no pair is ever formed: the
//! potentials cost O(documents x labels), the best weak ranker O(documents x features). Each round adds `alpha h` with
//! `alpha = 1/2 ln((1 + r) / (1 - r))` for the largest `|r|` (a negative edge is the ranker of the other sign), and
//! multiplies the loss by at most `sqrt(1 - r^2)`: it never grows. Scores that grow without end leave it and the
//! potentials finite: sums of exponentials are kept relative to their largest term.
//!
//! Ties go to the lowest feature, then the lowest threshold. The fit ends when no weak ranker has an edge, or when one
//! orders every pair (its weight is then the cap of alpha, about 14). The model is a sum of stumps.

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::data::Dataset;
use crate::learner::entry::{self, Learner, LearnerEntry};
use crate::learner::error::LearnerError;
use crate::learner::shared::checks;
use crate::learner::shared::context::{FitContext, Fitted, Round, StopReason};
use crate::learner::shared::judge::Judge;
use crate::learner::shared::rounds::Rounds;
use crate::learner::solver::bins::{Bins, MAX_BINS};
use crate::ranker::{Model, Node, TreeEnsemble};

const NAME: &str = "rank_boost";

pub(super) const ENTRY: LearnerEntry = LearnerEntry {
    name: NAME,
    summary: "boosting of feature thresholds on the exponential loss of pairs",
    paper: "Freund, Iyer, Schapire and Singer, An efficient boosting algorithm for combining preferences; the baseline \
            of Xu et al., Direct optimization of evaluation measures in learning to rank, section 6",
    takes_loss: false,
    takes_scorer: false,
    defaults: || entry::parameters(&RankBoostConfig::default()),
    build: |parts| Ok(Box::new(entry::decode::<RankBoostConfig>(parts)?.check()?)),
};

/// Largest edge that `alpha` is computed of: keeps it finite.
const LARGEST_EDGE: f64 = 1.0 - 1e-12;

/// Edges below this are rounding.
const SMALLEST_EDGE: f64 = 1e-12;

/// Configuration of [`RankBoost`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RankBoostConfig {
    /// Most rounds; each adds one stump.
    pub rounds: usize,
    /// Most thresholds of a feature, 1 to 255. All are used where a feature has fewer distinct values.
    pub thresholds: usize,
    /// Stop after so many rounds without a better value of the selection measure.
    pub patience: Option<usize>,
}

impl Default for RankBoostConfig {
    fn default() -> Self {
        Self { rounds: 300, thresholds: MAX_BINS - 1, patience: None }
    }
}

impl RankBoostConfig {
    /// Checks every parameter.
    ///
    /// # Errors
    /// [`LearnerError::Parameter`] names the first one out of its range.
    pub fn check(&self) -> Result<RankBoost, LearnerError> {
        checks::at_least("rounds", self.rounds, 1)?;
        if !(1..MAX_BINS).contains(&self.thresholds) {
            return Err(checks::parameter("thresholds", self.thresholds, format_args!("1 to {}", MAX_BINS - 1)));
        }
        self.patience.map(|patience| checks::at_least("patience", patience, 1)).transpose()?;
        Ok(RankBoost { config: self.clone() })
    }
}

/// RankBoost, its parameters checked.
#[derive(Debug, Clone)]
pub struct RankBoost {
    config: RankBoostConfig,
}

/// `alpha 1[x_feature > threshold]`
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
struct Stump {
    feature: usize,
    threshold: f32,
    alpha: f64,
}

impl Stump {
    fn add_to(&self, scores: &mut [f64], data: &Dataset) {
        for (d, score) in scores.iter_mut().enumerate() {
            if data.row(d)[self.feature] > self.threshold {
                *score += self.alpha;
            }
        }
    }

    fn nodes(&self) -> [Node; 3] {
        let split = Node::Split { feature: self.feature as u32, threshold: self.threshold, left: 1, right: 2 };
        [split, Node::Leaf { value: 0.0 }, Node::Leaf { value: self.alpha }]
    }
}

/// The documents of each query by ascending label, in runs of equal labels.
struct Levels {
    documents: usize,
    pairs: f64,
    /// Queries with two labels or more, each a list of runs.
    queries: Vec<Vec<Vec<usize>>>,
}

impl Levels {
    fn new(data: &Dataset) -> Self {
        let mut queries = Vec::new();
        let mut pairs = 0.0;
        for query in 0..data.queries() {
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
        Self { documents: data.documents(), pairs, queries }
    }

    /// The mean of `exp(H_j - H_i)` over pairs, and the potential of every document.
    fn potentials(&self, scores: &[f64]) -> (f64, Vec<f64>) {
        let mut potentials = vec![0.0; self.documents];
        // No pair exceeds this, so that no exponential below overflows, and not all of them are 0.
        let largest =
            self.queries.iter().map(|runs| largest_difference(runs, scores)).fold(f64::NEG_INFINITY, f64::max);
        let mut total = 0.0;
        for runs in &self.queries {
            let mut below = ExpSum::default();
            for run in runs {
                for &d in run {
                    let won = below.times_exp(-scores[d] - largest);
                    potentials[d] += won;
                    total += won;
                }
                run.iter().for_each(|&d| below.add_exp(scores[d]));
            }
            let mut above = ExpSum::default();
            for run in runs.iter().rev() {
                run.iter().for_each(|&d| potentials[d] -= above.times_exp(scores[d] - largest));
                run.iter().for_each(|&d| above.add_exp(-scores[d]));
            }
        }
        potentials.iter_mut().for_each(|potential| *potential /= total);
        (total * largest.exp() / self.pairs, potentials)
    }
}

/// The largest `H_j - H_i` of the pairs of a query.
fn largest_difference(runs: &[Vec<usize>], scores: &[f64]) -> f64 {
    let (mut found, mut highest) = (f64::NEG_INFINITY, f64::NEG_INFINITY);
    for run in runs {
        found = run.iter().map(|&d| highest - scores[d]).fold(found, f64::max);
        highest = run.iter().map(|&d| scores[d]).fold(highest, f64::max);
    }
    found
}

/// `sum exp(x)` as its largest `x`, and the sum relative to that term.
struct ExpSum {
    largest: f64,
    sum: f64,
}

impl Default for ExpSum {
    fn default() -> Self {
        Self { largest: f64::NEG_INFINITY, sum: 0.0 }
    }
}

impl ExpSum {
    fn add_exp(&mut self, x: f64) {
        if x > self.largest {
            self.sum = self.sum * (self.largest - x).exp() + 1.0;
            self.largest = x;
        } else {
            self.sum += (x - self.largest).exp();
        }
    }

    /// The sum times `exp(x)`.
    fn times_exp(&self, x: f64) -> f64 {
        self.sum * (self.largest + x).exp()
    }
}

/// Whether an edge is larger than another, whatever their signs, by more than the order of their terms makes.
fn is_larger(edge: f64, other: f64) -> bool {
    edge.abs() > other.abs() * (1.0 + 1e-12)
}

/// The weak ranker with the largest absolute edge: feature, threshold, edge.
fn best_weak_ranker(bins: &Bins, potentials: &[f64]) -> Option<(usize, f32, f64)> {
    let best_of = |feature: usize| {
        let thresholds = bins.thresholds(feature);
        let mut sums = vec![0.0; thresholds.len() + 1];
        for (&code, potential) in bins.codes(feature).iter().zip(potentials) {
            sums[code as usize] += potential;
        }
        // All potentials add up to 0: the edge above a threshold is minus the sum below it.
        let mut below = 0.0;
        let mut best: Option<(usize, f32, f64)> = None;
        for (sum, &threshold) in sums.iter().zip(thresholds) {
            below += sum;
            if best.is_none_or(|(_, _, edge)| is_larger(below, edge)) {
                best = Some((feature, threshold, -below));
            }
        }
        best
    };
    let candidates: Vec<_> = (0..bins.features()).into_par_iter().map(best_of).collect();
    candidates.into_iter().flatten().reduce(|best, next| if is_larger(next.2, best.2) { next } else { best })
}

impl Learner for RankBoost {
    fn name(&self) -> &'static str {
        NAME
    }

    fn fit(&self, train: &Dataset, validation: Option<&Dataset>, context: &FitContext) -> Result<Fitted, LearnerError> {
        checks::trainable(NAME, train, validation, context)?;
        let bins = Bins::new(train, self.config.thresholds + 1);
        let levels = Levels::new(train);
        let judge = Judge::of_selection(context)?;
        let limit = Some(self.config.rounds);
        let mut rounds = Rounds::start(NAME, &self.config, train, validation, limit, context, Vec::<Stump>::new)?;
        let mut scores = vec![0.0; train.documents()];
        let mut validation_scores = vec![0.0; validation.map_or(0, Dataset::documents)];
        for stump in &rounds.state {
            stump.add_to(&mut scores, train);
            validation.inspect(|data| stump.add_to(&mut validation_scores, data));
        }
        let (_, mut potentials) = levels.potentials(&scores);
        let stop = loop {
            if let Some(stop) = rounds.stop() {
                break stop;
            }
            if rounds.stalled(self.config.patience) {
                break StopReason::EarlyStopped;
            }
            let weak = best_weak_ranker(&bins, &potentials).filter(|(_, _, edge)| edge.abs() > SMALLEST_EDGE);
            let Some((feature, threshold, edge)) = weak else {
                break StopReason::Converged;
            };
            let capped = edge.clamp(-LARGEST_EDGE, LARGEST_EDGE);
            let stump = Stump { feature, threshold, alpha: capped.atanh() };
            stump.add_to(&mut scores, train);
            validation.inspect(|data| stump.add_to(&mut validation_scores, data));
            let objective;
            (objective, potentials) = levels.potentials(&scores);
            // A round that is no number could not be read back.
            if !objective.is_finite() {
                break StopReason::Converged;
            }
            rounds.state.push(stump);
            rounds.record(Round {
                round: rounds.next(),
                objective,
                train: judge.mean(train, &scores)?,
                validation: validation.map(|data| judge.mean(data, &validation_scores)).transpose()?.flatten(),
                figures: vec![
                    ("feature".into(), (feature + 1) as f64),
                    ("threshold".into(), f64::from(threshold)),
                    ("edge".into(), edge),
                    ("alpha".into(), stump.alpha),
                ],
            });
            rounds.save_when_due()?;
            if edge.abs() >= LARGEST_EDGE {
                break StopReason::Converged;
            }
        };
        if rounds.history().is_empty() && stop == StopReason::Converged {
            let reason = "no threshold of a feature orders more pairs right than wrong".to_string();
            return Err(LearnerError::Data { learner: NAME, reason });
        }
        rounds.finish(stop, |stumps, best_round| {
            let mut trees = TreeEnsemble::new(train.feature_count);
            for stump in &stumps[..best_round] {
                trees
                    .push(&stump.nodes())
                    .map_err(|error| LearnerError::Solver { learner: NAME, reason: error.to_string() })?;
            }
            Ok(Model::Trees(trees))
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::learner::testing::{self, dataset};

    #[test]
    fn potentials_are_those_of_the_pairs() {
        // Labels 2, 0, 1 and scores 0, 1, 3 (then a query of one label, which has no pair).
        let data = dataset(1, &[&[(2.0, &[0.0]), (0.0, &[0.0]), (1.0, &[0.0])], &[(1.0, &[0.0]), (1.0, &[0.0])]]);
        let scores = [0.0, 1.0, 3.0, 5.0, 6.0];
        let [a, b, c] = [1.0f64.exp(), 3.0f64.exp(), (-2.0f64).exp()]; // 0 over 1, 0 over 2, 2 over 1
        let (mean, potentials) = Levels::new(&data).potentials(&scores);
        let total = a + b + c;
        assert!((mean - total / 3.0).abs() < 1e-12);
        let expected = [(a + b) / total, -(a + c) / total, (c - b) / total, 0.0, 0.0];
        for (found, expected) in potentials.iter().zip(expected) {
            assert!((found - expected).abs() < 1e-12, "{potentials:?}");
        }
    }

    #[test]
    fn the_first_round_by_hand() {
        // Pairs: (a, c), (b, c), relevant a and b. x > 0.5 holds for a alone: edge 1/2; y > 0.5 for c alone: edge -1.
        let data = dataset(2, &[&[(1.0, &[1.0, 0.0]), (1.0, &[0.0, 0.0]), (0.0, &[0.0, 1.0])]]);
        let bins = Bins::new(&data, 256);
        let levels = Levels::new(&data);
        let (mean, potentials) = levels.potentials(&[0.0; 3]);
        assert_eq!((mean, &potentials[..]), (1.0, &[0.5, 0.5, -1.0][..]));
        assert_eq!(best_weak_ranker(&bins, &potentials), Some((1, 0.5, -1.0)));
        // On the first feature alone: alpha = 1/2 ln 3, so the loss is (1/sqrt(3) + 1) / 2.
        let data = dataset(1, &[&[(1.0, &[1.0]), (1.0, &[0.0]), (0.0, &[0.0])]]);
        let config = RankBoostConfig { rounds: 1, ..RankBoostConfig::default() };
        let fitted = config.check().unwrap().fit(&data, None, &testing::context(None)).unwrap();
        let round = &fitted.history[0];
        assert!((round.objective - (1.0 / 3.0f64.sqrt() + 1.0) / 2.0).abs() < 1e-12);
        assert!((round.figures[3].1 - 3.0f64.ln() / 2.0).abs() < 1e-12, "alpha");
    }

    /// No stump orders three labels, so that the scores of separable data part by about 0.7 a round.
    #[test]
    fn scores_far_apart_leave_the_loss_finite() {
        let query: Vec<(f32, [f32; 1])> = (0..6).map(|d| ((d % 3) as f32, [(d % 3) as f32])).collect();
        let query: Vec<(f32, &[f32])> = query.iter().map(|(label, row)| (*label, &row[..])).collect();
        let data = dataset(1, &[&query, &query]);
        let learner = RankBoostConfig { rounds: 1500, ..RankBoostConfig::default() }.check().unwrap();
        let folder = tempfile::tempdir().unwrap();
        let mut context = testing::context(Some(folder.path()));
        let fitted = learner.fit(&data, None, &context).unwrap();
        assert_eq!((fitted.stop, fitted.history.len()), (StopReason::Completed, 1500));
        let objectives: Vec<f64> = fitted.history.iter().map(|round| round.objective).collect();
        assert!(objectives.is_sorted_by(|before, after| *after <= *before && after.is_finite()));
        context.resume = true;
        assert_eq!(learner.fit(&data, None, &context).unwrap().history, fitted.history, "read back");

        // Scores 0, 800, 1600 by label: the loss is that of the neighbouring labels' 16 pairs, e^-800 each.
        let scores: Vec<f64> = data.labels.iter().map(|&label| 800.0 * f64::from(label)).collect();
        let (mean, potentials) = Levels::new(&data).potentials(&scores);
        assert_eq!(mean, 0.0);
        for (label, potential) in data.labels.iter().zip(potentials) {
            let expected = [-1.0 / 8.0, 0.0, 1.0 / 8.0][*label as usize];
            assert!((potential - expected).abs() < 1e-12, "{label}: {potential}");
        }
    }

    #[test]
    fn fits_are_reproducible() {
        let (train, validation) = (testing::random(4, 15, 3, 2), testing::random(2, 15, 3, 3));
        let learner = RankBoostConfig { rounds: 20, ..RankBoostConfig::default() }.check().unwrap();
        testing::assert_reproducible(&learner, &train, &validation, 5);
    }

    #[test]
    fn a_perfect_weak_ranker_ends_the_fit_with_a_finite_weight() {
        let data = testing::two_documents();
        let fitted = RankBoostConfig::default().check().unwrap().fit(&data, None, &testing::context(None)).unwrap();
        assert_eq!((fitted.stop, fitted.history.len()), (StopReason::Converged, 1));
        let Model::Trees(trees) = fitted.model else { panic!("stumps") };
        let scores = trees.scores(&data.features);
        assert!(scores[1] > scores[0] && scores.iter().all(|score| score.abs() < 20.0), "{scores:?}");
    }

    #[test]
    fn parameters_out_of_range_are_named() {
        let message = |text: &str| {
            let config: RankBoostConfig = serde_json::from_str(text).unwrap();
            config.check().unwrap_err().to_string()
        };
        assert_eq!(message(r#"{"rounds": 0}"#), "learner.rounds = 0: expected at least 1");
        assert_eq!(message(r#"{"thresholds": 256}"#), "learner.thresholds = 256: expected 1 to 255");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]

        #[test]
        fn the_loss_never_grows_and_obeys_its_bound(
            documents in proptest::collection::vec((0u8..3, 0u8..4, 0u8..9), 4..24),
        ) {
            let rows: Vec<(f32, [f32; 2])> =
                documents.iter().map(|&(label, a, b)| (f32::from(label), [f32::from(a), f32::from(b)])).collect();
            let rows: Vec<(f32, &[f32])> = rows.iter().map(|(label, row)| (*label, &row[..])).collect();
            let data = dataset(2, &[&rows[..rows.len() / 2], &rows[rows.len() / 2..]]);
            let config = RankBoostConfig { rounds: 30, ..RankBoostConfig::default() };
            if let Ok(fitted) = config.check().unwrap().fit(&data, None, &testing::context(None)) {
                let mut before = 1.0;
                for round in &fitted.history {
                    let edge = round.figures[2].1.clamp(-LARGEST_EDGE, LARGEST_EDGE);
                    prop_assert!(round.objective <= before * (1.0 - edge * edge).sqrt() + 1e-12);
                    before = round.objective;
                }
            }
        }
    }
}
