//! The comparison of one document with several rows.

use super::beats::beats;
use crate::op::cpu::{parameters::Comparison, real::Real};

/// A [`Comparison`] in the number type of the scores.
#[derive(Clone, Copy)]
pub struct Compared<T> {
    pub rate: T,
    pub shift: T,
}

impl<T: Real> From<Comparison> for Compared<T> {
    fn from(Comparison { rate, shift }: Comparison) -> Self {
        Self { rate: T::from_f64(rate), shift: T::from_f64(shift) }
    }
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
    /// Creates a trial for `rows` rows from arrays of at least this length.
    pub fn of_rows(rows: usize, [ahead, behind, density]: [&'a mut [T]; 3]) -> Self {
        Self { ahead: &mut ahead[..rows], behind: &mut behind[..rows], density: &mut density[..rows] }
    }

    /// Compares document `j`, whose score is `x`, with the documents at `places`, whose scores are `rows`. The places
    /// must be in ascending order. If document `j` is one of the rows, its comparison with itself always fails.
    #[inline(always)]
    pub fn meet<const FMA: bool>(&mut self, (j, x): (usize, T), rows: &[T], places: &[usize], compared: Compared<T>) {
        let chances = self.ahead.iter_mut().zip(self.behind.iter_mut()).zip(self.density.iter_mut());
        for (((ahead, behind), density), &row) in chances.zip(rows) {
            (*ahead, *behind, *density) = beats::<T, FMA>((x - row) * compared.rate - compared.shift);
        }
        if let Ok(own) = places.binary_search(&j) {
            (self.ahead[own], self.behind[own], self.density[own]) = (T::ZERO, T::ONE, T::ZERO);
        }
    }
}
