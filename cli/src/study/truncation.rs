//! Trains SmoothRank with one cut-off and tests it at another (smoothrank, Table 3).
//!
//! SmoothRank is trained on SmoothNDCG@k for each `k`, and tested with NDCG@1, NDCG@5 and NDCG@10. The paper finds that
//! training with a larger `k` is better, even when the ranker is tested at a smaller cut-off. All rankers are tested on
//! the same queries, so that differences are paired. If finished runs of SmoothRank with at least two cut-offs are
//! given, the study uses these runs instead of training new ones.

use super::*;

pub(super) const ENTRY: StudyEntry = StudyEntry {
    name: "truncation",
    summary: "whether training on longer prefixes of the list is better, whatever is tested",
    paper: "Chapelle and Wu, Gradient descent optimization of smoothed information retrieval metrics, Table 3",
    parameters: &[Parameter { name: "k", values: &[1.0, 5.0, 10.0, 50.0], domain: Domain::Whole(1, 10_000) }],
    takes: &[GENERATED, TRAINING, RUNS],
    run,
};

/// The cut-offs of NDCG in the test.
const TESTED: [usize; 3] = [1, 5, 10];

/// A ranker trained with the cut-off `k`, and the NDCG of each test query at each test cut-off.
struct Trained {
    k: usize,
    tested: Vec<Vec<f64>>,
}

fn run(setting: &Setting) -> Result<Findings> {
    if let Source::Runs(runs) = setting.source
        && let Some(findings) = of_runs(runs, setting.values("k"))?
    {
        return Ok(findings);
    }
    let material = Material::of(setting)?;
    let ks = setting.values("k");
    let (steps, last_sigma) = if setting.quick { (5, 1.0) } else { (30, 1.0 / 64.0) };
    let lambdas = if setting.quick { vec![0.1] } else { vec![0.01, 0.1, 1.0] };
    let of_k = |k: f64| {
        let learner = json!({"kind": "smooth_rank", "lambda": lambdas, "steps": steps, "last_sigma": last_sigma});
        let fit = material.fit(&learner, Some(LossSpec::new("smooth_ndcg").with("k", k as usize)), true)?;
        Trained::of(k as usize, &material.scored(&fit, material.test()?)?)
    };
    let found = setting.each("k", ks, of_k)?;
    Ok(findings(&found, About::text(material.origin)))
}

/// Compares given runs of SmoothRank, if there are at least two cut-offs `k` among them.
fn of_runs(runs: &Runs, ks: &[f64]) -> Result<Option<Findings>> {
    let mut found = Vec::new();
    for &k in ks {
        let of_k = |run: &&RunSubject| {
            let at_k = run.cut_off == Some(k as usize);
            at_k && run.learner == "smooth_rank" && run.loss.as_deref() == Some("smooth_ndcg")
        };
        if let Some(run) = runs.runs.iter().find(of_k) {
            found.push((Trained::of(k as usize, &run.subject)?, run));
        }
    }
    let (trained, examined): (Vec<Trained>, Vec<&RunSubject>) = found.into_iter().unzip();
    Ok((trained.len() > 1).then(|| findings(&trained, About::runs(examined))))
}

fn findings(found: &[Trained], about: About) -> Findings {
    Findings { about, tables: vec![table(found)], curves: vec![curves(found)], claims: claims(found) }
}

impl Trained {
    fn of(k: usize, subject: &Subject) -> Result<Self> {
        let of = |cut_off| subject.measured(Measure::Ndcg(Some(cut_off)));
        Ok(Self { k, tested: TESTED.into_iter().map(of).collect::<Result<_>>()? })
    }
}

fn table(found: &[Trained]) -> Table {
    let columns = TESTED.iter().flat_map(|k| [format!("NDCG@{k}"), "\u{b1}".to_string()]);
    let columns = std::iter::once("trained at k".to_string()).chain(columns);
    let row = |of: &Trained| {
        let means = of.tested.iter().map(|values| Mean::of(values));
        (of.k.to_string(), means.flat_map(|mean| [Some(mean.mean), Some(mean.error)]).collect::<Vec<_>>())
    };
    let title = "NDCG of the test queries (Table 3), means with standard errors";
    Table::new(title, columns).with(found.iter().map(row))
}

fn curves(found: &[Trained]) -> Curves {
    let ks: Vec<f64> = found.iter().map(|of| of.k as f64).collect();
    let plot = Curves::new("NDCG of the test queries", "trained at k", &ks, [Scale::Log, Scale::Linear]);
    TESTED
        .iter()
        .enumerate()
        .fold(plot, |plot, (at, k)| plot.curve(format!("NDCG@{k}"), found.iter().map(|of| Some(mean(&of.tested[at])))))
}

fn claims(found: &[Trained]) -> Vec<Claim> {
    let of_tested = |(at, k): (usize, &usize)| {
        let of_k: Vec<(usize, &[f64])> = found.iter().map(|of| (of.k, of.tested[at].as_slice())).collect();
        Claim::new("Table 3", format!("the larger k in training, the better NDCG@{k}"), larger_is_better(&of_k))
    };
    TESTED.iter().enumerate().map(of_tested).collect()
}

/// Judges whether training with the largest `k` is better than training with any other.
fn larger_is_better(of_k: &[(usize, &[f64])]) -> Judged {
    let Some(((largest, values), others)) = of_k.split_last().filter(|(_, others)| !others.is_empty()) else {
        return Judged::new(Verdict::Open, "there is one k");
    };
    let gains: Vec<(usize, Mean)> = others.iter().map(|(k, other)| (*k, Mean::of_differences(values, other))).collect();
    let words: Vec<String> = gains.iter().map(|(k, gain)| format!("{gain} on k = {k}")).collect();
    let best = of_k.iter().max_by(|left, right| mean(left.1).total_cmp(&mean(right.1)));
    let best = best.map_or(*largest, |(k, _)| *k);
    let verdict = Verdict::all(gains.iter().map(|(_, gain)| gain.above_zero()));
    let judged = Judged::new(verdict, format!("k = {largest} gains {}; best mean at k = {best}", words.join(", ")));
    gains.iter().fold(judged, |judged, (k, gain)| judged.number(format!("gain on k = {k}"), gain.mean))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::study::source::tests::runs;

    #[test]
    fn a_larger_k_is_better_only_beyond_its_standard_errors() {
        let (low, high) = ([0.3, 0.4, 0.5, 0.2], [0.41, 0.5, 0.62, 0.3]);
        let judge = |first: &[f64], last: &[f64]| larger_is_better(&[(1, first), (50, last)]).verdict;
        assert_eq!(judge(&low, &high), Verdict::Holds);
        assert_eq!(judge(&high, &low), Verdict::Fails);
        assert_eq!(judge(&low, &[0.2, 0.5, 0.45, 0.25]), Verdict::Open);
        assert_eq!(larger_is_better(&[(1, &low)]).verdict, Verdict::Open);
    }

    #[test]
    fn runs_stand_in_for_training_where_two_cut_offs_were_kept() {
        let subject = Subject::generated(4, 1);
        let run = |loss: &'static str, k: Option<usize>| ("smooth_rank", Some(loss), k, subject.clone());
        let read = |of: &[_]| of_runs(&runs(of), &[1.0, 5.0, 50.0]).unwrap();
        let found = read(&[run("smooth_ndcg", Some(50)), run("smooth_ap_rank", Some(5)), run("smooth_ndcg", Some(1))]);
        let rows: Vec<String> = found.unwrap().tables[0].rows.iter().map(|(name, _)| name.clone()).collect();
        assert_eq!(rows, ["1", "50"]);
        assert!(read(&[run("smooth_ndcg", Some(5)), run("smooth_ndcg", Some(7))]).is_none(), "one of the values of k");
    }
}
