//! The fused kernel of [`above_expectation`](crate::op::above_expectation()).
//!
//! Documents with a nonzero weight are called rows. Each row is compared with all documents of the list.
//!
//! For each term, the kernel multiplies a product `p` by the factor `1 + pi (z - 1)` of each document. For a base `z`
//! of at least 1/2, the kernel computes the new product as `p - p pi (1 - z)`. This formula keeps rounding errors from
//! adding up where `z` is near 1, and where tied documents have equal factors. For a smaller base, the kernel computes
//! the factor as `(1 - pi) + pi z`. The probabilities `pi` and `1 - pi` come from `erfc`, which is precise for `pi`
//! near 1.
//!
//! The products of [independent ranks](AboveExpectation::of_independent_ranks) are stored for the gradient. Other
//! gradients recompute the products. Expectations under exact noise are computed by
//! [levels](crate::op::cpu::long::above_levels). Expectations for other long lists are computed by
//! [boxes](crate::op::cpu::long::above_boxes).

use std::ops::Range;

use super::trial::Trial;
use crate::op::cpu::{
    dispatch::{Kernel, dispatch, in_single, target},
    lists::{BLOCK, TILE, add, counting, documents, each_list_of_documents, each_stripe, for_each, gather, reduce},
    long::{above_boxes, above_levels},
    parameters::{Above, AboveExpectation, Comparison, ExponentialTerm},
    real::{Real, flushed, sum},
};

/// One term of the discount, in the number type of the kernels.
struct Term<T> {
    coefficient: T,
    base: T,
    /// `1 - z_m`, computed in double precision.
    gap: T,
}

/// The parameters that all rows of a list share, in the number type of the kernels.
struct Parameters<T> {
    above: Above,
    terms: Vec<Term<T>>,
    /// The comparisons with their weights.
    mixture: Vec<(T, Comparison<T>)>,
}

/// Returns the cost of one pair, which is the number of terms times the number of comparisons.
fn work_per_pair(expectation: &AboveExpectation, n: usize) -> usize {
    expectation.terms.len() * expectation.noise.comparisons(n)
}

impl<T: Real> Parameters<T> {
    /// Converts the parameters for lists of `n` documents.
    fn new(expectation: &AboveExpectation, n: usize) -> Self {
        let AboveExpectation { noise, terms, above } = expectation;
        let term = |term: &ExponentialTerm| Term {
            coefficient: T::from_f64(term.coefficient),
            base: T::from_f64(term.base).larger(T::SMALLEST_FACTOR),
            gap: T::from_f64(1.0 - term.base),
        };
        let weighted = |&(weight, comparison): &(f64, Comparison)| (T::from_f64(weight), comparison.in_type());
        Self {
            above: *above,
            terms: terms.iter().map(term).collect(),
            mixture: noise.mixture(n).iter().map(weighted).collect(),
        }
    }

    /// Returns the base of a term for a document above, and one minus this base. For a product, the base is multiplied
    /// by `1 - b` of this document.
    #[inline(always)]
    fn above(&self, term: &Term<T>, b: T) -> (T, T) {
        match self.above {
            Above::Nothing | Above::Sum => (term.base, term.gap),
            Above::Product => {
                let passes = T::ONE - b;
                ((term.base * passes).larger(T::SMALLEST_FACTOR), term.gap + term.base * (T::ONE - passes))
            }
        }
    }
}

/// One list without padding, and the rows for which expectations are needed.
struct List<T> {
    parameters: Parameters<T>,
    /// The cost of all pairs, as a number of terms.
    work: usize,
    x: Vec<T>,
    b: Vec<T>,
    /// The indices of the rows, which are the documents with a nonzero weight. The next arrays hold the weights, scores
    /// and `b` of these rows.
    rows: Vec<usize>,
    weights: Vec<T>,
    row_x: Vec<T>,
    row_b: Vec<T>,
}

impl<T: Real> List<T> {
    fn new(x: Vec<T>, a: &[T], b: Vec<T>, expectation: &AboveExpectation) -> Self {
        let rows = counting(a);
        Self {
            parameters: Parameters::new(expectation, x.len()),
            work: rows.len() * x.len() * work_per_pair(expectation, x.len()),
            weights: gather(a, &rows),
            row_x: gather(&x, &rows),
            row_b: gather(&b, &rows),
            x,
            b,
            rows,
        }
    }

    fn tile(&self, at: Range<usize>) -> Tile<'_, T> {
        let (rows, x, b) = (&self.rows[at.clone()], &self.row_x[at.clone()], &self.row_b[at]);
        Tile { list: self, rows, x, b }
    }

    /// Runs a kernel on every tile of rows. Each call writes `width` numbers per row of its tile, all to its own part
    /// of `out`.
    fn each_tile(&self, width: usize, out: &mut [T], kernel: impl Fn(Tile<'_, T>, &mut [T]) + Sync + Send) {
        for_each(out.chunks_mut(TILE * width).enumerate().collect(), self.work, |(tile, out)| {
            let start = tile * TILE;
            kernel(self.tile(start..start + out.len() / width), out);
        });
    }
}

/// A tile of the rows of a list.
#[derive(Clone, Copy)]
struct Tile<'a, T> {
    list: &'a List<T>,
    rows: &'a [usize],
    x: &'a [T],
    b: &'a [T],
}

/// The largest number of trials per tile that are stored for the gradient; in larger tiles, the gradient recomputes
/// them.
const KEPT: usize = 1 << 14;

/// The trials of all documents against the rows of a tile, `[documents, 3, rows]`; empty if they are not stored.
struct Kept<T>(Vec<T>);

impl<T: Real> Kept<T> {
    fn new(rows: usize, documents: usize) -> Self {
        Self(if rows * documents <= KEPT { vec![T::ZERO; 3 * rows * documents] } else { Vec::new() })
    }

    /// Returns the three stored arrays of a document's trial, or `None` if they are not stored.
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

    /// Copies the stored trial of a document to `trial`; returns false if it is not stored.
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
    /// Computes the trial of document `j` against the rows.
    #[inline(always)]
    fn meet<const FMA: bool>(self, j: usize, compared: Comparison<T>, trial: &mut Trial<T>) {
        trial.meet::<FMA>((j, self.list.x[j]), self.x, self.rows, compared);
    }

    /// Computes the products for each term and row, with the shape `[terms, rows]`. Also computes the sums over the
    /// documents above each row; each of these sums includes `b_i`.
    #[inline(always)]
    fn products<const FMA: bool>(
        self,
        compared: Comparison<T>,
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
            self.meet::<FMA>(j, compared, trial);
            kept.store(j, trial);
            for (products, term) in products.chunks_exact_mut(length).zip(&self.list.parameters.terms) {
                let (base, gap) = self.list.parameters.above(term, b);
                let chances = trial.ahead.iter().zip(trial.behind.iter());
                if gap <= T::HALF {
                    for (product, (&ahead, _)) in products.iter_mut().zip(chances) {
                        *product = (*product * ahead).fma::<FMA>(-gap, *product);
                    }
                } else {
                    for (product, (&ahead, &behind)) in products.iter_mut().zip(chances.clone()) {
                        *product = *product * ahead.fma::<FMA>(base, behind);
                    }
                }
            }
            if self.list.parameters.above == Above::Sum && b != T::ZERO {
                self.add_above::<FMA>(b, trial, sums);
            }
        }
    }

    /// For each term, adds the share of a document above to the sums. Two terms share one division by their common
    /// denominator.
    #[inline(always)]
    fn add_above<const FMA: bool>(self, b: T, trial: &Trial<T>, sums: &mut [T]) {
        let length = self.rows.len();
        let chances = || trial.ahead.iter().zip(trial.behind.iter());
        let mut sums = sums.chunks_exact_mut(2 * length);
        let mut terms = self.list.parameters.terms.chunks_exact(2);
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

    /// Adds the derivatives of the products of all terms with respect to the probability that a document is above each
    /// row. One division serves two terms. The closure `sent` combines two numbers of a term: the derivative with
    /// respect to its product, and the gap `1 - z`.
    #[inline(always)]
    fn add_product_flows<const FMA: bool>(
        self,
        b: T,
        trial: &Trial<T>,
        products: &[T],
        flow: &mut [T],
        sent: impl Fn(T, T) -> T,
    ) {
        let length = self.rows.len();
        let chances = || trial.ahead.iter().zip(trial.behind.iter());
        let terms = self.list.parameters.terms.chunks_exact(2);
        for (products, terms) in products.chunks_exact(2 * length).zip(terms.clone()) {
            let [(base, gap), other] = [&terms[0], &terms[1]].map(|term| self.list.parameters.above(term, b));
            let (bases, gaps) = ([base, other.0], [gap, other.1]);
            let (first, second) = products.split_at(length);
            for ((flow, (&ahead, &behind)), (&first, &second)) in
                flow.iter_mut().zip(chances()).zip(first.iter().zip(second))
            {
                let factors = bases.map(|base| ahead.fma::<FMA>(base, behind));
                let sum = sent(first, gaps[0]).fma::<FMA>(factors[1], sent(second, gaps[1]) * factors[0]);
                *flow = *flow - sum / (factors[0] * factors[1]);
            }
        }
        let odd = terms.remainder();
        for (term, products) in odd.iter().zip(products[products.len() - odd.len() * length..].chunks_exact(length)) {
            let (base, gap) = self.list.parameters.above(term, b);
            for ((flow, (&ahead, &behind)), &product) in flow.iter_mut().zip(chances()).zip(products) {
                *flow = *flow - sent(product, gap) / ahead.fma::<FMA>(base, behind);
            }
        }
    }

    /// For sums, adds the derivatives of all terms with respect to the probability that a document is above each row.
    /// One division serves two terms.
    #[inline(always)]
    fn add_flows<const FMA: bool>(self, b: T, trial: &Trial<T>, products: &[T], sums: &[T], flow: &mut [T]) {
        let length = self.rows.len();
        let pairs = products.chunks_exact(2 * length).zip(sums.chunks_exact(2 * length));
        for ((products, sums), terms) in pairs.zip(self.list.parameters.terms.chunks_exact(2)) {
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
        let odd = self.list.parameters.terms.chunks_exact(2).remainder();
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

/// Computes the expectations of the rows of a tile, before they are multiplied by the weights `a`.
struct Expectation<'a, T> {
    tile: Tile<'a, T>,
    out: &'a mut [T],
}

impl<T: Real> Kernel for Expectation<'_, T> {
    #[inline(always)]
    fn run<const FMA: bool>(self) {
        let (tile, length) = (self.tile, self.out.len());
        let mut scratch = [[T::ZERO; TILE]; 3];
        let mut trial = Trial::of_rows(length, &mut scratch);
        let mut kept = Kept(Vec::new());
        let size = tile.list.parameters.terms.len() * length;
        let (mut products, mut sums) = (vec![T::ZERO; size], vec![T::ZERO; size]);
        for &(weight, compared) in &tile.list.parameters.mixture {
            tile.products::<FMA>(compared, &mut trial, &mut kept, &mut products, &mut sums);
            let by_term = products.chunks_exact(length).zip(sums.chunks_exact(length));
            for ((products, sums), term) in by_term.zip(&tile.list.parameters.terms) {
                let factor = weight * term.coefficient;
                for ((out, &product), &sum) in self.out.iter_mut().zip(products).zip(sums) {
                    let value = if tile.list.parameters.above == Above::Sum { product * sum } else { product };
                    *out = value.fma::<FMA>(factor, *out);
                }
            }
        }
    }
}

/// Computes the products of all terms for the rows of a tile under the first comparison, `[terms, rows]`.
struct Products<'a, T> {
    tile: Tile<'a, T>,
    products: &'a mut [T],
}

impl<T: Real> Kernel for Products<'_, T> {
    #[inline(always)]
    fn run<const FMA: bool>(self) {
        let (tile, length) = (self.tile, self.tile.rows.len());
        let mut scratch = [[T::ZERO; TILE]; 3];
        let mut trial = Trial::of_rows(length, &mut scratch);
        let (_, compared) = tile.list.parameters.mixture[0];
        tile.products::<FMA>(compared, &mut trial, &mut Kept(Vec::new()), self.products, &mut []);
    }
}

/// Returns the product of each term for each document, `[.., n, terms]`, with 0 for documents of weight 0.
fn products_of_ranks<T: Real>([x, a, b, mask]: [&[T]; 4], n: usize, expectation: &AboveExpectation) -> Vec<T> {
    let (target, width) = (target(), expectation.terms.len());
    each_list_of_documents(mask, [x, a, b], (n, width), x.len() * n * width, |_, [x, a, b], found| {
        let in_boxes = |list, [found]: [&mut [f32]; 1]| {
            above_boxes::List::new(target, list, expectation).map(|list| list.products(target, found))
        };
        if in_single([&x, &a, &b], [&mut *found], in_boxes).flatten().is_some() {
            return;
        }
        let list = List::new(x, &a, b, expectation);
        let mut tiled = vec![T::ZERO; list.rows.len() * width];
        list.each_tile(width, &mut tiled, |tile, products| dispatch(target, Products { tile, products }));
        for (rows, products) in list.rows.chunks(TILE).zip(tiled.chunks(TILE * width)) {
            for (at, &row) in rows.iter().enumerate() {
                for (m, found) in found[row * width..][..width].iter_mut().enumerate() {
                    *found = products[m * rows.len() + at];
                }
            }
        }
    })
}

/// Returns the expectation `a_i E[A_i D(R_i)]` of each document and, for independent ranks, the products of the terms.
/// The lists have `n` documents.
pub fn above_expectation<T: Real>(inputs: [&[T]; 4], n: usize, expectation: &AboveExpectation) -> Vec<Vec<T>> {
    let [x, a, b, mask] = inputs;
    if expectation.of_independent_ranks().is_some() {
        let products = products_of_ranks(inputs, n, expectation);
        let of_document = |(a, products): (&T, &[T])| {
            let terms = products.iter().zip(&expectation.terms);
            *a * T::from_f64(terms.map(|(product, term)| product.to_f64() * term.coefficient).sum())
        };
        let out = a.iter().zip(products.chunks_exact(expectation.terms.len())).map(of_document).collect();
        return vec![out, products];
    }
    let target = target();
    let work = x.len() * n * work_per_pair(expectation, n);
    let out = each_list_of_documents(mask, [x, a, b], (n, 1), work, |_, [x, a, b], expected| {
        let fast = |list, [expected]: [&mut [f32]; 1]| {
            if let Some(levels) = above_levels::List::new(target, list, expectation) {
                levels.value(target, expected);
                return Some(());
            }
            above_boxes::List::new(target, list, expectation).map(|boxes| boxes.value(target, expected))
        };
        if in_single([&x, &a, &b], [&mut *expected], fast).flatten().is_some() {
            return;
        }
        let list = List::new(x, &a, b, expectation);
        let mut of_rows = vec![T::ZERO; list.rows.len()];
        list.each_tile(1, &mut of_rows, |tile, out| dispatch(target, Expectation { tile, out }));
        for ((&row, &weight), &value) in list.rows.iter().zip(&list.weights).zip(&of_rows) {
            expected[row] = weight * value;
        }
    });
    vec![out]
}

/// Computes the gradient over the pairs that combine the rows of a tile with all documents, for both sides of each
/// pair.
struct Gradient<'a, T> {
    tile: Tile<'a, T>,
    /// The products of the forward pass, `[terms, rows]`, if they were stored.
    products: Option<Vec<T>>,
    /// For each row, the incoming gradient times the weight `a`.
    g: &'a [T],
    to_rows: &'a mut [T],
    to_all: &'a mut [T],
}

impl<T: Real> Kernel for Gradient<'_, T> {
    #[inline(always)]
    fn run<const FMA: bool>(self) {
        let (tile, length) = (self.tile, self.to_rows.len());
        let (mut scratch, mut flow, mut partial) = ([[T::ZERO; TILE]; 3], [T::ZERO; TILE], [T::ZERO; TILE]);
        let (flow, partial) = (&mut flow[..length], &mut partial[..length]);
        let mut trial = Trial::of_rows(length, &mut scratch);
        let size = tile.list.parameters.terms.len() * length;
        let known = self.products.is_some();
        let mut kept = if known { Kept(Vec::new()) } else { Kept::new(length, tile.list.x.len()) };
        let (mut products, mut sums) = (self.products.unwrap_or_else(|| vec![T::ZERO; size]), vec![T::ZERO; size]);
        for &(weight, compared) in &tile.list.parameters.mixture {
            if !known {
                tile.products::<FMA>(compared, &mut trial, &mut kept, &mut products, &mut sums);
            }
            // From here on, `products` holds the derivatives with respect to the product, and `sums` holds those with
            // respect to one of its factors.
            let by_term = products.chunks_exact_mut(length).zip(sums.chunks_exact_mut(length));
            for ((products, sums), term) in by_term.zip(&tile.list.parameters.terms) {
                let factor = weight * term.coefficient;
                for ((product, sum), &g) in products.iter_mut().zip(sums.iter_mut()).zip(self.g) {
                    *product = flushed(*product * g * factor);
                    *sum = -*product * *sum * term.gap;
                    if tile.list.parameters.above == Above::Nothing {
                        *product = *product * term.gap;
                    }
                }
            }
            let slope = compared.rate * T::from_f64(0.5 * std::f64::consts::FRAC_2_SQRT_PI);
            for (j, &b) in tile.list.b.iter().enumerate() {
                if !kept.restore(j, &mut trial) {
                    tile.meet::<FMA>(j, compared, &mut trial);
                }
                flow.fill(T::ZERO);
                match tile.list.parameters.above {
                    // All documents have the same gaps, which the derivatives already include.
                    Above::Nothing => tile.add_product_flows::<FMA>(b, &trial, &products, flow, |by, _| by),
                    Above::Product => tile.add_product_flows::<FMA>(b, &trial, &products, flow, |by, gap| by * gap),
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

/// Returns the gradient of [`above_expectation`] with respect to `x`; `products` are those that the forward pass
/// returned.
pub fn above_expectation_gradient<T: Real>(
    [x, a, b, mask]: [&[T]; 4],
    products: Option<&[T]>,
    g: &[T],
    n: usize,
    expectation: &AboveExpectation,
) -> Vec<T> {
    let (target, width) = (target(), expectation.terms.len());
    let work = x.len() * n * work_per_pair(expectation, n);
    each_list_of_documents(mask, [x, a, b, g], (n, 1), work, |number, [x, a, b, g], to_x| {
        // `[documents, terms]`
        let cells = number * n..(number + 1) * n;
        let products: Option<Vec<T>> = products.map(|products| {
            let of_document = |i: usize| &products[(cells.start + i) * width..][..width];
            documents(&mask[cells.clone()]).into_iter().flat_map(of_document).copied().collect()
        });
        let fast = |[x, a, b, g, of_terms]: [&[f32]; 5], [to_x]: [&mut [f32]; 1]| {
            if let Some(levels) = above_levels::List::new(target, [x, a, b], expectation) {
                levels.gradient(target, g, to_x);
                return Some(());
            }
            let of_terms = products.is_some().then_some(of_terms);
            above_boxes::List::new(target, [x, a, b], expectation)
                .map(|boxes| boxes.gradient(target, of_terms, g, to_x))
        };
        let of_terms = products.as_deref().unwrap_or_default();
        if in_single([&x, &a, &b, &g, of_terms], [&mut *to_x], fast).flatten().is_some() {
            return;
        }
        // A document without an incoming gradient sends none.
        let weights: Vec<T> = a.iter().zip(&g).map(|(&a, &g)| if a == T::ZERO { a } else { a * g }).collect();
        let list = List::new(x, &weights, b, expectation);
        let of_rows = |rows: &[usize]| {
            let products = products.as_ref()?;
            Some((0..width).flat_map(|m| rows.iter().map(move |&row| products[row * width + m])).collect())
        };
        let mut to_rows = vec![T::ZERO; list.rows.len()];
        let partials = each_stripe(&mut to_rows, list.x.len(), list.work, |stripe, to_rows, to_all| {
            for (number, to_rows) in to_rows.chunks_mut(TILE).enumerate() {
                let start = stripe.start + number * TILE;
                let tile = list.tile(start..start + to_rows.len());
                let (products, g) = (of_rows(tile.rows), &list.weights[start..][..to_rows.len()]);
                dispatch(target, Gradient { tile, products, g, to_rows, to_all });
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

    /// Under exact noise, the number of comparisons depends on the number of documents, not on padding.
    #[test]
    fn padding_changes_no_bit_under_exact_noise_in_double_precision() {
        let terms = vec![ExponentialTerm { coefficient: 0.5, base: 0.7 }];
        let expectation = AboveExpectation { noise: ScoreNoise::Exact { sigma: 0.4 }, terms, above: Above::Sum };
        let run = |padding: usize| {
            let padded = |values: [f64; 4]| [values.to_vec(), vec![0.0; padding]].concat();
            let (x, b, mask) = (padded([0.3, -0.2, 1.1, 0.4]), padded([1.0, 0.0, 2.0, 0.5]), padded([1.0; 4]));
            let (inputs, n) = ([&x[..], &mask, &b, &mask], 4 + padding);
            let out = above_expectation(inputs, n, &expectation).remove(0);
            let gradient = above_expectation_gradient(inputs, None, &mask, n, &expectation);
            [out, gradient].map(|values| values[..4].to_vec())
        };
        assert_eq!(run(0), run(60));
    }
}
