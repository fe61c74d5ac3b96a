//! The fused kernel of [`above_recursion`](crate::op::above_recursion()). For each document with a nonzero weight, the
//! kernel runs the [trials](super::trials) of all other documents in double precision. Functions of the rank alone have
//! a [separate kernel](super::rank_recursion), which takes at most half the time, and far less for long lists. Under
//! exact noise with results in `f32`, all documents of a list share [levels](crate::op::cpu::long::recursion_levels).

use super::rank_recursion;
use super::trial::beats;
use super::trials::{Certain, Trials};
use crate::op::cpu::{
    dispatch::{Kernel, dispatch, in_single, is_fast, target},
    lists::{counting, each_list_of_documents, each_stripe, reduce},
    long::recursion_levels,
    parameters::{Above, AboveRecursion, Comparison},
    real::Real,
};

fn nobody(above: Above) -> Certain {
    Certain { count: 0, total: above.nobody() }
}

/// One list without padding, in double precision.
struct List {
    x: Vec<f64>,
    a: Vec<f64>,
    b: Vec<f64>,
    /// The documents with a nonzero weight.
    rows: Vec<usize>,
    /// The values of the function of the rank, without trailing zeros.
    values: Vec<f64>,
    mixture: Vec<(f64, Comparison)>,
    above: Above,
}

impl List {
    /// Returns the cost of the list: the number of trials times the number of ranks.
    fn work(&self) -> usize {
        self.rows.len() * self.x.len() * self.values.len() * self.mixture.len()
    }

    /// Computes the trials of all documents against a row. The last trial, of the row against itself, always fails.
    #[inline(always)]
    fn meet<const FMA: bool>(&self, row: usize, comparison: Comparison, against: &mut AgainstRow) {
        let AgainstRow { documents, ahead, behind, density, b } = against;
        documents.clear();
        documents.extend((0..self.x.len()).filter(|&j| j != row).chain([row]));
        for values in [&mut *ahead, behind, density, b] {
            values.resize(documents.len(), 0.0);
        }
        let chances = ahead.iter_mut().zip(&mut *behind).zip(&mut *density);
        for (((ahead, behind), density), &j) in chances.zip(&*documents) {
            let (beats, loses, bell) =
                beats::<f64, FMA>((self.x[j] - self.x[row]) * comparison.rate - comparison.shift);
            (*ahead, *behind) = (beats, loses);
            *density = comparison.rate * 0.5 * std::f64::consts::FRAC_2_SQRT_PI * bell;
        }
        for (b, &j) in b.iter_mut().zip(&*documents) {
            *b = self.b[j];
        }
        let own = documents.len() - 1;
        (ahead[own], behind[own], density[own]) = (0.0, 1.0, 0.0);
    }

    fn trials<'a>(&'a self, against: &'a AgainstRow) -> Trials<'a> {
        let AgainstRow { ahead, behind, b, .. } = against;
        Trials { above: self.above, values: &self.values, ahead, behind, b }
    }
}

/// The trials of all documents against one row.
#[derive(Default)]
struct AgainstRow {
    documents: Vec<usize>,
    ahead: Vec<f64>,
    behind: Vec<f64>,
    /// The derivative of each probability with respect to the score of the document.
    density: Vec<f64>,
    b: Vec<f64>,
}

/// Computes the expectations of some rows, before they are multiplied by the weights `a`.
struct Expectations<'a> {
    list: &'a List,
    rows: &'a [usize],
    out: &'a mut [f64],
}

impl Kernel for Expectations<'_> {
    #[inline(always)]
    fn run<const FMA: bool>(self) {
        let mut against = AgainstRow::default();
        for (&row, out) in self.rows.iter().zip(self.out) {
            for &(weight, comparison) in &self.list.mixture {
                self.list.meet::<FMA>(row, comparison, &mut against);
                let own = against.documents.len() - 1;
                let found = self.list.trials(&against).expectations::<FMA>(nobody(self.list.above), |j| j == own);
                *out += weight * found.map_or(0.0, |found| found[own]);
            }
        }
    }
}

/// Computes the gradient of the expectations of some rows with respect to the scores of all documents.
struct Gradient<'a> {
    list: &'a List,
    rows: &'a [usize],
    /// For each row, the incoming gradient times the weight `a`.
    g: &'a [f64],
    to_all: &'a mut [f64],
}

impl Kernel for Gradient<'_> {
    #[inline(always)]
    fn run<const FMA: bool>(self) {
        let (mut against, mut weights) = (AgainstRow::default(), vec![0.0; self.list.x.len()]);
        for (&row, &g) in self.rows.iter().zip(self.g) {
            for &(weight, comparison) in &self.list.mixture {
                self.list.meet::<FMA>(row, comparison, &mut against);
                weights[against.documents.len() - 1] = g * weight;
                let found = self.list.trials(&against).slopes::<FMA>(nobody(self.list.above), &weights);
                for ((&j, density), found) in
                    against.documents.iter().zip(&against.density).zip(found.into_iter().flatten())
                {
                    let flow = found.slope * density;
                    self.to_all[j] += flow;
                    self.to_all[row] -= flow;
                }
            }
        }
    }
}

/// Returns the first `documents` values without trailing zeros.
fn without_zeros_at_end<T: Real>(values: &[T], documents: usize) -> Vec<f64> {
    let values = &values[..values.len().min(documents)];
    let end = values.iter().rposition(|value| *value != T::ZERO).map_or(0, |last| last + 1);
    values[..end].iter().map(|value| value.to_f64()).collect()
}

/// Creates a list whose expectations are computed row by row.
fn list<T: Real>([x, a, b]: [Vec<T>; 3], values: Vec<f64>, recursion: &AboveRecursion) -> List {
    let rows = counting(&a);
    let [x, a, b] = [x, a, b].map(|values| values.iter().map(|value| value.to_f64()).collect::<Vec<f64>>());
    let mixture = recursion.noise.mixture(x.len()).into_owned();
    List { x, a, b, rows, values, mixture, above: recursion.above }
}

/// Returns the standard deviation of the noise if expectations in `f32` are computed by levels.
fn deviation(documents: usize, recursion: &AboveRecursion) -> Option<f64> {
    recursion.noise.deviation().filter(|_| is_fast(target(), documents, true))
}

/// Returns the number of values in each row of `values`, and the cost of the whole batch.
fn ranks_and_work<T>(cells: usize, n: usize, values: &[T], recursion: &AboveRecursion) -> (usize, usize) {
    let ranks = values.len() / (cells / n.max(1)).max(1);
    (ranks, cells * n * ranks * recursion.noise.comparisons(n))
}

/// Returns the expectation `a_i E[A_i f(R_i)]` of each document, for lists of `n` documents; `values` has one row per
/// list.
pub fn above_recursion<T: Real>([x, a, b, mask, values]: [&[T]; 5], n: usize, recursion: &AboveRecursion) -> Vec<T> {
    let target = target();
    let levels = deviation(n, recursion);
    let (ranks, work) = ranks_and_work(x.len(), n, values, recursion);
    each_list_of_documents(mask, [x, a, b], (n, 1), work, |list, documents, out| {
        let values = without_zeros_at_end(&values[list * ranks..(list + 1) * ranks], out.len());
        if values.is_empty() {
            return;
        }
        let by_levels = |list, [out]: [&mut [f32]; 1]| {
            levels.map(|deviation| {
                recursion_levels::List::new(list, &values, recursion.above, deviation).value(target, out);
            })
        };
        if in_single(documents.each_ref().map(Vec::as_slice), [&mut *out], by_levels).flatten().is_some() {
            return;
        }
        if recursion.above == Above::Nothing {
            let ([x, a, _], mixture) = (documents, recursion.noise.mixture(out.len()));
            rank_recursion::value(target, [&x, &a], &mixture, &values, out);
            return out.iter_mut().zip(a).for_each(|(out, a)| *out = *out * a);
        }
        let list = self::list(documents, values, recursion);
        let mut expected = vec![0.0; list.rows.len()];
        each_stripe(&mut expected, 0, list.work(), |stripe, out, _| {
            dispatch(target, Expectations { list: &list, rows: &list.rows[stripe], out });
        });
        for (&row, value) in list.rows.iter().zip(expected) {
            out[row] = T::from_f64(list.a[row] * value);
        }
    })
}

/// Returns the gradient of [`above_recursion`] with respect to `x`.
pub fn above_recursion_gradient<T: Real>(
    [x, a, b, mask, values]: [&[T]; 5],
    g: &[T],
    n: usize,
    recursion: &AboveRecursion,
) -> Vec<T> {
    let target = target();
    let levels = deviation(n, recursion);
    let (ranks, work) = ranks_and_work(x.len(), n, values, recursion);
    each_list_of_documents(mask, [x, a, b, g], (n, 1), work, |list, [x, a, b, g], to_x| {
        let values = without_zeros_at_end(&values[list * ranks..(list + 1) * ranks], to_x.len());
        if values.is_empty() {
            return;
        }
        let by_levels = |[x, a, b, g]: [&[f32]; 4], [to_x]: [&mut [f32]; 1]| {
            levels.map(|deviation| {
                let list = recursion_levels::List::new([x, a, b], &values, recursion.above, deviation);
                list.gradient(target, g, to_x);
            })
        };
        if in_single([&x, &a, &b, &g], [&mut *to_x], by_levels).flatten().is_some() {
            return;
        }
        if recursion.above == Above::Nothing {
            let g: Vec<T> = a.iter().zip(&g).map(|(&a, &g)| if a == T::ZERO { a } else { a * g }).collect();
            return rank_recursion::gradient(target, [&x, &g], &recursion.noise.mixture(x.len()), &values, to_x);
        }
        let list = self::list([x, a, b], values, recursion);
        let g: Vec<f64> = list.rows.iter().map(|&row| g[row].to_f64() * list.a[row]).collect();
        let mut to_rows = vec![0.0; list.rows.len()];
        let partials = each_stripe(&mut to_rows, list.x.len(), list.work(), |stripe, _, to_all| {
            let (rows, g) = (&list.rows[stripe.clone()], &g[stripe]);
            dispatch(target, Gradient { list: &list, rows, g, to_all });
        });
        let mut sums = vec![0.0; list.x.len()];
        reduce(&mut sums, &partials);
        for (to_x, sum) in to_x.iter_mut().zip(sums) {
            *to_x = T::from_f64(sum);
        }
    })
}
