//! `[search]` draws trials at random, in place of a grid. Random search fits every trial to completion. Successive
//! halving drops most trials early.
//!
//! Random search follows Bergstra and Bengio, "Random search for hyper-parameter optimization", 2012. Successive
//! halving follows Jamieson and Talwalkar, "Non-stochastic best arm identification and hyperparameter optimization",
//! 2016.

use burn_rank::json::{Map, Value, from_value};
use burn_rank::refusal::Refusal;
use burn_rank::seed::seed_for;
use burn_rank::workbench::json::tagged;
use chacha20::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use serde::{Deserialize, Serialize};

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
            return Err(Refusal::fault("search.space", "expected at least one key with a list or range to draw from"));
        }
        grid::check_keys(self.space()).map_err(|refusal| refusal.under("search.space"))?;
        self.drawn().map(drop)
    }

    fn drawn(&self) -> Result<Space, Refusal> {
        Space::read(self.space()).map_err(|refusal| refusal.under("search.space"))
    }

    /// Returns the trials for a fold, in the order in which they are drawn.
    ///
    /// # Errors
    /// Returns a [`Refusal`] if the search space is invalid.
    pub(in crate::experiment) fn points(&self, seed: u64, fold: usize) -> Result<Vec<Point>, Refusal> {
        let space = self.drawn()?;
        Ok((1..=self.trials()).map(|trial| space.trial(seed, fold, trial)).collect())
    }

    /// Returns copies of a trial for checks. In each copy, one key has an extreme value: the smallest or largest number
    /// of its range, or one of its listed values.
    pub(super) fn extremes(&self, point: &Point) -> Result<Vec<Point>, Refusal> {
        Ok(self.drawn()?.extremes(point))
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

/// The distribution from which values in a range are drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RangeScale {
    /// A uniform distribution: intervals of equal width are equally likely.
    #[default]
    Linear,
    /// A log-uniform distribution: the logarithm of the number is distributed uniformly.
    Log,
}

/// A range of numbers that includes both ends.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RangeConfig {
    /// The lowest value.
    pub from: f64,
    /// The highest value, above `from`.
    pub to: f64,
    /// The distribution of the drawn values.
    #[serde(default)]
    pub scale: RangeScale,
}

/// The values that one key may have.
#[derive(Debug, Clone, PartialEq)]
enum Domain {
    /// A list of values, each equally likely.
    Values(Vec<Value>),
    /// Real numbers between `from` and `to`.
    Real { from: f64, to: f64, scale: RangeScale },
    /// Whole numbers between `from` and `to`, including both.
    Whole { from: i64, to: i64, scale: RangeScale },
}

impl Domain {
    /// Reads the entry of a key in the search space, which is a list of values or a range. A range holds whole numbers
    /// if both of its ends are whole numbers.
    fn read(value: &Value) -> Result<Self, Refusal> {
        let table = match value {
            Value::Array(values) if !values.is_empty() => return Ok(Self::Values(values.clone())),
            Value::Object(table) => table,
            _ => {
                let expected = "expected a list of values, at least one, or a range such as { from = 0.01, to = 1.0 }";
                return Err(Refusal::fault("", expected));
            }
        };
        let RangeConfig { from, to, scale } = from_value(Value::Object(table.clone()))?;
        if from >= to {
            return Err(Refusal::new("from", from, format!("a number below `to`, which is {to}")));
        }
        let whole = |key: &str| table.get(key).and_then(Value::as_i64);
        if scale == RangeScale::Log && from <= 0.0 {
            return Err(Refusal::new("from", from, "a number above 0 on the scale \"log\""));
        }
        Ok(match (whole("from"), whole("to")) {
            (Some(from), Some(to)) => Self::Whole { from, to, scale },
            _ => Self::Real { from, to, scale },
        })
    }

    fn draw(&self, random: &mut ChaCha8Rng) -> Value {
        match self {
            Self::Values(values) => values[random.random_range(0..values.len())].clone(),
            Self::Real { from, to, scale } => {
                let drawn = match scale {
                    RangeScale::Linear => from + random.random::<f64>() * (to - from),
                    RangeScale::Log => log_uniform(*from, *to, random),
                };
                Value::from(rounded(drawn).clamp(*from, *to))
            }
            Self::Whole { from, to, scale: RangeScale::Linear } => Value::from(random.random_range(*from..=*to)),
            // Each whole number has the share of the interval up to the next.
            Self::Whole { from, to, scale: RangeScale::Log } => {
                let drawn = log_uniform(*from as f64, *to as f64 + 1.0, random);
                Value::from((drawn as i64).clamp(*from, *to))
            }
        }
    }

    /// Returns every value in a list, or both ends of a range. If these values are valid, the values between them are
    /// usually valid as well.
    fn extremes(&self) -> Vec<Value> {
        match self {
            Self::Values(values) => values.clone(),
            Self::Real { from, to, .. } => vec![Value::from(*from), Value::from(*to)],
            Self::Whole { from, to, .. } => vec![Value::from(*from), Value::from(*to)],
        }
    }
}

fn log_uniform(from: f64, to: f64, random: &mut ChaCha8Rng) -> f64 {
    (from.ln() + random.random::<f64>() * (to.ln() - from.ln())).exp()
}

/// Rounds a number to six significant digits, so that it is easy to read and the same on every processor.
fn rounded(value: f64) -> f64 {
    format!("{value:.5e}").parse().unwrap_or(value)
}

/// The keys in alphabetical order, each with the values that it may have.
#[derive(Debug, Clone, PartialEq)]
struct Space(Vec<(String, Domain)>);

impl Space {
    /// Reads the table `space`.
    fn read(table: &Map) -> Result<Self, Refusal> {
        let read = |(key, value): (&String, &Value)| {
            Domain::read(value).map(|domain| (key.clone(), domain)).map_err(|refusal| refusal.under(key))
        };
        let mut keys = table.iter().map(read).collect::<Result<Vec<_>, _>>()?;
        keys.sort_by(|one, other| one.0.cmp(&other.0));
        Ok(Self(keys))
    }

    /// Draws the values of a trial, whose number starts at 1.
    fn trial(&self, seed: u64, fold: usize, trial: usize) -> Point {
        let of_trial = seed_for(seed_for(seed, "search", fold as u64), "trial", trial as u64);
        let draw = |(key, domain): &(String, Domain)| {
            let mut random = ChaCha8Rng::seed_from_u64(seed_for(of_trial, key, 0));
            (key.clone(), domain.draw(&mut random))
        };
        self.0.iter().map(draw).collect()
    }

    /// For every key and each of its extreme values, returns a copy of a point in which the key has that value.
    fn extremes(&self, point: &Point) -> Vec<Point> {
        let mut points = Vec::new();
        for (at, (_, domain)) in self.0.iter().enumerate() {
            for value in domain.extremes() {
                let mut point = point.clone();
                point[at].1 = value;
                points.push(point);
            }
        }
        points
    }
}

#[cfg(test)]
mod tests {
    use burn_rank::json::from_value;
    use burn_rank::workbench::json::json;

    use super::*;

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

    fn space(value: Value) -> Space {
        Space::read(value.as_object().unwrap()).unwrap()
    }

    fn numbers(domain: Value, count: usize) -> Vec<f64> {
        let space = space(json!({"k": domain}));
        (1..=count).map(|trial| space.trial(1, 1, trial)[0].1.as_f64().unwrap()).collect()
    }

    #[test]
    fn numbers_are_drawn_evenly_on_their_scale() {
        let share = |drawn: &[f64], below: f64| {
            drawn.iter().filter(|&&value| value < below).count() as f64 / drawn.len() as f64
        };
        let linear = numbers(json!({"from": -1.0, "to": 3.0}), 4000);
        assert!(linear.iter().all(|value| (-1.0..=3.0).contains(value)));
        assert!((share(&linear, 0.0) - 0.25).abs() < 0.03, "{}", share(&linear, 0.0));
        let log = numbers(json!({"from": 0.001, "to": 10.0, "scale": "log"}), 4000);
        assert!(log.iter().all(|value| (0.001..=10.0).contains(value)));
        assert!((share(&log, 0.01) - 0.25).abs() < 0.03, "{}", share(&log, 0.01));
        let whole = numbers(json!({"from": 1, "to": 4}), 4000);
        for value in [1.0, 2.0, 3.0, 4.0] {
            let share = whole.iter().filter(|&&drawn| drawn == value).count() as f64 / 4000.0;
            assert!((share - 0.25).abs() < 0.03, "{value}: {share}");
        }
        // Whole numbers on the scale "log": 1 has log(2) of log(8), and 4 to 7 together as much.
        let log = numbers(json!({"from": 1, "to": 7, "scale": "log"}), 4000);
        assert!(log.iter().all(|value| value.fract() == 0.0 && (1.0..=7.0).contains(value)));
        assert!((share(&log, 2.0) - 1.0 / 3.0).abs() < 0.03 && (share(&log, 4.0) - 2.0 / 3.0).abs() < 0.03);
    }

    #[test]
    fn a_value_depends_on_seed_fold_trial_and_key_alone() {
        let narrow = space(json!({"b": {"from": 0.0, "to": 1.0}}));
        let wide = space(json!({"b": {"from": 0.0, "to": 1.0}, "a": [1, 2, 3]}));
        assert_eq!(wide.trial(7, 2, 3)[1], narrow.trial(7, 2, 3)[0]);
        let drawn = |seed, fold, trial| narrow.trial(seed, fold, trial)[0].1.as_f64().unwrap();
        let all = [drawn(7, 2, 3), drawn(8, 2, 3), drawn(7, 1, 3), drawn(7, 2, 4)];
        assert!((1..4).all(|at| all[..at].iter().all(|other| *other != all[at])), "{all:?}");
        // Runs that are resumed must draw what they drew.
        assert_eq!(drawn(1, 1, 1), 0.228843);
    }

    #[test]
    fn what_is_no_domain_is_refused() {
        for (value, expected) in [
            (json!([]), "k: expected a list of values, at least one, or a range such as { from = 0.01, to = 1.0 }"),
            (json!(3), "k: expected a list of values, at least one, or a range such as { from = 0.01, to = 1.0 }"),
            (json!({"from": 1}), "k: missing field `to`"),
            (
                json!({"from": 1, "too": 2}),
                "k.too: unknown field `too`, expected one of `from`, `to`, `scale`; did you",
            ),
            (json!({"from": 2.0, "to": 1}), "k.from: found 2, expected a number below `to`, which is 1"),
            (json!({"from": 0, "to": 1, "scale": "log"}), "k.from: found 0, expected a number above 0 on the scale"),
            (json!({"from": "a", "to": 1}), "k.from: found \"a\", expected a number"),
            (json!({"from": 1, "to": 2, "scale": "lg"}), "k.scale: unknown variant `lg`, expected `linear` or `log`"),
        ] {
            let fields = json!({"k": value});
            let refusal = Space::read(fields.as_object().unwrap()).unwrap_err().with_key();
            assert!(refusal.starts_with(expected), "{refusal}");
        }
    }

    #[test]
    fn extremes_are_tried_key_by_key() {
        let space = space(json!({"a": ["x", "y"], "b": {"from": 1, "to": 9}}));
        let point = space.trial(1, 1, 1);
        let tried: Vec<String> = space.extremes(&point).iter().map(crate::experiment::config::grid::label).collect();
        let b = &point[1].1;
        assert_eq!(tried[..2], [format!("a=\"x\" b={b}"), format!("a=\"y\" b={b}")]);
        assert!(tried[2].ends_with("b=1") && tried[3].ends_with("b=9") && tried.len() == 4);
    }
}
