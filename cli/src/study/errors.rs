//! Compares the ranking errors of two rankers, by the labels of a pair and by a query's number of pairs. See
//! direct-optimization, Figures 14 to 16.
//!
//! A pair is two documents of a query with different labels. A pair counts as an error if the lower label has the
//! higher score, and as half an error if the scores are equal. The paper finds that AdaRank makes fewer errors than
//! RankBoost on pairs with the highest label. The paper also finds that AdaRank's gain in MAP is largest for queries
//! with few pairs. The two rankers are compared on the same queries.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use burn_rank::json::Value;
use burn_rank::refusal::Refusal;

use super::*;

pub(super) const ENTRY: StudyEntry = StudyEntry {
    name: "errors",
    summary: "on which pairs of labels and on which queries one ranker errs less than another",
    paper: "Xu et al., Direct optimization of evaluation measures in learning to rank, Figures 14 to 16",
    parameters: &[],
    takes: &[GENERATED, TRAINING, RANKINGS, RUNS],
    run,
};

/// The number of groups into which queries are divided according to their number of pairs.
const GROUPS: usize = 4;

/// The largest number of combinations of two labels; each is a row of a table.
const MOST_COMBINATIONS: usize = 1000;

fn run(setting: &Setting) -> Result<Findings> {
    let (about, compared) = match setting.source {
        Source::Rankings(first, second) => {
            let subject = format!("{} against {}", first.origin, second.origin);
            let compared = vec![Compared::new("first", "second", first, second)?];
            (About { subject, ..About::queries(first) }, compared)
        }
        Source::Runs(runs) => (About::runs(&runs.runs), of_runs(runs)?),
        _ => trained(setting)?,
    };
    let mut findings = Findings { about, ..Findings::default() };
    compared.iter().for_each(|compared| compared.add_to(&mut findings));
    if compared.is_empty() {
        let judged = Judged::new(Verdict::Open, "a single run has nothing to be compared with");
        findings.claims.push(Claim::new("Figure 14", "one ranker errs less than another", judged));
    }
    Ok(findings)
}

/// Trains the rankers that the paper compares.
fn trained(setting: &Setting) -> Result<(About, Vec<Compared>)> {
    let material = Material::of(setting)?;
    let rounds = if setting.quick { 5 } else { 50 };
    let scored = |name: &str, learner: Value, at: usize| {
        setting.step(name, at, 4);
        material.scored(&material.fit(&learner, None, true)?, material.test()?)
    };
    let ada_rank = scored("AdaRank", json!({"kind": "ada_rank", "measure": "map", "rounds": rounds}), 0)?;
    let rank_boost = scored("RankBoost", json!({"kind": "rank_boost", "rounds": rounds}), 1)?;
    let permu_rank = json!({"kind": "permu_rank", "measure": "map", "rounds": rounds.min(20)});
    let permu_rank = scored("PermuRank", permu_rank, 2)?;
    let rank_svm = scored("RankSVM", json!({"kind": "rank_svm"}), 3)?;
    let compared = vec![
        Compared::new("AdaRank", "RankBoost", &ada_rank, &rank_boost)?,
        Compared::new("PermuRank", "RankSVM", &permu_rank, &rank_svm)?,
    ];
    Ok((About::text(material.origin), compared))
}

/// Compares the rankings that finished cross-validations kept. If there are more than two runs, compares the runs whose
/// learners the paper compares. If none of these pairs is complete, compares the first run with every other run.
fn of_runs(runs: &Runs) -> Result<Vec<Compared>> {
    let of_paper = [("ada_rank", "rank_boost"), ("permu_rank", "rank_svm")];
    let of_paper = of_paper.iter().filter_map(|(one, other)| Some((runs.of_learner(one)?, runs.of_learner(other)?)));
    let of_paper: Vec<(&RunSubject, &RunSubject)> = of_paper.collect();
    let pairs = match &runs.runs[..] {
        [one, other] => vec![(one, other)],
        _ if !of_paper.is_empty() => of_paper,
        [first, others @ ..] => others.iter().map(|other| (first, other)).collect(),
        [] => Vec::new(),
    };
    let compared =
        |(one, other): (&RunSubject, &RunSubject)| Compared::new(&one.name, &other.name, &one.subject, &other.subject);
    pairs.into_iter().map(compared).collect()
}

/// The labels of two documents, with the higher label first, as the bits of numbers that are 0 or above.
type Labels = (u32, u32);

fn bits(label: f64) -> u32 {
    (label as f32).to_bits()
}

/// Counts the pairs of a query and the errors among them, separately for each combination of labels.
fn errors(query: &ScoredQuery) -> BTreeMap<Labels, (f64, usize)> {
    let mut counts = BTreeMap::new();
    let documents = || query.scores.iter().zip(&query.labels);
    for (score, label) in documents() {
        for (other, lower) in documents().filter(|(_, lower)| *lower < label) {
            let (errors, pairs): &mut (f64, usize) = counts.entry((bits(*label), bits(*lower))).or_default();
            *errors += match score.total_cmp(other) {
                Ordering::Less => 1.0,
                Ordering::Equal => 0.5,
                Ordering::Greater => 0.0,
            };
            *pairs += 1;
        }
    }
    counts
}

/// The errors of two rankers on the same pairs of documents.
struct Compared {
    names: [String; 2],
    /// The error rates of both rankers, for each combination of labels.
    by_labels: BTreeMap<Labels, Rates>,
    /// Each query's number of pairs, and the second ranker's gain in average precision; sorted by number of pairs.
    gains: Vec<(usize, f64)>,
}

/// How often each ranker misorders pairs with one combination of labels.
#[derive(Debug, Clone, Default)]
struct Rates {
    pairs: usize,
    errors: [f64; 2],
    /// The error rates of each ranker on the individual queries that contain pairs with this combination of labels.
    queries: [Vec<f64>; 2],
}

impl Compared {
    fn new(name: &str, other: &str, first: &Subject, second: &Subject) -> Result<Self> {
        let mut by_labels: BTreeMap<Labels, Rates> = BTreeMap::new();
        let mut pairs_of_queries = Vec::new();
        for queries in first.queries.iter().zip(&second.queries) {
            let counts = [errors(queries.0), errors(queries.1)];
            pairs_of_queries.push(counts[0].values().map(|(_, pairs)| pairs).sum::<usize>());
            for (ranker, counts) in counts.iter().enumerate() {
                for (labels, (errors, pairs)) in counts {
                    let rates = by_labels.entry(*labels).or_default();
                    rates.errors[ranker] += errors;
                    rates.queries[ranker].push(errors / *pairs as f64);
                    rates.pairs += if ranker == 0 { *pairs } else { 0 };
                }
            }
        }
        let combinations = by_labels.len();
        if combinations > MOST_COMBINATIONS {
            let expected = format!("expected at most {MOST_COMBINATIONS}, as of grades: round the labels");
            let fault = format!("found {combinations} combinations of two labels, {expected}");
            return Err(Refusal::fault("labels", fault).into());
        }
        let precisions = first.measured(Measure::Ap(None))?.into_iter().zip(second.measured(Measure::Ap(None))?);
        let gains = precisions.map(|(first, second)| first - second);
        let mut gains: Vec<(usize, f64)> = pairs_of_queries.into_iter().zip(gains).collect();
        gains.sort_by_key(|(pairs, _)| *pairs);
        Ok(Self { names: [name.to_string(), other.to_string()], by_labels, gains })
    }

    fn add_to(&self, findings: &mut Findings) {
        // The queries, ordered by their number of pairs, in groups of almost equal size.
        let groups: Vec<&[(usize, f64)]> = self.gains.chunks(self.gains.len().div_ceil(GROUPS).max(1)).collect();
        let at: Vec<f64> = groups.iter().map(|group| group.last().map_or(0.0, |(pairs, _)| *pairs as f64)).collect();
        let title = format!("MAP of {} minus MAP of {}, by pairs per query", self.names[0], self.names[1]);
        let curves = Curves::new(title, "pairs per query, up to", &at, [Scale::Log, Scale::Linear]);
        let gains = groups.iter().map(|group| Some(gain(group).mean));
        findings.tables.extend([self.rates(), self.by_pairs(&groups)]);
        findings.curves.push(curves.curve("difference of MAP", gains));
        findings.claims.extend(self.claims());
    }

    fn rates(&self) -> Table {
        let [name, other] = &self.names;
        let columns = ["labels", "pairs", name, other, "difference per query", "\u{b1}"];
        let row = |((high, low), rates): (&Labels, &Rates)| {
            let [first, second] = rates.errors.map(|errors| errors / rates.pairs as f64);
            let Mean { mean, error } = Mean::of_differences(&rates.queries[0], &rates.queries[1]);
            let [high, low] = [*high, *low].map(f32::from_bits);
            (format!("{high}-{low}"), [rates.pairs as f64, first, second, mean, error].map(Some))
        };
        let title = format!("error rates by pair of labels, {name} and {other} (Figure 14)");
        Table::new(title, columns).with(self.by_labels.iter().map(row))
    }

    fn by_pairs(&self, groups: &[&[(usize, f64)]]) -> Table {
        let [name, other] = &self.names;
        let title = format!("MAP of {name} minus MAP of {other}, by pairs per query (Figures 15 and 16)");
        let row = |group: &&[(usize, f64)]| {
            let [first, last] = [group.first(), group.last()].map(|of| of.map_or(0, |of| of.0));
            let gain = gain(group);
            (format!("{first} to {last}"), [group.len() as f64, gain.mean, gain.error].map(Some))
        };
        let columns = ["pairs per query", "queries", "difference of MAP", "\u{b1}"];
        Table::new(title, columns).with(groups.iter().map(row))
    }

    fn claims(&self) -> Vec<Claim> {
        let [name, other] = &self.names;
        let highest = self.by_labels.keys().map(|(high, _)| *high).max();
        let mut claims = Vec::new();
        for ((high, low), rates) in self.by_labels.iter().filter(|((high, _), _)| Some(*high) == highest) {
            let [high, low] = [*high, *low].map(f32::from_bits);
            let claim = format!("{name} errs less than {other} on pairs of labels {high} and {low} (rate per query)");
            claims.push(Claim::new("Figure 14", claim, fewer_errors(rates)));
        }
        let gains: Vec<f64> = self.gains.iter().map(|(_, gain)| *gain).collect();
        let all = Mean::of(&gains);
        let judged = Judged::new(all.above_zero(), format!("MAP differs by {all}"));
        let judged = judged.number("difference of MAP", all.mean);
        claims.push(Claim::new("Figure 16", format!("MAP of {name} is higher than MAP of {other}"), judged));
        let claim = format!("{name} gains most on {other} for queries with few pairs");
        claims.push(Claim::new("Figure 16", claim, gains_at_few_pairs(&gains)));
        claims
    }
}

fn gain(group: &[(usize, f64)]) -> Mean {
    Mean::of(&group.iter().map(|(_, gain)| *gain).collect::<Vec<_>>())
}

fn fewer_errors(rates: &Rates) -> Judged {
    let fewer = Mean::of_differences(&rates.queries[1], &rates.queries[0]);
    let [first, second] = rates.errors.map(|errors| errors / rates.pairs as f64);
    let (both, way) = ([first, second].map(short).join(" and "), if fewer.mean < 0.0 { "more" } else { "fewer" });
    let found = format!("rates {both} over {} pairs; per query {} {way}", rates.pairs, fewer.size());
    Judged::new(fewer.above_zero(), found).number("first rate", first).number("second rate", second)
}

/// Compares the mean gain on queries with few pairs with the mean gain on queries with many pairs. The two halves have
/// no queries in common, so the variances of their means add up.
fn gains_at_few_pairs(gains: &[f64]) -> Judged {
    let (few, many) = gains.split_at(gains.len() / 2);
    let (few, many) = (Mean::of(few), Mean::of(many));
    let difference = Mean { mean: few.mean - many.mean, error: few.error.hypot(many.error) };
    let found = format!(
        "gain {} in the half of the queries with fewer pairs, {} in the other; difference \u{b1} {}",
        short(few.mean),
        short(many.mean),
        short(difference.error)
    );
    let verdict = if gains.len() < 4 { Verdict::Open } else { difference.above_zero() };
    Judged::new(verdict, found).number("few pairs", few.mean).number("many pairs", many.mean)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::study::source::tests::runs;

    fn subject(scores: &[[f64; 4]]) -> Subject {
        let query = |scores: &[f64; 4]| ScoredQuery { scores: scores.to_vec(), labels: vec![2.0, 1.0, 0.0, 0.0] };
        Subject { origin: String::new(), queries: scores.iter().map(query).collect() }
    }

    #[test]
    fn errors_are_pairs_in_the_wrong_order() {
        let counts = errors(&subject(&[[0.5, 0.9, 0.5, 0.1]]).queries[0]);
        let of = |high: f64, low: f64| counts[&(bits(high), bits(low))];
        assert_eq!(of(2.0, 1.0), (1.0, 1));
        assert_eq!(of(2.0, 0.0), (0.5, 2), "one pair at equal scores");
        assert_eq!(of(1.0, 0.0), (0.0, 2));
    }

    #[test]
    fn labels_between_whole_numbers_are_counted_apart_up_to_a_number() {
        let compared = |labels: Vec<f64>| {
            let scores = labels.clone();
            let subject = Subject { origin: String::new(), queries: vec![ScoredQuery { scores, labels }] };
            Compared::new("a", "b", &subject, &subject)
        };
        let rates = compared(vec![1.5, 1.25, 1.0, 0.0]).unwrap().rates();
        let names: Vec<&str> = rates.rows.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["1-0", "1.25-0", "1.25-1", "1.5-0", "1.5-1", "1.5-1.25"]);
        let refused = compared((0..60).map(f64::from).collect()).err().unwrap().to_string();
        assert!(refused.starts_with("labels: found 1770 combinations of two labels, expected at most"), "{refused}");
    }

    #[test]
    fn verdicts_follow_the_differences() {
        let perfect = [4.0, 3.0, 2.0, 1.0];
        let (good, bad) = (
            subject(&[perfect; 4]),
            subject(&[[1.0, 2.0, 3.0, 4.0], [1.0, 2.0, 4.0, 3.0], [1.5, 2.0, 3.0, 1.0], [1.0, 3.5, 3.0, 4.0]]),
        );
        let verdicts = |first: &Subject, second: &Subject| {
            let claims = Compared::new("a", "b", first, second).unwrap().claims();
            claims.iter().map(|claim| claim.verdict).collect::<Vec<_>>()
        };
        let [better, worse, same] = [verdicts(&good, &bad), verdicts(&bad, &good), verdicts(&good, &good)];
        assert_eq!((better[0], worse[0], same[0]), (Verdict::Holds, Verdict::Fails, Verdict::Open));
        assert_eq!((better[2], worse[2], same[2]), (Verdict::Holds, Verdict::Fails, Verdict::Open), "MAP");
        assert_eq!(gains_at_few_pairs(&[0.5, 0.51, 0.1, 0.12]).verdict, Verdict::Holds);
        assert_eq!(gains_at_few_pairs(&[0.1, 0.12, 0.5, 0.51]).verdict, Verdict::Fails);
        assert_eq!(gains_at_few_pairs(&[0.1, 0.5]).verdict, Verdict::Open);
    }

    #[test]
    fn runs_are_compared_as_in_the_paper_where_it_has_them() {
        let subject = subject(&[[4.0, 3.0, 2.0, 1.0], [1.0, 2.0, 3.0, 4.0]]);
        let run = |learner: &'static str| (learner, None, None, subject.clone());
        let titles = |learners: &[&'static str]| -> Vec<String> {
            let runs = runs(&learners.iter().map(|learner| run(learner)).collect::<Vec<_>>());
            let title = |of: &Compared| format!("MAP of {} minus MAP of {}", of.names[0], of.names[1]);
            of_runs(&runs).unwrap().iter().map(title).collect()
        };
        let pairs = titles(&["rank_boost", "permu_rank", "regression", "ada_rank", "rank_svm"]);
        assert!(pairs[0].starts_with("MAP of ada_rank  minus MAP of rank_boost"), "{pairs:?}");
        assert!(pairs[1].starts_with("MAP of permu_rank  minus MAP of rank_svm"), "{pairs:?}");
        assert!(titles(&["regression", "rank_svm"])[0].starts_with("MAP of regression  minus MAP of rank_svm"));
        assert_eq!(titles(&["regression", "rank_svm", "svm_map"]).len(), 2, "the first with each other");
        assert!(titles(&["regression"]).is_empty());
    }
}
