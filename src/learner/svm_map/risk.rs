//! Computes the risk of SVMmap and its slope, from the ranking of every query that most violates the margin. The search
//! for this ranking is exact.
//!
//! The R relevant documents and the I irrelevant documents are each sorted by descending score. A ranking is described
//! by numbers `a_1 <= a_2 <= ...`, where `a_k` counts the irrelevant documents ahead of the k-th relevant document. The
//! violation of a ranking is
//!
//! ```text
//! (1 - AP) - w . (Psi* - Psi)  =  sum_k sum_{j <= a_k} g(k, j)
//! g(k, j) = 1/R [j / (k + j) - (j - 1) / (k + j - 1)] - 2 / (R I) (s_k - u_j)
//! ```
//!
//! `g` decreases with j. Without the constraint `a_1 <= a_2 <= ...`, the best `a_k` would be the number of `j` with a
//! positive `g(k, j)`. Bisection finds this number. Neighboring `a_k` that violate the constraint are then pooled, that
//! is, they get a common value. This is exact because the sums are concave in `a_k`. Harmonic numbers and prefix sums
//! of the scores give the sum of `g` over a pool in O(1). Apart from sorting, a query costs O(R log I).

use crate::learner::prelude::*;
use crate::learner::solver::cutting_plane::Risk;
use crate::learner::solver::descending;

/// The relevant and the irrelevant documents of a query, as indices counted from the first document of this process.
struct Query {
    relevant: Vec<usize>,
    irrelevant: Vec<usize>,
}

/// The risk in the objective of SVMmap, which is a mean over queries. Each process of the data's group holds some
/// queries, and every process gets the sums over all queries.
pub(super) struct ApRisk<'a> {
    share: Share<'a>,
    /// The queries of this process that have both relevant and irrelevant documents.
    queries: Vec<Query>,
    /// The number of queries, of the whole group, that have both relevant and irrelevant documents.
    count: f64,
}

impl<'a> ApRisk<'a> {
    /// Returns the risk, or `None` if no query has both relevant and irrelevant documents.
    pub(super) fn new(data: &'a RankingDataset) -> Option<Self> {
        let share = Share::new(data);
        let first = share.documents().start;
        let of_query = |query: usize| {
            let is_relevant = |&place: &usize| data.labels[first + place] >= 1.0;
            let (relevant, irrelevant) = share.places(query).partition(is_relevant);
            Query { relevant, irrelevant }
        };
        let has_both = |query: &Query| !query.relevant.is_empty() && !query.irrelevant.is_empty();
        let queries: Vec<Query> = share.queries.clone().map(of_query).filter(has_both).collect();
        let count: f64 = share.gather(vec![queries.len() as f64]).iter().sum();
        (count > 0.0).then_some(Self { share, queries, count })
    }

    pub(super) fn at(&self, weights: &[f64]) -> Risk {
        let scores = self.share.scores(weights);
        let of_query = |query: &Query| query.most_violated(&scores);
        let parts = parallel::map(&self.queries, of_query);
        let weight = 1.0 / self.count;
        let mut values = Vec::with_capacity(parts.len());
        let mut coefficients = vec![0.0; scores.len()];
        for (violation, slopes) in parts {
            values.push(weight * violation);
            slopes.into_iter().for_each(|(place, slope)| coefficients[place] = weight * slope);
        }
        Risk { value: self.share.gather(values).iter().sum(), slope: self.share.weighted_features(&coefficients) }
    }
}

impl Query {
    /// Returns the violation of the most violated ranking, and its derivative with respect to the score of each
    /// document.
    fn most_violated(&self, scores: &[f64]) -> (f64, Vec<(usize, f64)>) {
        let sorted = |documents: &[usize]| -> Vec<usize> {
            let own: Vec<f64> = documents.iter().map(|&document| scores[document]).collect();
            descending(&own).into_iter().map(|at| documents[at]).collect()
        };
        let (relevant, irrelevant) = (sorted(&self.relevant), sorted(&self.irrelevant));
        let scores_of = |documents: &[usize]| -> Vec<f64> { documents.iter().map(|&d| scores[d]).collect() };
        let ahead = most_violated(&scores_of(&relevant), &scores_of(&irrelevant));
        // A relevant document has a_k inverted pairs, and the j-th irrelevant one has as many as there are k with a_k
        // >= j.
        let unit = 2.0 / (relevant.len() * irrelevant.len()) as f64;
        let behind = (1..=irrelevant.len()).map(|j| ahead.len() - ahead.partition_point(|&a| a < j));
        let lower = relevant.iter().zip(&ahead).map(|(&document, &a)| (document, -unit * a as f64));
        let raise = irrelevant.iter().zip(behind).map(|(&document, count)| (document, unit * count as f64));
        let slopes: Vec<(usize, f64)> = lower.chain(raise).collect();
        let margin: f64 = slopes.iter().map(|&(document, slope)| slope * scores[document]).sum();
        (loss_of(&ahead) + margin, slopes)
    }
}

/// Returns `a_k` for each relevant document in the most violated ranking, given scores in descending order.
fn most_violated(relevant: &[f64], irrelevant: &[f64]) -> Vec<usize> {
    let pools = Pools::new(relevant, irrelevant);
    let mut stack: Vec<Pool> = Vec::new();
    for k in 1..=relevant.len() {
        let mut pool = Pool { first: k, last: k, ahead: pools.best(k, k) };
        while let Some(before) = stack.pop_if(|before| before.ahead > pool.ahead) {
            pool = Pool { first: before.first, last: k, ahead: pools.best(before.first, k) };
        }
        stack.push(pool);
    }
    stack.iter().flat_map(|pool| std::iter::repeat_n(pool.ahead, pool.last - pool.first + 1)).collect()
}

/// Returns one minus the average precision of the ranking that the numbers `ahead` describe.
fn loss_of(ahead: &[usize]) -> f64 {
    let missing = ahead.iter().zip(1..).map(|(&a, k)| a as f64 / (k + a) as f64);
    missing.sum::<f64>() / ahead.len() as f64
}

/// The relevant documents from `first` to `last`, numbered from 1. All of them have the same number of irrelevant
/// documents ahead of them.
struct Pool {
    first: usize,
    last: usize,
    ahead: usize,
}

struct Pools<'a> {
    irrelevant: &'a [f64],
    /// `prefix[k]` is the sum of the scores of the first k relevant documents.
    prefix: Vec<f64>,
    /// `harmonic[n]` is the harmonic number `1 + 1/2 + ... + 1/n`.
    harmonic: Vec<f64>,
}

impl<'a> Pools<'a> {
    fn new(relevant: &[f64], irrelevant: &'a [f64]) -> Self {
        let running = |terms: &mut dyn Iterator<Item = f64>| {
            let mut sums = vec![0.0];
            terms.for_each(|term| sums.push(sums[sums.len() - 1] + term));
            sums
        };
        let harmonic = running(&mut (1..=relevant.len() + irrelevant.len()).map(|n| 1.0 / n as f64));
        Self { irrelevant, prefix: running(&mut relevant.iter().copied()), harmonic }
    }

    /// Returns the best number of irrelevant documents ahead of a pool, regardless of all other pools.
    fn best(&self, first: usize, last: usize) -> usize {
        let (mut low, mut high) = (0, self.irrelevant.len());
        while low < high {
            let middle = low + (high - low) / 2;
            if self.gain(first, last, middle + 1) > 0.0 { low = middle + 1 } else { high = middle }
        }
        low
    }

    /// Returns `R I / 2 * sum_{k = first}^{last} g(k, j)`.
    fn gain(&self, first: usize, last: usize, j: usize) -> f64 {
        let h = &self.harmonic;
        let precision =
            j as f64 * (h[last + j] - h[first + j - 1]) - (j - 1) as f64 * (h[last + j - 1] - h[first + j - 2]);
        let count = (last - first + 1) as f64;
        let margin = self.prefix[last] - self.prefix[first - 1] - count * self.irrelevant[j - 1];
        0.5 * self.irrelevant.len() as f64 * precision - margin
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::random;
    use rand::RngExt;

    /// Returns every order of relevant (true) and irrelevant documents.
    fn interleavings(relevant: usize, irrelevant: usize) -> Vec<Vec<bool>> {
        if relevant + irrelevant == 0 {
            return vec![Vec::new()];
        }
        let mut all = Vec::new();
        for (kind, left) in
            [(true, (relevant.wrapping_sub(1), irrelevant)), (false, (relevant, irrelevant.wrapping_sub(1)))]
        {
            if left.0 != usize::MAX && left.1 != usize::MAX {
                for mut rest in interleavings(left.0, left.1) {
                    rest.insert(0, kind);
                    all.push(rest);
                }
            }
        }
        all
    }

    /// Computes `(1 - AP) - w . (Psi* - Psi)` pair by pair.
    fn violation(order: &[bool], relevant: &[f64], irrelevant: &[f64]) -> f64 {
        let (mut k, mut j, mut precision, mut inverted) = (0, 0, 0.0, 0.0);
        for &is_relevant in order {
            if is_relevant {
                k += 1;
                precision += k as f64 / (k + j) as f64;
                inverted += irrelevant[..j].iter().map(|u| relevant[k - 1] - u).sum::<f64>();
            } else {
                j += 1;
            }
        }
        1.0 - precision / k as f64 - 2.0 * inverted / (k * j) as f64
    }

    fn order(ahead: &[usize], irrelevant: usize) -> Vec<bool> {
        let mut order = Vec::new();
        let mut placed = 0;
        for &a in ahead {
            order.extend(std::iter::repeat_n(false, a - placed));
            order.push(true);
            placed = a;
        }
        order.extend(std::iter::repeat_n(false, irrelevant - placed));
        order
    }

    #[test]
    fn no_ranking_violates_more() {
        let mut random = random(11);
        let mut pooled = 0;
        for trial in 0..600 {
            let (r, i) = (1 + trial % 4, 1 + trial / 4 % 4);
            // Small scores keep the loss in play, large ones the margin.
            let scale = [0.3, 1.0, 4.0][trial % 3];
            let mut draw = |n: usize| {
                let mut scores: Vec<f64> = (0..n).map(|_| scale * random.random_range(-1.0..1.0)).collect();
                scores.sort_by(|a, b| b.total_cmp(a));
                scores
            };
            let (relevant, irrelevant) = (draw(r), draw(i));
            let ahead = most_violated(&relevant, &irrelevant);
            assert!(ahead.is_sorted(), "{ahead:?}");
            pooled += usize::from(ahead.windows(2).any(|pair| pair[0] == pair[1] && pair[0] > 0));
            let found = violation(&order(&ahead, i), &relevant, &irrelevant);
            let best = interleavings(r, i)
                .iter()
                .map(|order| violation(order, &relevant, &irrelevant))
                .fold(f64::NEG_INFINITY, f64::max);
            assert!((found - best).abs() < 1e-12, "{relevant:?} {irrelevant:?}: {found} is not {best}");
            let ap_loss = violation(&order(&ahead, i), &vec![0.0; r], &vec![0.0; i]);
            assert!((loss_of(&ahead) - ap_loss).abs() < 1e-12);
        }
        assert!(pooled > 50, "the trials must reach the pooled case");
    }
}
