//! `expected/letor.json`: the output of the evaluation tool of LETOR 3.0 for the queries that
//! `expected/generate_letor.py` makes, under the convention `letor`.

use burn_rank::measure::{Convention, Measure};
use serde_json::Value;

use crate::common::expected_json;
use crate::measure_lists::{List, assert_close, lists, numbers, value};

#[test]
fn every_number_of_the_evaluation_tool_agrees() {
    let golden: Value = expected_json("letor.json");
    let queries: Vec<List> = golden["queries"].as_array().unwrap().iter().flat_map(lists).collect();
    assert_eq!(queries.len(), 12);
    let convention = Convention::preset("letor").unwrap();
    let cutoffs = |measure: fn(Option<usize>) -> Measure| (1..=16).map(|k| measure(Some(k))).collect::<Vec<_>>();
    let mut compared = 0;
    for (name, measures) in
        [("p", cutoffs(Measure::Precision)), ("map", vec![Measure::Ap(None)]), ("ndcg", cutoffs(Measure::Ndcg))]
    {
        let printed: Vec<Vec<f64>> = golden["by_query"][name].as_array().unwrap().iter().map(numbers).collect();
        let means = numbers(&golden["means"][name]);
        assert!(printed.iter().all(|row| row.len() == measures.len()) && means.len() == measures.len());
        for (m, measure) in measures.iter().enumerate() {
            let found: Vec<f64> = queries.iter().map(|list| value(*measure, &convention, list)).collect();
            let mean = found.iter().sum::<f64>() / 12.0;
            let rows = found.iter().zip(&printed).map(|(found, row)| (*found, row[m]));
            for (found, printed) in rows.chain([(mean, means[m])]) {
                // Printed with fifteen digits.
                assert_close(found, printed, 0.0, 1e-12, &measure.to_string());
                compared += 1;
            }
        }
    }
    assert_eq!(compared, 13 * (16 + 1 + 16));
}
