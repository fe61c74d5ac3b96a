//! The figures of benchmarks/backends.md for the devices present: how far every registered loss is from its definition
//! in f64, and how long three of them take.

use std::time::Instant;

use burn::tensor::{DType, Device};
use burn_rank::workbench::op::with_tensor_path;

use crate::devices::{Present, devices};
use crate::loss_contract::{Outcome, Query, Subject, degenerate, evaluate_on, longest, queries, subjects};

/// Lists and documents of the timed batch.
const BATCH: [usize; 2] = [32, 100];

/// Runs of which the median counts.
const RUNS: usize = 5;

/// Returns the largest difference of losses and gradients, relative to 1 plus the expected value.
fn largest_difference(found: &Outcome, expected: &Outcome) -> f64 {
    let numbers = |outcome: &Outcome| [outcome.losses.clone(), outcome.gradients.concat()].concat();
    let differences = numbers(found).into_iter().zip(numbers(expected));
    differences.map(|(found, expected)| (found - expected).abs() / (1.0 + expected.abs())).fold(0.0, f64::max)
}

/// Returns the differences of all losses on a device, in f32, from their tensor definitions in f64 on the CPU, with the
/// name of the loss.
fn worst(present: &Present) -> (f64, String) {
    let queries = [queries(), degenerate()].concat();
    let width = longest(&queries);
    let of = |Subject { name, loss, .. }: Subject| {
        let expected = with_tensor_path(|| evaluate_on(&Device::flex(), &*loss, &queries, width, 0.0, DType::F64));
        let found = evaluate_on(&present.device, &*loss, &queries, width, 0.0, DType::F32);
        (largest_difference(&found, &expected), name)
    };
    subjects().into_iter().map(of).fold((0.0, String::new()), |worst, next| if next.0 > worst.0 { next } else { worst })
}

/// Median milliseconds of value and gradient, both read back.
fn milliseconds(present: &Present, name: &str) -> f64 {
    let Subject { loss, .. } = subjects().into_iter().find(|subject| subject.entry.name == name).expect("registered");
    let [lists, documents] = BATCH;
    let query = |list: usize| -> Query {
        let score = |document: usize| ((list * documents + document) as f64 * 1.7).sin();
        let label = |document: usize| ((list + document * document) % 7).saturating_sub(2) as f64;
        ((0..documents).map(score).collect(), (0..documents).map(label).collect())
    };
    let batch: Vec<Query> = (0..lists).map(query).collect();
    let mut times: Vec<f64> = (0..=RUNS)
        .map(|_| {
            let start = Instant::now();
            evaluate_on(&present.device, &*loss, &batch, documents, 0.0, DType::F32);
            1e3 * start.elapsed().as_secs_f64()
        })
        .skip(1)
        .collect();
    times.sort_by(f64::total_cmp);
    times[RUNS / 2]
}

#[test]
#[ignore = "measures for benchmarks/backends.md, see .ci/backends"]
fn backend_table() {
    let [lists, documents] = BATCH;
    let build = if cfg!(debug_assertions) { "a build of `cargo test`" } else { "a release build" };
    println!("| device | losses | largest difference | `approx_ndcg` | `soft_ndcg` | `lambda_ndcg` |");
    println!("|---|---|---|---|---|---|");
    for present in devices() {
        let (difference, loss) = worst(present);
        let [approx, soft, lambda] =
            ["approx_ndcg", "soft_ndcg", "lambda_ndcg"].map(|name| format!("{:.1} ms", milliseconds(present, name)));
        let count = subjects().len();
        println!("| {} | {count} | {difference:.1e}, `{loss}` | {approx} | {soft} | {lambda} |", present.name);
    }
    println!("\n{lists} lists of {documents} documents, value and gradient, median of {RUNS}, {build}");
}
