//! RankSVM: the support vector machine over all ordered pairs of documents (Herbrich et al., 2000; Joachims, 2002),
//! solved to a stated duality gap.
//!
//! ```text
//! min over w    1/2 ||w||^2 + C sum_q omega_q sum over pairs (i, j) of q, y_i > y_j    l(w . x_i - w . x_j)
//! ```
//!
//! with `l(t) = max(0, 1 - t)` (`hinge`) or its square (`squared_hinge`), and `omega_q = 1` (`weighting = "pair"`:
//! every pair counts the same, so long queries dominate) or `omega_q = 1 / (m |P_q|)` for `m` queries with pairs and
//! `|P_q|` pairs in query q (`weighting = "query"`: `C` multiplies the mean over queries of the mean over pairs).
//!
//! Pairs are never formed: value and gradient take O(n log n) a query (see `pairs`). The hinge is minimised by cutting
//! planes, whose quadratic programmes bound the minimum from below; the squared hinge by truncated Newton steps
//! (Chapelle and Keerthi, 2010), where the dual point `alpha = 2 C omega max(0, 1 - t)` leaves a gap of exactly
//! `||gradient||^2 / 2`.
//!
//! Every `C` of the grid is one round, solved from the solution of the one before; the selection measure chooses. A
//! query without two labels has no pairs and takes no part.

mod newton;
mod pairs;
mod risk;

use serde::{Deserialize, Serialize};

use crate::data::Dataset;
use crate::learner::entry::{self, Learner, LearnerEntry};
use crate::learner::error::LearnerError;
use crate::learner::shared::candidates::Grid;
use crate::learner::shared::context::{FitContext, Fitted};
use crate::learner::shared::{checks, cost_path};
use crate::learner::solver::cutting_plane::CuttingPlanes;
use risk::PairRisk;

const NAME: &str = "rank_svm";

pub(super) const ENTRY: LearnerEntry = LearnerEntry {
    name: NAME,
    summary: "support vector machine over all pairs of documents, to a duality gap",
    paper: "Joachims, Optimizing search engines using clickthrough data",
    takes_loss: false,
    takes_scorer: false,
    defaults: || entry::parameters(&RankSvmConfig::default()),
    build: |parts| Ok(Box::new(entry::decode::<RankSvmConfig>(parts)?.check()?)),
};

/// The loss of a pair with score difference `t`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RankSvmLoss {
    /// `max(0, 1 - t)`, solved by cutting planes.
    #[default]
    Hinge,
    /// `max(0, 1 - t)^2`, solved by truncated Newton steps: the faster of the two.
    SquaredHinge,
}

/// What the pairs of a query weigh together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PairWeighting {
    /// Every pair weighs 1.
    #[default]
    Pair,
    /// Every query weighs `1 / m`, shared by its pairs.
    Query,
}

/// Configuration of [`RankSvm`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RankSvmConfig {
    /// `C`, above 0: one value, or several to choose from on validation data.
    pub c: Grid,
    /// Loss of a pair.
    pub loss: RankSvmLoss,
    /// Weight of a pair.
    pub weighting: PairWeighting,
    /// Largest duality gap, relative to the objective, above 0.
    pub tolerance: f64,
    /// Most cutting planes or Newton steps for one `C`, at least 1.
    pub max_steps: usize,
}

impl Default for RankSvmConfig {
    fn default() -> Self {
        Self {
            c: Grid::powers_of_ten(-5, 0),
            loss: RankSvmLoss::default(),
            weighting: PairWeighting::default(),
            tolerance: 1e-5,
            max_steps: 1000,
        }
    }
}

impl RankSvmConfig {
    /// Checks every parameter.
    ///
    /// # Errors
    /// [`LearnerError::Parameter`] names the first one out of its range.
    pub fn check(&self) -> Result<RankSvm, LearnerError> {
        let costs = self.c.positive("c")?;
        checks::positive("tolerance", self.tolerance)?;
        checks::at_least("max_steps", self.max_steps, 1)?;
        Ok(RankSvm { costs, config: self.clone() })
    }
}

/// RankSVM, its parameters checked.
#[derive(Debug, Clone)]
pub struct RankSvm {
    costs: Vec<f64>,
    config: RankSvmConfig,
}

impl Learner for RankSvm {
    fn name(&self) -> &'static str {
        NAME
    }

    fn fit(&self, train: &Dataset, validation: Option<&Dataset>, context: &FitContext) -> Result<Fitted, LearnerError> {
        checks::trainable(NAME, train, validation, context)?;
        let risk = PairRisk::new(train, self.config.weighting);
        cost_path::fit(NAME, &self.config, &self.costs, train, validation, context, |cost, start| {
            match self.config.loss {
                RankSvmLoss::Hinge => CuttingPlanes::new(cost).minimise(
                    start,
                    &|weights| risk.hinge(weights),
                    self.config.tolerance,
                    self.config.max_steps,
                    &context.interrupt,
                ),
                RankSvmLoss::SquaredHinge => {
                    let limits = (self.config.tolerance, self.config.max_steps);
                    Ok(newton::minimise(&risk, cost, start, limits, &context.interrupt))
                }
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::learner::shared::context::{Interrupt, StopReason};
    use crate::learner::testing::{self, linear_weights};

    const LOSSES: [RankSvmLoss; 2] = [RankSvmLoss::Hinge, RankSvmLoss::SquaredHinge];

    fn config(loss: RankSvmLoss, c: f64) -> RankSvmConfig {
        RankSvmConfig { c: Grid::One(c), loss, tolerance: 1e-10, ..RankSvmConfig::default() }
    }

    /// One pair with difference (-1, 1): `w = a (-1, 1)` with `a = min(C, 1/2)` for the hinge and `2 C / (1 + 4 C)`
    /// for its square.
    #[test]
    fn two_documents_have_the_analytic_solution() {
        for c in [0.2, 3.0] {
            for (loss, expected) in LOSSES.into_iter().zip([f64::min(c, 0.5), 2.0 * c / (1.0 + 4.0 * c)]) {
                let learner = config(loss, c).check().unwrap();
                let fitted = learner.fit(&testing::two_documents(), None, &testing::context(None)).unwrap();
                assert_eq!(fitted.stop, StopReason::Converged);
                let (weights, _) = linear_weights(&fitted.model);
                assert!((f64::from(weights[0]) + expected).abs() < 1e-6, "{loss:?} {c}: {weights:?}");
                assert!((f64::from(weights[1]) - expected).abs() < 1e-6, "{loss:?} {c}: {weights:?}");
            }
        }
    }

    #[test]
    fn the_duality_gap_bounds_the_distance_to_the_optimum() {
        let data = testing::random(4, 20, 3, 1);
        let risk = PairRisk::new(&data, PairWeighting::Query);
        let (zeros, forever) = ([0.0; 3], Interrupt::default());
        let hinge = |tolerance, most| {
            CuttingPlanes::new(20.0)
                .minimise(&zeros, &|weights| risk.hinge(weights), tolerance, most, &forever)
                .unwrap()
        };
        let squared = |tolerance, most| newton::minimise(&risk, 20.0, &zeros, (tolerance, most), &forever);
        for (exact, rough) in [(hinge(1e-9, 500), hinge(1e-9, 3)), (squared(1e-9, 100), squared(1e-9, 1))] {
            assert!(exact.converged && exact.gap.unwrap() <= 1e-9 * exact.objective);
            assert!(!rough.converged && rough.objective > exact.objective);
            assert!(rough.objective - exact.objective <= rough.gap.unwrap());
        }
    }

    #[test]
    fn separable_data_are_separated() {
        let data = testing::dataset(
            2,
            &[&[(2.0, &[0.9, 0.1]), (1.0, &[0.5, 0.3]), (0.0, &[0.1, 0.2])], &[(0.0, &[0.2, 0.9]), (1.0, &[0.6, 0.8])]],
        );
        for loss in LOSSES {
            let fitted = config(loss, 1e3).check().unwrap().fit(&data, None, &testing::context(None)).unwrap();
            assert_eq!(fitted.history[0].train, Some(1.0));
        }
    }

    #[test]
    fn fits_are_reproducible() {
        let (train, validation) = (testing::random(4, 15, 3, 2), testing::random(2, 15, 3, 3));
        for loss in LOSSES {
            let learner = RankSvmConfig { loss, ..RankSvmConfig::default() }.check().unwrap();
            testing::assert_reproducible(&learner, &train, &validation, 2);
        }
    }

    #[test]
    fn a_solver_that_is_cut_short_is_marked() {
        let warnings = testing::Warnings::default();
        let mut context = testing::context(None);
        context.progress = &warnings;
        let short = RankSvmConfig { max_steps: 1, ..config(RankSvmLoss::Hinge, 100.0) }.check().unwrap();
        let fitted = short.fit(&testing::random(4, 15, 3, 2), None, &context).unwrap();
        assert_eq!(fitted.stop, StopReason::NotConverged);
        assert!(warnings.text().contains("raise learner.max_steps"), "{}", warnings.text());
    }

    #[test]
    fn parameters_out_of_range_are_named() {
        let refused =
            |text: &str| serde_json::from_str::<RankSvmConfig>(text).unwrap().check().unwrap_err().to_string();
        assert_eq!(refused(r#"{"c": [1.0, 0.0]}"#), "learner.c = 0: expected a finite number above 0");
        assert_eq!(refused(r#"{"max_steps": 0}"#), "learner.max_steps = 0: expected at least 1");
        assert!(serde_json::from_str::<RankSvmConfig>(r#"{"lambda": 1.0}"#).is_err());
    }
}
