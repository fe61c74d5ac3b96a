//! Computes [`above_expectation`](crate::op::cpu::above_expectation()) of long lists in O(Q M n log n), for results in
//! `f32`.
//!
//! The kernel takes the logarithm of the product, which is a sum over the documents above. The factor for `Above::Sum`
//! is already a sum. For `Above::Product`, the contribution of a document above depends on its `1 - b_j`. Labels have
//! few distinct values, so [boxes](super::boxes) sum the documents of each value separately, with weights of 1 and 0.

use std::ops::Range;

use super::boxes::{Constant, Sizes, Span, Sum, results};
use super::convolution::{BELL_REACH, bell_is_smooth};
use super::walk::Sorted;
use crate::execution::Target;
use crate::op::cpu::{
    dispatch::is_fast,
    parameters::{Above, AboveExpectation, Comparison, ExponentialTerm},
    ranks::trial::beats,
    real::Real,
};

/// The number of differences whose probabilities are computed at once.
const CHUNK: usize = 8;

/// The largest width of a box for which Chebyshev points determine the functions of [`Products`] and [`Flows`]. For a
/// small base, the functions of [`Products`] have a singularity about a third of a unit off the real line. This
/// singularity limits the width of boxes.
const WIDTH: f64 = 0.5;

/// Returns `1 + pi (z - 1)` for the base `z`, where `ahead` is `pi` and `behind` is `1 - pi`.
#[inline(always)]
fn factor<const FMA: bool>(base: f64, ahead: f64, behind: f64) -> f64 {
    if base >= 0.5 { ahead.fma::<FMA>(base - 1.0, 1.0) } else { ahead.fma::<FMA>(base, behind) }
}

/// Returns the probability that a source is above the target, the probability that it is not, and `exp(-d^2)`, where
/// `d = sign t - shift`.
#[inline(always)]
fn chances<const FMA: bool>(t: &[f64], sign: f64, shift: f64) -> [[f64; CHUNK]; 3] {
    let mut chances = [[0.0; CHUNK]; 3];
    for (i, &t) in t.iter().enumerate().take(CHUNK) {
        let (ahead, behind, bell) = beats::<f64, FMA>(sign * t - shift);
        (chances[0][i], chances[1][i], chances[2][i]) = (ahead, behind, bell);
    }
    chances
}

/// The largest number of distinct values of `1 - b` in a product; a list with more values is computed pair by pair.
const LEVELS: usize = 8;

/// The value that stands for the logarithm of a factor of 0 in the sum of logarithms.
const NOTHING: f64 = -1e4;

/// A list sorted by descending score, with the parameters of its expectation.
pub struct List<'a> {
    expectation: &'a AboveExpectation,
    sorted: Sorted,
    /// The weight `a` of each document in sorted order; `b` holds the contributions in the same order.
    a: Vec<f32>,
    b: Vec<f64>,
    /// The distinct values of `1 - b` for a product; for other expectations, the single value 1.
    passes: Vec<f64>,
    /// For each document in sorted order, the index of its value in `passes`.
    level: Vec<usize>,
}

impl<'a> List<'a> {
    /// Returns `None` if computing all pairs costs less, or if a product has more than [`LEVELS`] distinct values.
    pub fn new(target: Target, [x, a, b]: [&[f32]; 3], expectation: &'a AboveExpectation) -> Option<Self> {
        let rows = a.iter().filter(|a| **a != 0.0).count();
        let is_faster = is_faster(x.len(), rows, expectation.above);
        if is_fast(target, x.len(), is_faster) { Self::of([x, a, b], expectation) } else { None }
    }

    fn of([x, a, b]: [&[f32]; 3], expectation: &'a AboveExpectation) -> Option<Self> {
        let sorted = Sorted::new(x);
        let b = sorted.gather_exact(b);
        let (mut passes, mut level) = (vec![1.0], vec![0; b.len()]);
        if expectation.above == Above::Product {
            passes.clear();
            for (level, b) in level.iter_mut().zip(&b) {
                let pass = 1.0 - b;
                *level = passes.iter().position(|&other| other == pass).unwrap_or(passes.len());
                if *level == passes.len() {
                    passes.push(pass);
                }
                if passes.len() > LEVELS {
                    return None;
                }
            }
        }
        Some(Self { expectation, a: sorted.gather(a), sorted, b, passes, level })
    }

    /// Prepares the numbers that are the same for all pairs of documents under one comparison.
    fn meeting(&self, comparison: Comparison) -> Meeting<'_> {
        let terms = &self.expectation.terms;
        let bases: Vec<f64> = terms.iter().flat_map(|term| self.passes.iter().map(|pass| term.base * pass)).collect();
        let least = bases.iter().filter(|base| **base > 0.0).fold(1.0, |least: f64, &base| least.min(base));
        // The probability of staying behind is below exp(-t^2), that is, 1e-9 of the smallest base or 0.
        let certain = (20.8 - least.max(f64::MIN_POSITIVE).ln()).sqrt();
        let any_stops = bases.contains(&0.0);
        let logarithm = |&base: &f64| if base > 0.0 { base.ln() } else { NOTHING };
        let is_sum = self.expectation.above == Above::Sum;
        let mut constants: Vec<f64> = bases.iter().map(logarithm).collect();
        constants.extend(terms.iter().map(|_| 1.0).filter(|_| is_sum));
        Meeting {
            terms,
            shift: comparison.shift,
            passes: &self.passes,
            level: &self.level,
            b: is_sum.then_some(&self.b),
            bases,
            certain: if any_stops { certain.max(BELL_REACH) } else { certain },
            constants,
        }
    }

    /// Writes the product of each term for each document under the first comparison, `[documents, terms]`.
    pub fn products(&self, target: Target, out: &mut [f32]) {
        let (width, comparison) = (self.expectation.terms.len(), self.expectation.noise.mixture(self.a.len())[0].1);
        let meeting = self.meeting(comparison);
        let products = results(target, &Products(&meeting), &self.sorted.scaled(comparison.rate));
        self.sorted.scatter_rows(&products, width, out);
    }

    /// Computes `a_i E[A_i D(R_i)]` of every document.
    pub fn value(&self, target: Target, out: &mut [f32]) {
        let mut sums = vec![0.0; self.a.len()];
        for &(weight, comparison) in self.expectation.noise.mixture(self.a.len()).iter() {
            let meeting = self.meeting(comparison);
            let results = results(target, &Products(&meeting), &self.sorted.scaled(comparison.rate));
            for ((sum, results), &b) in sums.iter_mut().zip(results.chunks_exact(meeting.results())).zip(&self.b) {
                let terms = meeting.terms.iter().enumerate();
                let of_term = |(m, term): (usize, &ExponentialTerm)| term.coefficient * meeting.above(results, m, b);
                *sum += weight * terms.map(of_term).sum::<f64>();
            }
        }
        self.sorted.scatter(sums.iter().zip(&self.a).map(|(sum, a)| sum * a.to_f64()), out);
    }

    /// Computes the gradient of [`value`](Self::value) with respect to the scores. If `products` are given, they come
    /// from the forward pass, `[documents, terms]`.
    pub fn gradient(&self, target: Target, products: Option<&[f32]>, g: &[f32], to_x: &mut [f32]) {
        let g = self.sorted.gather(g);
        let g: Vec<f64> = g.iter().zip(&self.a).map(|(g, a)| g.to_f64() * a.to_f64()).collect();
        let mut to_sorted = vec![0.0; g.len()];
        for &(weight, comparison) in self.expectation.noise.mixture(self.a.len()).iter() {
            let meeting = self.meeting(comparison);
            let y = self.sorted.scaled(comparison.rate);
            let mut sent = match products {
                Some(products) => {
                    let rows: Vec<&[f32]> = products.chunks_exact(meeting.terms.len()).collect();
                    self.sorted.gather(&rows).into_iter().flatten().map(|product| f64::from(*product)).collect()
                }
                None => results(target, &Products(&meeting), &y),
            };
            for ((sent, &g), &b) in sent.chunks_exact_mut(meeting.results()).zip(&g).zip(&self.b) {
                for (m, term) in meeting.terms.iter().enumerate() {
                    let factor = if g == 0.0 { 0.0 } else { weight * g * term.coefficient };
                    let [by_product, by_share] = [meeting.above(sent, m, b), sent[m]].map(|value| factor * value);
                    sent[m] = by_product;
                    if meeting.b.is_some() {
                        sent[meeting.terms.len() + m] = by_share;
                    }
                }
            }
            let scale = comparison.rate * 0.5 * std::f64::consts::FRAC_2_SQRT_PI;
            let flows = Flows { meeting: &meeting, sent, scale };
            for (to_sorted, flow) in to_sorted.iter_mut().zip(results(target, &flows, &y)) {
                *to_sorted += flow;
            }
        }
        self.sorted.scatter(to_sorted.into_iter(), to_x);
    }
}

/// Returns whether grouping documents into boxes is faster than comparing each of `rows` documents with all others. In
/// very long lists, the costs of boxes and of pairs both grow linearly with the length, so no upper bound is needed.
fn is_faster(documents: usize, rows: usize, above: Above) -> bool {
    match above {
        Above::Nothing => rows >= 256 && rows * documents >= 3584 * 3584,
        Above::Sum | Above::Product => rows >= 1024 && documents >= 3072,
    }
}

/// The numbers that are the same for all pairs of documents of a list under one comparison.
struct Meeting<'a> {
    terms: &'a [ExponentialTerm],
    shift: f64,
    passes: &'a [f64],
    level: &'a [usize],
    /// The contributions `b` of the documents for `Above::Sum`, else `None`.
    b: Option<&'a Vec<f64>>,
    /// The base `z_m (1 - b)` of each term and each distinct value of `1 - b`, `[terms, levels]`.
    bases: Vec<f64>,
    /// The difference of scores beyond which the probability of being above counts as 1.
    certain: f64,
    /// The limits of the functions of [`Products`] for sources whose probability of being above is 1.
    constants: Vec<f64>,
}

impl Meeting<'_> {
    /// Returns the number of results of [`Products`] per document: one product per term and, for `Above::Sum`, one
    /// share per term.
    fn results(&self) -> usize {
        self.terms.len() * if self.b.is_some() { 2 } else { 1 }
    }

    /// Returns `E[z^R A]` for term `m` and a document with contribution `b`, where `results` holds the products and
    /// shares of the document.
    fn above(&self, results: &[f64], m: usize, b: f64) -> f64 {
        let shares = if self.b.is_some() { b + results[self.terms.len() + m] } else { 1.0 };
        results[m] * shares
    }

    /// For each document, writes a weight of 1 in the row that belongs to its value of `1 - b`, and 0 in the other
    /// rows.
    #[inline(always)]
    fn weigh_levels(&self, places: Range<usize>, weights: &mut [f64]) {
        let n = places.len();
        weights[..self.passes.len() * n].fill(0.0);
        for (i, &level) in self.level[places].iter().enumerate() {
            weights[level * n + i] = 1.0;
        }
    }
}

/// Sums over the documents above: the logarithm of each term's product and, for `Above::Sum`, its share
/// `sum_j b_j pi_ji z / f_j`.
struct Products<'a>(&'a Meeting<'a>);

impl Sum for Products<'_> {
    /// Each distinct value of `1 - b` has its own weight; with `Above::Sum`, the contribution `b` is a further weight.
    #[inline(always)]
    fn sizes(&self) -> Sizes {
        let Meeting { passes, b, constants, .. } = self.0;
        let (weights, results) = (passes.len() + usize::from(b.is_some()), self.0.results());
        Sizes {
            weights_per_source: weights,
            functions: constants.len(),
            sums_per_target: results,
            results_per_target: results,
        }
    }

    #[inline(always)]
    fn weigh(&self, places: Range<usize>, weights: &mut [f64]) {
        self.0.weigh_levels(places.clone(), weights);
        if let Some(b) = self.0.b {
            weights[places.len()..].copy_from_slice(&b[places]);
        }
    }

    #[inline(always)]
    fn evaluate<const FMA: bool>(&self, t: &[f64], values: &mut [f64]) {
        let bases = &self.0.bases;
        let (logarithms, shares) = values.split_at_mut(bases.len() * t.len());
        for (chunk, differences) in t.chunks(CHUNK).enumerate() {
            let [ahead, behind, _] = chances::<FMA>(differences, 1.0, self.0.shift);
            let here = |row: usize| row * t.len() + chunk * CHUNK..(row + 1) * t.len();
            for (row, &base) in bases.iter().enumerate() {
                for ((value, &ahead), &behind) in logarithms[here(row)].iter_mut().zip(&ahead).zip(&behind) {
                    *value = factor::<FMA>(base, ahead, behind).larger(f64::MIN_POSITIVE).logarithm::<FMA>();
                }
            }
            for (row, &base) in bases.iter().enumerate().take(shares.len() / t.len()) {
                for ((value, &ahead), &behind) in shares[here(row)].iter_mut().zip(&ahead).zip(&behind) {
                    *value = ahead * base / factor::<FMA>(base, ahead, behind);
                }
            }
        }
    }

    #[inline(always)]
    fn add<const FMA: bool>(&self, values: &[f64], weight: impl Fn(usize) -> f64, sums: &mut [f64]) {
        let levels = self.0.passes.len();
        let width = values.len() / self.sizes().functions;
        let (of_levels, shares) = sums.split_at_mut(self.0.terms.len() * width);
        for level in 0..levels {
            add_rows::<FMA>(&values[level * width..], levels * width, weight(level), of_levels, width);
        }
        if self.0.b.is_some() {
            add_rows::<FMA>(&values[self.0.bases.len() * width..], width, weight(levels), shares, width);
        }
    }

    #[inline(always)]
    fn finish(&self, places: Range<usize>, sums: &[f64], results: &mut [f64]) {
        let (count, terms) = (self.0.results(), self.0.terms.len());
        let width = sums.len() / count;
        for (i, results) in results.chunks_exact_mut(count).take(places.len()).enumerate() {
            for (m, result) in results.iter_mut().enumerate() {
                let sum = sums[m * width + i];
                *result = if m < terms { sum.exp() } else { sum };
            }
        }
    }

    fn smooth(&self, width: f64, span: Span) -> bool {
        width <= WIDTH && bell_is_smooth(width, (self.0.shift - span.low).max(0.0))
    }

    fn constant(&self, span: Span) -> Option<Constant<'_>> {
        if span.high - self.0.shift <= -BELL_REACH {
            Some(Constant::Zero)
        } else {
            (span.low - self.0.shift >= self.0.certain).then_some(Constant::Values(&self.0.constants))
        }
    }

    /// Returns true: subtracting a document's own term is accurate enough for a logarithm, and for a share relative to
    /// `b`.
    fn subtracts_itself(&self) -> bool {
        true
    }
}

/// Adds to each row of `sums` the weighted row of `values` that begins `stride` values after the one before.
#[inline(always)]
fn add_rows<const FMA: bool>(values: &[f64], stride: usize, weight: f64, sums: &mut [f64], width: usize) {
    if weight == 0.0 {
        return;
    }
    for row in 0..sums.len() / width {
        for (sum, &value) in sums[row * width..][..width].iter_mut().zip(&values[row * stride..][..width]) {
            *sum = value.fma::<FMA>(weight, *sum);
        }
    }
}

/// The gradient contributions between pairs of documents, where `f = 1 + pi (z (1 - b) - 1)` is the factor of a
/// document `j` above `i`. Each term contributes `h(t_ji) = (z (1 - b_j) - 1) exp(-t^2) / f`, times the derivative with
/// respect to the product. With `Above::Sum`, each term also contributes `k(t_ji) = z exp(-t^2) / f^2`, times `b_j` and
/// the derivative with respect to the share.
struct Flows<'a> {
    meeting: &'a Meeting<'a>,
    /// For each document `i` in sorted order and each term `m`, holds `g_i c_m` times the expectation that
    /// [`Meeting::above`] returns. With `Above::Sum`, also holds `g_i c_m` times the product alone, for each document
    /// and term.
    sent: Vec<f64>,
    scale: f64,
}

impl Sum for Flows<'_> {
    /// A source has the weights that [`Products`] uses, followed by the values in `sent` for this source. Each pair
    /// needs the functions `h` (for each term and value of `1 - b`) and `k` (for each term), for either order of its
    /// documents. From the documents above it, a target sums `h` and `k` for each term. From the documents below it, a
    /// target has one sum for its own value of `1 - b` and one for its `b`.
    #[inline(always)]
    fn sizes(&self) -> Sizes {
        let of_products = Products(self.meeting).sizes();
        let weights = of_products.weights_per_source + of_products.results_per_target;
        let functions = 2 * of_products.functions;
        Sizes { weights_per_source: weights, functions, sums_per_target: weights, results_per_target: 1 }
    }

    #[inline(always)]
    fn weigh(&self, places: Range<usize>, weights: &mut [f64]) {
        let n = places.len();
        let products = Products(self.meeting);
        let (of_sources, of_sent) = weights.split_at_mut(products.sizes().weights_per_source * n);
        products.weigh(places.clone(), of_sources);
        let count = self.meeting.results();
        for (i, sent) in self.sent[places.start * count..places.end * count].chunks_exact(count).enumerate() {
            for (weight, &sent) in of_sent[i..].iter_mut().step_by(n).zip(sent) {
                *weight = sent;
            }
        }
    }

    #[inline(always)]
    fn evaluate<const FMA: bool>(&self, t: &[f64], values: &mut [f64]) {
        let Meeting { bases, terms, shift, constants, .. } = self.meeting;
        for (sign, values) in [1.0, -1.0].into_iter().zip(values.chunks_exact_mut(constants.len() * t.len())) {
            let (h, k) = values.split_at_mut(bases.len() * t.len());
            for (chunk, differences) in t.chunks(CHUNK).enumerate() {
                let [ahead, behind, bell] = chances::<FMA>(differences, sign, *shift);
                let here = |row: usize| row * t.len() + chunk * CHUNK..(row + 1) * t.len();
                let chances = ahead.iter().zip(&behind).zip(&bell);
                for (row, &base) in bases.iter().enumerate() {
                    for (value, ((&ahead, &behind), &bell)) in h[here(row)].iter_mut().zip(chances.clone()) {
                        let factor = factor::<FMA>(base, ahead, behind).larger(f64::MIN_POSITIVE);
                        *value = (base - 1.0) * bell / factor;
                    }
                }
                for (row, term) in terms.iter().enumerate().take(k.len() / t.len()) {
                    for (value, ((&ahead, &behind), &bell)) in k[here(row)].iter_mut().zip(chances.clone()) {
                        let factor = factor::<FMA>(term.base, ahead, behind);
                        *value = term.base * bell / (factor * factor);
                    }
                }
            }
        }
    }

    #[inline(always)]
    fn add<const FMA: bool>(&self, values: &[f64], weight: impl Fn(usize) -> f64, sums: &mut [f64]) {
        let Meeting { bases, terms, passes, b, .. } = self.meeting;
        let (levels, count) = (passes.len(), terms.len());
        let width = values.len() / self.sizes().functions;
        let (from, to) = values.split_at(self.meeting.constants.len() * width);
        let (from_above, to_below) = sums.split_at_mut(self.meeting.results() * width);
        Products(self.meeting).add::<FMA>(from, &weight, from_above);
        let first = Products(self.meeting).sizes().weights_per_source;
        let (by_level, by_b) = to_below.split_at_mut(levels * width);
        for (m, values) in to.chunks_exact(levels * width).take(count).enumerate() {
            add_rows::<FMA>(values, width, weight(first + m), by_level, width);
        }
        if b.is_some() {
            for (m, values) in to[bases.len() * width..].chunks_exact(width).enumerate() {
                add_rows::<FMA>(values, width, weight(first + count + m), by_b, width);
            }
        }
    }

    #[inline(always)]
    fn finish(&self, places: Range<usize>, sums: &[f64], results: &mut [f64]) {
        let Meeting { passes, level, b, .. } = self.meeting;
        let (count, levels) = (self.meeting.results(), passes.len());
        let width = sums.len() / self.sizes().sums_per_target;
        for (i, (place, result)) in places.zip(results).enumerate() {
            let sum = |row: usize| sums[row * width + i];
            let sent = &self.sent[place * count..][..count];
            let from_above: f64 = sent.iter().enumerate().map(|(m, sent)| sent * sum(m)).sum();
            let by_b = b.map_or(0.0, |b| b[place] * sum(count + levels));
            *result = self.scale * (sum(count + level[place]) + by_b - from_above);
        }
    }

    fn smooth(&self, width: f64, span: Span) -> bool {
        width <= WIDTH && bell_is_smooth(width, span.farthest() + self.meeting.shift.abs())
    }

    fn constant(&self, span: Span) -> Option<Constant<'_>> {
        let shift = self.meeting.shift;
        let [from, to] = [span, Span { low: -span.high, high: -span.low }]
            .map(|span| Span { low: span.low - shift, high: span.high - shift });
        (from.nearest() >= BELL_REACH && to.nearest() >= BELL_REACH).then_some(Constant::Zero)
    }

    /// Returns true: subtracting a document's own term is accurate enough. The subtracted term has the same relative
    /// error as the gradient that all targets of the box receive from above.
    fn subtracts_itself(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::super::box_cases::{cases, gradient_weights, padded};
    use super::*;
    use crate::execution::{Execution, SumPath};
    use crate::op::cpu::{
        dispatch::target,
        parameters::ScoreNoise,
        ranks::{
            above_cases::{Definition, kinds, terms},
            above_expectation::{above_expectation, above_expectation_gradient},
        },
    };

    const N: usize = 300;

    #[test]
    fn expectations_in_boxes_are_as_precise_as_single_precision_wherever_documents_stand() {
        let g = gradient_weights(N);
        for (name, x, steepness) in cases(N) {
            for (kind, (above, a, b)) in kinds(N).into_iter().enumerate() {
                let comparison = |shift| Comparison { rate: steepness, shift };
                let mixture = vec![(0.7, comparison(0.0)), (0.2, comparison(-1.5)), (0.1, comparison(3.0))];
                let noise = ScoreNoise::Mixture(mixture.clone());
                let expectation = AboveExpectation { noise, terms: terms(), above };
                let list = List::of([&x, &a, &b], &expectation).unwrap();
                let (mut out, mut gradient) = (vec![0.0; N], vec![0.0; N]);
                list.value(target(), &mut out);
                list.gradient(target(), None, &g, &mut gradient);
                let [x, a, b] = [&x, &a, &b].map(|values| values.iter().copied().map(f64::from).collect());
                let definition = Definition { x, a, b, above, mixture, least: 0.0 };
                definition.check(&format!("{name}, {kind}"), &g, &out, &gradient);
            }
        }
    }

    #[test]
    fn gradients_in_boxes_take_the_products_that_are_kept() {
        let (g, mask) = (gradient_weights(N), vec![1.0; N]);
        for (name, x, rate) in cases(N) {
            let mixture = vec![(1.0, Comparison { rate, shift: 0.0 })];
            let noise = ScoreNoise::Mixture(mixture.clone());
            let expectation = AboveExpectation { noise, terms: terms(), above: Above::Nothing };
            // The values of `b` are not read.
            let inputs = [&x[..], &mask, &g, &mask];
            let (out, gradient) = Execution::current().with_sums(SumPath::Fast).scope(|| {
                let out = above_expectation(inputs, N, &expectation);
                let gradient = above_expectation_gradient(inputs, Some(&out[1]), &g, N, &expectation);
                (out, gradient)
            });
            assert_eq!(out[1].len(), N * terms().len());
            let x = x.iter().copied().map(f64::from).collect();
            let (a, b) = (vec![1.0; N], vec![0.0; N]);
            let definition = Definition { x, a, b, above: Above::Nothing, mixture, least: 0.0 };
            definition.check(&name, &g, &out[0], &gradient);
        }
    }

    #[test]
    fn a_product_of_many_values_visits_all_pairs() {
        let (x, a) = (vec![0.0f32; N], vec![1.0f32; N]);
        let noise = ScoreNoise::one(Comparison::independent(1.0));
        let of = |values: usize, above| {
            let b: Vec<f32> = (0..N).map(|i| (i % values) as f32 / 16.0).collect();
            let expectation = AboveExpectation { noise: noise.clone(), terms: terms(), above };
            List::of([&x, &a, &b], &expectation).is_some()
        };
        assert!(of(LEVELS, Above::Product) && !of(LEVELS + 1, Above::Product) && of(LEVELS + 1, Above::Sum));
    }

    #[test]
    fn padding_changes_no_bit() {
        const LONG: usize = 3600;
        let (_, x, _) = cases(LONG).swap_remove(0);
        let (mask, g) = (vec![1.0; LONG], gradient_weights(LONG));
        let b: Vec<f32> = (0..LONG).map(|i| (i % 2) as f32).collect();
        let noise = ScoreNoise::one(Comparison::independent(0.3));
        for above in [Above::Nothing, Above::Sum, Above::Product] {
            let expectation = AboveExpectation { noise: noise.clone(), terms: terms(), above };
            let run = |[x, b, mask, g]: [&[f32]; 4]| {
                let a = if above == Above::Nothing { mask } else { b };
                let (inputs, n) = ([x, a, b, mask], x.len());
                let out = above_expectation(inputs, n, &expectation);
                let products = out.get(1).map(Vec::as_slice);
                let gradient = above_expectation_gradient(inputs, products, g, n, &expectation);
                [&out[0], &gradient].map(|values| values[..LONG].to_vec())
            };
            let all = [&x, &b, &mask, &g];
            let filled = all.map(|values| padded(values));
            assert_eq!(
                run(all.map(|values| values.as_slice())),
                run(filled.each_ref().map(|values| values.as_slice()))
            );
        }
    }
}
