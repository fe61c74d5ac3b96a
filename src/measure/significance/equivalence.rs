//! A test of whether two systems are the same within a margin. The test consists of two one-sided tests on paired
//! differences of queries and seeds. See Schuirmann, A comparison of the two one-sided tests procedure and the power
//! approach, 1987.
//!
//! Let `D_qs` be the difference on query `q` for seed `s`, with `Q` queries and `S` seeds. Queries and seeds are
//! crossed and both are samples, so the difference has three sources of variation: queries, seeds, and the rest.
//!
//! ```text
//! MS_queries = S sum_q (mean_s D_qs - mean D)^2 / (Q - 1)
//! MS_seeds   = Q sum_s (mean_q D_qs - mean D)^2 / (S - 1)
//! MS_rest    = sum_qs (D_qs - mean_s D_qs - mean_q D_qs + mean D)^2 / ((Q - 1) (S - 1))
//! SE^2       = (MS_queries + MS_seeds - MS_rest) / (Q S)
//! ```
//!
//! A source with a mean square below `MS_rest` has a negative estimate of its variance, which counts as 0: `MS_rest`
//! takes its place. The intervals use Student's t distribution with the degrees of freedom of Satterthwaite, An
//! approximate distribution of estimates of variance components, 1946, and at least `min(Q, S) - 1`.

use serde::{Deserialize, Serialize};
use statrs::distribution::{ContinuousCDF, StudentsT};

use super::settings::{SignificanceError, check_rows, mean, queries};

/// The standard error that replaces 0 if the differences do not vary at all.
const LEAST_ERROR: f64 = 1e-6;

/// The largest number of seeds that is tried when estimating how many seeds a verdict would need.
const MOST_SEEDS: usize = 1000;

/// A verdict on two systems, based on their differences.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EquivalenceVerdict {
    /// For every seed, both systems produced exactly the same output.
    Identical,
    /// The 90% interval of the difference lies within the margin, which amounts to two one-sided tests at .05.
    Same,
    /// The 95% interval of the difference excludes 0, and the systems are not the same within the margin.
    Different,
    /// The data do not suffice for a verdict; more seeds or queries might lead to one.
    NotDecided,
}

impl EquivalenceVerdict {
    /// Returns the verdict as text, such as `not decided`.
    pub fn in_words(self) -> &'static str {
        match self {
            Self::Identical => "identical",
            Self::Same => "same",
            Self::Different => "different",
            Self::NotDecided => "not decided",
        }
    }
}

/// The result of a test of equivalence.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Equivalence {
    /// The verdict on the two systems.
    pub verdict: EquivalenceVerdict,
    /// The largest difference at which two systems still count as the same.
    pub margin: f64,
    /// The second system's mean minus the first system's mean.
    pub difference: f64,
    /// The lower and upper ends of the 90% interval of the difference.
    pub interval: [f64; 2],
    /// The standard error of the difference.
    pub standard_error: f64,
    /// Degrees of freedom, which need not be a whole number.
    pub freedom: f64,
    /// The number of seeds after which the verdict would be `Same`, assuming that the mean difference and the variances
    /// of its sources stay the same. The number is `None` if the verdict is already decided, or if even 1,000 seeds
    /// would not be enough.
    pub seeds_to_decide: Option<usize>,
}

impl Equivalence {
    /// Creates the result for two systems whose outputs were identical for each of `seeds` seeds.
    pub fn identical(margin: f64, queries: usize, seeds: usize) -> Self {
        Self {
            verdict: EquivalenceVerdict::Identical,
            margin,
            difference: 0.0,
            interval: [0.0; 2],
            standard_error: 0.0,
            freedom: queries.min(seeds).saturating_sub(1) as f64,
            seeds_to_decide: None,
        }
    }
}

/// The layout of queries and seeds that are crossed, with the mean squares of its sources of variation.
#[derive(Debug, Clone, Copy)]
struct Crossed {
    queries: usize,
    seeds: usize,
    /// `MS_queries`, at least `MS_rest`.
    of_queries: f64,
    /// `MS_seeds`, at least `MS_rest`.
    of_seeds: f64,
    of_rest: f64,
}

impl Crossed {
    /// Computes the mean squares of a table with at least two rows, the seeds, and two columns, the queries.
    fn new(differences: &[Vec<f64>]) -> Self {
        let (seeds, queries) = (differences.len(), differences[0].len());
        let by_seed: Vec<f64> = differences.iter().map(|of_seed| mean(of_seed)).collect();
        let by_query = (0..queries).map(|q| mean(&differences.iter().map(|of_seed| of_seed[q]).collect::<Vec<f64>>()));
        let by_query: Vec<f64> = by_query.collect();
        let all = mean(&by_seed);
        let squares = |values: &[f64]| values.iter().map(|value| (value - all).powi(2)).sum::<f64>();
        let rest = differences.iter().zip(&by_seed).flat_map(|(of_seed, seed)| {
            of_seed.iter().zip(&by_query).map(move |(value, query)| (value - seed - query + all).powi(2))
        });
        let (less, fewer) = ((seeds - 1) as f64, (queries - 1) as f64);
        let of_rest = rest.sum::<f64>() / (less * fewer);
        Self {
            queries,
            seeds,
            of_queries: (seeds as f64 * squares(&by_query) / fewer).max(of_rest),
            of_seeds: (queries as f64 * squares(&by_seed) / less).max(of_rest),
            of_rest,
        }
    }

    /// Returns what to expect from another number of seeds: only the mean square of queries depends on it.
    fn with_seeds(self, seeds: usize) -> Self {
        let of_queries = self.of_rest + (self.of_queries - self.of_rest) * seeds as f64 / self.seeds as f64;
        Self { seeds, of_queries, ..self }
    }

    /// Returns the standard error of the mean, and its degrees of freedom.
    fn error(self) -> (f64, f64) {
        let (seeds, queries) = (self.seeds as f64, self.queries as f64);
        let variance = self.of_queries + self.of_seeds - self.of_rest;
        // A source that was raised to the rest cancels it.
        let raised = [self.of_queries, self.of_seeds].iter().filter(|of| **of <= self.of_rest).count() as f64;
        let shares = [
            (self.of_queries, queries - 1.0, self.of_queries > self.of_rest),
            (self.of_seeds, seeds - 1.0, self.of_seeds > self.of_rest),
            (self.of_rest, (queries - 1.0) * (seeds - 1.0), raised != 1.0),
        ];
        let spread: f64 = shares.iter().filter(|share| share.2).map(|(of, freedom, _)| of * of / freedom).sum();
        let freedom = if spread > 0.0 { variance * variance / spread } else { 0.0 };
        let error = (variance / (queries * seeds)).sqrt();
        (error.max(LEAST_ERROR), freedom.max(seeds.min(queries) - 1.0))
    }

    /// Returns half the width of the interval of this level.
    fn reach(self, level: f64) -> f64 {
        let (error, freedom) = self.error();
        let student = StudentsT::new(0.0, 1.0, freedom).expect("there is at least one degree of freedom");
        error * student.inverse_cdf((1.0 + level) / 2.0)
    }
}

/// Tests whether the mean of `differences[seed][query]` is within `margin` of 0.
///
/// # Errors
/// Returns [`SignificanceError::TooFew`] for fewer than two seeds or queries, and [`SignificanceError::Queries`] if
/// seeds differ in their numbers of queries. Returns [`SignificanceError::Value`] for a difference that is not finite,
/// and [`SignificanceError::Parameter`] for a margin that is not above 0.
pub fn equivalence(differences: &[Vec<f64>], margin: f64) -> Result<Equivalence, SignificanceError> {
    if !(margin > 0.0 && margin.is_finite()) {
        return Err(SignificanceError::Parameter { parameter: "margin", found: margin, expected: "a number above 0" });
    }
    queries(differences)?;
    check_rows("seeds", differences)?;
    let crossed = Crossed::new(differences);
    let difference = mean(&differences.iter().map(|of_seed| mean(of_seed)).collect::<Vec<f64>>());
    let ninety = crossed.reach(0.9);
    let same = |reach: f64| difference.abs() + reach < margin;
    let verdict = if same(ninety) {
        EquivalenceVerdict::Same
    } else if difference.abs() > crossed.reach(0.95) {
        EquivalenceVerdict::Different
    } else {
        EquivalenceVerdict::NotDecided
    };
    let seeds_to_decide = (verdict == EquivalenceVerdict::NotDecided)
        .then(|| (differences.len() + 1..=MOST_SEEDS).find(|&more| same(crossed.with_seeds(more).reach(0.9))))
        .flatten();
    let (standard_error, freedom) = crossed.error();
    let interval = [difference - ninety, difference + ninety];
    Ok(Equivalence { verdict, margin, difference, interval, standard_error, freedom, seeds_to_decide })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{normal, random};

    const MARGIN: f64 = 0.005;

    /// Standard deviations of a difference: by query, by seed, and the rest.
    type Spread = [f64; 3];

    /// Tests random pairs of systems with a true difference of `shift`, and counts each verdict.
    fn verdicts(shift: f64, [queries, seeds]: [usize; 2], [by_query, by_seed, rest]: Spread, pairs: u64) -> [usize; 3] {
        let mut counts = [0; 3];
        for pair in 0..pairs {
            let mut random = random(pair);
            let of_query: Vec<f64> = (0..queries).map(|_| shift + by_query * normal(&mut random)).collect();
            let differences: Vec<Vec<f64>> = (0..seeds)
                .map(|_| {
                    let seed = by_seed * normal(&mut random);
                    of_query.iter().map(|query| query + seed + rest * normal(&mut random)).collect()
                })
                .collect();
            let at = match equivalence(&differences, MARGIN).unwrap().verdict {
                EquivalenceVerdict::Same => 0,
                EquivalenceVerdict::Different => 1,
                EquivalenceVerdict::NotDecided => 2,
                EquivalenceVerdict::Identical => unreachable!("bytes are not compared here"),
            };
            counts[at] += 1;
        }
        counts
    }

    #[test]
    fn equal_devices_are_rarely_different_and_two_margins_are_rarely_the_same() {
        let (layout, spread) = ([400, 5], [0.0, 0.002, 0.02]);
        let equal = verdicts(0.0, layout, spread, 300);
        let apart = verdicts(2.0 * MARGIN, layout, spread, 300);
        // Each one-sided test errs with 5%: 15 of 300, and three standard deviations more.
        assert!(equal[1] <= 26, "{equal:?}");
        assert!(apart[0] <= 26, "{apart:?}");
        // A scatter of a fifth of the margin decides nearly always.
        assert!(equal[0] >= 280, "{equal:?}");
        assert!(apart[1] >= 280, "{apart:?}");
    }

    #[test]
    fn at_the_margin_the_test_errs_with_one_in_twenty_whatever_varies() {
        for layout @ [queries, seeds] in [[400, 5], [100, 20], [50, 50]] {
            // A standard error of a tenth of the margin from queries, and as much from seeds.
            let by_query = 0.1 * MARGIN * (queries as f64).sqrt();
            let by_seed = 0.1 * MARGIN * (seeds as f64).sqrt();
            for spread in [[by_query, by_seed, 0.3 * MARGIN], [by_query, 0.0, 0.3 * MARGIN], [0.0, by_seed, 0.0]] {
                let counts = verdicts(MARGIN, layout, spread, 600);
                let share = counts[0] as f64 / 600.0;
                // Three standard deviations of a share of .05.
                assert!((share - 0.05).abs() < 0.027, "{layout:?} {spread:?}: {counts:?}");
            }
        }
    }

    #[test]
    fn variances_of_queries_and_seeds_add_up() {
        // Query effects -1 and 1, seed effects -2, 0 and 2, and a rest of 0: MS_queries = 6, MS_seeds = 8.
        let differences: Vec<Vec<f64>> = [-2.0, 0.0, 2.0].map(|seed| vec![seed - 1.0, seed + 1.0]).to_vec();
        let found = equivalence(&differences, 10.0).unwrap();
        assert!((found.standard_error - (14.0f64 / 6.0).sqrt()).abs() < 1e-12, "{found:?}");
        assert!((found.freedom - 14.0f64.powi(2) / (36.0 + 64.0 / 2.0)).abs() < 1e-12, "{found:?}");
        // More seeds take away what seeds add, not what queries do.
        assert_eq!(equivalence(&differences, 1.0).unwrap().seeds_to_decide, None);
    }

    #[test]
    fn a_source_that_varies_less_than_the_rest_does_not_count() {
        // Means of all queries and of all seeds are equal: only the rest varies, with 1 degree of freedom and MS 4.
        let found = equivalence(&[vec![1.0, -1.0], vec![-1.0, 1.0]], 10.0).unwrap();
        assert_eq!((found.standard_error, found.freedom), (1.0, 1.0));
    }

    #[test]
    fn a_difference_without_scatter_is_decided() {
        let of = |difference: f64| equivalence(&vec![vec![difference; 3]; 2], MARGIN).unwrap();
        assert_eq!(of(0.0).verdict, EquivalenceVerdict::Same);
        assert_eq!(of(0.004).verdict, EquivalenceVerdict::Same);
        assert_eq!(of(0.01).verdict, EquivalenceVerdict::Different);
    }

    #[test]
    fn the_seeds_that_would_decide_do() {
        // Means over queries are -d and +d: SE = d sqrt(2) / sqrt(2) = d.
        let found = equivalence(&[vec![-0.004; 40], vec![0.004; 40]], MARGIN).unwrap();
        assert_eq!((found.verdict, found.freedom), (EquivalenceVerdict::NotDecided, 1.0));
        assert!((found.standard_error - 0.004).abs() < 1e-12);
        let seeds = found.seeds_to_decide.unwrap();
        assert!((3..10).contains(&seeds), "{seeds}");
    }

    #[test]
    fn too_little_is_refused() {
        let message = |differences: &[Vec<f64>]| equivalence(differences, MARGIN).unwrap_err().to_string();
        assert_eq!(message(&[vec![0.0; 3]]), "found 1 seeds: expected 2 or more");
        assert_eq!(message(&[vec![0.0], vec![0.0]]), "found 1 queries: expected 2 or more");
        assert!(equivalence(&vec![vec![0.0; 2]; 2], 0.0).is_err());
    }
}
