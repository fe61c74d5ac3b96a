//! Computes [`step_sum`](crate::op::step_sum()) on a GPU, with one division and one exponential (or arc tangent) per
//! pair.

use super::real::arc_tangent;
use super::*;
use crate::op::cpu::Step;

/// A [`Step`] as a type, with its slope. The kernels are generic over this type.
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
        exponential(-t * t) * comptime!(0.5 * std::f32::consts::FRAC_2_SQRT_PI)
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

/// For each row `i`, computes `sum_j v_j phi(alpha (x_j - x_i))`. Documents that are not rows receive `other`.
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
    let row = row(x, order, place, documents);
    let mut tile_x = Shared::<[f32]>::new_slice(UNITS);
    let mut tile_v = Shared::<[f32]>::new_slice(UNITS);
    let mut sums = Shared::<[f32]>::new_slice(UNITS);
    let mut sum = 0.0f32;
    for start in range_stepped(0, row.visited, UNITS) {
        if start + place.unit < row.visited {
            let cell = place.list + order[row.columns + start + place.unit] as usize;
            tile_x[place.unit] = x[cell];
            tile_v[place.unit] = v[cell];
        }
        sync_cube();
        let mut partial = 0.0f32;
        for j in range_stepped(place.slice, in_tile(row.visited, start), SLICES) {
            partial = fma(tile_v[j], P::value((tile_x[j] - row.x) * alpha), partial);
        }
        sum += partial;
        sync_cube();
    }
    let sum = sum_of_row(sum, place, &mut sums);
    if place.exists && place.slice == 0 {
        out[row.cell] = select(row.counts, sum, other);
    }
}

/// For each row `k`, computes `alpha sum_j phi'_kj (v_k g_j - g_k v_j)`. Documents for which both `v` and `g` are 0 are
/// not visited.
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
    let row = row(x, order, place, documents);
    let mut tile_x = Shared::<[f32]>::new_slice(UNITS);
    let mut tile_v = Shared::<[f32]>::new_slice(UNITS);
    let mut tile_g = Shared::<[f32]>::new_slice(UNITS);
    let mut sums = Shared::<[f32]>::new_slice(UNITS);
    let (row_v, row_g) = (v[row.cell], g[row.cell]);
    let mut sum = 0.0f32;
    for start in range_stepped(0, row.visited, UNITS) {
        if start + place.unit < row.visited {
            let cell = place.list + order[row.columns + start + place.unit] as usize;
            tile_x[place.unit] = x[cell];
            tile_v[place.unit] = v[cell];
            tile_g[place.unit] = g[cell];
        }
        sync_cube();
        let mut partial = 0.0f32;
        for j in range_stepped(place.slice, in_tile(row.visited, start), SLICES) {
            let slope = P::slope((row.x - tile_x[j]) * alpha);
            // Subtract before adding, so a document's term with itself is exactly 0.
            let exchange = difference_of_products(tile_g[j], row_v, row_g, tile_v[j]);
            partial = fma(slope, exchange, partial);
        }
        sum += partial;
        sync_cube();
    }
    let sum = sum_of_row(sum, place, &mut sums);
    if place.exists && place.slice == 0 {
        to_x[row.cell] = select(row.counts, sum * alpha, 0.0f32);
    }
}

/// Evaluates `$call` with `$P` as the type that implements `$step` for the kernels.
macro_rules! with_phi {
    ($step:expr, $P:ident => $call:expr) => {
        with_phi!(@ $step, $P, [Logistic | Tanh: Logistic, Erf: Erf, Arctan: Arctan, Laplace: Laplace] => $call)
    };
    (@ $step:expr, $P:ident, [$($($name:ident)|+: $phi:ident),+] => $call:expr) => {
        match $step {
            $($(Step::$name)|+ => {
                type $P = $phi;
                $call
            })+
        }
    };
}

/// Returns the factor of score differences; it is doubled for the tanh step, which is the logistic step at `2 t`.
fn scaled(alpha: f64, step: Step) -> f32 {
    (if step == Step::Tanh { 2.0 * alpha } else { alpha }) as f32
}

/// Computes [`step_sum`](crate::op::step_sum()), or [`counted_step_sum`](crate::op::counted_step_sum()) if `counted` is
/// given. Only documents where `counted` is nonzero are computed. The result is `None` if the device has no kernel.
pub fn step_sum([x, v]: [&CubeTensor; 2], counted: Option<&CubeTensor>, alpha: f64, step: Step) -> Outputs {
    let rate = scaled(alpha, step);
    let (rule, rows) = counted.map_or((Rule::Columns, v), |counted| (Rule::Separately, counted));
    compute(&format!("step_sum, {step:?}"), x, None, 4, |batch| {
        let (order, out) = (order(batch, rule, rows, v), batch.per_document());
        with_phi!(step, P => start!(batch.cubes(), values::launch::<P>, [x, v, &order], [&out], rate, 0.5));
        vec![out]
    })
}

/// Returns the gradient of [`step_sum`] with respect to `x`, given the gradient `g` of its output.
pub fn step_sum_gradient([x, v]: [&CubeTensor; 2], g: &CubeTensor, alpha: f64, step: Step) -> Outputs {
    let rate = scaled(alpha, step);
    compute(&format!("gradient of step_sum, {step:?}"), x, None, 5, |batch| {
        let (order, to_x) = (order(batch, Rule::Either, v, g), batch.per_document());
        with_phi!(step, P => start!(batch.cubes(), gradients::launch::<P>, [x, v, g, &order], [&to_x], rate));
        vec![to_x]
    })
}
