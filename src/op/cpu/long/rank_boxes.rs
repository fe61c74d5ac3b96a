//! [`rank_expectation`](crate::op::cpu::rank_expectation()) of long lists in O(M n log n), for results in `f32`: the
//! logarithm of a product over documents is a sum, for each of the `M` terms.

use std::ops::Range;

use super::boxes::{Constant, Span, Sum, results};
use super::choice::is_fast;
use super::convolution::{BELL_REACH, bell_is_smooth};
use super::walk::Sorted;
use crate::execution::Target;
use crate::op::cpu::{parameters::ExponentialTerm, ranks::beats::beats, real::Real};

/// Whether boxes cost less than the pairs of `rows` documents with all others. In very long lists both grow as the
/// list.
pub fn pays<T: Real>(target: Target, x: &[T], rows: usize) -> bool {
    const PAIRS: usize = 3584 * 3584;
    const ROWS: usize = 256;
    is_fast::<T>(target, x.len(), rows >= ROWS && rows * x.len() >= PAIRS)
}

/// Differences whose chances are taken at once.
pub(in crate::op::cpu) const CHUNK: usize = 8;

/// The width of a box over which the logarithms and the flows are known from its points. Where a small base takes over
/// from the chance of staying behind, they are singular at about a third of this unit off the real line.
pub(in crate::op::cpu) const WIDTH: f64 = 0.5;

/// `1 + pi (z - 1)` from the chance to beat and that not to.
#[inline(always)]
pub(in crate::op::cpu) fn factor<const FMA: bool>(base: f64, ahead: f64, behind: f64) -> f64 {
    if base >= 0.5 { ahead.fma::<FMA>(base - 1.0, 1.0) } else { ahead.fma::<FMA>(base, behind) }
}

/// The chances of `sign t - shift`, and `exp(-t^2)` of it, of up to [`CHUNK`] differences `t`.
#[inline(always)]
pub(in crate::op::cpu) fn chances<const FMA: bool>(t: &[f64], sign: f64, shift: f64) -> [[f64; CHUNK]; 3] {
    let mut chances = [[0.0; CHUNK]; 3];
    for (i, &t) in t.iter().enumerate().take(CHUNK) {
        let (ahead, behind, bell) = beats::<f64, FMA>(sign * t - shift);
        (chances[0][i], chances[1][i], chances[2][i]) = (ahead, behind, bell);
    }
    chances
}

/// The logarithms of the products over the documents.
struct Products<'a> {
    terms: &'a [ExponentialTerm],
    /// Logarithms of the bases: the functions of a document that beats another for certain.
    logarithms: Vec<f64>,
    /// From where on it does.
    certain: f64,
}

impl<'a> Products<'a> {
    fn new(terms: &'a [ExponentialTerm]) -> Self {
        let least = terms.iter().fold(1.0, |least: f64, term| least.min(term.base)).max(f64::MIN_POSITIVE);
        // The chance to stay behind is below exp(-t^2): 1e-9 of the smallest base.
        let certain = (20.8 - least.ln()).sqrt();
        Self { terms, logarithms: terms.iter().map(|term| term.base.max(f64::MIN_POSITIVE).ln()).collect(), certain }
    }
}

impl Sum for Products<'_> {
    fn weights(&self) -> usize {
        1
    }

    fn functions(&self) -> usize {
        self.terms.len()
    }

    fn sums(&self) -> usize {
        self.terms.len()
    }

    fn results(&self) -> usize {
        self.terms.len()
    }

    #[inline(always)]
    fn weigh(&self, _: Range<usize>, weights: &mut [f64]) {
        weights.fill(1.0);
    }

    #[inline(always)]
    fn evaluate<const FMA: bool>(&self, t: &[f64], values: &mut [f64]) {
        for (chunk, differences) in t.chunks(CHUNK).enumerate() {
            let [ahead, behind, _] = chances::<FMA>(differences, 1.0, 0.0);
            for (values, term) in values.chunks_exact_mut(t.len()).zip(self.terms) {
                let values = &mut values[chunk * CHUNK..];
                for ((value, &ahead), &behind) in values.iter_mut().zip(&ahead).zip(&behind) {
                    *value = factor::<FMA>(term.base, ahead, behind).larger(f64::MIN_POSITIVE).logarithm::<FMA>();
                }
            }
        }
    }

    #[inline(always)]
    fn add<const FMA: bool>(&self, values: &[f64], weight: impl Fn(usize) -> f64, sums: &mut [f64]) {
        let weight = weight(0);
        for (sum, &value) in sums.iter_mut().zip(values) {
            *sum = value.fma::<FMA>(weight, *sum);
        }
    }

    #[inline(always)]
    fn finish(&self, places: Range<usize>, sums: &[f64], results: &mut [f64]) {
        let count = self.terms.len();
        for (i, results) in results.chunks_exact_mut(count).take(places.len()).enumerate() {
            for (m, result) in results.iter_mut().enumerate() {
                *result = sums[m * (sums.len() / count) + i].exp();
            }
        }
    }

    /// A logarithm counts beside 0, and what a document adds to its own is of the size of one.
    fn subtracts_itself(&self) -> bool {
        true
    }

    fn smooth(&self, width: f64, span: Span) -> bool {
        width <= WIDTH && bell_is_smooth(width, (-span.low).max(0.0))
    }

    fn constant(&self, span: Span) -> Option<Constant<'_>> {
        /// Down to here the chance is below 3e-16.
        const HOPELESS: f64 = -5.7;
        if span.high <= HOPELESS {
            Some(Constant::Zero)
        } else {
            (span.low >= self.certain).then_some(Constant::Values(&self.logarithms))
        }
    }
}

/// The products of every term, `[documents, terms]`.
pub fn products<T: Real>(target: Target, x: &[T], sigma: f64, terms: &[ExponentialTerm]) -> Vec<T> {
    let sorted = Sorted::new(x);
    let products = results(target, &Products::new(terms), &sorted.scaled(0.5 / sigma));
    let mut out = vec![T::ZERO; products.len()];
    for (term, _) in terms.iter().enumerate() {
        let of_term = products.iter().skip(term).step_by(terms.len()).copied();
        sorted.scatter_strided(of_term, &mut out, term, terms.len());
    }
    out
}

/// What flows between documents in the gradient: `f_m(t) = exp(-t^2) / (1 + pi(t) (z_m - 1))` from a document to those
/// that it competes with, weighted by its products, and to itself.
struct Flows<'a> {
    terms: &'a [ExponentialTerm],
    /// `g_i c_m (z_m - 1) P_im` by descending score, `[documents, terms]`.
    sent: Vec<f64>,
    scale: f64,
}

impl Sum for Flows<'_> {
    /// Those of `sent`, and 1.
    fn weights(&self) -> usize {
        self.terms.len() + 1
    }

    /// Of `-t` and of `t`.
    fn functions(&self) -> usize {
        2 * self.terms.len()
    }

    /// What comes from others, and the flow to itself per term.
    fn sums(&self) -> usize {
        self.terms.len() + 1
    }

    fn results(&self) -> usize {
        1
    }

    #[inline(always)]
    fn weigh(&self, places: Range<usize>, weights: &mut [f64]) {
        let (count, n) = (self.terms.len(), places.len());
        weights[count * n..].fill(1.0);
        for (i, place) in places.enumerate() {
            for m in 0..count {
                weights[m * n + i] = self.sent[place * count + m];
            }
        }
    }

    #[inline(always)]
    fn evaluate<const FMA: bool>(&self, t: &[f64], values: &mut [f64]) {
        let (to_others, to_itself) = values.split_at_mut(self.terms.len() * t.len());
        for (chunk, differences) in t.chunks(CHUNK).enumerate() {
            let [ahead, behind, bell] = chances::<FMA>(differences, 1.0, 0.0);
            let rows = to_others.chunks_exact_mut(t.len()).zip(to_itself.chunks_exact_mut(t.len()));
            for ((others, itself), term) in rows.zip(self.terms) {
                let (others, itself) = (&mut others[chunk * CHUNK..], &mut itself[chunk * CHUNK..]);
                let values = others.iter_mut().zip(itself).zip(ahead.iter().zip(&behind).zip(&bell));
                for ((others, itself), ((&ahead, &behind), &bell)) in values {
                    let (own, other) =
                        (factor::<FMA>(term.base, ahead, behind), factor::<FMA>(term.base, behind, ahead));
                    let both = bell / (own * other);
                    (*others, *itself) = (both * own, both * other);
                }
            }
        }
    }

    #[inline(always)]
    fn add<const FMA: bool>(&self, values: &[f64], weight: impl Fn(usize) -> f64, sums: &mut [f64]) {
        let count = self.terms.len();
        let width = sums.len() / (count + 1);
        let (from_others, own) = sums.split_at_mut(width);
        let (to_others, to_itself) = values.split_at(count * width);
        for (m, values) in to_others.chunks_exact(width).enumerate() {
            let weight = weight(m);
            for (sum, &value) in from_others.iter_mut().zip(values) {
                *sum = value.fma::<FMA>(weight, *sum);
            }
        }
        let one = weight(count);
        for (sum, &value) in own.iter_mut().zip(to_itself) {
            *sum = value.fma::<FMA>(one, *sum);
        }
    }

    #[inline(always)]
    fn finish(&self, places: Range<usize>, sums: &[f64], results: &mut [f64]) {
        let count = self.terms.len();
        let (from_others, own) = sums.split_at(sums.len() / (count + 1));
        for (i, (place, result)) in places.zip(results).enumerate() {
            let sent = &self.sent[place * count..][..count];
            let to_itself: f64 = sent.iter().enumerate().map(|(m, sent)| sent * own[m * from_others.len() + i]).sum();
            *result = self.scale * (from_others[i] - to_itself);
        }
    }

    /// What flows to a document itself meets all documents of its box.
    fn subtracts_itself(&self) -> bool {
        true
    }

    fn smooth(&self, width: f64, span: Span) -> bool {
        width <= WIDTH && bell_is_smooth(width, span.farthest())
    }

    fn constant(&self, span: Span) -> Option<Constant<'_>> {
        (span.nearest() >= BELL_REACH).then_some(Constant::Zero)
    }
}

/// Gradient in `x`. `sent` is `g_i c_m (z_m - 1) P_im`, `[documents, terms]`.
pub fn gradient<T: Real>(target: Target, x: &[T], sent: &[f64], sigma: f64, terms: &[ExponentialTerm], to_x: &mut [T]) {
    let sorted = Sorted::new(x);
    let rows: Vec<&[f64]> = sent.chunks_exact(terms.len()).collect();
    let sent = sorted.gather(&rows).concat();
    let rate = 0.5 / sigma;
    let flows = Flows { terms, sent, scale: rate * 0.5 * std::f64::consts::FRAC_2_SQRT_PI };
    sorted.scatter(results(target, &flows, &sorted.scaled(rate)).into_iter(), to_x);
}

#[cfg(test)]
mod tests {
    use super::super::box_cases::{Errors, cases, gradient_weights, padded, sample};
    use super::*;
    use crate::op::cpu::ranks::rank_expectation::{rank_expectation, rank_expectation_gradient};

    const N: usize = 3600;

    /// Bases from those that only the first rank feels to those that the last one does.
    fn terms() -> Vec<ExponentialTerm> {
        [(0.3, 1e-9), (0.3, 0.0067), (0.2, 0.4), (0.1, 0.9), (0.06, 0.99), (0.04, 0.9999)]
            .map(|(coefficient, base)| ExponentialTerm { coefficient, base })
            .to_vec()
    }

    #[test]
    fn expectations_in_boxes_are_as_precise_as_single_precision_wherever_documents_stand() {
        let (g, mask, terms) = (gradient_weights(N), vec![1.0; N], terms());
        for (name, x, steepness) in cases(N) {
            let sigma = 0.5 / steepness;
            let (out, products) = rank_expectation(&x, &mask, None, N, sigma, &terms);
            let gradient = rank_expectation_gradient(&x, &mask, &products, &g, N, sigma, &terms);
            for i in sample(N) {
                let mut logarithms = vec![0.0; terms.len()];
                let mut slopes = Errors::default();
                for j in (0..N).filter(|&j| j != i) {
                    let t = steepness * (f64::from(x[j]) - f64::from(x[i]));
                    let (ahead, behind, bell) = beats::<f64, false>(t);
                    let density = steepness * 0.5 * std::f64::consts::FRAC_2_SQRT_PI * bell;
                    for (m, term) in terms.iter().enumerate() {
                        let z = term.base;
                        logarithms[m] +=
                            if ahead < 0.1 { (ahead * (z - 1.0)).ln_1p() } else { (behind + z * ahead).ln() };
                        let sent = |i: usize| {
                            f64::from(g[i]) * term.coefficient * (z - 1.0) * f64::from(products[i * terms.len() + m])
                        };
                        slopes.add(density * sent(j) / (ahead + z * behind));
                        slopes.add(-density * sent(i) / (behind + z * ahead));
                    }
                }
                let mut expectation = Errors::default();
                for (logarithm, term) in logarithms.iter().zip(&terms) {
                    expectation.add(term.coefficient * logarithm.exp());
                }
                let errors = [expectation.error(out[i]), slopes.error(gradient[i])];
                assert!(errors.iter().all(|error| *error < 1e-6), "{name}, {i}: {errors:?}");
            }
        }
    }

    #[test]
    fn padding_changes_no_bit() {
        let (_, x, _) = cases(N).swap_remove(0);
        let (mask, g, terms) = (vec![1.0; N], gradient_weights(N), terms());
        let run = |[x, mask, g]: [&[f32]; 3]| {
            let (out, products) = rank_expectation(x, mask, None, x.len(), 0.3, &terms);
            let gradient = rank_expectation_gradient(x, mask, &products, g, x.len(), 0.3, &terms);
            [out, gradient].map(|values| values[..N].to_vec())
        };
        let all = [&x, &mask, &g];
        let filled = all.map(|values| padded(values));
        assert_eq!(run(all.map(|values| values.as_slice())), run(filled.each_ref().map(|values| values.as_slice())));
    }
}
