//! The recurrence of a Poisson-binomial distribution. One more trial of probability `pi` changes the probability of `r`
//! successes to `x(r) (1 - pi) + x(r - 1) pi`. Derivatives run backward by the adjoint, `x(r) (1 - pi) + x(r + 1) pi`.
//!
//! Each step exists for the ranks of one row and for a tile of rows, `[ranks, rows]`, with one trial per row.

use crate::op::cpu::real::Real;

/// Returns `x(r) (1 - pi)` plus the flow from a neighboring rank with the value `from`.
#[inline(always)]
fn moved<T: Real, const FMA: bool>(here: T, from: T, ahead: T, behind: T) -> T {
    from.fma::<FMA>(ahead, here * behind)
}

/// Computes the distribution of one row after a trial.
#[inline(always)]
pub fn after<const FMA: bool>(x: &[f64], ahead: f64, behind: f64, out: &mut [f64]) {
    out[0] = x[0] * behind;
    for ((out, &here), &below) in out[1..].iter_mut().zip(&x[1..]).zip(x) {
        *out = moved::<f64, FMA>(here, below, ahead, behind);
    }
}

/// Computes the derivatives of one row before a trial from those after it.
#[inline(always)]
pub fn before<const FMA: bool>(x: &mut [f64], ahead: f64, behind: f64) {
    let last = x.len() - 1;
    for rank in 0..last {
        x[rank] = moved::<f64, FMA>(x[rank], x[rank + 1], ahead, behind);
    }
    x[last] *= behind;
}

/// Advances a tile over trial number `j`, before which no rank is above `j`.
#[inline(always)]
pub fn advance<T: Real, const FMA: bool>(x: &mut [T], j: usize, ahead: &[T], behind: &[T]) {
    let rows = ahead.len();
    for rank in (1..(x.len() / rows).min(j + 2)).rev() {
        let (below, here) = x.split_at_mut(rank * rows);
        move_ranks::<T, FMA>(&mut here[..rows], &below[(rank - 1) * rows..], ahead, behind);
    }
    scale(&mut x[..rows], behind);
}

/// Computes the derivatives of a tile before a trial, or their differences, from those after it.
#[inline(always)]
pub fn retreat<T: Real, const FMA: bool>(x: &mut [T], ahead: &[T], behind: &[T]) {
    let rows = ahead.len();
    let ranks = x.len() / rows;
    for rank in 0..ranks - 1 {
        let (here, above) = x[rank * rows..].split_at_mut(rows);
        move_ranks::<T, FMA>(here, &above[..rows], ahead, behind);
    }
    scale(&mut x[(ranks - 1) * rows..], behind);
}

#[inline(always)]
fn move_ranks<T: Real, const FMA: bool>(here: &mut [T], from: &[T], ahead: &[T], behind: &[T]) {
    for (((here, &from), &ahead), &behind) in here.iter_mut().zip(from).zip(ahead).zip(behind) {
        *here = moved::<T, FMA>(*here, from, ahead, behind);
    }
}

#[inline(always)]
fn scale<T: Real>(here: &mut [T], behind: &[T]) {
    for (here, &behind) in here.iter_mut().zip(behind) {
        *here = *here * behind;
    }
}
