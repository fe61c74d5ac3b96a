//! [`rank`](crate::op::rank()) by sorting.

use super::{parallel::for_each, real::Real};

/// Ranks by descending `x` of lists of `n` documents, ties by index, padding last.
pub fn rank<T: Real>(x: &[T], mask: &[T], n: usize) -> Vec<T> {
    let mut out = vec![T::ZERO; x.len()];
    let lists = x.chunks(n).zip(mask.chunks(n)).zip(out.chunks_mut(n)).collect();
    for_each(lists, x.len() * 64, |((x, mask), out)| {
        let mut order: Vec<T::Key> =
            (0..).zip(x).filter(|&(i, _)| mask[i as usize] > T::ZERO).map(|(i, &x)| x.descending_key(i)).collect();
        order.sort_unstable();
        let padding = (0..n as u32).filter(|&i| mask[i as usize] <= T::ZERO);
        for (rank, i) in order.into_iter().map(T::index_of).chain(padding).enumerate() {
            out[i as usize] = T::of((rank + 1) as f64);
        }
    });
    out
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
