//! The shapes of discount that a configuration can name.

use serde::{Deserialize, Serialize};

use crate::measure::Discount;

/// The shape of a discount, whose exponent is a separate parameter.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DiscountShape {
    /// The discount `1 / log2(1 + r)`.
    #[default]
    Log2,
    /// The discount `1 / ln(1 + r)`.
    Natural,
    /// The discount `r^-exponent`.
    Power,
    /// The discount `1 / r`.
    Zipf,
    /// The discount `2^-r`.
    Exponential,
    /// The discount that is 1 at ranks 1 and 2, and `ln 2 / ln r` at later ranks.
    Letor,
    /// The discount `table[r - 1]`, 0 beyond the table.
    Table(Vec<f64>),
}

impl DiscountShape {
    /// Returns the discount. Only `Power` uses the separate exponent.
    pub fn with_exponent(self, exponent: f64) -> Discount {
        match self {
            DiscountShape::Log2 => Discount::Log2,
            DiscountShape::Natural => Discount::Natural,
            DiscountShape::Power => Discount::Power { exponent },
            DiscountShape::Zipf => Discount::Zipf,
            DiscountShape::Exponential => Discount::Exponential,
            DiscountShape::Letor => Discount::Letor,
            DiscountShape::Table(table) => Discount::Table(table),
        }
    }
}
