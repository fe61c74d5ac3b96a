//! A parameter given as one value, or as a list from which the best value is chosen on validation data.

use serde::{Deserialize, Serialize};

use super::checks;
use crate::learner::error::LearnerError;

/// One value, or a list from which the best value is chosen on validation data: `lambda = 0.1` or
/// `lambda = [0.01, 0.1, 1.0]`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged, expecting = "expected a finite number above 0, or a list of them")]
pub enum Candidates {
    /// One value.
    One(f64),
    /// Several values, which are tried in this order.
    Many(Vec<f64>),
}

impl Candidates {
    /// Returns the values in the order in which they are tried.
    pub fn values(&self) -> &[f64] {
        match self {
            Candidates::One(value) => std::slice::from_ref(value),
            Candidates::Many(values) => values,
        }
    }

    /// Returns the powers of ten from `10^from` to `10^to`, both included.
    pub(crate) fn powers_of_ten(from: i32, to: i32) -> Self {
        // The powers are parsed, not computed, so 1e-6 is exactly the number that a configuration file gives.
        let power = |exponent: i32| format!("1e{exponent}").parse().expect("a number");
        Candidates::Many((from..=to).map(power).collect())
    }

    /// Returns the values. Returns an error if there are no values, or if a value is not a finite number above 0.
    pub(crate) fn positive(&self, name: &str) -> Result<Vec<f64>, LearnerError> {
        if self.values().is_empty() {
            return Err(checks::parameter(name, "[]", "one value or more"));
        }
        self.values().iter().map(|&value| checks::positive(name, value)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_forms_are_read() {
        let read = |text: &str| serde_json::from_str::<Candidates>(text).unwrap().positive("lambda");
        assert_eq!(read("0.5").unwrap(), [0.5]);
        assert_eq!(read("[1, 2.5]").unwrap(), [1.0, 2.5]);
        assert_eq!(read("[1, 0]").unwrap_err().to_string(), "learner.lambda = 0: expected a finite number above 0");
        assert_eq!(read("[]").unwrap_err().to_string(), "learner.lambda = []: expected one value or more");
    }

    #[test]
    fn powers_of_ten_equal_the_written_numbers() {
        assert_eq!(Candidates::powers_of_ten(-3, 1).values(), [0.001, 0.01, 0.1, 1.0, 10.0]);
    }
}
