//! [`rank`](crate::op::rank()) by sorting.

use super::{Real, for_each};

/// Ranks by descending `x` of lists of `n` documents, ties by index, padding last.
pub(in crate::op) fn rank<T: Real>(x: &[T], mask: &[T], n: usize) -> Vec<T> {
    let mut out = vec![T::ZERO; x.len()];
    let lists = x.chunks(n).zip(mask.chunks(n)).zip(out.chunks_mut(n)).collect();
    for_each(lists, x.len() * 16, |((x, mask), out)| {
        // Adding 0 makes the two zeros one, as in a comparison.
        let mut order: Vec<(T, u32)> =
            (0..).zip(x).filter(|&(i, _)| mask[i as usize] > T::ZERO).map(|(i, &x)| (x + T::ZERO, i)).collect();
        order.sort_unstable_by(|(a, i), (b, j)| b.total_cmp(a).then(i.cmp(j)));
        let padding = (0..n as u32).filter(|&i| mask[i as usize] <= T::ZERO);
        for (rank, i) in order.iter().map(|&(_, i)| i).chain(padding).enumerate() {
            out[i as usize] = T::of((rank + 1) as f64);
        }
    });
    out
}
