//! Computes [`pair_loss`](crate::op::pair_loss()) on a GPU. The kernels visit every pair, even if its labels are equal.
//! The CPU kernels sort by label first, but on a GPU this costs more than it saves.

use super::real::log_1p;
use super::*;
use crate::op::cpu::{PairLoss, PairWeight, discount_steps};

/// The loss of a pair with the score difference `t`, and the slope of the loss.
#[cube]
trait Term: 'static + Send + Sync {
    fn value(t: f32, margin: f32) -> f32;
    fn slope(t: f32, margin: f32) -> f32;
}

struct Logistic;

#[cube]
impl Term for Logistic {
    fn value(t: f32, _margin: f32) -> f32 {
        max(-t, 0.0f32) + log_1p(exponential(-t.abs()))
    }

    fn slope(t: f32, _margin: f32) -> f32 {
        -sigmoid(t).against
    }
}

struct Hinge;

#[cube]
impl Term for Hinge {
    fn value(t: f32, margin: f32) -> f32 {
        max(margin - t, 0.0f32)
    }

    fn slope(t: f32, margin: f32) -> f32 {
        select(t < margin, -1.0f32, 0.0f32)
    }
}

struct SquaredHinge;

#[cube]
impl Term for SquaredHinge {
    fn value(t: f32, margin: f32) -> f32 {
        let short = max(margin - t, 0.0f32);
        short * short
    }

    fn slope(t: f32, margin: f32) -> f32 {
        max(margin - t, 0.0f32) * -2.0f32
    }
}

struct Exponential;

/// The difference of scores below which [`PairLoss::Exponential`] continues as its tangent.
const LOWEST: f32 = -f32::EXPONENTIAL_BOUND;

#[cube]
impl Term for Exponential {
    fn value(t: f32, _margin: f32) -> f32 {
        exponential(-max(t, comptime!(LOWEST))) * (1.0f32 + max(comptime!(LOWEST) - t, 0.0f32))
    }

    fn slope(t: f32, _margin: f32) -> f32 {
        -exponential(-max(t, comptime!(LOWEST)))
    }
}

struct Fidelity;

/// Returns `sqrt(p)` and `1 - p` with `p = sigmoid(t)`, both computed without a subtraction.
#[cube]
fn fidelity(t: f32) -> (f32, f32) {
    // sqrt(e^t / (1 + e^t)) from e^(t/2), which does not underflow before sqrt(p) does.
    let half = exponential(t.abs() * -0.5f32);
    let u = half * half;
    let large = 1.0f32 / (1.0f32 + u);
    let root = large.sqrt();
    (select(t < 0.0f32, half * root, root), select(t < 0.0f32, large, u * large))
}

#[cube]
impl Term for Fidelity {
    fn value(t: f32, _margin: f32) -> f32 {
        let (root, rest) = fidelity(t);
        rest / (1.0f32 + root)
    }

    fn slope(t: f32, _margin: f32) -> f32 {
        let (root, rest) = fidelity(t);
        root * rest * -0.5f32
    }
}

struct SoftZeroOne;

#[cube]
impl Term for SoftZeroOne {
    fn value(t: f32, _margin: f32) -> f32 {
        sigmoid(t).against
    }

    fn slope(t: f32, _margin: f32) -> f32 {
        let sigmoid = sigmoid(t);
        -(sigmoid.of * sigmoid.against)
    }
}

/// The forms of a pair's weight, which read different buffers. Each form has its own compiled kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Form {
    Unit,
    Document,
    /// LambdaRank's weight, with only the difference of discounts.
    Absolute,
    /// LambdaLoss's weight, which also has the discount step at the difference of ranks.
    Gap,
}

/// Returns the weight of a pair of documents, where `upper` is the index of the more relevant document. The array
/// `first` holds the weights or the gains of the documents. `steps` holds the discount step `gap (D(r) - D(r + 1))` for
/// each difference of ranks `r`. Arrays that a form does not need may hold anything.
#[cube]
fn weight_of(
    upper: usize,
    lower: usize,
    first: &[f32],
    discount: &[f32],
    rank: &[f32],
    steps: &[f32],
    absolute: f32,
    #[comptime] form: Form,
) -> f32 {
    match form {
        Form::Unit => f32::new(1.0f32),
        Form::Document => first[upper],
        Form::Absolute => (first[upper] - first[lower]).abs() * (discount[upper] - discount[lower]).abs() * absolute,
        Form::Gap => {
            let distance = u32::cast_from((rank[upper] - rank[lower]).abs()) as usize;
            let step = steps[min(distance, steps.len() - 1)];
            (first[upper] - first[lower]).abs() * fma((discount[upper] - discount[lower]).abs(), absolute, step)
        }
    }
}

/// For each row `i`, computes `sum_j w_ij l(x_i - x_j)` over the documents `j` with `y_i > y_j`.
#[cube(launch)]
fn values<L: Term>(
    x: &[f32],
    labels: &[f32],
    order: &[u32],
    first: &[f32],
    discount: &[f32],
    rank: &[f32],
    steps: &[f32],
    out: &mut [f32],
    lists: usize,
    documents: usize,
    absolute: f32,
    margin: f32,
    #[comptime] form: Form,
) {
    let place = place(lists, documents);
    let row = row(x, order, place, documents);
    let mut tile_x = Shared::<[f32]>::new_slice(UNITS);
    let mut tile_y = Shared::<[f32]>::new_slice(UNITS);
    let mut sums = Shared::<[f32]>::new_slice(UNITS);
    let row_y = labels[row.cell];
    let mut sum = 0.0f32;
    for start in range_stepped(0, row.visited, UNITS) {
        if start + place.unit < row.visited {
            let cell = place.list + order[row.columns + start + place.unit] as usize;
            tile_x[place.unit] = x[cell];
            tile_y[place.unit] = labels[cell];
        }
        sync_cube();
        let mut partial = 0.0f32;
        for j in range_stepped(place.slice, in_tile(row.visited, start), SLICES) {
            if row.counts && row_y > tile_y[j] {
                let other = place.list + order[row.columns + start + j] as usize;
                let weight = weight_of(row.cell, other, first, discount, rank, steps, absolute, form);
                partial = fma(weight, L::value(row.x - tile_x[j], margin), partial);
            }
        }
        sum += partial;
        sync_cube();
    }
    let sum = sum_of_row(sum, place, &mut sums);
    if place.exists && place.slice == 0 {
        out[row.cell] = sum;
    }
}

/// For each row `k`, computes `g_k sum_j w_kj l'(x_k - x_j) - sum_j g_j w_jk l'(x_j - x_k)`.
#[cube(launch)]
fn gradients<L: Term>(
    x: &[f32],
    labels: &[f32],
    order: &[u32],
    first: &[f32],
    discount: &[f32],
    rank: &[f32],
    steps: &[f32],
    g: &[f32],
    to_x: &mut [f32],
    lists: usize,
    documents: usize,
    absolute: f32,
    margin: f32,
    #[comptime] form: Form,
) {
    let place = place(lists, documents);
    let row = row(x, order, place, documents);
    let mut tile_x = Shared::<[f32]>::new_slice(UNITS);
    let mut tile_y = Shared::<[f32]>::new_slice(UNITS);
    let mut tile_g = Shared::<[f32]>::new_slice(UNITS);
    let mut sums = Shared::<[f32]>::new_slice(UNITS);
    let (row_y, row_g) = (labels[row.cell], g[row.cell]);
    let mut sum = 0.0f32;
    for start in range_stepped(0, row.visited, UNITS) {
        if start + place.unit < row.visited {
            let cell = place.list + order[row.columns + start + place.unit] as usize;
            tile_x[place.unit] = x[cell];
            tile_y[place.unit] = labels[cell];
            tile_g[place.unit] = g[cell];
        }
        sync_cube();
        let mut partial = 0.0f32;
        for j in range_stepped(place.slice, in_tile(row.visited, start), SLICES) {
            if row.counts && row_y != tile_y[j] {
                let other = place.list + order[row.columns + start + j] as usize;
                let above = row_y > tile_y[j];
                let upper = select(above, row.cell, other);
                let lower = select(above, other, row.cell);
                let difference = row.x - tile_x[j];
                let slope = L::slope(select(above, difference, -difference), margin);
                let weight = weight_of(upper, lower, first, discount, rank, steps, absolute, form);
                partial = fma(weight * slope, select(above, row_g, -tile_g[j]), partial);
            }
        }
        sum += partial;
        sync_cube();
    }
    let sum = sum_of_row(sum, place, &mut sums);
    if place.exists && place.slice == 0 {
        to_x[row.cell] = sum;
    }
}

/// The weight of pairs, as the kernels receive it.
struct Weighting<'a> {
    form: Form,
    /// The weights or gains of the documents, their discounts and their ranks. If the form needs fewer tensors, the
    /// scores take the place of the others.
    buffers: [&'a CubeTensor; 3],
    /// The factor that multiplies the difference of discounts.
    absolute: f32,
    /// The factor that multiplies the discount step.
    gap: f64,
}

impl<'a> Weighting<'a> {
    /// Returns `None` if the kernels do not support the weight.
    fn new(weight: PairWeight<&'a CubeTensor>, x: &'a CubeTensor) -> Option<Self> {
        Some(match weight {
            PairWeight::Unit => Self { form: Form::Unit, buffers: [x, x, x], absolute: 0.0, gap: 0.0 },
            PairWeight::Document(u) => Self { form: Form::Document, buffers: [u, x, x], absolute: 0.0, gap: 0.0 },
            PairWeight::Lambda { distance: Some(_), .. } => return None,
            PairWeight::Lambda { gain, discount, rank, absolute, gap, distance: None } => {
                let form = if gap == 0.0 { Form::Absolute } else { Form::Gap };
                Self { form, buffers: [gain, discount, rank], absolute: absolute as f32, gap }
            }
        })
    }

    /// Returns the [discount steps](discount_steps) of each difference of ranks. The host computes them in double
    /// precision, because the difference of discounts would lose digits to cancellation in single precision.
    fn steps(&self, documents: usize) -> Vec<f32> {
        if self.form == Form::Gap { discount_steps(documents, self.gap) } else { vec![0.0] }
    }
}

/// Evaluates `$call` with `$L` as the type that implements `$loss` for the kernels.
macro_rules! with_term {
    ($loss:expr, $L:ident => $call:expr) => {
        with_term!(@ $loss, $L, [Logistic, Hinge, SquaredHinge, Exponential, Fidelity, SoftZeroOne] => $call)
    };
    (@ $loss:expr, $L:ident, [$($term:ident),+] => $call:expr) => {
        match $loss {
            $(PairLoss::$term { .. } => {
                type $L = $term;
                $call
            })+
        }
    };
}

fn margin(loss: PairLoss) -> f32 {
    match loss {
        PairLoss::Hinge { margin } | PairLoss::SquaredHinge { margin } => margin as f32,
        _ => 0.0,
    }
}

/// Returns the name under which a compiled kernel is known; losses that differ only in the margin share the kernel.
fn name(loss: PairLoss, form: Form) -> String {
    let loss = format!("{loss:?}");
    let loss = loss.split_whitespace().next().unwrap_or_default();
    format!("pair_loss, {loss}, weight {form:?}")
}

/// See [`pair_loss`](crate::op::pair_loss()).
pub fn pair_loss([x, labels, mask]: [&CubeTensor; 3], weight: PairWeight<&CubeTensor>, loss: PairLoss) -> Outputs {
    let weight = Weighting::new(weight, x)?;
    compute(&name(loss, weight.form), x, Some(mask), 8, |batch| {
        let order = order(batch, Rule::Separately, mask, mask);
        let out = batch.per_document();
        let (Weighting { form, buffers: [u, discount, rank], absolute, .. }, margin) = (&weight, margin(loss));
        let steps = batch.table(&weight.steps(batch.documents));
        with_term!(loss, L => start!(batch.cubes(), values::launch::<L>,
            [x, labels, &order, u, discount, rank, &steps], [&out], *absolute, margin, *form));
        vec![out]
    })
}

/// Returns the gradient of [`pair_loss`] with respect to `x`, given the gradient `g` of its output.
pub fn pair_loss_gradient(
    [x, labels, mask]: [&CubeTensor; 3],
    weight: PairWeight<&CubeTensor>,
    g: &CubeTensor,
    loss: PairLoss,
) -> Outputs {
    let weight = Weighting::new(weight, x)?;
    compute(&format!("gradient of {}", name(loss, weight.form)), x, Some(mask), 9, |batch| {
        let order = order(batch, Rule::Separately, mask, mask);
        let to_x = batch.per_document();
        let (Weighting { form, buffers: [u, discount, rank], absolute, .. }, margin) = (&weight, margin(loss));
        let steps = batch.table(&weight.steps(batch.documents));
        with_term!(loss, L => start!(batch.cubes(), gradients::launch::<L>,
            [x, labels, &order, u, discount, rank, &steps, g], [&to_x], *absolute, margin, *form));
        vec![to_x]
    })
}
