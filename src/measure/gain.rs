//! The gain of a label, from which DCG and NDCG are computed.

use serde::{Deserialize, Serialize};

use super::MeasureError;

/// The largest label of an exponential gain. A larger label could make the sum over a list overflow an `f64`.
const MAX_EXPONENTIAL_LABEL: f64 = 960.0;

/// The gain of a label.
///
/// # Which labels are allowed
/// | gain | in a loss | in a measure |
/// |---|---|---|
/// | [`Exp2`](Gain::Exp2), [`Exp2Raw`](Gain::Exp2Raw) | a whole number from 0 to 30 | a number from 0 to 960 |
/// | [`Linear`](Gain::Linear) | a finite number, 0 or above | the same |
/// | [`Table`](Gain::Table) of m gains | a whole number from 0 to m - 1 | the same |
///
/// A measure computes in `f64` and accepts every label for which sums of gains stay finite, as other tools do. In
/// `f64`, sums stay finite for gains up to 2^960. A loss usually computes in `f32`, where sums and products of gains up
/// to 2^30 are finite. With an exponential gain, a loss accepts only whole labels. A fraction is nearly always a label
/// that was scaled earlier, and the exponential would silently distort it.
/// [`RankingLoss::try_forward`](crate::loss::RankingLoss::try_forward) and
/// [`About::check_labels`](crate::loss::About::check_labels) reject labels that a loss does not accept. `forward` does
/// not check values. In a measure, the [`Convention`](super::Convention) decides what a negative label means.
///
/// ```
/// use burn_rank::prelude::*;
///
/// let loss = ApproxNdcgConfig::new().with_gain(Gain::Linear).init()?;
/// assert_eq!(loss.about().name, "approx_ndcg");
/// # Ok::<(), LossError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Gain {
    /// `2^y - 1`
    #[default]
    Exp2,
    /// `2^y` (He and Liu)
    Exp2Raw,
    /// `y`
    Linear,
    /// `table[y]`
    Table(Vec<f64>),
}

/// Returns `2^y` for `y >= 0`. For whole labels, the function sets the bits of the float directly, because measures
/// call it once per document.
fn power_of_two(y: f64) -> f64 {
    let is_normal = y < 1024.0 && y.fract() == 0.0;
    if is_normal { f64::from_bits((y as u64 + 1023) << 52) } else { y.exp2() }
}

impl Gain {
    /// Returns the gain of label `y >= 0`. A label beyond the end of the table has the gain NaN, so check labels first.
    pub fn of(&self, y: f64) -> f64 {
        match self {
            Gain::Exp2 => power_of_two(y) - 1.0,
            Gain::Exp2Raw => power_of_two(y),
            Gain::Linear => y,
            Gain::Table(table) => table.get(y as usize).copied().unwrap_or(f64::NAN),
        }
    }

    /// Describes the labels for which [`Gain::of`] is finite. Returns `None` if the gain of label `y` is finite. The
    /// label must be 0 or above.
    pub(super) fn expected_label(&self, y: f64) -> Option<String> {
        match self {
            Gain::Linear => (!y.is_finite()).then(|| "a finite number, 0 or above".to_string()),
            Gain::Exp2 | Gain::Exp2Raw => {
                (y.is_nan() || y > MAX_EXPONENTIAL_LABEL).then(|| format!("a number from 0 to {MAX_EXPONENTIAL_LABEL}"))
            }
            Gain::Table(table) => (y.fract() != 0.0 || y >= table.len() as f64)
                .then(|| format!("a whole number from 0 to {}, as in the gain table", table.len().saturating_sub(1))),
        }
    }

    /// Checks that a table is not empty and that all its numbers are finite and 0 or above.
    pub(crate) fn check(&self) -> Result<(), MeasureError> {
        match self {
            Gain::Table(table) if table.is_empty() => {
                Err(MeasureError::convention("gain.table", "no entry", "one gain per label"))
            }
            Gain::Table(table) => match table.iter().find(|gain| !(gain.is_finite() && **gain >= 0.0)) {
                Some(gain) => Err(MeasureError::convention("gain.table", gain, "finite gains, 0 or above")),
                None => Ok(()),
            },
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gains_of_the_first_labels() {
        let gains = |gain: Gain| [0.0, 1.0, 2.0, 3.0].map(|y| gain.of(y));
        assert_eq!(gains(Gain::Exp2), [0.0, 1.0, 3.0, 7.0]);
        assert_eq!(gains(Gain::Exp2Raw), [1.0, 2.0, 4.0, 8.0]);
        assert_eq!(gains(Gain::Linear), [0.0, 1.0, 2.0, 3.0]);
        assert_eq!(gains(Gain::Table(vec![0.0, 2.0, 5.0, 5.5])), [0.0, 2.0, 5.0, 5.5]);
    }

    #[test]
    fn powers_of_two_are_exact() {
        for y in [0.0, 5.0, 52.0, 53.0, 960.0, 1023.0] {
            assert_eq!(power_of_two(y), 2f64.powf(y));
        }
        assert_eq!((power_of_two(0.5), power_of_two(1024.0)), (std::f64::consts::SQRT_2, f64::INFINITY));
        assert!(power_of_two(f64::NAN).is_nan());
    }

    #[test]
    fn labels_without_a_finite_gain_are_named() {
        assert_eq!(Gain::Exp2.expected_label(2.5), None);
        assert!(Gain::Exp2.expected_label(961.0).is_some());
        assert!(Gain::Linear.expected_label(f64::INFINITY).is_some());
        let table = Gain::Table(vec![0.0, 1.0]);
        assert_eq!(table.expected_label(1.0), None);
        assert!(table.expected_label(0.5).is_some());
        assert_eq!(table.expected_label(2.0).unwrap(), "a whole number from 0 to 1, as in the gain table");
    }

    #[test]
    fn tables_are_checked() {
        assert!(Gain::Table(vec![]).check().is_err());
        assert!(Gain::Table(vec![0.0, -1.0]).check().is_err());
        assert!(Gain::Table(vec![0.0, f64::NAN]).check().is_err());
        assert!(Gain::Table(vec![0.0, 4.0, 1.0]).check().is_ok());
    }
}
