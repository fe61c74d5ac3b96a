//! Fused [`rank_expectation`](crate::op::rank_expectation()).
//!
//! A product `p` over documents takes the factor `1 + pi (z - 1)` as `p - p pi (1 - z)` for a base `z` of at least 1/2,
//! so that neither the rounding of `z` nor that of equal factors of tied documents adds up; for a smaller base as
//! `(1 - pi) + pi z`, both probabilities from `erfc`, so that it keeps its precision when `pi` is close to 1. Long
//! lists take [boxes](crate::op::cpu::long::rank_boxes).

use super::beats::beats;
use crate::op::cpu::{
    dispatch::{Kernel, dispatch, target},
    each_list::each_stripe,
    list::{counting, diverged, documents, gather, scatter},
    long::rank_boxes,
    parallel::for_each,
    parameters::ExponentialTerm,
    real::Real,
    sum::sum,
    tiles::{BLOCK, TILE, add, reduce},
};

/// Terms in the type of the kernels.
struct Terms<T> {
    /// `z_m`
    bases: Vec<T>,
    /// `1 - z_m`
    gaps: Vec<T>,
    /// `c_m (z_m - 1)`
    slopes: Vec<T>,
    coefficients: Vec<T>,
    /// `1 / (2 sigma)`
    rate: T,
}

impl<T: Real> Terms<T> {
    fn new(terms: &[ExponentialTerm], sigma: f64) -> Self {
        Self {
            bases: terms.iter().map(|term| T::from_f64(term.base).larger(T::SMALLEST_FACTOR)).collect(),
            gaps: terms.iter().map(|term| T::from_f64(1.0 - term.base)).collect(),
            slopes: terms.iter().map(|term| T::from_f64(term.coefficient * (term.base - 1.0))).collect(),
            coefficients: terms.iter().map(|term| T::from_f64(term.coefficient)).collect(),
            rate: T::from_f64(0.5 / sigma),
        }
    }

    fn len(&self) -> usize {
        self.bases.len()
    }
}

/// 0 in place of values so small that arithmetic on them is slow, and that no sum would show.
#[inline(always)]
pub(in crate::op::cpu) fn flushed<T: Real>(value: T) -> T {
    if value.abs() < T::SMALLEST_FACTOR * T::SMALLEST_FACTOR { T::ZERO } else { value }
}

/// Products over the documents for some rows of one list: term by term, `[terms, rows]`.
struct Products<'a, T> {
    x: &'a [T],
    terms: &'a Terms<T>,
    /// Scores of the rows, and their places among the documents, which ascend.
    rows: &'a [T],
    places: &'a [usize],
    products: &'a mut [T],
}

impl<T: Real> Kernel for Products<'_, T> {
    #[inline(always)]
    fn run<const FMA: bool>(self) {
        let (rows, length) = (self.rows, self.rows.len());
        let (mut ahead, mut behind) = ([T::ZERO; TILE], [T::ZERO; TILE]);
        let (ahead, behind) = (&mut ahead[..length], &mut behind[..length]);
        self.products.fill(T::ONE);
        for (j, &x) in self.x.iter().enumerate() {
            if j % BLOCK == BLOCK - 1 {
                for product in self.products.iter_mut() {
                    *product = flushed(*product);
                }
            }
            for ((ahead, behind), &row) in ahead.iter_mut().zip(behind.iter_mut()).zip(rows) {
                (*ahead, *behind, _) = beats::<T, FMA>((x - row) * self.terms.rate);
            }
            if let Ok(own) = self.places.binary_search(&j) {
                (ahead[own], behind[own]) = (T::ZERO, T::ONE);
            }
            let terms = self.terms.bases.iter().zip(&self.terms.gaps);
            for (products, (&base, &gap)) in self.products.chunks_exact_mut(length).zip(terms) {
                if gap <= T::HALF {
                    for (product, &ahead) in products.iter_mut().zip(ahead.iter()) {
                        *product = (*product * ahead).fma::<FMA>(-gap, *product);
                    }
                } else {
                    for ((product, &ahead), &behind) in products.iter_mut().zip(ahead.iter()).zip(behind.iter()) {
                        *product = *product * ahead.fma::<FMA>(base, behind);
                    }
                }
            }
        }
    }
}

/// `sum_m c_m prod_{j != i} (1 + pi_ji (z_m - 1))` for lists of `n` documents, and the products `[.., n, terms]`; 0 for
/// documents with `counted` 0, where it is given.
pub fn rank_expectation<T: Real>(
    x: &[T],
    mask: &[T],
    counted: Option<&[T]>,
    n: usize,
    sigma: f64,
    terms: &[ExponentialTerm],
) -> (Vec<T>, Vec<T>) {
    let (exact, terms, whole) = (terms, Terms::new(terms, sigma), mask);
    let (width, target) = (terms.len(), target());
    let (mut out, mut products) = (vec![T::ZERO; x.len()], vec![T::ZERO; x.len() * width]);
    let inputs = x.chunks(n).zip(mask.chunks(n)).enumerate();
    let lists = inputs.zip(out.chunks_mut(n).zip(products.chunks_mut(n * width))).collect();
    for_each(lists, x.len() * n * width, |((list, (x, mask)), (out, products))| {
        let members = documents(mask);
        let places = counting(&gather(&counted.unwrap_or(whole)[list * n..(list + 1) * n], &members));
        let x = gather(x, &members);
        if diverged(&x, &mut []) {
            for &i in &members {
                out[i] = T::from_f64(f64::NAN);
                products[i * width..][..width].fill(out[i]);
            }
            return;
        }
        if rank_boxes::pays(target, &x, places.len()) {
            let of_members = rank_boxes::products(target, &x, sigma, exact);
            for &place in &places {
                let (i, values) = (members[place], &of_members[place * width..][..width]);
                products[i * width..][..width].copy_from_slice(values);
                let terms = values.iter().zip(exact);
                out[i] = T::from_f64(terms.map(|(value, term)| value.to_f64() * term.coefficient).sum());
            }
            return;
        }
        // Tile by tile, term by term.
        let mut tiled = vec![T::ZERO; places.len() * width];
        let rows = gather(&x, &places);
        let tiles = rows.chunks(TILE).zip(places.chunks(TILE)).zip(tiled.chunks_mut(TILE * width)).collect();
        for_each(tiles, x.len() * places.len() * width, |((rows, places), products)| {
            dispatch(target, Products { x: &x, terms: &terms, rows, places, products });
        });
        for (tile, values) in tiled.chunks(TILE * width).enumerate() {
            let length = values.len() / width;
            for row in 0..length {
                let i = members[places[tile * TILE + row]];
                for (m, &coefficient) in terms.coefficients.iter().enumerate() {
                    let product = values[m * length + row];
                    products[i * width + m] = product;
                    out[i] = out[i] + coefficient * product;
                }
            }
        }
    });
    (out, products)
}

/// What some rows of one list send to the gradient: to their own documents, and to all documents.
struct Gradient<'a, T> {
    x: &'a [T],
    terms: &'a Terms<T>,
    /// Scores of the rows, and their places among the documents, which ascend.
    rows: &'a [T],
    places: &'a [usize],
    /// `g_i c_m (z_m - 1) P_im`, `[terms, rows]`.
    weights: &'a [T],
    to_rows: &'a mut [T],
    to_all: &'a mut [T],
}

impl<T: Real> Kernel for Gradient<'_, T> {
    #[inline(always)]
    fn run<const FMA: bool>(self) {
        let (rows, length) = (self.rows, self.rows.len());
        let mut scratch = [[T::ZERO; TILE]; 4];
        let [ahead, behind, density, flow] = &mut scratch;
        let (ahead, behind) = (&mut ahead[..length], &mut behind[..length]);
        let (density, flow) = (&mut density[..length], &mut flow[..length]);
        let slope = self.terms.rate * T::from_f64(0.5 * std::f64::consts::FRAC_2_SQRT_PI);
        let mut partial = [T::ZERO; TILE];
        for ((j, &x), to_all) in self.x.iter().enumerate().zip(self.to_all) {
            let probabilities = ahead.iter_mut().zip(behind.iter_mut()).zip(density.iter_mut());
            for (((ahead, behind), density), &row) in probabilities.zip(rows) {
                (*ahead, *behind, *density) = beats::<T, FMA>((x - row) * self.terms.rate);
            }
            flow.fill(T::ZERO);
            // Two terms to a division.
            let mut weights = self.weights.chunks_exact(2 * length);
            let mut bases = self.terms.bases.chunks_exact(2);
            for (weights, bases) in weights.by_ref().zip(bases.by_ref()) {
                let (first, second) = weights.split_at(length);
                let probabilities = ahead.iter().zip(behind.iter());
                for (((flow, (&ahead, &behind)), &first), &second) in
                    flow.iter_mut().zip(probabilities).zip(first).zip(second)
                {
                    let a = ahead.fma::<FMA>(bases[0], behind);
                    let b = ahead.fma::<FMA>(bases[1], behind);
                    *flow = *flow + first.fma::<FMA>(b, second * a) / (a * b);
                }
            }
            for &base in bases.remainder() {
                let probabilities = ahead.iter().zip(behind.iter());
                for ((flow, (&ahead, &behind)), &weight) in flow.iter_mut().zip(probabilities).zip(weights.remainder())
                {
                    *flow = *flow + weight / ahead.fma::<FMA>(base, behind);
                }
            }
            if let Ok(own) = self.places.binary_search(&j) {
                density[own] = T::ZERO;
            }
            for ((flow, to_row), &density) in flow.iter_mut().zip(partial.iter_mut()).zip(density.iter()) {
                *flow = *flow * density * slope;
                *to_row = *to_row - *flow;
            }
            *to_all = *to_all + sum(flow);
            if j % BLOCK == BLOCK - 1 {
                add(self.to_rows, &partial);
                partial.fill(T::ZERO);
            }
        }
        add(self.to_rows, &partial);
    }
}

/// Gradient of [`rank_expectation`] in `x`; `products` are those of the forward pass. A document with a gradient of 0
/// sends nothing.
pub fn rank_expectation_gradient<T: Real>(
    x: &[T],
    mask: &[T],
    products: &[T],
    g: &[T],
    n: usize,
    sigma: f64,
    terms: &[ExponentialTerm],
) -> Vec<T> {
    let (exact, terms) = (terms, Terms::new(terms, sigma));
    let (width, target) = (terms.len(), target());
    let mut to_x = vec![T::ZERO; x.len()];
    let inputs = x.chunks(n).zip(mask.chunks(n)).zip(g.chunks(n)).zip(products.chunks(n * width));
    let lists = inputs.zip(to_x.chunks_mut(n)).collect();
    for_each(lists, x.len() * n * width, |((((x, mask), g), products), to_x)| {
        let members = documents(mask);
        let x = gather(x, &members);
        let mut to_rows = vec![T::ZERO; x.len()];
        if diverged(&x, &mut to_rows) {
            return scatter(to_x, &members, &to_rows);
        }
        let places = counting(&gather(g, &members));
        if rank_boxes::pays(target, &x, places.len()) {
            let of_document = |&i: &usize| {
                let products = products[i * width..][..width].iter().zip(exact);
                products
                    .map(move |(product, term)| g[i].to_f64() * term.coefficient * (term.base - 1.0) * product.to_f64())
            };
            let sent: Vec<f64> = members.iter().flat_map(of_document).collect();
            rank_boxes::gradient(target, &x, &sent, sigma, exact, &mut to_rows);
            return scatter(to_x, &members, &to_rows);
        }
        let (rows, mut to_own) = (gather(&x, &places), vec![T::ZERO; places.len()]);
        let work = x.len() * places.len() * width;
        let partials = each_stripe(&mut to_own, x.len(), work, |stripe, to_rows, to_all| {
            for (tile, to_rows) in to_rows.chunks_mut(TILE).enumerate() {
                let start = stripe.start + tile * TILE;
                let (rows, places) = (&rows[start..][..to_rows.len()], &places[start..][..to_rows.len()]);
                let weights: Vec<T> = (0..width)
                    .flat_map(|m| places.iter().map(|&place| members[place]).map(move |i| (i, m)))
                    .map(|(i, m)| flushed(g[i] * terms.slopes[m] * products[i * width + m]))
                    .collect();
                let tile = Gradient { x: &x, terms: &terms, rows, places, weights: &weights, to_rows, to_all };
                dispatch(target, tile);
            }
        });
        scatter(&mut to_rows, &places, &to_own);
        reduce(&mut to_rows, &partials);
        scatter(to_x, &members, &to_rows);
    });
    to_x
}
