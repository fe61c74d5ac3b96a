//! Computes [`rank`](crate::op::rank()) by sorting.

use super::each_list::each_list;
use super::order::descending;
use super::real::Real;

/// Returns the ranks by descending `x` for lists of `n` documents. Documents with equal values are ranked by index, and
/// padding comes last.
pub fn rank<T: Real>(x: &[T], mask: &[T], n: usize) -> Vec<T> {
    each_list([x, mask], n, x.len() * 64, T::ZERO, |_, [x, mask], out| {
        let documents = (0..).zip(x).filter(|&(i, _)| mask[i as usize] > T::ZERO).map(|(i, &x)| (i, x));
        let padding = (0..n as u32).filter(|&i| mask[i as usize] <= T::ZERO);
        for (rank, i) in descending(documents).into_iter().chain(padding).enumerate() {
            out[i as usize] = T::from_f64((rank + 1) as f64);
        }
    })
}

#[cfg(test)]
mod tests {
    use super::rank;

    #[test]
    fn ties_go_by_index_and_padding_comes_last() {
        let x = [1.0f32, 3.0, 0.0, -0.0, 9.0, 1.0];
        let mask = [1.0, 1.0, 1.0, 1.0, 0.0, 1.0];
        assert_eq!(rank(&x, &mask, 6), [2.0, 1.0, 4.0, 5.0, 6.0, 3.0]);
        assert_eq!(rank(&x[..4], &[1.0; 4], 2), [2.0, 1.0, 1.0, 2.0]);
    }
}
