//! `LossError`, and the checks of parameters, labels and scores that return it.

use std::fmt::Display;

use burn::tensor::DType;

use crate::data::SegmentsError;
use crate::measure::{DISCOUNTS, Discount, Gain, is_discount};
use crate::memory::Shortage;
use crate::refusal::Refusal;
use crate::shape::difference;
use crate::text::{did_you_mean, shown};

/// The largest label that a loss with an exponential gain accepts, so that `f32` can compute with `2^label`. [`Gain`]
/// lists the labels that losses and measures accept.
pub const MAX_EXPONENTIAL_LABEL: f64 = 30.0;

/// The reason why a loss cannot be created or cannot be computed for the given input.
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
    /// A parameter is unknown, out of range, or of the wrong type.
    #[error("{}", parameter_in_words(.loss, .refusal))]
    Parameter {
        /// The registered name of the loss.
        loss: &'static str,
        /// The parameter, its value, and the values that are allowed.
        refusal: Refusal,
    },
    /// No registered loss has the given name.
    #[error("unknown loss `{}`, expected one that `burn-rank models --losses` lists{}", shown(.found), did_you_mean(.nearest))]
    UnknownLoss {
        /// The name given.
        found: String,
        /// The most similar registered name.
        nearest: Option<String>,
    },
    /// The loss reads a teacher's scores, and there are none.
    #[error("{loss}: the teacher's loss found no scores of a teacher, expected `with_teacher`")]
    NoTeacher {
        /// Name of the loss.
        loss: &'static str,
    },
    /// A parameter cannot be changed after the loss has been built.
    #[error(
        "{loss} cannot change `{parameter}` while it trains: expected a parameter that its `RankingLoss::changed` changes"
    )]
    Fixed {
        /// Name of the loss.
        loss: &'static str,
        /// The parameter.
        parameter: String,
    },
    /// Two inputs have different shapes.
    #[error("{}", difference(.what, .found, .other, .expected))]
    Shape {
        /// The name of the input with the wrong shape.
        what: &'static str,
        /// The shape of the input.
        found: Vec<usize>,
        /// The name of the input that determines the expected shape.
        other: &'static str,
        /// The shape that was expected.
        expected: Vec<usize>,
    },
    /// The number of flat scores does not match the lengths of the queries.
    #[error(transparent)]
    Segments(#[from] SegmentsError),
    /// The rows given for a query in a call to [`in_batch`](super::in_batch()) are invalid.
    #[error("query {}: found {found}, expected {expected}", .query + 1)]
    InBatch {
        /// The index of the query, counted from 0 here and from 1 in the message.
        query: usize,
        /// The rows that were found in the query.
        found: String,
        /// The rows that were expected in the query.
        expected: String,
    },
    /// There are no queries or no documents.
    #[error("scores are {found:?}, expected one query of one document or more")]
    Empty {
        /// The shape of the scores.
        found: Vec<usize>,
    },
    /// No query in the batch gives a gradient, so the loss is 0.
    #[error("nothing to learn in {}: {}", queries_in_words(*.queries), nothing_to_learn(*.queries, *.inverted))]
    NothingToLearn {
        /// The number of queries in the batch.
        queries: usize,
        /// The number of queries that would give a gradient if the mask were inverted. A number above 0 suggests that
        /// the mask is inverted by mistake.
        inverted: usize,
    },
    /// The offsets do not partition the documents into queries.
    #[error(
        "offsets of queries: found {found}, expected ascending numbers from 0 to {documents}, the number of labels"
    )]
    Offsets {
        /// The first invalid offset, in words.
        found: String,
        /// The number of labels.
        documents: usize,
    },
    /// A label, or a teacher's score in its place, is outside the domain of the gain.
    #[error("query {}, document {}: {what} {found}, expected {expected}", .query + 1, .document + 1)]
    Label {
        /// Whether it is a label or a teacher's score.
        what: &'static str,
        /// The index of the query, counted from 0 here and from 1 in the message.
        query: usize,
        /// The index of the document in its query, counted from 0 here and from 1 in the message.
        document: usize,
        /// The label.
        found: f64,
        /// The labels that the gain allows, in words.
        expected: String,
    },
    /// The score of a document is not finite.
    #[error("query {}, document {}: score {found}, expected a finite number", .query + 1, .document + 1)]
    Score {
        /// The index of the query, counted from 0 here and from 1 in the message.
        query: usize,
        /// The index of the document in its query, counted from 0 here and from 1 in the message.
        document: usize,
        /// The score.
        found: f64,
    },
    /// A batch needs more memory than the memory budget. The backend was enabled without a feature of this crate, so
    /// burn's automatic differentiation stores all document pairs.
    #[error(
        "{found:?} scores on the backend {backend} need about {} MiB, the memory budget is {} MiB: expected {}a smaller \
         batch, or a larger budget",
        .needed.div_ceil(1 << 20),
        .budget >> 20,
        feature_in_words(*.feature)
    )]
    Budget {
        /// The name of the backend in burn.
        backend: String,
        /// The feature of this crate that enables the backend and keeps memory within the budget.
        feature: Option<&'static str>,
        /// The shape of the scores.
        found: Vec<usize>,
        /// The approximate number of bytes that the batch needs.
        needed: usize,
        /// The memory budget of the calling thread in bytes; see [`Execution`](crate::op::Execution).
        budget: usize,
    },
    /// The device does not compute in the type of the scores.
    #[error("scores are {found:?}, a type that their device does not support: expected F32")]
    Type {
        /// The type.
        found: DType,
    },
    /// The lists have document weights, but the loss does not accept them.
    #[error("{loss} does not accept document weights: {reason}")]
    DocumentWeights {
        /// Name of the loss.
        loss: &'static str,
        /// The reason why the loss accepts no document weights.
        reason: &'static str,
    },
    /// The loss stores arrays of document pairs that do not fit into the free memory.
    #[error("{}", memory_in_words(.loss, *.batch, *.documents, *.needed, *.available))]
    Memory {
        /// Name of the loss.
        loss: &'static str,
        /// The number of lists.
        batch: usize,
        /// The number of documents in the longest list.
        documents: usize,
        /// The approximate number of bytes that the arrays need.
        needed: u64,
        /// The number of free bytes.
        available: u64,
    },
    /// A query weight is negative or not finite.
    #[error("query {}: weight {found}, expected a finite number >= 0", .query + 1)]
    Weight {
        /// The index of the query, counted from 0 here and from 1 in the message.
        query: usize,
        /// The weight.
        found: f64,
    },
    /// A document weight is negative or not finite.
    #[error("query {}, document {}: weight {found}, expected a finite number >= 0", .query + 1, .document + 1)]
    DocumentWeight {
        /// The index of the query, counted from 0 here and from 1 in the message.
        query: usize,
        /// The index of the document in its query, counted from 0 here and from 1 in the message.
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

/// Describes the likely cause of [`LossError::NothingToLearn`].
fn nothing_to_learn(queries: usize, inverted: usize) -> String {
    match inverted {
        0 => "expected a query with two documents (mask true) that the loss distinguishes by their labels".into(),
        _ => format!(
            "with the inverted mask there is something in {inverted} of {queries}; expected a mask that is true for \
             documents (burn's `mask_pad` is true for padding, see `loss::mask_from_padding`)"
        ),
    }
}

fn memory_in_words(loss: &str, batch: usize, documents: usize, needed: u64, available: u64) -> String {
    let lists = if batch == 1 { "a list".to_string() } else { format!("{batch} lists") };
    let shortage = Shortage { needed, free: available };
    format!(
        "{loss} on {lists} of {documents} documents {shortage}: use shorter lists, fewer at once, or a loss without \
         arrays of pairs"
    )
}

fn parameter_in_words(loss: &str, refusal: &Refusal) -> String {
    match refusal.unknown_name_of() {
        Some(unknown) if unknown.of.is_some() => refusal.message(),
        _ => refusal.clone().under(loss).to_string(),
    }
}

impl LossError {
    /// Creates the error for a parameter that is out of range.
    pub(crate) fn parameter(loss: &'static str, key: &str, found: impl Display, expected: impl Into<String>) -> Self {
        Self::Parameter { loss, refusal: Refusal::new(key, found, expected) }
    }
}

/// Returns an error unless the input `what` has the shape of another one.
pub(crate) fn same_shape(
    (what, found): (&'static str, &[usize]),
    (other, expected): (&'static str, &[usize]),
) -> Result<(), LossError> {
    match found == expected {
        true => Ok(()),
        false => Err(LossError::Shape { what, found: found.into(), other, expected: expected.into() }),
    }
}

/// The largest allowed value of a parameter; its inverse is the smallest allowed value of a positive parameter. Within
/// these bounds, the square of a parameter times a score fits into `f32`.
const LARGEST: f64 = 1e12;

/// Returns `value` if it is between 1e-12 and 1e12, and an error otherwise.
pub(crate) fn positive(loss: &'static str, parameter: &str, value: f64) -> Result<f64, LossError> {
    if !(value.is_finite() && value > 0.0) {
        Err(LossError::parameter(loss, parameter, value, "a finite number above 0"))
    } else if !(1.0 / LARGEST..=LARGEST).contains(&value) {
        let expected = "from 1e-12 to 1e12, which float32 can work with";
        Err(LossError::parameter(loss, parameter, format!("{value:e}"), expected))
    } else {
        Ok(value)
    }
}

/// Returns `value` if it is between 0 and 1e12, and an error otherwise.
pub(crate) fn not_negative(loss: &'static str, parameter: &str, value: f64) -> Result<f64, LossError> {
    if !(value.is_finite() && value >= 0.0) {
        Err(LossError::parameter(loss, parameter, value, "a finite number, 0 or above"))
    } else if value > LARGEST {
        Err(LossError::parameter(loss, parameter, format!("{value:e}"), "up to 1e12, which float32 can work with"))
    } else {
        Ok(value)
    }
}

/// Returns the number if it is at least 1, and an error otherwise.
pub(crate) fn at_least_one(loss: &'static str, key: &str, found: usize, expected: &str) -> Result<usize, LossError> {
    if found == 0 { Err(LossError::parameter(loss, key, found, expected)) } else { Ok(found) }
}

/// Returns the cut-off if it is `None` or keeps at least one rank, and an error otherwise.
pub(crate) fn cutoff(loss: &'static str, k: Option<usize>) -> Result<Option<usize>, LossError> {
    k.map(|k| at_least_one(loss, "k", k, "a cut-off of 1 or more, or none")).transpose()
}

/// The largest number of draws, all of which are in memory until the backward pass.
const MOST_DRAWS: usize = 10_000;

/// Returns the number of draws if it is from `least` to 10,000, and an error otherwise.
pub(crate) fn draws(loss: &'static str, key: &str, least: usize, found: usize) -> Result<usize, LossError> {
    if (least..=MOST_DRAWS).contains(&found) {
        return Ok(found);
    }
    Err(LossError::parameter(loss, key, found, format!("from {least} to {MOST_DRAWS}")))
}

/// The largest label that a loss with an exponential gain accepts.
pub(crate) const LARGEST_GRADE: u32 = MAX_EXPONENTIAL_LABEL as u32;

/// Rejects a label of a perfect document, for expected reciprocal rank, that is not from 1 to 30.
pub(crate) fn maximum_grade(loss: &'static str, grade: u32) -> Result<(), LossError> {
    match grade {
        1..=LARGEST_GRADE => Ok(()),
        _ => {
            let expected = format!("a whole number from 1 to {LARGEST_GRADE}");
            Err(LossError::parameter(loss, "maximum_grade", grade, expected))
        }
    }
}

/// Rejects a discount that is not finite, does not start above 0, or increases with the rank.
pub(crate) fn discount(loss: &'static str, discount: &Discount) -> Result<(), LossError> {
    match discount {
        Discount::Power { exponent } => not_negative(loss, "exponent", *exponent).map(|_| ()),
        Discount::Table(table) if !is_discount(table) => {
            Err(LossError::parameter(loss, "discount", format!("{table:?}"), DISCOUNTS))
        }
        _ => Ok(()),
    }
}

/// Returns a copy of `gain`. Returns an error if the gain is a table that is empty or has a negative or non-finite
/// entry.
pub(crate) fn gain(loss: &'static str, gain: &Gain) -> Result<Gain, LossError> {
    if let Gain::Table(table) = gain
        && (table.is_empty() || table.iter().any(|g| !g.is_finite() || *g < 0.0))
    {
        let found = format!("{table:?}");
        return Err(LossError::parameter(loss, "gain", found, "a table of finite gains, 0 or above, from label 0"));
    }
    Ok(gain.clone())
}

/// If the gain does not allow `label`, returns a description of the labels that it allows. Without a gain, every finite
/// label is valid.
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
