//! The verdicts on claims, and the rules by which studies reach them.
//!
//! A claim about single numbers holds or fails only if they differ by more than the rounding error `1e-9`. A claim
//! about means holds or fails only if the mean of paired differences is more than two standard errors from 0. A claim
//! is vacuous if its bound is at least as large as the largest possible value of the quantity. A claim is open if none
//! of these rules decides it.

use std::collections::BTreeMap;
use std::fmt;

use burn_rank::workbench::mean_of;
use serde::{Deserialize, Serialize};

use crate::number::short;

/// A difference between two numbers counts as a rounding error if it is smaller than this.
pub(super) const ROUNDING: f64 = 1e-9;

/// A mean counts as different from 0 if it is more than this number of standard errors from 0.
const STANDARD_ERRORS: f64 = 2.0;

/// A fitted limit counts as wrong if it is more than this number of standard errors away. The number is larger than the
/// one for means, because a study fits about thirty limits.
const STANDARD_ERRORS_OF_FITS: f64 = 3.0;

/// The result of checking a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// The study found the claim to be true.
    Holds,
    /// The study found the claim to be false.
    Fails,
    /// The claim cannot fail for any ranking, because its bound is at least as large as the largest possible value.
    Vacuous,
    /// The study could not decide.
    Open,
}

impl Verdict {
    /// Every verdict.
    pub const ALL: [Verdict; 4] = [Verdict::Holds, Verdict::Fails, Verdict::Vacuous, Verdict::Open];

    /// Returns the verdict as a word.
    pub fn name(self) -> &'static str {
        match self {
            Verdict::Holds => "holds",
            Verdict::Fails => "fails",
            Verdict::Vacuous => "vacuous",
            Verdict::Open => "open",
        }
    }

    /// Judges the claim `margin > 0`, which is open if `margin` is within the rounding error.
    pub(super) fn above_zero(margin: f64) -> Self {
        Mean { mean: margin, error: 0.0 }.above_zero()
    }

    /// Combines the verdicts on the parts of a claim. The claim holds if every part holds, and fails if one part fails.
    pub(super) fn all(parts: impl IntoIterator<Item = Verdict>) -> Self {
        let parts: Vec<Verdict> = parts.into_iter().collect();
        let every = |verdict| !parts.is_empty() && parts.iter().all(|part| *part == verdict);
        match () {
            () if parts.contains(&Verdict::Fails) => Verdict::Fails,
            () if every(Verdict::Holds) => Verdict::Holds,
            () if every(Verdict::Vacuous) => Verdict::Vacuous,
            () => Verdict::Open,
        }
    }
}

/// A verdict, with the finding in words and the numbers behind it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Judged {
    pub(super) verdict: Verdict,
    /// The finding, in words.
    pub(super) found: String,
    /// The numbers, by name.
    pub(super) numbers: BTreeMap<String, f64>,
}

impl Judged {
    pub(super) fn new(verdict: Verdict, found: impl Into<String>) -> Self {
        Self { verdict, found: found.into(), numbers: BTreeMap::new() }
    }

    /// Adds a named number; a number that is not finite is left out, because JSON cannot represent it.
    pub(super) fn number(mut self, name: impl Into<String>, value: f64) -> Self {
        if value.is_finite() {
            self.numbers.insert(name.into(), value);
        }
        self
    }

    /// Judges `left < right`.
    pub(super) fn less(left: (&str, f64), right: (&str, f64)) -> Self {
        let found = format!("{} {}, {} {}", left.0, short(left.1), right.0, short(right.1));
        Self::new(Verdict::above_zero(right.1 - left.1), found).number(left.0, left.1).number(right.0, right.1)
    }

    /// Judges whether `value` equals `printed`, a number from a paper that was rounded to `decimals` decimals.
    pub(super) fn printed(value: f64, printed: f64, decimals: i32) -> Self {
        let half = 0.5 * 10f64.powi(-decimals);
        // A value on the edge rounds to either side.
        let verdict = Verdict::above_zero(half - (value - printed).abs());
        let found = format!("{} against {printed:.*} in print", short(value), decimals as usize);
        Self::new(verdict, found).number("value", value).number("printed", printed)
    }
}

/// How an error and its bound compare: `close` ones differ by no more than rounding, and a bound is `vacuous` if
/// nothing can exceed it.
const COMPARED: [&str; 4] = ["above", "below", "close", "vacuous"];
/// The position of vacuous bounds in [`COMPARED`].
const VACUOUS: usize = 3;

/// Errors with their bounds.
#[derive(Debug, Clone, Default)]
pub(super) struct Bounded {
    /// All errors, including those without a bound.
    pub(super) errors: Vec<f64>,
    bounds: Vec<f64>,
    /// The number of bounds for each way of [`COMPARED`].
    counts: [usize; COMPARED.len()],
    /// The largest ratio of an error to its bound, ignoring vacuous bounds.
    share: f64,
}

impl Bounded {
    /// Adds an error, with the bound that the claim states for it and the largest error that any ranking can have. The
    /// bound is `None` if the claim does not cover the error.
    pub(super) fn add(&mut self, error: f64, bound: Option<f64>, most: f64) {
        self.errors.push(error);
        let Some(bound) = bound else { return };
        self.bounds.push(bound);
        let [above, below, close, vacuous] = &mut self.counts;
        // An error that is not a number is not within its bound.
        let compared = if error.is_nan() || error > bound + ROUNDING {
            above
        } else if bound >= most - ROUNDING {
            vacuous
        } else if error < bound - ROUNDING {
            below
        } else {
            close
        };
        *compared += 1;
        if bound < most - ROUNDING {
            self.share = self.share.max(error / bound.max(ROUNDING));
        }
    }

    /// Returns the mean error, which the papers call `rho`.
    pub(super) fn mean(&self) -> Option<f64> {
        mean_of(self.errors.iter().copied())
    }

    /// Returns the mean bound of the errors that have one.
    pub(super) fn mean_bound(&self) -> Option<f64> {
        mean_of(self.bounds.iter().copied())
    }

    /// Returns the largest error.
    pub(super) fn largest(&self) -> Option<f64> {
        self.errors.iter().copied().reduce(f64::max)
    }

    /// Returns the number of errors that have a bound.
    pub(super) fn bounded(&self) -> usize {
        self.bounds.len()
    }

    /// Returns the number of errors with a bound that is not vacuous.
    pub(super) fn exceedable(&self) -> usize {
        self.bounded() - self.counts[VACUOUS]
    }

    /// Collects errors with their bounds; `most` is the largest error that any ranking can have.
    pub(super) fn of(errors: impl IntoIterator<Item = (f64, Option<f64>)>, most: f64) -> Self {
        let mut found = Self::default();
        errors.into_iter().for_each(|(error, bound)| found.add(error, bound, most));
        found
    }

    /// Judges whether every error is below its bound. `what` names the items to which these errors belong, such as
    /// `queries`.
    pub(super) fn judge<'a>(of: impl IntoIterator<Item = &'a Bounded>, what: &str) -> Judged {
        let of: Vec<&Bounded> = of.into_iter().collect();
        let counts: [usize; 4] = std::array::from_fn(|compared| of.iter().map(|of| of.counts[compared]).sum());
        let [above, below, close, vacuous] = counts;
        let bounded: usize = counts.iter().sum();
        let all: usize = of.iter().map(|of| of.errors.len()).sum();
        let share = of.iter().map(|of| of.share).fold(0.0, f64::max);
        let verdict = match () {
            () if above > 0 => Verdict::Fails,
            () if below > 0 => Verdict::Holds,
            () if vacuous > 0 && close == 0 => Verdict::Vacuous,
            () => Verdict::Open,
        };
        let nearest = if above > 0 { String::new() } else { format!(", at most {} % of it", short(100.0 * share)) };
        let parts = [
            (above, format!("above the bound in {above}, up to {} times it", short(share))),
            (below, format!("below it in {below}{nearest}")),
            (close, format!("too close to call in {close}")),
            (vacuous, format!("the bound cannot be exceeded in {vacuous}")),
        ];
        let parts: Vec<String> = parts.into_iter().filter(|(count, _)| *count > 0).map(|(_, words)| words).collect();
        let found = match bounded {
            0 => format!("the claim covers none of {all} {what}"),
            _ => format!("of {bounded} {what}: {}; {} more are not covered", parts.join("; "), all - bounded),
        };
        let judged = Judged::new(verdict, found).number("not covered", (all - bounded) as f64).number("share", share);
        COMPARED.into_iter().zip(counts).fold(judged, |judged, (name, count)| judged.number(name, count as f64))
    }
}

/// A mean with its standard error, written as in `0.25 ± 0.01`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Mean {
    pub(super) mean: f64,
    /// The standard error of the mean; NaN for fewer than two values.
    pub(super) error: f64,
}

impl fmt::Display for Mean {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{} \u{b1} {}", short(self.mean), short(self.error))
    }
}

impl Mean {
    pub(super) fn of(values: &[f64]) -> Self {
        let count = values.len() as f64;
        let mean = mean(values);
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        Self { mean, error: if values.len() < 2 { f64::NAN } else { (squares / (count - 1.0) / count).sqrt() } }
    }

    /// Returns the mean of the differences between corresponding values of `left` and `right`.
    pub(super) fn of_differences(left: &[f64], right: &[f64]) -> Self {
        Self::of(&left.iter().zip(right).map(|(left, right)| left - right).collect::<Vec<_>>())
    }

    /// Returns the mean without its sign.
    pub(super) fn size(self) -> Self {
        Self { mean: self.mean.abs(), ..self }
    }

    /// Judges whether the mean is more than two standard errors above 0.
    pub(super) fn above_zero(self) -> Verdict {
        let far = (STANDARD_ERRORS * self.error).max(ROUNDING);
        match self.mean {
            _ if self.error.is_nan() => Verdict::Open,
            mean if mean > far => Verdict::Holds,
            mean if mean < -far => Verdict::Fails,
            _ => Verdict::Open,
        }
    }

    /// Judges whether the mean differs from `target` by at most `margin`. The claim holds if the interval of two
    /// standard errors lies inside the margin. It fails if the interval of three standard errors lies outside.
    pub(super) fn near(self, target: f64, margin: f64) -> Verdict {
        let off = (self.mean - target).abs();
        match () {
            () if off + STANDARD_ERRORS * self.error < margin - ROUNDING => Verdict::Holds,
            () if off - STANDARD_ERRORS_OF_FITS * self.error > margin + ROUNDING => Verdict::Fails,
            () => Verdict::Open,
        }
    }
}

/// Returns the mean, or NaN if there are no values.
pub(super) fn mean(values: &[f64]) -> f64 {
    mean_of(values.iter().copied()).unwrap_or(f64::NAN)
}

/// Judges whether the mean over the same queries decreases from each column to the next.
pub(super) fn falls<V: AsRef<[f64]>>(columns: impl IntoIterator<Item = (String, V)>) -> Judged {
    let columns: Vec<(String, V)> = columns.into_iter().collect();
    let step = |two: &[(String, V)]| {
        let fall = Mean::of_differences(two[0].1.as_ref(), two[1].1.as_ref());
        (fall.above_zero(), format!("; from {} to {} it", two[0].0, two[1].0), fall)
    };
    let steps: Vec<(Verdict, String, Mean)> = columns.windows(2).map(step).collect();
    let verdict = Verdict::all(steps.iter().map(|(verdict, ..)| *verdict));
    let deciding = match steps.iter().find(|(step, ..)| *step == verdict) {
        Some((Verdict::Fails, step, fall)) => format!("{step} rises by {}", fall.size()),
        Some((Verdict::Open, step, fall)) => {
            let way = if fall.mean < 0.0 { "rises" } else { "falls" };
            format!("{step} {way} by {}, within two standard errors", fall.size())
        }
        _ => String::new(),
    };
    let means: Vec<f64> = columns.iter().map(|(_, values)| mean(values.as_ref())).collect();
    let words: Vec<String> = means.iter().copied().map(short).collect();
    let judged = Judged::new(verdict, format!("means {}{deciding}", words.join(", ")));
    let named = columns.iter().zip(means);
    named.fold(judged, |judged, ((name, _), mean)| judged.number(format!("mean at {name}"), mean))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bounded(cases: &[(f64, Option<f64>)]) -> Judged {
        Bounded::judge([&Bounded::of(cases.iter().copied(), 1.0)], "queries")
    }

    #[test]
    fn a_bound_is_judged_only_where_it_can_be_exceeded() {
        assert_eq!(bounded(&[(0.1, Some(0.2)), (0.5, Some(3.0)), (0.5, None)]).verdict, Verdict::Holds);
        assert_eq!(bounded(&[(0.1, Some(0.2)), (0.3, Some(0.2))]).verdict, Verdict::Fails);
        assert_eq!(bounded(&[(0.1, Some(1.0)), (0.3, Some(7.0))]).verdict, Verdict::Vacuous);
        assert_eq!(bounded(&[(0.1, None)]).verdict, Verdict::Open);
        // Neither 0 below 1e-12 nor equality is shown in double precision.
        assert_eq!(bounded(&[(0.0, Some(1e-12)), (0.2, Some(0.2))]).verdict, Verdict::Open);
        assert_eq!(bounded(&[(f64::NAN, Some(2.0))]).verdict, Verdict::Fails);
        let counts = bounded(&[(0.1, Some(0.2)), (0.5, Some(3.0)), (0.5, None)]).numbers;
        assert_eq!((counts["below"], counts["vacuous"], counts["not covered"]), (1.0, 1.0, 1.0));
    }

    #[test]
    fn a_mean_is_judged_beyond_two_standard_errors() {
        // Mean 2, standard error 1.
        let two = Mean::of(&[0.0, 2.0, 4.0, 2.0 - 6f64.sqrt() / 2.0 + 6f64.sqrt() / 2.0]);
        assert!((two.mean - 2.0).abs() < 1e-12);
        assert_eq!(Mean { mean: 2.1, error: 1.0 }.above_zero(), Verdict::Holds);
        assert_eq!(Mean { mean: 1.9, error: 1.0 }.above_zero(), Verdict::Open);
        assert_eq!(Mean { mean: -2.1, error: 1.0 }.above_zero(), Verdict::Fails);
        assert_eq!(Mean { mean: 1e-12, error: 0.0 }.above_zero(), Verdict::Open);
        assert_eq!(Mean::of(&[1.0]).above_zero(), Verdict::Open, "one value has no error");
        assert_eq!(Mean { mean: 0.5, error: 0.001 }.near(0.505, 0.01), Verdict::Holds);
        assert_eq!(Mean { mean: 0.5, error: 0.004 }.near(0.505, 0.01), Verdict::Open);
        assert_eq!(Mean { mean: 0.5, error: 0.001 }.near(0.52, 0.01), Verdict::Fails);
    }

    #[test]
    fn a_fall_is_judged_step_by_step() {
        let column = |values: &[f64]| values.to_vec();
        let judge =
            |columns: &[Vec<f64>]| falls(columns.iter().enumerate().map(|(i, values)| (i.to_string(), values))).verdict;
        let (high, low) = (column(&[0.5, 0.6, 0.7]), column(&[0.1, 0.21, 0.3]));
        assert_eq!(judge(&[high.clone(), low.clone()]), Verdict::Holds);
        assert_eq!(judge(&[high.clone(), low.clone(), high.clone()]), Verdict::Fails);
        assert_eq!(judge(&[high.clone(), low.clone(), low.clone()]), Verdict::Open);
        assert_eq!(judge(&[high]), Verdict::Open, "one value of the parameter shows nothing");
    }

    #[test]
    fn printed_figures_are_compared_at_their_precision() {
        assert_eq!(Judged::printed(0.000_851_19, 0.00085, 5).verdict, Verdict::Holds);
        assert_eq!(Judged::printed(0.000_856, 0.00085, 5).verdict, Verdict::Fails);
        assert_eq!(Judged::less(("error", 0.1), ("bound", 0.1)).verdict, Verdict::Open);
    }
}
