//! A list under exact noise, for expectations by [levels](super::levels). The documents are in the order of descending
//! scores. The weight `a` multiplies the expectation of a document, and `b` is its contribution to the documents below
//! it.

use super::levels::{Levels, Part};
use super::walk::Sorted;
use crate::op::cpu::real::Real;

/// A list of documents by descending score.
pub struct NoisyList {
    sorted: Sorted,
    /// The levels of the scores, measured in standard deviations.
    pub levels: Levels,
    /// The weights of the documents by descending score. Expectations of documents with `a = 0` are not needed.
    pub a: Vec<f64>,
    pub b: Vec<f64>,
    deviation: f64,
}

impl NoisyList {
    /// Creates a list; `deviation` is the standard deviation of the noise of one score.
    pub fn new<T: Real>(x: &[T], a: &[T], b: &[T], deviation: f64) -> Self {
        let sorted = Sorted::new(x);
        let levels = Levels::new(sorted.scaled(1.0 / deviation));
        let [a, b] = [a, b].map(|values| sorted.gather_exact(values));
        Self { sorted, levels, a, b, deviation }
    }

    /// Returns the parts of the levels around documents with a nonzero weight.
    pub fn parts(&self) -> Vec<Part> {
        self.levels.parts(|place| self.a[place] != 0.0)
    }

    /// Returns the incoming gradient times the weight of each document, by descending score.
    pub fn weighted<T: Real>(&self, g: &[T]) -> Vec<f64> {
        let g = self.sorted.gather(g);
        g.iter().zip(&self.a).map(|(g, a)| if *a == 0.0 { 0.0 } else { g.to_f64() * a }).collect()
    }

    /// Multiplies expectations, summed over levels, by the weights and writes them to `out` in the order of the list.
    pub fn put_expectations<T: Real>(&self, sums: &[f64], out: &mut [T]) {
        self.sorted.scatter(sums.iter().zip(&self.a).map(|(sum, a)| sum * a), out);
    }

    /// Converts derivatives from scores in standard deviations to the original scores, and writes them to `to_x` in the
    /// order of the list.
    pub fn put_slopes<T: Real>(&self, sums: &[f64], to_x: &mut [T]) {
        self.sorted.scatter(sums.iter().map(|sum| sum / self.deviation), to_x);
    }
}
