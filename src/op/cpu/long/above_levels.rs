//! Computes [`above_expectation`](crate::op::cpu::above_expectation()) under exact noise in O(M n) after a sort, by
//! [levels](super::levels), for results in `f32`.
//!
//! At each level, the kernel multiplies the factors of all documents once. Each document then divides the product by
//! its own factor. A document's factor may be as small as its probability of being below the level. Its weight at this
//! level is then just as small. The ratio of weight and factor (the hazard rate of the normal distribution) is below 10
//! at every level, so the division is accurate.

use super::levels::{NoisyList, Part, Walk};
use crate::execution::Target;
use crate::op::cpu::{
    dispatch::{Kernel, dispatch, is_fast},
    parameters::{Above, AboveExpectation},
    real::Real,
};

/// The number of terms that one vector operation computes together.
const LANES: usize = 8;

type Block = [f64; LANES];

/// Products below this bound become 0, because arithmetic on subnormal numbers is slow.
const NOTHING: f64 = 1e-290;

/// Returns the product, or 0 below [`NOTHING`]; NaN stays NaN.
#[inline(always)]
fn above_nothing(product: f64) -> f64 {
    if product < NOTHING { 0.0 } else { product }
}

/// A list sorted by descending score, with the terms of its expectation.
pub struct List {
    noisy: NoisyList,
    terms: Terms,
}

/// The exponential terms in blocks of [`LANES`]; the last block is filled with terms whose coefficient is 0.
struct Terms {
    above: Above,
    coefficients: Vec<Block>,
    bases: Vec<Block>,
}

impl Terms {
    fn new(expectation: &AboveExpectation) -> Self {
        let AboveExpectation { terms, above, .. } = expectation;
        let blocks = |of: &dyn Fn(usize) -> Option<f64>, other: f64| {
            let block = |block| std::array::from_fn(|lane| of(block * LANES + lane).unwrap_or(other));
            (0..terms.len().div_ceil(LANES)).map(block).collect()
        };
        Self {
            above: *above,
            coefficients: blocks(&|m| Some(terms.get(m)?.coefficient), 0.0),
            bases: blocks(&|m| Some(terms.get(m)?.base), 1.0),
        }
    }
}

/// The product of each term, and the sum of `b`, over the documents whose probability of being above a level counts as
/// 1.
#[derive(Clone)]
struct Certain {
    count: usize,
    products: Vec<Block>,
    sum: f64,
}

impl Certain {
    fn nobody(terms: &Terms) -> Self {
        Self { count: 0, products: vec![[1.0; LANES]; terms.bases.len()], sum: 0.0 }
    }

    /// Extends the products and the sum to all documents before place `count` of the sorted list.
    #[inline(always)]
    fn up_to(&mut self, count: usize, list: &List) {
        for &b in &list.noisy.b[self.count..count] {
            let passes = list.terms.above.left(b);
            for (products, bases) in self.products.iter_mut().zip(&list.terms.bases) {
                for (product, base) in products.iter_mut().zip(bases) {
                    *product *= base * passes;
                    *product = above_nothing(*product);
                }
            }
            if list.terms.above == Above::Sum {
                self.sum += b;
            }
        }
        self.count = count;
    }
}

impl List {
    /// Returns `None` if the noise is not exact.
    pub fn new(target: Target, list: [&[f32]; 3], expectation: &AboveExpectation) -> Option<Self> {
        let deviation = expectation.noise.deviation().filter(|_| is_fast(target, list[0].len(), true))?;
        Some(Self { noisy: NoisyList::new(list, deviation), terms: Terms::new(expectation) })
    }

    /// Runs `of_part` on each part of the grid of levels and returns the sum of the results for each document.
    fn summed(&self, of_part: impl Fn(AtLevels, &mut [f64]) + Sync + Send) -> Vec<f64> {
        let mut certain = Certain::nobody(&self.terms);
        let with_certain = |part: Part| {
            certain.up_to(part.above, self);
            (part, certain.clone())
        };
        let parts = self.noisy.parts().into_iter().map(with_certain).collect();
        self.noisy.levels.summed(parts, self.terms.bases.len() * LANES, |part, certain, sums| {
            of_part(AtLevels::new(self, part, certain), sums);
        })
    }

    /// Computes `a_i E[A_i D(R_i)]` of every document.
    pub fn value(&self, target: Target, out: &mut [f32]) {
        let sums = self.summed(|levels, sums| dispatch(target, Values { levels, sums }));
        self.noisy.put_expectations(&sums, out);
    }

    /// Computes the gradient of [`value`](Self::value) with respect to the scores.
    pub fn gradient(&self, target: Target, g: &[f32], to_x: &mut [f32]) {
        let g = self.noisy.weighted(g);
        let sums = self.summed(|levels, sums| dispatch(target, Gradient { levels, g: &g, sums }));
        self.noisy.put_slopes(&sums, to_x);
    }
}

/// Returns a document's factors for the terms of one block, where `passes` is `1 - b` for a product and 1 otherwise.
#[inline(always)]
fn factors<const FMA: bool>(bases: &Block, passes: f64, ahead: f64, behind: f64) -> Block {
    let ahead = ahead * passes;
    std::array::from_fn(|lane| ahead.fma::<FMA>(bases[lane], behind))
}

/// Walks over the levels of one part, with the products and sums at the current level.
struct AtLevels<'a> {
    list: &'a List,
    /// The sums of this part begin with the document at this place in the sorted list.
    first: usize,
    walk: Walk<'a>,
    certain: Certain,
    /// For each term, the product of the factors of all documents at the current level.
    products: Vec<Block>,
    sums: Vec<Block>,
    /// The reciprocal of each document's factor for each term, `[blocks of terms, documents]`.
    inverses: Vec<Block>,
}

impl<'a> AtLevels<'a> {
    fn new(list: &'a List, part: Part, certain: Certain) -> Self {
        let blocks = vec![[0.0; LANES]; list.terms.bases.len()];
        let first = part.above;
        Self {
            list,
            first,
            walk: list.noisy.levels.walk(part),
            certain,
            products: blocks.clone(),
            sums: blocks,
            inverses: Vec::new(),
        }
    }

    /// Moves to the next level. Returns false after the last level, or if the product of every term is 0.
    #[inline(always)]
    fn next<const FMA: bool>(&mut self) -> bool {
        let Self { list, walk, certain, .. } = self;
        if !walk.next() {
            return false;
        }
        certain.up_to(walk.places.start, list);
        if certain.products.iter().flatten().all(|product| *product == 0.0) {
            return false;
        }
        walk.meet::<FMA>();
        let (is_sum, count) = (list.terms.above == Above::Sum, walk.places.len());
        self.inverses.resize(count * list.terms.bases.len(), [0.0; LANES]);
        for (block, (bases, inverses)) in
            list.terms.bases.iter().zip(self.inverses.chunks_exact_mut(count.max(1))).enumerate()
        {
            let (mut products, mut sums) = (certain.products[block], [certain.sum; LANES]);
            let chances = walk.around.ahead.iter().zip(&walk.around.behind).zip(&list.noisy.b[walk.places.clone()]);
            for (j, (((&ahead, &behind), &b), inverses)) in chances.zip(inverses).enumerate() {
                let factors = factors::<FMA>(bases, list.terms.above.left(b), ahead, behind);
                *inverses = factors.map(|factor| 1.0 / factor);
                for (product, factor) in products.iter_mut().zip(factors) {
                    *product *= factor;
                }
                if is_sum && b != 0.0 {
                    for ((sum, base), inverse) in sums.iter_mut().zip(bases).zip(*inverses) {
                        *sum += b * ahead * base * inverse;
                    }
                }
                if j % LANES == LANES - 1 {
                    products = products.map(above_nothing);
                }
            }
            (self.products[block], self.sums[block]) = (products, sums);
        }
        true
    }

    /// Returns two numbers for each term of a block, from which the caller computes the expectation of document `j`.
    /// The first number is the reciprocal of the document's factor. The second number is `b_j` plus the sum over the
    /// other documents, or 1 without a sum.
    #[inline(always)]
    fn without(&self, block: usize, j: usize) -> (Block, Block) {
        let inverses = self.inverses[block * self.walk.places.len() + j];
        if self.list.terms.above != Above::Sum {
            return (inverses, [1.0; LANES]);
        }
        let (b, ahead) = (self.list.noisy.b[self.walk.places.start + j], self.walk.around.ahead[j]);
        let (bases, sums) = (&self.list.terms.bases[block], &self.sums[block]);
        (inverses, std::array::from_fn(|lane| sums[lane] + (b - b * ahead * bases[lane] * inverses[lane])))
    }

    /// Returns `E[A_j D(R_j)]` for document `j` if its noisy score is the current level.
    #[inline(always)]
    fn expectation(&self, j: usize) -> f64 {
        let mut lanes = [0.0; LANES];
        for (block, coefficients) in self.list.terms.coefficients.iter().enumerate() {
            let (inverses, rest) = self.without(block, j);
            for (lane, sum) in lanes.iter_mut().enumerate() {
                *sum += coefficients[lane] * self.products[block][lane] * inverses[lane] * rest[lane];
            }
        }
        lanes.iter().sum()
    }
}

struct Values<'a> {
    levels: AtLevels<'a>,
    sums: &'a mut [f64],
}

impl Kernel for Values<'_> {
    #[inline(always)]
    fn run<const FMA: bool>(self) {
        let Self { mut levels, sums } = self;
        let list = levels.list;
        while levels.next::<FMA>() {
            for (j, place) in levels.walk.places.clone().enumerate() {
                if list.noisy.a[place] != 0.0 {
                    let weight = list.noisy.levels.step * levels.walk.around.density[j];
                    sums[place - levels.first] += weight * levels.expectation(j);
                }
            }
        }
    }
}

struct Gradient<'a> {
    levels: AtLevels<'a>,
    /// The incoming gradient of each document, multiplied by its weight `a`.
    g: &'a [f64],
    sums: &'a mut [f64],
}

impl Gradient<'_> {
    /// For each document and the terms of one block, adds the derivative with respect to the document's probability of
    /// being above the current level. The derivative is a sum over all other documents, computed as the total minus the
    /// document's own term.
    #[inline(always)]
    fn add_flows(&self, block: usize, weights: &[f64], flows: &mut [f64]) {
        let (levels, terms) = (&self.levels, &self.levels.list.terms);
        let (mut all, mut with_rest) = ([0.0; LANES], [0.0; LANES]);
        for (j, &weight) in weights.iter().enumerate().filter(|(_, weight)| **weight != 0.0) {
            let (inverses, rest) = levels.without(block, j);
            for lane in 0..LANES {
                let inverse = weight * inverses[lane];
                all[lane] += inverse;
                with_rest[lane] += inverse * rest[lane];
            }
        }
        let (bases, is_sum) = (&terms.bases[block], terms.above == Above::Sum);
        let sent: Block = std::array::from_fn(|lane| terms.coefficients[block][lane] * levels.products[block][lane]);
        for (j, (flow, &weight)) in flows.iter_mut().zip(weights).enumerate() {
            let b = levels.list.noisy.b[levels.walk.places.start + j];
            let passes = terms.above.left(b);
            let (inverses, rest) = levels.without(block, j);
            let mut lanes = [0.0; LANES];
            for lane in 0..LANES {
                let (inverse, base) = (inverses[lane], bases[lane]);
                let own = weight * inverse;
                let mut by_chance = (base * passes - 1.0) * (with_rest[lane] - own * rest[lane]);
                if is_sum {
                    by_chance += b * base * inverse * (all[lane] - own);
                }
                lanes[lane] = sent[lane] * inverse * by_chance;
            }
            *flow += lanes.iter().sum::<f64>();
        }
    }
}

impl Kernel for Gradient<'_> {
    #[inline(always)]
    fn run<const FMA: bool>(mut self) {
        let (mut weights, mut flows) = (Vec::new(), Vec::new());
        while self.levels.next::<FMA>() {
            let (start, step) = (self.levels.walk.places.start, self.levels.list.noisy.levels.step);
            let around = &self.levels.walk.around;
            let sums = &mut self.sums[start - self.levels.first..];
            weights.clear();
            // Multiplies by the weight of the level in a document's average.
            for (j, ((&density, &distance), sum)) in
                around.density.iter().zip(&around.distance).zip(&mut *sums).enumerate()
            {
                let weight = self.g[start + j] * step * density;
                weights.push(weight);
                if weight != 0.0 {
                    *sum -= weight * distance * self.levels.expectation(j);
                }
            }
            flows.clear();
            flows.resize(weights.len(), 0.0);
            for block in 0..self.levels.products.len() {
                self.add_flows(block, &weights, &mut flows);
            }
            let around = &self.levels.walk.around;
            let sums = &mut self.sums[start - self.levels.first..];
            for ((sum, flow), density) in sums.iter_mut().zip(&flows).zip(&around.density) {
                *sum += flow * density;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::box_cases::{cases, gradient_weights, padded};
    use super::super::levels::DENSITY;
    use super::*;
    use crate::op::cpu::{
        dispatch::target,
        parameters::{Comparison, ExponentialTerm, ScoreNoise},
        ranks::{
            above_cases::{Definition, kinds, terms},
            above_expectation::{above_expectation, above_expectation_gradient},
        },
    };

    fn exact(sigma: f64, above: Above) -> AboveExpectation {
        AboveExpectation { noise: ScoreNoise::Exact { sigma }, terms: terms(), above }
    }

    /// Returns exact noise as a mixture of very many comparisons.
    fn comparisons(sigma: f64) -> Vec<(f64, Comparison)> {
        let step = 0.1;
        let noises = (-95..=95).map(|node| f64::from(node) * step);
        noises.map(|noise| (step * DENSITY * (-0.5 * noise * noise).exp(), Comparison::given(noise, sigma))).collect()
    }

    #[test]
    fn expectations_by_levels_are_as_precise_as_single_precision_wherever_documents_stand() {
        const N: usize = 40;
        let g = gradient_weights(N);
        for (name, x, steepness) in cases(N) {
            for (kind, (above, a, b)) in kinds(N).into_iter().enumerate() {
                let sigma = 1.0 / steepness;
                let list = List::new(target(), [&x, &a, &b], &exact(sigma, above)).unwrap();
                let (mut out, mut gradient) = (vec![0.0; N], vec![0.0; N]);
                list.value(target(), &mut out);
                list.gradient(target(), &g, &mut gradient);
                let [x, a, b] = [&x, &a, &b].map(|values| values.iter().copied().map(f64::from).collect());
                // If a document's probabilities are certain, its gradient is a difference of numbers near 1.
                let definition = Definition { x, a, b, above, mixture: comparisons(sigma), least: 1e-8 * steepness };
                definition.check(&format!("{name}, {kind}"), &g, &out, &gradient);
            }
        }
    }

    /// Checks that the probabilities of being first add up to 1 for any scores.
    #[test]
    fn one_document_is_the_first() {
        for n in [2usize, 3, 10, 100, 1000, 20_000] {
            for gap in [0.0, 0.5, 2.0, 6.0] {
                for above in [1, n / 2, n - 1] {
                    let x: Vec<f32> = (0..n).map(|i| if i < above { gap } else { 0.0 }).collect();
                    let ones = vec![1.0; n];
                    let terms = vec![ExponentialTerm { coefficient: 1.0, base: 0.5 }];
                    let expectation =
                        AboveExpectation { noise: ScoreNoise::Exact { sigma: 1.0 }, terms, above: Above::Product };
                    let list = List::new(target(), [&x, &ones, &ones], &expectation).unwrap();
                    let mut out = vec![0.0f32; n];
                    list.value(target(), &mut out);
                    let total: f64 = out.iter().map(|&chance| f64::from(chance)).sum();
                    assert!((total - 1.0).abs() < 3e-7, "{above} of {n}, {gap} above: {total}");
                }
            }
        }
    }

    #[test]
    fn padding_threads_and_powers_of_two_change_no_bit() {
        const LONG: usize = 3100;
        let run = |[x, b, mask, g]: [&[f32]; 4], sigma, above| {
            let expectation = exact(sigma, above);
            let (inputs, n) = ([x, b, b, mask], x.len());
            let out = above_expectation(inputs, n, &expectation).remove(0);
            let gradient = above_expectation_gradient(inputs, None, g, n, &expectation);
            [out, gradient].map(|values| values[..LONG].to_vec())
        };
        let (mask, g) = (vec![1.0; LONG], gradient_weights(LONG));
        let b: Vec<f32> = (0..LONG).map(|i| (i % 2) as f32).collect();
        for (name, x, _) in cases(LONG).into_iter().take(2) {
            for above in [Above::Sum, Above::Product] {
                let all = [&x, &b, &mask, &g];
                let plain = run(all.map(|values| values.as_slice()), 0.5, above);
                let filled = all.map(|values| padded(values));
                assert!(plain == run(filled.each_ref().map(|values| values.as_slice()), 0.5, above), "{name}");
                let one = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
                assert!(plain == one.install(|| run(all.map(|values| values.as_slice()), 0.5, above)), "{name}");
                let doubled: Vec<f32> = x.iter().map(|x| 2.0 * x).collect();
                let [value, gradient] = run([&doubled, &b, &mask, &g], 1.0, above);
                assert!(plain[0] == value, "{name}");
                // Halves of the smallest numbers are not representable.
                let same = |(&plain, gradient): (&f32, f32)| plain == 2.0 * gradient || plain.abs() < 1e-30;
                assert!(plain[1].iter().zip(gradient).all(same), "{name}");
            }
        }
    }

    #[test]
    fn only_exact_noise_has_levels() {
        let (x, a) = (vec![0.0f32, 1.0], vec![1.0f32; 2]);
        let of = |noise, x: &[f32]| {
            let expectation = AboveExpectation { noise, terms: terms(), above: Above::Sum };
            List::new(target(), [x, &a, &a], &expectation).is_some()
        };
        assert!(of(ScoreNoise::Exact { sigma: 1.0 }, &x));
        assert!(!of(ScoreNoise::one(Comparison::independent(1.0)), &x));
    }
}
