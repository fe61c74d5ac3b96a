//! Conventions: gain, discount, ties and empty queries, carried as one value with every result.

use serde::{Deserialize, Serialize};

/// Gain of a label.
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

impl Gain {
    /// Gain of label `y >= 0`. A label beyond a table has the gain NaN: check labels first.
    pub fn of(&self, y: f64) -> f64 {
        match self {
            Gain::Exp2 => y.exp2() - 1.0,
            Gain::Exp2Raw => y.exp2(),
            Gain::Linear => y,
            Gain::Table(table) => table.get(y as usize).copied().unwrap_or(f64::NAN),
        }
    }
}

/// Discount of a rank.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Discount {
    /// `1 / log2(1 + r)`
    #[default]
    Log2,
    /// `1 / ln(1 + r)`
    Natural,
    /// 1 at ranks 1 and 2, then `ln 2 / ln r` (LETOR evaluation tool)
    Letor,
    /// `r^-exponent`
    Power { exponent: f64 },
    /// `1 / r`
    Zipf,
    /// `2^-r`
    Exponential,
    /// `table[r - 1]`, 0 beyond
    Table(Vec<f64>),
}

impl Discount {
    /// Discount of the 1-based rank `r`.
    pub fn at(&self, r: usize) -> f64 {
        let x = r as f64;
        match self {
            Discount::Log2 => 1.0 / (1.0 + x).log2(),
            Discount::Natural => 1.0 / (1.0 + x).ln(),
            Discount::Letor if r <= 2 => 1.0,
            Discount::Letor => std::f64::consts::LN_2 / x.ln(),
            Discount::Power { exponent } => x.powf(-exponent),
            Discount::Zipf => 1.0 / x,
            Discount::Exponential => (-x).exp2(),
            Discount::Table(table) => table.get(r - 1).copied().unwrap_or(0.0),
        }
    }
}

/// How documents with equal scores are ordered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ties {
    /// The measure is averaged over all orders of the tied documents (exact expectation).
    #[default]
    Average,
    /// Tied documents keep the order of the file.
    FileOrder,
    /// Tied documents are ordered by descending identifier, scores compared as `f32` (trec_eval).
    DocumentIdDescending,
}

/// What a query without relevant document counts as.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EmptyQuery {
    /// Left out of the mean, and counted in the report.
    #[default]
    Exclude,
    /// Counted in the mean with this value.
    Value(f64),
}

/// Everything that a measure's value depends on besides scores and labels.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Convention {
    /// Preset name, or `custom`.
    pub name: String,
    /// Gain of a label.
    pub gain: Gain,
    /// Discount of a rank.
    pub discount: Discount,
    /// Order of equal scores.
    pub ties: Ties,
    /// Value of a query without relevant document.
    pub empty: EmptyQuery,
}
