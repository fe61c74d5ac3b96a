//! `[search]` draws trials at random, in place of a grid. Random search fits every trial to completion. Successive
//! halving drops most trials early.
//!
//! Random search follows Bergstra and Bengio, "Random search for hyper-parameter optimization", 2012. Successive
//! halving follows Jamieson and Talwalkar, "Non-stochastic best arm identification and hyperparameter optimization",
//! 2016.

pub(super) mod space;

use burn_rank::json::Map;
use burn_rank::refusal::Refusal;
use burn_rank::workbench::json::tagged;

use self::space::Space;
use super::grid::{self, Point};

/// The largest number of trials; each one is fitted in every fold with every seed.
const MOST_TRIALS: usize = 10_000;

tagged! {
    "SearchConfig"
    /// The method by which a cross-validation draws and fits its trials. The key `kind` chooses the variant.
    #[serde(rename_all = "snake_case", deny_unknown_fields)]
    pub enum SearchConfig {
        /// Fits every trial to completion.
        Random {
            /// The number of trials per fold, from 1 to 10,000.
            trials: usize,
            /// A list of values or a range for each dotted key.
            #[serde(default)]
            space: Map,
        },
        /// Fits all trials for a few rounds, then continues only the best ones for more rounds. This repeats until the
        /// remaining trials are complete.
        SuccessiveHalving {
            /// The number of trials per fold in the first rung, from `reduction` to 10,000.
            trials: usize,
            /// A list of values or a range for each dotted key.
            #[serde(default)]
            space: Map,
            /// The number of rounds that a trial has completed after the last rung. The default is the learner's own
            /// number of rounds.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            budget: Option<usize>,
            /// The factor by which each rung reduces the number of trials and increases the number of rounds. It is at
            /// least 2. One in `reduction` trials reaches the next rung, with `reduction` times as many rounds.
            #[serde(default = "reduction")]
            reduction: usize,
        },
    }
}

fn reduction() -> usize {
    3
}

/// One rung of successive halving.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Rung {
    /// The number of trials per fold in the rung.
    pub trials: usize,
    /// The number of rounds that each trial has completed at the end of the rung.
    pub rounds: usize,
}

impl SearchConfig {
    /// Returns the name of the kind of search.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Random { .. } => "random",
            Self::SuccessiveHalving { .. } => "successive_halving",
        }
    }

    /// Returns the number of trials per fold.
    pub fn trials(&self) -> usize {
        match self {
            Self::Random { trials, .. } | Self::SuccessiveHalving { trials, .. } => *trials,
        }
    }

    /// Returns the search space: a list of values or a range for each dotted key.
    pub fn space(&self) -> &Map {
        match self {
            Self::Random { space, .. } | Self::SuccessiveHalving { space, .. } => space,
        }
    }

    /// Rejects numbers that are out of range, and an empty or invalid search space.
    ///
    /// # Errors
    /// Returns a [`Refusal`] for the first invalid key.
    pub fn check(&self) -> Result<(), Refusal> {
        let refuse = |key, found: usize, expected: String| Err(Refusal::new(key, found, expected).under("search"));
        let least = match self {
            Self::Random { .. } => 1,
            Self::SuccessiveHalving { reduction, budget, .. } => {
                if *reduction < 2 {
                    return refuse("reduction", *reduction, "at least 2".to_string());
                }
                if let Some(budget) = budget.filter(|budget| budget < reduction) {
                    return refuse("budget", budget, format!("at least {reduction}, the reduction"));
                }
                *reduction
            }
        };
        let trials = self.trials();
        if trials < least {
            let words = if least > 1 { ", the reduction" } else { "" };
            return refuse("trials", trials, format!("at least {least}{words}"));
        }
        if trials > MOST_TRIALS {
            return refuse("trials", trials, format!("at most {MOST_TRIALS}"));
        }
        if self.space().is_empty() {
            return Err(Refusal::fault("search.space", "expected at least one key with what is drawn for it"));
        }
        grid::check_keys(self.space()).and(self.drawn().map(|_| ())).map_err(|refusal| refusal.under("search.space"))
    }

    fn drawn(&self) -> Result<Space, Refusal> {
        Space::read(self.space())
    }

    /// Returns the trials for a fold, in the order in which they are drawn.
    ///
    /// # Errors
    /// Returns a [`Refusal`] if the search space is invalid.
    pub(in crate::experiment) fn points(&self, seed: u64, fold: usize) -> Result<Vec<Point>, Refusal> {
        let space = self.drawn().map_err(|refusal| refusal.under("search.space"))?;
        Ok((1..=self.trials()).map(|trial| space.trial(seed, fold, trial)).collect())
    }

    /// Returns copies of a trial for checks. In each copy, one key has an extreme value: the smallest or largest number
    /// of its range, or one of its listed values.
    pub(super) fn extremes(&self, point: &Point) -> Result<Vec<Point>, Refusal> {
        Ok(self.drawn().map_err(|refusal| refusal.under("search.space"))?.extremes(point))
    }
}

/// Returns the rungs of successive halving. The last rung ends after `budget` rounds. Uses as many rungs as possible,
/// with at least one round in the first and at least one trial in the last.
pub(in crate::experiment) fn rungs(trials: usize, budget: usize, reduction: usize) -> Vec<Rung> {
    let divisors = std::iter::successors(Some(1usize), |divisor| divisor.checked_mul(reduction));
    let divisors: Vec<usize> = divisors.take_while(|divisor| *divisor <= trials && *divisor <= budget).collect();
    let rung =
        |(trials_by, rounds_by): (&usize, &usize)| Rung { trials: trials / trials_by, rounds: budget / rounds_by };
    divisors.iter().zip(divisors.iter().rev()).map(rung).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use burn_rank::json::from_value;
    use burn_rank::workbench::json::json;

    #[test]
    fn rungs_share_out_trials_and_rounds() {
        let of = |trials, budget, reduction| -> Vec<(usize, usize)> {
            rungs(trials, budget, reduction).iter().map(|rung| (rung.trials, rung.rounds)).collect()
        };
        assert_eq!(of(27, 81, 3), [(27, 3), (9, 9), (3, 27), (1, 81)]);
        assert_eq!(of(100, 50, 3), [(100, 1), (33, 5), (11, 16), (3, 50)]);
        assert_eq!(of(5, 1000, 4), [(5, 250), (1, 1000)]);
        assert_eq!(of(2, 2, 2), [(2, 1), (1, 2)]);
    }

    #[test]
    fn numbers_out_of_their_ranges_are_refused() {
        let space = || json!({"loss.alpha": [1.0]});
        let halving = |key: &str, value: usize| {
            let mut table = json!({"kind": "successive_halving", "trials": 9, "space": space()});
            table[key] = value.into();
            table
        };
        for (table, expected) in [
            (json!({"kind": "random", "trials": 0, "space": space()}), "search.trials: found 0, expected at least 1"),
            (
                json!({"kind": "random", "trials": 10001, "space": space()}),
                "search.trials: found 10001, expected at most 10000",
            ),
            (json!({"kind": "random", "trials": 3}), "search.space: expected at least one key"),
            (
                json!({"kind": "random", "trials": 3, "space": {"seed": [1]}}),
                "search.space.seed: expected a key that begins with one of normalizer, scorer, loss, learner",
            ),
            (halving("reduction", 1), "search.reduction: found 1, expected at least 2"),
            (halving("trials", 2), "search.trials: found 2, expected at least 3, the reduction"),
            (halving("budget", 2), "search.budget: found 2, expected at least 3, the reduction"),
        ] {
            let config: SearchConfig = from_value(table).unwrap();
            let refusal = config.check().unwrap_err().with_key();
            assert!(refusal.starts_with(expected), "{refusal}");
        }
    }
}
