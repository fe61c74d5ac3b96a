//! Lists whose pairs do not fit into memory are refused with the bytes that they need, before anything is allocated.

use burn::tensor::{DType, Device, Tensor};
use burn_rank::loss::{Lists, LossError, LossSpec, RankingLoss, Reduction, explain};
use burn_rank::workbench::registry;

use crate::loss_contract::panic_of;

/// Documents of which one array of pairs takes 400 TB in `f32`.
const MANY: usize = 10_000_000;

/// Losses that hold arrays of pairs, by what holds them.
const PAIRS: &[&str] = &[
    "lambda_measure",
    "stochastic_rank",
    "err:approximate_positions",
    "kendall_tau:expected_ranks",
    "kendall_tau:rank_indicators",
    "ndcg:soft_sort",
    "ndcg:smooth_indicators",
    "ndcg:projected_ranks",
];

fn built(loss: &str) -> Box<dyn RankingLoss> {
    LossSpec::parse(loss).build().unwrap()
}

fn refused(loss: &dyn RankingLoss, documents: usize) -> Result<(), LossError> {
    loss.about().check_memory(1, documents, DType::F32, &Device::flex())
}

// Only Linux says what is left.
#[test]
#[cfg(target_os = "linux")]
fn lists_too_long_for_memory_are_refused() {
    for loss in PAIRS {
        match refused(built(loss).as_ref(), MANY) {
            Err(LossError::Memory { batch: 1, documents: MANY, needed, available, .. }) => {
                assert!(needed > available && needed >= 4 * (MANY as u64).pow(2), "{loss}: {needed} {available}");
            }
            found => panic!("{loss}: {found:?}"),
        }
        assert_eq!(refused(built(loss).as_ref(), 100), Ok(()), "{loss}");
        let of = |batch, dtype| built(loss).about().pair_memory(batch, 1000, dtype);
        assert_eq!((of(3, DType::F32), of(1, DType::F64)), (3 * of(1, DType::F32), 2 * of(1, DType::F32)), "{loss}");
    }
}

#[test]
fn losses_without_arrays_of_pairs_take_any_list() {
    for entry in registry::LOSSES.iter().filter(|entry| !PAIRS.contains(&entry.name)) {
        assert_eq!(refused(built(entry.name).as_ref(), MANY), Ok(()), "{}", entry.name);
    }
    for loss in [
        "rr:rank_indicators",
        "err:rank_indicators",
        "ndcg:neural_sort",
        "ap:expected_ranks",
        "ap@10:expected_ranks",
        "r_precision:expected_ranks",
    ] {
        assert_eq!(refused(built(loss).as_ref(), MANY), Ok(()), "{loss}");
    }
}

#[test]
#[cfg(target_os = "linux")]
fn every_way_to_a_loss_says_what_is_needed() {
    let loss = built("lambda_measure");
    let documents = 1_000_000;
    let labels: Vec<f64> = (0..documents).map(|document| f64::from(u8::from(document == 0))).collect();
    let error = explain(loss.as_ref(), &labels, &labels, DType::F32).unwrap_err().to_string();
    let expected = "lambda_measure on a list of 1000000 documents takes about ";
    assert!(error.starts_with(expected) && error.contains(" are free: use shorter lists"), "{error}");
    let scores = Tensor::<2>::zeros([1, documents], &Device::flex());
    let first = Tensor::<2>::from_floats([[1.0]], &Device::flex());
    let labels = Tensor::cat(vec![first, scores.clone().narrow(1, 1, documents - 1)], 1);
    let mask = scores.clone().equal_elem(0.0);
    let forward = loss.try_forward(&Lists::padded(scores.clone(), labels.clone(), mask.clone()), Reduction::Mean);
    assert!(matches!(forward, Err(LossError::Memory { .. })), "{forward:?}");
    let message = panic_of(|| drop(loss.forward(scores, labels, mask, Reduction::Mean)));
    assert!(message.starts_with(expected), "{message}");
}
