//! [`sum_documents`](crate::op::sum_documents()) in a fixed order, in which zeros at the end change no bit.

use super::dispatch::{Kernel, dispatch, target};
use super::real::Real;
use super::sum::sum;

struct Lists<'a, T> {
    x: &'a [T],
    n: usize,
    out: &'a mut [T],
}

impl<T: Real> Kernel for Lists<'_, T> {
    #[inline(always)]
    fn run<const FMA: bool>(self) {
        for (out, list) in self.out.iter_mut().zip(self.x.chunks_exact(self.n)) {
            *out = sum(list);
        }
    }
}

/// The sums of lists of `n` documents.
pub fn sum_documents<T: Real>(x: &[T], n: usize) -> Vec<T> {
    let mut out = vec![T::ZERO; x.len() / n];
    dispatch(target(), Lists { x, n, out: &mut out });
    out
}

#[cfg(test)]
mod tests {
    use super::sum_documents;
    use crate::op::cpu::box_cases::scattered;

    #[test]
    fn padding_changes_no_bit_of_a_sum() {
        let list: Vec<f32> = scattered(300, 1009).map(|x| (x / 1009.0 - 0.4) as f32).collect();
        for n in [1, 2, 15, 16, 17, 100, 300] {
            let [sum] = sum_documents(&list[..n], n)[..] else { unreachable!() };
            assert!((f64::from(sum) - list[..n].iter().map(|&x| f64::from(x)).sum::<f64>()).abs() < 1e-5);
            for padding in 0..70 {
                let padded = [&list[..n], &vec![0.0; padding]].concat();
                assert_eq!(sum_documents(&padded.repeat(2), n + padding), [sum; 2], "{n}, {padding}");
            }
        }
    }
}
