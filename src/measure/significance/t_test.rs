//! Student's paired t-test. For paired differences d, the statistic is `t = mean(d) / (s / sqrt n)` with n - 1 degrees
//! of freedom.

use serde::Serialize;
use statrs::distribution::{ContinuousCDF, StudentsT};

use super::{SignificanceError, mean, standard_error};

/// The result of a paired t-test.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[non_exhaustive]
pub struct TTest {
    /// The t statistic, which is infinite if all differences are equal and not 0.
    pub t: f64,
    /// Degrees of freedom.
    pub freedom: usize,
    /// The two-sided p-value, or 1 if all differences are 0.
    pub p_value: f64,
    /// The lower end of the confidence interval of the mean difference.
    pub low: f64,
    /// The upper end of the confidence interval of the mean difference.
    pub high: f64,
    /// The smallest detectable difference: the size of a true mean difference that a test with as many differences of
    /// the same standard deviation finds four times in five, at the level `1 - confidence`.
    pub detectable: f64,
}

/// The probability with which a test finds a difference of the size [`TTest::detectable`].
const POWER: f64 = 0.8;

/// Tests whether the mean of two or more paired differences is 0. `confidence` is the level of the confidence interval,
/// in 0..1.
///
/// # Errors
/// Returns [`SignificanceError::TooFew`] for fewer than two differences.
pub fn t_test(differences: &[f64], confidence: f64) -> Result<TTest, SignificanceError> {
    let queries = differences.len();
    if queries < 2 {
        return Err(SignificanceError::TooFew { what: "queries", found: queries, expected: 2 });
    }
    let freedom = queries - 1;
    let (mean, error) = (mean(differences), standard_error(differences));
    let t = if mean == 0.0 { 0.0 } else { mean / error };
    let student = StudentsT::new(0.0, 1.0, freedom as f64).expect("there is at least one degree of freedom");
    let reach = error * student.inverse_cdf((1.0 + confidence) / 2.0);
    let p_value = if t.is_infinite() { 0.0 } else { (2.0 * student.sf(t.abs())).min(1.0) };
    // The usual approximation by the central t distribution.
    let detectable = reach + error * student.inverse_cdf(POWER);
    Ok(TTest { t, freedom, p_value, low: mean - reach, high: mean + reach, detectable })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{normal, random};

    #[test]
    fn one_degree_of_freedom_is_the_cauchy_distribution() {
        let test = t_test(&[1.0, 3.0], 0.5).unwrap();
        assert_eq!((test.t, test.freedom), (2.0, 1));
        assert!((test.p_value - (1.0 - 2.0 / std::f64::consts::PI * 2f64.atan())).abs() < 1e-12);
        // The quartiles of a Cauchy distribution are -1 and 1; the standard error is 1.
        assert!((test.low - 1.0).abs() < 1e-9 && (test.high - 3.0).abs() < 1e-9);
    }

    #[test]
    fn a_detectable_difference_is_found_four_times_in_five() {
        let sample = |sample| {
            let random = &mut random(sample);
            (0..40).map(|_| 0.1 * normal(random)).collect()
        };
        let noise: Vec<Vec<f64>> = (0..2000).map(sample).collect();
        let detectable = noise.iter().map(|sample| t_test(sample, 0.95).unwrap().detectable).sum::<f64>() / 2000.0;
        let found = |sample: &&Vec<f64>| {
            let shifted: Vec<f64> = sample.iter().map(|noise| noise + detectable).collect();
            t_test(&shifted, 0.95).unwrap().p_value < 0.05
        };
        let share = noise.iter().filter(found).count() as f64 / 2000.0;
        // Three standard deviations of a share of .8, and the error of the approximation.
        assert!((share - 0.8).abs() < 0.03, "{share}");
    }

    #[test]
    fn differences_without_variance_have_a_p_value_of_0_or_1() {
        assert_eq!(t_test(&[0.0; 3], 0.95).unwrap().p_value, 1.0);
        assert_eq!(t_test(&[0.5; 3], 0.95).unwrap().p_value, 0.0);
    }
}
