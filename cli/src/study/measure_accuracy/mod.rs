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

use self::instance::Instance;
use super::*;

pub(super) const ENTRY: StudyEntry = StudyEntry {
    name: "measure-accuracy",
    summary: "how far ApproxNDCG and ApproxAP are from NDCG and AP, within the bounds of Theorems 5 to 7",
    paper: "Qin, Liu and Li, A general approximation framework for direct optimization of IR measures, Figures 1 to 3, Theorems 5 to 7",
    parameters: &[
        Parameter { name: "alpha", values: &[1.0, 10.0, 50.0, 100.0, 1000.0], domain: Domain::Positive },
        Parameter { name: "beta", values: &[1.0, 10.0, 20.0, 50.0, 100.0], domain: Domain::Positive },
    ],
    takes: &[GENERATED, RANKING, TRAINING, RUNS],
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

/// The errors at one alpha: of ApproxNDCG, then of ApproxAP for each beta.
struct AtAlpha {
    /// The errors with the bounds from the theorems.
    theorem: Vec<Bounded>,
    /// The same errors with the bounds for single queries, which also hold for equal scores.
    instance: Vec<Bounded>,
}

impl AtAlpha {
    fn new(subject: &Subject, alpha: f64, betas: &[f64]) -> Result<Self> {
        let ndcg = LossSpec::new("approx_ndcg");
        let ndcg = errors(subject, alpha, Measure::Ndcg(None), &ndcg, |_, epsilon| Some(theorem_6(epsilon)))?;
        let mut theorem = vec![ndcg];
        for &beta in betas {
            let ap = LossSpec::new("approx_ap").with("beta", beta);
            let bound = |query: &ScoredQuery, epsilon| theorem_5(relevant(&query.labels), epsilon, beta);
            theorem.push(errors(subject, alpha, Measure::Ap(None), &ap, bound)?);
        }
        let instances: Vec<Instance> = subject.queries.iter().map(|query| Instance::new(query, alpha)).collect();
        let of_instances = |(at, of): (usize, &Bounded)| {
            let bound = |instance: &Instance| match at.checked_sub(1) {
                None => Some(instance.of_ndcg()),
                Some(beta) => Some(instance.of_ap(betas[beta])),
            };
            Bounded::of(of.errors.iter().copied().zip(instances.iter().map(bound)), 1.0)
        };
        let instance = theorem.iter().enumerate().map(of_instances).collect();
        Ok(Self { theorem, instance })
    }
}

fn run(setting: &Setting) -> Result<Findings> {
    let (alphas, betas) = (setting.values("alpha"), setting.values("beta"));
    let mut findings = Findings::default();
    if let Source::Training(material) = setting.source {
        findings.about = About::text(material.origin.clone());
    } else {
        let subject = setting.subject(&["approx_ndcg", "approx_ap"]);
        let errors = setting.each("alpha", alphas, |alpha| AtAlpha::new(&subject, alpha, betas))?;
        findings.about = About::queries(&subject);
        findings.tables = tables(&errors, alphas, betas);
        findings.curves = curves(&errors, alphas, betas);
        findings.claims = claims(&errors, alphas, betas);
    }
    // A ranking does not show how it was trained.
    if !matches!(setting.source, Source::Ranking(_)) {
        over_training::extend(&mut findings, setting, alphas, betas)?;
        theorem_7::extend(&mut findings, setting, alphas)?;
    }
    Ok(findings)
}

fn tables(errors: &[AtAlpha], alphas: &[f64], betas: &[f64]) -> Vec<Table> {
    let table = |title: &str, of: fn(&AtAlpha) -> &Vec<Bounded>, figure: fn(&Bounded) -> Option<f64>| {
        let of_betas = betas.iter().map(|beta| format!("ApproxAP, beta {beta}"));
        let columns = ["alpha", "ApproxNDCG"].map(String::from).into_iter().chain(of_betas);
        let row = |(alpha, at): (&f64, &AtAlpha)| (alpha.to_string(), of(at).iter().map(figure).collect::<Vec<_>>());
        Table::new(title, columns).with(alphas.iter().zip(errors).map(row))
    };
    let of_instances = "bound of the instance, mean over queries, those with equal scores too";
    vec![
        table("rho, the mean error over queries", |at| &at.theorem, Bounded::mean),
        table("largest error of a query", |at| &at.theorem, Bounded::largest),
        table("queries that the theorem bounds", |at| &at.theorem, |of| Some(of.bounded() as f64)),
        table("queries that it bounds below 1", |at| &at.theorem, |of| Some(of.exceedable() as f64)),
        table(of_instances, |at| &at.instance, Bounded::mean_bound),
    ]
}

fn curves(errors: &[AtAlpha], alphas: &[f64], betas: &[f64]) -> Vec<Curves> {
    let ndcg = Curves::new("rho of ApproxNDCG, the mean error over queries", "alpha", alphas, [Scale::Log; 2]);
    let ndcg = ndcg.curve("ApproxNDCG", errors.iter().map(|at| at.theorem[0].mean()));
    let ap = Curves::new("rho of ApproxAP, the mean error over queries", "beta", betas, [Scale::Log; 2]);
    let ap = alphas.iter().zip(errors).fold(ap, |curves, (alpha, at)| {
        curves.curve(format!("alpha {alpha}"), at.theorem[1..].iter().map(Bounded::mean))
    });
    vec![ndcg, ap]
}

fn claims(errors: &[AtAlpha], alphas: &[f64], betas: &[f64]) -> Vec<Claim> {
    let mut claims = Vec::new();
    let mut of_alpha = |source: &str, claim: &str, rest: &str, of: fn(&AtAlpha) -> &[Bounded], what: &str| {
        let claim =
            |(alpha, at)| Claim::new(source, format!("{claim} at alpha = {alpha}{rest}"), Bounded::judge(of(at), what));
        claims.extend(alphas.iter().zip(errors).map(claim));
    };
    let (every, each) = (", for every beta", "queries and values of beta");
    of_alpha("Theorem 6", "|ApproxNDCG - NDCG| < epsilon / (2 ln 2)", "", |at| &at.theorem[..1], "queries");
    of_alpha("Theorem 5", "|ApproxAP - AP| is within its bound", every, |at| &at.theorem[1..], each);
    let own = "is within the bound of its own positions";
    let claim = format!("|ApproxNDCG - NDCG| {own}");
    of_alpha("Theorem 6, of the instance", &claim, "", |at| &at.instance[..1], "queries");
    let claim = format!("|ApproxAP - AP| {own}");
    of_alpha("Theorem 5, of the instance", &claim, every, |at| &at.instance[1..], each);
    let over_alphas = |column: usize| {
        let of_alphas = alphas.iter().zip(errors);
        falls(of_alphas.map(|(alpha, at)| (format!("alpha = {alpha}"), &at.theorem[column].errors)))
    };
    claims.push(Claim::new("Figure 3", "the larger alpha, the smaller rho of ApproxNDCG", over_alphas(0)));
    for (at, beta) in betas.iter().enumerate() {
        let claim = format!("the larger alpha, the smaller rho of ApproxAP at beta = {beta}");
        claims.push(Claim::new("Figure 1", claim, over_alphas(at + 1)));
    }
    for (alpha, at) in alphas.iter().zip(errors) {
        let of_betas = betas.iter().zip(&at.theorem[1..]);
        let falling = falls(of_betas.map(|(beta, of)| (format!("beta = {beta}"), &of.errors)));
        let claim = format!("the larger beta, the smaller rho of ApproxAP at alpha = {alpha}");
        claims.push(Claim::new("Figure 2", claim, falling));
    }
    claims
}

#[cfg(test)]
mod tests {
    use super::*;

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
                errors(&subject, alpha, Measure::Ap(None), &spec, |_, _| None).unwrap().errors
            };
            let found: Vec<Vec<f64>> = [0.1, 10.0].iter().map(of_beta).collect();
            falls([("0.1".into(), &found[0]), ("10".into(), &found[1])]).verdict
        };
        assert_eq!(judge(1e4), Verdict::Holds);
    }
}
