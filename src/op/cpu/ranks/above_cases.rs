//! Test cases for expectations over the documents above, and a definition in double precision with which to check the
//! fast kernels.

use super::trial::beats;
use crate::op::cpu::{
    long::box_cases::{Errors, sample},
    parameters::{Above, Comparison, ExponentialTerm},
};

/// Returns terms with small and large bases; a small base matters only at the first ranks, and a large base at all
/// ranks.
pub fn terms() -> Vec<ExponentialTerm> {
    [(0.4, 1e-9), (0.3, 0.0067), (0.2, 0.6), (0.1, 0.9999)]
        .map(|(coefficient, base)| ExponentialTerm { coefficient, base })
        .to_vec()
}

/// Returns cases `(above, a, b)` for lists of `n` documents: only ranks, a sum, and two products.
pub fn kinds(n: usize) -> [(Above, Vec<f32>, Vec<f32>); 4] {
    let every = |of: &dyn Fn(usize) -> f32| (0..n).map(of).collect::<Vec<_>>();
    let relevant = every(&|i| f32::from(u8::from(i % 3 == 0)));
    let stops = every(&|i| [0.0, 0.0625, 0.4375, 0.9375][i * 7 % 4]);
    [
        // The values of `b` are not read.
        (Above::Nothing, stops.clone(), every(&|i| i as f32)),
        (Above::Sum, relevant.clone(), every(&|i| f32::from(u8::from(i % 3 == 0)) * (i % 5) as f32)),
        (Above::Product, relevant.clone(), relevant),
        (Above::Product, stops.clone(), stops),
    ]
}

/// The definition of the expectations of one list, computed in double precision.
pub struct Definition {
    pub x: Vec<f64>,
    pub a: Vec<f64>,
    pub b: Vec<f64>,
    pub above: Above,
    /// The comparisons, each with its weight.
    pub mixture: Vec<(f64, Comparison)>,
    /// Errors are measured relative to the exact result, or to this number if the result is smaller.
    pub least: f64,
}

impl Definition {
    fn pass(&self, j: usize) -> f64 {
        if self.above == Above::Product { 1.0 - self.b[j] } else { 1.0 }
    }

    /// Returns the product of the factors of the other documents and, for a sum, the share of each document above.
    fn products(&self, i: usize, comparison: Comparison, z: f64) -> (f64, Vec<f64>) {
        let (mut logarithm, mut shares) = (0.0, Vec::new());
        for j in (0..self.x.len()).filter(|&j| j != i) {
            let (ahead, behind, _) = beats::<f64, false>(comparison.rate * (self.x[j] - self.x[i]) - comparison.shift);
            let base = z * self.pass(j);
            logarithm += if ahead < 0.1 { (ahead * (base - 1.0)).ln_1p() } else { (behind + base * ahead).ln() };
            if self.above == Above::Sum {
                shares.push(self.b[j] * ahead * z / (behind + z * ahead));
            }
        }
        (logarithm.exp(), shares)
    }

    /// Checks the values and gradients of about 20 documents. If an error is too large, panics with a message that
    /// begins with `name`.
    pub fn check(&self, name: &str, g: &[f32], out: &[f32], gradient: &[f32]) {
        let (n, is_sum) = (self.x.len(), self.above == Above::Sum);
        let indices: Vec<usize> = sample(n).collect();
        let mut errors: Vec<[Errors; 2]> =
            indices.iter().map(|_| [0; 2].map(|_| Errors::of_at_least(self.least))).collect();
        for &(weight, comparison) in &self.mixture {
            for term in &terms() {
                let found: Vec<_> = (0..n).map(|i| self.products(i, comparison, term.base)).collect();
                let slope = |i: usize, j: usize| {
                    let (ahead, behind, bell) =
                        beats::<f64, false>(comparison.rate * (self.x[j] - self.x[i]) - comparison.shift);
                    let base = term.base * self.pass(j);
                    let factor = behind + base * ahead;
                    let (product, shares) = &found[i];
                    let inner = match is_sum {
                        true => (base - 1.0) * (self.b[i] + shares.iter().sum::<f64>()) + self.b[j] * base / factor,
                        false => base - 1.0,
                    };
                    let density = comparison.rate * 0.5 * std::f64::consts::FRAC_2_SQRT_PI * bell;
                    let sent = f64::from(g[i]) * self.a[i] * weight * term.coefficient * product;
                    if sent * density == 0.0 { 0.0 } else { sent * density * inner / factor }
                };
                for (&i, [value, slopes]) in indices.iter().zip(&mut errors) {
                    let (product, shares) = &found[i];
                    let factor = self.a[i] * weight * term.coefficient * product;
                    value.add(factor * if is_sum { self.b[i] } else { 1.0 });
                    shares.iter().for_each(|share| value.add(factor * share));
                    for j in (0..n).filter(|&j| j != i) {
                        slopes.add(slope(j, i));
                        slopes.add(-slope(i, j));
                    }
                }
            }
        }
        for (&i, [value, slopes]) in indices.iter().zip(&errors) {
            let errors = [value.error(out[i]), slopes.error(gradient[i])];
            assert!(errors.iter().all(|error| *error < 2e-6), "{name}, {i}: {errors:?}");
        }
    }
}
