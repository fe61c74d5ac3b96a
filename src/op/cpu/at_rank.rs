//! Computes [`at_rank`](crate::op::at_rank()) by looking up a table.

use super::real::Real;

/// Returns `table[rank - 1]` for each rank, or 0 beyond the table.
pub fn at_rank<T: Real>(ranks: &[T], table: &[f64]) -> Vec<T> {
    let table: Vec<T> = table.iter().map(|&value| T::from_f64(value)).collect();
    let value = |rank: &T| table.get((rank.to_f64() as usize).wrapping_sub(1)).copied().unwrap_or_default();
    ranks.iter().map(value).collect()
}
