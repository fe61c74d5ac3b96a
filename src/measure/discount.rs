//! The discount of a rank, by which DCG and NDCG weight the gain of a document.

use std::f64::consts::LN_2;

use serde::{Deserialize, Serialize};

use super::MeasureError;

/// The discount of a rank.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Discount {
    /// `1 / log2(1 + r)`
    #[default]
    Log2,
    /// `1 / ln(1 + r)`
    Natural,
    /// 1 at ranks 1 and 2, and `ln 2 / ln r` at all later ranks, as in the LETOR evaluation tool
    Letor,
    /// `r^-exponent`
    Power {
        /// The exponent, 0 or above, which determines how fast the discount falls.
        exponent: f64,
    },
    /// `1 / r`
    Zipf,
    /// `2^-r`
    Exponential,
    /// `table[r - 1]`, or 0 beyond the end of the table
    Table(Vec<f64>),
}

impl Discount {
    /// Returns the discount of rank `r`, counted from 1.
    pub fn at(&self, r: usize) -> f64 {
        let x = r as f64;
        match self {
            Discount::Log2 => 1.0 / (1.0 + x).log2(),
            Discount::Natural => 1.0 / (1.0 + x).ln(),
            Discount::Letor if r <= 2 => 1.0,
            Discount::Letor => LN_2 / x.ln(),
            Discount::Power { exponent } => x.powf(-exponent),
            Discount::Zipf => 1.0 / x,
            Discount::Exponential => (-x).exp2(),
            Discount::Table(table) => r.checked_sub(1).and_then(|at| table.get(at)).copied().unwrap_or(0.0),
        }
    }

    /// Checks the parameters of the discount. An exponent must be finite and 0 or above. A table must hold finite
    /// numbers of 0 or above. The first must be above 0, and the numbers must never increase.
    pub(super) fn check(&self) -> Result<(), MeasureError> {
        match self {
            Discount::Power { exponent } if !(exponent.is_finite() && *exponent >= 0.0) => {
                Err(MeasureError::convention("discount.power.exponent", exponent, "a finite number, 0 or above"))
            }
            Discount::Table(table) if !is_discount(table) => {
                Err(MeasureError::convention("discount.table", format!("{table:?}"), DISCOUNTS))
            }
            _ => Ok(()),
        }
    }
}

/// A description of the requirements on a table of discounts, for error messages. A table that violates these
/// requirements might give its largest DCG to an order that is not sorted by label.
pub(crate) const DISCOUNTS: &str = "finite discounts, 0 or above, that start above 0 and never rise";

/// Returns whether a table meets the requirements on discounts.
pub(crate) fn is_discount(table: &[f64]) -> bool {
    let falls = table.windows(2).all(|pair| pair[0] >= pair[1]);
    falls && table.iter().all(|d| d.is_finite() && *d >= 0.0) && table.first().is_some_and(|d| *d > 0.0)
}

/// A discount with a table of its values at the first ranks.
#[derive(Debug, Clone)]
pub(super) struct Discounts {
    discount: Discount,
    first: Vec<f64>,
}

impl Discounts {
    pub(super) fn new(discount: &Discount, ranks: usize) -> Self {
        Self { discount: discount.clone(), first: (1..=ranks).map(|r| discount.at(r)).collect() }
    }

    /// Returns the discount at position `at`, which is rank `at + 1`.
    pub(super) fn at_position(&self, at: usize) -> f64 {
        self.first.get(at).copied().unwrap_or_else(|| self.discount.at(at + 1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn discounts_of_the_first_ranks() {
        let at = |discount: &Discount, r| discount.at(r);
        assert_eq!([1, 3, 7].map(|r| at(&Discount::Log2, r)), [1.0, 0.5, 1.0 / 3.0]);
        assert_eq!([1, 2, 4, 16].map(|r| at(&Discount::Letor, r)), [1.0, 1.0, 0.5, 0.25]);
        assert_eq!([1, 2, 4].map(|r| at(&Discount::Zipf, r)), [1.0, 0.5, 0.25]);
        assert_eq!([1, 2, 4].map(|r| at(&Discount::Power { exponent: 0.5 }, r)), [1.0, 0.5f64.sqrt(), 0.5]);
        assert_eq!([1, 2, 3].map(|r| at(&Discount::Exponential, r)), [0.5, 0.25, 0.125]);
        assert_eq!([1, 2, 3].map(|r| at(&Discount::Table(vec![1.0, 0.3]), r)), [1.0, 0.3, 0.0]);
        assert!((Discount::Natural.at(1) * LN_2 - 1.0).abs() < 1e-15);
    }

    #[test]
    fn stored_and_computed_discounts_are_the_same() {
        let discounts = Discounts::new(&Discount::Log2, 4);
        for at in 0..10 {
            assert_eq!(discounts.at_position(at), Discount::Log2.at(at + 1));
        }
    }

    #[test]
    fn parameters_are_checked() {
        assert!(Discount::Power { exponent: -1.0 }.check().is_err());
        assert!(Discount::Power { exponent: f64::NAN }.check().is_err());
        assert!(Discount::Table(vec![]).check().is_err());
        assert!(Discount::Table(vec![0.5, 1.0]).check().is_err());
        assert!(Discount::Table(vec![1.0, 1.0, 0.0]).check().is_ok());
    }
}
