//! Fused [`above_expectation`](crate::op::above_expectation()).
//!
//! The documents with a weight are the rows of a list; the others are met by them, and cost nothing themselves. A
//! product takes its factors as [`rank_expectation`](crate::op::cpu::rank_expectation()) does. The gradient computes
//! the products again, so that nothing but the inputs is kept for it. Under exact noise a list takes
//! [levels](crate::op::cpu::long::above_levels), and other long lists [boxes](crate::op::cpu::long::above_boxes).

use super::rank_expectation::flushed;
use super::trial::{Compared, Trial};
use crate::op::cpu::{
    dispatch::{Kernel, dispatch, target},
    each_list::{each_list_of_documents, each_stripe},
    list::{counting, gather},
    long::{above_boxes, above_levels},
    parallel::for_each,
    parameters::{Above, AboveExpectation, Comparison, ExponentialTerm},
    real::Real,
    sum::sum,
    tiles::{BLOCK, TILE, add, reduce},
};

/// The inputs of lists of `n` documents.
#[derive(Clone, Copy)]
pub struct Inputs<'a, T> {
    pub x: &'a [T],
    pub a: &'a [T],
    pub b: &'a [T],
    pub mask: &'a [T],
    pub n: usize,
}

/// One term in the type of the kernels.
struct Term<T> {
    coefficient: T,
    base: T,
    /// `1 - z_m`
    gap: T,
}

/// One comparison in the type of the kernels.
struct Weighted<T> {
    weight: T,
    compared: Compared<T>,
}

/// What does not differ between lists.
struct Parameters<T> {
    above: Above,
    terms: Vec<Term<T>>,
    mixture: Vec<Weighted<T>>,
}

/// Terms of a pair of documents, over all comparisons in a list of `n`.
fn work_per_pair(expectation: &AboveExpectation, n: usize) -> usize {
    expectation.terms.len() * expectation.noise.comparisons(n)
}

impl<T: Real> Parameters<T> {
    /// For lists of `n` documents.
    fn new(expectation: &AboveExpectation, n: usize) -> Self {
        let AboveExpectation { noise, terms, above } = expectation;
        let term = |term: &ExponentialTerm| Term {
            coefficient: T::from_f64(term.coefficient),
            base: T::from_f64(term.base).larger(T::SMALLEST_FACTOR),
            gap: T::from_f64(1.0 - term.base),
        };
        let weighted = |&(weight, comparison): &(f64, Comparison)| Weighted {
            weight: T::from_f64(weight),
            compared: comparison.into(),
        };
        Self {
            above: *above,
            terms: terms.iter().map(term).collect(),
            mixture: noise.mixture(n).iter().map(weighted).collect(),
        }
    }

    /// Share of `z_m` that is left by a document above: `1 - b_j` in a product.
    #[inline(always)]
    fn passes(&self, b: T) -> T {
        match self.above {
            Above::Sum => T::ONE,
            Above::Product => T::ONE - b,
        }
    }
}

/// One list without padding.
struct List<T> {
    x: Vec<T>,
    b: Vec<T>,
    /// The documents with a weight, and their weights.
    rows: Vec<usize>,
    weights: Vec<T>,
}

impl<T: Real> List<T> {
    fn new(x: Vec<T>, a: &[T], b: Vec<T>) -> Self {
        let rows = counting(a);
        let weights = gather(a, &rows);
        Self { x, b, rows, weights }
    }
}

/// Some rows of a list.
#[derive(Clone, Copy)]
struct Tile<'a, T> {
    list: &'a List<T>,
    parameters: &'a Parameters<T>,
    rows: &'a [usize],
    x: &'a [T],
    b: &'a [T],
}

/// Trials of pairs that are kept for the second time that they are wanted, at most; those of longer lists are made
/// again.
const KEPT: usize = 1 << 14;

/// The trials of all documents of a list, `[documents, 3, rows]`, or nothing.
struct Kept<T>(Vec<T>);

impl<T: Real> Kept<T> {
    fn new(rows: usize, documents: usize) -> Self {
        Self(if rows * documents <= KEPT { vec![T::ZERO; 3 * rows * documents] } else { Vec::new() })
    }

    /// The parts of the trial of a document, if it is kept.
    #[inline(always)]
    fn of(&mut self, document: usize, rows: usize) -> Option<[&mut [T]; 3]> {
        let kept = self.0.get_mut(3 * rows * document..)?.get_mut(..3 * rows)?;
        let (ahead, rest) = kept.split_at_mut(rows);
        let (behind, density) = rest.split_at_mut(rows);
        Some([ahead, behind, density])
    }

    #[inline(always)]
    fn store(&mut self, document: usize, trial: &Trial<T>) {
        if let Some([ahead, behind, density]) = self.of(document, trial.ahead.len()) {
            ahead.copy_from_slice(trial.ahead);
            behind.copy_from_slice(trial.behind);
            density.copy_from_slice(trial.density);
        }
    }

    /// Returns whether the trial was kept.
    #[inline(always)]
    fn restore(&mut self, document: usize, trial: &mut Trial<T>) -> bool {
        let kept = self.of(document, trial.ahead.len());
        if let Some([ahead, behind, density]) = &kept {
            trial.ahead.copy_from_slice(ahead);
            trial.behind.copy_from_slice(behind);
            trial.density.copy_from_slice(density);
        }
        kept.is_some()
    }
}

impl<T: Real> Tile<'_, T> {
    /// Document `j` against the rows.
    #[inline(always)]
    fn meet<const FMA: bool>(self, j: usize, comparison: &Weighted<T>, trial: &mut Trial<T>) {
        trial.meet::<FMA>((j, self.list.x[j]), self.x, self.rows, comparison.compared);
    }

    /// The product of every term for each row, `[terms, rows]`, and the sums of the documents above, `b_i` included.
    #[inline(always)]
    fn products<const FMA: bool>(
        self,
        comparison: &Weighted<T>,
        trial: &mut Trial<T>,
        kept: &mut Kept<T>,
        products: &mut [T],
        sums: &mut [T],
    ) {
        let length = self.rows.len();
        products.fill(T::ONE);
        for sums in sums.chunks_exact_mut(length) {
            sums.copy_from_slice(self.b);
        }
        for (j, &b) in self.list.b.iter().enumerate() {
            if j % BLOCK == BLOCK - 1 {
                products.iter_mut().for_each(|product| *product = flushed(*product));
            }
            self.meet::<FMA>(j, comparison, trial);
            kept.store(j, trial);
            let passes = self.parameters.passes(b);
            for (products, term) in products.chunks_exact_mut(length).zip(&self.parameters.terms) {
                let (base, gap) = (term.base * passes, term.gap + term.base * (T::ONE - passes));
                let chances = trial.ahead.iter().zip(trial.behind.iter());
                if gap <= T::HALF {
                    for (product, (&ahead, _)) in products.iter_mut().zip(chances) {
                        *product = (*product * ahead).fma::<FMA>(-gap, *product);
                    }
                } else {
                    for (product, (&ahead, &behind)) in products.iter_mut().zip(chances.clone()) {
                        *product = *product * ahead.fma::<FMA>(base, behind).larger(T::SMALLEST_FACTOR);
                    }
                }
            }
            if self.parameters.above == Above::Sum && b != T::ZERO {
                self.add_above::<FMA>(b, trial, sums);
            }
        }
    }

    /// Adds the share of a document above in the sums of every term, two terms to a division.
    #[inline(always)]
    fn add_above<const FMA: bool>(self, b: T, trial: &Trial<T>, sums: &mut [T]) {
        let length = self.rows.len();
        let chances = || trial.ahead.iter().zip(trial.behind.iter());
        let mut sums = sums.chunks_exact_mut(2 * length);
        let mut terms = self.parameters.terms.chunks_exact(2);
        for (sums, terms) in sums.by_ref().zip(terms.by_ref()) {
            let (bases, (first, second)) = ([terms[0].base, terms[1].base], sums.split_at_mut(length));
            for ((first, second), (&ahead, &behind)) in first.iter_mut().zip(second).zip(chances()) {
                let factors = bases.map(|base| ahead.fma::<FMA>(base, behind));
                let share = b * ahead / (factors[0] * factors[1]);
                *first = (share * bases[0]).fma::<FMA>(factors[1], *first);
                *second = (share * bases[1]).fma::<FMA>(factors[0], *second);
            }
        }
        let (odd, sums) = (terms.remainder(), sums.into_remainder());
        for Term { base, .. } in odd {
            for (sum, (&ahead, &behind)) in sums.iter_mut().zip(chances()) {
                *sum = *sum + b * ahead * *base / ahead.fma::<FMA>(*base, behind);
            }
        }
    }

    /// Adds what every term of a sum sends to the comparison with a document, two terms to a division.
    #[inline(always)]
    fn add_flows<const FMA: bool>(self, b: T, trial: &Trial<T>, products: &[T], sums: &[T], flow: &mut [T]) {
        let length = self.rows.len();
        let pairs = products.chunks_exact(2 * length).zip(sums.chunks_exact(2 * length));
        for ((products, sums), terms) in pairs.zip(self.parameters.terms.chunks_exact(2)) {
            let bases = [terms[0].base, terms[1].base];
            let shares = bases.map(|base| b * base);
            let (products, sums) = (products.split_at(length), sums.split_at(length));
            let rows = flow.iter_mut().zip(trial.ahead.iter().zip(trial.behind.iter()));
            let rows = rows.zip(products.0.iter().zip(products.1)).zip(sums.0.iter().zip(sums.1));
            if b == T::ZERO {
                for (((flow, (&ahead, &behind)), _), (&first, &second)) in rows {
                    let factors = bases.map(|base| ahead.fma::<FMA>(base, behind));
                    *flow = *flow + first.fma::<FMA>(factors[1], second * factors[0]) / (factors[0] * factors[1]);
                }
            } else {
                for (((flow, (&ahead, &behind)), products), sums) in rows {
                    let factors = bases.map(|base| ahead.fma::<FMA>(base, behind));
                    let inverse = T::ONE / (factors[0] * factors[1]);
                    let inverses = [factors[1] * inverse, factors[0] * inverse];
                    let first = (*products.0 * shares[0]).fma::<FMA>(inverses[0], *sums.0) * inverses[0];
                    let second = (*products.1 * shares[1]).fma::<FMA>(inverses[1], *sums.1) * inverses[1];
                    *flow = *flow + (first + second);
                }
            }
        }
        let odd = self.parameters.terms.chunks_exact(2).remainder();
        let [products, sums] = [products, sums].map(|values| &values[values.len() - odd.len() * length..]);
        for Term { base, .. } in odd {
            let rows = flow.iter_mut().zip(trial.ahead.iter().zip(trial.behind.iter()));
            for ((flow, (&ahead, &behind)), (&product, &sum)) in rows.zip(products.iter().zip(sums)) {
                let inverse = T::ONE / ahead.fma::<FMA>(*base, behind);
                *flow = *flow + (product * b * *base).fma::<FMA>(inverse, sum) * inverse;
            }
        }
    }
}

/// Expectations of the rows of a tile, without their weights.
struct Expectation<'a, T> {
    tile: Tile<'a, T>,
    out: &'a mut [T],
}

impl<T: Real> Kernel for Expectation<'_, T> {
    #[inline(always)]
    fn run<const FMA: bool>(self) {
        let (tile, length) = (self.tile, self.out.len());
        let mut scratch = [[T::ZERO; TILE]; 3];
        let [ahead, behind, density] = scratch.each_mut().map(|row| &mut row[..length]);
        let mut trial = Trial { ahead, behind, density };
        let mut kept = Kept(Vec::new());
        let size = tile.parameters.terms.len() * length;
        let (mut products, mut sums) = (vec![T::ZERO; size], vec![T::ZERO; size]);
        for comparison in &tile.parameters.mixture {
            tile.products::<FMA>(comparison, &mut trial, &mut kept, &mut products, &mut sums);
            let by_term = products.chunks_exact(length).zip(sums.chunks_exact(length));
            for ((products, sums), term) in by_term.zip(&tile.parameters.terms) {
                let factor = comparison.weight * term.coefficient;
                for ((out, &product), &sum) in self.out.iter_mut().zip(products).zip(sums) {
                    let value = if tile.parameters.above == Above::Sum { product * sum } else { product };
                    *out = value.fma::<FMA>(factor, *out);
                }
            }
        }
    }
}

/// The expectations `a_i E[D(R_i) A_i]` of every document.
pub fn above_expectation<T: Real>(inputs: Inputs<T>, expectation: &AboveExpectation) -> Vec<T> {
    let Inputs { x, a, b, mask, n } = inputs;
    let target = target();
    let work = x.len() * n * work_per_pair(expectation, n);
    each_list_of_documents(mask, [x, a, b], n, work, |_, [x, a, b], expected| {
        if let Some(levels) = above_levels::List::new(target, &x, &a, &b, expectation) {
            return levels.value(target, expected);
        }
        if let Some(boxes) = above_boxes::List::new(target, &x, &a, &b, expectation) {
            return boxes.value(target, expected);
        }
        let list = List::new(x, &a, b);
        let parameters = Parameters::new(expectation, list.x.len());
        let mut of_rows = vec![T::ZERO; list.rows.len()];
        let (x, b) = (gather(&list.x, &list.rows), gather(&list.b, &list.rows));
        let tiles = of_rows.chunks_mut(TILE).zip(list.rows.chunks(TILE)).zip(x.chunks(TILE).zip(b.chunks(TILE)));
        let work = list.rows.len() * list.x.len() * work_per_pair(expectation, list.x.len());
        for_each(tiles.collect(), work, |((out, rows), (x, b))| {
            let tile = Tile { list: &list, parameters: &parameters, rows, x, b };
            dispatch(target, Expectation { tile, out });
        });
        for ((&row, &weight), &value) in list.rows.iter().zip(&list.weights).zip(&of_rows) {
            expected[row] = weight * value;
        }
    })
}

/// What the rows of a tile send to the gradient: to their own documents, and to all documents.
struct Gradient<'a, T> {
    tile: Tile<'a, T>,
    /// The gradient that comes in times the weight, per row.
    g: &'a [T],
    to_rows: &'a mut [T],
    to_all: &'a mut [T],
}

impl<T: Real> Kernel for Gradient<'_, T> {
    #[inline(always)]
    fn run<const FMA: bool>(self) {
        let (tile, length) = (self.tile, self.to_rows.len());
        let mut scratch = [[T::ZERO; TILE]; 5];
        let [ahead, behind, density, flow, partial] = scratch.each_mut().map(|row| &mut row[..length]);
        let mut trial = Trial { ahead, behind, density };
        let mut kept = Kept::new(length, tile.list.x.len());
        let size = tile.parameters.terms.len() * length;
        let (mut products, mut sums) = (vec![T::ZERO; size], vec![T::ZERO; size]);
        for comparison in &tile.parameters.mixture {
            tile.products::<FMA>(comparison, &mut trial, &mut kept, &mut products, &mut sums);
            // From here on `products` are the derivatives by the product, and `sums` those by a factor of it.
            let by_term = products.chunks_exact_mut(length).zip(sums.chunks_exact_mut(length));
            for ((products, sums), term) in by_term.zip(&tile.parameters.terms) {
                let factor = comparison.weight * term.coefficient;
                for ((product, sum), &g) in products.iter_mut().zip(sums.iter_mut()).zip(self.g) {
                    *product = flushed(*product * g * factor);
                    *sum = -*product * *sum * term.gap;
                }
            }
            let slope = comparison.compared.rate * T::from_f64(0.5 * std::f64::consts::FRAC_2_SQRT_PI);
            for (j, &b) in tile.list.b.iter().enumerate() {
                if !kept.restore(j, &mut trial) {
                    tile.meet::<FMA>(j, comparison, &mut trial);
                }
                flow.fill(T::ZERO);
                match tile.parameters.above {
                    Above::Product => {
                        let passes = tile.parameters.passes(b);
                        for (products, term) in products.chunks_exact(length).zip(&tile.parameters.terms) {
                            let (base, gap) = (term.base * passes, term.gap + term.base * (T::ONE - passes));
                            let rows = flow.iter_mut().zip(trial.ahead.iter()).zip(trial.behind.iter()).zip(products);
                            for (((flow, &ahead), &behind), &product) in rows {
                                let factor = ahead.fma::<FMA>(base, behind).larger(T::SMALLEST_FACTOR);
                                *flow = *flow - product * gap / factor;
                            }
                        }
                    }
                    Above::Sum => tile.add_flows::<FMA>(b, &trial, &products, &sums, flow),
                }
                for ((flow, partial), &density) in flow.iter_mut().zip(partial.iter_mut()).zip(trial.density.iter()) {
                    *flow = *flow * density * slope;
                    *partial = *partial - *flow;
                }
                self.to_all[j] = self.to_all[j] + sum(flow);
                if j % BLOCK == BLOCK - 1 {
                    add(self.to_rows, partial);
                    partial.fill(T::ZERO);
                }
            }
            add(self.to_rows, partial);
            partial.fill(T::ZERO);
        }
    }
}

/// Gradient of [`above_expectation`] in `x`.
pub fn above_expectation_gradient<T: Real>(inputs: Inputs<T>, g: &[T], expectation: &AboveExpectation) -> Vec<T> {
    let Inputs { x, a, b, mask, n } = inputs;
    let target = target();
    let work = x.len() * n * work_per_pair(expectation, n);
    each_list_of_documents(mask, [x, a, b, g], n, work, |_, [x, a, b, g], to_x| {
        if let Some(levels) = above_levels::List::new(target, &x, &a, &b, expectation) {
            return levels.gradient(target, &g, to_x);
        }
        if let Some(boxes) = above_boxes::List::new(target, &x, &a, &b, expectation) {
            return boxes.gradient(target, &g, to_x);
        }
        let list = List::new(x, &a, b);
        let parameters = Parameters::new(expectation, list.x.len());
        let (x, b) = (gather(&list.x, &list.rows), gather(&list.b, &list.rows));
        let weights = list.rows.iter().zip(&list.weights);
        let g: Vec<T> = weights.map(|(&row, &weight)| g[row] * weight).collect();
        let mut to_rows = vec![T::ZERO; list.rows.len()];
        let work = list.rows.len() * list.x.len() * work_per_pair(expectation, list.x.len());
        let partials = each_stripe(&mut to_rows, list.x.len(), work, |stripe, to_rows, to_all| {
            for (tile, to_rows) in to_rows.chunks_mut(TILE).enumerate() {
                let start = stripe.start + tile * TILE;
                let at = start..start + to_rows.len();
                let rows = Tile {
                    list: &list,
                    parameters: &parameters,
                    rows: &list.rows[at.clone()],
                    x: &x[at.clone()],
                    b: &b[at.clone()],
                };
                dispatch(target, Gradient { tile: rows, g: &g[at], to_rows, to_all });
            }
        });
        reduce(to_x, &partials);
        for (&row, &own) in list.rows.iter().zip(&to_rows) {
            to_x[row] = to_x[row] + own;
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::op::cpu::parameters::ScoreNoise;

    /// How many comparisons exact noise takes depends on the documents of a list, not on the width of its batch.
    #[test]
    fn padding_changes_no_bit_under_exact_noise_in_double_precision() {
        let terms = vec![ExponentialTerm { coefficient: 0.5, base: 0.7 }];
        let expectation = AboveExpectation { noise: ScoreNoise::Exact { sigma: 0.4 }, terms, above: Above::Sum };
        let run = |padding: usize| {
            let padded = |values: [f64; 4]| [values.to_vec(), vec![0.0; padding]].concat();
            let (x, b, mask) = (padded([0.3, -0.2, 1.1, 0.4]), padded([1.0, 0.0, 2.0, 0.5]), padded([1.0; 4]));
            let inputs = Inputs { x: &x, a: &mask, b: &b, mask: &mask, n: 4 + padding };
            let out = above_expectation(inputs, &expectation);
            let inputs = Inputs { x: &x, a: &mask, b: &b, mask: &mask, n: 4 + padding };
            let gradient = above_expectation_gradient(inputs, &mask, &expectation);
            [out, gradient].map(|values| values[..4].to_vec())
        };
        assert_eq!(run(0), run(60));
    }
}
