//! Fits a completely monotone discount by a positive sum of exponentials, `D(1 + r) = sum_m c_m z_m^r`, for
//! `r = 0 .. n - 1`.
//!
//! By Bernstein's theorem, `1 / log2(2 + r)`, `1 / ln(2 + r)` and `(1 + r)^-beta` are Laplace transforms of positive
//! measures. The measure is fitted on a geometric grid of rates `t_m = -ln z_m` by non-negative least squares. The
//! weights are adjusted until the largest error is small. The non-negative coefficients add up to `D(1)`, so rounding
//! errors in float32 are not amplified by cancellation. Without the constraint, large coefficients of opposite sign
//! could cancel. The discount `2^-r` and a constant discount need only one term each and are fitted exactly.
//!
//! Each process searches once for each combination of discount, power of two above `n`, tolerance and precision. On one
//! core, a search with SoftRank's tolerances takes less than 0.1 s for up to 1000 documents. With 10^4 documents, a
//! search takes about 0.05 s in float32 and 0.25 s in float64. A search for 10^5 documents takes 0.2 s in float32 and 1
//! s in float64.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use burn::tensor::DType;

use crate::measure::Discount;
use crate::op::ExponentialTerm;

/// The largest number of exponentials in a fit.
const MAX_TERMS: usize = 48;
/// The search tries every grid of rates that starts at `low / n`, with `low` from this list, and ends at one of
/// [`HIGHEST_RATES`]. For a power discount with an exponent above 1, the last rate is multiplied by the exponent.
const LOWEST_RATES: [f64; 7] = [0.005, 0.02, 0.05, 0.1, 0.2, 0.4, 1.0];
const HIGHEST_RATES: [f64; 3] = [2.5, 4.0, 6.0];
/// For each number of terms, how many fits are measured at all ranks. These are the fits with the smallest errors at
/// the sampled ranks.
const MEASURED: usize = 3;
/// For a power discount with an exponent below this value, the grid also contains the rate 0.
const FLAT: f64 = 0.2;
/// How many times the least-squares fit is reweighted to reduce its largest error.
const REWEIGHTINGS: usize = 6;

/// A sum of exponentials that approximates a discount, with its measured errors.
#[derive(Debug, Clone, PartialEq)]
pub struct ExponentialFit {
    /// The terms, with positive coefficients and bases in (0, 1].
    pub terms: Vec<ExponentialTerm>,
    /// The fit covers the ranks `1 ..= length`.
    pub length: usize,
    /// The largest absolute error over the fitted ranks, in float64.
    pub error_f64: f64,
    /// The largest absolute error if the powers and their sum are computed in float32, as in a float32 loss.
    pub error_f32: f64,
}

impl ExponentialFit {
    /// Returns the largest absolute error for scores of the given type: float64, or float32 for any other type.
    pub fn error(&self, scores: DType) -> f64 {
        if scores == DType::F64 { self.error_f64 } else { self.error_f64.max(self.error_f32) }
    }
}

/// Approximates `discount` by the shortest sum of exponentials that the search finds with an error of at most
/// `tolerance`, or by the sum with the smallest error if none reaches it. The approximation is for lists of up to `n`
/// documents and scores of the given type. Returns `None` if the discount is not completely monotone.
///
/// The number of ranks that the fit covers is `n`, rounded up to a power of two, but at least 16. The result is cached
/// until the process ends, because it depends only on the arguments.
pub fn exponential_fit(discount: &Discount, n: usize, tolerance: f64, scores: DType) -> Option<Arc<ExponentialFit>> {
    /// The discount, the number of ranks, the bits of the tolerance, and whether scores are float64.
    type Key = (String, usize, u64, bool);
    static CACHE: OnceLock<Mutex<BTreeMap<Key, Arc<ExponentialFit>>>> = OnceLock::new();
    let cache = || CACHE.get_or_init(Mutex::default).lock().unwrap_or_else(PoisonError::into_inner);
    if !is_completely_monotone(discount) {
        return None;
    }
    let length = n.max(16).next_power_of_two();
    let key = (format!("{discount:?}"), length, tolerance.to_bits(), scores == DType::F64);
    if let Some(found) = cache().get(&key) {
        return Some(found.clone());
    }
    let found = Arc::new(fit_to(discount, length, tolerance, scores));
    cache().insert(key, found.clone());
    Some(found)
}

/// Returns whether [`exponential_fit`] can approximate the discount.
pub fn is_completely_monotone(discount: &Discount) -> bool {
    match discount {
        Discount::Log2 | Discount::Natural | Discount::Zipf | Discount::Exponential => true,
        Discount::Power { exponent } => exponent.is_finite() && *exponent >= 0.0,
        Discount::Letor | Discount::Table(_) => false,
    }
}

fn fit_to(discount: &Discount, length: usize, tolerance: f64, scores: DType) -> ExponentialFit {
    if let Some(term) = single_term(discount) {
        return measured(discount, vec![term], length);
    }
    // The measure of r^-beta is a gamma density around the rate beta; for a small beta nearly all of it lies at the
    // rate 0.
    let (scale, flat) = match discount {
        Discount::Power { exponent } => (exponent.max(1.0), *exponent < FLAT),
        _ => (1.0, false),
    };
    let ranks = sampled_ranks(length);
    let target: Vec<f64> = ranks.iter().map(|&r| discount.at(r + 1)).collect();
    // The error at the sampled ranks, and the terms.
    type Candidate = (f64, Vec<ExponentialTerm>);
    let mut best: Candidate = (f64::INFINITY, Vec::new());
    for terms in (8..=MAX_TERMS).step_by(2) {
        let grid = LOWEST_RATES.into_iter().flat_map(|low| HIGHEST_RATES.map(|high| (low, high)));
        let bases = |low: f64, high: f64| {
            let bases = geometric(low / length as f64, high * scale, terms);
            if flat { [vec![1.0], bases].concat() } else { bases }
        };
        let mut candidates: Vec<Candidate> =
            grid.map(|(low, high)| minimax(&ranks, &target, &bases(low, high))).collect();
        candidates.sort_by(|a, b| a.0.total_cmp(&b.0));
        for (_, terms) in candidates.iter().take_while(|candidate| candidate.0 <= tolerance).take(MEASURED) {
            let fit = measured(discount, terms.clone(), length);
            if fit.error(scores) <= tolerance {
                return fit;
            }
        }
        best = candidates.into_iter().chain([best]).min_by(|a, b| a.0.total_cmp(&b.0)).unwrap_or_default();
    }
    measured(discount, best.1, length)
}

fn single_term(discount: &Discount) -> Option<ExponentialTerm> {
    match discount {
        Discount::Exponential => Some(ExponentialTerm { coefficient: 0.5, base: 0.5 }),
        Discount::Power { exponent } if *exponent == 0.0 => Some(ExponentialTerm { coefficient: 1.0, base: 1.0 }),
        _ => None,
    }
}

/// Returns the bases `exp(-t)` for rates `t` in geometric progression, rounded to float32. A power of a base has up to
/// `n` factors. If the base were not exact in float32, each factor would have the same relative error. For `n = 10^4`,
/// these errors would change the discount by 1e-5.
fn geometric(low: f64, high: f64, count: usize) -> Vec<f64> {
    let ratio = (high / low).ln() / (count - 1) as f64;
    (0..count).map(|m| f64::from((-low * (ratio * m as f64).exp()).exp() as f32)).collect()
}

/// Returns the ranks, counted from 0, whose errors the fit minimizes. The list starts with consecutive ranks from 0 and
/// continues with ranks in geometric progression. The sum of exponentials is smooth, so its error between these ranks
/// is hardly larger than at the ranks themselves.
fn sampled_ranks(length: usize) -> Vec<usize> {
    let dense = length.min(24);
    let mut ranks: Vec<usize> = (0..dense).collect();
    let mut next = dense as f64;
    while (next as usize) < length - 1 {
        ranks.push(next as usize);
        next *= 1.08;
    }
    ranks.push(length - 1);
    ranks.dedup();
    ranks
}

/// Finds non-negative coefficients for the given bases by iteratively reweighted least squares, so that the largest
/// error at `ranks` is small. Returns the largest error and the resulting terms.
fn minimax(ranks: &[usize], target: &[f64], bases: &[f64]) -> (f64, Vec<ExponentialTerm>) {
    let powers: Vec<Vec<f64>> = bases.iter().map(|z| ranks.iter().map(|&r| z.powi(r as i32)).collect()).collect();
    let mut weights = vec![1.0; ranks.len()];
    let mut solution = vec![0.0; bases.len()];
    let mut best = (f64::INFINITY, solution.clone());
    for _ in 0..=REWEIGHTINGS {
        let weighted = |values: &[f64]| -> Vec<f64> {
            values.iter().zip(&weights).map(|(v, w): (&f64, &f64)| v * w.sqrt()).collect()
        };
        let columns: Vec<Vec<f64>> = powers.iter().map(|column| weighted(column)).collect();
        solution = nonnegative_least_squares(&columns, &weighted(target), solution);
        let errors: Vec<f64> = residual(&powers, target, &solution).into_iter().map(f64::abs).collect();
        let largest = errors.iter().copied().fold(0.0, f64::max);
        if largest < best.0 {
            best = (largest, solution.clone());
        }
        for (weight, error) in weights.iter_mut().zip(&errors) {
            *weight *= error / largest.max(f64::MIN_POSITIVE) + 1e-3;
        }
        let mean = weights.iter().sum::<f64>() / weights.len() as f64;
        weights.iter_mut().for_each(|weight| *weight /= mean);
    }
    let terms = bases.iter().zip(best.1).map(|(&base, coefficient)| ExponentialTerm { coefficient, base });
    (best.0, terms.filter(|term| term.coefficient > 0.0).collect())
}

/// Measures the errors of `terms` at every rank up to `length`.
fn measured(discount: &Discount, terms: Vec<ExponentialTerm>, length: usize) -> ExponentialFit {
    let mut wide: Vec<f64> = terms.iter().map(|t| t.coefficient).collect();
    let mut narrow = vec![1.0f32; terms.len()];
    let (mut error_f64, mut error_f32) = (0.0f64, 0.0f64);
    for rank in 1..=length {
        let exact = discount.at(rank);
        error_f64 = error_f64.max((wide.iter().sum::<f64>() - exact).abs());
        let sum: f32 = terms.iter().zip(&narrow).map(|(t, power)| t.coefficient as f32 * power).sum();
        error_f32 = error_f32.max((f64::from(sum) - exact).abs());
        for ((w, p), t) in wide.iter_mut().zip(&mut narrow).zip(&terms) {
            *w *= t.base;
            *p *= 1.0 + (t.base - 1.0) as f32;
        }
    }
    ExponentialFit { terms, length, error_f64, error_f32 }
}

/// Returns `target - columns x`.
fn residual(columns: &[Vec<f64>], target: &[f64], x: &[f64]) -> Vec<f64> {
    let mut out = target.to_vec();
    for (column, &c) in columns.iter().zip(x).filter(|(_, c)| **c != 0.0) {
        out.iter_mut().zip(column).for_each(|(o, v)| *o -= c * v);
    }
    out
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}

/// Returns `argmin |columns x - target|` for `x >= 0` by the active set method of Lawson and Hanson (Solving Least
/// Squares Problems, chapter 23), started from a feasible `x`.
fn nonnegative_least_squares(columns: &[Vec<f64>], target: &[f64], mut x: Vec<f64>) -> Vec<f64> {
    const NEGLIGIBLE: f64 = 1e-14;
    let norms: Vec<f64> = columns.iter().map(|c| dot(c, c).sqrt()).collect();
    let mut free: Vec<bool> = x.iter().map(|&v| v > 0.0).collect();
    let mut solve = free.contains(&true);
    for _ in 0..4 * columns.len() {
        if !solve {
            let r = residual(columns, target, &x);
            let gradient = |j: usize| dot(&columns[j], &r) / norms[j];
            let Some(entering) =
                (0..columns.len()).filter(|&j| !free[j]).max_by(|&i, &j| gradient(i).total_cmp(&gradient(j)))
            else {
                break;
            };
            if gradient(entering) <= NEGLIGIBLE {
                break;
            }
            free[entering] = true;
        }
        solve = false;
        loop {
            let chosen: Vec<usize> = (0..columns.len()).filter(|&j| free[j]).collect();
            let z = least_squares(chosen.iter().map(|&j| columns[j].clone()).collect(), target.to_vec());
            if z.iter().all(|&v| v > 0.0) {
                chosen.iter().zip(&z).for_each(|(&j, &v)| x[j] = v);
                break;
            }
            let blocking = chosen.iter().zip(&z).filter(|(_, v)| **v <= 0.0);
            let step = blocking.map(|(&j, &v)| if x[j] > v { x[j] / (x[j] - v) } else { 0.0 }).fold(1.0, f64::min);
            for (&j, &v) in chosen.iter().zip(&z) {
                x[j] += step * (v - x[j]);
                if x[j] <= f64::EPSILON {
                    x[j] = 0.0;
                    free[j] = false;
                }
            }
        }
    }
    x
}

/// Returns `argmin |columns x - target|` by Householder's QR factorization.
fn least_squares(mut columns: Vec<Vec<f64>>, mut target: Vec<f64>) -> Vec<f64> {
    let count = columns.len();
    let mut diagonal = vec![0.0; count];
    for j in 0..count {
        let (done, rest) = columns.split_at_mut(j + 1);
        let reflector = &mut done[j][j..];
        let norm = dot(reflector, reflector).sqrt();
        diagonal[j] = if reflector[0] > 0.0 { -norm } else { norm };
        reflector[0] -= diagonal[j];
        let squared = dot(reflector, reflector).max(f64::MIN_POSITIVE);
        for column in rest.iter_mut().map(|c| &mut c[j..]).chain(std::iter::once(&mut target[j..])) {
            let factor = 2.0 * dot(reflector, column) / squared;
            column.iter_mut().zip(reflector.iter()).for_each(|(c, v)| *c -= factor * v);
        }
    }
    let mut x = vec![0.0; count];
    for i in (0..count).rev() {
        let known: f64 = (i + 1..count).map(|j| columns[j][i] * x[j]).sum();
        x[i] = if diagonal[i] == 0.0 { 0.0 } else { (target[i] - known) / diagonal[i] };
    }
    x
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn least_squares_solves_a_worked_system() {
        // Points (0, 1), (1, 3), (2, 4): the line 7/6 + 3/2 t.
        let x = least_squares(vec![vec![1.0; 3], vec![0.0, 1.0, 2.0]], vec![1.0, 3.0, 4.0]);
        assert!((x[0] - 7.0 / 6.0).abs() < 1e-12 && (x[1] - 1.5).abs() < 1e-12, "{x:?}");
    }

    #[test]
    fn a_negative_coefficient_is_clipped_to_the_constrained_optimum() {
        // The unconstrained solution is (2, -1); with x >= 0 the best is (0.5, 0).
        let columns = vec![vec![1.0, 1.0], vec![1.0, 2.0]];
        let x = nonnegative_least_squares(&columns, &[1.0, 0.0], vec![0.0; 2]);
        assert!((x[0] - 0.5).abs() < 1e-12 && x[1] == 0.0, "{x:?}");
    }

    #[test]
    fn positive_terms_reach_the_stated_errors() {
        for discount in [Discount::Log2, Discount::Natural, Discount::Zipf, Discount::Power { exponent: 0.5 }] {
            for (n, most_terms, tolerance) in [(300, 16, 2e-6), (1000, 20, 2e-6), (10_000, 24, 1e-6), (1000, 30, 1e-8)]
            {
                let fit = exponential_fit(&discount, n, tolerance, DType::F64).unwrap();
                assert!(fit.length >= n && fit.error_f64 <= tolerance);
                assert!(fit.terms.len() <= most_terms, "{discount:?} {n}: {} terms", fit.terms.len());
                assert!(fit.terms.iter().all(|t| t.coefficient > 0.0 && t.base > 0.0 && t.base < 1.0));
                let total: f64 = fit.terms.iter().map(|t| t.coefficient).sum();
                assert!((total - discount.at(1)).abs() <= tolerance, "the coefficients add up to D(1): {total}");
            }
        }
    }

    #[test]
    fn one_term_is_exact_for_a_power_of_two_and_a_constant() {
        for discount in [Discount::Exponential, Discount::Power { exponent: 0.0 }] {
            let fit = exponential_fit(&discount, 100, 1e-15, DType::F64).unwrap();
            assert_eq!((fit.terms.len(), fit.error_f64), (1, 0.0));
        }
    }

    #[test]
    fn steep_and_flat_powers_are_fitted() {
        for exponent in [0.05, 0.3, 2.0, 5.0, 10.0] {
            let fit = exponential_fit(&Discount::Power { exponent }, 500, 1e-6, DType::F64).unwrap();
            assert!(fit.error_f64 <= 1e-6, "{exponent}: {}", fit.error_f64);
        }
    }

    #[test]
    fn nearly_constant_powers_are_fitted() {
        for exponent in [1e-6, 1e-3, 0.01, 0.1] {
            for (n, tolerance, scores) in [(100, 1e-8, DType::F64), (1000, 2e-6, DType::F32), (1000, 1e-8, DType::F64)]
            {
                let fit = exponential_fit(&Discount::Power { exponent }, n, tolerance, scores).unwrap();
                assert!(fit.error(scores) <= tolerance && fit.terms.len() <= 20, "{exponent}, {n}: {fit:?}");
            }
        }
    }

    #[test]
    fn errors_are_measured_at_every_rank() {
        let fit = exponential_fit(&Discount::Log2, 1000, 1e-8, DType::F64).unwrap();
        let error = |rank: usize| {
            let power = |term: &ExponentialTerm| term.coefficient * term.base.powi(rank as i32 - 1);
            (fit.terms.iter().map(power).sum::<f64>() - Discount::Log2.at(rank)).abs()
        };
        let largest = (1..=fit.length).map(error).fold(0.0, f64::max);
        assert!((largest - fit.error_f64).abs() < 1e-13, "{largest} {}", fit.error_f64);
    }

    #[test]
    fn a_search_is_kept_whether_it_reaches_its_tolerance_or_not() {
        for tolerance in [1e-6, 1e-17] {
            let search = || exponential_fit(&Discount::Log2, 1000, tolerance, DType::F64).unwrap();
            assert!(Arc::ptr_eq(&search(), &search()));
        }
    }

    #[test]
    fn discounts_that_cannot_be_fitted_have_no_fit_and_tolerances_the_closest() {
        for discount in [Discount::Letor, Discount::Table(vec![1.0]), Discount::Power { exponent: -1.0 }] {
            assert_eq!(exponential_fit(&discount, 10, 1e-6, DType::F32), None);
        }
        let closest = exponential_fit(&Discount::Log2, 10, 0.0, DType::F64).unwrap();
        assert!(closest.error_f64 > 0.0 && closest.error_f64 < 1e-10, "{}", closest.error_f64);
    }
}
