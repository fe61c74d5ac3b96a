//! LETOR 2.0's published values of ranking OHSUMED by one feature, under the convention `letor`.

use burn_rank::data::letor::{ReadOptions, read};
use burn_rank::measure::{Convention, Measure, evaluate};
use serde_json::Value;

use super::shared;
use crate::measure_lists::{assert_close, number, numbers};

/// The figures, which may not be passed on with the repository.
pub const FIGURES: &str = "golden/letor2_ohsumed_single_features.json";

pub fn every_published_number_agrees() {
    let (golden, folder) = (shared(FIGURES).unwrap(), shared("data/letor2-ohsumed").unwrap());
    let golden: Value = serde_json::from_str(&std::fs::read_to_string(golden).unwrap()).unwrap();
    let parts: Vec<_> = (1..=5).map(|part| folder.join(format!("S{part}.txt"))).collect();
    let data = read(&parts, &ReadOptions::default()).unwrap();
    assert_eq!((data.queries(), data.documents()), (106, 16140));
    let cutoffs = |measure: fn(Option<usize>) -> Measure| (1..=10).map(move |k| measure(Some(k)));
    let measures: Vec<Measure> =
        cutoffs(Measure::Ndcg).chain(cutoffs(Measure::Precision)).chain([Measure::Ap(None)]).collect();
    let convention = Convention::preset("letor").unwrap();
    let features = golden["features"].as_object().unwrap();
    let mut compared = 0;
    for (feature, published) in features {
        let column = feature.parse::<usize>().unwrap() - 1;
        let scores: Vec<f32> = (0..data.documents()).map(|document| data.row(document)[column]).collect();
        let rankings = data.rankings(&scores);
        let found = evaluate(&rankings, &measures, &convention).unwrap();
        let mut expected = numbers(&published["ndcg@1..10"]);
        expected.extend(numbers(&published["p@1..10"]));
        expected.push(number(&published["map"]));
        for ((measure, found), expected) in found.means.iter().zip(expected) {
            // Published with fifteen digits.
            assert_close(*found, expected, 0.0, 1e-12, &format!("{measure} of feature {feature}"));
            compared += 1;
        }
    }
    assert_eq!(compared, 21 * features.len());
    assert_eq!(compared, 273);
}
