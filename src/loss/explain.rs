//! `explain`, which computes the value, loss and gradient of one list for the command `burn-rank loss NAME`.

use burn::nn::loss::Reduction;
use burn::tensor::{DType, Device, Tensor, TensorData};
use serde::{Deserialize, Serialize};

use super::about::Orientation;
use super::check::check_values;
use super::error::{LossError, same_shape};
use super::lists::Lists;
use super::ranking_loss::RankingLoss;

/// The value, loss and gradient of one list, as returned by [`explain`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Explained {
    /// Whether this list contributes a gradient to the loss.
    pub learnable: bool,
    /// The value of the surrogate, or the loss itself if it does not approximate a measure. The value is meaningless
    /// for a list that gives no gradient.
    pub value: f64,
    /// The loss that training minimizes.
    pub loss: f64,
    /// The derivative of the loss with respect to each score.
    pub grad: Vec<f64>,
}

/// Calls [`explain_on`] with the Flex backend.
///
/// # Errors
/// Returns the same errors as [`explain_on`].
#[cfg(any(feature = "flex", test))]
#[cfg_attr(docsrs, doc(cfg(feature = "flex")))]
pub fn explain(loss: &dyn RankingLoss, scores: &[f64], labels: &[f64], dtype: DType) -> Result<Explained, LossError> {
    explain_on(loss, scores, labels, dtype, &Device::flex())
}

/// Returns the value, loss and gradient of one list, computed on a device in `dtype` (`F32` or `F64`).
///
/// A list that gives no gradient has loss 0 and does not cause an error. A value or gradient that overflows is returned
/// unchanged, without an error.
///
/// # Errors
/// Returns an error if the inputs are empty or differ in length, a score is not finite, or a label is outside the
/// domain of the gain. Also returns an error if the device does not compute in `dtype`, or if the list does not fit
/// into the free memory.
pub fn explain_on(
    loss: &dyn RankingLoss,
    scores: &[f64],
    labels: &[f64],
    dtype: DType,
    device: &Device,
) -> Result<Explained, LossError> {
    explain_taught(loss, scores, labels, None, dtype, device)
}

/// Does the same as [`explain_on`] for a list with the scores of a teacher, NaN for a document that it has not scored.
///
/// # Errors
/// Returns the same errors as [`explain_on`]. Also returns an error if the scores of the teacher differ in number.
pub fn explain_taught(
    loss: &dyn RankingLoss,
    scores: &[f64],
    labels: &[f64],
    teacher: Option<&[f64]>,
    dtype: DType,
    device: &Device,
) -> Result<Explained, LossError> {
    same_shape(("labels", &[labels.len()]), ("scores", &[scores.len()]))?;
    if let Some(teacher) = teacher {
        same_shape(("the teacher's scores", &[teacher.len()]), ("scores", &[scores.len()]))?;
    }
    if scores.is_empty() {
        return Err(LossError::Empty { found: vec![0] });
    }
    if !device.supports_dtype(dtype) {
        return Err(LossError::Type { found: dtype });
    }
    let device = device.clone().autodiff();
    let scores = TensorData::new(scores.to_vec(), [1, labels.len()]);
    let scores = Tensor::<2>::from_data(scores, (&device, dtype)).require_grad();
    let lists = Lists::of_one(scores.clone(), labels, teacher);
    check_values(&loss.about(), &lists)?;
    let learnable = lists.are_learnable(loss);
    let output = loss.forward_lists(&lists, Reduction::Sum);
    let value: f64 = output.to_data().iter::<f64>().sum();
    let grad = scores.grad(&output.backward());
    let grad = grad.map_or_else(|| vec![0.0; labels.len()], |grad| grad.into_data().iter::<f64>().collect());
    let measure = match loss.about().orientation {
        Orientation::NormalizedMeasure => 1.0 - value,
        Orientation::Measure => -value,
        Orientation::Loss => value,
    };
    Ok(Explained { learnable, value: measure, loss: value, grad })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::loss::{ApproxNdcgConfig, RankNetConfig};

    #[test]
    fn value_and_loss_add_up_and_the_gradient_pulls_the_relevant_document_up() {
        let loss = ApproxNdcgConfig::new().init().unwrap();
        let explained = explain(&loss, &[0.0, 0.1], &[1.0, 0.0], DType::F64).unwrap();
        assert!((explained.value + explained.loss - 1.0).abs() < 1e-15);
        assert!(explained.learnable && explained.grad[0] < 0.0 && explained.grad[1] > 0.0);
    }

    #[test]
    fn a_list_with_nothing_to_learn_is_reported() {
        let loss = ApproxNdcgConfig::new().init().unwrap();
        let explained = explain(&loss, &[0.0, 0.1], &[0.0, 0.0], DType::F64).unwrap();
        assert_eq!((explained.learnable, explained.loss, explained.grad), (false, 0.0, vec![0.0, 0.0]));
    }

    #[test]
    fn labels_that_differ_only_in_float64_can_be_learned() {
        let labels = [0.1, 0.1 + 1e-11];
        let explained = explain(&RankNetConfig::new().init().unwrap(), &[0.0, 1.0], &labels, DType::F64).unwrap();
        assert!(explained.learnable && explained.loss > 0.0, "{explained:?}");
    }

    #[test]
    fn input_is_checked() {
        let loss = ApproxNdcgConfig::new().init().unwrap();
        let message =
            |scores: &[f64], labels: &[f64]| explain(&loss, scores, labels, DType::F32).unwrap_err().to_string();
        assert_eq!(message(&[0.0], &[1.0, 0.0]), "labels are [2], scores [1]");
        assert_eq!(message(&[], &[]), "scores are [0], expected one query of one document or more");
        assert_eq!(
            message(&[0.0, 1.0], &[1.0, 31.0]),
            "query 1, document 2: label 31, expected a whole number from 0 to 30"
        );
        assert_eq!(message(&[0.0, f64::NAN], &[1.0, 0.0]), "query 1, document 2: score NaN, expected a finite number");
    }
}
