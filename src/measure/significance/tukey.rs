//! Tukey's honestly significant difference (HSD) test for several systems.
//!
//! For every pair of systems, the statistic is `q = |mean_i - mean_j| / sqrt(E / n)`. The p-value `P(Q > q)` from the
//! studentized range holds for all pairs together. For systems on the same queries, E is the residual mean square of
//! systems x queries with (systems - 1)(queries - 1) degrees of freedom. The residual mean square removes differences
//! in how difficult the queries are (Carterette 2012). For independent samples, E is the variance within the systems.
//! The test evaluates the distribution O(systems^2) times.
//!
//! The studentized range is the range of k standard normal variables, divided by an independent estimate of their
//! standard deviation with v degrees of freedom.
//!
//! The distribution function is `P(Q <= q) = int f_v(s) x W_k(q s) ds`. In this formula, `W_k(w)` is
//! `k int phi(z) (Phi(z) - Phi(z - w))^(k - 1) dz`, and `f_v` is the density of `sqrt(chi^2_v / v)`. The two integrals
//! are computed by Gauss-Legendre quadrature on panels. The absolute error of the distribution is about 1e-12, as
//! checked against SciPy.

use serde::Serialize;
use statrs::function::erf::erfc;
use statrs::function::gamma::ln_gamma;

use super::settings::{SignificanceError, check_rows, mean, queries};
use crate::parallel;
use crate::quadrature::gauss_legendre;

/// The test result for one pair of systems.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[non_exhaustive]
pub struct TukeyPair {
    /// The index of the first system, counted from 0.
    pub first: usize,
    /// The index of the second system, counted from 0.
    pub second: usize,
    /// The second system's mean minus the first system's mean.
    pub mean_difference: f64,
    /// The studentized difference `q`, which is infinite if the means differ although the residual variance is 0.
    pub q: f64,
    /// The p-value adjusted for all pairs.
    pub p_value: f64,
}

/// Tests all pairs of systems. The values are given as `systems[system][query]`, for two or more systems on the same
/// two or more queries.
///
/// # Errors
/// Returns [`SignificanceError::TooFew`] for fewer than two systems or queries. Returns [`SignificanceError::Queries`]
/// if systems differ in length, and [`SignificanceError::Value`] for a value that is not finite.
pub fn tukey_hsd(systems: &[Vec<f64>]) -> Result<Vec<TukeyPair>, SignificanceError> {
    check_rows("systems", systems)?;
    let queries = queries(systems)?;
    let means: Vec<f64> = systems.iter().map(|values| mean(values)).collect();
    let overall = mean(&means);
    let mut residual = 0.0;
    for query in 0..queries {
        let of_query = mean(&systems.iter().map(|values| values[query]).collect::<Vec<_>>());
        for (values, mean) in systems.iter().zip(&means) {
            residual += (values[query] - mean - of_query + overall).powi(2);
        }
    }
    let freedom = ((systems.len() - 1) * (queries - 1)) as f64;
    Ok(pairs(systems, &means, residual / freedom, freedom))
}

/// Tests all pairs of systems. There are two or more systems, measured on different queries.
///
/// # Errors
/// Returns [`SignificanceError::TooFew`] for fewer than two systems, or for a system with fewer than two queries.
/// Returns [`SignificanceError::Value`] for a value that is not finite.
pub fn tukey_hsd_independent(systems: &[Vec<f64>]) -> Result<Vec<TukeyPair>, SignificanceError> {
    check_rows("systems", systems)?;
    let means: Vec<f64> = systems.iter().map(|values| mean(values)).collect();
    let within = |(values, mean): (&Vec<f64>, &f64)| values.iter().map(|value| (value - mean).powi(2)).sum::<f64>();
    let freedom = (systems.iter().map(Vec::len).sum::<usize>() - systems.len()) as f64;
    let error = systems.iter().zip(&means).map(within).sum::<f64>() / freedom;
    Ok(pairs(systems, &means, error, freedom))
}

fn pairs(systems: &[Vec<f64>], means: &[f64], error: f64, freedom: f64) -> Vec<TukeyPair> {
    let count = systems.len();
    let pairs = (0..count).flat_map(|i| (i + 1..count).map(move |j| (i, j)));
    parallel::map(pairs, |(first, second)| {
        let mean_difference = means[second] - means[first];
        // The Tukey-Kramer form; for equal numbers of queries the term under the root is error / n.
        let scale = (error / 2.0 * (1.0 / systems[first].len() as f64 + 1.0 / systems[second].len() as f64)).sqrt();
        let q = if mean_difference == 0.0 { 0.0 } else { mean_difference.abs() / scale };
        let p_value = if q.is_infinite() { 0.0 } else { studentized_range_survival(q, count, freedom) };
        TukeyPair { first, second, mean_difference, q, p_value }
    })
}

/// The number of quadrature nodes per panel.
const NODES: usize = 16;
/// The number of panels per interval.
const PANELS: usize = 24;
/// The distance from 0 beyond which the normal density is negligible.
const NORMAL_REACH: f64 = 8.5;
/// The distance from 1, in standard deviations of the scale, beyond which the density of the scale is negligible.
const SCALE_REACH: f64 = 12.0;

/// Returns `P(Q > q)` for the studentized range of `groups` means (2 or more) with `freedom` degrees of freedom (1 or
/// more).
pub fn studentized_range_survival(q: f64, groups: usize, freedom: f64) -> f64 {
    if q <= 0.0 {
        return 1.0;
    }
    let nodes = gauss_legendre(NODES);
    let normal: Vec<(f64, f64, f64)> = panels(&nodes, -NORMAL_REACH, NORMAL_REACH)
        .map(|(z, weight)| (z, normal_cdf(z), weight * (-z * z / 2.0).exp() / std::f64::consts::TAU.sqrt()))
        .collect();
    let power = groups as i32 - 1;
    let range_cdf = |width: f64| {
        let within = |&(z, cdf, density): &(f64, f64, f64)| density * (cdf - normal_cdf(z - width)).powi(power);
        groups as f64 * normal.iter().map(within).sum::<f64>()
    };
    let half = freedom / 2.0;
    let log_constant = half * half.ln() - ln_gamma(half) + std::f64::consts::LN_2;
    let density = |s: f64| (log_constant + (freedom - 1.0) * s.ln() - half * s * s).exp();
    let spread = SCALE_REACH / (2.0 * freedom).sqrt();
    // Wider ranges are as improbable as a normal variable beyond its reach, so a large q leaves only small scales.
    let widest = (2.0 * NORMAL_REACH / q).min(1.0 + spread);
    let scales = panels(&nodes, (1.0 - spread).max(0.0).min(widest), widest);
    let beyond = scales.map(|(s, weight)| weight * density(s) * (1.0 - range_cdf(q * s))).sum::<f64>();
    beyond.clamp(0.0, 1.0)
}

fn normal_cdf(z: f64) -> f64 {
    0.5 * erfc(-z / std::f64::consts::SQRT_2)
}

/// Divides an interval into panels, and returns the quadrature nodes and weights in all of them.
fn panels(nodes: &[(f64, f64)], from: f64, to: f64) -> impl Iterator<Item = (f64, f64)> {
    let half = (to - from) / (2 * PANELS) as f64;
    (0..PANELS).flat_map(move |panel| {
        let middle = from + (2 * panel + 1) as f64 * half;
        nodes.iter().map(move |(node, weight)| (middle + half * node, half * weight))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::significance::t_test;
    use statrs::distribution::{ContinuousCDF, StudentsT};

    #[test]
    fn two_systems_have_the_p_value_of_the_paired_t_test() {
        let systems = [vec![0.1, 0.4, 0.3, 0.9], vec![0.3, 0.35, 0.5, 1.0]];
        let differences: Vec<f64> = systems[0].iter().zip(&systems[1]).map(|(a, b)| b - a).collect();
        let pair = tukey_hsd(&systems).unwrap()[0];
        assert!((pair.p_value - t_test(&differences, 0.95).unwrap().p_value).abs() < 1e-10);
    }

    #[test]
    fn systems_that_differ_only_in_their_means() {
        let (low, high) = (vec![0.0, 0.5], vec![0.25, 0.75]);
        let pairs = tukey_hsd(&[low.clone(), high.clone(), low, high]).unwrap();
        assert_eq!(pairs.iter().map(|pair| pair.p_value).collect::<Vec<_>>(), [0.0, 1.0, 0.0, 0.0, 1.0, 0.0]);
    }

    #[test]
    fn bad_input_is_refused() {
        assert!(tukey_hsd(&[vec![0.0, 1.0]]).is_err());
        assert!(tukey_hsd(&[vec![0.0], vec![1.0]]).is_err());
        assert!(tukey_hsd(&[vec![0.0, 1.0], vec![1.0, 0.0, 0.5]]).is_err());
        assert!(tukey_hsd_independent(&[vec![0.0, 1.0], vec![1.0, f64::INFINITY]]).is_err());
    }

    #[test]
    fn panels_are_exact_for_polynomials() {
        let nodes = gauss_legendre(NODES);
        let integral = |power| panels(&nodes, 0.0, 2.0).map(|(x, weight)| weight * x.powi(power)).sum::<f64>();
        for power in 0..20 {
            let exact = 2f64.powi(power + 1) / f64::from(power + 1);
            assert!((integral(power) / exact - 1.0).abs() < 1e-13);
        }
    }

    #[test]
    fn the_range_of_two_groups_follows_students_t() {
        for freedom in [1.0, 3.0, 12.0, 200.0] {
            let student = StudentsT::new(0.0, 1.0, freedom).unwrap();
            for q in [0.3, 1.0, 3.0, 6.0, 100.0, 1e3, 1e4] {
                let expected = 2.0 * student.sf(q / std::f64::consts::SQRT_2);
                let found = studentized_range_survival(q, 2, freedom);
                assert!((found - expected).abs() < 1e-10 * expected.max(1e-3), "{q} {freedom}: {found} {expected}");
            }
        }
    }
}
