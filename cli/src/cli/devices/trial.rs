//! `burn-rank devices trial` runs one fit on one device, or times its training steps, and prints the result as a JSON
//! object.

use std::io::Write;
use std::time::Instant;

use clap::Args;

use super::process::end_with_input;
use crate::cli::{Failure, Opened, RunArgs, work_on_this_thread};
use crate::device_comparison::{StepCost, Trial, TrialOptions};
use crate::experiment::{Experiment, Sets};

/// Arguments of `devices trial`, which ends when its standard input ends.
#[derive(Debug, Args)]
pub struct TrialArgs {
    #[command(flatten)]
    run: RunArgs,
    /// A value of the measure that selects rounds; the trial reports how long training takes to reach it
    #[arg(long)]
    target: Option<f64>,
    /// Measure the cost of training steps instead of a fit
    #[arg(long)]
    steps: bool,
    /// Read the data, print their hashes and end
    #[arg(long)]
    read_only: bool,
}

impl TrialArgs {
    pub(super) fn run(self, out: &mut dyn Write) -> Result<(), Failure> {
        let begun = Instant::now();
        end_with_input();
        work_on_this_thread();
        if self.read_only {
            let Opened { config, execution, .. } = self.run.open()?;
            let split = execution.scope(|| config.data.split(config.seed))?;
            return Ok(writeln!(out, "{}", Sets::from_split(&split).hashes().join("\n"))?);
        }
        let text = if self.steps { serde_json::to_string(&self.step_cost()?) } else { self.trial(begun)? };
        Ok(writeln!(out, "{}", text?)?)
    }

    fn trial(&self, begun: Instant) -> Result<serde_json::Result<String>, Failure> {
        let opened = self.run.open()?;
        let options = TrialOptions { device: &opened.device, begun, target: self.target };
        let trial = opened.execution.scope(|| Trial::run(&opened.config, &options))?;
        Ok(serde_json::to_string(&trial))
    }

    /// Measures the cost of training steps; returns `None` if the learner does not train in epochs.
    fn step_cost(&self) -> Result<Option<StepCost>, Failure> {
        let Opened { mut document, config, device, execution } = self.run.open()?;
        if config.resolved()["learner"]["epochs"].is_null() {
            return Ok(None);
        }
        document.set(&format!("learner.epochs={}", StepCost::ROUNDS))?;
        let config = Experiment::from_document(&document)?;
        let batches = StepCost::BATCHES.into_iter().map(|queries| {
            document.set(&format!("learner.batch_queries={queries}"))?;
            Ok((queries, Experiment::from_document(&document)?))
        });
        let batches = batches.collect::<Result<Vec<_>, Failure>>()?;
        Ok(execution.scope(|| StepCost::measure(&config, &batches, &device))?)
    }
}
