//! A test of whether two systems are the same within a margin. The test consists of two one-sided tests on paired
//! differences of queries and seeds. See Schuirmann, A comparison of the two one-sided tests procedure and the power
//! approach, 1987.
//!
//! Let `D_qs` be the difference on query `q` for seed `s`, with `Q` queries and `S` seeds. Queries and seeds both vary,
//! and each kind of variation gives a standard error of the mean difference. The test uses the larger of the two
//! standard errors:
//!
//! ```text
//! SE = max(sd_q(mean_s D) / sqrt(Q), sd_s(mean_q D) / sqrt(S))
//! ```
//!
//! The intervals use Student's t distribution with `min(Q, S) - 1` degrees of freedom.

use serde::{Deserialize, Serialize};
use statrs::distribution::{ContinuousCDF, StudentsT};

use super::{SignificanceError, mean, standard_error};

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
    /// Degrees of freedom.
    pub freedom: usize,
    /// The number of seeds after which the verdict would be `Same`, assuming that the mean difference and its variance
    /// stay the same. The number is `None` if the verdict is already decided, or if even 1,000 seeds would not be
    /// enough.
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
            freedom: queries.min(seeds).saturating_sub(1),
            seeds_to_decide: None,
        }
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
    let (seeds, queries) = (differences.len(), differences.first().map_or(0, Vec::len));
    for (what, found) in [("seeds", seeds), ("queries", queries)] {
        if found < 2 {
            return Err(SignificanceError::TooFew { what, found, expected: 2 });
        }
    }
    for of_seed in differences {
        if of_seed.len() != queries {
            return Err(SignificanceError::Queries { first: queries, second: of_seed.len() });
        }
        if let Some(at) = of_seed.iter().position(|value| !value.is_finite()) {
            return Err(SignificanceError::Value { query: at + 1, found: of_seed[at] });
        }
    }
    let by_seed: Vec<f64> = differences.iter().map(|of_seed| mean(of_seed)).collect();
    let by_query: Vec<f64> =
        (0..queries).map(|q| mean(&differences.iter().map(|of_seed| of_seed[q]).collect::<Vec<f64>>())).collect();
    let standard_error = standard_error(&by_query).max(standard_error(&by_seed)).max(LEAST_ERROR);
    let difference = mean(&by_seed);
    let reach = |level: f64, seeds: usize, error: f64| {
        let freedom = (queries.min(seeds) - 1) as f64;
        let student = StudentsT::new(0.0, 1.0, freedom).expect("there is at least one degree of freedom");
        error * student.inverse_cdf((1.0 + level) / 2.0)
    };
    let ninety = reach(0.9, seeds, standard_error);
    let same = |reach: f64| difference.abs() + reach < margin;
    let verdict = if same(ninety) {
        EquivalenceVerdict::Same
    } else if difference.abs() > reach(0.95, seeds, standard_error) {
        EquivalenceVerdict::Different
    } else {
        EquivalenceVerdict::NotDecided
    };
    // Differences of equal systems are noise from their seeds, which shrinks with the square root of the number of
    // seeds.
    let after = |more: usize| reach(0.9, more, standard_error * (seeds as f64 / more as f64).sqrt());
    let seeds_to_decide = (verdict == EquivalenceVerdict::NotDecided)
        .then(|| (seeds + 1..=MOST_SEEDS).find(|&more| same(after(more))))
        .flatten();
    Ok(Equivalence {
        verdict,
        margin,
        difference,
        interval: [difference - ninety, difference + ninety],
        standard_error,
        freedom: queries.min(seeds) - 1,
        seeds_to_decide,
    })
}

#[cfg(test)]
mod tests {
    use rand::{Rng, RngExt};

    use super::*;
    use crate::testing::random;

    const MARGIN: f64 = 0.005;

    /// Draws a number from the standard normal distribution.
    fn normal(random: &mut impl Rng) -> f64 {
        let (u, v): (f64, f64) = (random.random_range(f64::MIN_POSITIVE..1.0), random.random());
        (-2.0 * u.ln()).sqrt() * (std::f64::consts::TAU * v).cos()
    }

    /// Tests random pairs of systems with a true difference of `shift`, on 5 seeds and 400 queries, and counts each
    /// verdict.
    fn verdicts(shift: f64, by_seed: f64, by_query: f64, pairs: u64) -> [usize; 3] {
        let mut counts = [0; 3];
        for pair in 0..pairs {
            let mut random = random(pair);
            let differences: Vec<Vec<f64>> = (0..5)
                .map(|_| {
                    let seed = by_seed * normal(&mut random);
                    (0..400).map(|_| shift + seed + by_query * normal(&mut random)).collect()
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
        let equal = verdicts(0.0, 0.002, 0.02, 300);
        let apart = verdicts(2.0 * MARGIN, 0.002, 0.02, 300);
        // Each one-sided test errs with 5%: 15 of 300, and three standard deviations more.
        assert!(equal[1] <= 26, "{equal:?}");
        assert!(apart[0] <= 26, "{apart:?}");
        // A scatter of a fifth of the margin decides nearly always.
        assert!(equal[0] >= 280, "{equal:?}");
        assert!(apart[1] >= 280, "{apart:?}");
    }

    #[test]
    fn at_the_margin_the_test_errs_with_one_in_twenty() {
        let counts = verdicts(MARGIN, 0.002, 0.0, 2000);
        let share = counts[0] as f64 / 2000.0;
        // Four standard deviations of a share of .05.
        assert!((share - 0.05).abs() < 0.02, "{counts:?}");
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
        assert_eq!((found.verdict, found.freedom), (EquivalenceVerdict::NotDecided, 1));
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
