//! `LossError`, and the checks of parameters, labels and scores that raise it.

use std::fmt::Display;

use burn::tensor::DType;

use crate::data::SegmentsError;
use crate::measure::{DISCOUNTS, Discount, Gain, is_discount};
use crate::memory::Shortage;
use crate::op::shape::difference;
use crate::refusal::Refusal;
use crate::text::{did_you_mean, shown};

/// The largest label of an exponential gain in a loss: `2^30` still fits the arithmetic of `f32`. [`Gain`] states the
/// labels of losses and measures.
pub const MAX_EXPONENTIAL_LABEL: f64 = 30.0;

/// Reason that a loss cannot be built or applied.
///
/// ```
/// use burn_rank::prelude::*;
///
/// let refused = ApproxNdcgConfig::new().with_alpha(-1.0).init().unwrap_err();
/// assert!(refused.to_string().contains("alpha"));
/// ```
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum LossError {
    /// A parameter that the loss does not have, or one out of its range or of another type.
    #[error("{}", parameter_in_words(.loss, .refusal))]
    Parameter {
        /// Registered name of the loss.
        loss: &'static str,
        /// The parameter, the value that was given, and the values that are allowed.
        refusal: Refusal,
    },
    /// A name that no registered loss has.
    #[error("unknown loss `{}`, expected one that `burn-rank models --losses` lists{}", shown(.found), did_you_mean(.nearest))]
    UnknownLoss {
        /// The name given.
        found: String,
        /// The most similar registered name.
        nearest: Option<String>,
    },
    /// A parameter that cannot be changed on a loss that is built.
    #[error("{loss}.{parameter} does not move: expected a parameter that the loss's `RankingLoss::changed` changes")]
    Fixed {
        /// Name of the loss.
        loss: &'static str,
        /// The parameter.
        parameter: String,
    },
    /// Tensors or slices of different shapes.
    #[error("{}", difference(.what, .found, .other, .expected))]
    Shape {
        /// The input of the wrong shape.
        what: &'static str,
        /// The shape of the input.
        found: Vec<usize>,
        /// The input that it does not fit.
        other: &'static str,
        /// The shape of that input.
        expected: Vec<usize>,
    },
    /// Flat scores that do not fall into queries.
    #[error(transparent)]
    Segments(#[from] SegmentsError),
    /// Rows of documents that make no list of a query, see [`in_batch`](super::in_batch()).
    #[error("query {}: found {found}, expected {expected}", .query + 1)]
    InBatch {
        /// Position of the query, from 0; the message counts from 1.
        query: usize,
        /// The fault found, in words.
        found: String,
        /// The rows expected, in words.
        expected: String,
    },
    /// Scores of no query, or of no document.
    #[error("scores are {found:?}, expected one query of one document or more")]
    Empty {
        /// Shape of the scores.
        found: Vec<usize>,
    },
    /// No query of the batch has anything to learn, so that the loss is 0 and so is its gradient.
    #[error("nothing to learn in {}: {}", queries_in_words(*.queries), nothing_to_learn(*.queries, *.inverted))]
    NothingToLearn {
        /// Number of queries in the batch.
        queries: usize,
        /// Number of queries that would have something to learn with the mask inverted.
        inverted: usize,
    },
    /// Offsets that do not partition the documents into queries.
    #[error("offsets of queries: found {found}, expected an ascent from 0 to {documents}, the number of labels")]
    Offsets {
        /// The first one, the last one, or the descent.
        found: String,
        /// Number of labels.
        documents: usize,
    },
    /// A label outside the domain of the gain.
    #[error("query {}, document {}: label {found}, expected {expected}", .query + 1, .document + 1)]
    Label {
        /// Position of the query, from 0; the message counts from 1.
        query: usize,
        /// Position of the document in its query, from 0; the message counts from 1.
        document: usize,
        /// The label.
        found: f64,
        /// The labels of the gain.
        expected: String,
    },
    /// A score that is not finite at a document.
    #[error("query {}, document {}: score {found}, expected a finite number", .query + 1, .document + 1)]
    Score {
        /// Position of the query, from 0; the message counts from 1.
        query: usize,
        /// Position of the document in its query, from 0; the message counts from 1.
        document: usize,
        /// The score.
        found: f64,
    },
    /// A measure that asks for something that a relaxation does not define.
    #[error(
        "{measure} uses {operation}, which the {relaxation} relaxation does not define: expected another relaxation"
    )]
    Undefined {
        /// Name of the measure.
        measure: &'static str,
        /// Name of the relaxation.
        relaxation: &'static str,
        /// The operation of [`MeasureContext`](super::MeasureContext).
        operation: &'static str,
    },
    /// A batch that is too large for the memory budget. The backend is in the build without a feature of this crate, so
    /// automatic differentiation keeps all pairs of documents.
    #[error(
        "{found:?} scores on the backend {backend} need about {} MiB, the memory budget is {} MiB: expected {}a smaller \
         batch, or a larger budget",
        .needed.div_ceil(1 << 20),
        .budget >> 20,
        feature_in_words(*.feature)
    )]
    Budget {
        /// Name of the backend in burn.
        backend: String,
        /// The feature of this crate that brings the backend, with which memory stays within the budget.
        feature: Option<&'static str>,
        /// Shape of the scores.
        found: Vec<usize>,
        /// Bytes that the batch needs, about.
        needed: usize,
        /// Bytes of the budget of the calling thread, see [`Execution`](crate::op::Execution).
        budget: usize,
    },
    /// Scores of a type in which their device does not compute.
    #[error("scores are {found:?}, in which their device does not compute: expected F32")]
    Type {
        /// The type.
        found: DType,
    },
    /// Weights of documents, and a loss that does not take them.
    #[error("{loss} takes no weights of documents: {reason}")]
    DocumentWeights {
        /// Name of the loss.
        loss: &'static str,
        /// The reason that the loss takes none.
        reason: &'static str,
    },
    /// Lists too long for the memory that is left: the loss holds arrays over their pairs.
    #[error("{}", memory_in_words(.loss, *.batch, *.documents, *.needed, *.available))]
    Memory {
        /// Name of the loss.
        loss: &'static str,
        /// Number of lists.
        batch: usize,
        /// Documents of the longest list.
        documents: usize,
        /// Bytes that the arrays take, about.
        needed: u64,
        /// Bytes that are left.
        available: u64,
    },
    /// A query weight that is negative or not finite.
    #[error("query {}: weight {found}, expected a finite number >= 0", .query + 1)]
    Weight {
        /// Position of the query, from 0; the message counts from 1.
        query: usize,
        /// The weight.
        found: f64,
    },
    /// A document's weight that is negative or not finite.
    #[error("query {}, document {}: weight {found}, expected a finite number >= 0", .query + 1, .document + 1)]
    DocumentWeight {
        /// Position of the query, from 0; the message counts from 1.
        query: usize,
        /// Position of the document in its query, from 0; the message counts from 1.
        document: usize,
        /// The weight.
        found: f64,
    },
}

fn feature_in_words(feature: Option<&str>) -> String {
    feature.map(|feature| format!("burn-rank's feature {feature}, ")).unwrap_or_default()
}

fn queries_in_words(queries: usize) -> String {
    if queries == 1 { "the only query".into() } else { format!("any of {queries} queries") }
}

/// The likely cause of [`LossError::NothingToLearn`].
fn nothing_to_learn(queries: usize, inverted: usize) -> String {
    match inverted {
        0 => "expected a query with two documents (mask true) that the loss tells apart by their labels".into(),
        _ => format!(
            "with the mask the other way round there is something in {inverted} of {queries}; expected a mask that is \
             true at a document (burn's `mask_pad` is true at padding, see `loss::mask_from_padding`)"
        ),
    }
}

fn memory_in_words(loss: &str, batch: usize, documents: usize, needed: u64, available: u64) -> String {
    let lists = if batch == 1 { "a list".to_string() } else { format!("{batch} lists") };
    let shortage = Shortage { needed, free: available };
    format!(
        "{loss} on {lists} of {documents} documents {shortage}: take shorter lists, fewer at once, or a loss that holds \
         no arrays of pairs"
    )
}

fn parameter_in_words(loss: &str, refusal: &Refusal) -> String {
    match refusal.unknown_name() {
        Some(unknown) if unknown.of.is_some() => refusal.message(),
        _ => refusal.clone().under(loss).to_string(),
    }
}

impl LossError {
    /// A parameter out of its range.
    pub(crate) fn parameter(
        loss: &'static str,
        parameter: &str,
        found: impl Display,
        expected: impl Into<String>,
    ) -> Self {
        Self::Parameter { loss, refusal: Refusal::new(parameter, found, expected) }
    }
}

/// Largest parameter, and one over the smallest: products with scores, and their squares, stay within `f32`.
const LARGEST: f64 = 1e12;

/// `value`, if it is finite and above 0, and neither it nor its inverse is beyond 1e12.
pub(crate) fn positive(loss: &'static str, parameter: &str, value: f64) -> Result<f64, LossError> {
    if !(value.is_finite() && value > 0.0) {
        Err(LossError::parameter(loss, parameter, value, "a finite number above 0"))
    } else if !(1.0 / LARGEST..=LARGEST).contains(&value) {
        Err(LossError::parameter(
            loss,
            parameter,
            format!("{value:e}"),
            "from 1e-12 to 1e12, which float32 can work with",
        ))
    } else {
        Ok(value)
    }
}

/// `value`, if it is finite, not below 0 and not beyond 1e12.
pub(crate) fn not_negative(loss: &'static str, parameter: &str, value: f64) -> Result<f64, LossError> {
    if !(value.is_finite() && value >= 0.0) {
        Err(LossError::parameter(loss, parameter, value, "a finite number, 0 or above"))
    } else if value > LARGEST {
        Err(LossError::parameter(loss, parameter, format!("{value:e}"), "up to 1e12, which float32 can work with"))
    } else {
        Ok(value)
    }
}

/// A cut-off, if it keeps at least one rank.
pub(crate) fn cutoff(loss: &'static str, k: Option<usize>) -> Result<Option<usize>, LossError> {
    match k {
        Some(0) => Err(LossError::parameter(loss, "k", 0, "a cut-off of 1 or more, or none")),
        k => Ok(k),
    }
}

/// A number of documents or ranks that may be absent, if it is at least one.
pub(crate) fn at_least_one(
    loss: &'static str,
    name: &'static str,
    found: Option<usize>,
) -> Result<Option<usize>, LossError> {
    match found {
        Some(0) => Err(LossError::parameter(loss, name, 0, "1 or more, or none")),
        found => Ok(found),
    }
}

/// A number of draws, if there is at least one.
pub(crate) fn samples(loss: &'static str, samples: usize) -> Result<usize, LossError> {
    match samples {
        0 => Err(LossError::parameter(loss, "samples", 0, "a number of samples, 1 or more")),
        samples => Ok(samples),
    }
}

/// The cut-off of a measure that needs one; it keeps at least one rank.
pub(crate) fn required_cutoff(loss: &'static str, k: usize) -> Result<usize, LossError> {
    if k == 0 { Err(LossError::parameter(loss, "k", 0, "a cut-off of 1 or more")) } else { Ok(k) }
}

/// Refuses a discount that is not finite, does not start above 0, or rises.
pub(crate) fn discount(loss: &'static str, discount: &Discount) -> Result<(), LossError> {
    match discount {
        Discount::Power { exponent } => not_negative(loss, "exponent", *exponent).map(|_| ()),
        Discount::Table(table) if !is_discount(table) => {
            Err(LossError::parameter(loss, "discount", format!("{table:?}"), DISCOUNTS))
        }
        _ => Ok(()),
    }
}

/// `gain`, if a table of gains is finite and not negative.
pub(crate) fn gain(loss: &'static str, gain: &Gain) -> Result<Gain, LossError> {
    if let Gain::Table(table) = gain
        && (table.is_empty() || table.iter().any(|g| !g.is_finite() || *g < 0.0))
    {
        let found = format!("{table:?}");
        return Err(LossError::parameter(loss, "gain", found, "a table of finite gains, 0 or above, from label 0"));
    }
    Ok(gain.clone())
}

/// Returns the requirement on labels if `label` violates it. `None` as gain admits every finite label.
pub(crate) fn label_problem(gain: Option<&Gain>, label: f64) -> Option<String> {
    let whole_up_to = |top: f64| {
        let fits = label >= 0.0 && label <= top && label.fract() == 0.0;
        (!fits).then(|| format!("a whole number from 0 to {top}"))
    };
    match gain {
        None => (!label.is_finite()).then(|| "a finite number".to_string()),
        Some(Gain::Linear) => (!(label.is_finite() && label >= 0.0)).then(|| "a finite number, 0 or above".to_string()),
        Some(Gain::Exp2 | Gain::Exp2Raw) => whole_up_to(MAX_EXPONENTIAL_LABEL),
        Some(Gain::Table(table)) => whole_up_to(table.len() as f64 - 1.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_outside_the_gain_are_described() {
        assert_eq!(label_problem(Some(&Gain::Exp2), 30.0), None);
        assert_eq!(label_problem(Some(&Gain::Exp2), 31.0).unwrap(), "a whole number from 0 to 30");
        assert_eq!(label_problem(Some(&Gain::Table(vec![0.0, 1.0])), 2.0).unwrap(), "a whole number from 0 to 1");
        assert!(label_problem(Some(&Gain::Exp2Raw), 0.5).is_some());
        assert!(label_problem(Some(&Gain::Linear), -1.0).is_some());
        assert!(label_problem(None, -1.0).is_none());
        assert!(label_problem(None, f64::NAN).is_some());
    }

    #[test]
    fn parameters_out_of_range_say_what_was_found_and_expected() {
        for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert!(positive("approx_ndcg", "alpha", bad).is_err());
        }
        for beyond in [1e-13, 1e13] {
            assert!(positive("approx_ndcg", "alpha", beyond).unwrap_err().to_string().contains("from 1e-12 to 1e12"));
        }
        assert!(not_negative("lambda_loss", "mu", 1e13).is_err() && not_negative("lambda_loss", "mu", 0.0).is_ok());
        let message = positive("approx_ndcg", "alpha", -1.0).unwrap_err().to_string();
        assert_eq!(message, "approx_ndcg.alpha = -1: expected a finite number above 0");
        assert!(cutoff("approx_ndcg", Some(0)).is_err());
        assert!(gain("approx_ndcg", &Gain::Table(vec![])).is_err());
    }
}
