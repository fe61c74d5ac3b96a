//! A list with exact noise, whose expectations are computed by [levels](super::levels). The documents are sorted by
//! descending score. The weight `a` of a document multiplies its expectation; its contribution `b` enters the
//! expectations of the documents below it.

use super::levels::{Levels, Part};
use super::walk::Sorted;

pub struct NoisyList {
    sorted: Sorted,
    /// The levels for the scores of the list, in units of the standard deviation of the noise.
    pub levels: Levels,
    /// The weight of each document in sorted order. A document with weight 0 is not ranked, but still counts for the
    /// documents below it.
    pub a: Vec<f64>,
    pub b: Vec<f64>,
    deviation: f64,
}

impl NoisyList {
    pub fn new([x, a, b]: [&[f32]; 3], deviation: f64) -> Self {
        let sorted = Sorted::new(x);
        let levels = Levels::new(sorted.scaled(1.0 / deviation));
        let [a, b] = [a, b].map(|values| sorted.gather_exact(values));
        Self { sorted, levels, a, b, deviation }
    }

    /// Splits the levels into parts. Levels that no document with a nonzero weight can reach are left out.
    pub fn parts(&self) -> Vec<Part> {
        self.levels.parts(|place| self.a[place] != 0.0)
    }

    /// Returns the incoming gradient of each document times its weight, in sorted order.
    pub fn weighted(&self, g: &[f32]) -> Vec<f64> {
        let g = self.sorted.gather(g);
        g.iter().zip(&self.a).map(|(g, a)| if *a == 0.0 { 0.0 } else { f64::from(*g) * a }).collect()
    }

    /// Multiplies the expectation of each document by its weight, and writes the products to `out` in the original
    /// order.
    pub fn put_expectations(&self, sums: &[f64], out: &mut [f32]) {
        self.sorted.scatter(sums.iter().zip(&self.a).map(|(sum, a)| sum * a), out);
    }

    /// Divides the derivatives by the standard deviation, since they are with respect to scaled scores, and writes them
    /// to `to_x` in the original order.
    pub fn put_slopes(&self, sums: &[f64], to_x: &mut [f32]) {
        self.sorted.scatter(sums.iter().map(|sum| sum / self.deviation), to_x);
    }
}
