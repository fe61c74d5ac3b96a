//! Computes [`indicator_sum`](crate::op::cpu::indicator_sum()) of long lists in O(n log n), for results in `f32`.

use super::convolution::{Bell, Convolution, Pull};
use super::walk::Sorted;
use crate::execution::Target;
use crate::op::cpu::dispatch::is_fast;

/// Returns whether grouping documents into boxes is faster than computing all pairs.
pub fn is_faster(target: Target, documents: usize) -> bool {
    const DOCUMENTS: usize = 2048;
    is_fast(target, documents, documents >= DOCUMENTS)
}

/// Computes the softmax sums and their denominators.
pub fn value(target: Target, [x, a]: [&[f32]; 2], sigma: f64, [out, total]: [&mut [f32]; 2]) {
    let sorted = Sorted::new(x);
    let a = sorted.gather_exact(a);
    let sums = Convolution::<Bell, 2>::new([&a, &vec![1.0; x.len()]]).sums(target, &sorted.scaled(1.0 / sigma.sqrt()));
    // A document is a member of the softmax around its score, with the largest share.
    sorted.scatter(a.iter().zip(&sums).map(|(a, [of_a, of_all])| (a + of_a) / (1.0 + of_all)), out);
    sorted.scatter(sums.iter().map(|[_, of_all]| 1.0 + of_all), total);
}

/// Computes the gradient of [`value`] with respect to `x`. `out` holds the softmax sums of the forward pass. `q` holds
/// the incoming gradient divided by the denominators.
pub fn gradient(target: Target, [x, a, out, q]: [&[f32]; 4], sigma: f64, to_x: &mut [f32]) {
    let sorted = Sorted::new(x);
    let [a, out, q] = [a, out, q].map(|values| sorted.gather_exact(values));
    let sent: Vec<f64> = q.iter().zip(&out).map(|(q, out)| q * out).collect();
    let rate = 1.0 / sigma.sqrt();
    let sums = Convolution::<Pull, 4>::new([&a, &vec![1.0; x.len()], &q, &sent]).sums(target, &sorted.scaled(rate));
    let flow = |(place, [of_a, of_all, of_q, of_sent]): (usize, [f64; 4])| {
        2.0 * rate * (q[place] * (of_a - out[place] * of_all) + a[place] * of_q - of_sent)
    };
    sorted.scatter(sums.into_iter().enumerate().map(flow), to_x);
}

#[cfg(test)]
mod tests {
    use super::super::box_cases::{Errors, cases, gradient_weights, padded, sample};
    use crate::op::cpu::pairs::indicator_sum::{indicator_sum, indicator_sum_gradient};

    const N: usize = 2100;

    #[test]
    fn indicators_in_boxes_are_as_precise_as_single_precision_wherever_documents_stand() {
        let (g, mask) = (gradient_weights(N), vec![1.0; N]);
        let a: Vec<f32> = (0..N).map(|i| if i % 3 == 1 { (i % 7) as f32 } else { 0.0 }).collect();
        for (name, x, steepness) in cases(N) {
            let sigma = 1.0 / (steepness * steepness);
            let [out, total] = indicator_sum([&x, &a, &mask], N, sigma);
            let gradient = indicator_sum_gradient([&x, &a, &mask], [&out, &total], &g, N, sigma);
            let wide = |values: &[f32]| values.iter().copied().map(f64::from).collect::<Vec<f64>>();
            let (x, a, g, sums, totals) = (wide(&x), wide(&a), wide(&g), wide(&out), wide(&total));
            for i in sample(N) {
                let [mut of_a, mut of_all, mut slopes] = [(); 3].map(|()| Errors::default());
                for j in 0..N {
                    let d = x[j] - x[i];
                    let kernel = (-d * d / sigma).exp();
                    of_a.add(kernel * a[j] / totals[i]);
                    of_all.add(kernel);
                    let pull = 2.0 / sigma * kernel * d;
                    slopes.add(pull * g[i] / totals[i] * (a[j] - sums[i]));
                    slopes.add(pull * g[j] / totals[j] * (a[i] - sums[j]));
                }
                let errors = [of_a.error(out[i]), of_all.error(total[i]), slopes.error(gradient[i])];
                assert!(errors.iter().all(|error| *error < 2e-6), "{name}, {i}: {errors:?}");
            }
        }
    }

    #[test]
    fn padding_changes_no_bit() {
        let (_, x, _) = cases(N).swap_remove(0);
        let (a, mask, g) = (gradient_weights(N), vec![1.0; N], gradient_weights(N));
        let run = |[x, a, mask, g]: [&[f32]; 4]| {
            let [out, total] = indicator_sum([x, a, mask], x.len(), 0.3);
            let gradient = indicator_sum_gradient([x, a, mask], [&out, &total], g, x.len(), 0.3);
            [out, gradient].map(|values| values[..N].to_vec())
        };
        let all = [&x, &a, &mask, &g];
        let filled = all.map(|values| padded(values));
        assert_eq!(run(all.map(|values| values.as_slice())), run(filled.each_ref().map(|values| values.as_slice())));
    }
}
