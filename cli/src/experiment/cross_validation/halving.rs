//! Successive halving: its rungs, the trials that reach each rung, and their fits.
//!
//! In each rung, a trial is ranked by its best round so far, measured on validation queries. The rank is computed from
//! the trial's history up to this rung. So a cross-validation that was stopped and resumed drops the same trials.

use super::jobs::{JobResult, Pass};
use super::{CrossValidationOptions, PlannedFits};
use crate::experiment::error::ExperimentError;
use crate::experiment::record::{mean, merit};

impl PlannedFits<'_> {
    /// Returns the trials that reach each rung in a fold, and their selection measures at the end of the rung. The
    /// measures are averaged over seeds; without successive halving there are no rungs.
    pub(super) fn ladder(&self, results: &[JobResult], split: usize) -> Vec<(Vec<usize>, Vec<f64>)> {
        let mut trials: Vec<usize> = (0..self.choices()).collect();
        let mut ladder: Vec<(Vec<usize>, Vec<f64>)> = Vec::with_capacity(self.rungs.len());
        for rung in &self.rungs {
            if let Some((above, values)) = ladder.last() {
                trials = best(above, values, rung.trials);
            }
            let value = |&trial: &usize| {
                let of_seeds = self.of_candidate(results, split, trial);
                mean(of_seeds.iter().map(|result| within(result, rung.rounds)))
            };
            let values: Vec<f64> = trials.iter().map(value).collect();
            ladder.push((trials.clone(), values));
        }
        ladder
    }

    /// Runs the rungs one after the other, and returns the latest result of every job.
    ///
    /// A trial continues from the state in its folder. Without an output folder, the trial is fitted again from its
    /// first round, with the same result.
    pub(super) fn run_rungs(&self, options: &CrossValidationOptions) -> Result<Vec<JobResult>, ExperimentError> {
        let of_rung = |trials: usize| trials * self.contents.len() * self.seeds.len();
        let all = self.rungs.iter().map(|rung| of_rung(rung.trials)).sum();
        let mut results: Vec<JobResult> = Vec::new();
        let mut before = 0;
        for (at, rung) in self.rungs.iter().enumerate() {
            let numbers: Vec<usize> = match at {
                0 => (0..self.count()).collect(),
                _ => (0..self.contents.len()).flat_map(|split| self.numbers_of_rung(&results, split, at)).collect(),
            };
            let last = at + 1 == self.rungs.len();
            let pass = Pass { rounds: (!last).then_some(rung.rounds), before, all, ..Pass::new(&numbers) };
            let made = self.run_pass(&pass, options)?;
            before += made.len();
            match at {
                0 => results = made,
                _ => numbers.iter().zip(made).for_each(|(&number, result)| results[number] = result),
            }
        }
        Ok(results)
    }

    fn numbers_of_rung(&self, results: &[JobResult], split: usize, rung: usize) -> Vec<usize> {
        let (trials, _) = self.ladder(results, split).swap_remove(rung);
        trials.into_iter().flat_map(|trial| self.numbers(split, trial)).collect()
    }
}

/// Returns the `count` trials with the highest values, without changing their order. Ties go to the first trial.
fn best(trials: &[usize], values: &[f64], count: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..trials.len()).collect();
    order.sort_by(|&one, &other| merit(values[other]).total_cmp(&merit(values[one])));
    let mut stay: Vec<usize> = order.into_iter().take(count).map(|at| trials[at]).collect();
    stay.sort_unstable();
    stay
}

/// Returns a fit's best selection measure on validation queries within its first `rounds` rounds. Returns NaN if none
/// was measured.
fn within(result: &JobResult, rounds: usize) -> f64 {
    let measured = result.fit.history.iter().take(rounds).filter_map(|round| round.validation);
    measured.fold(f64::NAN, f64::max)
}

#[cfg(test)]
mod tests {
    use super::best;

    #[test]
    fn the_best_trials_stay_and_ties_go_to_the_first() {
        assert_eq!(best(&[0, 1, 2, 3], &[0.5, f64::NAN, 0.5, 0.7], 2), [0, 3]);
        assert_eq!(best(&[2, 5, 9], &[f64::NAN, 0.1, -1.0], 2), [5, 9]);
        assert_eq!(best(&[4, 6], &[f64::NAN, f64::NAN], 1), [4]);
    }
}
