//! `LossError`, and the checks of parameters, labels and scores that raise it.

use crate::measure::Gain;
use crate::text::did_you_mean;

/// The largest label of an exponential gain: `2^30` still fits the arithmetic of `f32` losses.
pub const MAX_EXPONENTIAL_LABEL: f64 = 30.0;

/// Why a loss cannot be built or applied.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum LossError {
    /// A parameter out of its range or of another type.
    #[error("{loss}.{parameter} = {found}: expected {expected}")]
    Parameter {
        /// Registered name of the loss.
        loss: &'static str,
        /// Name of the parameter.
        parameter: String,
        /// What was given.
        found: String,
        /// What may be given.
        expected: String,
    },
    /// A name that no registered loss has.
    #[error("unknown loss `{found}`{}", did_you_mean(.nearest))]
    UnknownLoss {
        /// The name given.
        found: String,
        /// The most similar registered name.
        nearest: Option<String>,
    },
    /// A parameter that the loss does not have.
    #[error("{loss}: unknown parameter `{found}`{}", did_you_mean(.nearest))]
    UnknownParameter {
        /// Registered name of the loss.
        loss: &'static str,
        /// The parameter given.
        found: String,
        /// The most similar parameter of the loss.
        nearest: Option<String>,
    },
    /// Tensors or slices of different shapes.
    #[error("{what} has shape {found:?}, expected {expected:?}")]
    Shape {
        /// The input of the wrong shape.
        what: &'static str,
        /// Its shape.
        found: Vec<usize>,
        /// The shape it should have.
        expected: Vec<usize>,
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
    /// A query weight that is negative or not finite.
    #[error("query {}: weight {found}, expected a finite number >= 0", .query + 1)]
    Weight {
        /// Position of the query, from 0; the message counts from 1.
        query: usize,
        /// The weight.
        found: f64,
    },
}

impl LossError {
    /// A parameter out of its range.
    pub(crate) fn parameter(
        loss: &'static str,
        parameter: &str,
        found: impl ToString,
        expected: impl Into<String>,
    ) -> Self {
        Self::Parameter { loss, parameter: parameter.into(), found: found.to_string(), expected: expected.into() }
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

/// What a label must be, when `label` is not it. `None` as gain admits every finite label.
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
