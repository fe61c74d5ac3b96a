//! Computes [`step_sum`](crate::op::step_sum()) on a GPU, with one division and one exponential (or arc tangent) per
//! pair.

use burn_cubecl::cubecl::{self, prelude::*};
use burn_cubecl::tensor::CubeTensor;

use super::functions::{Arctan, Erf, Function, Laplace, Logistic, Phi};
use super::launch::{compute, start};
use super::members::{Counting, members, order, visited};
use super::real::difference_of_products;
use super::tile::{SLICES, UNITS, in_tile, place, sum_of_row};
use crate::op::cpu::Step;

/// For each row `i`, computes `sum_j v_j phi(alpha (x_j - x_i))`. Documents that are not rows receive `other`.
#[cube(launch)]
fn values<F: Function>(
    x: &[f32],
    v: &[f32],
    order: &[u32],
    out: &mut [f32],
    lists: usize,
    documents: usize,
    alpha: f32,
    other: f32,
) {
    let place = place(lists, documents);
    let members = members(order, place.list / documents, documents);
    let mut tile_x = Shared::<[f32]>::new_slice(UNITS);
    let mut tile_v = Shared::<[f32]>::new_slice(UNITS);
    let mut sums = Shared::<[f32]>::new_slice(UNITS);
    let cell = place.list + order[members.rows + place.row] as usize;
    let visited = visited(place, members);
    let row = x[cell];
    let mut sum = 0.0f32;
    for start in range_stepped(0, visited, UNITS) {
        if start + place.unit < visited {
            let cell = place.list + order[members.columns + start + place.unit] as usize;
            tile_x[place.unit] = x[cell];
            tile_v[place.unit] = v[cell];
        }
        sync_cube();
        let mut partial = 0.0f32;
        for j in range_stepped(place.slice, in_tile(visited, start), SLICES) {
            partial = fma(tile_v[j], F::at((tile_x[j] - row) * alpha), partial);
        }
        sum += partial;
        sync_cube();
    }
    let sum = sum_of_row(sum, place, &mut sums);
    if place.exists && place.slice == 0 {
        out[cell] = select(place.row < members.row_count, sum, other);
    }
}

/// For each row `k`, computes `alpha sum_j phi'_kj (v_k g_j - g_k v_j)`. Documents for which both `v` and `g` are 0 are
/// not visited.
#[cube(launch)]
fn gradients<F: Function>(
    x: &[f32],
    v: &[f32],
    g: &[f32],
    order: &[u32],
    to_x: &mut [f32],
    lists: usize,
    documents: usize,
    alpha: f32,
) {
    let place = place(lists, documents);
    let members = members(order, place.list / documents, documents);
    let mut tile_x = Shared::<[f32]>::new_slice(UNITS);
    let mut tile_v = Shared::<[f32]>::new_slice(UNITS);
    let mut tile_g = Shared::<[f32]>::new_slice(UNITS);
    let mut sums = Shared::<[f32]>::new_slice(UNITS);
    let cell = place.list + order[members.rows + place.row] as usize;
    let visited = visited(place, members);
    let (row_x, row_v, row_g) = (x[cell], v[cell], g[cell]);
    let mut sum = 0.0f32;
    for start in range_stepped(0, visited, UNITS) {
        if start + place.unit < visited {
            let cell = place.list + order[members.columns + start + place.unit] as usize;
            tile_x[place.unit] = x[cell];
            tile_v[place.unit] = v[cell];
            tile_g[place.unit] = g[cell];
        }
        sync_cube();
        let mut partial = 0.0f32;
        for j in range_stepped(place.slice, in_tile(visited, start), SLICES) {
            let slope = F::at((row_x - tile_x[j]) * alpha);
            // Subtract before adding, so a document's term with itself is exactly 0.
            let exchange = difference_of_products(tile_g[j], row_v, row_g, tile_v[j]);
            partial = fma(slope, exchange, partial);
        }
        sum += partial;
        sync_cube();
    }
    let sum = sum_of_row(sum, place, &mut sums);
    if place.exists && place.slice == 0 {
        to_x[cell] = select(place.row < members.row_count, sum * alpha, 0.0f32);
    }
}

/// Evaluates `$call` with `$P` as the type that implements `$step` for the kernels.
macro_rules! with_phi {
    ($step:expr, $P:ident => $call:expr) => {
        match $step {
            Step::Logistic | Step::Tanh => {
                type $P = Logistic;
                $call
            }
            Step::Erf => {
                type $P = Erf;
                $call
            }
            Step::Arctan => {
                type $P = Arctan;
                $call
            }
            Step::Laplace => {
                type $P = Laplace;
                $call
            }
        }
    };
}

/// Returns the factor of score differences; it is doubled for the tanh step, which is the logistic step at `2 t`.
fn scaled(alpha: f64, step: Step) -> f32 {
    (if step == Step::Tanh { 2.0 * alpha } else { alpha }) as f32
}

/// Computes [`step_sum`](crate::op::step_sum()), or [`counted_step_sum`](crate::op::counted_step_sum()) if `counted` is
/// given. Only documents where `counted` is nonzero are computed. The result is `None` if the device has no kernel.
pub fn step_sum(
    x: &CubeTensor,
    v: &CubeTensor,
    counted: Option<&CubeTensor>,
    alpha: f64,
    step: Step,
) -> Option<CubeTensor> {
    let rate = scaled(alpha, step);
    let counting = counted.map_or(Counting::Columns(v), |rows| Counting::Separately { rows, columns: v });
    let [out] = compute(&format!("step_sum, {step:?}"), x, None, 4, |batch| {
        let (order, out) = (order(batch, counting), batch.per_document());
        with_phi!(step, P => start!(
            batch.cubes(), values::launch::<<P as Phi>::Value>, [x, v, &order], [&out], rate, 0.5));
        [out]
    })?;
    Some(out)
}

/// Returns the gradient of [`step_sum`] with respect to `x`, given the gradient of its output.
pub fn step_sum_gradient(
    x: &CubeTensor,
    v: &CubeTensor,
    gradient: &CubeTensor,
    alpha: f64,
    step: Step,
) -> Option<CubeTensor> {
    let rate = scaled(alpha, step);
    let [to_x] = compute(&format!("gradient of step_sum, {step:?}"), x, None, 5, |batch| {
        let (order, to_x) = (order(batch, Counting::Either(v, gradient)), batch.per_document());
        with_phi!(step, P => start!(
            batch.cubes(), gradients::launch::<<P as Phi>::Slope>, [x, v, gradient, &order], [&to_x], rate));
        [to_x]
    })?;
    Some(to_x)
}
