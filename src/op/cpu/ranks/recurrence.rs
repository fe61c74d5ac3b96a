//! How one more trial changes the distribution of the number of successes (a Poisson-binomial distribution). A trial of
//! probability `pi` changes the probability `x(r)` of `r` successes to `x(r) (1 - pi) + x(r - 1) pi`. In the backward
//! pass, a trial changes the derivative `x(r)` to `x(r) (1 - pi) + x(r + 1) pi`.
//!
//! Both updates are implemented for the ranks of one row, and for the rows of a tile (`[ranks, rows]`) with one trial
//! per row.

use crate::op::cpu::real::Real;

/// Returns `here (1 - pi) + from pi`, where `ahead` is `pi` and `behind` is `1 - pi`.
#[inline(always)]
fn moved<T: Real, const FMA: bool>(here: T, from: T, ahead: T, behind: T) -> T {
    from.fma::<FMA>(ahead, here * behind)
}

/// Computes the distribution of one row after a trial from the distribution before it.
#[inline(always)]
pub fn after<const FMA: bool>(x: &[f64], ahead: f64, behind: f64, out: &mut [f64]) {
    out[0] = x[0] * behind;
    for ((out, &here), &below) in out[1..].iter_mut().zip(&x[1..]).zip(x) {
        *out = moved::<f64, FMA>(here, below, ahead, behind);
    }
}

/// Computes the derivatives of one row before a trial from the derivatives after it.
#[inline(always)]
pub fn before<const FMA: bool>(x: &mut [f64], ahead: f64, behind: f64) {
    let last = x.len() - 1;
    for rank in 0..last {
        x[rank] = moved::<f64, FMA>(x[rank], x[rank + 1], ahead, behind);
    }
    x[last] *= behind;
}

/// Computes the distributions of a tile after trial number `j`. Before this trial, no row has a rank above `j`.
#[inline(always)]
pub fn advance<T: Real, const FMA: bool>(x: &mut [T], j: usize, ahead: &[T], behind: &[T]) {
    let rows = ahead.len();
    for rank in (1..(x.len() / rows).min(j + 2)).rev() {
        let (below, here) = x.split_at_mut(rank * rows);
        move_ranks::<T, FMA>(&mut here[..rows], &below[(rank - 1) * rows..], ahead, behind);
    }
    scale(&mut x[..rows], behind);
}

/// Computes the derivatives of a tile, or their differences between ranks, before a trial from those after it.
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
