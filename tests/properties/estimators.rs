//! Estimated gradients: over many draws their mean is the gradient of the expectation, which is computed in full.

use burn::tensor::{DType, Device, Tensor, TensorData};
use burn_rank::loss::{Change, LossSpec, RankingLoss, explain};
use burn_rank::measure::Discount;
use burn_rank::workbench::registry;

/// Draws of each estimate.
const DRAWS: usize = 4000;

/// Scores and labels of up to five documents.
fn queries() -> [(Vec<f64>, Vec<f64>); 3] {
    [
        (vec![0.3, 0.9], vec![1.0, 0.0]),
        (vec![0.2, -0.5, 1.1], vec![2.0, 1.0, 0.0]),
        (vec![0.4, -1.0, 1.3, 0.1, -0.3], vec![1.0, 3.0, 0.0, 2.0, 0.0]),
    ]
}

fn ndcg(order: &[usize], labels: &[f64], k: usize) -> f64 {
    let gain = |label: f64| label.exp2() - 1.0;
    let sum = |gains: &mut dyn Iterator<Item = f64>| -> f64 {
        gains.take(k).zip(1..).map(|(gain, rank)| gain * Discount::Log2.at(rank)).sum()
    };
    let mut best: Vec<f64> = labels.iter().map(|&label| gain(label)).collect();
    best.sort_by(|a, b| b.total_cmp(a));
    sum(&mut order.iter().map(|&document| gain(labels[document]))) / sum(&mut best.into_iter())
}

/// The expectation over every ranking, each with its chance under the Plackett-Luce model.
fn plackett_luce(scores: &[f64], labels: &[f64], k: usize) -> f64 {
    fn from(above: &mut Vec<usize>, chance: f64, scores: &[f64], value: &dyn Fn(&[usize]) -> f64) -> f64 {
        let left: Vec<usize> = (0..scores.len()).filter(|document| !above.contains(document)).collect();
        if left.is_empty() {
            return chance * value(above);
        }
        let total: f64 = left.iter().map(|&document| scores[document].exp()).sum();
        let mut sum = 0.0;
        for document in left {
            above.push(document);
            sum += from(above, chance * scores[document].exp() / total, scores, value);
            above.pop();
        }
        sum
    }
    from(&mut Vec::new(), 1.0, scores, &|order| ndcg(order, labels, k))
}

/// The expectation over scores with normal noise, from the exact distribution of each rank.
fn normal(scores: &[f64], labels: &[f64], k: usize, sigma: f64, mu: f64) -> f64 {
    let lowered: Vec<f64> = scores.iter().zip(labels).map(|(score, label)| score - mu * label).collect();
    let spec = LossSpec::new("soft_ndcg").with("model", "exact").with("evaluation", "recursion");
    let loss = spec.with("sigma", sigma).with("k", k as u64).build().unwrap();
    explain(&*loss, &lowered, labels, DType::F64).unwrap().value
}

/// Values and gradients of one query in many draws, from one batch whose rows have separate noise.
fn draws(loss: &dyn RankingLoss, (scores, labels): &(Vec<f64>, Vec<f64>)) -> Vec<Vec<f64>> {
    let device = Device::flex().autodiff();
    let shape = [DRAWS, scores.len()];
    let tensor =
        |values: &[f64]| Tensor::<2>::from_data(TensorData::new(values.repeat(DRAWS), shape), (&device, DType::F64));
    let scores = tensor(scores).require_grad();
    let mask = Tensor::<2>::ones(shape, &device).greater_elem(0.0);
    let drawn = loss.changed(Change::Noise(&|own| own + 7)).unwrap().unwrap();
    let losses = drawn.forward_no_reduction(scores.clone(), tensor(labels), mask);
    let gradients = losses.clone().sum().backward();
    let gradients: Vec<f64> = scores.grad(&gradients).unwrap().into_data().iter().collect();
    let values: Vec<f64> = losses.into_data().iter().collect();
    values.iter().zip(gradients.chunks(shape[1])).map(|(value, gradient)| [&[*value], gradient].concat()).collect()
}

#[test]
fn the_mean_over_draws_is_the_gradient_of_the_expectation() {
    type Expected = Box<dyn Fn(&[f64], &[f64], usize) -> f64>;
    let cases: [(LossSpec, Expected); 3] = [
        (LossSpec::new("plackett_luce_ndcg"), Box::new(plackett_luce)),
        (LossSpec::new("stochastic_rank").with("sigma", 0.8), Box::new(|s, y, k| normal(s, y, k, 0.8, 0.0))),
        (
            LossSpec::new("stochastic_rank").with("sigma", 0.8).with("mu", 0.2),
            Box::new(|s, y, k| normal(s, y, k, 0.8, 0.2)),
        ),
    ];
    let estimators = registry::LOSSES
        .iter()
        .filter(|entry| entry.build(&entry.complete(&Default::default())).unwrap().about().estimates_gradient);
    assert!(estimators.into_iter().all(|entry| cases.iter().any(|(spec, _)| spec.name == entry.name)));
    for (spec, expectation) in cases {
        for query in queries() {
            for k in [query.0.len(), 2] {
                let loss = spec.with("samples", 1).with("k", k as u64).build().unwrap();
                let drawn = draws(&*loss, &query);
                let (scores, labels) = &query;
                let slope = |document: usize| {
                    let at = |step: f64| {
                        let mut moved = scores.clone();
                        moved[document] += step;
                        expectation(&moved, labels, k)
                    };
                    -(at(1e-4) - at(-1e-4)) / 2e-4
                };
                let value = 1.0 - expectation(scores, labels, k);
                let expected: Vec<f64> = [value].into_iter().chain((0..scores.len()).map(slope)).collect();
                for (part, expected) in expected.iter().enumerate() {
                    let mean = drawn.iter().map(|draw| draw[part]).sum::<f64>() / DRAWS as f64;
                    let variance = drawn.iter().map(|draw| (draw[part] - mean).powi(2)).sum::<f64>() / DRAWS as f64;
                    let error = (variance / DRAWS as f64).sqrt();
                    let what = format!("{spec:?}, {} documents, k = {k}, part {part}", scores.len());
                    assert!((mean - expected).abs() <= 4.0 * error + 1e-6, "{what}: {mean} for {expected}, {error}");
                    // An estimate that is no better than none would agree with anything.
                    assert!(error < 0.02, "{what}: {error}");
                }
            }
        }
    }
}
