//! `expected/lambdarank.json`: `lambda_ndcg` with `truncation` compared with LightGBM's objective `lambdarank`.

use burn::tensor::DType;
use burn_rank::loss::{LossSpec, RankingLoss, explain};
use serde::Deserialize;

#[derive(Deserialize)]
struct Case {
    scores: Vec<f64>,
    labels: Vec<f64>,
    truncation: usize,
    norm: bool,
    gradient: Vec<f64>,
    hessian: Vec<f64>,
}

#[derive(Deserialize)]
struct File {
    cases: Vec<Case>,
}

fn loss(case: &Case) -> Box<dyn RankingLoss> {
    let spec = LossSpec::new("lambda_ndcg").with("truncation", case.truncation);
    spec.with("score_normalization", case.norm).with("query_normalization", case.norm).build().unwrap()
}

/// LightGBM looks its sigmoid up in a table of 2^20 steps from -25 to 25, which is off by 1.2e-5 at most.
fn assert_near(found: &[f64], expected: &[f64], what: &str) {
    assert_eq!(found.len(), expected.len(), "{what}");
    for (found, expected) in found.iter().zip(expected) {
        assert!((found - expected).abs() < 2e-5, "{what}: {found} instead of {expected}");
    }
}

/// Pairs within the truncation, weighed by what their swap changes in the whole list, over the ideal DCG within the
/// truncation.
#[test]
fn defect_7_the_truncation_is_lightgbms() {
    let File { cases } = crate::common::expected_json("lambdarank.json");
    assert_eq!(cases.len(), 24);
    for case in cases {
        let what = format!("{:?}, truncation {}, norm {}", case.labels, case.truncation, case.norm);
        let loss = loss(&case);
        let found = explain(loss.as_ref(), &case.scores, &case.labels, DType::F64).unwrap();
        assert_near(&found.grad, &case.gradient, &what);
        // The derivatives that boosted trees take.
        let labels: Vec<f32> = case.labels.iter().map(|&label| label as f32).collect();
        let found = loss.about().curvature.unwrap().derivatives(&labels, &case.scores, None);
        assert_near(&found.gradient, &case.gradient, &what);
        assert_near(&found.curvature, &case.hessian, &what);
    }
}

/// A cut-off together with the truncation: a pair's weight is then the change of NDCG@k, with the ideal DCG at k.
#[test]
fn defect_7_a_cutoff_beside_a_truncation_is_that_of_the_measure() {
    let (scores, labels): ([f64; 5], [f64; 5]) = ([-0.4, 1.1, 0.8, -0.5, -0.9], [3.0, 4.0, 2.0, 0.0, 3.0]);
    // Every pair that changes NDCG@2 has a document within rank 2.
    let value = |spec: &LossSpec| explain(&*spec.build().unwrap(), &scores, &labels, DType::F64).unwrap().value;
    let cut = LossSpec::new("lambda_ndcg").with("k", 2);
    let (alone, beside) = (value(&cut), value(&cut.with("truncation", 5)));
    assert!((alone - 0.860260).abs() < 5e-7 && (alone - beside).abs() < 1e-12, "{alone} {beside}");
    // A truncation of 2 leaves out the pairs of rank 3 and lower ranks, which change NDCG@3.
    let within = LossSpec::new("lambda_ndcg").with("k", 3).with("truncation", 2);
    let discount = |rank: usize| if rank <= 3 { 1.0 / (1.0 + rank as f64).log2() } else { 0.0 };
    let gain = |label: f64| label.exp2() - 1.0;
    let ranked = [1, 2, 0, 3, 4];
    let ideal = gain(4.0) * discount(1) + gain(3.0) * (discount(2) + discount(3));
    let mut expected = 0.0;
    for (first, &a) in ranked.iter().enumerate().take(2) {
        for (second, &b) in ranked.iter().enumerate().skip(first + 1) {
            let apart: f64 = (scores[a] - scores[b]) * if labels[a] > labels[b] { 1.0 } else { -1.0 };
            let weight = (gain(labels[a]) - gain(labels[b])).abs() * (discount(first + 1) - discount(second + 1));
            expected += weight / ideal * (-apart).exp().ln_1p();
        }
    }
    assert!((value(&within) - expected).abs() < 1e-12, "{} {expected}", value(&within));
}
