//! A recommender trained on its whole catalog: ApproxNDCG compared with full softmax, sampled softmax and BPR.
//!
//! ```text
//! cargo run --release --package burn-rank --example recommender -- [OPTIONS]
//! ```
//!
//! 2,000 users took 50 of 200,000 items each (see [`data`]); 5 of them are held out for validation and 5 for the test.
//! Two towers score all items for a user. Each loss is trained at each temperature, which divides the scores; the
//! validation value of NDCG@10 chooses the temperature and the epoch, and only then is the test value computed, over
//! the whole catalog. The figures go to standard output, and are the same for the same seed; times and memory go to
//! standard error.
//!
//! - `--small`: a catalog of 2,000 items, for a few seconds
//! - `--losses A,B,..`: some of `approx_ndcg`, `full_softmax`, `sampled_softmax` and `bpr`; all by default
//! - `--temperatures A,B,..`: 0.1, 0.3, 1 by default
//! - `--epochs N`: at most so many passes over the users, 3 by default
//! - `--batch N`: users of a step, 32 by default
//! - `--seed N`: 1 by default

mod data;
mod evaluate;
mod model;
mod objective;
mod train;

use data::{Catalog, FULL, SMALL, Size};
use objective::{NAMES, Objective};

type Failure = Box<dyn std::error::Error>;

struct Options {
    size: Size,
    losses: Vec<String>,
    temperatures: Vec<f64>,
    epochs: usize,
    batch: usize,
    seed: u64,
}

fn main() -> Result<(), Failure> {
    let options = Options::read(std::env::args().skip(1))?;
    // Kernels run fastest where the calling thread is one of rayon's.
    rayon::ThreadPoolBuilder::new().use_current_thread().build_global()?;
    let catalog = Catalog::generate(options.size, options.seed);
    let Size { users, items, interactions } = options.size;
    println!("{users} users, {items} items, {} interactions", users * interactions);
    println!("\n| loss | temperature | epoch | validation NDCG@10 | test NDCG@10 |\n|---|---|---|---|---|");
    for name in &options.losses {
        let expected = || format!("--losses {name}: expected some of {}", NAMES.join(", "));
        let objective = Objective::new(name)?.ok_or_else(expected)?;
        let mut best: Option<train::Fit> = None;
        for &temperature in &options.temperatures {
            let fit = train::fit(&objective, &catalog, temperature, &options)?;
            if best.as_ref().is_none_or(|best| fit.validation > best.validation) {
                best = Some(fit);
            }
        }
        let Some(best) = best else { continue };
        let test = train::test(&best, &catalog)?;
        let mean = test.iter().sum::<f64>() / test.len() as f64;
        let variance = test.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (test.len() - 1) as f64;
        println!(
            "| `{}` | {} | {} | {:.4} | {mean:.4} ± {:.4} |",
            objective.name,
            best.temperature,
            best.epoch,
            best.validation,
            (variance / test.len() as f64).sqrt()
        );
    }
    Ok(())
}

impl Options {
    fn read(mut arguments: impl Iterator<Item = String>) -> Result<Self, Failure> {
        let mut options = Self {
            size: FULL,
            losses: NAMES.map(String::from).to_vec(),
            temperatures: vec![0.1, 0.3, 1.0],
            epochs: 3,
            batch: 32,
            seed: 1,
        };
        while let Some(argument) = arguments.next() {
            let mut value = || arguments.next().ok_or_else(|| format!("{argument} needs a value"));
            match argument.as_str() {
                "--small" => options.size = SMALL,
                "--losses" => options.losses = value()?.split(',').map(String::from).collect(),
                "--temperatures" => {
                    options.temperatures = value()?.split(',').map(str::parse).collect::<Result<_, _>>()?;
                }
                "--epochs" => options.epochs = value()?.parse()?,
                "--batch" => options.batch = value()?.parse()?,
                "--seed" => options.seed = value()?.parse()?,
                other => return Err(format!("unknown option {other}").into()),
            }
        }
        let positive = |value: f64| value.is_finite() && value > 0.0;
        if options.epochs == 0 || options.batch == 0 || !options.temperatures.iter().all(|&value| positive(value)) {
            return Err("--epochs, --batch and --temperatures: expected numbers above 0".into());
        }
        Ok(options)
    }
}
