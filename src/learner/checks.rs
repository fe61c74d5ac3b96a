//! Checks shared by the learners: parameters in their ranges, data that can be learned from.

use std::fmt::Display;

use super::{LearnerError, Progress};
use crate::data::Dataset;

/// An error about `learner.<parameter>`.
pub(crate) fn parameter(parameter: &str, found: impl Display, expected: impl Display) -> LearnerError {
    LearnerError::Parameter { parameter: parameter.into(), found: found.to_string(), expected: expected.to_string() }
}

/// A finite number above 0.
pub(crate) fn positive(name: &str, value: f64) -> Result<f64, LearnerError> {
    if value > 0.0 && value.is_finite() { Ok(value) } else { Err(parameter(name, value, "a finite number above 0")) }
}

/// A finite number of at least 0.
pub(crate) fn not_negative(name: &str, value: f64) -> Result<f64, LearnerError> {
    if value >= 0.0 && value.is_finite() {
        Ok(value)
    } else {
        Err(parameter(name, value, "a finite number, 0 or above"))
    }
}

/// A share: above 0, at most 1.
pub(crate) fn share(name: &str, value: f64) -> Result<f64, LearnerError> {
    if value > 0.0 && value <= 1.0 { Ok(value) } else { Err(parameter(name, value, "a number above 0, at most 1")) }
}

/// A whole number of at least `least`.
pub(crate) fn at_least(name: &str, value: usize, least: usize) -> Result<usize, LearnerError> {
    if value >= least { Ok(value) } else { Err(parameter(name, value, format_args!("at least {least}"))) }
}

/// Refuses data without two documents of different labels in one query or without a feature that varies, and validation
/// data of other features; warns of constant features.
pub(crate) fn trainable(
    learner: &'static str,
    train: &Dataset,
    validation: Option<&Dataset>,
    progress: &dyn Progress,
) -> Result<(), LearnerError> {
    let refuse = |reason: String| Err(LearnerError::Data { learner, reason });
    if let Some(validation) = validation.filter(|data| data.feature_count != train.feature_count) {
        return refuse(format!(
            "validation data have {} features, training data {}: read both with the same number of features",
            validation.feature_count, train.feature_count
        ));
    }
    if !(0..train.queries()).any(|query| train.has_two_labels(query)) {
        return refuse(format!(
            "all labels are equal in each of the {} training queries, so no order can be learned: \
             check the label column and the query identifiers",
            train.queries()
        ));
    }
    let constant: Vec<String> = (0..)
        .zip(train.feature_ranges())
        .filter(|(_, (smallest, largest))| smallest == largest)
        .map(|(feature, _): (usize, _)| (feature + 1).to_string())
        .collect();
    if constant.len() == train.feature_count {
        return refuse(format!(
            "none of the {} features varies in the training data: check the features and the normaliser",
            train.feature_count
        ));
    }
    if !constant.is_empty() {
        progress.warn(&format!(
            "{learner}: constant in the training data, so without influence: {} of {} features (number {})",
            constant.len(),
            train.feature_count,
            constant.join(", ")
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::learner::NoProgress;
    use crate::learner::testing::{self, Warnings};

    #[test]
    fn errors_name_the_parameter_the_value_and_the_range() {
        assert_eq!(
            positive("lambda", 0.0).unwrap_err().to_string(),
            "learner.lambda = 0: expected a finite number above 0"
        );
        assert!(not_negative("gamma", f64::NAN).is_err() && not_negative("gamma", 0.0).is_ok());
        assert!(share("subsample", 1.5).is_err() && share("subsample", 1.0).is_ok());
        assert_eq!(at_least("rounds", 0, 1).unwrap_err().to_string(), "learner.rounds = 0: expected at least 1");
    }

    #[test]
    fn one_label_in_each_query_is_refused() {
        let mut data = testing::two_documents();
        assert!(trainable("test", &data, None, &NoProgress).is_ok());
        data.labels = vec![1.0, 1.0];
        let error = trainable("test", &data, None, &NoProgress).unwrap_err().to_string();
        assert!(error.starts_with("test: all labels are equal in each of the 1 training queries"), "{error}");
    }

    #[test]
    fn validation_data_must_have_the_same_features() {
        let error = trainable("test", &testing::two_documents(), Some(&testing::dataset(3, &[])), &NoProgress);
        assert!(error.unwrap_err().to_string().contains("have 3 features, training data 2"));
    }

    #[test]
    fn constant_features_are_named_in_a_warning() {
        let warnings = Warnings::default();
        let data = testing::dataset(3, &[&[(0.0, &[0.0, 5.0, 1.0]), (1.0, &[1.0, 5.0, 1.0])]]);
        trainable("test", &data, None, &warnings).unwrap();
        let nothing = testing::dataset(1, &[&[(0.0, &[5.0]), (1.0, &[5.0])]]);
        let error = trainable("test", &nothing, None, &warnings).unwrap_err().to_string();
        assert_eq!(
            error,
            "test: none of the 1 features varies in the training data: check the features and the normaliser"
        );
        assert!(warnings.text().contains("2 of 3 features (number 2, 3)"), "{}", warnings.text());
    }
}
