//! The distribution of the studentized range. The studentized range is the range of k standard normal variables,
//! divided by an independent estimate of their standard deviation with v degrees of freedom.
//!
//! The distribution function is `P(Q <= q) = int f_v(s) x W_k(q s) ds`. In this formula, `W_k(w)` is
//! `k int phi(z) (Phi(z) - Phi(z - w))^(k - 1) dz`, and `f_v` is the density of `sqrt(chi^2_v / v)`. The two integrals
//! are computed by Gauss-Legendre quadrature on panels. The absolute error of the distribution is about 1e-12, as
//! checked against SciPy.

use statrs::function::erf::erfc;
use statrs::function::gamma::ln_gamma;

use crate::quadrature::gauss_legendre;

/// The number of quadrature nodes per panel.
const NODES: usize = 16;
/// The number of panels per interval.
const PANELS: usize = 24;
/// The distance from 0 beyond which the normal density is negligible.
const NORMAL_REACH: f64 = 8.5;
/// The distance from 1, in standard deviations of the scale, beyond which the density of the scale is negligible.
const SCALE_REACH: f64 = 12.0;

/// Returns `P(Q > q)` for the studentized range of `groups` means (2 or more) with `freedom` degrees of freedom (above
/// 0).
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
    let scales = panels(&nodes, (1.0 - spread).max(0.0), 1.0 + spread);
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
    use statrs::distribution::{ContinuousCDF, StudentsT};

    use super::*;

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
            for q in [0.3, 1.0, 3.0, 6.0] {
                let expected = 2.0 * student.sf(q / std::f64::consts::SQRT_2);
                assert!((studentized_range_survival(q, 2, freedom) - expected).abs() < 1e-10, "{q} {freedom}");
            }
        }
    }
}
