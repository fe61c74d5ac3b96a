//! `expected/trec_eval`: the outputs of trec_eval 10.0, line by line.

use std::collections::{BTreeMap, BTreeSet};

use burn_rank::measure::trec_eval::{TrecEvaluator, TrecMeasure, TrecQuery};
use burn_rank::workbench::trec_eval::TrecReport;

use crate::common::{expected_text, lines_within};

type ByQuery<T> = BTreeMap<String, Vec<(String, T)>>;

fn fields<T>(file: &str, id: usize, value: impl Fn(&[&str]) -> T) -> ByQuery<T> {
    let mut by_query = ByQuery::new();
    for line in expected_text(&format!("trec_eval/{file}")).lines() {
        if line.starts_with('#') {
            continue;
        }
        let fields: Vec<&str> = line.split_whitespace().collect();
        by_query.entry(fields[0].to_string()).or_default().push((fields[id].to_string(), value(&fields)));
    }
    by_query
}

/// The lowest relevance level of a relevant document, and the largest number of documents evaluated.
type Options = (i32, Option<usize>);

/// trec_eval's defaults.
const DEFAULT: Options = (1, None);

/// Returns all lines that we print; with `complete`, every query of the qrels counts.
fn lines(
    qrels: &ByQuery<i32>,
    run: &ByQuery<f32>,
    measures: &[TrecMeasure],
    (level, depth): Options,
    each: bool,
    complete: bool,
) -> String {
    let evaluator = TrecEvaluator::new(measures, level, depth).unwrap();
    let (mut found, mut lines) = (Vec::new(), String::new());
    for (query, judged) in qrels.iter().filter(|(query, _)| complete || run.contains_key(*query)) {
        let retrieved = run.get(query).into_iter().flatten();
        let run: Vec<(&str, f32)> = retrieved.map(|(id, score)| (id.as_str(), *score)).collect();
        let qrels: Vec<(&str, i32)> = judged.iter().map(|(id, relevance)| (id.as_str(), *relevance)).collect();
        let values = evaluator.query(&TrecQuery { run: &run, qrels: &qrels }).unwrap();
        if each {
            lines += &TrecReport::of_query(measures, query, &values).to_string();
        }
        found.push(values);
    }
    let summary = evaluator.summary(found.iter().map(Vec::as_slice));
    lines + &TrecReport::of_all(measures, "STANDARD", found.len(), &summary).to_string()
}

/// Returns the lines for two files.
fn output(
    qrels: &str,
    run: &str,
    measures: &[TrecMeasure],
    (level, depth): Options,
    each: bool,
    complete: bool,
) -> String {
    let qrels = fields(qrels, 2, |fields| fields[3].parse().unwrap());
    let run = fields(run, 2, |fields| fields[4].parse().unwrap());
    lines(&qrels, &run, measures, (level, depth), each, complete)
}

/// Compares the lines of `found` with a file of trec_eval's.
#[track_caller]
fn compare(found: &str, expected: &str) -> (usize, BTreeSet<String>) {
    lines_within(found, &format!("trec_eval/{expected}"))
}

#[test]
fn the_default_output_is_the_same() {
    for qrels in ["qrels.test", "qrels.test.with-comments"] {
        let measures = TrecMeasure::official();
        let found = output(qrels, "results.test", &measures, DEFAULT, false, false);
        assert_eq!(compare(&found, "out.test"), (30, BTreeSet::new()));
    }
}

/// Returns the names in `all_trec` that we do not offer.
fn not_offered(summary_only: bool) -> BTreeSet<String> {
    let mut names: Vec<&str> = "infAP binG G ndcg_rel Rndcg".split(' ').collect();
    if !summary_only {
        names.push("relstring");
    }
    names.into_iter().map(String::from).collect()
}

#[test]
fn all_measures_by_query_are_the_same() {
    let measures = TrecMeasure::all_trec();
    let options = DEFAULT;
    let summary = output("qrels.test", "results.test", &measures, options, false, false);
    assert_eq!(compare(&summary, "out.test.a"), (94, not_offered(true)));
    let by_query = output("qrels.test", "results.test", &measures, options, true, false);
    assert_eq!(compare(&by_query, "out.test.aq"), (364, not_offered(false)));
    let complete = output("qrels.test", "results.trunc", &measures, options, true, true);
    assert_eq!(compare(&complete, "out.test.aqc"), (364, not_offered(false)));
}

#[test]
fn parameters_of_measures_are_read_as_trec_eval_reads_them() {
    let asked = "iprec_at_recall..10,.20,.25,.75,.50 P.5,7,3 recall.20,2000 Rprec_mult.5.0,0.2,0.35 ndcg_cut.10,20,23 success.2,5,20";
    let measures: Vec<TrecMeasure> = asked.split(' ').flat_map(|name| TrecMeasure::parse(name).unwrap()).collect();
    let found = output("qrels.test", "results.test", &measures, DEFAULT, true, false);
    let others = ["11pt_avg_.25,.5,.75", "ndcg_1=3,2=9,4=4.5", "utility_2,-1,0,0"].map(String::from);
    assert_eq!(compare(&found, "out.test.meas_params"), (76, BTreeSet::from(others)));
}

#[test]
fn a_depth_cuts_every_ranking() {
    let at_depth = (1, Some(20));
    let at = |measures, options| {
        output("qrels.test", "results.test", &TrecMeasure::parse_list(measures).unwrap(), options, true, false)
    };
    let (cut, whole) = (at("map,ndcg", at_depth), at("map_cut.20,ndcg_cut.20", DEFAULT));
    let values =
        |lines: &str| lines.lines().map(|line| line.rsplit('\t').next().unwrap().to_string()).collect::<Vec<_>>();
    let (cut, whole) = (values(&cut), values(&whole));
    // AP at a depth is the same. The ideal of NDCG ignores the depth, so that values of NDCG are lower or equal.
    for (cut, whole) in cut.chunks(2).zip(whole.chunks(2)) {
        assert_eq!(cut[0], whole[0]);
        assert!(cut[1].parse::<f64>().unwrap() <= whole[1].parse::<f64>().unwrap());
    }
}

#[test]
fn a_relevance_level_is_a_threshold_for_the_binary_measures_only() {
    let run = "results.test";
    let measures: Vec<TrecMeasure> =
        TrecMeasure::all_trec().into_iter().filter(|measure| !measure.to_string().contains("ndcg")).collect();
    let at_level = (2, None);
    let found = output("qrels.rel_level", run, &measures, at_level, true, false);
    let mut judged = fields("qrels.rel_level", 2, |fields| fields[3].parse::<i32>().unwrap());
    for (_, relevance) in judged.values_mut().flatten() {
        *relevance = (*relevance).min(i32::from(*relevance >= 2));
    }
    let run = fields(run, 2, |fields| fields[4].parse::<f32>().unwrap());
    assert_eq!(lines(&judged, &run, &measures, DEFAULT, true, false), found);
    // NDCG keeps its gains.
    let ndcg =
        |options| output("qrels.rel_level", "results.test", &TrecMeasure::parse("ndcg").unwrap(), options, true, false);
    assert_eq!(ndcg(at_level), ndcg(DEFAULT));
}
