//! Computes [`step_sum`](crate::op::cpu::step_sum()) with the erf and arctan steps for long lists. The computation
//! takes O(n log n) time and gives results in `f32`.

use super::boxes::{Constant, Span, sums_at};
use super::convolution::{BELL_REACH, Bell, Convolution, Function, bell_is_smooth};
use super::walk::Sorted;
use crate::execution::Target;
use crate::op::cpu::{dispatch::is_fast, parameters::Step, ranks::trial::beats, real::Real};

/// Returns whether grouping documents into boxes is faster than computing all pairs, given the number of pairs per
/// document.
pub fn is_faster(target: Target, pairs_per_document: usize) -> bool {
    const PAIRS: usize = 1024;
    is_fast(target, pairs_per_document, pairs_per_document >= PAIRS)
}

/// The erf step, `(1 + erf t) / 2`.
struct Erf;

impl Function for Erf {
    #[inline(always)]
    fn value<const FMA: bool>(t: f64) -> f64 {
        beats::<f64, FMA>(t).0
    }

    fn smooth(width: f64, span: Span) -> bool {
        bell_is_smooth(width, (-span.low).max(0.0))
    }

    fn constant(span: Span) -> Option<Constant<'static>> {
        /// The argument above which the step equals 1 to within 1e-10.
        const ONE: f64 = 4.6;
        match span {
            Span { high, .. } if high <= -BELL_REACH => Some(Constant::Zero),
            Span { low, .. } if low >= ONE => Some(Constant::Values(&[1.0])),
            _ => None,
        }
    }
}

/// The arctan step, `1/2 + arctan(t) / pi`.
struct Arctan;

impl Function for Arctan {
    #[inline(always)]
    fn value<const FMA: bool>(t: f64) -> f64 {
        // Beyond 1 the reciprocal is used, so the tail keeps its precision.
        if t < -1.0 {
            (-1.0 / t).atan() * std::f64::consts::FRAC_1_PI
        } else {
            t.atan().fma::<FMA>(std::f64::consts::FRAC_1_PI, 0.5)
        }
    }

    /// Returns whether the Chebyshev points of a box of this width can represent its documents. The step has
    /// singularities at `+-i`, and its tail decays like `1 / t`.
    fn smooth(width: f64, span: Span) -> bool {
        width <= 1.25 || width <= 2.0 * span.nearest()
    }
}

/// The function `1 / (1 + t^2)`, which is pi times the slope of [`Arctan`].
struct Lorentz;

impl Function for Lorentz {
    #[inline(always)]
    fn value<const FMA: bool>(t: f64) -> f64 {
        1.0 / t.fma::<FMA>(t, 1.0)
    }

    fn smooth(width: f64, span: Span) -> bool {
        Arctan::smooth(width, span)
    }
}

/// Computes the step sum of every document. Documents with `v = 0` are not sources, so padding does not change the
/// results.
fn sums<F: Function>(target: Target, [x, v]: [&[f32]; 2], alpha: f64, out: &mut [f32]) {
    let (adding, silent): (Vec<usize>, Vec<usize>) = (0..x.len()).partition(|&i| v[i] != 0.0);
    let sorted = Sorted::of(x, adding.into_iter());
    let (sources, weights) = (sorted.scaled(alpha), sorted.gather_exact(v));
    let sum = Convolution::<F, 1>::new([&weights]);
    let of_others = sum.sums(target, &sources);
    sorted.scatter(weights.iter().zip(of_others).map(|(v, [of_others])| 0.5 * v + of_others), out);
    let y: Vec<f64> = silent.iter().map(|&i| x[i].to_f64() * alpha).collect();
    for (i, sum) in silent.into_iter().zip(sums_at(target, &sum, &sources, &y)) {
        out[i] = sum as f32;
    }
}

/// Computes the gradient of [`sums`] with respect to the scores. `Slope` is the slope of the step, divided by `scale`.
fn flows<Slope: Function>(target: Target, [x, v, g]: [&[f32]; 3], (alpha, scale): (f64, f64), to_x: &mut [f32]) {
    let sorted = Sorted::of(x, (0..x.len()).filter(|&i| v[i] != 0.0 || g[i] != 0.0));
    let [v, g] = [v, g].map(|values| sorted.gather_exact(values));
    let sums = Convolution::<Slope, 2>::new([&v, &g]).sums(target, &sorted.scaled(alpha));
    let slope = |((v, g), [of_v, of_g]): ((&f64, &f64), [f64; 2])| alpha * scale * (v * of_g - g * of_v);
    sorted.scatter(v.iter().zip(&g).zip(sums).map(slope), to_x);
}

/// Computes the erf or arctan step sum of every document.
pub fn value(target: Target, inputs: [&[f32]; 2], alpha: f64, step: Step, out: &mut [f32]) {
    if step == Step::Arctan {
        sums::<Arctan>(target, inputs, alpha, out);
    } else {
        sums::<Erf>(target, inputs, alpha, out);
    }
}

/// Computes the gradient of [`value`] with respect to the scores.
pub fn gradient(target: Target, inputs: [&[f32]; 3], alpha: f64, step: Step, to_x: &mut [f32]) {
    if step == Step::Arctan {
        flows::<Lorentz>(target, inputs, (alpha, std::f64::consts::FRAC_1_PI), to_x);
    } else {
        flows::<Bell>(target, inputs, (alpha, 0.5 * std::f64::consts::FRAC_2_SQRT_PI), to_x);
    }
}

#[cfg(test)]
mod tests {
    use super::super::box_cases::{Errors, cases, gradient_weights, padded, sample};
    use crate::op::cpu::{
        pairs::step_sum::{step_sum, step_sum_gradient},
        parameters::Step,
    };

    const N: usize = 2000;

    fn pair(step: Step, t: f64) -> (f64, f64) {
        use crate::op::cpu::ranks::trial::beats;
        use std::f64::consts::{FRAC_1_PI, FRAC_2_SQRT_PI};
        if step == Step::Erf {
            let (value, _, bell) = beats::<f64, false>(t);
            return (value, 0.5 * FRAC_2_SQRT_PI * bell);
        }
        let value = if t < -1.0 { -(1.0 / t).atan() * FRAC_1_PI } else { 0.5 + t.atan() * FRAC_1_PI };
        (value, FRAC_1_PI / (1.0 + t * t))
    }

    #[test]
    fn steps_in_boxes_are_as_precise_as_single_precision_wherever_documents_stand() {
        let g = gradient_weights(N);
        for (name, x, alpha) in cases(N) {
            for step in [Step::Erf, Step::Arctan] {
                let v: Vec<f32> = (0..N).map(|i| if i % 3 == 1 { 0.0 } else { (1 + i % 5) as f32 }).collect();
                let value = step_sum(&x, &v, None, N, alpha, step);
                let gradient = step_sum_gradient(&x, &v, &g, N, alpha, step);
                for i in sample(N) {
                    let (mut sum, mut slopes) = (Errors::default(), Errors::default());
                    for j in 0..N {
                        let (of_pair, slope) = pair(step, alpha * (f64::from(x[j]) - f64::from(x[i])));
                        sum.add(f64::from(v[j]) * of_pair);
                        let exchange = f64::from(v[i]) * f64::from(g[j]) - f64::from(g[i]) * f64::from(v[j]);
                        slopes.add(alpha * slope * exchange);
                    }
                    let errors = [sum.error(value[i]), slopes.error(gradient[i])];
                    assert!(errors.iter().all(|error| *error < 5e-7), "{name}, {step:?}, {i}: {errors:?}");
                }
            }
        }
    }

    #[test]
    fn padding_and_threads_change_no_bit_of_boxes() {
        let n = 2500;
        let (_, x, _) = cases(n).swap_remove(0);
        let v: Vec<f32> = (0..n).map(|i| if i % 4 == 3 { 0.0 } else { 1.0 }).collect();
        let g = gradient_weights(n);
        let [padded_x, padded_v, padded_g] = [&x, &v, &g].map(|values| padded(values));
        for step in [Step::Erf, Step::Arctan] {
            let value = step_sum(&x, &v, None, n, 2.0, step);
            let gradient = step_sum_gradient(&x, &v, &g, n, 2.0, step);
            let length = padded_x.len();
            assert_eq!(value, step_sum(&padded_x, &padded_v, None, length, 2.0, step)[..n]);
            assert_eq!(gradient, step_sum_gradient(&padded_x, &padded_v, &padded_g, length, 2.0, step)[..n]);
            for threads in [1, 3] {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
                pool.install(|| {
                    assert_eq!(value, step_sum(&x, &v, None, n, 2.0, step));
                    assert_eq!(gradient, step_sum_gradient(&x, &v, &g, n, 2.0, step));
                });
            }
        }
    }
}
