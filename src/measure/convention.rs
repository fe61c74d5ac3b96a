//! Conventions: the choices that decide a measure's value for given scores and labels.

use serde::{Deserialize, Serialize};

use super::{Discount, Gain, MeasureError};

/// Order of documents with equal scores.
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

/// Treatment of a query without a relevant document.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EmptyQuery {
    /// Left out of the mean, and counted in the report.
    #[default]
    Exclude,
    /// Counted in the mean. The query counts as this value where the measure would divide by zero (NDCG, AP, recall,
    /// R-precision, the pairwise measures), and otherwise as 0, the value of the formula.
    Value(f64),
}

/// Meaning of a label below 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NegativeLabel {
    /// An error that names the document.
    #[default]
    Refuse,
    /// Not relevant: the same as 0.
    Zero,
    /// Padding: the document does not exist.
    Absent,
}

/// Denominator of precision at a cut-off `k`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PrecisionDenominator {
    /// `k`, even where the list is shorter.
    #[default]
    Cutoff,
    /// The number of documents retrieved among the first `k`.
    Retrieved,
}

/// Denominator of average precision.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AveragePrecisionDenominator {
    /// The number of relevant documents of the query.
    #[default]
    Relevant,
    /// The smaller of the cut-off and the number of relevant documents.
    CutoffOrRelevant,
}

/// Treatment of tied documents in average precision.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AveragePrecisionTies {
    /// The same as every other measure: the convention's [`Ties`].
    #[default]
    AsOrdered,
    /// All documents with the same score are retrieved at once: each has the precision at the end of its group
    /// (scikit-learn).
    GroupEnd,
}

/// Denominator of Kendall's tau.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum KendallTau {
    /// The pairs with different labels; pairs with equal scores count in the denominator only.
    #[default]
    LabelPairs,
    /// All pairs (tau-a).
    AllPairs,
    /// The geometric mean of the pairs with different labels and the pairs with different scores (tau-b).
    TauB,
}

/// The choices that decide a measure's value for given scores and labels.
///
/// [`Convention::preset`] returns a named convention; a custom one is a preset with some fields replaced. A convention
/// is written as the name of the preset that it equals, or else with all its fields. It can be read from either form.
///
/// ```
/// use burn_rank::prelude::*;
///
/// let letor = Convention::preset("letor")?;
/// assert_ne!(letor.discount, Convention::default().discount);
/// assert_eq!(Convention::default().name, "standard");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Convention {
    /// Preset name, or `custom`.
    pub name: String,
    /// Gain of a label (NDCG, DCG).
    pub gain: Gain,
    /// Discount of a rank (NDCG, DCG).
    pub discount: Discount,
    /// Order of equal scores.
    pub ties: Ties,
    /// Treatment of a query without a relevant document.
    pub empty: EmptyQuery,
    /// Lowest label of a relevant document, for the binary measures.
    pub relevant_from: f64,
    /// Meaning of a label below 0.
    pub negative_label: NegativeLabel,
    /// Denominator of precision at a cut-off.
    pub precision_denominator: PrecisionDenominator,
    /// Denominator of average precision at a cut-off.
    pub average_precision_denominator: AveragePrecisionDenominator,
    /// Treatment of tied documents in average precision.
    pub average_precision_ties: AveragePrecisionTies,
    /// Denominator of Kendall's tau.
    pub kendall_tau: KendallTau,
    /// Label of a perfect document in ERR, where `R = (2^y - 1) / 2^maximum_grade`.
    pub maximum_grade: f64,
}

impl Convention {
    /// Checks every field against its range.
    ///
    /// # Errors
    /// [`MeasureError::Convention`] names the first field out of its range.
    pub fn check(&self) -> Result<(), MeasureError> {
        self.gain.check()?;
        self.discount.check()?;
        if let EmptyQuery::Value(value) = self.empty
            && !value.is_finite()
        {
            return Err(MeasureError::convention("empty.value", value, "a finite number"));
        }
        if !(self.relevant_from.is_finite() && self.relevant_from > 0.0) {
            return Err(MeasureError::convention("relevant_from", self.relevant_from, "a finite number above 0"));
        }
        if !(self.maximum_grade > 0.0 && self.maximum_grade <= 60.0) {
            return Err(MeasureError::convention("maximum_grade", self.maximum_grade, "a number above 0, up to 60"));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_out_of_range_are_refused() {
        let refused = |change: fn(&mut Convention)| {
            let mut convention = Convention::default();
            change(&mut convention);
            convention.check().unwrap_err().to_string()
        };
        assert!(Convention::default().check().is_ok());
        assert!(refused(|c| c.empty = EmptyQuery::Value(f64::NAN)).contains("empty.value"));
        assert!(refused(|c| c.relevant_from = 0.0).contains("relevant_from"));
        assert!(refused(|c| c.maximum_grade = f64::INFINITY).contains("maximum_grade"));
        assert!(refused(|c| c.gain = Gain::Table(vec![])).contains("gain.table"));
        assert!(refused(|c| c.discount = Discount::Power { exponent: -1.0 }).contains("exponent"));
    }
}
