//! Losses side by side: each is trained on the same data with the same scorers and optimizer.
//!
//! ```text
//! cargo run --release --package burn-rank --example losses_side_by_side -- [DATA ..] [OPTIONS]
//! ```
//!
//! `DATA` is a folder of `Fold1`, `Fold2`, ... or `S1.txt`, `S2.txt`, ..., or one of the generated sets `small` (the
//! default), `generated` and `unseen`: see [`data`]. Each model is the model of the epoch with the best validation
//! value of the measure in the column. Figures are for the test queries in the `letor` convention: the mean over the
//! queries of all folds, each the mean over the seeds, ± its standard error.
//!
//! - `--losses A,B,..`: names of losses, or cells as `ap:rank_indicators`; all named losses without it, and all cells of
//!   measure and relaxation too with `--cells`
//! - `--temperatures A,B,..`: values of each loss's temperature, in spreads of scores; without it, the temperature of a
//!   configuration file that names none, and `papers` for the papers' temperature
//! - `--scorer linear|mlp|both`, `--epochs N`
//! - `--seeds A,B,..`: seeds of the first weights and of the order of queries; 1 by default
//! - `--out FILE`: appends one JSON object for each training, and skips what the file has already; without `DATA` it prints
//!   the tables of the file
//! - `--own`: prints, instead of the tables, each cell's own measure at the default temperature and tuned
//! - `--targets`: prints, instead of the tables, the targets of the defaults and the misses
//! - `--choose`: prints, instead of the table, the mean validation values by temperature, which no test figure enters

mod data;
mod record;
mod table;
mod targets;
mod train;

use std::path::PathBuf;

use burn_rank::loss::{Cell, LossSpec, Smoothing, registry};
use burn_rank::scorer::{MlpScorerConfig, ScorerConfig};

use record::{Key, Records};
use train::Run;

type Failure = Box<dyn std::error::Error>;

/// The setting of the temperature of a loss.
#[derive(Clone, Copy)]
enum Temperature {
    /// The temperature of a configuration file that names none.
    Relative,
    /// The papers' temperature, in scores.
    Papers,
    /// A value in spreads of scores.
    Spreads(f64),
}

struct Options {
    data: Vec<String>,
    losses: Vec<LossSpec>,
    temperatures: Vec<Temperature>,
    scorers: Vec<String>,
    seeds: Vec<u64>,
    epochs: u64,
    out: Option<PathBuf>,
    print: Print,
}

/// The text that is printed at the end.
#[derive(Clone, Copy)]
enum Print {
    Figures,
    Choice,
    Own,
    Targets,
}

fn main() -> Result<(), Failure> {
    let options = Options::read(std::env::args().skip(1))?;
    let mut records = Records::open(options.out.clone())?;
    for name in &options.data {
        let folds = data::folds_of(name)?;
        let set = data::short_name(name);
        for scorer in &options.scorers {
            let (config, learning_rate) = match scorer.as_str() {
                "linear" => (ScorerConfig::default(), 0.01),
                _ => (ScorerConfig::Mlp(MlpScorerConfig::default()), 0.001),
            };
            for (spec, &temperature) in pairs(&options.losses, &options.temperatures) {
                let Some((loss, temperature)) = at_temperature(spec, temperature)? else { continue };
                let loss = loss.build()?;
                for ((fold, parts), &seed) in pairs(folds.iter().enumerate(), &options.seeds) {
                    let key = Key {
                        set: set.to_owned(),
                        scorer: scorer.clone(),
                        loss: spec.to_string(),
                        temperature,
                        epochs: options.epochs,
                        seed,
                        fold: fold + 1,
                    };
                    if !records.has(&key) {
                        let run = Run { scorer: &config, learning_rate, epochs: options.epochs, seed };
                        records.add(key, train::train(loss.as_ref(), &run, parts)?)?;
                    }
                }
            }
        }
    }
    let text = match options.print {
        Print::Figures => table::figures(&records)?,
        Print::Choice => table::choice(&records),
        Print::Own => table::own_measures(&records)?,
        Print::Targets => targets::figures(&records)?,
    };
    print!("{text}");
    Ok(())
}

/// Each of the first with each of the second.
fn pairs<A: Copy, B>(first: impl IntoIterator<Item = A>, second: &[B]) -> impl Iterator<Item = (A, &B)> {
    first.into_iter().flat_map(move |a| second.iter().map(move |b| (a, b)))
}

/// The loss at this temperature, and its value in spreads if it has one; none where a loss has no temperature to set.
fn at_temperature(spec: &LossSpec, temperature: Temperature) -> Result<Option<(LossSpec, Option<f64>)>, Failure> {
    let Some(Smoothing { parameter, .. }) = spec.smoothing()? else {
        return Ok((!matches!(temperature, Temperature::Spreads(_))).then(|| (spec.clone(), None)));
    };
    let loss = match temperature {
        Temperature::Relative => spec.with_default_temperature(Some(1.0))?,
        Temperature::Papers => return Ok(Some((spec.with_default_temperature(None)?, None))),
        Temperature::Spreads(value) => spec.with(parameter, value).with("temperature_unit", "spread"),
    };
    let value = loss.params.get(parameter).map(|value| value.to_string().parse());
    Ok(Some((loss, value.transpose()?)))
}

impl Options {
    fn read(mut arguments: impl Iterator<Item = String>) -> Result<Self, Failure> {
        let mut options = Self {
            data: Vec::new(),
            losses: Vec::new(),
            temperatures: vec![Temperature::Relative],
            scorers: ["linear", "mlp"].map(String::from).to_vec(),
            seeds: vec![1],
            epochs: 10,
            out: None,
            print: Print::Figures,
        };
        let mut cells = false;
        while let Some(argument) = arguments.next() {
            let mut value = || arguments.next().ok_or_else(|| format!("{argument} needs a value"));
            match argument.as_str() {
                "--losses" => options.losses = value()?.split(',').map(LossSpec::parse).collect(),
                "--temperatures" => {
                    let read = |text: &str| match text {
                        "papers" => Ok(Temperature::Papers),
                        value => value.parse().map(Temperature::Spreads),
                    };
                    options.temperatures = value()?.split(',').map(read).collect::<Result<_, _>>()?;
                }
                "--scorer" => match value()?.as_str() {
                    "both" => {}
                    scorer @ ("linear" | "mlp") => options.scorers = vec![scorer.to_owned()],
                    other => return Err(format!("--scorer {other}: expected linear, mlp or both").into()),
                },
                "--seeds" => options.seeds = value()?.split(',').map(str::parse).collect::<Result<_, _>>()?,
                "--epochs" => options.epochs = value()?.parse()?,
                "--out" => options.out = Some(value()?.into()),
                "--cells" => cells = true,
                "--choose" => options.print = Print::Choice,
                "--own" => options.print = Print::Own,
                "--targets" => options.print = Print::Targets,
                option if option.starts_with("--") => return Err(format!("unknown option {option}").into()),
                _ => options.data.push(argument),
            }
        }
        if options.data.is_empty() && options.out.is_none() {
            options.data.push("small".to_owned());
        }
        if options.losses.is_empty() {
            options.losses = every_loss(cells);
        }
        Ok(options)
    }
}

/// Returns every loss with a name; with `cells`, every cell of measure and relaxation and every loss that is not a
/// cell.
fn every_loss(cells: bool) -> Vec<LossSpec> {
    let is_cell = |name: &str| Cell::all().any(|cell| cell.named() == Some(name));
    let entries = registry::LOSSES.iter().filter(|entry| !entry.is_joined());
    let entries = entries.filter(|entry| !cells || !is_cell(entry.name));
    let mut losses: Vec<LossSpec> = entries.map(|entry| LossSpec::new(entry.name)).collect();
    if cells {
        let name = |cell: Cell| format!("{}:{}", cell.measure.name(), cell.relaxation.name());
        losses.extend(Cell::all().map(|cell| LossSpec::parse(&name(cell))));
    }
    losses
}
