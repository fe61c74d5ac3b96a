//! Values of the named surrogates, worked by hand.

use burn::tensor::{DType, Device, Tensor, TensorData};

use crate::execution::with_tensor_path;
use crate::loss::{
    ApproxApConfig, ApproxDcgConfig, ApproxNdcgConfig, ApproxPrecisionConfig, ApproxRrConfig, DiscountShape, LossSpec,
    RankExpectationMethod, RankModel, RankingLoss, Reduction, SmoothApIndicatorConfig, SmoothApRankConfig,
    SmoothDcgConfig, SmoothNdcgConfig, SmoothPrecisionConfig, SmoothRrConfig, SoftApConfig, SoftDcgConfig,
    SoftErrConfig, SoftNdcgConfig, SoftPrecisionConfig, SoftRrConfig, explain,
};
use crate::measure::Gain;
use crate::op::Step;
use crate::testing::{explained, uniform, value};

#[test]
fn approx_ap_equal_scores_are_worked_by_hand() {
    // Positions 2, 2, 2; each relevant document has half of the other ahead: (1 + 1/2) / 2.
    let found = value(ApproxApConfig::paper().init(), &[0.0; 3], &[1.0, 1.0, 0.0]);
    assert!((found - 0.75).abs() < 1e-12, "{found}");
}

#[test]
fn approx_ap_steep_steps_give_average_precision() {
    // Relevant documents at ranks 1 and 3: (1 + 2/3) / 2.
    let config = ApproxApConfig::new().with_alpha(300.0).with_beta(300.0);
    let found = value(config.init(), &[3.0, 2.0, 1.0], &[1.0, 0.0, 2.0]);
    assert!((found - 5.0 / 6.0).abs() < 1e-9, "{found}");
}

#[test]
fn approx_dcg_equal_scores_are_worked_by_hand() {
    // Three documents at position 1 + 2/2: (3 + 1 + 0) / log2(3).
    let found = value(ApproxDcgConfig::paper().init(), &[0.0; 3], &[2.0, 1.0, 0.0]);
    assert!((found - 4.0 / 3f64.log2()).abs() < 1e-12, "{found}");
    let linear = value(ApproxDcgConfig::paper().with_gain(Gain::Linear).init(), &[0.0; 3], &[2.0, 1.0, 0.0]);
    assert!((linear - 3.0 / 3f64.log2()).abs() < 1e-12, "{linear}");
}

#[test]
fn approx_ndcg_equal_scores_are_worked_by_hand() {
    // Both documents at 1 + 1/2: NDCG = 1 / log2(2.5), for any step.
    for step in [Step::Logistic, Step::Tanh, Step::Erf, Step::Arctan, Step::Laplace] {
        let found = value(ApproxNdcgConfig::paper().with_step(step).init(), &[0.0, 0.0], &[1.0, 0.0]);
        assert!((found - 1.0 / 2.5f64.log2()).abs() < 1e-12, "{step:?}: {found}");
    }
}

#[test]
fn approx_ndcg_two_documents_are_worked_by_hand() {
    // The relevant document is 1 below: p = 1 + sigmoid(2).
    let position = 1.0 + 1.0 / (1.0 + (-2.0f64).exp());
    let expected = 1.0 / (1.0 + position).log2();
    assert!((value(ApproxNdcgConfig::new().with_alpha(2.0).init(), &[0.0, 1.0], &[1.0, 0.0]) - expected).abs() < 1e-12);
    let kept = 1.0 / (1.0 + (3.0 * (position - 1.5)).exp());
    let cut = ApproxNdcgConfig::new().with_alpha(2.0).with_beta(3.0).with_k(Some(1));
    assert!((value(cut.init(), &[0.0, 1.0], &[1.0, 0.0]) - expected * kept).abs() < 1e-12);
}

#[test]
fn approx_precision_equal_scores_are_worked_by_hand() {
    // Positions 2, 2, 2, cut-off 1: sigmoid(10 (1.5 - 2)) for the relevant document.
    let found = value(ApproxPrecisionConfig::paper().with_k(1).init(), &[0.0; 3], &[1.0, 0.0, 0.0]);
    assert!((found - 1.0 / (1.0 + 5f64.exp())).abs() < 1e-12, "{found}");
}

#[test]
fn approx_precision_a_cutoff_beyond_the_list_divides_by_the_cutoff() {
    let config = ApproxPrecisionConfig::new().with_alpha(100.0).with_beta(100.0).with_k(4);
    let found = value(config.init(), &[3.0, 2.0, 1.0], &[1.0, 0.0, 1.0]);
    assert!((found - 0.5).abs() < 1e-9, "{found}");
}
/// Each of seven documents at position 4 counts as within a cut-off of 5, except for a shortfall of `sigmoid(-15)`,
/// about 3e-7. The spacing of float32 numbers just below 1 is a fifth of 3e-7.
#[test]
fn defect_20_a_saturated_cutoff_keeps_the_gradient_of_float32() {
    let labels = [1.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0];
    let cells = ["precision", "recall", "success", "r_precision", "ndcg", "ap", "rr", "err"];
    for measure in cells {
        for relaxation in ["approximate_positions", "projected_ranks"] {
            let mut spec = LossSpec::parse(&format!("{measure}:{relaxation}"));
            if measure != "r_precision" {
                spec = spec.with("k", 5);
            }
            let loss = spec.build().unwrap();
            let of = |dtype| explain(loss.as_ref(), &[0.25; 7], &labels, dtype).unwrap().grad;
            let (single, double) = (of(DType::F32), of(DType::F64));
            for (found, expected) in single.iter().zip(&double) {
                assert!((found / expected - 1.0).abs() < 1e-5, "{spec}: {single:?} {double:?}");
            }
        }
    }
}

#[test]
fn approx_rr_equal_scores_are_worked_by_hand() {
    // Positions 2, 2, 2: two relevant documents, each ahead of the other with 1/2: 2 (1/2) (1/2).
    let found = value(ApproxRrConfig::paper().init(), &[0.0; 3], &[1.0, 1.0, 0.0]);
    assert!((found - 0.5).abs() < 1e-12, "{found}");
}

#[test]
fn approx_rr_steep_steps_give_the_reciprocal_rank() {
    let config = ApproxRrConfig::new().with_alpha(300.0).with_beta(300.0);
    let found = value(config.init(), &[4.0, 3.0, 2.0, 1.0], &[0.0, 0.0, 1.0, 1.0]);
    assert!((found - 1.0 / 3.0).abs() < 1e-9, "{found}");
}

#[test]
fn smooth_ap_indicator_two_documents_are_worked_by_hand() {
    // P_1 = a, P_2 = 1 - a: a a + (1 - a) / 2.
    let a = (-0.5f64).exp() / (1.0 + (-0.5f64).exp());
    let loss = SmoothApIndicatorConfig::new().with_sigma(2.0).init().unwrap();
    let found = explain(&loss, &[0.0, 1.0], &[1.0, 0.0], DType::F64).unwrap().value;
    assert!((found - (a * a + (1.0 - a) / 2.0)).abs() < 1e-12);
}

fn smooth_ap_rank_value(sigma: f64, diagonal: f64, scores: &[f64], labels: &[f64]) -> f64 {
    value(SmoothApRankConfig::new().with_sigma(sigma).with_diagonal(diagonal).init(), scores, labels)
}

#[test]
fn smooth_ap_rank_two_documents_are_worked_by_hand() {
    // One relevant document, 1 below: T_ii / (1 + sigmoid(2)).
    let rank = 1.0 + 1.0 / (1.0 + (-2f64).exp());
    assert!((smooth_ap_rank_value(0.5, 1.0, &[0.0, 1.0], &[1.0, 0.0]) - 1.0 / rank).abs() < 1e-12);
    assert!((smooth_ap_rank_value(0.5, 0.5, &[0.0, 1.0], &[1.0, 0.0]) - 0.5 / rank).abs() < 1e-12);
}

#[test]
fn smooth_ap_rank_only_the_full_diagonal_tends_to_average_precision() {
    // Relevant at ranks 1 and 3: AP = (1 + 2/3) / 2; a diagonal of 1/2 takes 1/2 from each count.
    let (scores, labels) = ([3.0, 2.0, 1.0], [1.0, 0.0, 1.0]);
    assert!((smooth_ap_rank_value(1e-3, 1.0, &scores, &labels) - (1.0 + 2.0 / 3.0) / 2.0).abs() < 1e-12);
    assert!((smooth_ap_rank_value(1e-3, 0.5, &scores, &labels) - (0.5 + 1.5 / 3.0) / 2.0).abs() < 1e-12);
}

#[test]
fn smooth_ap_rank_a_diagonal_outside_the_unit_interval_is_refused() {
    for diagonal in [-0.1, 1.5, f64::NAN] {
        assert!(SmoothApRankConfig::paper().with_diagonal(diagonal).init().is_err());
    }
}

#[test]
fn smooth_dcg_two_documents_are_worked_by_hand() {
    let found = explained(SmoothDcgConfig::new().with_sigma(0.5).init(), &[0.0, 1.0], &[2.0, 1.0]);
    let below = 1.0 / (1.0 + (-2f64).exp());
    let expected = 3.0 / (2.0 + below).log2() + 1.0 / (3.0 - below).log2();
    assert!((found.value - expected).abs() < 1e-12);
    assert_eq!(found.loss, -found.value);
}

#[test]
fn smooth_ndcg_two_documents_are_worked_by_hand() {
    // The relevant document is 1 below: h = e^-1/2 / (1 + e^-1/2) at rank 1 and 1 / (1 + e^-1/2) at rank 2.
    let far = (-0.5f64).exp() / (1.0 + (-0.5f64).exp());
    let expected = far + (1.0 - far) / 3f64.log2();
    let config = SmoothNdcgConfig::new().with_sigma(2.0);
    assert!((value(config.init(), &[0.0, 1.0], &[1.0, 0.0]) - expected).abs() < 1e-12);
    assert!((value(config.with_k(Some(1)).init(), &[0.0, 1.0], &[1.0, 0.0]) - far).abs() < 1e-12);
}

#[test]
fn smooth_ndcg_a_large_sigma_spreads_every_document_over_all_ranks() {
    // h = 1/n (section 5.3): the mean gain times the sum of discounts.
    let found = value(SmoothNdcgConfig::new().with_sigma(1e9).init(), &[0.3, -1.0, 2.0], &[2.0, 0.0, 1.0]);
    let discounts: f64 = 1.0 + 1.0 / 3f64.log2() + 0.5;
    let ideal = 3.0 + 1.0 / 3f64.log2();
    assert!((found - 4.0 / 3.0 * discounts / ideal).abs() < 1e-8);
}

fn smooth_precision_value(k: usize) -> f64 {
    value(SmoothPrecisionConfig::new().with_sigma(2.0).with_k(k).init(), &[0.0, 1.0], &[1.0, 0.0])
}

#[test]
fn smooth_precision_two_documents_are_worked_by_hand() {
    let far = (-0.5f64).exp() / (1.0 + (-0.5f64).exp());
    assert!((smooth_precision_value(1) - far).abs() < 1e-12);
    assert!((smooth_precision_value(2) - 0.5).abs() < 1e-12, "one of two is relevant");
    assert!((smooth_precision_value(4) - 0.25).abs() < 1e-12, "ranks beyond the list hold nothing");
}

fn smooth_rr_value(linear: bool, scores: &[f64], labels: &[f64]) -> f64 {
    value(SmoothRrConfig::new().with_sigma(2.0).with_linear(linear).init(), scores, labels)
}

#[test]
fn smooth_rr_two_documents_are_worked_by_hand() {
    // P_1 = a and P_2 = 1 - a.
    let a = (-0.5f64).exp() / (1.0 + (-0.5f64).exp());
    let general = a + (1.0 - a) * (1.0 - a) / 2.0;
    assert!((smooth_rr_value(false, &[0.0, 1.0], &[1.0, 0.0]) - general).abs() < 1e-12);
    assert!((smooth_rr_value(true, &[0.0, 1.0], &[1.0, 0.0]) - (a + (1.0 - a) / 2.0)).abs() < 1e-12);
}

#[test]
fn smooth_rr_the_linear_form_counts_every_relevant_document() {
    // Ranks 1 and 2 are relevant and far apart: 1 against 1 + 1/2.
    let (scores, labels) = ([60.0, 30.0, 0.0], [1.0, 1.0, 0.0]);
    assert!((smooth_rr_value(false, &scores, &labels) - 1.0).abs() < 1e-12);
    assert!((smooth_rr_value(true, &scores, &labels) - 1.5).abs() < 1e-12);
}

fn soft_ap_value(model: RankModel, sigma: f64, scores: &[f64], labels: &[f64]) -> f64 {
    value(SoftApConfig::new().with_sigma(sigma).with_model(model).init(), scores, labels)
}

#[test]
fn soft_ap_two_documents_are_worked_by_hand() {
    // The relevant document is 1 below: it is first with the chance (1 + erf(-1/2)) / 2, else AP is 1/2.
    let wins = 1.0 - 0.760_249_938_906_523_3;
    for model in [RankModel::Independent, RankModel::Exact] {
        let found = soft_ap_value(model, 1.0, &[0.0, 1.0], &[1.0, 0.0]);
        assert!((found - (wins + (1.0 - wins) / 2.0)).abs() < 1e-7, "{model:?}: {found}");
    }
}

#[test]
fn soft_ap_three_equal_scores_are_worked_by_hand() {
    // Two of three are relevant. AP is 1, 5/6 or 7/12 as the other one is last, second or first, each one time in
    // three. With independent trials a relevant document has above it, one time in four each: no document, only the
    // relevant one, only the other, or both: (1 + 2/2 + 1/2 + 2/3) / 4.
    let found = |model| soft_ap_value(model, 1.0, &[0.4; 3], &[1.0, 2.0, 0.0]);
    assert!((found(RankModel::Exact) - (1.0 + 5.0 / 6.0 + 7.0 / 12.0) / 3.0).abs() < 1e-7);
    assert!((found(RankModel::Independent) - (1.0 + 1.0 + 0.5 + 2.0 / 3.0) / 4.0).abs() < 1e-7);
}

#[test]
fn soft_dcg_equal_scores_are_worked_by_hand() {
    // Three equal scores have binomial ranks 1/4, 1/2, 1/4; the gains 3 + 0 + 1 meet the same expected discount.
    let discounts = [
        (DiscountShape::Zipf, 0.25 + 0.5 / 2.0 + 0.25 / 3.0),
        (DiscountShape::Power, 0.25 + 0.5 / 2f64.sqrt() + 0.25 / 3f64.sqrt()),
        (DiscountShape::Letor, 0.25 + 0.5 + 0.25 * 2f64.ln() / 3f64.ln()),
        (DiscountShape::Exponential, 0.25 / 2.0 + 0.5 / 4.0 + 0.25 / 8.0),
        (DiscountShape::Table(vec![1.0, 0.4]), 0.25 + 0.5 * 0.4),
    ];
    for (discount, expected) in discounts {
        let loss = SoftDcgConfig::paper().with_discount(discount.clone()).with_exponent(0.5).init().unwrap();
        let found = explain(&loss, &[1.5; 3], &[2.0, 0.0, 1.0], DType::F64).unwrap().value;
        assert!((found - 4.0 * expected).abs() < 1e-7, "{discount:?}: {found}");
    }
}

#[test]
fn soft_err_two_documents_are_worked_by_hand() {
    // Chances to stop of 3/4 and 1/4, and an even chance of either order.
    let config = SoftErrConfig::paper().with_maximum_grade(2);
    let expected = (0.75 + 0.25 * 0.25 / 2.0 + 0.25 + 0.75 * 0.75 / 2.0) / 2.0;
    for model in [RankModel::Exact, RankModel::Independent] {
        let found = value(config.clone().with_model(model).init(), &[0.3; 2], &[2.0, 1.0]);
        assert!((found - expected).abs() < 1e-7, "{model:?}: {found}");
    }
}

#[test]
fn soft_err_grades_are_checked() {
    for grade in [0, 31, u32::MAX] {
        let refused = SoftErrConfig::paper().with_maximum_grade(grade).init().unwrap_err();
        let expected = format!("soft_err.maximum_grade = {grade}: expected a whole number from 1 to 30");
        assert_eq!(refused.to_string(), expected);
    }
    let loss = SoftErrConfig::paper().init().unwrap();
    assert_eq!(loss.about().gain.unwrap().of(4.0), 15.0 / 16.0);
    let refused = explain(&loss, &[0.0, 1.0], &[5.0, 0.0], DType::F64).unwrap_err();
    assert!(refused.to_string().contains("label 5, expected a whole number from 0 to 4"), "{refused}");
}

#[test]
fn soft_ndcg_two_documents_are_worked_by_hand() {
    // The relevant document is 1 below: it wins with probability (1 + erf(-1/2)) / 2.
    let wins = 1.0 - 0.760_249_938_906_523_3;
    for evaluation in [
        RankExpectationMethod::Auto,
        RankExpectationMethod::Recursion,
        RankExpectationMethod::Cutoff,
        RankExpectationMethod::Exponentials,
    ] {
        let config = SoftNdcgConfig::paper().with_evaluation(evaluation);
        let expected = wins + (1.0 - wins) / 3f64.log2();
        assert!((value(config.init(), &[0.0, 1.0], &[1.0, 0.0]) - expected).abs() < 1e-7, "{evaluation:?}");
        // A discount with a cut-off is not a sum of exponentials.
        if evaluation != RankExpectationMethod::Exponentials {
            let cut = value(config.with_k(Some(1)).init(), &[0.0, 1.0], &[1.0, 0.0]);
            assert!((cut - wins).abs() < 1e-12, "{evaluation:?}: {cut}");
        }
    }
}

#[test]
fn soft_ndcg_the_raw_gain_counts_irrelevant_documents() {
    let config = SoftNdcgConfig::paper().with_gain(Gain::Exp2Raw).with_evaluation(RankExpectationMethod::Recursion);
    // Equal scores: each document is at rank 1 or 2 with probability 1/2; gains 2 and 1.
    let expected = 3.0 * 0.5 * (1.0 + 1.0 / 3f64.log2()) / (2.0 + 1.0 / 3f64.log2());
    assert!((value(config.init(), &[0.5, 0.5], &[1.0, 0.0]) - expected).abs() < 1e-12);
}

#[test]
fn soft_ndcg_two_thousand_documents_have_a_finite_gradient() {
    let device = Device::flex().autodiff();
    let n = 2000;
    let of = |values: Vec<f32>| Tensor::<2>::from_data(TensorData::new(values, [1, n]), &device);
    let scores = of(uniform(1, n).into_iter().map(|u| u as f32).collect()).require_grad();
    let labels = of((0..n).map(|i| (i % 5) as f32).collect());
    let mask = labels.clone().greater_equal_elem(0.0);
    let loss = SoftNdcgConfig::new().with_sigma(0.1).init().unwrap();
    let output = loss.forward(scores.clone(), labels, mask, Reduction::Mean);
    let gradient = scores.grad(&output.backward()).unwrap().into_data().try_to_vec::<f32>().unwrap();
    assert!(gradient.iter().all(|g| g.is_finite()) && gradient.iter().any(|g| *g != 0.0));
}

fn soft_precision_value(k: usize, scores: &[f64]) -> f64 {
    value(SoftPrecisionConfig::paper().with_k(k).init(), scores, &[1.0, 0.0, 0.0])
}

#[test]
fn soft_precision_equal_scores_are_worked_by_hand() {
    // Binomial ranks: P(R = 0) = 1/4, P(R < 2) = 3/4.
    assert!((soft_precision_value(1, &[0.0; 3]) - 0.25).abs() < 1e-15);
    assert!((soft_precision_value(2, &[0.0; 3]) - 0.375).abs() < 1e-15);
    assert!(
        (soft_precision_value(6, &[0.3, 2.0, -1.0]) - 1.0 / 6.0).abs() < 1e-12,
        "ranks beyond the list hold nothing"
    );
}

#[test]
fn soft_rr_three_equal_scores_are_worked_by_hand() {
    // The one relevant document is at each rank one time in three; with independent trials its rank is binomial.
    let found = |model| value(SoftRrConfig::paper().with_model(model).init(), &[0.4; 3], &[1.0, 0.0, 0.0]);
    assert!((found(RankModel::Exact) - (1.0 + 1.0 / 2.0 + 1.0 / 3.0) / 3.0).abs() < 1e-7);
    assert!((found(RankModel::Independent) - (0.25 + 0.5 / 2.0 + 0.25 / 3.0)).abs() < 1e-7);
}

#[test]
fn soft_rr_tied_relevant_documents_at_the_top_share_the_first_rank() {
    let scores: Vec<f64> = (0..20).map(|i| if i < 10 { 8.0 } else { 0.0 }).collect();
    let labels: Vec<f64> = (0..20).map(|i| f64::from(u8::from(i < 10))).collect();
    let exact = explained(SoftRrConfig::paper().with_model(RankModel::Exact).init(), &scores, &labels);
    assert!(exact.value > 0.999, "{}", exact.value);
    assert!(exact.grad.iter().all(|g| g.abs() < 1e-5), "{:?}", exact.grad);
    let independent = SoftRrConfig::paper().with_model(RankModel::Independent);
    let independent = value(independent.init(), &scores, &labels);
    assert!((independent - 10.0 * 0.5f64.powi(9)).abs() < 1e-6, "{independent}");
}

#[test]
fn soft_rr_a_document_far_below_others_keeps_its_gradient() {
    // A relevant document 12 standard deviations above another one: that one never is above it. The gradient is 0
    // or tiny, not NaN, in both types.
    for dtype in [DType::F32, DType::F64] {
        for model in [RankModel::Exact, RankModel::Independent] {
            let loss = SoftRrConfig::paper().with_model(model).init().unwrap();
            let explained = || explain(&loss, &[0.0, 12.0, 0.5, 40.0], &[1.0, 1.0, 0.0, 0.0], dtype).unwrap();
            for found in [explained(), with_tensor_path(explained)] {
                assert!((found.value - 0.5).abs() < 1e-5, "{dtype:?}, {model:?}: {}", found.value);
                assert!(found.grad.iter().all(|g| g.is_finite() && g.abs() < 1e-5), "{:?}", found.grad);
            }
        }
    }
}
