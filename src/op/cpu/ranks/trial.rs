//! The comparison of one document with others (a trial), and how one more trial changes the distribution of the number
//! of successes (a Poisson-binomial distribution).
//!
//! A trial of probability `pi` changes the probability `x(r)` of `r` successes to `x(r) (1 - pi) + x(r - 1) pi`. In the
//! backward pass, a trial changes the derivative `x(r)` to `x(r) (1 - pi) + x(r + 1) pi`. Both updates are implemented
//! for the ranks of one row, and for the rows of a tile (`[ranks, rows]`) with one trial per row.

use crate::op::cpu::{lists::TILE, parameters::Comparison, real::Real};

/// Returns the probability that one noisy score is above another, the complement of this probability, and `exp(-t^2)`.
/// Here `t` is the difference of the two scores divided by `2 sigma`.
#[inline(always)]
pub(in crate::op::cpu) fn beats<T: Real, const FMA: bool>(t: T) -> (T, T, T) {
    let bell = (-t * t).exponential::<FMA>();
    let small = T::HALF * t.abs().scaled_erfc::<FMA>() * bell;
    let large = T::ONE - small;
    if t < T::ZERO { (small, large, bell) } else { (large, small, bell) }
}

/// The comparison of one document with several rows, one number per row in each array.
pub struct Trial<'a, T> {
    /// The probability that the document ranks above each row. The array `behind` holds the complement of this
    /// probability.
    pub ahead: &'a mut [T],
    pub behind: &'a mut [T],
    /// `exp(-t^2)`, to which the derivative of the probability is proportional.
    pub density: &'a mut [T],
}

impl<'a, T: Real> Trial<'a, T> {
    /// Creates a trial for `rows` rows, at most a tile.
    #[inline(always)]
    pub fn of_rows(rows: usize, [ahead, behind, density]: &'a mut [[T; TILE]; 3]) -> Self {
        Self { ahead: &mut ahead[..rows], behind: &mut behind[..rows], density: &mut density[..rows] }
    }

    /// Compares document `j`, whose score is `x`, with the documents at `places`, whose scores are `rows`. The places
    /// must be in ascending order. If document `j` is one of the rows, its comparison with itself always fails.
    #[inline(always)]
    pub fn meet<const FMA: bool>(&mut self, (j, x): (usize, T), rows: &[T], places: &[usize], by: Comparison<T>) {
        let chances = self.ahead.iter_mut().zip(self.behind.iter_mut()).zip(self.density.iter_mut());
        for (((ahead, behind), density), &row) in chances.zip(rows) {
            (*ahead, *behind, *density) = beats::<T, FMA>((x - row) * by.rate - by.shift);
        }
        if let Ok(own) = places.binary_search(&j) {
            (self.ahead[own], self.behind[own], self.density[own]) = (T::ZERO, T::ONE, T::ZERO);
        }
    }
}

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
