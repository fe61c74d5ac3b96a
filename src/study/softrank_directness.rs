//! Compares SoftNDCG with NDCG (softrank-directness, Theorem 2).
//!
//! Let `delta` be the smallest difference of two scores, `e_3 = (n - 1) / 4 (1 - erf^2(delta / (2 sigma)))` the largest
//! variance of a rank (the factor `(n - 1) / 4` is in the proof, but missing in the statement),
//! `e_1 = (n - 1) sigma / (2 delta sqrt(pi)) exp(-delta^2 / (4 sigma^2))` and `e_2 = sqrt(e_3 / (1 - 5 e_3)) + 5 e_3`.
//! If `5 e_3 < 1`, the two measures differ by at most `2^max(y) n (e_1 + e_2)`. The gain is the paper's, `2^y`.

use statrs::function::erf::erf;

use super::findings::{Bounded, Curves, Findings, Table, falls};
use super::subject::ScoredQuery;
use super::{StudyEntry, StudyError, Subject};
use crate::loss::LossSpec;
use crate::measure::{Convention, Gain, Measure, mean_of};

pub(super) const ENTRY: StudyEntry = StudyEntry {
    name: "softrank-directness",
    summary: "how far SoftNDCG is from NDCG, within the bound of Theorem 2",
    paper: "He and Liu, Are algorithms directly optimizing IR measures really direct?, Theorem 2",
    parameter: "sigma",
    values: &[0.001, 0.01, 0.1, 1.0],
    run,
};

fn run(subject: &Subject, sigmas: &[f64]) -> Result<Findings, StudyError> {
    let convention =
        Convention { name: "standard, gain 2^y".to_string(), gain: Gain::Exp2Raw, ..Convention::default() };
    let (mut of_sigma, mut values) = (Vec::new(), Vec::new());
    let exact = subject.queries.iter().map(|query| query.exact(Measure::Ndcg(None), &convention));
    let exact = exact.collect::<Result<Vec<_>, _>>()?;
    for &sigma in sigmas {
        let spec = LossSpec::new("soft_ndcg").with("gain", "exp2_raw").with("sigma", sigma);
        let (mut found, mut softs) = (Bounded::default(), Vec::new());
        for (query, exact) in subject.queries.iter().zip(&exact) {
            let bound = theorem_2(query, sigma);
            // The bound may be tiny, so the formula is evaluated without an approximation.
            let evaluation = if bound.is_some() { "recursion" } else { "auto" };
            let soft = query.surrogate(&spec.with("evaluation", evaluation))?;
            softs.push(soft);
            found.add((soft - exact).abs(), bound);
        }
        of_sigma.push(found);
        values.push(mean_of(softs).unwrap_or(f64::NAN));
    }
    let mean: Vec<Option<f64>> = of_sigma.iter().map(Bounded::mean).collect();
    let ndcg = mean_of(exact).unwrap_or(f64::NAN);
    let rows = sigmas.iter().zip(&of_sigma).zip(&values).map(|((sigma, of), value)| {
        let bounded = Some(of.bounded() as f64);
        (sigma.to_string(), vec![Some(*value), Some(ndcg), of.mean(), of.largest(), bounded])
    });
    let downwards: Vec<Option<f64>> = mean.iter().rev().copied().collect();
    Ok(Findings {
        tables: vec![Table {
            title: "SoftNDCG beside NDCG, means over queries".to_string(),
            columns: ["sigma", "SoftNDCG", "NDCG", "rho", "largest error", "bounded queries"]
                .map(str::to_string)
                .to_vec(),
            rows: rows.collect(),
        }],
        curves: vec![Curves {
            title: "|SoftNDCG - NDCG|".to_string(),
            parameter: "sigma".to_string(),
            at: sigmas.to_vec(),
            curves: vec![
                ("rho, the mean".to_string(), mean),
                ("largest".to_string(), of_sigma.iter().map(Bounded::largest).collect()),
            ],
        }],
        claims: vec![
            Bounded::claim(
                &of_sigma,
                "Theorem 2",
                "|SoftNDCG - NDCG| <= 2^max(y) n (e_1 + e_2)",
                "queries with a sigma small beside every difference of scores",
            ),
            falls(
                &downwards,
                "section VI",
                "the smaller sigma, the closer SoftNDCG is to NDCG (rho from the largest down)",
            ),
        ],
    })
}

/// Returns the bound, if the theorem has one.
fn theorem_2(query: &ScoredQuery, sigma: f64) -> Option<f64> {
    let (delta, n) = (query.smallest_difference(), query.scores.len() as f64);
    if delta == 0.0 {
        return None;
    }
    let variance = (n - 1.0) / 4.0 * (1.0 - erf(delta / (2.0 * sigma)).powi(2));
    let e_1 =
        (n - 1.0) * sigma / (2.0 * delta * std::f64::consts::PI.sqrt()) * (-(delta / (2.0 * sigma)).powi(2)).exp();
    let e_2 = (variance / (1.0 - 5.0 * variance)).sqrt() + 5.0 * variance;
    let gain = query.labels.iter().copied().fold(0.0, f64::max).exp2();
    (5.0 * variance < 1.0).then_some(gain * n * (e_1 + e_2))
}
