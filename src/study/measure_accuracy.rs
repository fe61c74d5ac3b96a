//! Compares ApproxNDCG and ApproxAP with NDCG and AP (approximation-framework, Figures 1 to 3, Theorems 5 and 6).
//!
//! Let `epsilon` be the largest error of a position. ApproxNDCG is off by less than `epsilon / (2 ln 2)`.
//! If `epsilon < 1/2`, ApproxAP is off by less than
//! `sum_i 1 / (i - epsilon) / (1 + exp(beta (1 - 2 epsilon))) + 2 epsilon sum_i 1 / (i (i - epsilon))`, with `i` from 1
//! to the number of relevant documents.

use super::findings::{Bounded, Curves, Findings, Table, falls};
use super::position_accuracy::largest_error;
use super::subject::ScoredQuery;
use super::{StudyEntry, StudyError, Subject};
use crate::loss::LossSpec;
use crate::measure::{Convention, Measure};

pub(super) const ENTRY: StudyEntry = StudyEntry {
    name: "measure-accuracy",
    summary: "how far ApproxNDCG and ApproxAP are from NDCG and AP, within the bounds of Theorems 5 and 6",
    paper: "Qin, Liu and Li, A general approximation framework for direct optimization of IR measures, Figures 1 to 3, Theorems 5 and 6",
    parameter: "alpha",
    values: &[1.0, 10.0, 100.0, 1000.0],
    run,
};

/// Values of `beta`: that of Figure 1, and a sharper one of Figure 2.
const BETAS: [f64; 2] = [10.0, 100.0];

fn run(subject: &Subject, alphas: &[f64]) -> Result<Findings, StudyError> {
    let mut ndcg = Vec::new();
    let mut ap = [Vec::new(), Vec::new()];
    for &alpha in alphas {
        ndcg.push(errors(subject, alpha, Measure::Ndcg(None), &LossSpec::new("approx_ndcg"), |_, epsilon| {
            Some(epsilon / (2.0 * std::f64::consts::LN_2))
        })?);
        for (beta, ap) in BETAS.iter().zip(&mut ap) {
            let spec = LossSpec::new("approx_ap").with("beta", *beta);
            ap.push(errors(subject, alpha, Measure::Ap(None), &spec, |query, epsilon| {
                theorem_5(query, epsilon, *beta)
            })?);
        }
    }
    let surrogates: Vec<(String, &Vec<Bounded>)> = [("ApproxNDCG".to_string(), &ndcg)]
        .into_iter()
        .chain(BETAS.iter().zip(&ap).map(|(beta, ap)| (format!("ApproxAP, beta {beta}"), ap)))
        .collect();
    let table = |title: &str, figure: fn(&Bounded) -> Option<f64>| Table {
        title: title.to_string(),
        columns: ["alpha".to_string()].into_iter().chain(surrogates.iter().map(|(name, _)| name.clone())).collect(),
        rows: (alphas.iter().enumerate())
            .map(|(at, alpha)| (alpha.to_string(), surrogates.iter().map(|(_, of)| figure(&of[at])).collect()))
            .collect(),
    };
    let means = |of: &[Bounded]| of.iter().map(Bounded::mean).collect::<Vec<_>>();
    let all_ap: Vec<Bounded> = ap.iter().flatten().cloned().collect();
    let sharper: Vec<Option<f64>> = ap.iter().map(|of| of.last().and_then(Bounded::mean)).collect();
    Ok(Findings {
        tables: vec![
            table("rho, the mean error over queries", Bounded::mean),
            table("largest error of a query", Bounded::largest),
            table("queries that the theorem bounds", |of| Some(of.bounded() as f64)),
        ],
        curves: vec![Curves {
            title: "rho, the mean error over queries".to_string(),
            parameter: "alpha".to_string(),
            at: alphas.to_vec(),
            curves: surrogates.iter().map(|(name, of)| (name.clone(), means(of))).collect(),
        }],
        claims: vec![
            Bounded::claim(
                &ndcg,
                "Theorem 6",
                "|ApproxNDCG - NDCG| < epsilon / (2 ln 2)",
                "queries without equal scores",
            ),
            Bounded::claim(&all_ap, "Theorem 5", "|ApproxAP - AP| is within its bound", "queries with epsilon < 1/2"),
            falls(&means(&ndcg), "Figure 3", "the larger alpha, the smaller rho of ApproxNDCG"),
            falls(&means(&ap[1]), "Figure 1", "the larger alpha, the smaller rho of ApproxAP (at beta = 100)"),
            falls(&sharper, "Figure 2", "the larger beta, the smaller rho of ApproxAP (at the largest alpha)"),
        ],
    })
}

/// Computes the errors of a surrogate, with a bound for each query without equal scores.
fn errors(
    subject: &Subject,
    alpha: f64,
    measure: Measure,
    spec: &LossSpec,
    bound: impl Fn(&ScoredQuery, f64) -> Option<f64>,
) -> Result<Bounded, StudyError> {
    let (spec, convention) = (spec.with("alpha", alpha), Convention::default());
    let mut found = Bounded::default();
    for query in &subject.queries {
        let error = (query.surrogate(&spec)? - query.exact(measure, &convention)?).abs();
        let tied = query.smallest_difference() == 0.0;
        found.add(error, if tied { None } else { bound(query, largest_error(&query.scores, alpha)) });
    }
    Ok(found)
}

fn theorem_5(query: &ScoredQuery, epsilon: f64, beta: f64) -> Option<f64> {
    let sum = |term: &dyn Fn(f64) -> f64| (1..=query.relevant()).map(|i| term(i as f64)).sum::<f64>();
    (epsilon < 0.5).then(|| {
        sum(&|i| 1.0 / (i - epsilon)) / (1.0 + (beta * (1.0 - 2.0 * epsilon)).exp())
            + 2.0 * epsilon * sum(&|i| 1.0 / (i * (i - epsilon)))
    })
}
