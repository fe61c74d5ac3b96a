//! Checks Theorem 1 on a problem with two features, for which both optimal rankers can be computed, and judges the best
//! of several rankers on real data.
//!
//! Ranking functions have the weights `(cos theta, sin theta)`. On the same training queries, `omega_1` maximizes the
//! mean SoftNDCG and `omega_2` the mean NDCG. NDCG changes only at angles where two documents swap ranks, so it is
//! enough to try one angle in each interval between them. SoftNDCG is smooth, so its optimum is searched for on a fine
//! grid of angles, and then between grid points. Let `epsilon_i` be the largest `|SoftNDCG - NDCG|` of any query at
//! `omega_i`. By the theorem, the expected NDCG at `omega_1` differs from that at `omega_2` by at most
//! `2 epsilon_1 + epsilon_2`.
//!
//! The proof assumes `O_1(omega_2) >= O_1(omega_1)` for each query, although `omega_1` and `omega_2` are optimal only
//! on average. So the bound may fail for single queries, and for the mean over new queries.

use std::f64::consts::{FRAC_PI_2, PI, TAU};

use burn_rank::measure::Gain;

use crate::study::*;

/// The number of grid angles for SoftNDCG, and the number of times that the search halves the step between them.
const GRID: usize = 90;
const REFINEMENTS: usize = 12;

/// Training and test queries with two features each.
#[derive(Debug, Clone)]
pub(super) struct Problem {
    train: Linear,
    test: Linear,
}

impl Problem {
    /// Generates queries of 8 documents with labels from 0 to 2; both features are the label plus noise.
    pub(super) fn generated(queries: usize, seed: u64) -> Self {
        let mut random = random(seed, "theorem 1", 0);
        let mut query = || {
            let mut labels: Vec<f64> = (0..8).map(|_| f64::from(random.random_range(0..3u8))).collect();
            (labels[0], labels[1]) = (0.0, 1.0);
            let mut view = |label: f64, noise: f64| label / 2.0 + noise * (random.random::<f64>() - 0.5);
            let features = labels.iter().map(|label| vec![view(*label, 2.0), view(*label, 4.0)]).collect();
            LinearQuery { features, labels }
        };
        let mut many = || Linear { queries: (0..queries).map(|_| query()).collect() };
        Self { train: many(), test: many() }
    }
}

/// Returns the queries with the scores at an angle.
fn scored(linear: &Linear, theta: f64) -> Subject {
    linear.scored(&[theta.cos(), theta.sin()])
}

/// Returns SoftNDCG with the gain `2^y` as a loss.
pub(super) fn soft_ndcg(sigma: f64) -> LossSpec {
    LossSpec::new("soft_ndcg").with("gain", "exp2_raw").with("sigma", sigma)
}

/// Returns SoftNDCG, computed without an approximation.
fn precise(sigma: f64) -> LossSpec {
    soft_ndcg(sigma).with("evaluation", "recursion")
}

/// Returns the exact NDCG of each query, with the gain `2^y` as in the paper.
pub(super) fn exact(subject: &Subject) -> Result<Vec<f64>> {
    let name = "standard, gain 2^y".to_string();
    let mut convention = Convention::default();
    (convention.name, convention.gain) = (name, Gain::Exp2Raw);
    subject.queries.iter().map(|query| query.exact(Measure::Ndcg(None), &convention)).collect()
}

/// Replaces the best value and its angle with a larger value and its angle.
fn keep(best: &mut (f64, f64), theta: f64, value: f64) {
    if value > best.0 {
        *best = (value, theta);
    }
}

/// Returns the middle of an interval of angles in which the mean NDCG is largest.
fn best_exact(linear: &Linear) -> Result<f64> {
    // Two documents change places where the direction is at right angles to their difference.
    let mut places: Vec<f64> = Vec::new();
    for query in &linear.queries {
        for (i, left) in query.features.iter().enumerate() {
            for right in &query.features[..i] {
                let across = (left[1] - right[1]).atan2(left[0] - right[0]) + FRAC_PI_2;
                places.extend([across, across + PI].map(|place| place.rem_euclid(TAU)));
            }
        }
    }
    places.sort_by(f64::total_cmp);
    let wrapped = places.first().map(|first| first + TAU);
    let after = places.iter().skip(1).copied().chain(wrapped);
    let mut best = (f64::NEG_INFINITY, 0.0);
    for (from, to) in places.iter().zip(after) {
        let theta = (from + to) / 2.0;
        keep(&mut best, theta, mean(&exact(&scored(linear, theta))?));
    }
    Ok(best.1)
}

/// Returns an angle with the largest mean SoftNDCG that the search finds. The theorem assumes only that this mean is at
/// least as large as the mean at the angle `other`. The search ensures this.
fn best_soft(linear: &Linear, sigma: f64, other: f64) -> Result<f64> {
    let step = TAU / GRID as f64;
    let value = |theta: f64| -> Result<f64> { Ok(mean(&scored(linear, theta).surrogates(&precise(sigma))?)) };
    let mut best = (value(other)?, other);
    for at in 0..GRID {
        let theta = at as f64 * step;
        keep(&mut best, theta, value(theta)?);
    }
    let mut width = step;
    for _ in 0..REFINEMENTS {
        width /= 2.0;
        for theta in [best.1 - width, best.1 + width] {
            keep(&mut best, theta, value(theta)?);
        }
    }
    Ok(best.1)
}

/// SoftNDCG and NDCG of each query.
struct Both {
    soft: Vec<f64>,
    exact: Vec<f64>,
}

impl Both {
    fn new(subject: &Subject, soft_ndcg: &LossSpec) -> Result<Self> {
        Ok(Self { soft: subject.surrogates(soft_ndcg)?, exact: exact(subject)? })
    }

    /// Returns the largest difference of the two measures.
    fn epsilon(&self) -> f64 {
        largest_difference(&self.soft, &self.exact)
    }

    /// Returns how much the mean NDCG differs from the mean NDCG of another ranker.
    fn difference(&self, other: &Both) -> f64 {
        (mean(&self.exact) - mean(&other.exact)).abs()
    }

    /// Returns the bound of Theorem 1, `2 epsilon_1 + epsilon_2`, if this is the optimum of SoftNDCG.
    fn bound(&self, optimum_of_ndcg: &Both) -> f64 {
        2.0 * self.epsilon() + optimum_of_ndcg.epsilon()
    }
}

/// SoftNDCG and NDCG of the same queries at both optima.
struct Compared {
    first: Both,
    second: Both,
}

impl Compared {
    fn new(linear: &Linear, thetas: [f64; 2], sigma: f64) -> Result<Self> {
        let [first, second] = thetas.map(|theta| Both::new(&scored(linear, theta), &precise(sigma)));
        Ok(Self { first: first?, second: second? })
    }

    fn bound(&self) -> f64 {
        self.first.bound(&self.second)
    }

    /// Judges whether the mean NDCG at one optimum differs from that at the other by at most the bound.
    fn of_means(&self) -> Judged {
        let (difference, bound) = (self.first.difference(&self.second), self.bound());
        let found = Bounded::of([(difference, Some(bound))], 1.0);
        Bounded::judge([&found], "means").number("difference", difference).number("bound", bound)
    }

    /// Judges whether, for each query, the NDCG at one optimum differs from that at the other by at most the bound.
    fn of_queries(&self) -> Judged {
        let bound = self.bound();
        let both = self.first.exact.iter().zip(&self.second.exact);
        let found = Bounded::of(both.map(|(first, second)| ((first - second).abs(), Some(bound))), 1.0);
        Bounded::judge([&found], "queries").number("bound", bound)
    }
}

/// Judges Theorem 1 for each sigma.
pub(super) fn judge(problem: &Problem, sigmas: &[f64], mut step: impl FnMut(usize)) -> Result<(Table, Vec<Claim>)> {
    let columns =
        ["sigma", "theta 1", "theta 2", "NDCG at 1", "NDCG at 2", "2 e_1 + e_2", "test NDCG at 1", "test NDCG at 2"];
    let title =
        format!("Theorem 1 with two features, {} queries to train and as many to test", problem.train.queries.len());
    let mut table = Table::new(title, columns);
    let mut claims = Vec::new();
    let second = best_exact(&problem.train)?;
    for (at, &sigma) in sigmas.iter().enumerate() {
        step(at);
        let thetas = [best_soft(&problem.train, sigma, second)?, second];
        let train = Compared::new(&problem.train, thetas, sigma)?;
        let test = Compared::new(&problem.test, thetas, sigma)?;
        let means = |of: &Compared| [mean(&of.first.exact), mean(&of.second.exact)];
        let figures = [&thetas[..], &means(&train), &[train.bound()], &means(&test)].concat();
        table.row(sigma.to_string(), figures.into_iter().map(Some));
        let claim = |what: &str| format!("{what} at the two optima differs by at most 2 e_1 + e_2, sigma = {sigma}");
        claims.push(Claim::new("Theorem 1", claim("mean NDCG of the training queries"), train.of_means()));
        claims.push(Claim::new("Theorem 1, proof", claim("NDCG of each training query"), train.of_queries()));
        claims.push(Claim::new("Theorem 1", claim("mean NDCG of new queries"), test.of_means()));
    }
    Ok((table, claims))
}

/// One of the rankers.
struct Member {
    name: String,
    trained_by_soft_ndcg: bool,
    measures: Both,
}

/// Judges Theorem 1 on real data, where the optimal rankers are unknown, for each sigma.
///
/// `omega_1` is the ranker with the highest mean SoftNDCG. It is chosen among the rankers trained with SoftNDCG, if
/// there are any. `omega_2` is the ranker with the highest mean NDCG on the same queries. The theorem concerns the best
/// of all ranking functions. The rankers used here may not be the best ones. So a difference within the bound does not
/// prove the theorem, and a larger one does not refute it. The verdict is therefore `open`, or `vacuous` if the bound
/// is 1 or more.
pub(super) fn judge_pool(runs: &[RunSubject], sigmas: &[f64]) -> Result<(Table, Vec<Claim>)> {
    let queries = runs.first().map_or(0, |run| run.subject.queries.len());
    let title = format!("Theorem 1, the best of {} rankers on the same {queries} test queries", runs.len());
    let columns = ["sigma", "NDCG at 1", "NDCG at 2", "difference", "e_1", "e_2", "2 e_1 + e_2"];
    let mut table = Table::new(title, columns);
    let mut claims = Vec::new();
    let of_runs = runs.iter().map(|run| exact(&run.subject)).collect::<Result<Vec<_>>>()?;
    for &sigma in sigmas {
        let member = |(run, exact): (&RunSubject, &Vec<f64>)| {
            Ok(Member {
                name: run.name.clone(),
                trained_by_soft_ndcg: run.loss.as_deref() == Some("soft_ndcg"),
                measures: Both { soft: run.subject.surrogates(&soft_ndcg(sigma))?, exact: exact.clone() },
            })
        };
        let members = runs.iter().zip(&of_runs).map(member).collect::<Result<Vec<_>>>()?;
        let Some((first, second)) = optima(&members) else { continue };
        let (one, other) = (&first.measures, &second.measures);
        let [at_1, at_2] = [one, other].map(|of| mean(&of.exact));
        let figures = [at_1, at_2, one.difference(other), one.epsilon(), other.epsilon(), one.bound(other)];
        table.row(sigma.to_string(), figures.map(Some));
        let claim =
            format!("NDCG at the optima of SoftNDCG and of NDCG differs by at most 2 e_1 + e_2, sigma = {sigma}");
        claims.push(Claim::new("Theorem 1, the best of a pool", claim, judged_pool(first, second)));
    }
    Ok((table, claims))
}

/// Returns the two rankers that stand in for the optimum of SoftNDCG and the optimum of NDCG.
fn optima(members: &[Member]) -> Option<(&Member, &Member)> {
    let all: Vec<&Member> = members.iter().collect();
    let trained: Vec<&Member> = members.iter().filter(|member| member.trained_by_soft_ndcg).collect();
    let pool = if trained.is_empty() { &all } else { &trained };
    Some((best(pool, |both| &both.soft)?, best(&all, |both| &both.exact)?))
}

/// Returns the ranker with the highest mean; ties go to the first.
fn best<'a>(pool: &[&'a Member], of: fn(&Both) -> &Vec<f64>) -> Option<&'a Member> {
    let mean = |member: &Member| mean(of(&member.measures));
    pool.iter().copied().reduce(|best, other| if mean(other) > mean(best) { other } else { best })
}

fn judged_pool(first: &Member, second: &Member) -> Judged {
    let (of_first, of_second) = (&first.measures, &second.measures);
    let (difference, bound) = (of_first.difference(of_second), of_first.bound(of_second));
    let verdict = if bound >= 1.0 - ROUNDING { Verdict::Vacuous } else { Verdict::Open };
    let found = format!(
        "{} against {}: difference {}, bound {}; neither need be an optimum, so nothing more can be shown",
        first.name,
        second.name,
        short(difference),
        short(bound)
    );
    Judged::new(verdict, found).number("difference", difference).number("bound", bound)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_optimum_of_ndcg_is_exhaustive() {
        let problem = Problem::generated(4, 3);
        let best = mean(&exact(&scored(&problem.train, best_exact(&problem.train).unwrap())).unwrap());
        for at in 0..2000 {
            let theta = std::f64::consts::TAU * f64::from(at) / 2000.0;
            assert!(mean(&exact(&scored(&problem.train, theta)).unwrap()) <= best + 1e-12, "{theta}");
        }
    }

    #[test]
    fn the_verdict_follows_the_values() {
        let values = |soft: &[f64], exact: &[f64]| Both { soft: soft.to_vec(), exact: exact.to_vec() };
        // The means are the same and the surrogate is right, but single queries differ.
        let swapped =
            Compared { first: values(&[0.901, 0.5], &[0.9, 0.5]), second: values(&[0.501, 0.9], &[0.5, 0.9]) };
        assert_eq!((swapped.of_means().verdict, swapped.of_queries().verdict), (Verdict::Holds, Verdict::Fails));
        // New queries on which the first is worse: the surrogate is as right as before.
        let unlucky = Compared { first: values(&[0.5, 0.5], &[0.5, 0.5]), second: values(&[0.9, 0.8], &[0.9, 0.8]) };
        assert_eq!(unlucky.of_means().verdict, Verdict::Fails);
        let soft = Compared { first: values(&[0.4, 0.4], &[0.9, 0.8]), second: values(&[0.5, 0.5], &[0.9, 0.8]) };
        assert_eq!(soft.of_means().verdict, Verdict::Vacuous);
    }

    fn member(name: &str, trained: bool, soft: &[f64], exact: &[f64]) -> Member {
        let measures = Both { soft: soft.to_vec(), exact: exact.to_vec() };
        Member { name: name.to_string(), trained_by_soft_ndcg: trained, measures }
    }

    #[test]
    fn nothing_is_shown_by_the_best_of_a_pool() {
        let soft = member("soft", true, &[0.5, 0.52], &[0.5, 0.5]);
        let other = member("other", false, &[0.6, 0.61], &[0.6, 0.6]);
        let rough = member("rough", true, &[0.1, 0.1], &[0.5, 0.5]);
        let pool = [rough, soft, other];
        let (first, second) = optima(&pool).unwrap();
        assert_eq!((first.name.as_str(), second.name.as_str()), ("soft", "other"));
        // .1 apart where the bound is .05: an optimum would refute the theorem, the best of a pool does not.
        let found = judged_pool(first, second);
        assert_eq!(found.verdict, Verdict::Open);
        assert!((found.numbers["difference"] - 0.1).abs() < 1e-12 && (found.numbers["bound"] - 0.05).abs() < 1e-12);
        assert_eq!(judged_pool(&pool[0], &pool[0]).verdict, Verdict::Vacuous, "a bound of 1.2");
        let (first, _) = optima(&pool[2..]).unwrap();
        assert_eq!(first.name, "other", "where no ranker was trained by SoftNDCG");
    }
}
