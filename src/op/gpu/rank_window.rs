//! Trials against a row, for a window of ranks: what a unit of [`above_recursion`](super::above_recursion) holds.
//!
//! `p(r)` is the chance that `r` documents are above, times the mean of the product. `w(r)`, for a sum, is the chance
//! times the mean of the sum. A trial takes `p(r)` to `p(r) behind + p(r - 1) ahead`, and `w(r)` to
//! `w(r) behind + (w(r - 1) + p(r - 1) b) ahead`, as in `cpu/ranks/trials.rs`; in a product, `ahead` has the factor
//! `1 - b`. Trials move them to higher ranks, and derivatives by them to lower ones, so a window needs one number of
//! each kind from its neighbor.

use burn_cubecl::cubecl::{self, prelude::*};

use super::above_products::passes;
use super::noise::{Comparison, Kind};
use super::real::probability;
use super::tile::{ROWS, SLICES};
use crate::op::cpu::Above;

/// Widths of windows are multiples of this, so that few kernels are compiled, up to what units hold without spilling.
const STEP: usize = 8;
pub(super) const WIDEST: usize = 32;

/// The properties that all kernels of a recursion share.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Form {
    pub kind: Kind,
    /// Ranks of a window.
    pub width: usize,
    /// Ranks may take more than one window.
    pub several: bool,
    pub sum: bool,
}

impl Form {
    pub fn new(kind: Kind, ranks: usize, above: Above) -> Self {
        let width = ranks.next_multiple_of(STEP).min(WIDEST);
        Self { kind, width, several: ranks > width, sum: above == Above::Sum }
    }

    /// Units of a row: under exact noise each takes some of the comparisons.
    pub const fn slices(self) -> usize {
        match self.kind {
            Kind::Exact => SLICES,
            Kind::Mixture => 1,
        }
    }

    pub const fn units(self) -> usize {
        ROWS * self.slices()
    }

    /// Arrays over the ranks.
    pub const fn arrays(self) -> usize {
        if self.sum { 2 } else { 1 }
    }

    /// Numbers of a state.
    pub const fn state(self) -> usize {
        self.width * self.arrays()
    }
}

/// The row of a unit and its list.
#[derive(CubeType, Clone, Copy)]
#[expand(derive(Clone, Copy))]
pub(super) struct Row {
    pub x: f32,
    /// Cell of the row.
    pub cell: usize,
    /// First cell of its list.
    pub list: usize,
    /// First entry of the columns in the order.
    pub columns: usize,
}

/// A column against a row.
#[derive(CubeType, Clone, Copy)]
#[expand(derive(Clone, Copy))]
pub(super) struct Trial {
    /// Chance that the column is above, times the factor by which it reduces a product.
    pub ahead: f32,
    /// Chance that the column is not above.
    pub behind: f32,
    /// The value that it adds to a sum, or takes from a product.
    pub b: f32,
    /// `exp(-t^2)`, to which the derivative of the chance is proportional.
    pub bell: f32,
}

/// Column `j` against a row; no row meets itself.
#[cube]
pub(super) fn trial(
    x: &[f32],
    b: &[f32],
    order: &[u32],
    row: Row,
    comparison: Comparison,
    j: usize,
    #[comptime] form: Form,
) -> Trial {
    let other = row.list + order[row.columns + j] as usize;
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

/// `p` and `w` of a window of ranks, or derivatives by them. A product has no `w`.
#[derive(CubeType)]
pub(super) struct Window {
    pub p: Array<f32>,
    pub w: Array<f32>,
}

/// `p` and `w` of the neighboring rank.
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

/// Before the first trial.
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

/// Takes a state over a trial, the highest rank first; `below` is the state of the rank below before the trial.
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

/// Takes derivatives back over a trial, the lowest rank first; `above` is the derivative of the rank above after the
/// trial.
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

/// Returns the numbers at a rank of the window, or above it.
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

/// Derivative of the expectation in the chance that a column is above, through one rank. `here` is the state of the rank
/// before the trial; `slopes` and `above` are the derivatives after it.
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
