//! Computes the entries of NeuralSort's matrix row by row; only small matrices are stored.
//!
//! Let the scores be sorted, `x_1 >= x_2 >= ..`. Relative to the diagonal of row `r`, the logarithm of the entry in
//! column `i` is `-sum_k (x_k - x_{k + 1}) |2 (r - k) - 1| / temperature` over the `k` between `r` and `i`. The largest
//! entry of a row is therefore on the diagonal, and the entries decrease on both sides of it. Entries that would be 0
//! in the number type of the scores are skipped. In a long list of scores that are not close together, most entries are
//! skipped.

use std::ops::Range;

use crate::execution::Target;
use crate::op::cpu::{
    dispatch::{Kernel, dispatch},
    lists::{for_each, stripes},
    parameters::NeuralSortMatrix,
    real::Real,
};

/// Entries are stored if there are at most this many, which take 8 MiB. Passes over the matrix then need not recompute
/// them.
const KEPT: usize = 1 << 20;

/// The logarithm of the smallest entry that is not 0 in the number type of the scores.
const LOWEST_LOGARITHM: f64 = -104.0;

/// What a pass over the matrix computes for each row.
pub trait Visit<const K: usize>: Sync {
    /// Visits row `r`; `entries` are its entries in the columns `at`, divided by the largest entry of the row. The
    /// visit may set `to_row`, its result for the row, and may add to `K` sums for each of these columns.
    fn row<const FMA: bool>(
        &self,
        r: usize,
        at: Range<usize>,
        entries: &[f64],
        to_row: &mut f64,
        sums: [&mut [f64]; K],
    );
}

/// NeuralSort's matrix of one list, whose scores are in descending order.
pub struct Matrix {
    target: Target,
    /// The index of each document, in the order of descending scores.
    pub order: Vec<usize>,
    x: Vec<f64>,
    /// For each document in sorted order, `sum_k |x_i - x_k|` minus the same sum for the first document.
    spread: Vec<f64>,
    temperature: f64,
    /// For each computed row, the range of columns whose entries are not skipped.
    columns: Vec<Range<usize>>,
    /// The entries of all rows, if they are few and are needed more than once.
    kept: Option<Vec<f64>>,
}

impl Matrix {
    /// Creates the matrix; the scores must be finite.
    pub fn new(target: Target, x: &[f32], sort: &NeuralSortMatrix) -> Self {
        let n = x.len();
        let mut order: Vec<usize> = (0..n).collect();
        order.sort_by(|&i, &j| x[j].to_f64().total_cmp(&x[i].to_f64()));
        let x: Vec<f64> = order.iter().map(|&i| x[i].to_f64()).collect();
        let mut spread = vec![0.0; n];
        for i in 1..n {
            spread[i] = spread[i - 1] - (n as f64 - 2.0 * i as f64) * (x[i - 1] - x[i]);
        }
        let mut matrix =
            Self { target, order, x, spread, temperature: sort.temperature, columns: Vec::new(), kept: None };
        matrix.columns = matrix.visited(sort.rows(n), LOWEST_LOGARITHM);
        if sort.iterations > 0 && matrix.entries() <= KEPT {
            let mut kept = vec![0.0; matrix.entries()];
            dispatch(target, Keep { matrix: &matrix, kept: &mut kept });
            matrix.kept = Some(kept);
        }
        matrix
    }

    pub fn documents(&self) -> usize {
        self.x.len()
    }

    /// Returns the number of rows that are computed.
    pub fn rows(&self) -> usize {
        self.columns.len()
    }

    /// Returns the number of entries that are visited.
    fn entries(&self) -> usize {
        self.columns.iter().map(|columns| columns.len()).sum()
    }

    /// Returns the logarithm of the ratio of an entry to the diagonal entry of its row.
    fn logarithm(&self, r: usize, i: usize) -> f64 {
        let slope = self.documents() as f64 - 1.0 - 2.0 * r as f64;
        (slope * (self.x[i] - self.x[r]) - (self.spread[i] - self.spread[r])) / self.temperature
    }

    /// Returns, for each row, the range of columns whose entries have a logarithm of at least `lowest`. Both ends of a
    /// row's range of columns move to the right from row to row, so each search begins at the previous ends.
    fn visited(&self, rows: usize, lowest: f64) -> Vec<Range<usize>> {
        let (mut start, mut end) = (0, 0);
        let columns = (0..rows).map(|r| {
            while start < r && self.logarithm(r, start) < lowest {
                start += 1;
            }
            end = end.max(r + 1);
            while end < self.documents() && self.logarithm(r, end) >= lowest {
                end += 1;
            }
            start..end
        });
        columns.collect()
    }

    #[inline(always)]
    fn write<const FMA: bool>(&self, r: usize, entries: &mut [f64]) {
        let at = self.columns[r].clone();
        let slope = self.documents() as f64 - 1.0 - 2.0 * r as f64;
        let (own_x, own_spread, rate) = (self.x[r], self.spread[r], self.temperature.recip());
        for ((entry, &x), &spread) in entries.iter_mut().zip(&self.x[at.clone()]).zip(&self.spread[at]) {
            *entry = ((slope * (x - own_x) - (spread - own_spread)) * rate).exponential::<FMA>();
        }
    }

    /// Visits all rows. Returns the sums for each column, and writes to `to_rows` the number that `visit` sets for each
    /// row.
    pub fn pass<const K: usize>(&self, visit: &impl Visit<K>, to_rows: &mut [f64]) -> [Vec<f64>; K] {
        let mut sums = [(); K].map(|()| vec![0.0; self.documents()]);
        let stripes = stripes(self.rows());
        let Some(stripe) = stripes.first().map(|stripe| stripe.len()) else { return sums };
        let mut first = 0;
        let mut parts: Vec<(usize, [Vec<f64>; K])> = Vec::with_capacity(stripes.len());
        let mut starts = Vec::with_capacity(stripes.len());
        for rows in &stripes {
            let at = self.columns[rows.start].start..self.columns[rows.end - 1].end;
            parts.push((at.start, [(); K].map(|()| vec![0.0; at.len()])));
            starts.push(first);
            first += if self.kept.is_some() { rows.clone().map(|r| self.columns[r].len()).sum() } else { 0 };
        }
        let tasks = stripes.iter().zip(starts).zip(&mut parts).zip(to_rows.chunks_mut(stripe)).collect();
        for_each(tasks, self.entries(), |(((rows, kept_from), (offset, sums)), to_rows)| {
            dispatch(self.target, Stripe { matrix: self, rows, kept_from, visit, to_rows, offset: *offset, sums });
        });
        // In order, so that the sums have the same bits with any number of threads.
        for (offset, parts) in parts {
            for (sums, part) in sums.iter_mut().zip(parts) {
                sums[offset..].iter_mut().zip(part).for_each(|(sum, part)| *sum += part);
            }
        }
        sums
    }

    /// Reorders values from the order of descending scores to the original order of the documents.
    pub fn in_list_order(&self, values: &[f64]) -> Vec<f64> {
        let mut out = vec![0.0; values.len()];
        self.order.iter().zip(values).for_each(|(&i, &value)| out[i] = value);
        out
    }

    /// Returns the gradient with respect to the scores, in the original order of the documents. For each column, `sums`
    /// holds the derivatives with respect to the logarithms of its entries, summed over the rows. `moments` holds the
    /// same sums, with each derivative multiplied by the distance between column and row.
    pub fn to_scores(&self, sums: &[f64], moments: &[f64]) -> Vec<f64> {
        let n = self.documents();
        let total: f64 = sums.iter().sum();
        let mut to_x = vec![0.0; n];
        let (mut start, mut above) = (0, 0.0);
        // The distance of two equal scores sends nothing.
        for equal in self.x.chunk_by(|a, b| a == b) {
            let places = start..start + equal.len();
            let own: f64 = sums[places.clone()].iter().sum();
            let below = total - above - own;
            for i in places.clone() {
                let tie = (places.start + places.end - 1) as f64 - 2.0 * i as f64;
                to_x[i] = (2.0 * moments[i] + tie * sums[i] - below + above) / self.temperature;
            }
            above += own;
            start = places.end;
        }
        self.in_list_order(&to_x)
    }
}

/// Computes and stores all entries.
struct Keep<'a> {
    matrix: &'a Matrix,
    kept: &'a mut [f64],
}

impl Kernel for Keep<'_> {
    #[inline(always)]
    fn run<const FMA: bool>(self) {
        let mut rest = self.kept;
        for r in 0..self.matrix.rows() {
            let (entries, others) = rest.split_at_mut(self.matrix.columns[r].len());
            self.matrix.write::<FMA>(r, entries);
            rest = others;
        }
    }
}

/// A pass over a range of rows.
struct Stripe<'a, V, const K: usize> {
    matrix: &'a Matrix,
    rows: &'a Range<usize>,
    /// The index of the first entry of these rows among the stored entries.
    kept_from: usize,
    visit: &'a V,
    to_rows: &'a mut [f64],
    /// The column of the first element of `sums`.
    offset: usize,
    sums: &'a mut [Vec<f64>; K],
}

impl<V: Visit<K>, const K: usize> Kernel for Stripe<'_, V, K> {
    #[inline(always)]
    fn run<const FMA: bool>(self) {
        let Self { matrix, rows, mut kept_from, visit, to_rows, offset, sums } = self;
        let widest = rows.clone().map(|r| matrix.columns[r].len()).max().unwrap_or(0);
        let mut scratch = if matrix.kept.is_none() { vec![0.0; widest] } else { Vec::new() };
        for (r, to_row) in rows.clone().zip(to_rows) {
            let at = matrix.columns[r].clone();
            let entries = match &matrix.kept {
                Some(kept) => &kept[kept_from..kept_from + at.len()],
                None => {
                    matrix.write::<FMA>(r, &mut scratch[..at.len()]);
                    &scratch[..at.len()]
                }
            };
            kept_from += at.len();
            let sums = sums.each_mut().map(|sums| &mut sums[at.start - offset..at.end - offset]);
            visit.row::<FMA>(r, at, entries, to_row, sums);
        }
    }
}
