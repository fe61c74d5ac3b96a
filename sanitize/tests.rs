//! Every kernel with all instructions found, on lists of every length that ends a vector, a tile or a block, and one
//! beside it; and, in single precision, on a list that is long enough for every walk and box.

use crate::execution::{Instructions, enter};
use crate::op::cpu::*;

const LENGTHS: [usize; 17] = [1, 2, 3, 15, 16, 17, 31, 33, 127, 128, 129, 255, 256, 257, 300, 1000, 1025];

/// Double precision visits pairs at any length.
const LONG: usize = 3100;

/// One batch of lists of `n` documents, the last `padding` of each padded.
struct Batch<T> {
    n: usize,
    x: Vec<T>,
    labels: Vec<T>,
    g: Vec<T>,
    mask: Vec<T>,
}

impl<T: Real> Batch<T> {
    fn new(n: usize, lists: usize, padding: usize) -> Self {
        let mut state = 7u64;
        let mut draw = |of: fn(f64) -> f64| -> Vec<T> {
            let mut next = || {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                (state >> 40) as f64 / (1u64 << 24) as f64
            };
            (0..n * lists).map(|_| T::from_f64(of(next()))).collect()
        };
        Self {
            n,
            x: draw(|u| 8.0 * u - 4.0),
            labels: draw(|u| (5.0 * u).floor()),
            g: draw(|u| u - 0.5),
            mask: (0..n * lists).map(|cell| if cell % n + padding < n { T::ONE } else { T::ZERO }).collect(),
        }
    }

    fn run(&self) {
        let Self { n, x, labels, g, mask } = self;
        let n = *n;
        // Rows far from all that add to them, and scores that are no numbers.
        let far: Vec<T> = x.iter().zip(mask).map(|(&x, &m)| x * T::HALF + m * T::from_f64(1e4)).collect();
        step_sum(&far, mask, None, n, 1.0, Step::Logistic);
        let few: Vec<T> = mask.iter().enumerate().map(|(i, &m)| if i % 20 == 3 { m } else { T::ZERO }).collect();
        let diverged: Vec<T> = x.iter().map(|&x| x / T::ZERO).collect();
        step_sum_gradient(&diverged, mask, g, n, 1.0, Step::Logistic);
        for step in [Step::Logistic, Step::Tanh, Step::Erf, Step::Arctan, Step::Laplace] {
            // The second is too steep for one exponential a document.
            for alpha in [1.0, 1e4] {
                step_sum(x, mask, None, n, alpha, step);
                step_sum_gradient(x, mask, g, n, alpha, step);
                // Few of many documents are visited.
                step_sum(x, mask, Some(&few), n, alpha, step);
                step_sum_gradient(x, mask, &few, n, alpha, step);
            }
        }
        let [out, total] = indicator_sum([x, labels, mask], n, 0.5);
        for g in [g, &few] {
            indicator_sum_gradient([x, labels, mask], [&out, &total], g, n, 0.5);
        }
        let terms = [(0.5, 0.2), (0.3, 0.9), (0.2, 0.99)];
        let terms = terms.map(|(coefficient, base)| ExponentialTerm { coefficient, base });
        // Ranks alone: products that are kept, and distributions of the first ranks.
        let (one, none) = (ScoreNoise::one(Comparison::independent(1.0)), vec![T::ZERO; x.len()]);
        let ranks = AboveExpectation { noise: one, terms: terms.to_vec(), above: Above::Nothing };
        for a in [few.as_slice(), mask] {
            let out = above_expectation([x, a, &none, mask], n, &ranks);
            above_expectation_gradient([x, a, &none, mask], Some(&out[1]), g, n, &ranks);
            for first in [n.min(3), n.min(40)] {
                let values = vec![T::HALF; x.len() / n * first];
                let recursion =
                    AboveRecursion { noise: ScoreNoise::one(Comparison::given(0.5, 1.0)), above: Above::Nothing };
                let inputs = [x, a, &none, mask, &values];
                above_recursion(inputs, n, &recursion);
                above_recursion_gradient(inputs, g, n, &recursion);
            }
        }
        for above in [Above::Sum, Above::Product] {
            let mixture = vec![(0.5, Comparison::independent(1.0)), (0.5, Comparison::given(0.5, 1.0))];
            // In double precision exact noise visits all pairs, again and again.
            let exact = (n <= 40 || size_of::<T>() == 4).then_some(ScoreNoise::Exact { sigma: 1.0 });
            for noise in [ScoreNoise::Mixture(mixture)].into_iter().chain(exact) {
                let expectation = AboveExpectation { noise, terms: terms.to_vec(), above };
                // The relevant documents are rows, and others are not.
                let inputs = [x, labels, mask, mask].map(Vec::as_slice);
                above_expectation(inputs, n, &expectation);
                above_expectation_gradient(inputs, None, g, n, &expectation);
                // Another function of the first ranks for each list, of short ones alone.
                if n <= 40 {
                    let values = &labels[..labels.len() / n.max(1) * n.min(3)];
                    let recursion = AboveRecursion { noise: expectation.noise, above };
                    let inputs = [x, labels, mask, mask, values];
                    above_recursion(inputs, n, &recursion);
                    above_recursion_gradient(inputs, g, n, &recursion);
                }
            }
        }
        let ranks = rank(x, mask, n);
        let table: Vec<f64> = (0..n).map(|rank| 1.0 / (rank as f64 + 2.0).log2()).collect();
        at_rank(&ranks, &table);
        // Gains that are counted, and others that are sorted.
        ideal_dcg(labels, mask, &table);
        ideal_dcg(g, mask, &table);
        map(labels, Function::Exp2);
        map(&ranks, Function::Log2Discount);
    }
}

impl Batch<f32> {
    /// Runs the kernels that are compiled for single precision only.
    fn run_singles(&self) {
        let Self { n, x, labels, g, mask } = self;
        let n = *n;
        // Quadratic at any length: short lists reach every end of a vector or block.
        for (iterations, transposed, ranks) in [(0, false, 3), (2, true, n)].into_iter().filter(|_| n <= 300) {
            let sort = NeuralSortMatrix { temperature: 1.0, iterations, transposed, ranks };
            neural_sort_sum([x, labels, mask], n, &sort);
            neural_sort_sum_gradient([x, labels, mask, g], n, &sort);
        }
        log_softmax_gradient(&log_softmax(x, mask, n), mask, g, n);
        let ranks = rank(x, mask, n);
        let table: Vec<f64> = (0..n).map(|rank| 1.0 / (rank as f64 + 2.0).log2()).collect();
        let discounts = at_rank(&ranks, &table);
        let lambda = PairWeight::Lambda {
            gain: labels.as_slice(),
            discount: discounts.as_slice(),
            rank: ranks.as_slice(),
            absolute: 1.0,
            gap: 0.5,
            distance: None,
        };
        let near = PairWeight::Lambda {
            gain: labels.as_slice(),
            discount: discounts.as_slice(),
            rank: ranks.as_slice(),
            absolute: 1.0,
            gap: 0.0,
            distance: Some(Distance { scores: x.as_slice(), offset: 0.01 }),
        };
        for weight in [PairWeight::Unit, PairWeight::Document(g.as_slice()), lambda, near] {
            for loss in [
                PairLoss::Logistic,
                PairLoss::Hinge { margin: 1.0 },
                PairLoss::SquaredHinge { margin: 1.0 },
                PairLoss::Exponential,
                PairLoss::Fidelity,
                PairLoss::SoftZeroOne,
            ] {
                pair_loss([x, labels, mask], weight, n, loss);
                pair_loss_gradient([g, x, labels, mask], weight, n, loss);
            }
        }
    }
}

fn every_kernel<T: Real>(run: impl Fn(&Batch<T>)) {
    for set in Instructions::found() {
        enter(set);
        for n in LENGTHS {
            for (lists, padding) in [(1, 0), (3, 0), (1, 1), (3, 5)] {
                run(&Batch::new(n, lists, padding));
            }
        }
        if size_of::<T>() == size_of::<f32>() {
            run(&Batch::new(LONG, 1, 5));
        }
    }
}

#[test]
fn every_kernel_in_single_precision() {
    every_kernel(|batch: &Batch<f32>| {
        batch.run();
        batch.run_singles();
    });
}

#[test]
fn every_kernel_in_double_precision() {
    every_kernel(Batch::<f64>::run);
}
