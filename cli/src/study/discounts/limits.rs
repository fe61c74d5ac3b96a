//! The discounts and cut-offs that the study examines, and the limits of NDCG that the theorems give for them.
//!
//! For generated documents, the expected relevance `y(s) = a + b s` is linear in a document's canonical score `s`. So
//! the integrals of the paper have closed forms. With `y(1) = a + b` and `t = 1 - s`, the integral
//! `(1 - beta) int_0^c y(1 - t) t^(-beta) dt` is `y(1) c^(1 - beta) - b (1 - beta) / (2 - beta) c^(2 - beta)`.

/// The probability of label 2 as a linear function of the quality: its value at 0, and its slope.
pub(super) const LABEL_2: (f64, f64) = (0.05, 0.1);
/// The probability of label 1 as a linear function of the quality: its value at 0, and its slope.
pub(super) const LABEL_1: (f64, f64) = (0.25, 0.3);

/// A factor that discounts the gain at each rank.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Decay {
    /// `1 / log(1 + r)`
    Log,
    /// `r^(-1/2)`
    Root,
    /// `1 / r`
    Zipf,
    /// `2^-r`
    Halving,
}

impl Decay {
    pub(super) const ALL: [Decay; 4] = [Decay::Log, Decay::Root, Decay::Zipf, Decay::Halving];

    /// Returns the discount at `rank`, which is counted from 1.
    pub(super) fn at(self, rank: f64) -> f64 {
        match self {
            Decay::Log => 1.0 / rank.ln_1p(),
            Decay::Root => rank.powf(-BETA),
            Decay::Zipf => 1.0 / rank,
            Decay::Halving => (-rank).exp2(),
        }
    }
}

/// The exponent of [`Decay::Root`].
const BETA: f64 = 0.5;
/// The share of [`Cut::Fifth`].
const FIFTH: f64 = 0.2;

/// A cut-off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cut {
    /// None.
    Whole,
    /// `k = sqrt(n)`, which is `o(n)`.
    Root,
    /// `k = n / 5`.
    Fifth,
}

impl Cut {
    /// Returns the number of ranks that NDCG takes into account in a list of `n` documents, at least one.
    pub(super) fn of(self, n: usize) -> usize {
        let ranks = match self {
            Cut::Whole => n,
            Cut::Root => (n as f64).sqrt().round() as usize,
            Cut::Fifth => n / 5,
        };
        ranks.max(1)
    }
}

/// The rate at which NDCG approaches its limit as lists grow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Rate {
    /// The distance from the limit is a combination of `1 / log n` and `1 / log^2 n`.
    Logarithms,
    /// The distance from the limit is proportional to `1 / log n`.
    Logarithm,
    /// The distance from the limit is proportional to `n^(-1/2)`.
    Root,
}

impl Rate {
    /// Returns the terms of the rate at `n`, to be multiplied by unknown factors.
    pub(super) fn terms(self, n: f64) -> Vec<f64> {
        match self {
            Rate::Logarithms => vec![1.0 / n.ln(), n.ln().powi(-2)],
            Rate::Logarithm => vec![1.0 / n.ln()],
            Rate::Root => vec![n.powf(-0.5)],
        }
    }
}

/// A variant of NDCG, given by a discount, a cut-off and a gain. It also records what the theorems say about the
/// variant.
#[derive(Debug, Clone, Copy)]
pub(super) struct Case {
    pub(super) name: &'static str,
    pub(super) decay: Decay,
    pub(super) cut: Cut,
    /// Whether the gain is the label (0 to 2) instead of the relevance (0 or 1).
    pub(super) graded: bool,
    pub(super) rate: Rate,
    /// The theorem that states the limit of NDCG, and the limit in words; `None` for a theorem that there is no limit.
    pub(super) limit: Option<(&'static str, &'static str)>,
    /// The theorem on whether NDCG keeps two ranking functions in the same order as lists grow. The second value is the
    /// theorem's answer.
    pub(super) distinguishes: Option<(&'static str, bool)>,
}

/// The theorem that NDCG has no limit with the discount `2^-r`.
pub(super) const NO_LIMIT: &str = "Theorem 6";

/// The index of the logarithmic discount in [`CASES`].
pub(super) const LOG: usize = 0;
/// The index of the discount `r^(-1/2)` in [`CASES`].
pub(super) const ROOT: usize = 2;
/// The index of the discount `2^-r` in [`CASES`].
pub(super) const HALVING: usize = 5;
/// The index in [`CASES`] of the logarithmic discount with cut-off `n / 5`.
pub(super) const LOG_FIFTH: usize = 8;

/// The limits in words.
const ONE: &str = "1";
const OF_TOP: &str = "the mean relevance at the top";
const OF_POWER: &str = "its integral against (1 - s)^(-beta)";
const OF_FIFTH: &str = "the mean relevance of the top fifth, normalized";

/// Whether the gain is graded.
const BINARY: bool = false;
const GRADED: bool = true;

pub(super) const CASES: [Case; 12] = [
    Case::new("1 / log(1 + r)", Decay::Log, Cut::Whole, BINARY, Rate::Logarithms)
        .limit("Theorem 1", ONE)
        .apart("Theorem 2"),
    Case::new("1 / log(1 + r), graded", Decay::Log, Cut::Whole, GRADED, Rate::Logarithms).limit("Theorem 1", ONE),
    Case::new("r^(-1/2)", Decay::Root, Cut::Whole, BINARY, Rate::Root).limit("Theorem 3", OF_POWER).apart("Theorem 4"),
    Case::new("r^(-1/2), graded", Decay::Root, Cut::Whole, GRADED, Rate::Root).limit("Theorem 10", OF_POWER),
    Case::new("1 / r", Decay::Zipf, Cut::Whole, BINARY, Rate::Logarithm).limit("Theorem 5", OF_TOP),
    Case::new("2^-r", Decay::Halving, Cut::Whole, BINARY, Rate::Logarithms),
    Case::new("1 / log(1 + r), k = sqrt(n)", Decay::Log, Cut::Root, BINARY, Rate::Root).limit("Theorem 7", OF_TOP),
    Case::new("1 / log(1 + r), k = sqrt(n), graded", Decay::Log, Cut::Root, GRADED, Rate::Root)
        .limit("Theorem 11", OF_TOP),
    Case::new("1 / log(1 + r), k = n / 5", Decay::Log, Cut::Fifth, BINARY, Rate::Logarithms)
        .limit("Theorem 8", OF_FIFTH)
        .apart("section 3.3"),
    Case::new("r^(-1/2), k = n / 5", Decay::Root, Cut::Fifth, BINARY, Rate::Root)
        .limit("Theorem 9", OF_POWER)
        .apart("section 3.3"),
    Case::new("1 / log(1 + r), k = n / 5, graded", Decay::Log, Cut::Fifth, GRADED, Rate::Logarithms)
        .limit("Theorem 12", OF_FIFTH),
    Case::new("r^(-1/2), k = n / 5, graded", Decay::Root, Cut::Fifth, GRADED, Rate::Root).limit("Theorem 13", OF_POWER),
];

/// The fraction of the documents whose quality each ranking function knows.
const KNOWN: [f64; 3] = [1.0, 0.5, 0.0];

/// Returns `a` and `b` for a ranking function whose documents have the expected relevance `a + b s` at score `s`.
fn relevance(ranker: usize, graded: bool) -> (f64, f64) {
    let weight = if graded { 2.0 } else { 1.0 };
    let (offset, slope) = (weight * LABEL_2.0 + LABEL_1.0, weight * LABEL_2.1 + LABEL_1.1);
    (offset + (1.0 - KNOWN[ranker]) * slope / 2.0, KNOWN[ranker] * slope)
}

/// Returns the possible gains in descending order. Each gain is paired with the probability that a document has at
/// least this gain (the paper's `R_j`).
fn levels(graded: bool) -> Vec<(f64, f64)> {
    let mean = |(offset, slope): (f64, f64)| offset + slope / 2.0;
    let relevant = mean(LABEL_2) + mean(LABEL_1);
    if graded { vec![(2.0, mean(LABEL_2)), (1.0, relevant)] } else { vec![(1.0, relevant)] }
}

impl Case {
    /// Creates a variant without a theorem on its limit. Without a limit, it does not keep ranking functions apart.
    const fn new(name: &'static str, decay: Decay, cut: Cut, graded: bool, rate: Rate) -> Self {
        Self { name, decay, cut, graded, rate, limit: None, distinguishes: Some((NO_LIMIT, false)) }
    }

    const fn limit(self, theorem: &'static str, words: &'static str) -> Self {
        Self { limit: Some((theorem, words)), distinguishes: None, ..self }
    }

    const fn apart(self, theorem: &'static str) -> Self {
        Self { distinguishes: Some((theorem, true)), ..self }
    }

    /// Returns whether NDCG has the same limit for all ranking functions, whatever the documents are.
    pub(super) fn same_for_all(&self) -> bool {
        self.decay == Decay::Log && self.cut == Cut::Whole
    }

    /// Returns the limit of NDCG that the paper's theorems give for a ranking function.
    pub(super) fn limit_of(&self, ranker: usize) -> f64 {
        let (a, b) = relevance(ranker, self.graded);
        let levels = levels(self.graded);
        // The ideal order up to the share c, each rank with the weight of `power(R_j) - power(R_(j-1))`.
        let ideal = |c: f64, power: &dyn Fn(f64) -> f64| {
            let mut last = 0.0;
            levels.iter().fold(0.0, |sum, (gain, share)| {
                let share = share.min(c);
                let part = gain * (power(share) - power(last));
                last = share;
                sum + part
            })
        };
        let rooted = |c: f64| (a + b) * c.powf(1.0 - BETA) - b * (1.0 - BETA) / (2.0 - BETA) * c.powf(2.0 - BETA);
        let root = |share: f64| share.powf(1.0 - BETA);
        match (self.decay, self.cut) {
            (Decay::Log, Cut::Whole) => 1.0,
            (Decay::Log, Cut::Fifth) => FIFTH * (a + b - b * FIFTH / 2.0) / ideal(FIFTH, &|share| share),
            (Decay::Root, Cut::Whole) => rooted(1.0) / ideal(1.0, &root),
            (Decay::Root, Cut::Fifth) => rooted(FIFTH) / ideal(FIFTH, &root),
            (Decay::Zipf, _) | (_, Cut::Root) => (a + b) / levels[0].0,
            (Decay::Halving, _) => f64::NAN,
        }
    }
}

/// Returns the approximation of the mean NDCG that the paper calls pseudo-expectation (Definition 5). It is computed
/// for the logarithmic discount and binary relevance.
pub(super) fn pseudo_expectation(ranker: usize, n: usize) -> f64 {
    let ((a, b), n) = (relevance(ranker, false), n as f64);
    let share = levels(false)[0].1;
    let of_log = |s: f64| Decay::Log.at(s);
    integral(n, |s| (a + b * (1.0 - s / n)) * of_log(s)) / integral(n * share, of_log)
}

/// Integrates `f` from 1 to `to` by Simpson's rule on a logarithmic scale.
fn integral(to: f64, f: impl Fn(f64) -> f64) -> f64 {
    const PANELS: usize = 4000;
    let step = to.ln() / PANELS as f64;
    let weighted = (0..=PANELS).map(|i| {
        let s = (i as f64 * step).exp();
        let weight = match i {
            0 | PANELS => 1.0,
            i if i % 2 == 1 => 4.0,
            _ => 2.0,
        };
        weight * (f(s) * s)
    });
    weighted.sum::<f64>() * step / 3.0
}

#[cfg(test)]
mod tests {
    use super::*;

    /// At a large `n`, compares the limits with NDCG where rank `r` has the relevance `y(1 - r / (n + 1))`.
    #[test]
    fn limits_are_what_means_tend_to() {
        let n = 400_000usize;
        for case in CASES.iter().filter(|case| case.limit.is_some()) {
            let k = case.cut.of(n);
            for ranker in 0..3 {
                let (a, b) = relevance(ranker, case.graded);
                let (mut dcg, mut ideal) = (0.0, 0.0);
                for rank in 1..=k {
                    let (r, share) = (rank as f64, rank as f64 / n as f64);
                    dcg += case.decay.at(r) * (a + b * (1.0 - r / (n + 1) as f64));
                    let gain =
                        levels(case.graded).iter().find(|(_, upto)| share <= *upto).map_or(0.0, |(gain, _)| *gain);
                    ideal += case.decay.at(r) * gain;
                }
                // 1 / log n is .08 here.
                let far = if case.rate == Rate::Root { 2e-3 } else { 0.09 };
                assert!((dcg / ideal - case.limit_of(ranker)).abs() < far, "{} {ranker}", case.name);
            }
        }
    }

    #[test]
    fn the_random_ranker_is_far_from_its_limit_at_a_million() {
        assert!((pseudo_expectation(2, 1_000_000) - 0.945).abs() < 1e-3);
        assert!((integral(100.0, |s| 1.0 / s) - 100f64.ln()).abs() < 1e-9);
    }

    #[test]
    fn the_named_cases_are_where_they_are_said_to_be() {
        assert_eq!(
            [LOG, ROOT, HALVING, LOG_FIFTH].map(|at| CASES[at].decay),
            [Decay::Log, Decay::Root, Decay::Halving, Decay::Log]
        );
        assert!(CASES[LOG_FIFTH].cut == Cut::Fifth && !CASES[LOG_FIFTH].graded);
    }
}
