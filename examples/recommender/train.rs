//! Training with Adam, and the choice of the epoch by validation.

use std::cell::RefCell;
use std::time::Instant;

use burn::module::Module;
use burn::optim::{AdamConfig, GradientsParams};
use burn::tensor::{Device, Tensor};
use burn_rank::seed::seed_for;
use chacha20::ChaCha8Rng;
use rand::{RngExt, SeedableRng};

use super::data::Catalog;
use super::evaluate::{Part, ndcg};
use super::model::{TwoTowers, all_items};
use super::objective::{Objective, Step};
use super::{Failure, Options};

const LEARNING_RATE: f64 = 0.01;

/// Users whose held-out interactions choose the epoch and the temperature.
const VALIDATED: usize = 500;

/// The best epoch of a training.
pub struct Fit {
    pub temperature: f64,
    /// The epoch, from 1.
    pub epoch: usize,
    /// NDCG@10 of the validation interactions.
    pub validation: f64,
    model: TwoTowers,
}

/// Trains at one temperature.
pub fn fit(objective: &Objective, catalog: &Catalog, temperature: f64, options: &Options) -> Result<Fit, Failure> {
    let device = Device::flex().autodiff();
    device.seed(options.seed);
    let items = all_items(catalog, &device);
    let mut model = TwoTowers::new(&device);
    let mut optimizer = AdamConfig::new().init();
    let random = RefCell::new(ChaCha8Rng::seed_from_u64(seed_for(options.seed, "samples", 0)));
    let mut users: Vec<usize> = (0..catalog.size.users).collect();
    let validated: Vec<usize> = (0..catalog.size.users.min(VALIDATED)).collect();
    let mut best: Option<Fit> = None;
    for epoch in 1..=options.epochs {
        shuffle(&mut users, options.seed, epoch);
        reset_peak();
        let (start, mut sum) = (Instant::now(), 0.0);
        for users in users.chunks(options.batch) {
            let step = Step { model: &model, catalog, items: &items, users, temperature, random: &random };
            let loss = objective.loss(step);
            sum += loss.clone().into_scalar::<f64>() * users.len() as f64;
            let gradients = GradientsParams::from_grads(loss.backward(), &model);
            model = optimizer.step(LEARNING_RATE, model, gradients);
        }
        let seconds = start.elapsed().as_secs_f64();
        let memory = peak().map_or_else(String::new, |mib| format!(", at most {mib:.0} MiB resident"));
        let found = model.valid();
        let values = ndcg(&found, &items.clone().inner(), catalog, Part::Validation, &validated)?;
        let validation = values.iter().sum::<f64>() / values.len() as f64;
        eprintln!(
            "{}, temperature {temperature}, epoch {epoch}: loss {:.4}, validation NDCG@10 {validation:.4}; {seconds:.1} s{memory}",
            objective.name,
            sum / users.len() as f64
        );
        if best.as_ref().is_none_or(|best| validation > best.validation) {
            best = Some(Fit { temperature, epoch, validation, model: found });
        }
    }
    best.ok_or_else(|| "no epoch".into())
}

/// NDCG@10 of the test interactions of each user.
pub fn test(fit: &Fit, catalog: &Catalog) -> Result<Vec<f64>, Failure> {
    let items: Tensor<2> = all_items(catalog, &Device::flex());
    let users: Vec<usize> = (0..catalog.size.users).collect();
    Ok(ndcg(&fit.model, &items, catalog, Part::Test, &users)?)
}

/// The users in another order each epoch.
fn shuffle(users: &mut [usize], seed: u64, epoch: usize) {
    let mut random = ChaCha8Rng::seed_from_u64(seed_for(seed, "users", epoch as u64));
    users.sort_unstable();
    for place in (1..users.len()).rev() {
        users.swap(place, random.random_range(0..=place));
    }
}

/// Sets the peak of resident memory to what is resident now, where the system can.
fn reset_peak() {
    // Only Linux has this file.
    let _ = std::fs::write("/proc/self/clear_refs", "5");
}

/// Largest resident memory in MiB, where the system says it.
fn peak() -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    Some(line.split_whitespace().nth(1)?.parse::<f64>().ok()? / 1024.0)
}
