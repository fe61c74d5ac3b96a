//! `expected/small_peers.json`, transcribed from seven packages, and `expected/peers.json`, computed by scikit-learn,
//! LightGBM and XGBoost (see `expected/generate.py`).

use burn_rank::measure::{Convention, Measure, Ranking};
use serde_json::{Value, json};

use crate::common::expected_json;
use crate::measure_lists::{List, Tally, assert_close, lists, number, numbers, value};

/// Makes a list of documents that were retrieved in the given order.
fn in_order(labels: &Value) -> List {
    let labels: Vec<f32> = numbers(labels).iter().map(|&label| label as f32).collect();
    ((0..labels.len()).map(|at| -(at as f32)).collect(), labels)
}

fn file_order() -> Convention {
    file_order_with("gain", json!("exp2"))
}

/// Returns the convention of lists in file order with another choice.
fn file_order_with(key: &str, value: Value) -> Convention {
    let mut convention = json!({"ties": "file_order", "empty": {"value": 0.0}});
    convention[key] = value;
    serde_json::from_value(convention).unwrap()
}

/// Joins a run with its judgments. The list has the documents in either of them; those that were not retrieved have
/// the score -inf.
fn joined(run: &Value, qrels: &Value) -> (List, Vec<String>) {
    let (run, qrels) = (run.as_object().unwrap(), qrels.as_object().unwrap());
    let ids: Vec<String> = run.keys().chain(qrels.keys().filter(|id| !run.contains_key(*id))).cloned().collect();
    let scores = ids.iter().map(|id| run.get(id).map_or(f32::NEG_INFINITY, |score| number(score) as f32)).collect();
    let labels = ids.iter().map(|id| qrels.get(id).map_or(0.0, |label| number(label) as f32)).collect();
    ((scores, labels), ids)
}

/// Returns the found and expected values of a case; `None` if it is not about a measure that is offered.
fn pairs(case: &Value) -> Option<Vec<(f64, f64)>> {
    let inputs = &case["inputs"];
    let k = inputs["k"].as_u64().map(|k| k as usize);
    let one = |measure, convention: &Convention, list: &List| {
        Some(vec![(value(measure, convention, list), number(&case["expected"]))])
    };
    let repository = case["source"]["repo"].as_str()?;
    match (repository, case["function"].as_str()?) {
        ("allegro/allRank", "ndcg") => {
            one(Measure::Ndcg(None), &Convention::preset("tfranking").unwrap(), &lists(inputs)[0])
        }
        ("rjagerman/pytorchltr", name @ ("dcg" | "ndcg")) => {
            let measure = if name == "dcg" { Measure::Dcg(k) } else { Measure::Ndcg(k) };
            let gain = if inputs["exponential_gain"].as_bool().unwrap() { "exp2" } else { "linear" };
            let convention = file_order_with("gain", json!(gain));
            let lengths = numbers(&inputs["n"]);
            let values = lists(inputs).into_iter().zip(lengths).map(|((mut scores, mut labels), length)| {
                scores.truncate(length as usize);
                labels.truncate(length as usize);
                value(measure, &convention, &(scores, labels))
            });
            Some(values.zip(numbers(&case["expected"])).collect())
        }
        ("jma127/pyltr", name @ ("ap" | "dcg" | "ndcg" | "err")) => {
            let measure = match name {
                "ap" => Measure::Ap(k),
                "dcg" => Measure::Dcg(k),
                "ndcg" => Measure::Ndcg(k),
                _ => Measure::Err(k),
            };
            one(measure, &file_order(), &in_order(&inputs["labels_in_ranked_order"]))
        }
        ("jma127/pyltr", "kendall_tau") => {
            let convention = file_order_with("kendall_tau", json!("all_pairs"));
            one(Measure::KendallTau, &convention, &in_order(&inputs["labels_in_ranked_order"]))
        }
        ("terrierteam/ir_measures", name) => {
            let measure = if name == "gdeval ndcg@2" { Measure::Ndcg(Some(2)) } else { Measure::Err(Some(2)) };
            let of_query = |(query, expected): (&String, &Value)| {
                let (list, _) = joined(&inputs["run"][query], &inputs["qrels"][query]);
                (value(measure, &file_order(), &list), number(expected))
            };
            let mut pairs: Vec<(f64, f64)> = case["expected"]["per_query"].as_object()?.iter().map(of_query).collect();
            pairs.push((pairs.iter().map(|pair| pair.0).sum::<f64>() / 2.0, number(&case["expected"]["mean"])));
            Some(pairs)
        }
        ("dmlc/xgboost", "ndcg" | "ndcg (no item)" | "ndcg exponential gain") => {
            one(Measure::Ndcg(None), &Convention::preset("xgboost").unwrap(), &lists(inputs)[0])
        }
        ("dmlc/xgboost", "map@2") => {
            one(Measure::Ap(Some(2)), &Convention::preset("xgboost").unwrap(), &lists(inputs)[0])
        }
        ("dmlc/xgboost", name @ ("idcg linear gain" | "1/idcg linear gain @3")) => {
            let labels: Vec<f32> = numbers(&inputs["labels"]).iter().map(|&label| label as f32).collect();
            let convention = file_order_with("gain", json!("linear"));
            let ideal = value(Measure::Dcg(k), &convention, &(labels.clone(), labels));
            Some(vec![(if name.starts_with('1') { 1.0 / ideal } else { ideal }, number(&case["expected"]))])
        }
        ("wildltr/ptranking", "ap@1,2,3,5,7") => {
            let convention = file_order_with("average_precision_denominator", json!("cutoff_or_relevant"));
            let list = in_order(&inputs["labels_in_ranked_order"]);
            let values = [1, 2, 3, 5, 7].map(|k| value(Measure::Ap(Some(k)), &convention, &list));
            Some(values.into_iter().zip(numbers(&case["expected"])).collect())
        }
        ("wildltr/ptranking", "nerr@1,2,3") => {
            let err = |labels, k| value(Measure::Err(Some(k)), &file_order(), &in_order(&inputs[labels]));
            let values = [1, 2, 3].map(|k| err("labels_in_ranked_order", k) / err("ideal_labels", k));
            Some(values.into_iter().zip(numbers(&case["expected"])).collect())
        }
        ("cvangysel/pytrec_eval", "trec_eval ndcg") => {
            let ((scores, labels), ids) = joined(&inputs["run"], &inputs["qrels"]);
            let ranking = Ranking { scores: &scores, labels: &labels, ids: Some(&ids) };
            let found = Measure::Ndcg(None).query(&ranking, &Convention::preset("trec_eval").unwrap());
            Some(vec![(found.unwrap().unwrap(), number(&case["expected"]))])
        }
        _ => None,
    }
}

#[test]
fn transcribed_cases_agree() {
    let golden: Value = expected_json("small_peers.json");
    let mut tally = Tally::default();
    for case in golden["cases"].as_array().unwrap() {
        match pairs(case) {
            None => {
                let function = case["function"].as_str().unwrap();
                tally.skip(if function == "arp" { "average relevance position" } else { "a loss" });
            }
            Some(pairs) => {
                for (found, expected) in pairs {
                    let what = format!("{} {}", case["source"]["repo"], case["function"]);
                    assert_close(found, expected, 0.0, number(&case["atol"]), &what);
                }
                tally.compared += 1;
            }
        }
    }
    tally.assert(39, &[("a loss", 8), ("average relevance position", 2)]);
}

#[test]
fn computed_cases_agree() {
    let golden: Value = serde_json::from_str(include_str!("expected/peers.json")).unwrap();
    let mut tally = Tally::default();
    for case in golden["cases"].as_array().unwrap() {
        let name = case["convention"].as_str().unwrap();
        let convention = Convention::preset(name).unwrap();
        let list = &lists(case)[0];
        for (measure, expected) in case["expected"].as_object().unwrap() {
            let found = value(measure.parse().unwrap(), &convention, list);
            // XGBoost prints six digits, LightGBM and XGBoost sum some terms in float32.
            let (relative, absolute) =
                if name == "sklearn" || name == "standard" { (1e-12, 1e-12) } else { (1e-6, 1e-6) };
            assert_close(found, number(expected), relative, absolute, &format!("{name} {measure} of {list:?}"));
            tally.compared += 1;
        }
    }
    tally.assert(691, &[]);
}
