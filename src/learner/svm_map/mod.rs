//! SVMmap: the support vector machine whose risk bounds one minus average precision (Yue et al., 2007;
//! direct-optimization, section 5.3).
//!
//! ```text
//! min over w    1/2 ||w||^2 + C / m sum_q max over rankings pi of q  [ (1 - AP(pi)) - w . (Psi*_q - Psi_q(pi)) ]
//! Psi_q(pi) = 1 / (|R_q| |I_q|)  sum over relevant k, irrelevant l    (+1 if pi has k ahead of l, else -1) (x_k - x_l)
//! ```
//!
//! over the `m` queries with relevant (label of at least 1) and irrelevant documents; the others take no part. Solved
//! by one-slack cutting planes: each adds, over all queries at once, the most violated ranking, found exactly in O(n
//! log n) a query (see `most_violated`). It ends at a duality gap of `tolerance` times the objective.
//!
//! Every `C` of the grid is one round, solved from the solution of the one before; the selection measure chooses.

mod most_violated;

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::data::Dataset;
use crate::learner::entry::{self, Learner, LearnerEntry};
use crate::learner::error::LearnerError;
use crate::learner::shared::candidates::Grid;
use crate::learner::shared::context::{FitContext, Fitted};
use crate::learner::shared::linear::scores;
use crate::learner::shared::{checks, cost_path};
use crate::learner::solver::cutting_plane::{CuttingPlanes, Risk};
use crate::learner::solver::vectors::{descending, weighted_features};

const NAME: &str = "svm_map";

pub(super) const ENTRY: LearnerEntry = LearnerEntry {
    name: NAME,
    summary: "support vector machine whose risk bounds one minus average precision, to a duality gap",
    paper: "Yue, Finley, Radlinski and Joachims, A support vector method for optimizing average precision",
    takes_loss: false,
    takes_scorer: false,
    defaults: || entry::parameters(&SvmMapConfig::default()),
    build: |parts| Ok(Box::new(entry::decode::<SvmMapConfig>(parts)?.check()?)),
};

/// Configuration of [`SvmMap`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SvmMapConfig {
    /// `C`, above 0: one value, or several to choose from on validation data.
    pub c: Grid,
    /// Largest duality gap, relative to the objective, above 0.
    pub tolerance: f64,
    /// Most rounds of cutting planes for one `C`, at least 1.
    pub max_steps: usize,
}

impl Default for SvmMapConfig {
    fn default() -> Self {
        Self { c: Grid::powers_of_ten(0, 4), tolerance: 1e-4, max_steps: 1000 }
    }
}

impl SvmMapConfig {
    /// Checks every parameter.
    ///
    /// # Errors
    /// [`LearnerError::Parameter`] names the first one out of its range.
    pub fn check(&self) -> Result<SvmMap, LearnerError> {
        let costs = self.c.positive("c")?;
        checks::positive("tolerance", self.tolerance)?;
        checks::at_least("max_steps", self.max_steps, 1)?;
        Ok(SvmMap { costs, config: self.clone() })
    }
}

/// SVMmap, its parameters checked.
#[derive(Debug, Clone)]
pub struct SvmMap {
    costs: Vec<f64>,
    config: SvmMapConfig,
}

impl Learner for SvmMap {
    fn name(&self) -> &'static str {
        NAME
    }

    fn fit(&self, train: &Dataset, validation: Option<&Dataset>, context: &FitContext) -> Result<Fitted, LearnerError> {
        checks::trainable(NAME, train, validation, context)?;
        let risk = ApRisk::new(train)?;
        let SvmMapConfig { tolerance, max_steps, .. } = &self.config;
        cost_path::fit(NAME, &self.config, &self.costs, train, validation, context, |cost, start| {
            CuttingPlanes::new(cost).minimise(
                start,
                &|weights| risk.at(weights),
                *tolerance,
                *max_steps,
                &context.interrupt,
            )
        })
    }
}

struct Query {
    relevant: Vec<usize>,
    irrelevant: Vec<usize>,
}

/// The risk of the module's formula.
struct ApRisk<'a> {
    data: &'a Dataset,
    queries: Vec<Query>,
}

impl<'a> ApRisk<'a> {
    fn new(data: &'a Dataset) -> Result<Self, LearnerError> {
        let queries: Vec<Query> = (0..data.queries())
            .map(|query| {
                let (relevant, irrelevant) = data.range(query).partition(|&document| data.labels[document] >= 1.0);
                Query { relevant, irrelevant }
            })
            .filter(|query| !query.relevant.is_empty() && !query.irrelevant.is_empty())
            .collect();
        if queries.is_empty() {
            return Err(LearnerError::Data {
                learner: NAME,
                reason: "no training query has both relevant (label 1 or more) and irrelevant (label 0) documents, so \
                         average precision cannot be learned: check the labels, or take another learner"
                    .into(),
            });
        }
        Ok(Self { data, queries })
    }

    fn at(&self, weights: &[f64]) -> Risk {
        let scores = scores(self.data, weights);
        let parts: Vec<(f64, Vec<(usize, f64)>)> =
            self.queries.par_iter().map(|query| query.most_violated(&scores)).collect();
        let share = 1.0 / self.queries.len() as f64;
        let mut value = 0.0;
        let mut coefficients = vec![0.0; scores.len()];
        for (violation, slopes) in parts {
            value += share * violation;
            slopes.into_iter().for_each(|(document, slope)| coefficients[document] = share * slope);
        }
        Risk { value, slope: weighted_features(self.data, &coefficients) }
    }
}

impl Query {
    /// The largest violation, and its slope by the score of each document.
    fn most_violated(&self, scores: &[f64]) -> (f64, Vec<(usize, f64)>) {
        let sorted = |documents: &[usize]| -> Vec<usize> {
            let own: Vec<f64> = documents.iter().map(|&document| scores[document]).collect();
            descending(&own).into_iter().map(|place| documents[place]).collect()
        };
        let (relevant, irrelevant) = (sorted(&self.relevant), sorted(&self.irrelevant));
        let scores_of = |documents: &[usize]| -> Vec<f64> { documents.iter().map(|&d| scores[d]).collect() };
        let ahead = most_violated::most_violated(&scores_of(&relevant), &scores_of(&irrelevant));
        // Inverted pairs of each document: a_k for a relevant one, the k with a_k >= j for the j-th irrelevant one.
        let unit = 2.0 / (relevant.len() * irrelevant.len()) as f64;
        let behind = (1..=irrelevant.len()).map(|j| ahead.len() - ahead.partition_point(|&a| a < j));
        let lower = relevant.iter().zip(&ahead).map(|(&document, &a)| (document, -unit * a as f64));
        let raise = irrelevant.iter().zip(behind).map(|(&document, count)| (document, unit * count as f64));
        let slopes: Vec<(usize, f64)> = lower.chain(raise).collect();
        let margin: f64 = slopes.iter().map(|&(document, slope)| slope * scores[document]).sum();
        (most_violated::loss(&ahead) + margin, slopes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::learner::shared::context::{Interrupt, StopReason};
    use crate::learner::testing::{self, linear_weights};

    /// One inverted pair loses 1/2 and has the margin `2 w . d`, `d = (-1, 1)`: `w = 2 min(C, 1/16) d`.
    #[test]
    fn two_documents_have_the_analytic_solution() {
        for (c, expected) in [(0.03, 0.06), (5.0, 0.125)] {
            let config = SvmMapConfig { c: Grid::One(c), tolerance: 1e-10, ..SvmMapConfig::default() };
            let fitted = config.check().unwrap().fit(&testing::two_documents(), None, &testing::context(None)).unwrap();
            assert_eq!(fitted.stop, StopReason::Converged);
            let (weights, _) = linear_weights(&fitted.model);
            assert!((weights[0] + expected).abs() < 1e-6 && (weights[1] - expected).abs() < 1e-6, "{weights:?}");
        }
    }

    #[test]
    fn the_risk_bounds_the_loss_and_its_planes_lie_below_it() {
        let data = testing::random(3, 12, 3, 4);
        let risk = ApRisk::new(&data).unwrap();
        let judge = crate::learner::shared::judge::Judge::of_selection(&testing::context(None)).unwrap();
        let points = [[0.0, 0.0, 0.0], [0.5, -0.2, 0.1], [-1.0, 2.0, 0.3], [4.0, 0.1, -3.0]];
        for at in points {
            let here = risk.at(&at);
            let loss = 1.0 - judge.mean(&data, &scores(&data, &at)).unwrap().unwrap();
            // At w = 0 the scores tie, and the worst order counts.
            assert!(here.value >= loss - 1e-12, "{at:?}: {} {loss}", here.value);
            for other in points {
                let step: f64 = (0..3).map(|feature| here.slope[feature] * (other[feature] - at[feature])).sum();
                assert!(risk.at(&other).value >= here.value + step - 1e-12, "{at:?} {other:?}");
            }
        }
    }

    #[test]
    fn the_duality_gap_is_reached() {
        let data = testing::random(5, 20, 4, 9);
        let risk = ApRisk::new(&data).unwrap();
        let minimise = |most| {
            let planes = CuttingPlanes::new(50.0);
            planes.minimise(&[0.0; 4], &|weights| risk.at(weights), 1e-8, most, &Interrupt::default()).unwrap()
        };
        let (exact, rough) = (minimise(500), minimise(2));
        assert!(exact.converged && exact.gap.unwrap() <= 1e-8 * exact.objective);
        assert!(rough.objective - exact.objective <= rough.gap.unwrap());
    }

    #[test]
    fn fits_are_reproducible() {
        let (train, validation) = (testing::random(4, 15, 3, 2), testing::random(2, 15, 3, 3));
        testing::assert_reproducible(&SvmMapConfig::default().check().unwrap(), &train, &validation, 3);
    }

    #[test]
    fn labels_without_relevance_are_refused() {
        let data = testing::dataset(1, &[&[(2.0, &[0.5]), (1.0, &[0.1])]]);
        let fitted = SvmMapConfig::default().check().unwrap().fit(&data, None, &testing::context(None));
        assert!(fitted.unwrap_err().to_string().starts_with("svm_map: no training query has both relevant"));
    }

    #[test]
    fn parameters_out_of_range_are_named() {
        let refused = |text: &str| serde_json::from_str::<SvmMapConfig>(text).unwrap().check().unwrap_err().to_string();
        assert_eq!(refused(r#"{"c": -1.0}"#), "learner.c = -1: expected a finite number above 0");
        assert_eq!(refused(r#"{"tolerance": 0.0}"#), "learner.tolerance = 0: expected a finite number above 0");
    }
}
