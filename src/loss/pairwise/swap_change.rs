//! The change in a measure when two documents of a ranking swap places. All values in this module are ordered by rank,
//! so place 0 has rank 1.
//!
//! Let `u_r` be the value of rank `r`, 0 beyond the cut-off, let `l` be the relevance, and let `p < q`:
//!
//! | measure | change |
//! |---|---|
//! | precision, `u_r = 1/k` | `u_p - u_q` if one of both is relevant |
//! | average precision, `u_r = 1/r` | with `c_r` relevant documents down to `r`, `h_r = sum_{m <= r} l_m u_m` and `R` relevant documents: of `(c_r u_r - h_r) / R` from `p` to `q` if `p` is relevant, of `((c_r + 1) u_r - h_r) / R` if `q` is |
//! | reciprocal rank, `u_r = 1/r` | of `max(u_r, u_second)` from `p` to `q` if `p` is relevant, of `max(u_r, u_first)` if `q` is, at the first and second relevant document |
//! | ERR, `u_r = 1/r`, `g` the chance to stop | `abs(g_p - g_q) prod_{m < p} (1 - g_m) (u_p - sum_{p < m < q} u_m g_m prod_{p < o < m} (1 - g_o) - u_q prod_{p < m < q} (1 - g_m))` |
//!
//! For every measure except ERR, a swap changes the measure by the difference between the values of one function at the
//! ranks `p` and `q`. One function applies if the more relevant document is at `p`, and another function applies if it
//! is at `q`.

use serde::{Deserialize, Serialize};

use crate::loss::prelude::*;
use crate::op::differences;

/// A measure whose change under a swap of two documents can be a pair weight in
/// [`LambdaMeasure`](crate::loss::LambdaMeasure).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum SwapMeasure {
    /// Average precision.
    #[serde(rename = "ap", alias = "map")]
    Ap,
    /// Reciprocal rank.
    #[serde(rename = "rr", alias = "mrr")]
    Rr,
    /// Expected reciprocal rank.
    #[serde(rename = "err")]
    Err,
    /// Precision within the cut-off.
    #[serde(rename = "precision", alias = "p")]
    Precision,
}

impl SwapMeasure {
    /// Returns the value `u_r` of each rank: 0 beyond the cut-off `k`, 1/k for precision, and 1/r for the other
    /// measures.
    fn values(self, n: usize, k: usize) -> Vec<f64> {
        let value = |rank: usize| match self {
            _ if rank > k => 0.0,
            Self::Precision => 1.0 / k as f64,
            _ => 1.0 / rank as f64,
        };
        (1..=n).map(value).collect()
    }
}

/// Returns, at `[.., p, q]` with `p < q`, how much the measure changes if the documents at places `p` and `q` swap. All
/// other elements of the result, `[B, N, N]`, are 0. `ranked` is the relevance of each document in rank order, `[B,
/// N]`, or for ERR the probability that a reader who reaches a document stops at it. The changes carry no gradient.
pub(super) fn changes(measure: SwapMeasure, ranked: Tensor<2>, k: usize) -> Tensor<3> {
    let changes = match measure {
        SwapMeasure::Err => stop_changes(ranked, k),
        _ => relevance_changes(measure, ranked, k),
    };
    changes.triu(1)
}

/// Returns `|x_p - x_q|` for all places `p` and `q`, at `[.., p, q]`.
fn gaps(x: Tensor<2>) -> Tensor<3> {
    differences(&x).abs()
}

fn relevance_changes(measure: SwapMeasure, relevance: Tensor<2>, k: usize) -> Tensor<3> {
    let u = row_like(&measure.values(relevance.dims()[1], k), &relevance).expand(relevance.dims());
    let count = relevance.clone().cumsum(1);
    let found = relevance.clone() * u.clone();
    let [right, wrong] = match measure {
        SwapMeasure::Ap => {
            let relevant = one_in_place_of_zero(relevance.clone().sum_dim(1).squeeze_dim(1)).unsqueeze_dim::<2>(1);
            let above = found.cumsum(1);
            let function = |count: Tensor<2>| (count * u.clone() - above.clone()) / relevant.clone();
            [function(count.clone()), function(count + 1.0)]
        }
        SwapMeasure::Rr => {
            let later = found.clone() * count.greater_elem(1.5).float().cast(u.dtype());
            [later, found].map(|found| u.clone().max_pair(found.max_dim(1).expand(u.dims())))
        }
        SwapMeasure::Precision | SwapMeasure::Err => [u.clone(), u],
    };
    let relevant: Tensor<3> = relevance.clone().unsqueeze_dim(2);
    let other: Tensor<3> = relevance.unsqueeze_dim(1);
    let in_order = relevant.clone() * (other.clone().neg() + 1.0);
    let misplaced = (relevant.neg() + 1.0) * other;
    gaps(right) * in_order + gaps(wrong) * misplaced
}

fn stop_changes(stops: Tensor<2>, k: usize) -> Tensor<3> {
    let [batch, n] = stops.dims();
    let u = row_like(&SwapMeasure::Err.values(n, k), &stops).expand([batch, n]);
    let goes_on = stops.clone().neg() + 1.0;
    // Shifts running products or sums by one place, so each covers only the preceding places.
    let before = |all: Tensor<3>, start: f64| {
        let first = all.clone().narrow(2, 0, 1).full_like(start);
        if n == 1 { first } else { Tensor::cat(vec![first, all.narrow(2, 0, n - 1)], 2) }
    };
    let reached: Tensor<2> = before(goes_on.clone().cumprod(1).unsqueeze_dim(1), 1.0).squeeze_dim(1);
    let wide = |x: Tensor<2>| x.unsqueeze_dim::<3>(1).expand([batch, n, n]);
    // At [.., p, m]: 1 - g_m after p, else 1.
    let between = before((wide(goes_on) - 1.0).triu(1).add_scalar(1.0).cumprod(2), 1.0);
    let gained = before((between.clone() * wide(u.clone() * stops.clone())).triu(1).cumsum(2), 0.0);
    let at_first: Tensor<3> = u.clone().unsqueeze_dim(2);
    let step = at_first.expand([batch, n, n]) - gained - between * wide(u);
    gaps(stops) * reached.unsqueeze_dim::<3>(2) * step.clamp_min(0.0)
}

/// How swaps change a measure in one list, computed on slices instead of tensors.
pub(super) enum Swaps {
    /// For every measure except ERR: the change is a difference between values of a function of the rank.
    Steps {
        relevant: Vec<bool>,
        right: Vec<f64>,
        wrong: Vec<f64>,
    },
    Stops {
        stops: Vec<f64>,
        values: Vec<f64>,
        reached: Vec<f64>,
    },
}

impl Swaps {
    /// Prepares the changes for documents with the given `labels`, in rank order. For ERR, `stops` maps a label to the
    /// probability that a reader stops there.
    pub fn new(measure: SwapMeasure, labels: &[f64], stops: &Gain, k: usize) -> Self {
        let values = measure.values(labels.len(), k);
        let relevant: Vec<bool> = labels.iter().map(|label| *label >= 1.0).collect();
        let total = relevant.iter().filter(|relevant| **relevant).count().max(1) as f64;
        // The number of relevant documents down to each rank, and the sum of their values.
        let (mut count, mut sum) = (0.0, 0.0);
        let found = relevant.iter().zip(&values).map(|(relevant, value)| {
            let one = if *relevant { 1.0 } else { 0.0 };
            (count, sum) = (count + one, sum + one * value);
            (count, sum)
        });
        let found: Vec<(f64, f64)> = found.collect();
        match measure {
            SwapMeasure::Ap => {
                let function = |more: f64| {
                    values.iter().zip(&found).map(|(u, (count, sum))| ((count + more) * u - sum) / total).collect()
                };
                Self::Steps { right: function(0.0), wrong: function(1.0), relevant }
            }
            SwapMeasure::Rr => {
                let of = |number: usize| {
                    let place = (0..relevant.len()).filter(|&place| relevant[place]).nth(number);
                    let least = place.map_or(0.0, |place| values[place]);
                    values.iter().map(|u| u.max(least)).collect()
                };
                Self::Steps { right: of(1), wrong: of(0), relevant }
            }
            SwapMeasure::Precision => Self::Steps { right: values.clone(), wrong: values, relevant },
            SwapMeasure::Err => {
                let stops: Vec<f64> = labels.iter().map(|&label| stops.of(label)).collect();
                let mut reaching = 1.0;
                let reached = stops.iter().map(|stop| {
                    let before = reaching;
                    reaching *= 1.0 - stop;
                    before
                });
                Self::Stops { reached: reached.collect(), stops, values }
            }
        }
    }

    /// Returns the changes if place `p` swaps with each later place, in the order of these places.
    pub fn after(&self, p: usize) -> Vec<f64> {
        match self {
            Self::Steps { relevant, right, wrong } => {
                let change = |q: usize| match (relevant[p], relevant[q]) {
                    (true, false) => (right[p] - right[q]).abs(),
                    (false, true) => (wrong[p] - wrong[q]).abs(),
                    _ => 0.0,
                };
                (p + 1..relevant.len()).map(change).collect()
            }
            Self::Stops { stops, values, reached } => {
                let (mut between, mut gained) = (1.0, 0.0);
                let change = |q: usize| {
                    let step: f64 = values[p] - gained - between * values[q];
                    gained += between * values[q] * stops[q];
                    between *= 1.0 - stops[q];
                    (stops[p] - stops[q]).abs() * reached[p] * step.max(0.0)
                };
                (p + 1..stops.len()).map(change).collect()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use burn::tensor::{DType, Device, TensorData};

    use super::*;
    use crate::measure::{Convention, Measure, Ranking};

    const LABELS: [f64; 7] = [0.0, 2.0, 0.0, 1.0, 4.0, 0.0, 1.0];

    fn stops() -> Gain {
        Gain::Table((0..=4).map(|label: i32| (f64::from(label).exp2() - 1.0) / 16.0).collect())
    }

    /// Returns the measure of a ranking whose labels, from rank 1, are `labels`.
    fn exact(measure: Measure, labels: &[f64]) -> f64 {
        let scores: Vec<f32> = (0..labels.len()).map(|place| -(place as f32)).collect();
        let labels: Vec<f32> = labels.iter().map(|label| *label as f32).collect();
        let ranking = Ranking { scores: &scores, labels: &labels, ids: None };
        measure.query(&ranking, &Convention::preset("standard").unwrap()).unwrap().unwrap()
    }

    #[test]
    fn changes_are_those_of_the_measure() {
        let device = Device::flex();
        for k in [1, 2, 3, 5, 7] {
            let cases = [
                (SwapMeasure::Ap, Measure::Ap(Some(k))),
                (SwapMeasure::Rr, Measure::ReciprocalRank(Some(k))),
                (SwapMeasure::Err, Measure::Err(Some(k))),
                (SwapMeasure::Precision, Measure::Precision(Some(k))),
            ];
            for (measure, own) in cases {
                let swaps = Swaps::new(measure, &LABELS, &stops(), k);
                let tensor =
                    |values: Vec<f64>| Tensor::<2>::from_data(TensorData::new(values, [1, 7]), (&device, DType::F64));
                let ranked = match measure {
                    SwapMeasure::Err => tensor(LABELS.iter().map(|&label| stops().of(label)).collect()),
                    _ => tensor(LABELS.iter().map(|&label| f64::from(label >= 1.0)).collect()),
                };
                let all: Vec<f64> = changes(measure, ranked, k).into_data().iter().collect();
                for p in 0..7 {
                    let after = swaps.after(p);
                    for q in 0..7 {
                        let found = all[p * 7 + q];
                        if q <= p {
                            assert_eq!(found, 0.0);
                            continue;
                        }
                        let mut swapped = LABELS;
                        swapped.swap(p, q);
                        let expected = (exact(own, &swapped) - exact(own, &LABELS)).abs();
                        let what = format!("{measure:?}@{k}, {p} and {q}");
                        assert!((after[q - p - 1] - expected).abs() < 1e-12, "{what}: {} {expected}", after[q - p - 1]);
                        assert!((found - expected).abs() < 1e-12, "{what}: {found} {expected}");
                    }
                }
            }
        }
    }
}
