//! Compares approximate positions with ranks. See approximation-framework, Table 1, Theorem 3, Corollary 4 and section
//! 5.
//!
//! With the logistic step `phi`, the position is `p_x = 1 + sum_{y != x} phi(alpha (s_y - s_x))`. It differs from the
//! rank of `x` by less than `(n - 1) / (exp(alpha delta_x) + 1)`. Here `delta_x` is the smallest difference between the
//! score of `x` and another score. Each other document adds an error of at most 1/2, so a bound of `(n - 1) / 2` is
//! vacuous. The paper claims the same for other steps, without a proof. The bound fails for the arctan step, whose tail
//! decreases only as fast as `1 / t`.

use super::*;

pub(super) const ENTRY: StudyEntry = StudyEntry {
    name: "position-accuracy",
    summary: "how far approximate positions are from ranks, within the bound of Theorem 3",
    paper: "Qin, Liu and Li, A general approximation framework for direct optimization of IR measures, Table 1, Theorem 3, Corollary 4",
    parameters: &[Parameter { name: "alpha", values: &[1.0, 10.0, 100.0, 1000.0], domain: Domain::Positive }],
    takes: &[GENERATED, RANKING, RUNS],
    run,
};

/// The scores and approximate positions of Table 1, for alpha = 100.
const TABLE_1: [(f64, f64); 5] =
    [(4.20074, 2.00118), (3.12378, 4.0), (4.40918, 1.0), (1.55258, 5.0), (4.13330, 2.99882)];

const STEPS: [(&str, Step); 4] =
    [("logistic", Step::Logistic), ("tanh", Step::Tanh), ("erf", Step::Erf), ("arctan", Step::Arctan)];

/// How far positions are from ranks, for one step function and one alpha.
#[derive(Default)]
struct Errors {
    /// The error of each document's position.
    documents: Bounded,
    /// The largest error in each query.
    queries: Bounded,
    /// The mean error in each query.
    means: Vec<f64>,
}

fn errors(subject: &Subject, alpha: f64, step: Step) -> Errors {
    let mut found = Errors::default();
    for query in &subject.queries {
        let n = query.scores.len();
        // The largest error that a position can have, whatever the step.
        let most = (n - 1) as f64 / 2.0;
        let (approximate, ranks) = positions(&query.scores, alpha, step);
        let errors: Vec<f64> = approximate.iter().zip(&ranks).map(|(position, rank)| (position - rank).abs()).collect();
        for (x, (score, error)) in query.scores.iter().zip(&errors).enumerate() {
            let others = query.scores.iter().enumerate().filter(|(y, _)| *y != x);
            let delta = others.map(|(_, other)| (score - other).abs()).fold(f64::INFINITY, f64::min);
            found.documents.add(*error, theorem_3(n, alpha, delta), most);
        }
        let epsilon = errors.iter().copied().fold(0.0, f64::max);
        found.queries.add(epsilon, theorem_3(n, alpha, query.smallest_difference()), most);
        found.means.push(mean(&errors));
    }
    found
}

fn run(setting: &Setting) -> Result<Findings> {
    let (subject, alphas) = (setting.subject(&["approx_ndcg", "approx_ap"]), setting.values("alpha"));
    let of_step = |(number, (name, step)): (usize, (_, _))| {
        setting.step(name, number, STEPS.len());
        (name, alphas.iter().map(|&alpha| errors(&subject, alpha, step)).collect())
    };
    let of_steps: Vec<(&str, Vec<Errors>)> = STEPS.into_iter().enumerate().map(of_step).collect();
    let columns = STEPS.iter().flat_map(|(name, _)| [format!("{name}, mean"), format!("{name}, largest")]);
    let columns = ["alpha".to_string()].into_iter().chain(columns);
    let row = |(at, alpha): (usize, &f64)| {
        let documents = of_steps.iter().map(|(_, of)| &of[at].documents);
        (alpha.to_string(), documents.flat_map(|of| [of.mean(), of.largest()]).collect::<Vec<_>>())
    };
    let table = Table::new("error of positions, over documents", columns).with(alphas.iter().enumerate().map(row));
    let curves = Curves::new("mean error of positions, by step", "alpha", alphas, [Scale::Log; 2]);
    let curves = of_steps
        .iter()
        .fold(curves, |curves, (name, of)| curves.curve(*name, of.iter().map(|errors| errors.documents.mean())));
    let (_, logistic) = &of_steps[0];
    let of_queries = Bounded::judge(logistic.iter().map(|errors| &errors.queries), "queries");
    let claim = "the largest error of a query is less than (n - 1) / (exp(alpha delta) + 1)";
    let mut claims = vec![
        of_documents(logistic, "Theorem 3", "each position is off by less than"),
        Claim::new("Corollary 4", claim, of_queries),
    ];
    for (name, of) in &of_steps[1..] {
        let source = format!("section 4.2, {name}");
        claims.push(of_documents(of, &source, "the conclusions extend to this step: off by less than"));
    }
    let means = alphas.iter().zip(logistic).map(|(alpha, of)| (format!("alpha = {alpha}"), &of.means));
    let claim = "the larger alpha, the closer positions are to ranks (mean error per query)";
    claims.push(Claim::new("section 5.1", claim, falls(means)));
    claims.extend(worked_example()?);
    Ok(Findings { about: About::queries(&subject), tables: vec![table, table_1()], curves: vec![curves], claims })
}

fn of_documents(of: &[Errors], source: &str, claim: &str) -> Claim {
    let claim = format!("{claim} (n - 1) / (exp(alpha delta_x) + 1)");
    Claim::new(source, claim, Bounded::judge(of.iter().map(|errors| &errors.documents), "positions"))
}

fn table_1() -> Table {
    let (approximate, ranks) = positions(&TABLE_1.map(|(score, _)| score), 100.0, Step::Logistic);
    let row = |(x, (score, published)): (usize, &(f64, f64))| {
        (format!("x{}", x + 1), [*score, ranks[x], approximate[x], *published].map(Some))
    };
    let columns = ["document", "score", "rank", "position", "published"];
    Table::new("Table 1, alpha = 100", columns).with(TABLE_1.iter().enumerate().map(row))
}

/// Checks Table 1 and the numbers that section 5 derives from it.
fn worked_example() -> Result<Vec<Claim>> {
    let scores = TABLE_1.map(|(score, _)| score);
    let (approximate, _) = positions(&scores, 100.0, Step::Logistic);
    let printed = || approximate.iter().zip(TABLE_1.map(|(_, published)| published));
    let verdicts = printed().map(|(found, published)| Judged::printed(*found, published, 5).verdict);
    let off = printed().map(|(found, published)| (found - published).abs()).fold(0.0, f64::max);
    let positions = Judged::new(Verdict::all(verdicts), format!("off by {off:.1e} at most"));
    let epsilon = largest_error(&scores, 100.0);
    let corollary = 4.0 / ((0.06744f64 * 100.0).exp() + 1.0);
    let below_corollary = Judged::less(("epsilon", epsilon), ("bound", corollary));
    // The paper enters its rounded epsilon.
    let (of_map, of_ndcg) = (theorem_5(1, 0.00118, 100.0).unwrap_or(f64::NAN), theorem_6(0.00118));
    let of_map = Judged::less(("bound", of_map), ("printed", 0.0024));
    let ap = Judged::less(("largest error", largest_of_ap(&scores)?), ("printed", 0.0024));
    let ndcg = Judged::less(("largest error", largest_of_ndcg(&scores)?), ("bound", theorem_6(epsilon)));
    let claims = [
        ("Table 1", "positions to five decimals", positions.number("largest difference", off)),
        ("section 5.1", "epsilon = 0.00118 for Table 1", Judged::printed(epsilon, 0.00118, 5)),
        ("section 5.1", "its bound is 0.00471", Judged::printed(corollary, 0.00471, 5)),
        ("section 5.2", "epsilon is below its bound for Table 1", below_corollary),
        ("section 5.2", "Theorem 5 gives less than .0024 for one relevant document and beta = 100", of_map),
        ("section 5.2", "ApproxAP is off by less than .0024, whichever document of Table 1 is relevant", ap),
        ("section 5.2", "epsilon / (2 ln 2) = .00085 for Table 1", Judged::printed(of_ndcg, 0.00085, 5)),
        ("section 5.2", "ApproxNDCG is off by less than epsilon / (2 ln 2), for all labels 0 to 2 of Table 1", ndcg),
    ];
    Ok(claims.into_iter().map(|(source, claim, judged)| Claim::new(source, claim, judged)).collect())
}

/// Returns the largest error of ApproxAP on Table 1, over all choices of a single relevant document.
fn largest_of_ap(scores: &[f64]) -> Result<f64> {
    let spec = LossSpec::new("approx_ap").with("alpha", 100.0).with("beta", 100.0);
    let chosen = (0..scores.len()).map(|chosen| (0..scores.len()).map(|i| f64::from(u8::from(i == chosen))).collect());
    largest_over(scores, chosen.collect(), &spec, Measure::Ap(None))
}

/// Returns the largest error of ApproxNDCG on Table 1, over all assignments of labels from 0 to 2.
fn largest_of_ndcg(scores: &[f64]) -> Result<f64> {
    let spec = LossSpec::new("approx_ndcg").with("alpha", 100.0);
    let count = scores.len() as u32;
    let labeled = (1..3usize.pow(count)).map(|code| (0..count).map(|i| (code / 3usize.pow(i) % 3) as f64).collect());
    // A query of one label has nothing to learn.
    let labeled = labeled.filter(|labels: &Vec<f64>| labels.iter().any(|label| *label != labels[0]));
    largest_over(scores, labeled.collect(), &spec, Measure::Ndcg(None))
}

fn largest_over(scores: &[f64], labeled: Vec<Vec<f64>>, spec: &LossSpec, measure: Measure) -> Result<f64> {
    let query = |labels| ScoredQuery { scores: scores.to_vec(), labels };
    let subject = Subject { origin: String::new(), queries: labeled.into_iter().map(query).collect() };
    Ok(largest_difference(&subject.surrogates(spec)?, &subject.measured(measure)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of_scores(scores: &[f64]) -> Subject {
        let labels = (0..scores.len()).map(|i| (i % 2) as f64).collect();
        Subject { origin: "a test".into(), queries: vec![ScoredQuery { scores: scores.to_vec(), labels }] }
    }

    fn verdict(scores: &[f64], alpha: f64, step: Step) -> Verdict {
        of_documents(&[errors(&of_scores(scores), alpha, step)], "", "").verdict
    }

    #[test]
    fn the_bound_holds_of_the_logistic_step_and_breaks_on_the_tail_of_arctan() {
        let apart = [3.0, 2.0, 1.0];
        for (name, step) in &STEPS[..3] {
            assert_eq!(verdict(&apart, 2.0, *step), Verdict::Holds, "{name}");
        }
        assert_eq!(verdict(&apart, 5.0, Step::Arctan), Verdict::Fails);
        assert_eq!(verdict(&apart, 0.5, Step::Arctan), Verdict::Holds, "near 0 even arctan is steep enough");
        assert_eq!(verdict(&[1.0, 1.0], 5.0, Step::Logistic), Verdict::Open, "equal scores are not covered");
        assert_eq!(verdict(&[1.0, 1.0 + 1e-12], 1.0, Step::Logistic), Verdict::Vacuous);
    }

    #[test]
    fn the_figures_of_section_5_are_reproduced() {
        for claim in worked_example().unwrap() {
            assert_eq!(claim.verdict, Verdict::Holds, "{claim:?}");
        }
        assert!((theorem_5(1, 0.00118, 100.0).unwrap() - 0.002_362_8).abs() < 5e-8);
        assert!((0.00118 / (2.0 * std::f64::consts::LN_2) - 0.000_851_19).abs() < 5e-9);
    }
}
