//! Computes [`step_sum`](crate::op::cpu::step_sum()) with the logistic and Laplace steps for long lists. The
//! computation takes O(n log n) time and gives results in `f32`.

use super::walk::{Decaying, Side, Sorted, Sums, Walker, add_value};
use crate::execution::Target;
use crate::op::cpu::{dispatch::is_fast, parameters::Step, real::Real};

/// Returns whether a walk along the sorted list costs less than computing all pairs, given the number of pairs per
/// document.
pub fn is_faster(target: Target, pairs_per_document: usize) -> bool {
    const PAIRS: usize = 384;
    is_fast(target, pairs_per_document, pairs_per_document >= PAIRS)
}

/// Returns the logistic or Laplace step at `-|t|`, divided by `u = exp(-|t|)`.
fn tail(step: Step, u: f64) -> f64 {
    if step == Step::Laplace { 0.5 } else { 1.0 / (1.0 + u) }
}

/// Returns the slope of the step at `|t|` and at `-|t|`, divided by `u = exp(-|t|)`.
fn slope(step: Step, u: f64) -> f64 {
    if step == Step::Laplace { 0.5 } else { 1.0 / ((1.0 + u) * (1.0 + u)) }
}

/// A walk that sums `f(t)` times each of the `K` values of the documents. The closure `finish(place, sums)` turns the
/// `K` sums at a document into its result.
struct Values<'a, Finish, const K: usize> {
    values: &'a [Vec<f32>; K],
    function: Decaying,
    finish: Finish,
}

impl<Finish, const K: usize> Walker for Values<'_, Finish, K>
where
    Finish: Fn(usize, [f64; K]) -> f64 + Sync,
{
    type State = [Sums; K];

    fn empty(&self) -> [Sums; K] {
        [Sums::default(); K]
    }

    #[inline(always)]
    fn adds(&self, place: usize) -> bool {
        self.values.iter().any(|values| values[place] != 0.0)
    }

    #[inline(always)]
    fn add(&self, place: usize, sums: &mut [Sums]) {
        for (sums, values) in sums.iter_mut().zip(self.values) {
            add_value(sums, values[place].to_f64());
        }
    }

    #[inline(always)]
    fn read<const FMA: bool>(&self, place: usize, sums: &[Sums]) -> f64 {
        // A loop, not `array::from_fn`, which is compiled without the instructions of the walk.
        let mut of_values = [0.0; K];
        for (of_values, sums) in of_values.iter_mut().zip(sums) {
            *of_values = self.function.of::<FMA>(sums);
        }
        (self.finish)(place, of_values)
    }
}

/// Computes the step sum of every document by two walks. Let `psi` be the step at `-|t|`. A document behind the current
/// document adds `v psi` to its sum, and a document ahead of it adds `v (1 - psi)`. The step must be logistic or
/// Laplace.
pub fn value(target: Target, [x, v]: [&[f32]; 2], alpha: f64, step: Step, out: &mut [f32]) {
    let sorted = Sorted::new(x);
    let behind = Decaying::new(|u| tail(step, u));
    let ahead = Decaying::new(|u| -tail(step, u)).with_line(1.0, 0.0);
    let values = [sorted.gather(v)];
    let mut walker = Values { values: &values, function: ahead, finish: |_, [sum]: [f64; 1]| sum };
    let ahead = sorted.walk(target, Side::Ahead, alpha, &walker);
    walker.function = behind;
    let behind = sorted.walk(target, Side::Behind, alpha, &walker);
    let sums = ahead.iter().zip(behind).zip(&values[0]);
    sorted.scatter(sums.map(|((ahead, behind), v)| ahead + behind + 0.5 * v.to_f64()), out);
}

/// Computes the gradient of [`value`] with respect to the scores.
pub fn gradient(target: Target, [x, v, g]: [&[f32]; 3], alpha: f64, step: Step, to_x: &mut [f32]) {
    let sorted = Sorted::new(x);
    let values = [v, g].map(|values| sorted.gather(values));
    let [v, g] = &values;
    let finish = |place: usize, [of_v, of_g]: [f64; 2]| v[place].to_f64() * of_g - g[place].to_f64() * of_v;
    let walker = Values { values: &values, function: Decaying::new(|u| slope(step, u)), finish };
    let [ahead, behind] = [Side::Ahead, Side::Behind].map(|side| sorted.walk(target, side, alpha, &walker));
    sorted.scatter(ahead.iter().zip(behind).map(|(ahead, behind)| alpha * (ahead + behind)), to_x);
}

#[cfg(test)]
mod tests {
    use super::Step;
    use crate::op::cpu::box_cases::scattered;
    use crate::op::cpu::pairs::step_sum::{step_sum, step_sum_gradient};

    /// Returns the largest errors of the value and the gradient. They are relative to the value and to the largest term
    /// of the gradient, respectively. The documents have the scores `x`, the weights `v` and the gradients `g`, all of
    /// which must be exactly representable in `f32`.
    fn errors(x: &[f32], v: &[f32], g: &[f32], alpha: f64, step: Step) -> [f64; 2] {
        let n = x.len();
        let (value, gradient) = (step_sum(x, v, None, n, alpha, step), step_sum_gradient(x, v, g, n, alpha, step));
        let wide = |values: &[f32]| values.iter().copied().map(f64::from).collect::<Vec<_>>();
        let (x, v, g) = (wide(x), wide(v), wide(g));
        let mut largest = [0.0f64; 2];
        for i in (0..n).step_by(37).chain([n - 1]) {
            let (mut sum, mut slope_sum, mut largest_term) = (0.0, 0.0, 0.0f64);
            for j in 0..n {
                let u = (-(alpha * (x[j] - x[i])).abs()).exp();
                let (tail, slope) =
                    if step == Step::Laplace { (u / 2.0, u / 2.0) } else { (u / (1.0 + u), u / (1.0 + u).powi(2)) };
                sum += v[j] * if x[j] > x[i] { 1.0 - tail } else { tail };
                let term = alpha * slope * (v[i] * g[j] - g[i] * v[j]);
                slope_sum += term;
                largest_term = largest_term.max(term.abs());
            }
            let scale = largest_term.max(slope_sum.abs()).max(1e-30);
            largest[0] = largest[0].max((f64::from(value[i]) - sum).abs() / sum.max(1e-30));
            largest[1] = largest[1].max((f64::from(gradient[i]) - slope_sum).abs() / scale);
        }
        largest
    }

    #[test]
    fn walks_are_as_precise_as_single_precision_wherever_documents_stand() {
        let n = 2000;
        let uniform: Vec<f32> = scattered(n, 2003).map(|x| x as f32 / 2003.0).collect();
        let at =
            |f: &dyn Fn(usize, f32) -> f32| -> Vec<f32> { uniform.iter().enumerate().map(|(i, &u)| f(i, u)).collect() };
        let g = at(&|i, u| ((i * 31) % 17) as f32 / 8.0 - u);
        let mut scores = vec![
            ("spread", at(&|_, u| 60.0 * u)),
            ("at one point", at(&|_, _| 0.75)),
            ("over 1e8", at(&|_, u| 1e8 * u)),
            ("tied", at(&|_, u| (8.0 * u).floor())),
            ("within 1e-6", at(&|_, u| 1e-6 * u)),
        ];
        for distance in [1.0, 3.0, 8.0, 14.0, 30.0] {
            scores.push(("one above a cluster", at(&|i, u| if i == 0 { distance } else { 1e-3 * u })));
            scores.push(("one below a cluster", at(&|i, u| if i == 0 { -distance } else { 1e-3 * u })));
        }
        let all = vec![1.0; n];
        let some = at(&|i, _| if i % 3 == 1 { 2.0 } else { 0.0 });
        for (name, x) in scores {
            for (weights, v) in [("all", &all), ("some", &some)] {
                for step in [Step::Logistic, Step::Laplace] {
                    let [value, gradient] = errors(&x, v, &g, 1.0, step);
                    assert!(value < 3e-7 && gradient < 1e-6, "{step:?}, {name}, {weights}: {value:e} {gradient:e}");
                }
            }
        }
    }

    #[test]
    fn padding_changes_no_bit_of_a_walk() {
        let n = 700;
        let x: Vec<f32> = scattered(n, 1009).map(|x| x as f32 / 100.0).collect();
        let v: Vec<f32> = (0..n).map(|i| if i % 4 == 3 { 0.0 } else { 1.0 }).collect();
        let g: Vec<f32> = (0..n).map(|i| ((i * 31) % 17) as f32 - 8.0).collect();
        let padded = |values: &[f32]| [values, &[0.0; 300]].concat();
        let (padded_x, padded_v, padded_g) = (padded(&x), padded(&v), padded(&g));
        let value = step_sum(&x, &v, None, n, 2.0, Step::Logistic);
        assert_eq!(value, step_sum(&padded_x, &padded_v, None, n + 300, 2.0, Step::Logistic)[..n]);
        let gradient = step_sum_gradient(&x, &v, &g, n, 2.0, Step::Logistic);
        let of_padded = step_sum_gradient(&padded_x, &padded_v, &padded_g, n + 300, 2.0, Step::Logistic);
        assert_eq!(gradient, of_padded[..n]);
    }
}
