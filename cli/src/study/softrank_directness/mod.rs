//! Compares SoftNDCG with NDCG (softrank-directness, Theorem 2), and the rankers that maximize them (Theorem 1). The
//! optimal rankers are computed for a small problem (`theorem_1.rs`). For real data, the study uses the best rankers
//! among several instead.
//!
//! Let `delta` be the smallest difference between two scores. Let
//! `e_1 = (n - 1) sigma / (2 delta sqrt(pi)) exp(-delta^2 / (4 sigma^2))`. Let `e_3` be a bound on the variance of a
//! rank, and `e_2 = sqrt(e_3 / (1 - 5 e_3)) + 5 e_3`. Then SoftNDCG and NDCG differ by at most
//! `2^max(y) n (e_1 + e_2)`. The gain is `2^y`, as in the paper. The study judges three forms of the theorem:
//!
//! * The stated form has `e_3 = 1 - erf^2(delta / (2 sigma))` if `(n - 1) e_3 < 1`. It lacks the factor `(n - 1) / 4`,
//!   which appears in the proof. The condition is also weaker than the one in the proof, which uses `4 / 5` instead of
//!   `1`.
//! * The proved form has `e_3 = (n - 1) / 4 (1 - erf^2(delta / (2 sigma)))` if `5 e_3 < 1`.
//! * The corrected form is the proved form with `e_1 / ln 2` in place of `e_1`. Equation (1) of the proof lacks the
//!   factor `1 / ln 2`, which appears in the derivative of `1 / log2(2 + r)`. Two documents with `delta = 4 sigma`
//!   violate the equation.
//!
//! Both measures lie in `[0, 1]`, so a bound of 1 or more is vacuous.

mod theorem_1;

use std::f64::consts::{LN_2, PI};

use statrs::function::erf::erfc;

use self::theorem_1::{Problem, exact, judge, judge_pool, soft_ndcg};
use super::*;

pub(super) const ENTRY: StudyEntry = StudyEntry {
    name: "softrank-directness",
    summary: "how far SoftNDCG is from NDCG, within the bound of Theorem 2",
    paper: "He and Liu, Are algorithms directly optimizing IR measures really direct?, Theorems 1 and 2",
    parameters: &[Parameter { name: "sigma", values: &[0.001, 0.01, 0.1, 1.0], domain: Domain::Positive }],
    takes: &[GENERATED, RANKING, RUNS],
    run,
};

/// A form of Theorem 2, either as stated, as proved, or as corrected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    Stated,
    Proved,
    Corrected,
}

const FORMS: [(Form, &str); 3] = [
    (Form::Stated, "Theorem 2, as stated"),
    (Form::Proved, "Theorem 2, as proved"),
    (Form::Corrected, "Theorem 2, corrected"),
];

/// Returns `epsilon_1`, the bound of equation (1), which lacks the factor `1 / ln 2`.
fn epsilon_1(documents: usize, delta: f64, sigma: f64) -> f64 {
    (documents - 1) as f64 * sigma / (2.0 * delta * PI.sqrt()) * (-(delta / (2.0 * sigma)).powi(2)).exp()
}

impl ScoredQuery {
    /// Returns the bound of Theorem 2 in one of its forms. Returns `None` if scores are equal, if the condition does
    /// not hold, or if a square root is undefined.
    fn theorem_2(&self, sigma: f64, form: Form) -> Option<f64> {
        let (documents, delta) = (self.scores.len(), self.smallest_difference());
        let n = documents as f64;
        // 1 - erf^2 without cancellation.
        let missed = erfc(delta / (2.0 * sigma));
        let variance = missed * (2.0 - missed);
        let e_1 = epsilon_1(documents, delta, sigma);
        let (e_1, e_3, covered) = match form {
            Form::Stated => (e_1, variance, (n - 1.0) * variance < 1.0),
            Form::Proved => (e_1, (n - 1.0) / 4.0 * variance, true),
            Form::Corrected => (e_1 / LN_2, (n - 1.0) / 4.0 * variance, true),
        };
        let e_2 = (e_3 / (1.0 - 5.0 * e_3)).sqrt() + 5.0 * e_3;
        let largest_label = self.labels.iter().copied().fold(0.0, f64::max);
        (delta > 0.0 && covered && 5.0 * e_3 < 1.0).then_some(largest_label.exp2() * n * (e_1 + e_2))
    }
}

/// Returns the left side of equation (1): the largest `|D(r_j) - D(mu_j)|` over the documents of a query. `r_j` is the
/// rank, counted from 0, and `mu_j` is its expectation.
fn discount_error(scores: &[f64], sigma: f64) -> f64 {
    let discount = |rank: f64| 1.0 / (2.0 + rank).log2();
    let of = |j: usize| {
        let others = || scores.iter().enumerate().filter(move |(i, _)| *i != j).map(|(_, score)| score - scores[j]);
        let rank = others().filter(|difference| *difference > 0.0).count() as f64;
        let shift: f64 = others().map(|ahead| -ahead.signum() * erfc(ahead.abs() / (2.0 * sigma)) / 2.0).sum();
        (discount(rank) - discount(rank + shift)).abs()
    };
    (0..scores.len()).map(of).fold(0.0, f64::max)
}

/// The errors of SoftNDCG for all queries, for a single value of sigma.
#[derive(Default)]
struct Errors {
    soft: Vec<f64>,
    /// The error of each query and its bound, for each form of the theorem.
    bounded: [Bounded; 3],
    equation_1: Bounded,
}

fn errors(subject: &Subject, exact: &[f64], sigma: f64) -> Result<Errors> {
    let spec = soft_ndcg(sigma);
    let mut found = Errors::default();
    for (query, exact) in subject.queries.iter().zip(exact) {
        let bounds = FORMS.map(|(form, _)| query.theorem_2(sigma, form));
        // The bound may be tiny, so the formula is evaluated without an approximation.
        let evaluation = if bounds.iter().any(Option::is_some) { "recursion" } else { "auto" };
        let soft = query.surrogate(&spec.with("evaluation", evaluation))?;
        found.soft.push(soft);
        for (bounded, bound) in found.bounded.iter_mut().zip(bounds) {
            bounded.add((soft - exact).abs(), bound, 1.0);
        }
        let (n, delta) = (query.scores.len(), query.smallest_difference());
        let bound = (delta > 0.0).then(|| epsilon_1(n, delta, sigma));
        found.equation_1.add(discount_error(&query.scores, sigma), bound, 1.0);
    }
    Ok(found)
}

fn run(setting: &Setting) -> Result<Findings> {
    let (subject, sigmas) = (setting.subject(&["soft_ndcg"]), setting.values("sigma"));
    let exact = exact(&subject)?;
    let of_sigma = setting.each("sigma", sigmas, |sigma| errors(&subject, &exact, sigma))?;
    let mut tables = vec![table(sigmas, &of_sigma, mean(&exact)), counts(sigmas, &of_sigma)];
    let mut claims = claims(sigmas, &of_sigma);
    let theorem_1 = match setting.source {
        Source::Generated { seed, .. } => {
            let problem = Problem::generated(if setting.quick { 6 } else { 20 }, *seed);
            Some(judge(&problem, sigmas, |at| setting.step("Theorem 1", at, sigmas.len()))?)
        }
        Source::Runs(runs) => Some(judge_pool(&runs.runs, sigmas)?),
        _ => None,
    };
    if let Some((table, of_theorem_1)) = theorem_1 {
        tables.push(table);
        claims.extend(of_theorem_1);
    }
    let curves = Curves::new("|SoftNDCG - NDCG|", "sigma", sigmas, [Scale::Log; 2])
        .curve("rho, the mean", of_sigma.iter().map(|of| of.bounded[0].mean()))
        .curve("largest", of_sigma.iter().map(|of| of.bounded[0].largest()));
    Ok(Findings { about: About::queries(&subject), tables, curves: vec![curves], claims })
}

fn table(sigmas: &[f64], of_sigma: &[Errors], ndcg: f64) -> Table {
    let columns = ["sigma", "SoftNDCG", "NDCG", "rho", "largest error"];
    let row = |(sigma, of): (&f64, &Errors)| {
        let errors = &of.bounded[0];
        (sigma.to_string(), [Some(mean(&of.soft)), Some(ndcg), errors.mean(), errors.largest()])
    };
    Table::new("SoftNDCG next to NDCG, means over queries", columns).with(sigmas.iter().zip(of_sigma).map(row))
}

fn counts(sigmas: &[f64], of_sigma: &[Errors]) -> Table {
    let columns = ["sigma", "stated", "below 1", "proved", "below 1", "corrected", "below 1"];
    let row = |(sigma, of): (&f64, &Errors)| {
        let counts = of.bounded.iter().flat_map(|of| [of.bounded(), of.exceedable()]);
        (sigma.to_string(), counts.map(|count| Some(count as f64)).collect::<Vec<_>>())
    };
    let title = "queries that Theorem 2 bounds, and those that it bounds below 1, by form";
    Table::new(title, columns).with(sigmas.iter().zip(of_sigma).map(row))
}

fn claims(sigmas: &[f64], of_sigma: &[Errors]) -> Vec<Claim> {
    let mut claims = Vec::new();
    for (number, (_, source)) in FORMS.iter().enumerate() {
        for (sigma, of) in sigmas.iter().zip(of_sigma) {
            let claim = format!("|SoftNDCG - NDCG| <= 2^max(y) n (e_1 + e_2) at sigma = {sigma}");
            claims.push(Claim::new(*source, claim, Bounded::judge([&of.bounded[number]], "queries")));
        }
    }
    let claim = "|D(rank) - D(expected rank)| < e_1, over all values of sigma";
    let judged = Bounded::judge(of_sigma.iter().map(|of| &of.equation_1), "queries and values of sigma");
    claims.push(Claim::new("Theorem 2, equation (1)", claim, judged));
    let error = ("|D(rank) - D(expected rank)|", discount_error(&[4.0, 0.0], 1.0));
    let judged = Judged::less(error, ("e_1", epsilon_1(2, 4.0, 1.0)));
    claims.push(Claim::new("Theorem 2, equation (1)", "the same of two documents with delta = 4 sigma", judged));
    let downwards = sigmas.iter().zip(of_sigma).rev();
    let downwards = downwards.map(|(sigma, of)| (format!("sigma = {sigma}"), &of.bounded[0].errors));
    let claim = "the smaller sigma, the closer SoftNDCG is to NDCG (rho from the largest down)";
    claims.push(Claim::new("section VI", claim, falls(downwards)));
    claims
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(scores: &[f64], sigma: f64) -> [Verdict; 3] {
        let labels = (0..scores.len()).map(|i| (i % 2) as f64).collect();
        let subject =
            Subject { origin: "a test".into(), queries: vec![ScoredQuery { scores: scores.to_vec(), labels }] };
        let found = errors(&subject, &exact(&subject).unwrap(), sigma).unwrap();
        found.bounded.map(|bounded| Bounded::judge(&[bounded], "queries").verdict)
    }

    #[test]
    fn the_theorem_holds_far_apart_is_vacuous_nearer_and_silent_on_ties() {
        assert_eq!(of(&[3.0, 2.0, 1.0], 0.12), [Verdict::Holds; 3]);
        assert_eq!(of(&[3.0, 2.0, 1.0], 0.4), [Verdict::Vacuous; 3]);
        assert_eq!(of(&[3.0, 3.0, 1.0], 0.1), [Verdict::Open; 3]);
        assert_eq!(of(&[3.0, 2.0, 1.0], 3.0), [Verdict::Open; 3], "the condition does not hold");
    }

    /// A bound computed for a smaller sigma must be violated by the error at a larger one.
    #[test]
    fn the_bound_of_another_sigma_breaks() {
        let query = ScoredQuery { scores: vec![3.0, 2.0, 1.0], labels: vec![0.0, 1.0, 0.0] };
        let bound = query.theorem_2(0.1, Form::Corrected);
        let subject = Subject { origin: String::new(), queries: vec![query] };
        let error = errors(&subject, &exact(&subject).unwrap(), 0.5).unwrap().bounded[0].errors[0];
        let mut found = Bounded::default();
        found.add(error, bound, 1.0);
        assert_eq!(Bounded::judge(&[found], "queries").verdict, Verdict::Fails);
    }

    /// Computes the mean rank and the discount independently, and shows that equation (1) is violated.
    #[test]
    fn equation_1_lacks_a_factor() {
        let expected = erfc(2.0) / 2.0;
        let by_hand = (1.0 / 2f64.log2() - 1.0 / (2.0 + expected).log2())
            .abs()
            .max((1.0 / 3f64.log2() - 1.0 / (3.0 - expected).log2()).abs());
        let error = discount_error(&[4.0, 0.0], 1.0);
        assert!((error - by_hand).abs() < 1e-15);
        let bound = epsilon_1(2, 4.0, 1.0);
        assert!(error > bound + 1e-9 && error < bound / LN_2, "{error} {bound}");
        // Among more documents, whose errors in part cancel, it may hold.
        assert!(discount_error(&[5.0, 4.0, 3.0, 2.0, 1.0], 0.4) < epsilon_1(5, 1.0, 0.4));
    }
}
