//! Ridge regression on gains, in closed form.
//!
//! ```text
//! minimise  sum_d c_d (w . x_d + b - G(y_d))^2 + lambda ||w||^2,   sum_d c_d = 1
//! ```
//!
//! Balanced weights `c` give the relevant documents (label 1 or more) and the others the same total weight (smoothrank,
//! section 7); otherwise every document weighs the same. The intercept `b` is not penalised; it never changes an
//! order, but it changes what is fitted. The solution is also the starting point of SmoothRank (section 4.4.1).
//!
//! Cost: O(documents x features^2) once, O(features^3) for each lambda (Cholesky). With an intercept a constant feature
//! has weight 0; without one it stands in for the intercept, penalised. Each lambda is a round; validation data choose
//! among them, the earliest of equals.

use nalgebra::{Cholesky, DMatrix, DVector};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::data::Dataset;
use crate::learner::entry::{self, Learner, LearnerEntry};
use crate::learner::error::LearnerError;
use crate::learner::shared::candidates::Grid;
use crate::learner::shared::context::{FitContext, Fitted, Round};
use crate::learner::shared::judge::Judge;
use crate::learner::shared::rounds::Rounds;
use crate::learner::shared::{checks, linear};
use crate::loss::RankingLoss;
use crate::measure::Gain;

const NAME: &str = "regression";

pub(super) const ENTRY: LearnerEntry = LearnerEntry {
    name: NAME,
    summary: "ridge regression on gains, in closed form, lambda chosen on validation data",
    paper: "Chapelle and Wu, Gradient descent optimization of smoothed information retrieval metrics, sections 4.4.1 \
            and 7",
    takes_loss: false,
    takes_scorer: false,
    defaults: || entry::parameters(&RegressionConfig::default()),
    build: |parts| Ok(Box::new(entry::decode::<RegressionConfig>(parts)?.check()?)),
};

/// Configuration of [`Regression`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RegressionConfig {
    /// Strength of the penalty, above 0: one value, or several to choose from on validation data.
    pub lambda: Grid,
    /// Give relevant and other documents the same total weight.
    pub balanced: bool,
    /// Fit a constant beside the weights.
    pub intercept: bool,
    /// Gain of a label: the target of its documents.
    pub gain: Gain,
}

impl Default for RegressionConfig {
    fn default() -> Self {
        Self { lambda: Grid::powers_of_ten(-6, 1), balanced: true, intercept: true, gain: Gain::Exp2 }
    }
}

impl RegressionConfig {
    /// Checks every parameter.
    ///
    /// # Errors
    /// A lambda that is not above 0; a gain table that is empty or has a negative entry.
    pub fn check(&self) -> Result<Regression, LearnerError> {
        self.gain.check()?;
        Ok(Regression { lambdas: self.lambda.positive("lambda")?, config: self.clone() })
    }
}

/// Ridge regression on gains, its parameters checked.
#[derive(Debug, Clone)]
pub struct Regression {
    lambdas: Vec<f64>,
    config: RegressionConfig,
}

/// A solution of ridge regression.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LinearSolution {
    /// One weight a feature.
    pub weights: Vec<f64>,
    /// The intercept.
    pub bias: f64,
}

/// The normal equations of a weighted least-squares problem, solved for any lambda.
#[derive(Debug, Clone)]
pub struct NormalEquations {
    /// `sum_d c_d (x_d - mean) (x_d - mean)^T`
    products: DMatrix<f64>,
    /// `sum_d c_d (x_d - mean) (t_d - target_mean)`
    moments: DVector<f64>,
    means: DVector<f64>,
    target_mean: f64,
    /// `sum_d c_d (t_d - target_mean)^2`
    target_variance: f64,
}

/// Documents of one block of the sums: fixed, so that threads do not change a result.
const BLOCK: usize = 1024;

/// Blocks summed in parallel before they are added up.
const BLOCKS_AT_ONCE: usize = 32;

impl NormalEquations {
    /// Sums up documents with targets `t` and weights `c`, one a document, in parallel over blocks of documents.
    ///
    /// Without an intercept the means are taken as 0.
    pub fn new(data: &Dataset, targets: &[f64], weights: &[f64], intercept: bool) -> Self {
        let features = data.feature_count;
        let total: f64 = weights.iter().sum();
        let mut means = DVector::zeros(features);
        let mut target_mean = 0.0;
        if intercept {
            for (d, &c) in weights.iter().enumerate() {
                target_mean += c / total * targets[d];
                means.iter_mut().zip(data.row(d)).for_each(|(mean, &x)| *mean += c / total * f64::from(x));
            }
        }
        let block_sums = |documents: &[usize]| {
            // One more column holds the targets.
            let rows = DMatrix::from_fn(documents.len(), features + 1, |row, feature| {
                let d = documents[row];
                let centred = match data.row(d).get(feature) {
                    Some(&x) => f64::from(x) - means[feature],
                    None => targets[d] - target_mean,
                };
                (weights[d] / total).sqrt() * centred
            });
            rows.tr_mul(&rows)
        };
        let mut sums = DMatrix::zeros(features + 1, features + 1);
        let documents: Vec<usize> = (0..data.documents()).collect();
        for group in documents.chunks(BLOCK * BLOCKS_AT_ONCE) {
            let blocks: Vec<DMatrix<f64>> = group.par_chunks(BLOCK).map(block_sums).collect();
            blocks.iter().for_each(|block| sums += block);
        }
        Self {
            products: sums.view((0, 0), (features, features)).into_owned(),
            moments: sums.view((0, features), (features, 1)).column(0).into_owned(),
            means,
            target_mean,
            target_variance: sums[(features, features)],
        }
    }

    /// The minimiser; `None` when rounding leaves the matrix without a Cholesky factor (lambda too small).
    pub fn solve(&self, lambda: f64) -> Option<LinearSolution> {
        let size = self.products.nrows();
        let factor = Cholesky::new(&self.products + DMatrix::identity(size, size) * lambda)?;
        let weights = factor.solve(&self.moments);
        let bias = self.target_mean - self.means.dot(&weights);
        Some(LinearSolution { weights: weights.as_slice().to_vec(), bias })
    }

    /// The objective at the weights `w`, the intercept at its optimum.
    pub fn objective(&self, weights: &[f64], lambda: f64) -> f64 {
        let w = DVector::from_column_slice(weights);
        w.dot(&(&self.products * &w)) - 2.0 * w.dot(&self.moments) + self.target_variance + lambda * w.norm_squared()
    }
}

/// Gains of all documents.
///
/// # Errors
/// [`LearnerError::Data`] when a label has no finite gain; the message ends in `advice`.
pub fn gains(learner: &'static str, data: &Dataset, gain: &Gain, advice: &str) -> Result<Vec<f64>, LearnerError> {
    let of = |(d, &label): (usize, &f32)| {
        let value = gain.of(f64::from(label));
        if value.is_finite() {
            return Ok(value);
        }
        let query = data.offsets.partition_point(|&offset| offset <= d) - 1;
        let reason = format!("label {label} of query {} has no finite gain{advice}", data.query_ids[query]);
        Err(LearnerError::Data { learner, reason })
    };
    data.labels.iter().enumerate().map(of).collect()
}

/// The gain whose regression a learner starts from that minimises `loss`: the loss's own, `2^y - 1` where it has none.
pub(crate) fn start_gain(loss: &dyn RankingLoss) -> Gain {
    loss.gain().cloned().unwrap_or(Gain::Exp2)
}

/// Gains of all documents in the [`start_gain`] of `loss`.
pub(crate) fn start_gains(
    learner: &'static str,
    data: &Dataset,
    loss: &dyn RankingLoss,
) -> Result<Vec<f64>, LearnerError> {
    gains(learner, data, &start_gain(loss), ", from which the fit starts: lower the labels")
}

/// Weights that give relevant and other documents the same total, 1/2 each.
pub fn balanced_weights(data: &Dataset) -> Vec<f64> {
    let relevant = data.labels.iter().filter(|&&label| label >= 1.0).count();
    let others = data.documents() - relevant;
    let weight = |&label: &f32| 0.5 / if label >= 1.0 { relevant as f64 } else { others as f64 };
    data.labels.iter().map(weight).collect()
}

impl Learner for Regression {
    fn name(&self) -> &'static str {
        NAME
    }

    fn fit(&self, train: &Dataset, validation: Option<&Dataset>, context: &FitContext) -> Result<Fitted, LearnerError> {
        checks::trainable(NAME, train, validation, context)?;
        let targets = gains(NAME, train, &self.config.gain, ": change learner.gain")?;
        let weights = if self.config.balanced {
            balanced_weights(train)
        } else {
            vec![1.0 / train.documents() as f64; train.documents()]
        };
        let equations = NormalEquations::new(train, &targets, &weights, self.config.intercept);
        let judge = Judge::of_selection(context)?;
        let limit = Some(self.lambdas.len());
        let mut rounds = Rounds::start(NAME, &self.config, train, validation, limit, context, || None)?;
        let stop = loop {
            if let Some(stop) = rounds.stop() {
                break stop;
            }
            let lambda = self.lambdas[rounds.next() - 1];
            let solution = equations.solve(lambda).ok_or_else(|| LearnerError::Solver {
                learner: NAME,
                reason: format!("the normal equations are singular at learner.lambda = {lambda}: raise it"),
            })?;
            let merit = |data: &Dataset| judge.mean(data, &linear::scores(data, &solution.weights));
            let round = Round {
                round: rounds.next(),
                objective: equations.objective(&solution.weights, lambda),
                train: merit(train)?,
                validation: validation.map(merit).transpose()?.flatten(),
                figures: vec![("lambda".into(), lambda)],
            };
            if rounds.record(round) {
                rounds.state = Some(solution);
            }
            rounds.save_when_due()?;
        };
        rounds.finish(stop, |solution: Option<LinearSolution>, _| {
            let zero = LinearSolution { weights: vec![0.0; train.feature_count], bias: 0.0 };
            let LinearSolution { weights, bias } = solution.unwrap_or(zero);
            Ok(linear::model(&weights, bias, &context.device))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::learner::testing::{self, dataset};
    use crate::loss::LossSpec;

    #[test]
    fn the_normal_equations_of_three_points_by_hand() {
        // x = 0, 1, 2 with targets 1, 2, 4 and equal weights: variance of x 2/3, covariance 1, mean target 7/3.
        let data = dataset(1, &[&[(0.0, &[0.0]), (0.0, &[1.0]), (0.0, &[2.0])]]);
        let equations = NormalEquations::new(&data, &[1.0, 2.0, 4.0], &[1.0; 3], true);
        let solution = equations.solve(1.0 / 3.0).unwrap();
        assert!((solution.weights[0] - 1.0).abs() < 1e-12, "1 / (2/3 + 1/3)");
        assert!((solution.bias - (7.0 / 3.0 - 1.0)).abs() < 1e-12);
        // Residuals of s = 4/3 + x: 1/3, 1/3, -2/3; their mean square is 2/9.
        assert!((equations.objective(&[1.0], 1.0 / 3.0) - (2.0 / 9.0 + 1.0 / 3.0)).abs() < 1e-12);
        // Without intercept: sum x t / (sum x^2 + 3 lambda) = 10 / (5 + 5).
        let through_zero = NormalEquations::new(&data, &[1.0, 2.0, 4.0], &[1.0; 3], false).solve(5.0 / 3.0).unwrap();
        assert!((through_zero.weights[0] - 1.0).abs() < 1e-12);
        assert_eq!(through_zero.bias, 0.0);
    }

    #[test]
    fn blocks_add_up_to_the_whole() {
        let rows: Vec<[f32; 2]> = (0..3000).map(|i| [(i % 7) as f32, (i % 11) as f32 * 0.25]).collect();
        let documents: Vec<(f32, &[f32])> = rows.iter().map(|row| (0.0, &row[..])).collect();
        let data = dataset(2, &[&documents]);
        // An exact linear target is recovered up to the penalty.
        let targets: Vec<f64> = rows.iter().map(|row| 3.0 * f64::from(row[0]) - f64::from(row[1]) + 5.0).collect();
        let solution = NormalEquations::new(&data, &targets, &vec![1.0; 3000], true).solve(1e-12).unwrap();
        assert!((solution.weights[0] - 3.0).abs() < 1e-9 && (solution.weights[1] + 1.0).abs() < 1e-9);
        assert!((solution.bias - 5.0).abs() < 1e-9);
    }

    #[test]
    fn balanced_weights_halve_the_total() {
        let data = dataset(1, &[&[(2.0, &[0.0]), (0.0, &[0.0]), (0.0, &[0.0]), (1.0, &[0.0]), (0.0, &[0.0])]]);
        assert_eq!(balanced_weights(&data), [0.25, 1.0 / 6.0, 1.0 / 6.0, 0.25, 1.0 / 6.0]);
    }

    #[test]
    fn two_documents_are_ordered() {
        let data = testing::two_documents();
        let context = testing::context(None);
        let fitted = RegressionConfig::default().check().unwrap().fit(&data, None, &context).unwrap();
        assert_eq!(fitted.history[fitted.best_round - 1].train, Some(1.0));
        let (weights, _) = testing::linear_weights(&fitted.model);
        assert!(weights[0] < 0.0 && weights[1] > 0.0, "{weights:?}");
    }

    #[test]
    fn parameters_and_labels_out_of_range_are_named() {
        let config: RegressionConfig = serde_json::from_str(r#"{"lambda": [1.0, -1.0]}"#).unwrap();
        let message = config.check().unwrap_err().to_string();
        assert_eq!(message, "learner.lambda = -1: expected a finite number above 0");
        assert!(serde_json::from_str::<RegressionConfig>(r#"{"lamda": 1.0}"#).is_err());
        let table = RegressionConfig { gain: Gain::Table(vec![0.0]), ..RegressionConfig::default() };
        let fitted = table.check().unwrap().fit(&testing::two_documents(), None, &testing::context(None));
        let message = fitted.unwrap_err().to_string();
        assert_eq!(message, "regression: label 1 of query 1 has no finite gain: change learner.gain");
    }

    #[test]
    fn a_start_has_the_gain_of_its_loss_and_no_advice_about_keys_of_others() {
        let gains = |spec: LossSpec, label: f32| {
            let mut data = testing::two_documents();
            data.labels[1] = label;
            start_gains("test", &data, &*spec.build().unwrap()).map_err(|error| error.to_string())
        };
        assert_eq!(gains(LossSpec::new("smooth_ndcg").with("gain", "linear"), 2000.0).unwrap(), [0.0, 2000.0]);
        assert_eq!(gains(LossSpec::new("smooth_ndcg"), 3.0).unwrap(), [0.0, 7.0]);
        assert_eq!(gains(LossSpec::new("smooth_ap_rank"), 3.0).unwrap(), [0.0, 7.0]);
        let message = gains(LossSpec::new("smooth_ap_rank"), 2000.0).unwrap_err();
        assert_eq!(
            message,
            "test: label 2000 of query 1 has no finite gain, from which the fit starts: lower the labels"
        );
    }

    #[test]
    fn a_constant_feature_has_no_weight_beside_an_intercept() {
        let data = dataset(2, &[&[(0.0, &[0.0, 3.0]), (1.0, &[1.0, 3.0]), (2.0, &[2.0, 3.0])]]);
        let weight = |intercept| {
            NormalEquations::new(&data, &[1.0, 2.0, 3.0], &[1.0; 3], intercept).solve(0.1).unwrap().weights[1]
        };
        assert_eq!(weight(true), 0.0);
        assert!(weight(false) > 0.1);
    }

    #[test]
    fn fits_are_reproducible() {
        let (train, validation) = (testing::random(4, 15, 3, 2), testing::random(2, 15, 3, 3));
        let learner = RegressionConfig::default().check().unwrap();
        testing::assert_reproducible(&learner, &train, &validation, 3);
    }
}
