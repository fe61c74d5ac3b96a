//! Second derivatives of losses, which boosted trees use for Newton steps.
//!
//! Second derivatives are summed pair by pair in double precision, without tensors. The sum takes O(n^2) time per
//! query, or O(k n) with a cut-off `k`.

use crate::op::{PairDerivatives, SlicePairWeight as PairWeight, pair_derivatives};

/// A loss whose second derivatives are cheap and never negative.
pub trait Curved: Sync {
    /// Returns the loss of one query, and its derivatives with respect to each score. `weights` are the document
    /// weights, or `None` for a loss that does not accept them
    /// ([`About::document_weights`](super::About::document_weights)).
    fn derivatives(&self, labels: &[f32], scores: &[f64], weights: Option<&[f32]>) -> Derivatives;

    /// Returns the same with the scores of a teacher, NaN for a document that it has not scored. By default, the
    /// teacher's scores stand in place of the labels, and other documents are left out.
    fn taught(&self, _labels: &[f32], teacher: &[f32], scores: &[f64], weights: Option<&[f32]>) -> Derivatives {
        let scored: Vec<usize> = (0..teacher.len()).filter(|&document| !teacher[document].is_nan()).collect();
        let of = |values: &[f32]| scored.iter().map(|&document| values[document]).collect::<Vec<_>>();
        let of_scored: Vec<f64> = scored.iter().map(|&document| scores[document]).collect();
        let part = self.derivatives(&of(teacher), &of_scored, weights.map(of).as_deref());
        let mut all = Derivatives::none(scores.len());
        all.loss = part.loss;
        for (place, document) in scored.into_iter().enumerate() {
            all.gradient[document] = part.gradient[place];
            all.curvature[document] = part.curvature[place];
        }
        all
    }
}

/// The loss of one query, and its derivatives with respect to the score of each document.
#[derive(Debug, Clone, PartialEq)]
pub struct Derivatives {
    /// The loss.
    pub loss: f64,
    /// The first derivative with respect to each score.
    pub gradient: Vec<f64>,
    /// The second derivative with respect to each score, 0 or above.
    pub curvature: Vec<f64>,
}

impl Derivatives {
    /// The derivatives of a loss of 0.
    pub(super) fn none(documents: usize) -> Self {
        Self { loss: 0.0, gradient: vec![0.0; documents], curvature: vec![0.0; documents] }
    }

    /// Multiplies the loss and its derivatives by `factor`.
    pub(super) fn multiply(&mut self, factor: f64) {
        self.loss *= factor;
        self.gradient.iter_mut().chain(&mut self.curvature).for_each(|value| *value *= factor);
    }
}

/// Returns the documents in descending order of score; ties keep their order.
pub(super) fn by_score(scores: &[f64]) -> Vec<usize> {
    // Sorting pairs of score and document avoids looking up scores in comparisons. Adding 0 turns -0 into 0.
    let mut order: Vec<(f64, usize)> = scores.iter().map(|score| score + 0.0).zip(0..).collect();
    order.sort_by(|(a, _), (b, _)| b.total_cmp(a));
    order.into_iter().map(|(_, document)| document).collect()
}

/// Returns the logarithm of the softmax of some numbers.
pub(super) fn log_softmax(numbers: impl Iterator<Item = f64> + Clone) -> Vec<f64> {
    let highest = numbers.clone().fold(f64::NEG_INFINITY, f64::max);
    let log_sum = numbers.clone().map(|number| (number - highest).exp()).sum::<f64>().ln();
    numbers.map(|number| number - highest - log_sum).collect()
}

/// Returns the derivatives of `sum_{y_i > y_j} u_i w_ij log(1 + exp(-sigma (s_i - s_j)))`, and the sum of the pairs'
/// absolute slopes. The pair weights `w` and the document weights `u` are treated as constants. If `within` is given, a
/// pair counts only if it contains one of the `within` documents with the highest scores.
pub(super) fn logistic(
    labels: &[f32],
    scores: &[f64],
    sigma: f64,
    weight: PairWeight<&[f64]>,
    of_documents: Option<&[f32]>,
    within: Option<usize>,
) -> (Derivatives, f64) {
    let x: Vec<f64> = scores.iter().map(|score| sigma * score).collect();
    let labels: Vec<f64> = labels.iter().copied().map(f64::from).collect();
    let of_documents: Option<Vec<f64>> = of_documents.map(|weights| weights.iter().copied().map(f64::from).collect());
    let found = pair_derivatives(&x, &labels, weight, of_documents.as_deref(), within);
    let PairDerivatives { value, slopes, mut gradient, mut curvature } = found;
    gradient.iter_mut().for_each(|slope| *slope *= sigma);
    curvature.iter_mut().for_each(|bend| *bend *= sigma * sigma);
    (Derivatives { loss: value, gradient, curvature }, sigma * slopes)
}

#[cfg(test)]
mod tests {
    use burn::tensor::{DType, Device, Tensor};

    use crate::json::json;
    use crate::loss::registry::LOSSES;
    use crate::loss::{Lists, LossSpec, explain};

    const LABELS: [f32; 5] = [2.0, 0.0, 1.0, 0.0, 2.0];
    const SCORES: [f64; 5] = [0.5, 1.25, -0.25, 0.75, -1.0];

    /// Returns the registered losses that have second derivatives, each once with default parameters and once with
    /// other parameters.
    fn curved() -> Vec<LossSpec> {
        let of_grades = json!({"table": [0.0, 0.25, 1.0]});
        let registered = LOSSES.iter().map(|entry| match entry.name {
            "binary_cross_entropy" => LossSpec::new(entry.name).with("gain", of_grades.clone()),
            name => LossSpec::new(name),
        });
        let others = [
            LossSpec::new("rank_net").with("sigma", 1.5),
            LossSpec::new("teacher_kl").with("temperature", 2.5),
            LossSpec::new("binary_cross_entropy").with("gain", of_grades.clone()).with("positive_weight", 3.0),
            LossSpec::new("rank_net").with("mean_over_pairs", true),
            LossSpec::new("lambda_measure").with("measure", "rr").with("k", 3),
            LossSpec::new("lambda_measure").with("measure", "err").with("sigma", 2.0),
            LossSpec::new("lambda_measure").with("measure", "precision").with("k", 2).with("score_normalization", true),
            LossSpec::new("lambda_measure").with("query_normalization", true),
            LossSpec::new("xe_ndcg").with("gamma", 0.25),
            LossSpec::new("lambda_ndcg").with("k", 2).with("sigma", 0.5),
            LossSpec::new("lambda_ndcg").with("truncation", 2),
            LossSpec::new("lambda_ndcg").with("truncation", 1).with("k", 3).with("query_normalization", true),
            LossSpec::new("lambda_ndcg").with("score_normalization", true).with("sigma", 2.0),
            LossSpec::new("lambda_ndcg").with("score_normalization", true).with("query_normalization", true),
        ];
        let curved = registered.filter(|spec| spec.build().unwrap().about().curvature.is_some());
        curved.chain(others).collect()
    }

    #[test]
    fn loss_and_gradient_are_those_of_the_registered_loss() {
        assert!(curved().len() > 4, "rank_net and lambda_ndcg at least");
        // Apart; with ties; zeros of both signs; far apart; nearly equal.
        let ties = [[0.5, 0.5, -0.25, 0.5, -1.0], [0.0, -0.0, -0.0, 0.0, -1.0]];
        let all = [SCORES, ties[0], ties[1], SCORES.map(|score| 1e3 * score), SCORES.map(|score| 1e-9 * score)];
        let one_differs = [0.0, 0.0, 0.0, 1.0, 0.0];
        for (spec, (scores, labels)) in curved().iter().flat_map(|spec| {
            let cases = all.iter().flat_map(move |scores| [LABELS, one_differs].map(|labels| (scores, labels)));
            cases.map(move |case| (spec, case))
        }) {
            let loss = spec.build().unwrap();
            let found = loss.about().curvature.unwrap().derivatives(&labels, scores, None);
            let expected = explain(&*loss, scores, &labels.map(f64::from), DType::F64).unwrap();
            let near = |found: f64, expected: f64| (found - expected).abs() <= 1e-12 * expected.abs().max(1.0);
            assert!(near(found.loss, expected.loss), "{spec:?}, {scores:?}: {} {}", found.loss, expected.loss);
            for (&pairs, &autodiff) in found.gradient.iter().zip(&expected.grad) {
                assert!(near(pairs, autodiff), "{spec:?}, {scores:?}: {pairs} {autodiff}");
            }
        }
    }

    #[test]
    fn weighted_derivatives_are_those_of_the_weighted_loss() {
        let weights = [0.5f32, 4.0, 2.0, 1.0, 3.0];
        let device = Device::flex().autodiff();
        let row = |values: [f64; 5]| Tensor::<2>::from_data([values], (&device, DType::F64));
        for spec in curved() {
            let loss = spec.build().unwrap();
            if loss.about().document_weights.is_err() {
                continue;
            }
            let found = loss.about().curvature.unwrap().derivatives(&LABELS, &SCORES, Some(&weights));
            let scores = row(SCORES).require_grad();
            let lists = Lists::padded(scores.clone(), row(LABELS.map(f64::from)), row([1.0; 5]).greater_elem(0.0));
            let output = lists.with_document_weights(row(weights.map(f64::from))).losses(&*loss);
            let value: f64 = output.to_data().iter::<f64>().sum();
            assert!((found.loss - value).abs() < 1e-12, "{spec:?}: {} {value}", found.loss);
            let expected = scores.grad(&output.backward()).unwrap().into_data();
            for (pairs, autodiff) in found.gradient.iter().zip(expected.iter::<f64>()) {
                assert!((pairs - autodiff).abs() < 1e-12, "{spec:?}: {pairs} {autodiff}");
            }
        }
    }

    #[test]
    fn the_curvature_is_the_derivative_of_the_gradient() {
        // Normalizations are held at their values, so the gradient there is not the gradient of a function.
        let held = |spec: &LossSpec| spec.params.keys().any(|name| name.ends_with("_normalization"));
        for spec in curved().into_iter().filter(|spec| !held(spec)) {
            let loss = spec.build().unwrap();
            let curved = loss.about().curvature.unwrap();
            let found = curved.derivatives(&LABELS, &SCORES, None);
            for document in 0..SCORES.len() {
                // A step this short does not change the ranks, which the derivatives take as constants.
                let at = |step: f64| {
                    let mut scores = SCORES;
                    scores[document] += step;
                    curved.derivatives(&LABELS, &scores, None).gradient[document]
                };
                let difference = (at(1e-5) - at(-1e-5)) / 2e-5;
                assert!((found.curvature[document] - difference).abs() < 1e-8, "{spec:?}, document {document}");
            }
        }
    }

    #[test]
    fn a_query_with_equal_labels_has_zero_derivatives() {
        let learns_values = |spec: &LossSpec| ["binary_cross_entropy", "teacher_mse"].contains(&spec.name.as_str());
        for spec in curved().into_iter().filter(|spec| !learns_values(spec)) {
            let found = spec.build().unwrap().about().curvature.unwrap().derivatives(&[1.0; 3], &[0.0, 1.0, 2.0], None);
            assert_eq!((found.loss, found.gradient, found.curvature), (0.0, vec![0.0; 3], vec![0.0; 3]), "{spec:?}");
        }
    }
}
