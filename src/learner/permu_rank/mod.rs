//! PermuRank: a type two bound of one minus any measure, over growing working sets of permutations
//! (direct-optimization, section 5.2 and Figure 7).
//!
//! ```text
//! repeat    w = argmin  1/2 ||w||^2 + C / m sum_q 1 / |B_q| sum over p in B_q, r in R_q
//!                           (E(p) - E(r)) max(0, 1 - (F(p) - F(r)))
//!           B_q gains the perfect permutation with the lowest F, R_q the imperfect one with the highest F, at w
//! until     no set changes
//! F(p) = 1 / (n (n - 1)) sum_{k < l} z_kl (s_k - s_l),    z_kl = 1 if p has k ahead of l, else -1
//! ```
//!
//! over the `m` queries with an imperfect permutation. `E` is any measure in [0, 1] in any convention; a perfect
//! permutation is one that no other exceeds. The first sets are those of `w = 0`. For a linear scorer each round is a
//! convex problem, solved by cutting planes over a quadratic programme; any other scorer takes gradient steps on the
//! same bound.
//!
//! That is equation 7 as section 5.2 averages it, and the default. Where the labels cannot be separated it does not
//! settle: the order by score has at least the `F` of any perfect one, so that every term that joins a sum is a step
//! against the weights that it was found at. `aggregation = "max"` takes the largest term of a query instead of the
//! sum, as in equation 6 and in SVMmap; `bound` names another function of section 4.2; `pairs = "different"` restricts
//! `F` to pairs that the measure tells apart (the other definition of section 3), for otherwise a perfect order by
//! ascending score inside each label asks for equal scores there.
//!
//! A round costs O(n log n) a query for the searches, and O(|B| |R|) for each evaluation of the bound. `C` may be a
//! grid: each value starts again, and the selection measure chooses among all rounds.

mod linear;
mod network;
mod search;
mod working_sets;

use serde::{Deserialize, Serialize};

use crate::data::Dataset;
use crate::learner::entry::{self, Learner, LearnerEntry};
use crate::learner::error::LearnerError;
use crate::learner::shared::candidates::Grid;
use crate::learner::shared::checks;
use crate::learner::shared::context::{FitContext, Fitted, Round, Selection, StopReason};
use crate::learner::shared::cost_path::{Solved, broken_off};
use crate::learner::shared::judge::Judge;
use crate::learner::shared::rounds::Rounds;
use crate::loss::{PairAggregation, TypeTwoBound, TypeTwoLoss};
use crate::measure::{Convention, Measure};
use crate::ranker::Model;
use crate::scorer::ScorerConfig;
use crate::seed::seed_for;
use linear::LinearBound;
use network::NetworkBound;
use working_sets::WorkingSets;

const NAME: &str = "permu_rank";

pub(super) const ENTRY: LearnerEntry = LearnerEntry {
    name: NAME,
    summary: "support vectors over the most violated perfect and imperfect permutations, for any measure in [0, 1]",
    paper: "Xu, Li, Liu, Peng, Lu and Ma, Direct optimization of evaluation measures in learning to rank, Figure 7",
    takes_loss: false,
    takes_scorer: true,
    defaults: || entry::parameters(&PermuRankConfig::default()),
    build: |parts| {
        let scorer = parts.scorer.cloned().unwrap_or_default();
        Ok(Box::new(entry::decode::<PermuRankConfig>(parts)?.check(&scorer)?))
    },
};

/// The pairs of documents that `F` of a permutation sums over (section 3 of the paper gives both).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Pairs {
    /// Every pair.
    #[default]
    All,
    /// Those that the measure tells apart: for average precision, relevant and irrelevant, as in SVMmap.
    Different,
}

/// Configuration of [`PermuRank`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PermuRankConfig {
    /// Measure `E`, with values in `[0, 1]`; the selection measure when absent.
    pub measure: Option<Measure>,
    /// Convention of the measure; that of the selection when absent.
    pub convention: Option<Convention>,
    /// The pairs of documents that `F` of a permutation sums over.
    pub pairs: Pairs,
    /// The type two bound of a pair of permutations.
    pub bound: TypeTwoBound,
    /// From the pairs of permutations of a query to its loss.
    pub aggregation: PairAggregation,
    /// `C`, above 0: one value, or several to choose from on validation data.
    pub c: Grid,
    /// Most rounds for one `C`, at least 1.
    pub rounds: usize,
    /// Largest duality gap of a round, relative to its objective, above 0.
    pub tolerance: f64,
    /// Most rounds of cutting planes in one round of a linear scorer, at least 1.
    pub max_steps: usize,
    /// Adam steps in one round of any other scorer, at least 1.
    pub gradient_steps: usize,
    /// Length of these steps, above 0.
    pub learning_rate: f64,
}

impl Default for PermuRankConfig {
    fn default() -> Self {
        Self {
            measure: None,
            convention: None,
            pairs: Pairs::default(),
            bound: TypeTwoBound::default(),
            aggregation: PairAggregation::default(),
            c: Grid::powers_of_ten(1, 3),
            rounds: 50,
            tolerance: 1e-3,
            max_steps: 500,
            gradient_steps: 20,
            learning_rate: 0.01,
        }
    }
}

impl PermuRankConfig {
    fn loss(&self) -> TypeTwoLoss {
        TypeTwoLoss { bound: self.bound, aggregation: self.aggregation }
    }

    /// Checks every parameter, with the scorer to fit.
    ///
    /// # Errors
    /// [`LearnerError::Parameter`] names the first one out of its range.
    pub fn check(&self, scorer: &ScorerConfig) -> Result<PermuRank, LearnerError> {
        let costs = self.c.positive("c")?;
        checks::at_least("rounds", self.rounds, 1)?;
        checks::positive("tolerance", self.tolerance)?;
        checks::at_least("max_steps", self.max_steps, 1)?;
        checks::at_least("gradient_steps", self.gradient_steps, 1)?;
        checks::positive("learning_rate", self.learning_rate)?;
        scorer.check()?;
        Ok(PermuRank { costs, scorer: scorer.clone(), config: self.clone() })
    }
}

/// PermuRank, its parameters checked.
#[derive(Debug, Clone)]
pub struct PermuRank {
    costs: Vec<f64>,
    scorer: ScorerConfig,
    config: PermuRankConfig,
}

/// A scorer and how it minimises the bound over given working sets.
trait Bound {
    /// The parameters that every cost starts from.
    fn start(&self) -> Vec<f64>;

    /// Forgets the permutations of the cost before.
    fn begin(&mut self, sets: &WorkingSets);

    /// Minimises the bound from `start`.
    fn minimise(&mut self, sets: &WorkingSets, cost: f64, start: &[f64]) -> Result<Solved, String>;

    /// The score of every document.
    fn scores(&self, parameters: &[f64], data: &Dataset) -> Vec<f64>;

    /// The model with these parameters.
    fn model(&self, parameters: &[f64]) -> Model;
}

#[derive(Default, Serialize, Deserialize)]
struct State {
    /// Parameters after each round at the cost under way: from them the working sets are built again.
    path: Vec<Vec<f64>>,
    /// Position of that cost in the grid.
    cost: usize,
    best: Option<Vec<f64>>,
    best_converged: bool,
    /// Whether the sets became stable at every cost so far.
    all_stable: bool,
}

impl PermuRank {
    /// The measure `E` with its convention.
    fn selection(&self, context: &FitContext) -> Selection {
        Selection {
            measure: self.config.measure.unwrap_or(context.selection.measure),
            convention: self.config.convention.clone().unwrap_or_else(|| context.selection.convention.clone()),
        }
    }
}

impl Learner for PermuRank {
    fn name(&self) -> &'static str {
        NAME
    }

    fn fit(&self, train: &Dataset, validation: Option<&Dataset>, context: &FitContext) -> Result<Fitted, LearnerError> {
        checks::trainable(NAME, train, validation, context)?;
        if self.config.measure.is_none() {
            checks::bounded_selection(NAME, context.selection.measure)?;
        }
        match &self.scorer {
            ScorerConfig::Linear(_) => {
                self.alternate(&mut LinearBound::new(train, &self.config, context), train, validation, context)
            }
            scorer => {
                let seed = seed_for(context.seed, NAME, 0);
                let scorer = scorer.init(train.feature_count, seed, &context.device)?;
                self.alternate(&mut NetworkBound::new(scorer, train, &self.config, context), train, validation, context)
            }
        }
    }
}

impl PermuRank {
    /// Minimises the bound and enlarges the working sets by turns (Figure 7).
    fn alternate(
        &self,
        bound: &mut dyn Bound,
        train: &Dataset,
        validation: Option<&Dataset>,
        context: &FitContext,
    ) -> Result<Fitted, LearnerError> {
        let selection = self.selection(context);
        let judge = Judge::of_selection(context)?;
        let params = (&self.config, &self.scorer);
        let limit = Some(self.costs.len() * self.config.rounds);
        let initial = || State { all_stable: true, ..State::default() };
        let mut rounds = Rounds::start(NAME, &params, train, validation, limit, context, initial)?;
        let start = bound.start();
        let mut sets = WorkingSets::new(train, selection.measure, &selection.convention, self.config.pairs)?;
        sets.grow(&vec![0.0; train.documents()]);
        let first = sets.clone();
        bound.begin(&sets);
        // Nothing but the order of the rounds tells the sets apart, so that a resumed fit makes them again.
        let mut stable = false;
        for parameters in &rounds.state.path {
            stable = !sets.grow(&bound.scores(parameters, train));
        }
        let stop = loop {
            if stable || rounds.state.path.len() == self.config.rounds {
                if !stable {
                    context.progress.warn(&format!(
                        "{NAME}: c = {}: the working sets still grow after learner.rounds = {} rounds: raise it, or see \
                         learner.aggregation and learner.pairs",
                        self.costs[rounds.state.cost], self.config.rounds
                    ));
                }
                rounds.state.all_stable &= stable;
                rounds.state.cost += 1;
                rounds.state.path.clear();
                sets = first.clone();
                bound.begin(&sets);
            }
            if rounds.state.cost >= self.costs.len() {
                break if rounds.state.all_stable { StopReason::Converged } else { StopReason::NotConverged };
            }
            if let Some(stop) = rounds.stop() {
                break stop;
            }
            let cost = self.costs[rounds.state.cost];
            let from = rounds.state.path.last().unwrap_or(&start);
            let solved = match bound.minimise(&sets, cost, from) {
                Ok(solved) => solved,
                Err(reason) => break broken_off(NAME, cost, &reason, rounds.best_round(), context)?,
            };
            if !solved.converged && context.interrupt.requested() {
                // Half a solution is not a round: a resumed fit solves it again.
                rounds.state.best.get_or_insert(solved.weights);
                break StopReason::Interrupted;
            }
            let merit = |data: &Dataset| judge.mean(data, &bound.scores(&solved.weights, data));
            let [perfect, imperfect] = sets.mean_sizes();
            let mut figures = vec![
                ("c".to_owned(), cost),
                ("perfect_permutations".to_owned(), perfect),
                ("imperfect_permutations".to_owned(), imperfect),
            ];
            figures.extend(solved.gap_figure());
            let round = Round {
                round: rounds.next(),
                objective: solved.objective,
                train: merit(train)?,
                validation: validation.map(merit).transpose()?.flatten(),
                figures,
            };
            if !solved.converged {
                context.progress.warn(&solved.complaint(NAME, cost));
            }
            if rounds.record(round) {
                rounds.state.best = Some(solved.weights.clone());
                rounds.state.best_converged = solved.converged;
            }
            stable = !sets.grow(&bound.scores(&solved.weights, train));
            rounds.state.path.push(solved.weights);
            rounds.save_when_due()?;
        };
        let stop = match stop {
            StopReason::Converged if !rounds.state.best_converged => StopReason::NotConverged,
            other => other,
        };
        rounds.finish(stop, |state, _| Ok(bound.model(&state.best.unwrap_or(start))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::learner::shared::context::StopReason;
    use crate::learner::testing::{self, linear_weights};

    /// One pair of permutations, which differ by 1/2 in average precision and by `w . (-1, 1)` in `F`:
    /// `w = min(C, 1) / 2 (-1, 1)`.
    #[test]
    fn two_documents_have_the_analytic_solution() {
        for (c, expected) in [(0.5, 0.25), (7.0, 0.5)] {
            let config = PermuRankConfig { c: Grid::One(c), tolerance: 1e-10, ..PermuRankConfig::default() };
            let fitted = config
                .check(&ScorerConfig::default())
                .unwrap()
                .fit(&testing::two_documents(), None, &testing::context(None))
                .unwrap();
            assert_eq!((fitted.stop, fitted.history.len()), (StopReason::Converged, 1));
            let (weights, _) = linear_weights(&fitted.model);
            assert!((weights[0] + expected).abs() < 1e-6 && (weights[1] - expected).abs() < 1e-6, "{weights:?}");
        }
    }

    #[test]
    fn working_sets_grow_until_they_are_stable() {
        let config = PermuRankConfig { c: Grid::One(50.0), rounds: 200, ..PermuRankConfig::default() };
        let data = testing::random(3, 5, 2, 8);
        let fitted = config.check(&ScorerConfig::default()).unwrap().fit(&data, None, &testing::context(None)).unwrap();
        assert_eq!(fitted.stop, StopReason::Converged);
        let sizes = |name: &str| -> Vec<f64> {
            let figure = |round: &crate::learner::Round| round.figures.iter().find(|(n, _)| n == name).unwrap().1;
            fitted.history.iter().map(figure).collect()
        };
        let (perfect, imperfect) = (sizes("perfect_permutations"), sizes("imperfect_permutations"));
        assert!(perfect.is_sorted() && imperfect.is_sorted() && perfect.len() > 1);
    }

    /// Sets only grow, and with them a largest term, so that the minimum rises until they are stable.
    #[test]
    fn the_minimum_over_largest_terms_rises_until_the_sets_are_stable() {
        let data = testing::random(12, 12, 3, 8);
        for bound in [TypeTwoBound::Hinge, TypeTwoBound::MarginHinge] {
            let (aggregation, pairs) = (PairAggregation::Max, Pairs::Different);
            let config =
                PermuRankConfig { aggregation, bound, pairs, c: Grid::One(10.0), rounds: 60, ..Default::default() };
            let learner = config.check(&ScorerConfig::default()).unwrap();
            let fitted = learner.fit(&data, None, &testing::context(None)).unwrap();
            assert_eq!(fitted.stop, StopReason::Converged, "{bound:?}");
            let objectives: Vec<f64> = fitted.history.iter().map(|round| round.objective).collect();
            // Each minimum is known to the tolerance.
            assert!(objectives.windows(2).all(|two| two[1] >= two[0] * (1.0 - 2e-3)), "{bound:?} {objectives:?}");
        }
    }

    #[test]
    fn any_measure_in_the_unit_interval_will_do() {
        let data = testing::random(3, 8, 2, 8);
        for name in ["ndcg@3", "ndcg", "map", "mrr", "err", "precision@2", "recall@4"] {
            let measure = Some(name.parse().unwrap());
            let config = PermuRankConfig { measure, rounds: 5, c: Grid::One(50.0), ..PermuRankConfig::default() };
            let fitted =
                config.check(&ScorerConfig::default()).unwrap().fit(&data, None, &testing::context(None)).unwrap();
            assert!(fitted.history[fitted.best_round - 1].train.unwrap() > 0.6, "{name}");
        }
        let config = PermuRankConfig { measure: Some("dcg".parse().unwrap()), ..PermuRankConfig::default() };
        let message = config
            .check(&ScorerConfig::default())
            .unwrap()
            .fit(&data, None, &testing::context(None))
            .unwrap_err()
            .to_string();
        assert!(message.starts_with("learner.measure = dcg (from"), "{message}");
        assert!(message.ends_with("expected a measure with values in [0, 1]"), "{message}");
    }

    #[test]
    fn a_network_takes_gradient_steps_on_the_same_bound() {
        let scorer = ScorerConfig::Mlp(crate::scorer::MlpScorerConfig::default());
        let config =
            PermuRankConfig { c: Grid::One(100.0), rounds: 4, gradient_steps: 10, ..PermuRankConfig::default() };
        let learner = config.check(&scorer).unwrap();
        let (train, validation) = (testing::random(3, 8, 3, 2), testing::random(2, 8, 3, 3));
        testing::assert_reproducible(&learner, &train, &validation, 2);
        let fitted = learner.fit(&train, None, &testing::context(None)).unwrap();
        let rounds = &fitted.history;
        assert!(rounds[rounds.len() - 1].train > rounds[0].train || rounds[0].train == Some(1.0), "{rounds:?}");
    }

    #[test]
    fn fits_are_reproducible() {
        let (train, validation) = (testing::random(4, 8, 3, 2), testing::random(2, 15, 3, 3));
        let config = PermuRankConfig { c: Grid::Many(vec![1.0, 20.0]), rounds: 4, ..PermuRankConfig::default() };
        let learner = config.check(&ScorerConfig::default()).unwrap();
        // Once within a cost, once at the border of two.
        testing::assert_reproducible(&learner, &train, &validation, 2);
        testing::assert_reproducible(&learner, &train, &validation, 4);
    }

    #[test]
    fn parameters_out_of_range_are_named() {
        let refused = |text: &str| {
            serde_json::from_str::<PermuRankConfig>(text)
                .unwrap()
                .check(&ScorerConfig::default())
                .unwrap_err()
                .to_string()
        };
        assert_eq!(refused(r#"{"c": 0.0}"#), "learner.c = 0: expected a finite number above 0");
        assert_eq!(refused(r#"{"rounds": 0}"#), "learner.rounds = 0: expected at least 1");
    }
}
