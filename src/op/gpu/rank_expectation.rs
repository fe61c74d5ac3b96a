//! Computes [`above_expectation`](crate::op::above_expectation()) on a GPU if only the rank matters and there is [one
//! comparison](crate::op::AboveExpectation::of_independent_ranks).
//!
//! A factor `1 + pi (z - 1)` below 1/2 is computed as `(1 - pi) + pi z`. The probabilities `pi` and `1 - pi` come from
//! `erfc`, which is precise for `pi` near 1. For larger factors, the new product is `p - p pi (1 - z)`; the host
//! computes `1 - z` in double precision. The formula `p - p pi (1 - z)` keeps rounding errors from adding up where `z`
//! is near 1, and where tied documents have equal factors. The terms of a row are divided among its units: unit `s`
//! computes the products for the terms `s, s + SLICES, ..`.

use super::above_expectation::{own, padded_terms};
use super::*;

/// The number of columns in a tile. The units of a row share the computation of their probabilities.
const TILE: usize = 32;

/// The largest number of terms for which the shared memory of every device suffices for a tile.
pub(super) const MOST_TERMS: usize = 48;

/// For each row `i`, computes the product `P_im` over the documents `j != i` for each term, and `m_i sum_m c_m P_im`.
/// The array `terms` comes from [`padded_terms`]. Each unit computes `own` terms; beyond the last term of the discount,
/// the coefficients are 0.
#[cube(launch)]
fn values(
    x: &[f32],
    mask: &[f32],
    order: &[u32],
    terms: &[f32],
    out: &mut [f32],
    products: &mut [f32],
    lists: usize,
    documents: usize,
    count: usize,
    rate: f32,
    #[comptime] own: usize,
) {
    let place = place(lists, documents);
    let row = row(x, order, place, documents);
    let mut ahead = Shared::<[f32]>::new_slice(TILE * ROWS);
    let mut behind = Shared::<[f32]>::new_slice(TILE * ROWS);
    let mut sums = Shared::<[f32]>::new_slice(UNITS);
    let mut base = Array::<f32>::new(own);
    let mut gap = Array::<f32>::new(own);
    let mut product = Array::<f32>::new(own);
    #[unroll]
    for term in 0..own {
        let m = place.slice + term * SLICES;
        base[term] = terms[m];
        gap[term] = terms[comptime!(own * SLICES) + m];
        product[term] = 1.0f32;
    }
    for start in range_stepped(0, row.visited, TILE) {
        let length = min(row.visited - start, TILE);
        for j in range_stepped(place.slice, length, SLICES) {
            let other = place.list + order[row.columns + start + j] as usize;
            let beats = probability((x[other] - row.x) * rate);
            let counts = other != row.cell;
            ahead[j * ROWS + place.lane] = select(counts, beats.of, 0.0f32);
            behind[j * ROWS + place.lane] = select(counts, beats.against, 1.0f32);
        }
        sync_cube();
        for j in 0..length {
            let ahead = ahead[j * ROWS + place.lane];
            let behind = behind[j * ROWS + place.lane];
            #[unroll]
            for term in 0..own {
                let loss = ahead * gap[term];
                let large = fma(-product[term], loss, product[term]);
                product[term] = select(loss < 0.5f32, large, product[term] * fma(ahead, base[term], behind));
            }
        }
        sync_cube();
    }
    let mut expectation = 0.0f32;
    #[unroll]
    for term in 0..own {
        let m = place.slice + term * SLICES;
        expectation = fma(terms[comptime!(2 * own * SLICES) + m], product[term], expectation);
        if place.exists && m < count {
            products[row.cell * count + m] = product[term];
        }
    }
    let expectation = sum_of_row(expectation, place, &mut sums);
    if place.exists && place.slice == 0 {
        out[row.cell] = expectation * mask[row.cell];
    }
}

/// For each row `k`, computes
/// `density sum_j m_j exp(-t_kj^2) sum_m (W_jm / (1 + pi_kj (z_m - 1)) - W_km / (1 + pi_jk (z_m - 1)))` with
/// `W_im = m_i g_i slope_m P_im`.
#[cube(launch)]
fn gradients(
    x: &[f32],
    mask: &[f32],
    order: &[u32],
    products: &[f32],
    g: &[f32],
    bases: &[f32],
    slopes: &[f32],
    to_x: &mut [f32],
    lists: usize,
    documents: usize,
    rate: f32,
    density: f32,
    #[comptime] terms: usize,
) {
    let place = place(lists, documents);
    let row = row(x, order, place, documents);
    // One array is by row and then by term, and the other is by term and then by row. Units of a row then read one
    // word, and units of neighboring rows read neighboring words.
    let mut of_tile = Shared::<[f32]>::new_slice(TILE * terms);
    let mut of_rows = Shared::<[f32]>::new_slice(terms * ROWS);
    let mut sums = Shared::<[f32]>::new_slice(UNITS);
    let row_g = g[row.cell] * mask[row.cell];
    for m in range_stepped(place.slice, terms, SLICES) {
        of_rows[m * ROWS + place.lane] = products[row.cell * terms + m] * slopes[m] * row_g;
    }
    let mut sum = 0.0f32;
    for start in range_stepped(0, row.visited, TILE) {
        let length = min(row.visited - start, TILE);
        for entry in range_stepped(place.unit, length * terms, UNITS) {
            let other = place.list + order[row.columns + start + entry / terms] as usize;
            let m = entry % terms;
            of_tile[entry] = products[other * terms + m] * slopes[m] * g[other];
        }
        sync_cube();
        let mut partial = 0.0f32;
        for j in range_stepped(place.slice, length, SLICES) {
            let other = place.list + order[row.columns + start + j] as usize;
            let beats = probability((x[other] - row.x) * rate);
            let mut flow = 0.0f32;
            for m in 0..terms {
                let base = bases[m];
                let of_other = fma(beats.against, base, beats.of);
                let of_row = fma(beats.of, base, beats.against);
                // One division gives both quotients. They are close if sigma is large, so their difference must be
                // precise.
                let tile = of_tile[j * terms + m];
                let own = of_rows[m * ROWS + place.lane];
                flow += difference_of_products(tile, of_row, own, of_other) / (of_other * of_row);
            }
            let counts = other != row.cell;
            partial += select(counts, beats.bell * flow, 0.0f32);
        }
        sum += partial;
        sync_cube();
    }
    let sum = sum_of_row(sum, place, &mut sums);
    if place.exists && place.slice == 0 {
        to_x[row.cell] = sum * density * mask[row.cell];
    }
}

/// Returns the expectation of each document times its weight `a`, and the product of each term.
pub fn rank_expectation([x, a, _, mask]: [&CubeTensor; 4], rate: f64, terms: &[ExponentialTerm]) -> Outputs {
    let own = own(terms);
    compute(&format!("above_expectation, independent, {own} terms a unit"), x, Some(mask), 6, |batch| {
        let order = order(batch, Rule::Separately, mask, mask);
        let (out, products) = (batch.per_document(), batch.numbers([batch.lists, batch.documents, terms.len()]));
        let (count, terms) = (terms.len(), batch.upload(&padded_terms(terms)));
        start!(batch.cubes(), values::launch, [x, mask, &order, &terms], [&out, &products], count, rate as f32, own);
        vec![product(&out, a), products]
    })
}

/// Returns the gradient of [`rank_expectation`] with respect to `x`, given the gradient `g` of its output. The tensor
/// `products` comes from the forward pass.
pub fn rank_expectation_gradient(
    [x, a, _, mask]: [&CubeTensor; 4],
    products: &CubeTensor,
    g: &CubeTensor,
    rate: f64,
    terms: &[ExponentialTerm],
) -> Outputs {
    if terms.len() > MOST_TERMS {
        return None;
    }
    let name = format!("gradient of above_expectation, independent, {} terms", terms.len());
    compute(&name, x, Some(mask), 8, |batch| {
        let order = order(batch, Rule::Separately, mask, mask);
        let to_x = batch.per_document();
        let weights = product(a, g);
        let slopes: Vec<f32> = terms.iter().map(|term| (term.coefficient * (term.base - 1.0)) as f32).collect();
        let density = (rate * 0.5 * std::f64::consts::FRAC_2_SQRT_PI) as f32;
        let (bases, slopes) = (batch.upload(&padded_terms(terms)), batch.upload(&slopes));
        start!(
            batch.cubes(),
            gradients::launch,
            [x, mask, &order, products, &weights, &bases, &slopes],
            [&to_x],
            rate as f32,
            density,
            terms.len()
        );
        vec![to_x]
    })
}
