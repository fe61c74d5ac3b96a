//! The distribution of a row's rank within a window of consecutive ranks, which one unit of
//! [`above_recursion`](super::above_recursion) holds.
//!
//! `p(r)` is the probability that `r` documents are above, times the mean of the product over them. For a sum, `w(r)`
//! is the probability that `r` documents are above, times the mean of the sum over them. A trial changes `p(r)` to
//! `p(r) behind + p(r - 1) ahead`, as in `cpu/ranks/trials.rs`. A trial also changes `w(r)` to
//! `w(r) behind + (w(r - 1) + p(r - 1) b) ahead`. For a product, `ahead` is already multiplied by `1 - b`. A trial
//! moves probabilities to the next higher rank, and derivatives to the next lower rank. A window therefore needs the
//! values of one rank of the neighboring window for each trial.

use super::above_expectation::passes;
use super::*;

/// The width of a window is a multiple of this number, so that few kernels are compiled. The width is at most `WIDEST`,
/// because a unit cannot hold more ranks in its registers.
const STEP: usize = 8;
pub(super) const WIDEST: usize = 32;

/// The properties of a recursion for which a separate kernel is compiled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Form {
    pub kind: Kind,
    /// The number of ranks in each window.
    pub width: usize,
    /// Whether there are more ranks than one window holds.
    pub several: bool,
    pub sum: bool,
}

impl Form {
    pub fn new(kind: Kind, ranks: usize, above: Above) -> Self {
        let width = ranks.next_multiple_of(STEP).min(WIDEST);
        Self { kind, width, several: ranks > width, sum: above == Above::Sum }
    }

    /// Returns the number of units per row. Under exact noise, these units share the comparisons.
    pub const fn slices(self) -> usize {
        match self.kind {
            Kind::Exact => SLICES,
            Kind::Mixture => 1,
        }
    }

    pub const fn units(self) -> usize {
        ROWS * self.slices()
    }

    /// Returns the number of arrays over the ranks, which are `p` and, for a sum, `w`.
    pub const fn arrays(self) -> usize {
        if self.sum { 2 } else { 1 }
    }

    /// Returns the number of values in the state of a window.
    pub const fn state(self) -> usize {
        self.width * self.arrays()
    }
}

/// The trial of a column against a row.
#[derive(CubeType, Clone, Copy)]
#[expand(derive(Clone, Copy))]
pub(super) struct Trial {
    /// The probability that the column is above, multiplied by `1 - b` for a product.
    pub ahead: f32,
    /// The probability that the column is not above.
    pub behind: f32,
    /// The number by which the column contributes to a sum or a product.
    pub b: f32,
    /// `exp(-t^2)`, to which the derivative of the probability is proportional.
    pub bell: f32,
}

/// Returns the trial of column `j` against a row, in the list whose first document has the index `list`. If the column
/// is the row itself, the trial always fails.
#[cube]
pub(super) fn trial(
    x: &[f32],
    b: &[f32],
    order: &[u32],
    list: usize,
    row: Row,
    comparison: Comparison,
    j: usize,
    #[comptime] form: Form,
) -> Trial {
    let other = list + order[row.columns + j] as usize;
    let beats = probability((x[other] - row.x) * comparison.rate - comparison.shift);
    let meets = other != row.cell;
    let b = b[other];
    Trial {
        ahead: select(meets, beats.of * passes(b, comptime!(form.sum)), 0.0f32),
        behind: select(meets, beats.against, 1.0f32),
        b,
        bell: select(meets, beats.bell, 0.0f32),
    }
}

/// The arrays `p` and `w` for the ranks of a window, or the derivatives with respect to them. Only sums use `w`.
#[derive(CubeType)]
pub(super) struct Window {
    pub p: Array<f32>,
    pub w: Array<f32>,
}

/// The values of `p` and `w` at one rank of the neighboring window.
#[derive(CubeType, Clone, Copy)]
#[expand(derive(Clone, Copy))]
pub(super) struct Neighbor {
    pub p: f32,
    pub w: f32,
}

#[cube]
pub(super) fn empty(#[comptime] form: Form) -> Window {
    Window {
        p: Array::<f32>::new(comptime!(form.width)),
        w: Array::<f32>::new(comptime!(if form.sum { form.width } else { 1 })),
    }
}

/// Sets the window to the distribution before the first trial, which has rank 0 with probability 1.
#[cube]
pub(super) fn begin(state: &mut Window, is_first: bool, #[comptime] form: Form) {
    #[unroll]
    for rank in 0..comptime!(form.width) {
        state.p[rank] = 0.0f32;
        if comptime!(form.sum) {
            state.w[rank] = 0.0f32;
        }
    }
    state.p[0] = select(is_first, 1.0f32, 0.0f32);
}

/// Updates the distribution for one trial, from the highest rank of the window down. Before the trial, the next lower
/// rank, which is outside the window, has the values `below`.
#[cube]
pub(super) fn advance(state: &mut Window, below: Neighbor, trial: Trial, #[comptime] form: Form) {
    if comptime!(form.sum) {
        let added = trial.ahead * trial.b;
        #[unroll]
        for step in 1..comptime!(form.width) {
            let rank = comptime!(form.width - step);
            let stays = fma(state.p[comptime!(rank - 1)], added, state.w[rank] * trial.behind);
            state.w[rank] = fma(state.w[comptime!(rank - 1)], trial.ahead, stays);
        }
        state.w[0] = fma(below.w, trial.ahead, fma(below.p, added, state.w[0] * trial.behind));
    }
    #[unroll]
    for step in 1..comptime!(form.width) {
        let rank = comptime!(form.width - step);
        state.p[rank] = fma(state.p[comptime!(rank - 1)], trial.ahead, state.p[rank] * trial.behind);
    }
    state.p[0] = fma(below.p, trial.ahead, state.p[0] * trial.behind);
}

/// Updates derivatives backward over one trial, from the lowest rank of the window up. After the trial, the next higher
/// rank, which is outside the window, has the derivatives `above`.
#[cube]
pub(super) fn retreat(slopes: &mut Window, above: Neighbor, trial: Trial, #[comptime] form: Form) {
    let added = trial.ahead * trial.b;
    #[unroll]
    for rank in 0..comptime!(form.width) {
        let next = neighbor(&*slopes, above, comptime!(rank + 1), form);
        let p = fma(next.p, trial.ahead, slopes.p[rank] * trial.behind);
        if comptime!(form.sum) {
            slopes.p[rank] = fma(next.w, added, p);
            slopes.w[rank] = fma(next.w, trial.ahead, slopes.w[rank] * trial.behind);
        } else {
            slopes.p[rank] = p;
        }
    }
}

/// Returns the values at a rank of the window, or `above` for the rank after the window's last rank.
#[cube]
fn neighbor(window: &Window, above: Neighbor, #[comptime] rank: usize, #[comptime] form: Form) -> Neighbor {
    if comptime!(rank == form.width) {
        above
    } else if comptime!(form.sum) {
        Neighbor { p: window.p[rank], w: window.w[rank] }
    } else {
        Neighbor { p: window.p[rank], w: f32::new(0.0f32) }
    }
}

/// Returns the contribution of one rank to the derivative of the expectation with respect to the probability that a
/// column is above. Before the trial, the rank has the values `here`; `slopes` and `above` are the derivatives after
/// the trial.
#[cube]
pub(super) fn slope_at(
    here: Neighbor,
    slopes: &Window,
    above: Neighbor,
    trial: Trial,
    #[comptime] rank: usize,
    #[comptime] form: Form,
) -> f32 {
    let next = neighbor(slopes, above, comptime!(rank + 1), form);
    if comptime!(form.sum) {
        let by_p = fma(next.w, trial.b, next.p - slopes.p[rank]);
        fma(here.p, by_p, here.w * (next.w - slopes.w[rank]))
    } else {
        here.p * fma(next.p, 1.0f32 - trial.b, -slopes.p[rank])
    }
}
