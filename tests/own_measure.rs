//! An exact measure that this crate does not know goes wherever its own go: here NDCG once more, so that every value
//! has a twin to be compared with.

use burn::tensor::{Bool, Device, Tensor};
use burn_rank::loss::{MeasureContext, PositionMeasure, Uses};
use burn_rank::measure::{Convention, Discount, Gain, ListMeasure, Measure, RankedDocuments, Rankings, evaluate};
use burn_rank::metric;

/// NDCG@k.
#[derive(Debug)]
struct OwnNdcg {
    name: String,
    k: usize,
}

impl ListMeasure for OwnNdcg {
    fn name(&self) -> &str {
        &self.name
    }

    fn value(&self, list: &RankedDocuments) -> Option<f64> {
        let dcg = |gains: &mut dyn Iterator<Item = f64>| -> f64 {
            gains.take(self.k).zip(1..).map(|(gain, rank)| gain * list.discount(rank)).sum()
        };
        let ideal = dcg(&mut list.ideal_gains().into_iter());
        (ideal > 0.0).then(|| dcg(&mut list.gains()) / ideal)
    }
}

/// NDCG@3, over positions.
#[derive(Debug)]
struct DefinedNdcg;

impl PositionMeasure for DefinedNdcg {
    fn name(&self) -> &'static str {
        "defined_ndcg"
    }

    fn gain(&self) -> Option<&Gain> {
        Some(&Gain::Exp2)
    }

    fn uses(&self) -> Uses {
        Uses::sums_of(&Discount::Log2.into(), Some(3))
    }

    fn value(&self, list: &MeasureContext) -> Tensor<1> {
        let (gains, discount) = (list.gains(&Gain::Exp2), Discount::Log2.into());
        list.sum(gains.clone(), &discount, Some(3)) / list.ideal(gains, &discount, Some(3))
    }
}

/// NDCG@3 of the crate; of one's own; and of one's own from the definition over positions.
fn ndcgs() -> [Measure; 3] {
    let written = Measure::own(OwnNdcg { name: "own_ndcg@3".to_string(), k: 3 });
    let defined = metric::exact_measure("defined_ndcg@3", DefinedNdcg).unwrap();
    [Measure::Ndcg(Some(3)), written, defined]
}

/// Ten lists of up to seven documents, `[10, 7]`: tied scores, graded labels, lists without a relevant document.
fn lists() -> (Tensor<2>, Tensor<2>, Tensor<2, Bool>) {
    let hash = |place: u32| place.wrapping_mul(2_654_435_761) >> 16;
    let values = |of: &dyn Fn(u32, u32) -> f32| {
        let rows: Vec<f32> = (0..70).map(|place| of(place / 7, place)).collect();
        Tensor::<1>::from_floats(rows.as_slice(), &Device::flex()).reshape([10, 7])
    };
    let scores = values(&|_, place| (hash(place) % 4) as f32);
    let labels =
        values(&|list, place| if list % 4 == 3 { 0.0 } else { (hash(place + 900) % 7).saturating_sub(3) as f32 });
    let mask = values(&|list, place| f32::from(u8::from(place % 7 < 3 + list % 5))).greater_elem(0.5);
    (scores, labels, mask)
}

fn conventions() -> [Convention; 2] {
    ["standard", "lightgbm"].map(|name| Convention::preset(name).unwrap())
}

fn assert_close(found: f64, expected: f64, what: &str) {
    assert!((found - expected).abs() < 1e-12, "{what}: {found} {expected}");
}

#[test]
fn evaluate_gives_the_values_of_the_measure_that_it_equals() {
    let (scores, labels, mask) = lists();
    // LightGBM's gain and discount are the gain and the discount of the definition over positions.
    for convention in conventions() {
        let found = metric::evaluate(scores.clone(), labels.clone(), mask.clone(), &ndcgs(), &convention).unwrap();
        assert_eq!(
            found.means.iter().map(|(measure, _)| measure.to_string()).collect::<Vec<_>>(),
            ["ndcg@3", "own_ndcg@3", "defined_ndcg@3"]
        );
        for (other, (name, mean)) in found.means.iter().enumerate().skip(1) {
            assert_close(*mean, found.means[0].1, &format!("{name} in {}", convention.name));
            for (found, expected) in found.per_query[other].iter().zip(&found.per_query[0]) {
                assert_eq!(found.is_some(), expected.is_some(), "{name} in {}", convention.name);
                assert_close(found.unwrap_or(0.0), expected.unwrap_or(0.0), &name.to_string());
            }
        }
        assert!(found.per_query[0].iter().any(|value| value.is_some_and(|value| value > 0.0 && value < 1.0)));
    }
}

#[test]
fn an_evaluation_of_slices_is_written_with_its_name() {
    let rankings = Rankings { scores: &[1.0, 0.0], labels: &[0.0, 1.0], offsets: &[0, 2], document_ids: &[] };
    let [_, own, _] = ndcgs();
    let found = evaluate(&rankings, &[own], &Convention::default()).unwrap();
    let text = burn_rank::json::to_value(&found).unwrap().to_string();
    assert!(text.contains(r#""own_ndcg@3":0.63"#), "{text}");
    let nothing = Rankings { labels: &[0.0, 0.0], ..rankings };
    let refused = evaluate(&nothing, &[own], &Convention::default()).unwrap_err().to_string();
    assert!(refused.starts_with("own_ndcg@3 has no mean: convention `standard` excludes every query"), "{refused}");
    assert!(refused.ends_with(" (1 query)"), "{refused}");
}

#[cfg(feature = "train")]
#[test]
fn a_metric_logs_the_values_of_the_measure_that_it_equals() {
    use burn::data::dataloader::Progress;
    use burn::train::metric::{Metric, MetricMetadata, Numeric};
    use burn_rank::metric::{RankingInput, RankingMetric};

    let metadata = MetricMetadata { progress: Progress::new(1, 1, None), iteration: Some(1), lr: None };
    let (scores, labels, mask) = lists();
    let input = RankingInput::Lists { scores, labels, mask };
    for convention in conventions() {
        let [expected, written, defined] = ndcgs().map(|measure| {
            let mut metric = RankingMetric::new(measure, &convention).unwrap();
            assert_eq!(*metric.name(), format!("{measure} ({})", convention.name));
            metric.update(&input, &metadata).unwrap();
            metric.value().unwrap().current()
        });
        assert_close(written, expected, "written");
        assert_close(defined, expected, "defined");
    }
}

#[cfg(feature = "learners")]
#[test]
fn learners_select_by_it() {
    use burn_rank::data::SynthConfig;
    use burn_rank::learner::{FitContext, Job, Parts, Selection, build};

    let config = SynthConfig { queries: 20, features: 6, median_length: 8.0, max_length: 16, ..SynthConfig::default() };
    let (train, validation) = (config.generate().unwrap(), SynthConfig { seed: 5, ..config }.generate().unwrap());
    let fit = |measure: Measure| {
        let context = FitContext::new(Device::flex(), 1, Selection::best(measure));
        // It boosts what it selects by.
        let table = serde_json::json!({"kind": "ada_rank", "rounds": 3});
        let learner = build(table.as_object().unwrap(), &Parts::default()).unwrap();
        learner.fit(Job::new(&train, Some(&validation), &context)).unwrap()
    };
    let [expected, own @ ..] = ndcgs().map(fit);
    for own in own {
        assert_eq!((own.best_round, own.history.len()), (expected.best_round, expected.history.len()));
        for (found, expected) in own.history.iter().zip(&expected.history) {
            assert_close(found.train.unwrap(), expected.train.unwrap(), "training");
            assert_close(found.validation.unwrap(), expected.validation.unwrap(), "validation");
        }
    }
}
