//! Computes [`above_expectation`](crate::op::above_expectation()) on a GPU.
//!
//! Documents whose weight is 0 are not computed as rows, and padding is not visited as a column
//! ([`members`](super::members)). The factors of a product are computed as in
//! [`rank_expectation`](super::rank_expectation), and the terms of a row are divided among units in the same way. For
//! the gradient, the products are computed again under each comparison. Each cube (thread block) sums the gradient of
//! its rows for every column, and a second kernel adds these sums. No array over pairs is needed.

use burn::tensor::FloatDType;
use burn_cubecl::CubeBackend;

use super::*;

/// The largest number of terms for which the shared memory of every device suffices for the gradient kernel.
pub(super) const MOST_TERMS: usize = 40;

/// The number of columns in a tile, whose trials are in shared memory at the same time.
const TILE: usize = 16;

/// The smallest value that a factor of a product may have.
const SMALLEST: f32 = <f32 as Real>::SMALLEST_FACTOR;

/// Returns the tensor `b` that the kernels read. If only the rank matters, this tensor is 0, so that every factor
/// `1 - b` is 1.
pub(super) fn contributed(b: &CubeTensor, above: Above) -> CubeTensor {
    match above {
        Above::Nothing => CubeBackend::float_zeros(b.shape(), &b.device, FloatDType::F32),
        Above::Sum | Above::Product => b.clone(),
    }
}

/// Returns how many terms each unit computes.
pub(super) fn own(terms: &[ExponentialTerm]) -> usize {
    terms.len().div_ceil(SLICES)
}

/// Returns the bases, the gaps (one minus the base) and the coefficients of the terms, `own * SLICES` numbers each.
/// They are padded, so that all units have the same number of terms. A lower bound ensures that the product of two
/// bases does not underflow.
pub(super) fn padded_terms(terms: &[ExponentialTerm]) -> Vec<f32> {
    let column = |of: fn(&ExponentialTerm) -> f64, filler: f32| {
        let mut column: Vec<f32> = terms.iter().map(|term| of(term) as f32).collect();
        column.resize(own(terms) * SLICES, filler);
        column
    };
    let bases = column(|term| term.base, 1.0).into_iter().map(|base| base.max(SMALLEST)).collect();
    [bases, column(|term| 1.0 - term.base, 0.0), column(|term| term.coefficient, 0.0)].concat()
}

/// Returns the factor by which a document above, whose number is `b`, changes the product. The factor is `1 - b`, or 1
/// for a sum.
#[cube]
pub(super) fn passes(b: f32, #[comptime] sum: bool) -> f32 {
    if comptime!(sum) { f32::new(1.0f32) } else { 1.0f32 - b }
}

/// Shared memory for the trials of a tile of columns against the rows of a cube. For each pair, the memory holds the
/// probability that the column is above the row, and the probability that it is not. For each column, the memory also
/// holds the number `b`.
#[derive(CubeType)]
struct Scratch {
    ahead: Shared<[f32]>,
    behind: Shared<[f32]>,
    tile_b: Shared<[f32]>,
}

/// Visits all columns. For each term of the unit, sets `products` to the product of the factors of the columns, and
/// `sums` to the number `b` of the row plus the shares of the columns. The array `terms` comes from [`padded_terms`].
/// All units of a cube must call this function together, since it waits for them.
#[cube]
fn meet(
    x: &[f32],
    b: &[f32],
    order: &[u32],
    terms: &[f32],
    place: Place,
    row: Row,
    comparison: Comparison,
    scratch: &mut Scratch,
    products: &mut Array<f32>,
    sums: &mut Array<f32>,
    #[comptime] own: usize,
    #[comptime] sum: bool,
) {
    #[unroll]
    for term in 0..own {
        products[term] = 1.0f32;
        sums[term] = b[row.cell];
    }
    for start in range_stepped(0, row.visited, TILE) {
        let length = min(row.visited - start, TILE);
        for j in range_stepped(place.slice, length, SLICES) {
            let other = place.list + order[row.columns + start + j] as usize;
            let beats = probability((x[other] - row.x) * comparison.rate - comparison.shift);
            scratch.ahead[j * ROWS + place.lane] = select(other != row.cell, beats.of, 0.0f32);
            scratch.behind[j * ROWS + place.lane] = select(other != row.cell, beats.against, 1.0f32);
            if place.lane == 0 {
                scratch.tile_b[j] = b[other];
            }
        }
        sync_cube();
        for j in 0..length {
            let ahead = scratch.ahead[j * ROWS + place.lane];
            let behind = scratch.behind[j * ROWS + place.lane];
            let b = scratch.tile_b[j];
            let left = passes(b, sum);
            #[unroll]
            for term in 0..own {
                let m = place.slice + term * SLICES;
                let whole = terms[m];
                let base = whole * left;
                let loss = ahead * fma(whole, 1.0f32 - left, terms[comptime!(own * SLICES) + m]);
                let factor = max(fma(ahead, base, behind), comptime!(SMALLEST));
                let large = fma(-products[term], loss, products[term]);
                products[term] = select(loss < 0.5f32, large, products[term] * factor);
                if comptime!(sum) {
                    sums[term] += ahead * b * base / factor;
                }
            }
        }
        sync_cube();
    }
}

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

/// Returns the name under which a compiled kernel is known; expectations with the same name share the kernel.
fn name(expectation: &AboveExpectation) -> String {
    let (kind, _) = numbers(&expectation.noise);
    format!("above_expectation, {kind:?}, {:?}, {} terms a unit", expectation.above, own(&expectation.terms))
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
        let (terms, noise) = (batch.upload(&padded_terms(&expectation.terms)), batch.upload(&noise));
        let (own, sum) = (own(&expectation.terms), expectation.above == Above::Sum);
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
        let (terms, noise) = (batch.upload(&padded_terms(&expectation.terms)), batch.upload(&noise));
        let (own, is_sum) = (own(&expectation.terms), expectation.above == Above::Sum);
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
