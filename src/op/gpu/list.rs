//! Kernels that need a few sums over each list and no pairs: centered scores, unit gradients, the logarithm of a
//! softmax, and values that a table gives to ranks. One cube computes one list, or one unit a document.
//!
//! Burn's own operations would take a launch for each sum, and launches take most of the time of a training step.

use super::real::{NAN, is_nan};
use super::*;
use crate::op::cpu::{Divisor, EQUAL, FLOOR, SHORT, SHORTEST_GRADIENT};

/// How the values of the units of a cube become one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Joined {
    Sum,
    Largest,
}

#[cube]
fn joined(a: f32, b: f32, #[comptime] by: Joined) -> f32 {
    match by {
        Joined::Sum => a + b,
        Joined::Largest => max(a, b),
    }
}

/// Returns the sum or the largest of the values of all units of a cube, joined in a fixed order. All units must call
/// this function together, since it waits for them.
#[cube]
fn of_cube(value: f32, values: &mut Shared<[f32]>, #[comptime] by: Joined) -> f32 {
    let unit = UNIT_POS as usize;
    // The readers of the previous values must be done.
    sync_cube();
    values[unit] = value;
    sync_cube();
    let mut partial = value;
    if unit < ROWS {
        for other in range_stepped(unit + ROWS, UNITS, ROWS) {
            partial = joined(partial, values[other], by);
        }
    }
    sync_cube();
    if unit < ROWS {
        values[unit] = partial;
    }
    sync_cube();
    let mut all = values[0];
    for other in 1..ROWS {
        all = joined(all, values[other], by);
    }
    all
}

/// Returns NaN if the list has a wrong value, so that a diverged training run is noticed, and `value` otherwise. The
/// number of wrong values is `wrong`.
#[cube]
fn unless_diverged(value: f32, wrong: f32) -> f32 {
    select(wrong > 0.0f32, f32::reinterpret(comptime!(NAN).runtime()), value)
}

/// Subtracts the score nearest to 0, the first of several, and divides by the spread of the list. One cube per list.
#[cube(launch)]
fn centered_values(
    x: &[f32],
    mask: &[f32],
    out: &mut [f32],
    divisors: &mut [f32],
    lists: usize,
    documents: usize,
    #[comptime] power: Option<u32>,
) {
    let mut values = Shared::<[f32]>::new_slice(UNITS);
    let list = min(CUBE_POS, lists - 1);
    let unit = UNIT_POS as usize;
    let cells = list * documents;
    let mut count = 0.0f32;
    let mut wrong = 0.0f32;
    // The largest negative size belongs to the score nearest to 0. It is at most 0.
    let mut nearest = comptime!(f32::MIN).runtime();
    for document in range_stepped(unit, documents, UNITS) {
        if is_counted(mask[cells + document]) {
            let score = x[cells + document];
            count += 1.0f32;
            wrong += select(is_finite(score), 0.0f32, 1.0f32);
            nearest = max(nearest, -score.abs());
        }
    }
    let count = of_cube(count, &mut values, Joined::Sum);
    let wrong = of_cube(wrong, &mut values, Joined::Sum);
    let size = -of_cube(nearest, &mut values, Joined::Largest);
    // The place of the first score of this size, counted from the end, so that the largest is the first.
    let mut place = 0.0f32;
    for document in range_stepped(unit, documents, UNITS) {
        if is_counted(mask[cells + document]) && x[cells + document].abs() == size {
            place = max(place, f32::cast_from(documents - document));
        }
    }
    let place = usize::cast_from(of_cube(place, &mut values, Joined::Largest));
    let center = select(place > 0, x[cells + documents - max(place, 1usize)], 0.0f32);
    let mut divisor = 1.0f32;
    if comptime!(power.is_some()) {
        let count = max(count, 1.0f32);
        let mut sum = 0.0f32;
        for document in range_stepped(unit, documents, UNITS) {
            if is_counted(mask[cells + document]) {
                sum += x[cells + document] - center;
            }
        }
        let mean = of_cube(sum, &mut values, Joined::Sum) / count;
        let mut squares = 0.0f32;
        for document in range_stepped(unit, documents, UNITS) {
            if is_counted(mask[cells + document]) {
                let deviation = x[cells + document] - center - mean;
                squares = fma(deviation, deviation, squares);
            }
        }
        let variance = of_cube(squares, &mut values, Joined::Sum) / count;
        let is_equal = variance < comptime!(EQUAL as f32);
        let deviation = select(is_equal, 1.0f32, variance).sqrt();
        divisor = max(deviation, comptime!(FLOOR as f32).runtime());
        let ratio = min(max(comptime!(SHORT as f32) / count, 1.0f32), comptime!(SHORT as f32).runtime());
        #[unroll]
        for _ in 0..comptime!(power.unwrap_or(0)) {
            divisor *= ratio;
        }
    }
    for document in range_stepped(unit, documents, UNITS) {
        let cell = cells + document;
        let value = unless_diverged((x[cell] - center) / divisor, wrong);
        out[cell] = select(is_counted(mask[cell]), value, 0.0f32);
    }
    if unit == 0 {
        divisors[list] = unless_diverged(divisor, wrong);
    }
}

/// Divides each value by the divisor of its list. One unit per document.
#[cube(launch)]
fn divided(g: &[f32], mask: &[f32], divisors: &[f32], out: &mut [f32], lists: usize, documents: usize) {
    let cell = ABSOLUTE_POS;
    if cell < lists * documents {
        out[cell] = select(is_counted(mask[cell]), g[cell] / divisors[cell / documents], 0.0f32);
    }
}

/// Divides the gradient of each list by its length, and multiplies it by the list's factor. One cube per list.
#[cube(launch)]
fn unit_gradients(gradient: &[f32], mask: &[f32], factors: &[f32], out: &mut [f32], lists: usize, documents: usize) {
    let mut values = Shared::<[f32]>::new_slice(UNITS);
    let list = min(CUBE_POS, lists - 1);
    let unit = UNIT_POS as usize;
    let cells = list * documents;
    let mut own = 0.0f32;
    let mut wrong = 0.0f32;
    for document in range_stepped(unit, documents, UNITS) {
        let value = gradient[cells + document];
        wrong += select(is_finite(value), 0.0f32, 1.0f32);
        own = max(own, value.abs());
    }
    let wrong = of_cube(wrong, &mut values, Joined::Sum);
    // Gradients are divided by the largest first, so no square overflows.
    let largest = of_cube(own, &mut values, Joined::Largest);
    let largest = select(largest > 0.0f32, largest, 1.0f32);
    let mut squares = 0.0f32;
    for document in range_stepped(unit, documents, UNITS) {
        let share = gradient[cells + document] / largest;
        squares = fma(share, share, squares);
    }
    let length = of_cube(squares, &mut values, Joined::Sum).sqrt();
    let length = max(length, comptime!(SHORTEST_GRADIENT as f32) / largest);
    for document in range_stepped(unit, documents, UNITS) {
        let cell = cells + document;
        let value = unless_diverged(gradient[cell] / largest / length * factors[list], wrong);
        out[cell] = select(is_counted(mask[cell]), value, 0.0f32);
    }
}

/// Computes `x_i - log sum_j exp(x_j)` over the documents of each list. One cube per list.
#[cube(launch)]
fn log_softmax_values(x: &[f32], mask: &[f32], out: &mut [f32], lists: usize, documents: usize) {
    let mut values = Shared::<[f32]>::new_slice(UNITS);
    let list = min(CUBE_POS, lists - 1);
    let unit = UNIT_POS as usize;
    let cells = list * documents;
    let mut own = comptime!(f32::MIN).runtime();
    let mut wrong = 0.0f32;
    for document in range_stepped(unit, documents, UNITS) {
        if is_counted(mask[cells + document]) {
            let score = x[cells + document];
            wrong += select(is_nan(score), 1.0f32, 0.0f32);
            own = max(own, score);
        }
    }
    let wrong = of_cube(wrong, &mut values, Joined::Sum);
    let largest = of_cube(own, &mut values, Joined::Largest);
    let mut total = 0.0f32;
    for document in range_stepped(unit, documents, UNITS) {
        if is_counted(mask[cells + document]) {
            total += exponential(x[cells + document] - largest);
        }
    }
    // The largest score adds 1, unless the list has only padding.
    let total = max(of_cube(total, &mut values, Joined::Sum), 1.0f32).ln();
    for document in range_stepped(unit, documents, UNITS) {
        let cell = cells + document;
        let value = unless_diverged(x[cell] - largest - total, wrong);
        out[cell] = select(is_counted(mask[cell]), value, 0.0f32);
    }
}

/// Computes `g_i - exp(out_i) sum_j g_j` over the documents of each list. One cube per list.
#[cube(launch)]
fn log_softmax_gradients(out: &[f32], mask: &[f32], g: &[f32], to_x: &mut [f32], lists: usize, documents: usize) {
    let mut values = Shared::<[f32]>::new_slice(UNITS);
    let list = min(CUBE_POS, lists - 1);
    let unit = UNIT_POS as usize;
    let cells = list * documents;
    let mut own = 0.0f32;
    let mut wrong = 0.0f32;
    for document in range_stepped(unit, documents, UNITS) {
        if is_counted(mask[cells + document]) {
            own += g[cells + document];
            wrong += select(is_nan(out[cells + document]), 1.0f32, 0.0f32);
        }
    }
    let sum = of_cube(own, &mut values, Joined::Sum);
    let wrong = of_cube(wrong, &mut values, Joined::Sum);
    for document in range_stepped(unit, documents, UNITS) {
        let cell = cells + document;
        let value = unless_diverged(g[cell] - exponential(out[cell]) * sum, wrong);
        to_x[cell] = select(is_counted(mask[cell]), value, 0.0f32);
    }
}

/// Looks up the value of each rank, which counts from 1. One unit per document.
#[cube(launch)]
fn looked_up(ranks: &[f32], table: &[f32], out: &mut [f32], lists: usize, documents: usize) {
    let cell = ABSOLUTE_POS;
    if cell < lists * documents {
        // The bounds keep indices in range, whatever the ranks of NaN are.
        let place = max(ranks[cell] - 1.0f32, 0.0f32);
        out[cell] = table[min(usize::cast_from(place), documents - 1)];
    }
}

/// Sums the gains of each list times the values of their ranks. One cube per list.
#[cube(launch)]
fn weighed(gains: &[f32], mask: &[f32], ranks: &[f32], table: &[f32], out: &mut [f32], lists: usize, documents: usize) {
    let mut values = Shared::<[f32]>::new_slice(UNITS);
    let list = min(CUBE_POS, lists - 1);
    let unit = UNIT_POS as usize;
    let cells = list * documents;
    let mut own = 0.0f32;
    for document in range_stepped(unit, documents, UNITS) {
        let cell = cells + document;
        if is_counted(mask[cell]) {
            let place = max(ranks[cell] - 1.0f32, 0.0f32);
            own = fma(gains[cell], table[min(usize::cast_from(place), documents - 1)], own);
        }
    }
    let sum = of_cube(own, &mut values, Joined::Sum);
    if unit == 0 {
        out[list] = sum;
    }
}

/// Returns a launch with one unit for each document.
fn units(batch: &Batch) -> Cubes<'_> {
    batch.cubes_for((batch.lists * batch.documents).div_ceil(UNITS))
}

/// Returns a launch with one cube for each list.
fn lists(batch: &Batch) -> Cubes<'_> {
    batch.cubes_for(batch.lists)
}

/// Runs a kernel that writes one number for each document; `$cubes` gives its launch, and `$bindings` counts its
/// buffers.
macro_rules! per_document {
    ($name:expr, $x:expr, $bindings:expr, $cubes:ident, $kernel:expr, [$($read:expr),*]) => {
        run($name, $x, $bindings, |batch| {
            let out = batch.per_document();
            start!($cubes(batch), $kernel, [$($read),*], [&out]);
            vec![out]
        })
    };
}

/// See [`centered`](crate::op::centered()).
pub fn centered([x, mask]: [&CubeTensor; 2], divisor: Divisor) -> Outputs {
    let power = match divisor {
        Divisor::One => None,
        Divisor::Spread { power, .. } => Some(power),
    };
    run(&format!("centered, {power:?}"), x, 4, |batch| {
        let (out, divisors) = (batch.per_document(), batch.numbers([batch.lists, 1]));
        start!(lists(batch), centered_values::launch, [x, mask], [&out, &divisors], power);
        if power.is_some() { vec![out, divisors] } else { vec![out] }
    })
}

/// Returns the gradient of [`centered`] with respect to `x`, given the gradient `g` of its output.
pub fn centered_gradient(mask: &CubeTensor, divisors: Option<&CubeTensor>, g: &CubeTensor) -> Outputs {
    let Some(divisors) = divisors else { return Some(vec![product(g, mask)]) };
    per_document!("gradient of centered", g, 4, units, divided::launch, [g, mask, divisors])
}

/// Returns the gradient of each list divided by its length, and times the gradient `g` of its loss, `[batch, 1]`.
pub fn unit_gradient([gradient, mask]: [&CubeTensor; 2], g: &CubeTensor) -> Outputs {
    per_document!("gradient of with_unit_gradient", gradient, 4, lists, unit_gradients::launch, [gradient, mask, g])
}

/// See [`log_softmax`](crate::op::log_softmax()).
pub fn log_softmax([x, mask]: [&CubeTensor; 2]) -> Outputs {
    per_document!("log_softmax", x, 3, lists, log_softmax_values::launch, [x, mask])
}

/// Returns the gradient of [`log_softmax`] with respect to `x`, given its output and the gradient `g` of the output.
pub fn log_softmax_gradient([out, mask]: [&CubeTensor; 2], g: &CubeTensor) -> Outputs {
    per_document!("gradient of log_softmax", out, 4, lists, log_softmax_gradients::launch, [out, mask, g])
}

/// See [`at_rank`](crate::op::at_rank()).
pub fn at_rank(ranks: &CubeTensor, table: &[f64]) -> Outputs {
    run("at_rank", ranks, 3, |batch| {
        let (out, table) = (batch.per_document(), single_table(batch, table));
        start!(units(batch), looked_up::launch, [ranks, &table], [&out]);
        vec![out]
    })
}

/// See [`ideal_dcg`](crate::op::ideal_dcg()).
pub fn ideal_dcg([gains, mask]: [&CubeTensor; 2], discounts: &[f64]) -> Outputs {
    run("ideal_dcg", gains, 5, |batch| {
        let (ranks, out) = (batch.per_document(), batch.numbers([batch.lists]));
        rank::launch(batch.cubes(), gains, mask, &ranks);
        let table = single_table(batch, discounts);
        start!(lists(batch), weighed::launch, [gains, mask, &ranks, &table], [&out]);
        vec![out]
    })
}

fn single_table(batch: &Batch, values: &[f64]) -> CubeTensor {
    let values: Vec<f32> = values.iter().map(|&value| value as f32).collect();
    batch.table(&values)
}
