//! [`step_sum`](crate::op::step_sum()) on the device: an exponential (or arc tangent) and a division a pair; long
//! lists in [cells](super::step_cells).

use burn_cubecl::cubecl::{self, prelude::*};
use burn_cubecl::tensor::CubeTensor;

use super::choice::{Scores, divided, least};
use super::diverged::mark_diverged;
use super::launch::{Batch, read, run, write};
use super::members::{Counting, members, order, visited};
use super::real::{arc_tangent, difference_of_products, exponential, probability, sigmoid};
use super::step_cells::{self, Call, PAYS};
use super::tile::{SLICES, UNITS, place, sum_of_row};
use crate::op::cpu::Step;

/// A step and its slope.
#[cube]
trait Phi: 'static + Send + Sync {
    fn value(t: f32) -> f32;
    fn slope(t: f32) -> f32;
}

struct Logistic;

#[cube]
impl Phi for Logistic {
    fn value(t: f32) -> f32 {
        sigmoid(t).of
    }

    fn slope(t: f32) -> f32 {
        let sigmoid = sigmoid(t);
        sigmoid.of * sigmoid.against
    }
}

struct Erf;

#[cube]
impl Phi for Erf {
    fn value(t: f32) -> f32 {
        probability(t).of
    }

    fn slope(t: f32) -> f32 {
        probability(t).bell * comptime!(0.5 * std::f32::consts::FRAC_2_SQRT_PI)
    }
}

struct Arctan;

#[cube]
impl Phi for Arctan {
    fn value(t: f32) -> f32 {
        let size = t.abs();
        let far = size > 1.0f32;
        let angle = arc_tangent(select(far, 1.0f32 / size, size)) * comptime!(std::f32::consts::FRAC_1_PI);
        let small = select(far, angle, 0.5f32 - angle);
        select(t < 0.0f32, small, 1.0f32 - small)
    }

    fn slope(t: f32) -> f32 {
        comptime!(std::f32::consts::FRAC_1_PI) / fma(t, t, 1.0f32)
    }
}

struct Laplace;

#[cube]
impl Phi for Laplace {
    fn value(t: f32) -> f32 {
        let small = 0.5f32 * exponential(-t.abs());
        select(t < 0.0f32, small, 1.0f32 - small)
    }

    fn slope(t: f32) -> f32 {
        0.5f32 * exponential(-t.abs())
    }
}

/// Row `i`: `sum_j v_j phi(alpha (x_j - x_i))`, or `other` for a row that does not count.
#[cube(launch)]
fn values<P: Phi>(
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
        for j in range_stepped(place.slice, min(visited - start, UNITS), SLICES) {
            partial = fma(tile_v[j], P::value((tile_x[j] - row) * alpha), partial);
        }
        sum += partial;
        sync_cube();
    }
    let sum = sum_of_row(sum, place, &mut sums);
    if place.exists && place.slice == 0 {
        out[cell] = select(place.row < members.row_count, sum, other);
    }
}

/// Row `k`: `alpha sum_j phi'_kj (v_k g_j - g_k v_j)`. A document with neither a value nor a gradient is no row and no
/// column.
#[cube(launch)]
fn gradients<P: Phi>(
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
        for j in range_stepped(place.slice, min(visited - start, UNITS), SLICES) {
            let slope = P::slope((row_x - tile_x[j]) * alpha);
            // The difference before the sum: a document's term with itself is exactly 0.
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

/// Calls `$call` with `$P` the kernels' form of `$step`.
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

/// `(1 + tanh t) / 2` is the logistic step at `2 t`.
fn scaled(alpha: f64, step: Step) -> f32 {
    (if step == Step::Tanh { 2.0 * alpha } else { alpha }) as f32
}

/// The least number of columns of a list that is summed in cells, if any list of the batch can be.
fn least_in_cells(batch: &Batch, alpha: f64, step: Step) -> Option<usize> {
    if step_cells::sums(step, scaled(alpha, step)) { least(batch.documents, PAYS) } else { None }
}

/// See [`step_sum`](crate::op::step_sum()) and [`counted_step_sum`](crate::op::counted_step_sum()): only the documents
/// with `counted` other than 0 are rows, if it is given. `None` where the device has no kernel.
pub fn step_sum(
    x: &CubeTensor,
    v: &CubeTensor,
    counted: Option<&CubeTensor>,
    alpha: f64,
    step: Step,
) -> Option<CubeTensor> {
    let batch = Batch::from_tensor(x);
    let counting = counted.map_or(Counting::Columns(v), |rows| Counting::Separately { rows, columns: v });
    let by_pairs = |order: &CubeTensor| {
        let out = batch.per_document();
        with_phi!(step, P => values::launch::<P>(
            &batch.client,
            batch.cubes(),
            batch.units(),
            read(x),
            read(v),
            read(order),
            write(&out),
            batch.lists,
            batch.documents,
            scaled(alpha, step),
            0.5,
        ));
        out
    };
    let in_cells = least_in_cells(&batch, alpha, step).and_then(|least| {
        run(&format!("step_sum in cells, {step:?}"), x, 8, || {
            let order = order(&batch, counting);
            let counts = divided(&batch, x, &order, least, Scores::Finite);
            let out = by_pairs(&order);
            let call = Call { batch: &batch, x, v, order: &order, counts, rate: scaled(alpha, step), step };
            step_cells::values(call, counted, &out);
            [out]
        })
    });
    let [out] =
        in_cells.or_else(|| run(&format!("step_sum, {step:?}"), x, 4, || [by_pairs(&order(&batch, counting))]))?;
    mark_diverged(&batch, x, None, &out);
    Some(out)
}

/// Gradient of [`step_sum`] in `x`, given the gradient of its output.
pub fn step_sum_gradient(
    x: &CubeTensor,
    v: &CubeTensor,
    gradient: &CubeTensor,
    alpha: f64,
    step: Step,
) -> Option<CubeTensor> {
    let batch = Batch::from_tensor(x);
    let counting = Counting::Either(v, gradient);
    let by_pairs = |order: &CubeTensor| {
        let to_x = batch.per_document();
        with_phi!(step, P => gradients::launch::<P>(
            &batch.client,
            batch.cubes(),
            batch.units(),
            read(x),
            read(v),
            read(gradient),
            read(order),
            write(&to_x),
            batch.lists,
            batch.documents,
            scaled(alpha, step),
        ));
        to_x
    };
    let in_cells = least_in_cells(&batch, alpha, step).and_then(|least| {
        run(&format!("gradient of step_sum in cells, {step:?}"), x, 7, || {
            let order = order(&batch, counting);
            let counts = divided(&batch, x, &order, least, Scores::Finite);
            let to_x = by_pairs(&order);
            let call = Call { batch: &batch, x, v, order: &order, counts, rate: scaled(alpha, step), step };
            step_cells::gradients(call, gradient, &to_x);
            [to_x]
        })
    });
    let [to_x] = in_cells
        .or_else(|| run(&format!("gradient of step_sum, {step:?}"), x, 5, || [by_pairs(&order(&batch, counting))]))?;
    mark_diverged(&batch, x, None, &to_x);
    Some(to_x)
}
