//! Surrogates of short lists at their defaults: whether the best value has the true order.

use std::f64::consts::TAU;

use burn::tensor::{DType, Device, Tensor, TensorData};
use burn_rank::loss::{LossSpec, RankingLoss};

/// Returns the scores of three documents at which the loss has a minimum. In spreads, a list of three is an angle.
fn lowest(loss: &dyn RankingLoss, labels: [f64; 3]) -> Vec<[f64; 3]> {
    const ANGLES: usize = 3600;
    let angles = (0..ANGLES).map(|step| TAU * step as f64 / ANGLES as f64);
    let lists: Vec<[f64; 3]> =
        angles.map(|angle| [0.0, 1.0, 2.0].map(|third| (angle + third * TAU / 3.0).cos())).collect();
    let tensor = |values: Vec<[f64; 3]>| {
        Tensor::<2>::from_data(TensorData::new(values.concat(), [ANGLES, 3]), (&Device::flex(), DType::F64))
    };
    let scores = tensor(lists.clone());
    let mask = scores.ones_like().greater_elem(0.0);
    let losses = loss.forward_no_reduction(scores, tensor(vec![labels; ANGLES]), mask).into_data();
    let losses: Vec<f64> = losses.iter().collect();
    let beside = |step: usize, by: usize| losses[(step + by) % ANGLES];
    let is_lowest = |step: usize| losses[step] < beside(step, ANGLES - 1) - 1e-12 && losses[step] <= beside(step, 1);
    (0..ANGLES).filter(|&step| is_lowest(step)).map(|step| lists[step]).collect()
}

/// At the default temperature no order but the true one has a lowest loss. At a high temperature, two documents have
/// the same score at each minimum: rows sum to 1 and columns do not, so both documents count at both of their ranks.
#[test]
fn neural_sort_tells_the_documents_of_a_short_list_apart() {
    for name in ["ndcg:neural_sort", "dcg:neural_sort"] {
        let loss = LossSpec::parse(name);
        let default = loss.build().unwrap();
        for labels in [[2.0, 1.0, 0.0], [3.0, 1.0, 0.0], [3.0, 2.0, 0.0], [4.0, 2.0, 1.0]] {
            let found = lowest(&*default, labels);
            let is_true = |[a, b, c]: [f64; 3]| a > b + 0.5 && b > c + 0.5;
            assert!(found.len() == 1 && is_true(found[0]), "{name}, {labels:?}: {found:?}");
        }
        let smooth = loss.with("sigma", 5.0).with("temperature_unit", "spread").build().unwrap();
        let found = lowest(&*smooth, [3.0, 1.0, 0.0]);
        let is_tied = |[a, b, c]: &[f64; 3]| (a - b).abs().min((a - c).abs()) < 0.01;
        assert!(!found.is_empty() && found.iter().all(is_tied), "{name}: {found:?}");
    }
}
