//! Helpers for one list of a batch, which find its documents and check that its scores are finite.

use super::real::Real;

/// Returns the positions of the documents of one list.
pub fn documents<T: Real>(mask: &[T]) -> Vec<usize> {
    (0..mask.len()).filter(|&i| mask[i] > T::ZERO).collect()
}

pub fn gather<T: Real>(values: &[T], positions: &[usize]) -> Vec<T> {
    positions.iter().map(|&i| values[i]).collect()
}

/// Returns the positions of the nonzero values. The loop has no branches, since a processor cannot predict which labels
/// are nonzero.
pub fn counting<T: Real>(values: &[T]) -> Vec<usize> {
    let (mut places, mut length) = (vec![0; values.len()], 0);
    for (place, &value) in values.iter().enumerate() {
        places[length] = place;
        length += usize::from(value != T::ZERO);
    }
    places.truncate(length);
    places
}

pub fn scatter<T: Real>(out: &mut [T], positions: &[usize], values: &[T]) {
    for (&i, &value) in positions.iter().zip(values) {
        out[i] = value;
    }
}

/// Returns whether any score is NaN or infinite, and fills `out` with NaN if so. Tensor definitions yield NaN without a
/// check, because each score is subtracted from itself, and infinity minus infinity is NaN.
pub fn diverged<T: Real>(x: &[T], out: &mut [T]) -> bool {
    // The loop never stops early, so it vectorizes. 0 times a number that is not finite is NaN.
    let finite = x.iter().fold(true, |finite, &x| finite & (x * T::ZERO == T::ZERO));
    if !finite {
        out.fill(T::from_f64(f64::NAN));
    }
    !finite
}
