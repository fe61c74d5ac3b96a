//! Conventions, which are the choices that determine the value of a measure for given scores and labels.

use serde::{Deserialize, Serialize};

use super::{Discount, Gain, MeasureError};

/// The order of documents with equal scores.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ties {
    /// Averages the measure over all orders of the tied documents, as an exact expectation.
    #[default]
    Average,
    /// Keeps tied documents in the order of the file.
    FileOrder,
    /// Orders tied documents by descending identifier and compares scores as `f32`, like trec_eval.
    DocumentIdDescending,
}

/// The treatment of a query without a relevant document.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EmptyQuery {
    /// Leaves the query out of the mean and counts it in the report.
    #[default]
    Exclude,
    /// Includes the query in the mean. This value counts as the query's NDCG, AP, recall, R-precision or pairwise
    /// measure, which would otherwise be 0/0. Measures that do not divide by zero count the query as 0, the value of
    /// their formula.
    Value(f64),
}

/// The meaning of a label below 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NegativeLabel {
    /// Rejects the label with an error that names the document.
    #[default]
    Refuse,
    /// Treats the document as not relevant, as with label 0.
    Zero,
    /// Treats the document as padding, as if it did not exist.
    Absent,
}

/// The denominator of precision at a cut-off `k`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PrecisionDenominator {
    /// The cut-off `k`, even if the list is shorter.
    #[default]
    Cutoff,
    /// The number of documents retrieved among the first `k`.
    Retrieved,
}

/// The denominator of average precision.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AveragePrecisionDenominator {
    /// The number of relevant documents of the query.
    #[default]
    Relevant,
    /// The smaller of the cut-off and the number of relevant documents.
    CutoffOrRelevant,
}

/// The treatment of tied documents in average precision.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AveragePrecisionTies {
    /// Orders tied documents by the convention's [`Ties`], as in all other measures.
    #[default]
    AsOrdered,
    /// Retrieves all documents with the same score at once, like scikit-learn. Each document gets the precision at the
    /// end of its group of equal scores.
    GroupEnd,
}

/// The denominator of Kendall's tau.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum KendallTau {
    /// The number of pairs with different labels, including pairs with equal scores.
    #[default]
    LabelPairs,
    /// All pairs (tau-a).
    AllPairs,
    /// The geometric mean of two counts: pairs with different labels, and pairs with different scores (tau-b).
    TauB,
}

/// All choices that affect the value of a measure, apart from the scores and labels.
///
/// [`Convention::preset`] returns a named convention; a custom convention replaces some fields of a preset. A
/// convention that equals a preset is written as the preset's name; any other is written with all its fields. A
/// convention can be read in either form. Choices that differ only between tools, such as the denominator of Kendall's
/// tau, are set by reading a convention, or by the preset.
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
    /// The name of the preset, or `custom`.
    pub name: String,
    /// The gain of a label in DCG and NDCG.
    pub gain: Gain,
    /// The discount of a rank in DCG and NDCG.
    pub discount: Discount,
    /// The order of documents with equal scores.
    pub ties: Ties,
    /// The treatment of a query without a relevant document.
    pub empty: EmptyQuery,
    /// The lowest label of a relevant document, for binary measures.
    pub relevant_from: f64,
    /// The meaning of a label below 0.
    pub(crate) negative_label: NegativeLabel,
    /// The denominator of precision at a cut-off.
    pub(crate) precision_denominator: PrecisionDenominator,
    /// The denominator of average precision at a cut-off.
    pub(crate) average_precision_denominator: AveragePrecisionDenominator,
    /// The treatment of tied documents in average precision.
    pub(crate) average_precision_ties: AveragePrecisionTies,
    /// The denominator of Kendall's tau.
    pub(crate) kendall_tau: KendallTau,
    /// The label of a perfect document in ERR, where `R = (2^y - 1) / 2^maximum_grade`.
    pub maximum_grade: f64,
}

impl Convention {
    /// Returns an error if a field of the convention is out of range.
    ///
    /// # Errors
    /// Returns [`MeasureError::Convention`], which names the first field that is out of range.
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
