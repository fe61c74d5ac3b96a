//! [`rank_recursion`](crate::op::rank_recursion()) on the device.
//!
//! One unit takes one row: a trial is a step of a recursion over ranks, which nothing else can share. The gradient goes
//! back through the trials; the distributions that it needs are kept from tile to tile and computed again within a
//! tile. Each cube adds up what its rows send to every column, and a second kernel adds the cubes.

use burn_cubecl::cubecl::{self, prelude::*};
use burn_cubecl::tensor::CubeTensor;

use super::launch::{Batch, product, read, run, write};
use super::members::{Counting, collect_columns, members, order};
use super::real::{Probability, probability};
use super::tile::{ROWS, place};
use crate::op::cpu::Comparison;

/// Trials between two distributions that are kept.
const TILE: usize = 32;

/// Distance between the columns of a tile of flows, so that neighbouring units read neighbouring words.
const STRIDE: usize = ROWS + 1;

/// Ranks are counted in steps, so that few kernels are compiled.
const RANK_STEP: usize = 8;

/// Ranks beyond which a unit does not hold a distribution.
pub(super) const MOST_RANKS: usize = 64;

/// The row of a unit and what it meets.
#[derive(CubeType, Clone, Copy)]
#[expand(derive(Clone, Copy))]
struct Row {
    x: f32,
    /// Cell of the row.
    cell: usize,
    /// First cell of its list.
    list: usize,
    /// First entry of the columns in the order.
    columns: usize,
    rate: f32,
    shift: f32,
}

/// The chances that column `j` beats the row and that it does not, and the density of the difference; no row meets
/// itself.
#[cube]
fn trial(x: &[f32], order: &[u32], row: Row, j: usize) -> Probability {
    let other = row.list + order[row.columns + j] as usize;
    let beats = probability((x[other] - row.x) * row.rate - row.shift);
    let meets = other != row.cell;
    Probability {
        of: select(meets, beats.of, 0.0f32),
        against: select(meets, beats.against, 1.0f32),
        bell: select(meets, beats.bell, 0.0f32),
    }
}

/// The distribution before the first trial.
#[cube]
fn begin(p: &mut Array<f32>, #[comptime] ranks: usize) {
    #[unroll]
    for rank in 0..ranks {
        p[rank] = 0.0f32;
    }
    p[0] = 1.0f32;
}

/// Takes a distribution over a trial: `p(r) (1 - pi) + p(r - 1) pi`, the highest rank first.
#[cube]
fn advance(p: &mut Array<f32>, trial: Probability, #[comptime] ranks: usize) {
    #[unroll]
    for step in 1..ranks {
        let rank = comptime!(ranks - step);
        p[rank] = fma(p[comptime!(rank - 1)], trial.of, p[rank] * trial.against);
    }
    p[0] = p[0] * trial.against;
}

/// Takes rises of a derivative from rank to rank back over a trial: `a(r) (1 - pi) + a(r + 1) pi`.
#[cube]
fn retreat(rises: &mut Array<f32>, trial: Probability, #[comptime] ranks: usize) {
    #[unroll]
    for step in 1..ranks {
        let rank = comptime!(step - 1);
        rises[rank] = fma(rises[step], trial.of, rises[rank] * trial.against);
    }
    rises[comptime!(ranks - 1)] = rises[comptime!(ranks - 1)] * trial.against;
}

/// Row `i`: `sum_r D_r p_i(r)`; 0 at padding.
#[cube(launch)]
fn values(
    x: &[f32],
    order: &[u32],
    discounts: &[f32],
    out: &mut [f32],
    lists: usize,
    documents: usize,
    rate: f32,
    shift: f32,
    #[comptime] ranks: usize,
) {
    let place = place(lists, documents);
    let members = members(order, place.list / documents, documents);
    let cell = place.list + order[members.rows + place.row] as usize;
    let row = Row { x: x[cell], cell, list: place.list, columns: members.columns, rate, shift };
    let visited = select(place.row < members.row_count, members.column_count, 0usize);
    let mut p = Array::<f32>::new(ranks);
    begin(&mut p, ranks);
    for j in 0..visited {
        advance(&mut p, trial(x, order, row, j), ranks);
    }
    let mut expectation = 0.0f32;
    #[unroll]
    for rank in 0..ranks {
        expectation = fma(p[rank], discounts[rank], expectation);
    }
    if place.exists {
        out[cell] = select(place.row < members.row_count, expectation, 0.0f32);
    }
}

/// What the rows of a cube send, `w` the gradient that comes in: to their own documents in `to_x`, and, added up over
/// the rows, to every column in `partials`. `starts` and `within` keep distributions. The lists are those from `first`.
#[cube(launch)]
fn flows(
    x: &[f32],
    w: &[f32],
    order: &[u32],
    rises: &[f32],
    starts: &mut [f32],
    within: &mut [f32],
    to_x: &mut [f32],
    partials: &mut [f32],
    first: usize,
    lists: usize,
    documents: usize,
    rate: f32,
    shift: f32,
    #[comptime] ranks: usize,
) {
    let place = place(lists, documents);
    let list = first * documents + place.list;
    let members = members(order, list / documents, documents);
    let mut tile = Shared::<[f32]>::new_slice(TILE * STRIDE);
    let cell = list + order[members.rows + place.row] as usize;
    let row = Row { x: x[cell], cell, list, columns: members.columns, rate, shift };
    // The same for all units of a cube, since they wait for each other.
    let visited = select(place.list_exists && place.first_row < members.row_count, members.column_count, 0usize);
    let row_w = select(place.exists && place.row < members.row_count, w[cell], 0.0f32);
    let slope = row_w * rate * comptime!(0.5 * std::f32::consts::FRAC_2_SQRT_PI);
    let rows = lists * documents.div_ceil(ROWS) * ROWS;
    let own = CUBE_POS * ROWS + place.lane;
    let tiles = visited.div_ceil(TILE);
    let mut p = Array::<f32>::new(ranks);
    let mut rise = Array::<f32>::new(ranks);
    begin(&mut p, ranks);
    for number in 0..tiles {
        #[unroll]
        for rank in 0..ranks {
            starts[(number * ranks + rank) * rows + own] = p[rank];
        }
        for j in number * TILE..min((number + 1) * TILE, visited) {
            advance(&mut p, trial(x, order, row, j), ranks);
        }
    }
    #[unroll]
    for rank in 0..ranks {
        rise[rank] = rises[rank];
    }
    let mut to_row = 0.0f32;
    for back in 0..tiles {
        let number = tiles - 1 - back;
        let start = number * TILE;
        let length = min(visited - start, TILE);
        #[unroll]
        for rank in 0..ranks {
            p[rank] = starts[(number * ranks + rank) * rows + own];
        }
        for j in 0..length {
            #[unroll]
            for rank in 0..ranks {
                within[(j * ranks + rank) * rows + own] = p[rank];
            }
            advance(&mut p, trial(x, order, row, start + j), ranks);
        }
        let mut partial = 0.0f32;
        for back in 0..length {
            let j = length - 1 - back;
            let trial = trial(x, order, row, start + j);
            let mut flow = 0.0f32;
            #[unroll]
            for rank in 0..ranks {
                flow = fma(within[(j * ranks + rank) * rows + own], rise[rank], flow);
            }
            let flow = flow * trial.bell * slope;
            partial += flow;
            tile[j * STRIDE + place.lane] = flow;
            retreat(&mut rise, trial, ranks);
        }
        to_row -= partial;
        sync_cube();
        if place.lane < length {
            let mut column = 0.0f32;
            for lane in 0..ROWS {
                column += tile[place.lane * STRIDE + lane];
            }
            partials[CUBE_POS * documents + start + place.lane] = column;
        }
        sync_cube();
    }
    if place.exists {
        to_x[cell] = select(place.row < members.row_count, to_row, 0.0f32);
    }
}

/// Ranks of the kernel that takes `values`, which are filled up with 0.
fn filled_up(values: impl ExactSizeIterator<Item = f64>) -> (usize, Vec<f32>) {
    let ranks = values.len().next_multiple_of(RANK_STEP);
    let mut values: Vec<f32> = values.map(|value| value as f32).collect();
    values.resize(ranks, 0.0);
    (ranks, values)
}

/// A cube of one unit per row.
fn units() -> CubeDim {
    CubeDim::new_1d(ROWS as u32)
}

/// See [`rank_recursion`](crate::op::rank_recursion()).
pub fn rank_recursion(
    x: &CubeTensor,
    mask: &CubeTensor,
    comparison: Comparison,
    discounts: &[f64],
) -> Option<CubeTensor> {
    if discounts.len() > MOST_RANKS {
        return None;
    }
    let (ranks, discounts) = filled_up(discounts.iter().copied());
    let [out] = run(&format!("rank_recursion, {ranks} ranks"), x, 4, || {
        let batch = Batch::from_tensor(x);
        let order = order(&batch, Counting::Separately { rows: mask, columns: mask });
        let out = batch.per_document();
        values::launch(
            &batch.client,
            batch.cubes(),
            units(),
            read(x),
            read(&order),
            batch.upload(&discounts),
            write(&out),
            batch.lists,
            batch.documents,
            comparison.rate as f32,
            comparison.shift as f32,
            ranks,
        );
        [out]
    })?;
    Some(out)
}

/// Gradient of [`rank_recursion`] in `x`, given that of its output.
pub fn rank_recursion_gradient(
    x: &CubeTensor,
    mask: &CubeTensor,
    gradient: &CubeTensor,
    comparison: Comparison,
    discounts: &[f64],
) -> Option<CubeTensor> {
    if discounts.len() > MOST_RANKS {
        return None;
    }
    // Beyond the last rank the discount is 0.
    let rise = |rank: usize| discounts.get(rank + 1).copied().unwrap_or(0.0) - discounts[rank];
    let (ranks, rises) = filled_up((0..discounts.len()).map(rise));
    let [to_x] = run(&format!("gradient of rank_recursion, {ranks} ranks"), x, 8, || {
        let batch = Batch::from_tensor(x);
        let weights = product(gradient, mask);
        let order = order(&batch, Counting::Separately { rows: &weights, columns: mask });
        let to_x = batch.per_document();
        let kept = batch.documents.div_ceil(TILE) + TILE;
        let rows = batch.tiles() * ROWS;
        for (first, part) in batch.parts(rows * kept * ranks + batch.tiles() * batch.documents) {
            let rows = part.lists * rows;
            let starts = part.numbers([part.documents.div_ceil(TILE), ranks, rows]);
            let within = part.numbers([TILE, ranks, rows]);
            let partials = part.per_tile_and_document();
            flows::launch(
                &part.client,
                part.cubes(),
                units(),
                read(x),
                read(&weights),
                read(&order),
                batch.upload(&rises),
                write(&starts),
                write(&within),
                write(&to_x),
                write(&partials),
                first,
                part.lists,
                part.documents,
                comparison.rate as f32,
                comparison.shift as f32,
                ranks,
            );
            collect_columns(&part, first, &partials, &order, &to_x);
        }
        [to_x]
    })?;
    Some(to_x)
}
