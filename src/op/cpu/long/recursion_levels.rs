//! Computes [`above_recursion`](crate::op::cpu::above_recursion()) for exact noise, one [level](super::levels) after
//! another, with results in `f32`. At each level, the [trials] of the documents within its reach are computed once and
//! reused for every document. The walk ends when documents above the level fill every rank at which the function of the
//! rank is nonzero. All further expectations are 0. A long list therefore needs only a few levels at the top.

use super::levels::{NoisyList, Part};
use crate::execution::Target;
use crate::op::cpu::{
    dispatch::{Kernel, dispatch},
    parameters::Above,
    ranks::trials::{Certain, Trials},
};

/// A list sorted by descending score, with the parameters of its expectation.
pub struct List<'a> {
    noisy: NoisyList,
    /// For each `k`, the sum of the contributions `b` of the first `k` documents or, for a product, the product of
    /// `1 - b`.
    totals: Vec<f64>,
    values: &'a [f64],
    above: Above,
}

impl<'a> List<'a> {
    pub fn new(list: [&[f32]; 3], values: &'a [f64], above: Above, deviation: f64) -> Self {
        let noisy = NoisyList::new(list, deviation);
        let mut totals = vec![above.nobody()];
        for &b in &noisy.b {
            let before = totals[totals.len() - 1];
            totals.push(if above == Above::Sum { before + b } else { before * above.left(b) });
        }
        Self { noisy, totals, values, above }
    }

    fn summed(&self, target: Target, g: Option<&[f64]>) -> Vec<f64> {
        let parts = self.noisy.parts().into_iter().map(|part| (part, ())).collect();
        self.noisy.levels.summed(parts, 8 * self.values.len(), |part, (), sums| {
            dispatch(target, Summed { list: self, g, part, sums });
        })
    }

    /// Computes `a_i E[A_i f(R_i)]` of every document.
    pub fn value(&self, target: Target, out: &mut [f32]) {
        self.noisy.put_expectations(&self.summed(target, None), out);
    }

    /// Computes the gradient of [`value`](Self::value) with respect to the scores.
    pub fn gradient(&self, target: Target, g: &[f32], to_x: &mut [f32]) {
        self.noisy.put_slopes(&self.summed(target, Some(&self.noisy.weighted(g))), to_x);
    }
}

/// Computes expectations. If `g` (the incoming gradient times the weight) is given, computes their gradient with
/// respect to the scores instead.
struct Summed<'a> {
    list: &'a List<'a>,
    g: Option<&'a [f64]>,
    part: Part,
    sums: &'a mut [f64],
}

impl Kernel for Summed<'_> {
    #[inline(always)]
    fn run<const FMA: bool>(self) {
        let Self { list, g, part, sums } = self;
        let first = part.above;
        let mut walk = list.noisy.levels.walk(part);
        while walk.next() {
            let (places, count) = (walk.places.clone(), walk.places.start);
            let certain = Certain { count, total: list.totals[count] };
            if count >= list.values.len() || list.above != Above::Sum && certain.total == 0.0 {
                return;
            }
            walk.meet::<FMA>();
            let (around, step) = (&walk.around, list.noisy.levels.step);
            let b = &list.noisy.b[places.clone()];
            let trials =
                Trials { above: list.above, values: list.values, ahead: &around.ahead, behind: &around.behind, b };
            let sums = sums[count - first..].iter_mut().zip(&around.density);
            match g {
                None => {
                    let found = trials.expectations::<FMA>(certain, |j| list.noisy.a[places.start + j] != 0.0);
                    for ((sum, density), expectation) in sums.zip(found.into_iter().flatten()) {
                        *sum += step * density * expectation;
                    }
                }
                Some(g) => {
                    let weights = g[places.clone()].iter().zip(&around.density);
                    let weights: Vec<f64> = weights.map(|(g, density)| g * step * density).collect();
                    let found = trials.slopes::<FMA>(certain, &weights).into_iter().flatten();
                    let own = weights.iter().zip(&around.distance);
                    for (((sum, density), found), (weight, distance)) in sums.zip(found).zip(own) {
                        *sum += found.slope * density - weight * distance * found.expectation;
                    }
                }
            }
        }
    }
}
