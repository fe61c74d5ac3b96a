//! Computes [`above_expectation`](crate::op::above_expectation()) on a GPU.
//!
//! Documents whose weight is 0 are not computed as rows, and padding is not visited as a column
//! ([`members`](super::members)). The factors of a product are computed as in
//! [`rank_expectation`](super::rank_expectation), and the terms of a row are divided among units in the same way. For
//! the gradient, the products are computed again under each comparison. Each cube (thread block) sums the gradient of
//! its rows for every column, and a second kernel adds these sums. No array over pairs is needed.

use burn_cubecl::cubecl::{self, prelude::*};
use burn_cubecl::tensor::CubeTensor;

use super::above_products::{SMALLEST, Scratch, TILE, contributed, meet, passes};
use super::launch::{Outputs, compute, product, start, sum};
use super::members::{Rule, collect_columns, order, row, send};
use super::noise::{Kind, comparison, comparisons, numbers};
use super::real::probability;
use super::tile::{ROWS, SLICES, STRIDE, UNITS, place, place_in_part, sum_of_row};
use crate::op::cpu::{Above, AboveExpectation};

/// The largest number of terms for which the shared memory of every device suffices for the gradient kernel.
pub(super) const MOST_TERMS: usize = 40;

/// Computes the expectation of each row `i`, which is `a_i` times the mean over comparisons of `sum_m c_m P_im S_im`
/// (with a sum) or `sum_m c_m P_im`.
#[cube(launch)]
fn values(
    x: &[f32],
    a: &[f32],
    b: &[f32],
    order: &[u32],
    terms: &[f32],
    noise: &[f32],
    out: &mut [f32],
    lists: usize,
    documents: usize,
    #[comptime] kind: Kind,
    #[comptime] own: usize,
    #[comptime] sum: bool,
) {
    let place = place(lists, documents);
    let row = row(x, order, place, documents);
    let mut scratch = Scratch {
        ahead: Shared::<[f32]>::new_slice(TILE * ROWS),
        behind: Shared::<[f32]>::new_slice(TILE * ROWS),
        tile_b: Shared::<[f32]>::new_slice(TILE),
    };
    let mut row_sums = Shared::<[f32]>::new_slice(UNITS);
    let mut products = Array::<f32>::new(own);
    let mut sums = Array::<f32>::new(own);
    let mut expectation = 0.0f32;
    let comparisons = comparisons(noise, row.column_count, kind);
    for number in 0..comparisons {
        let comparison = comparison(noise, number, comparisons, kind);
        #[unroll]
        for term in 0..own {
            products[term] = 1.0f32;
            sums[term] = b[row.cell];
        }
        meet(x, b, order, terms, place, row, comparison, &mut scratch, &mut products, &mut sums, own, sum);
        #[unroll]
        for term in 0..own {
            let coefficient = terms[comptime!(2 * own * SLICES) + place.slice + term * SLICES] * comparison.weight;
            if comptime!(sum) {
                expectation = fma(coefficient, products[term] * sums[term], expectation);
            } else {
                expectation = fma(coefficient, products[term], expectation);
            }
        }
    }
    let expectation = sum_of_row(expectation, place, &mut row_sums);
    if place.exists && place.slice == 0 {
        out[row.cell] = select(row.counts, expectation * a[row.cell], 0.0f32);
    }
}

/// Computes the gradient over the pairs that combine the rows of a cube with all columns. The argument `w` holds the
/// weight `a` of each row times the incoming gradient. The gradient with respect to the rows themselves is written to
/// `to_rows`. The gradient with respect to each column, summed over the rows of the cube, is written to `partials`. The
/// first cube of this launch has the number `first` in the batch.
#[cube(launch)]
fn flows(
    x: &[f32],
    w: &[f32],
    b: &[f32],
    order: &[u32],
    terms: &[f32],
    noise: &[f32],
    to_rows: &mut [f32],
    partials: &mut [f32],
    first: usize,
    cubes: usize,
    documents: usize,
    #[comptime] kind: Kind,
    #[comptime] own: usize,
    #[comptime] sum: bool,
) {
    let place = place_in_part(first, cubes, documents);
    let row = row(x, order, place, documents);
    let mut scratch = Scratch {
        ahead: Shared::<[f32]>::new_slice(TILE * STRIDE),
        behind: Shared::<[f32]>::new_slice(TILE * ROWS),
        tile_b: Shared::<[f32]>::new_slice(TILE),
    };
    // Derivatives by the products of the terms, and by a factor of each.
    let mut by_product = Shared::<[f32]>::new_slice(own * UNITS);
    let mut by_factor = Shared::<[f32]>::new_slice(comptime!(if sum { own * UNITS } else { 1 }));
    let mut row_sums = Shared::<[f32]>::new_slice(UNITS);
    let row_w = select(place.exists && row.counts, w[row.cell], 0.0f32);
    let mut products = Array::<f32>::new(own);
    let mut sums = Array::<f32>::new(own);
    let mut to_row = 0.0f32;
    let comparisons = comparisons(noise, row.column_count, kind);
    for number in 0..comparisons {
        let comparison = comparison(noise, number, comparisons, kind);
        #[unroll]
        for term in 0..own {
            products[term] = 1.0f32;
            sums[term] = b[row.cell];
        }
        meet(x, b, order, terms, place, row, comparison, &mut scratch, &mut products, &mut sums, own, sum);
        #[unroll]
        for term in 0..own {
            let m = place.slice + term * SLICES;
            let weight = products[term] * row_w * comparison.weight * terms[comptime!(2 * own * SLICES) + m];
            by_product[m * ROWS + place.lane] = weight;
            if comptime!(sum) {
                by_factor[m * ROWS + place.lane] = -weight * sums[term] * terms[comptime!(own * SLICES) + m];
            }
        }
        sync_cube();
        let slope = comparison.rate * comptime!(0.5 * std::f32::consts::FRAC_2_SQRT_PI);
        for start in range_stepped(0, row.visited, TILE) {
            let length = min(row.visited - start, TILE);
            let mut partial = 0.0f32;
            for j in range_stepped(place.slice, length, SLICES) {
                let other = place.list + order[row.columns + start + j] as usize;
                let beats = probability((x[other] - row.x) * comparison.rate - comparison.shift);
                let b = b[other];
                let left = passes(b, sum);
                let mut flow = 0.0f32;
                for m in 0..comptime!(own * SLICES) {
                    let whole = terms[m];
                    let base = whole * left;
                    let factor = max(fma(beats.of, base, beats.against), comptime!(SMALLEST));
                    let by_product = by_product[m * ROWS + place.lane];
                    if comptime!(sum) {
                        flow += (by_factor[m * ROWS + place.lane] + by_product * b * base / factor) / factor;
                    } else {
                        let gap = fma(whole, b, terms[comptime!(own * SLICES) + m]);
                        flow -= by_product * gap / factor;
                    }
                }
                let flow = select(other != row.cell, flow * beats.bell * slope, 0.0f32);
                partial += flow;
                scratch.ahead[j * STRIDE + place.lane] = flow;
            }
            to_row -= partial;
            sync_cube();
            if place.unit < length {
                let entry = CUBE_POS * documents + start + place.unit;
                send(&scratch.ahead, place.unit, partials, entry, number == 0);
            }
            sync_cube();
        }
    }
    let to_row = sum_of_row(to_row, place, &mut row_sums);
    if place.exists && place.slice == 0 {
        to_rows[row.cell] = select(row.counts, to_row, 0.0f32);
    }
}

/// Returns how many terms each unit computes.
fn own(expectation: &AboveExpectation) -> usize {
    expectation.terms.len().div_ceil(SLICES)
}

/// Returns the bases, the gaps (one minus the base) and the coefficients of the terms. Each of these lists is padded,
/// so that all units have the same number of terms.
fn terms(expectation: &AboveExpectation) -> Vec<f32> {
    let length = own(expectation) * SLICES;
    let column = |of: &dyn Fn(usize) -> f64, filler: f32| {
        let mut column: Vec<f32> = (0..expectation.terms.len()).map(|m| of(m) as f32).collect();
        column.resize(length, filler);
        column
    };
    let terms = &expectation.terms;
    let bases = column(&|m| terms[m].base, 1.0).into_iter().map(|base| base.max(SMALLEST)).collect();
    [bases, column(&|m| 1.0 - terms[m].base, 0.0), column(&|m| terms[m].coefficient, 0.0)].concat()
}

/// Returns the name under which a compiled kernel is known; expectations with the same name share the kernel.
fn name(expectation: &AboveExpectation) -> String {
    let (kind, _) = numbers(&expectation.noise);
    format!("above_expectation, {kind:?}, {:?}, {} terms a unit", expectation.above, own(expectation))
}

/// See [`above_expectation`](crate::op::above_expectation()).
pub fn above_expectation([x, a, b, mask]: [&CubeTensor; 4], expectation: &AboveExpectation) -> Outputs {
    if expectation.terms.len() > MOST_TERMS {
        return None;
    }
    compute(&name(expectation), x, Some(mask), 7, |batch| {
        let a = product(a, mask);
        let order = order(batch, Rule::Separately, &a, mask);
        let out = batch.per_document();
        let ((kind, noise), b) = (numbers(&expectation.noise), contributed(b, expectation.above));
        let (terms, noise) = (batch.upload(&terms(expectation)), batch.upload(&noise));
        let (own, sum) = (own(expectation), expectation.above == Above::Sum);
        start!(batch.cubes(), values::launch, [x, &a, &b, &order, &terms, &noise], [&out], kind, own, sum);
        vec![out]
    })
}

/// Returns the gradient of [`above_expectation`] with respect to `x`, given the gradient `g` of its output.
pub fn above_expectation_gradient(
    [x, a, b, mask]: [&CubeTensor; 4],
    g: &CubeTensor,
    expectation: &AboveExpectation,
) -> Outputs {
    if expectation.terms.len() > MOST_TERMS {
        return None;
    }
    compute(&format!("gradient of {}", name(expectation)), x, Some(mask), 8, |batch| {
        let weights = product(&product(a, g), mask);
        let order = order(batch, Rule::Separately, &weights, mask);
        let [to_rows, to_columns] = [batch.per_document(), batch.per_document()];
        let ((kind, noise), b) = (numbers(&expectation.noise), contributed(b, expectation.above));
        let (terms, noise) = (batch.upload(&terms(expectation)), batch.upload(&noise));
        let (own, is_sum) = (own(expectation), expectation.above == Above::Sum);
        for part in batch.parts(batch.documents) {
            let partials = batch.numbers([part.cubes, batch.documents]);
            start!(batch.cubes_for(part.cubes), flows::launch,
                [x, &weights, &b, &order, &terms, &noise], [&to_rows, &partials];
                part.first, part.cubes, batch.documents, kind, own, is_sum);
            collect_columns(batch, part, 1, &partials, &order, &to_columns);
        }
        vec![sum(to_rows, to_columns)]
    })
}
