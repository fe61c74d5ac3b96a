//! Compares ApproxNDCG and ApproxAP with NDCG and AP (approximation-framework, Figures 1 to 3, Theorems 5 to 7).
//!
//! Let `epsilon` be the largest difference between a document's position and its rank. The error of ApproxNDCG is below
//! `epsilon / (2 ln 2)`. If `epsilon < 1/2`, the error of ApproxAP is below
//! `sum_i 1 / (i - epsilon) / (1 + exp(beta (1 - 2 epsilon))) + 2 epsilon sum_i 1 / (i (i - epsilon))`. Here `i` runs
//! from 1 to the number of relevant documents. Both measures and their surrogates lie in `[0, 1]`, so a bound of 1 or
//! more is vacuous. The theorems do not cover equal scores; queries with equal scores have their own bound
//! (`instance.rs`). Theorem 7 is about the best of a class of ranking functions; the study tries all functions of a
//! small class (`theorem_7.rs`). `rho` is the mean error over queries. It is computed for a given ranking and after
//! each epoch of training (`over_training.rs`).

mod instance;
mod over_training;
mod theorem_7;

use burn_rank::loss::LossSpec;
use burn_rank::measure::{Convention, Measure};

use self::instance::Instance;
use super::{
    About, Bounded, Claim, Curves, Domain, Findings, Judged, Kind, Material, Parameter, Result, ScoredQuery, Setting,
    StudyEntry, Subject, Table, falls, largest_error, theorem_5,
};
use crate::study::source::relevant;
use crate::study::theorem_6;

pub(super) const ENTRY: StudyEntry = StudyEntry {
    name: "measure-accuracy",
    summary: "how far ApproxNDCG and ApproxAP are from NDCG and AP, within the bounds of Theorems 5 to 7",
    paper: "Qin, Liu and Li, A general approximation framework for direct optimization of IR measures, Figures 1 to 3, Theorems 5 to 7",
    parameters: &[
        Parameter { name: "alpha", values: &[1.0, 10.0, 50.0, 100.0, 1000.0], domain: Domain::Positive },
        Parameter { name: "beta", values: &[1.0, 10.0, 20.0, 50.0, 100.0], domain: Domain::Positive },
    ],
    takes: &[Kind::Generated, Kind::Ranking, Kind::Training, Kind::Runs],
    run,
};

/// Computes the error of a surrogate for each query, with a bound if the query has no equal scores.
fn errors(
    subject: &Subject,
    alpha: f64,
    measure: Measure,
    spec: &LossSpec,
    bound: impl Fn(&ScoredQuery, f64) -> Option<f64>,
) -> Result<Bounded> {
    let (spec, convention) = (spec.with("alpha", alpha), Convention::default());
    let mut found = Bounded::default();
    for query in &subject.queries {
        let error = (query.surrogate(&spec)? - query.exact(measure, &convention)?).abs();
        let tied = query.smallest_difference() == 0.0;
        found.add(error, if tied { None } else { bound(query, largest_error(&query.scores, alpha)) }, 1.0);
    }
    Ok(found)
}

/// The errors of both surrogates, with the bounds from the theorems and the bounds for single queries.
#[derive(Default)]
struct Errors {
    /// The errors of ApproxNDCG, for each alpha.
    ndcg: Vec<Bounded>,
    /// The errors of ApproxAP, for each alpha and beta.
    ap: Vec<Vec<Bounded>>,
    /// The same errors with bounds that also hold for equal scores.
    instance_ndcg: Vec<Bounded>,
    instance_ap: Vec<Vec<Bounded>>,
}

fn all_errors(setting: &Setting, subject: &Subject, alphas: &[f64], betas: &[f64]) -> Result<Errors> {
    let mut found = Errors::default();
    for (at, &alpha) in alphas.iter().enumerate() {
        setting.step(&format!("alpha = {alpha}"), at, alphas.len());
        let spec = LossSpec::new("approx_ndcg");
        found.ndcg.push(errors(subject, alpha, Measure::Ndcg(None), &spec, |_, epsilon| Some(theorem_6(epsilon)))?);
        let of_beta = |&beta: &f64| {
            let spec = LossSpec::new("approx_ap").with("beta", beta);
            let bound = |query: &ScoredQuery, epsilon| theorem_5(relevant(&query.labels), epsilon, beta);
            errors(subject, alpha, Measure::Ap(None), &spec, bound)
        };
        found.ap.push(betas.iter().map(of_beta).collect::<Result<_, _>>()?);
        let instances: Vec<Instance> = subject.queries.iter().map(|query| Instance::new(query, alpha)).collect();
        let of_instances = |of: &Bounded, bound: &dyn for<'a> Fn(&Instance<'a>) -> f64| {
            let bounds = instances.iter().map(|instance| Some(bound(instance)));
            Bounded::of(of.errors().iter().copied().zip(bounds), 1.0)
        };
        found.instance_ndcg.push(of_instances(&found.ndcg[at], &|instance| instance.of_ndcg()));
        let of_beta = |(beta, of): (&f64, &Bounded)| of_instances(of, &|instance| instance.of_ap(*beta));
        found.instance_ap.push(betas.iter().zip(&found.ap[at]).map(of_beta).collect());
    }
    Ok(found)
}

fn run(setting: &Setting) -> Result<Findings> {
    let (alphas, betas) = (setting.values("alpha"), setting.values("beta"));
    let kind = setting.source.kind();
    let mut findings = Findings::default();
    if kind == Kind::Training {
        findings.about = About::text(Material::of(setting)?.origin);
    } else {
        let subject = setting.subject(&["approx_ndcg", "approx_ap"]);
        let errors = all_errors(setting, &subject, alphas, betas)?;
        findings.about = About::queries(&subject);
        findings.tables = tables(&errors, alphas, betas);
        findings.curves = curves(&errors, alphas, betas);
        findings.claims = claims(&errors, alphas, betas);
    }
    // A ranking does not show how it was trained.
    if kind != Kind::Ranking {
        over_training::extend(&mut findings, setting, alphas, betas)?;
        theorem_7::extend(&mut findings, setting, alphas)?;
    }
    Ok(findings)
}

fn tables(errors: &Errors, alphas: &[f64], betas: &[f64]) -> Vec<Table> {
    let columns: Vec<String> = ["alpha".to_string(), "ApproxNDCG".to_string()]
        .into_iter()
        .chain(betas.iter().map(|beta| format!("ApproxAP, beta {beta}")))
        .collect();
    let table = |title: &str, ndcg: &[Bounded], ap: &[Vec<Bounded>], figure: fn(&Bounded) -> Option<f64>| {
        let row = |(at, alpha): (usize, &f64)| {
            let figures = [&ndcg[at]].into_iter().chain(&ap[at]).map(figure);
            (alpha.to_string(), figures.collect::<Vec<_>>())
        };
        Table::new(title, columns.clone()).with(alphas.iter().enumerate().map(row))
    };
    let of_theorem = |title, figure| table(title, &errors.ndcg, &errors.ap, figure);
    let of_instances = "bound of the instance, mean over queries, those with equal scores too";
    vec![
        of_theorem("rho, the mean error over queries", Bounded::mean),
        of_theorem("largest error of a query", Bounded::largest),
        of_theorem("queries that the theorem bounds", |of| Some(of.bounded() as f64)),
        of_theorem("queries that it bounds below 1", |of| Some(of.exceedable() as f64)),
        table(of_instances, &errors.instance_ndcg, &errors.instance_ap, Bounded::mean_bound),
    ]
}

fn curves(errors: &Errors, alphas: &[f64], betas: &[f64]) -> Vec<Curves> {
    let ndcg = Curves::new("rho of ApproxNDCG, the mean error over queries", "alpha", alphas)
        .curve("ApproxNDCG", errors.ndcg.iter().map(Bounded::mean));
    let ap = Curves::new("rho of ApproxAP, the mean error over queries", "beta", betas);
    let ap = alphas
        .iter()
        .zip(&errors.ap)
        .fold(ap, |curves, (alpha, of)| curves.curve(format!("alpha {alpha}"), of.iter().map(Bounded::mean)));
    vec![ndcg, ap]
}

fn claims(errors: &Errors, alphas: &[f64], betas: &[f64]) -> Vec<Claim> {
    let mut claims = Vec::new();
    let mut of_alpha = |source: &str, claim: &str, rest: &str, judged: &dyn Fn(usize) -> Judged| {
        let claim = |(at, alpha)| Claim::new(source, format!("{claim} at alpha = {alpha}{rest}"), judged(at));
        claims.extend(alphas.iter().enumerate().map(claim));
    };
    let each = "queries and values of beta";
    of_alpha("Theorem 6", "|ApproxNDCG - NDCG| < epsilon / (2 ln 2)", "", &|at| {
        Bounded::judge([&errors.ndcg[at]], "queries")
    });
    of_alpha("Theorem 5", "|ApproxAP - AP| is within its bound", ", for every beta", &|at| {
        Bounded::judge(&errors.ap[at], each)
    });
    let own = "is within the bound of its own positions";
    of_alpha("Theorem 6, of the instance", &format!("|ApproxNDCG - NDCG| {own}"), "", &|at| {
        Bounded::judge([&errors.instance_ndcg[at]], "queries")
    });
    of_alpha("Theorem 5, of the instance", &format!("|ApproxAP - AP| {own}"), ", for every beta", &|at| {
        Bounded::judge(&errors.instance_ap[at], each)
    });
    let falling = |name: &str, values: &[f64], of: &[&Bounded]| {
        falls(values.iter().zip(of).map(|(value, of)| (format!("{name} = {value}"), of.errors())))
    };
    let ndcg: Vec<&Bounded> = errors.ndcg.iter().collect();
    let judged = falling("alpha", alphas, &ndcg);
    claims.push(Claim::new("Figure 3", "the larger alpha, the smaller rho of ApproxNDCG", judged));
    for (at, beta) in betas.iter().enumerate() {
        let of: Vec<&Bounded> = errors.ap.iter().map(|of| &of[at]).collect();
        let claim = format!("the larger alpha, the smaller rho of ApproxAP at beta = {beta}");
        claims.push(Claim::new("Figure 1", claim, falling("alpha", alphas, &of)));
    }
    for (alpha, of) in alphas.iter().zip(&errors.ap) {
        let of: Vec<&Bounded> = of.iter().collect();
        let claim = format!("the larger beta, the smaller rho of ApproxAP at alpha = {alpha}");
        claims.push(Claim::new("Figure 2", claim, falling("beta", betas, &of)));
    }
    claims
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::study::Verdict;

    fn of(scores: &[f64], labels: &[f64], alpha: f64) -> (Verdict, Verdict) {
        let query = ScoredQuery { scores: scores.to_vec(), labels: labels.to_vec() };
        let subject = Subject { origin: "a test".into(), queries: vec![query] };
        let ndcg = errors(&subject, alpha, Measure::Ndcg(None), &LossSpec::new("approx_ndcg"), |_, epsilon| {
            Some(theorem_6(epsilon))
        });
        let spec = LossSpec::new("approx_ap").with("beta", 10.0);
        let ap = errors(&subject, alpha, Measure::Ap(None), &spec, |query, epsilon| {
            theorem_5(relevant(&query.labels), epsilon, 10.0)
        });
        let verdict = |of: Result<Bounded>| Bounded::judge(&[of.unwrap()], "queries").verdict;
        (verdict(ndcg), verdict(ap))
    }

    #[test]
    fn the_theorems_hold_where_scores_are_apart_and_say_nothing_where_they_are_not() {
        let labels = [1.0, 0.0, 2.0, 0.0];
        assert_eq!(of(&[0.9, 0.5, 0.2, 0.1], &labels, 40.0), (Verdict::Holds, Verdict::Holds));
        assert_eq!(of(&[0.9, 0.9, 0.2, 0.1], &labels, 40.0), (Verdict::Open, Verdict::Open), "equal scores");
        let many: Vec<f64> = (0..40).map(|i| f64::from(i) * 1e-4).collect();
        let some: Vec<f64> = (0..40).map(|i| f64::from(i % 3)).collect();
        assert_eq!(of(&many, &some, 1.0), (Verdict::Vacuous, Verdict::Open), "epsilon of 10 ranks");
    }

    /// The theorem's bound is violated if `epsilon` is set below the largest error of a position.
    #[test]
    fn a_bound_with_too_small_an_epsilon_breaks() {
        let query = ScoredQuery { scores: vec![0.9, 0.5, 0.2, 0.1], labels: vec![1.0, 0.0, 2.0, 0.0] };
        let subject = Subject { origin: "a test".into(), queries: vec![query] };
        let spec = LossSpec::new("approx_ndcg");
        let small = errors(&subject, 10.0, Measure::Ndcg(None), &spec, |_, epsilon| Some(theorem_6(0.01 * epsilon)));
        assert_eq!(Bounded::judge(&[small.unwrap()], "queries").verdict, Verdict::Fails);
    }

    #[test]
    fn sharper_truncation_of_softer_positions_is_worse() {
        // Two relevant documents at one soft position each count the other half at beta = 1, and its truth at none.
        let judge = |alpha: f64| {
            let subject = Subject::generated(30, 1);
            let of_beta = |&beta: &f64| {
                let spec = LossSpec::new("approx_ap").with("beta", beta);
                errors(&subject, alpha, Measure::Ap(None), &spec, |_, _| None).unwrap().errors().to_vec()
            };
            let found: Vec<Vec<f64>> = [0.1, 10.0].iter().map(of_beta).collect();
            falls([("0.1".into(), &found[0]), ("10".into(), &found[1])]).verdict
        };
        assert_eq!(judge(1e4), Verdict::Holds);
    }
}
