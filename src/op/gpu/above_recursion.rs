//! Computes [`above_recursion`](crate::op::above_recursion()) on a GPU.
//!
//! Each unit (thread) runs the trials of all columns against one row under one comparison, because each trial depends
//! on the one before. A unit holds the distribution of the rank for a [window](super::rank_window) of consecutive
//! ranks. If the function of the rank has more nonzero values than there are ranks in a window, several windows run one
//! after another. For each trial, a window passes the state of its last rank on to the next window. The gradient visits
//! the trials in reverse order. The state before each block of trials is stored, and the states within a block are
//! recomputed. Each cube sums the gradient of its rows for every column, and a second kernel adds the sums of all
//! cubes.

use super::above_expectation::contributed;
use super::rank_window::{Form, Neighbor, Window, advance, begin, empty, retreat, slope_at, trial};
use super::*;

/// The number of columns for which a cube collects gradients in shared memory before it sums them.
const TILE: usize = 8;

/// The places in global memory where a unit stores its intermediate values, called slots. Slot `k` of all units is
/// contiguous, so neighboring units access neighboring words.
#[derive(CubeType, Clone, Copy)]
#[expand(derive(Clone, Copy))]
struct Slots {
    unit: usize,
    units: usize,
}

#[cube]
fn slots(cubes: usize, #[comptime] form: Form) -> Slots {
    Slots { unit: CUBE_POS * comptime!(form.units()) + UNIT_POS as usize, units: cubes * comptime!(form.units()) }
}

#[cube]
fn slot(slots: Slots, number: usize) -> usize {
    number * slots.units + slots.unit
}

/// Stores the state of a unit in consecutive slots, starting at slot `first`.
#[cube]
fn keep(scratch: &mut [f32], slots: Slots, first: usize, state: &Window, #[comptime] form: Form) {
    #[unroll]
    for rank in 0..comptime!(form.width) {
        scratch[slot(slots, first + rank)] = state.p[rank];
        if comptime!(form.sum) {
            scratch[slot(slots, first + comptime!(form.width) + rank)] = state.w[rank];
        }
    }
}

/// Returns the values of one rank of a state that [`keep`] stored in slots starting at `first`.
#[cube]
fn kept(scratch: &[f32], slots: Slots, first: usize, rank: usize, #[comptime] form: Form) -> Neighbor {
    let p = scratch[slot(slots, first + rank)];
    if comptime!(form.sum) {
        Neighbor { p, w: scratch[slot(slots, first + comptime!(form.width) + rank)] }
    } else {
        Neighbor { p, w: f32::new(0.0f32) }
    }
}

/// Returns the values that the neighboring window stored for trial `j` (see [`leave`]). Without a neighboring window,
/// these values are 0.
#[cube]
fn take(scratch: &[f32], slots: Slots, first: usize, j: usize, is_there: bool, #[comptime] form: Form) -> Neighbor {
    let mut p = 0.0f32;
    let mut w = 0.0f32;
    if comptime!(form.several) {
        if is_there {
            let first = first + j * comptime!(form.arrays());
            p = scratch[slot(slots, first)];
            if comptime!(form.sum) {
                w = scratch[slot(slots, first + 1)];
            }
        }
    }
    Neighbor { p, w }
}

/// Stores the values of one rank of this window for trial `j`, for the neighboring window to read.
#[cube]
fn leave(
    scratch: &mut [f32],
    slots: Slots,
    first: usize,
    j: usize,
    window: &Window,
    #[comptime] rank: usize,
    #[comptime] form: Form,
) {
    if comptime!(form.several) {
        let first = first + j * comptime!(form.arrays());
        scratch[slot(slots, first)] = window.p[rank];
        if comptime!(form.sum) {
            scratch[slot(slots, first + 1)] = window.w[rank];
        }
    }
}

/// Returns how many windows (at least one) cover the ranks up to the last nonzero value of the function of a list.
#[cube]
fn windows(values: &[f32], first: usize, ranks: usize, #[comptime] form: Form) -> usize {
    let mut counted = 1usize;
    for rank in 0..ranks {
        counted = select(is_counted(values[first + rank]), rank + 1, counted);
    }
    counted.div_ceil(comptime!(form.width))
}

/// Returns the value of the function at a rank, which is 0 at ranks without a value.
#[cube]
fn value(values: &[f32], first: usize, rank: usize, ranks: usize) -> f32 {
    select(rank < ranks, values[first + min(rank, ranks - 1)], 0.0f32)
}

/// Computes the expectation of each row `i`. It is `a_i` times the mean over comparisons of `sum_r f(r) p(r)` or, with
/// a sum, of `sum_r f(r) (w(r) + b_i p(r))`.
#[cube(launch)]
fn values(
    x: &[f32],
    a: &[f32],
    b: &[f32],
    order: &[u32],
    values: &[f32],
    noise: &[f32],
    scratch: &mut [f32],
    out: &mut [f32],
    first: usize,
    cubes: usize,
    documents: usize,
    ranks: usize,
    #[comptime] form: Form,
) {
    let place = place_in_part(first, cubes, documents);
    let mut row_sums = Shared::<[f32]>::new_slice(UNITS);
    let list = place.list / documents;
    let row = row(x, order, place, documents);
    let slots = slots(cubes, form);
    let windows = windows(values, list * ranks, ranks, form);
    let comparisons = comparisons(noise, row.column_count, comptime!(form.kind));
    let mut state = empty(form);
    let mut expectation = 0.0f32;
    for round in 0..comparisons.div_ceil(comptime!(form.slices())) {
        let number = round * comptime!(form.slices()) + place.slice;
        let comparison = comparison(noise, number, comparisons, comptime!(form.kind));
        let mut found = 0.0f32;
        for window in 0..windows {
            begin(&mut state, window == 0, form);
            for j in 0..row.visited {
                let below = take(&*scratch, slots, 0usize, j, window > 0, form);
                leave(scratch, slots, 0usize, j, &state, comptime!(form.width - 1), form);
                let trial = trial(x, b, order, place.list, row, comparison, j, form);
                advance(&mut state, below, trial, form);
            }
            #[unroll]
            for rank in 0..comptime!(form.width) {
                let value = value(values, list * ranks, window * comptime!(form.width) + rank, ranks);
                if comptime!(form.sum) {
                    found = fma(value, fma(b[row.cell], state.p[rank], state.w[rank]), found);
                } else {
                    found = fma(value, state.p[rank], found);
                }
            }
        }
        expectation = fma(comparison.weight, found, expectation);
    }
    if comptime!(form.slices() > 1) {
        expectation = sum_of_row(expectation, place, &mut row_sums);
    }
    if place.exists && place.slice == 0 {
        out[row.cell] = select(row.counts, expectation * a[row.cell], 0.0f32);
    }
}

/// Where the slots for each kind of value begin. A unit stores these values while it computes the gradient. The states
/// before each block of trials are stored starting at slot 0.
#[derive(CubeType, Clone, Copy)]
#[expand(derive(Clone, Copy))]
struct Layout {
    /// The first slot for the states before each trial of the current block.
    within: usize,
    /// The first slot for the values that the window of lower ranks passes on. For each trial, these are `p` and, with
    /// a sum, `w`.
    below: usize,
    /// The first slot for the derivatives that the window of higher ranks passes on for each trial. They are
    /// derivatives with respect to `p` and, with a sum, `w`.
    above: usize,
}

#[cube]
fn layout(documents: usize, block: usize, #[comptime] form: Form) -> Layout {
    let within = documents.div_ceil(block) * comptime!(form.state());
    let below = within + block * comptime!(form.state());
    Layout { within, below, above: below + documents * comptime!(form.arrays()) }
}

/// Returns the number of slots in the [`layout`] of a unit.
fn slots_needed(documents: usize, block: usize, form: Form) -> usize {
    let left = if form.several { 2 * documents * form.arrays() } else { 0 };
    (documents.div_ceil(block) + block) * form.state() + left
}

/// Computes the gradient over the pairs that combine the rows of a cube with all columns. The argument `w` holds the
/// weight `a` of each row times the incoming gradient. The gradient with respect to the rows themselves is written to
/// `to_rows`. The gradient with respect to each column, summed over the rows of the cube, is written to `partials`. The
/// first cube of this launch has the number `first` in the batch.
///
/// For each comparison, the kernel visits the windows from the highest ranks down, and works in three steps:
/// 1. The windows of lower ranks are recomputed, because each trial needs a value from the window below.
/// 2. All trials run once, and the state before each block of trials is stored.
/// 3. The blocks are visited from the last to the first, and the states before each trial of a block are recomputed and
///    stored. The derivatives then go backward through the trials of the block. The gradients of up to [`TILE`] columns
///    are collected in shared memory, where one unit per column adds them over the rows.
#[cube(launch)]
fn flows(
    x: &[f32],
    w: &[f32],
    b: &[f32],
    order: &[u32],
    values: &[f32],
    noise: &[f32],
    scratch: &mut [f32],
    to_rows: &mut [f32],
    partials: &mut [f32],
    first: usize,
    cubes: usize,
    documents: usize,
    ranks: usize,
    block: usize,
    #[comptime] form: Form,
) {
    let place = place_in_part(first, cubes, documents);
    let mut tile = Shared::<[f32]>::new_slice(comptime!(TILE * form.slices() * STRIDE));
    let mut row_sums = Shared::<[f32]>::new_slice(UNITS);
    let list = place.list / documents;
    let row = row(x, order, place, documents);
    let row_counts = place.exists && row.counts;
    let row_w = select(row_counts, w[row.cell], 0.0f32);
    let slots = slots(cubes, form);
    let slots_of = layout(documents, block, form);
    let windows = windows(values, list * ranks, ranks, form);
    let comparisons = comparisons(noise, row.column_count, comptime!(form.kind));
    let blocks = row.visited.div_ceil(block);
    let mut state = empty(form);
    let mut slopes = empty(form);
    let mut to_row = 0.0f32;
    for round in 0..comparisons.div_ceil(comptime!(form.slices())) {
        let number = round * comptime!(form.slices()) + place.slice;
        let comparison = comparison(noise, number, comparisons, comptime!(form.kind));
        let slope = row_w * comparison.weight * comparison.rate * comptime!(0.5 * std::f32::consts::FRAC_2_SQRT_PI);
        for windows_above in 0..windows {
            let window = windows - 1 - windows_above;
            if comptime!(form.several) {
                for lower in 0..window {
                    begin(&mut state, lower == 0, form);
                    for j in 0..row.visited {
                        let below = take(&*scratch, slots, slots_of.below, j, lower > 0, form);
                        leave(scratch, slots, slots_of.below, j, &state, comptime!(form.width - 1), form);
                        let trial = trial(x, b, order, place.list, row, comparison, j, form);
                        advance(&mut state, below, trial, form);
                    }
                }
            }
            begin(&mut state, window == 0, form);
            for number in 0..blocks {
                keep(scratch, slots, number * comptime!(form.state()), &state, form);
                for j in number * block..min((number + 1) * block, row.visited) {
                    let below = take(&*scratch, slots, slots_of.below, j, window > 0, form);
                    let trial = trial(x, b, order, place.list, row, comparison, j, form);
                    advance(&mut state, below, trial, form);
                }
            }
            #[unroll]
            for rank in 0..comptime!(form.width) {
                let value = value(values, list * ranks, window * comptime!(form.width) + rank, ranks);
                if comptime!(form.sum) {
                    slopes.p[rank] = value * b[row.cell];
                    slopes.w[rank] = value;
                } else {
                    slopes.p[rank] = value;
                }
            }
            for blocks_behind in 0..blocks {
                let number = blocks - 1 - blocks_behind;
                let start = number * block;
                let length = min(row.visited - start, block);
                #[unroll]
                for rank in 0..comptime!(form.width) {
                    let kept = kept(&*scratch, slots, number * comptime!(form.state()), rank, form);
                    state.p[rank] = kept.p;
                    if comptime!(form.sum) {
                        state.w[rank] = kept.w;
                    }
                }
                for j in 0..length {
                    keep(scratch, slots, slots_of.within + j * comptime!(form.state()), &state, form);
                    let below = take(&*scratch, slots, slots_of.below, start + j, window > 0, form);
                    let trial = trial(x, b, order, place.list, row, comparison, start + j, form);
                    advance(&mut state, below, trial, form);
                }
                let tiles = length.div_ceil(TILE);
                for tiles_behind in 0..tiles {
                    let in_block = (tiles - 1 - tiles_behind) * TILE;
                    let in_tile = min(length - in_block, TILE);
                    for behind in 0..in_tile {
                        let column = in_tile - 1 - behind;
                        let j = in_block + column;
                        let trial = trial(x, b, order, place.list, row, comparison, start + j, form);
                        let above = take(&*scratch, slots, slots_of.above, start + j, windows_above > 0, form);
                        let states = slots_of.within + j * comptime!(form.state());
                        let mut by_chance = 0.0f32;
                        #[unroll]
                        for rank in 0..comptime!(form.width) {
                            let here = kept(&*scratch, slots, states, rank, form);
                            by_chance += slope_at(here, &slopes, above, trial, rank, form);
                        }
                        let flow = select(row_counts, by_chance * trial.bell * slope, 0.0f32);
                        leave(scratch, slots, slots_of.above, start + j, &slopes, 0usize, form);
                        retreat(&mut slopes, above, trial, form);
                        to_row -= flow;
                        tile[(column * comptime!(form.slices()) + place.slice) * STRIDE + place.lane] = flow;
                    }
                    sync_cube();
                    if place.lane < in_tile {
                        let column = place.lane * comptime!(form.slices()) + place.slice;
                        let sums = (CUBE_POS * comptime!(form.slices()) + place.slice) * documents;
                        let entry = sums + start + in_block + place.lane;
                        send(&tile, column, partials, entry, round == 0 && windows_above == 0);
                    }
                    sync_cube();
                }
            }
        }
    }
    if comptime!(form.slices() > 1) {
        to_row = sum_of_row(to_row, place, &mut row_sums);
    }
    if place.exists && place.slice == 0 {
        to_rows[row.cell] = to_row;
    }
}

/// See [`above_recursion`](crate::op::above_recursion()).
pub fn above_recursion(
    [x, a, b, mask, values]: [&CubeTensor; 5],
    AboveRecursion { noise, above }: &AboveRecursion,
) -> Outputs {
    let (ranks, (kind, noise)) = (values.shape()[1], numbers(noise));
    let form = Form::new(kind, ranks, *above);
    compute(&format!("above_recursion, {form:?}"), x, Some(mask), 8, |batch| {
        let (a, b) = (product(a, mask), contributed(b, *above));
        let (order, noise, out) =
            (order(batch, Rule::Separately, &a, mask), batch.upload(&noise), batch.per_document());
        let slots = if form.several { batch.documents * form.arrays() } else { 0 };
        for part in batch.parts(form.units() * slots) {
            let scratch = batch.numbers([(part.cubes * form.units() * slots).max(1)]);
            start!(batch.cubes_for(part.cubes).of(form.units()), values::launch,
                [x, &a, &b, &order, values, &noise], [&scratch, &out];
                part.first, part.cubes, batch.documents, ranks, form);
        }
        vec![out]
    })
}

/// Returns the gradient of [`above_recursion`] with respect to `x`, given the gradient `g` of its output.
pub fn above_recursion_gradient(
    [x, a, b, mask, values]: [&CubeTensor; 5],
    g: &CubeTensor,
    AboveRecursion { noise, above }: &AboveRecursion,
) -> Outputs {
    let (ranks, (kind, noise)) = (values.shape()[1], numbers(noise));
    let form = Form::new(kind, ranks, *above);
    compute(&format!("gradient of above_recursion, {form:?}"), x, Some(mask), 9, |batch| {
        let (weights, b) = (product(&product(a, g), mask), contributed(b, *above));
        let (order, noise) = (order(batch, Rule::Separately, &weights, mask), batch.upload(&noise));
        let [to_rows, to_columns] = [batch.per_document(), batch.per_document()];
        let block = batch.documents.isqrt().next_multiple_of(TILE);
        let slots = slots_needed(batch.documents, block, form);
        for part in batch.parts(form.units() * slots + form.slices() * batch.documents) {
            let scratch = batch.numbers([part.cubes * form.units() * slots]);
            let partials = batch.numbers([part.cubes * form.slices(), batch.documents]);
            start!(batch.cubes_for(part.cubes).of(form.units()), flows::launch,
                [x, &weights, &b, &order, values, &noise], [&scratch, &to_rows, &partials];
                part.first, part.cubes, batch.documents, ranks, block, form);
            collect_columns(batch, part, form.slices(), &partials, &order, &to_columns);
        }
        vec![sum(to_rows, to_columns)]
    })
}
