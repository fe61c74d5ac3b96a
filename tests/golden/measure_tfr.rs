//! `expected/tfr_metrics.json`: TensorFlow Ranking's own tests of its metrics, under the convention `tfranking`.

use burn_rank::measure::{Convention, Gain, Measure};
use serde_json::Value;

use crate::common::expected_json;
use crate::measure_lists::{Tally, assert_close, lists, number, numbers, value};

fn measure(case: &Value) -> Option<Measure> {
    let k = case["params"]["topn"].as_u64().map(|k| k as usize);
    Some(match case["target"].as_str()? {
        "MRRMetric" => Measure::ReciprocalRank(k),
        "HitsMetric" => Measure::Success(k),
        "RecallMetric" => Measure::Recall(k),
        "PrecisionMetric" => Measure::Precision(k),
        "MeanAveragePrecisionMetric" => Measure::Ap(k),
        "NDCGMetric" => Measure::Ndcg(k),
        "DCGMetric" => Measure::Dcg(k),
        "OPAMetric" => Measure::PairAccuracy,
        _ => return None,
    })
}

fn convention(case: &Value) -> Convention {
    let mut convention = Convention::preset("tfranking").unwrap();
    match case["params"]["gain_fn"]["function"].as_str() {
        None => {}
        Some("lambda label: label / 2.0") => convention.gain = Gain::Table(vec![0.0, 0.5, 1.0, 1.5]),
        Some(other) => panic!("unknown gain {other}"),
    }
    convention
}

#[test]
fn every_metric_agrees() {
    let golden: Value = expected_json("tfr_metrics.json");
    let mut tally = Tally::default();
    for case in golden["cases"].as_array().unwrap() {
        let Some(measure) = measure(case) else {
            tally.skip(&format!("{} is not offered", case["target"].as_str().unwrap()));
            continue;
        };
        if case["inputs"].get("weights").is_some() {
            tally.skip("weights of documents");
            continue;
        }
        let convention = convention(case);
        let expected = case["expected"].as_array().unwrap();
        let lists = lists(&case["inputs"]);
        assert_eq!(lists.len(), expected.len(), "{}", case["id"]);
        for (list, expected) in lists.iter().zip(expected) {
            let (relative, absolute) = (number(&case["tolerance"]["rtol"]), number(&case["tolerance"]["atol"]));
            let found = value(measure, &convention, list);
            assert_close(found, numbers(expected)[0], relative, absolute, &case["id"].to_string());
        }
        tally.compared += 1;
    }
    tally.assert(
        42,
        &[
            ("ARPMetric is not offered", 4),
            ("AlphaDCGMetric is not offered", 8),
            ("BPrefMetric is not offered", 8),
            ("PWAMetric is not offered", 5),
            ("PrecisionIAMetric is not offered", 7),
            ("weights of documents", 15),
        ],
    );
}
