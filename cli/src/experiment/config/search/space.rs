//! The search space: a list of values or a range for each dotted key.
//!
//! A drawn value depends only on the seed, the fold, the trial's number and the key. So adding keys or trials does not
//! change values that were drawn before.

use burn_rank::json::{Map, Value, from_value};
use burn_rank::refusal::Refusal;
use burn_rank::seed::seed_for;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};

use crate::experiment::config::grid::Point;

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
pub(super) enum Domain {
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
        let whole = |key: &str| table.get(key).and_then(whole_number);
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
            Self::Real { from, to, scale: RangeScale::Linear } => {
                Value::from(rounded(from + random.random::<f64>() * (to - from)).clamp(*from, *to))
            }
            Self::Real { from, to, scale: RangeScale::Log } => {
                Value::from(rounded(log_uniform(*from, *to, random)).clamp(*from, *to))
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

fn whole_number(value: &Value) -> Option<i64> {
    match value {
        Value::Number(number) => number.as_i64(),
        _ => None,
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
pub(super) struct Space(Vec<(String, Domain)>);

impl Space {
    /// Reads the table `space`.
    pub(super) fn read(table: &Map) -> Result<Self, Refusal> {
        let read = |(key, value): (&String, &Value)| match Domain::read(value) {
            Ok(domain) => Ok((key.clone(), domain)),
            Err(refusal) => Err(refusal.under(key)),
        };
        let mut keys = table.iter().map(read).collect::<Result<Vec<_>, _>>()?;
        keys.sort_by(|one, other| one.0.cmp(&other.0));
        Ok(Self(keys))
    }

    /// Draws the values of a trial, whose number starts at 1.
    pub(super) fn trial(&self, seed: u64, fold: usize, trial: usize) -> Point {
        let of_trial = seed_for(seed_for(seed, "search", fold as u64), "trial", trial as u64);
        let draw = |(key, domain): &(String, Domain)| {
            let mut random = ChaCha8Rng::seed_from_u64(seed_for(of_trial, key, 0));
            (key.clone(), domain.draw(&mut random))
        };
        self.0.iter().map(draw).collect()
    }

    /// For every key and each of its extreme values, returns a copy of a point in which the key has that value.
    pub(super) fn extremes(&self, point: &Point) -> Vec<Point> {
        let with = |at: usize, value: Value| {
            let mut point = point.clone();
            point[at].1 = value;
            point
        };
        let of_key = |(at, (_, domain)): (usize, &(String, Domain))| {
            domain.extremes().into_iter().map(|value| with(at, value)).collect::<Vec<_>>()
        };
        self.0.iter().enumerate().flat_map(of_key).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use burn_rank::workbench::json::json;

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
