//! How NDCG with several discounts behaves as lists grow (ndcg-theory, Figures 1 to 4, Theorems 1 to 13).
//!
//! Documents are drawn independently, as the theorems assume. Three ranking functions sort each sample of documents.
//! One function knows the quality of every document. Another knows half of the qualities, and the third ranks at
//! random. The study judges:
//!
//! * The limits of NDCG. Each limit is fitted to NDCG at several `n`, with the rate from its theorem. The rate is
//!   `1 / log n` for the logarithmic discount and `n^(-1/2)` for the discount `r^(-1/2)`. At `n = 10^6`, NDCG with the
//!   logarithmic discount is still far from its limit.
//! * Lemma 2, which states that the mean NDCG differs from the pseudo-expectation by at most about `n^(-1/3)`. The
//!   paper leaves factors in `log n` open; the study sets them to 1.
//! * Theorem 6, which states that NDCG with the discount `2^-r` does not converge.
//! * Distinguishability: whether the order of two ranking functions by NDCG still changes as a sample grows.
//!
//! A sample costs `n log n` operations for each ranking function.

mod limits;
mod series;

use self::limits::{CASES, Case, NO_LIMIT};
use self::series::{Population, RANKERS, Series};
use super::*;

pub(super) const ENTRY: StudyEntry = StudyEntry {
    name: "discounts",
    summary: "what NDCG tends to as lists grow, by discount and cut-off, and whether it keeps rankers apart",
    paper: "Wang et al., A theoretical analysis of NDCG type ranking measures, Figures 1 to 4, Theorems 1 to 13",
    parameters: &[Parameter {
        name: "n",
        values: &[100.0, 316.0, 1000.0, 3162.0, 10_000.0, 31_623.0, 100_000.0, 316_228.0, 1_000_000.0],
        domain: Domain::Whole(10, 10_000_000),
    }],
    takes: &[GENERATED, RANKING, RUNS],
    run,
};

/// The number of samples, each of which grows from the smallest list length to the largest.
const SAMPLES: usize = 40;
/// The number of samples in a quick study, and the largest `n` of a quick study.
const QUICK: (usize, usize) = (24, 10_000);
/// A stated limit counts as confirmed only if it differs from the fitted limit by less than this.
const MARGIN: f64 = 0.01;

fn run(setting: &Setting) -> Result<Findings> {
    let mut sizes: Vec<usize> = setting.values("n").iter().map(|n| *n as usize).collect();
    let samples = if setting.quick { QUICK.0 } else { SAMPLES };
    // A quick study keeps sizes that are asked for, if each is larger.
    if setting.quick && sizes.iter().any(|n| *n <= QUICK.1) {
        sizes.retain(|n| *n <= QUICK.1);
    }
    let pooled = matches!(setting.source, Source::Ranking(_) | Source::Runs(_)).then(|| setting.subject(&[]));
    // Larger samples would have each document many times, and with it its label: no sample of documents that are
    // independent.
    if let Some(subject) = &pooled {
        sizes.retain(|n| *n <= subject.documents());
        if sizes.is_empty() {
            sizes.push(subject.documents());
        }
    }
    let (population, seed) = (pooled.as_ref().map_or(Population::Generated, Population::pooled), setting.source.seed());
    let series = Series::draw(&population, &sizes, samples, seed, |done| setting.step("samples", done, samples));
    let generated = pooled.is_none();
    let cases = || CASES.iter().enumerate();
    let limits = cases().filter_map(|(case, of)| limit(of, &series.fitted(case), generated));
    let claims = limits
        .chain(generated.then(|| lemma_2(&series)))
        // One size shows no change.
        .chain(cases().filter(|_| sizes.len() > 1).filter_map(|(case, of)| no_limit(of, &series.spread(case))))
        .chain(cases().filter_map(|(case, of)| distinguishable(of, &series, case)))
        .collect();
    let origin = match &pooled {
        Some(subject) => format!(
            "{samples} samples, drawn with replacement from the {} pooled documents of {}, no larger than those",
            subject.documents(),
            subject.origin
        ),
        None => format!("{samples} samples of generated documents, seed {seed}"),
    };
    Ok(Findings {
        about: About::text(origin),
        tables: tables(&series, generated),
        curves: FIGURES.iter().map(|case| curves(&series, *case)).collect(),
        claims,
    })
}

/// The cases that the paper's Figures 1 to 4 show.
const FIGURES: [usize; 4] = [limits::LOG, limits::ROOT, limits::HALVING, limits::LOG_FIFTH];

/// Checks, for each ranking function, whether NDCG tends to the limit that the theorem states.
fn limit(case: &Case, fitted: &[Vec<f64>], generated: bool) -> Option<Claim> {
    let (theorem, words) = case.limit?;
    let claim = format!("NDCG tends to {words}, with {}", case.name);
    if !generated && !case.same_for_all() {
        let found = "the mean relevance by score is not known of these documents";
        return Some(Claim::new(theorem, claim, Judged::new(Verdict::Open, found)));
    }
    let mut judged = Judged::new(Verdict::Open, "");
    let (mut verdicts, mut found) = (Vec::new(), Vec::new());
    for (ranker, values) in fitted.iter().enumerate() {
        let (limit, mean) = (case.limit_of(ranker), Mean::of(values));
        verdicts.push(mean.near(limit, MARGIN));
        found.push(format!("{mean} against {}", short(limit)));
        judged = judged
            .number(format!("fitted {}", RANKERS[ranker]), mean.mean)
            .number(format!("limit {}", RANKERS[ranker]), limit);
    }
    judged.verdict = Verdict::all(verdicts);
    judged.found = format!("fitted limits {} (within {MARGIN})", found.join(", "));
    Some(Claim::new(theorem, claim, judged))
}

/// Judges, for each `n`, whether the mean NDCG with the logarithmic discount is close to the pseudo-expectation.
fn lemma_2(series: &Series) -> Claim {
    let (mut verdicts, mut largest) = (Vec::new(), 0f64);
    for (at, &n) in series.sizes.iter().enumerate() {
        for ranker in 0..RANKERS.len() {
            let mean = Mean::of(series.at(limits::LOG, ranker, at));
            let (pseudo, bound) = (limits::pseudo_expectation(ranker, n), (n as f64).powf(-1.0 / 3.0));
            verdicts.push(mean.near(pseudo, bound));
            largest = largest.max((mean.mean - pseudo).abs() / bound);
        }
    }
    let found = format!("the difference is at most {} % of it", short(100.0 * largest));
    let judged = Judged::new(Verdict::all(verdicts), found).number("largest share", largest);
    Claim::new("Lemma 2", "mean NDCG is within n^(-1/3) of the pseudo-expectation, at each n", judged)
}

/// Judges whether the NDCG of different samples continues to differ as the samples grow. At the largest `n`, their
/// difference must exceed a quarter of the difference at the smallest.
fn no_limit(case: &Case, spread: &[(f64, f64)]) -> Option<Claim> {
    if case.limit.is_some() {
        return None;
    }
    let left: Vec<f64> = spread.iter().map(|(first, last)| last - first / 4.0).collect();
    let (first, last): (Vec<f64>, Vec<f64>) = spread.iter().copied().unzip();
    let (first, last) = (mean(&first), mean(&last));
    let found = format!("two samples differ by {} at the least n, by {} at the largest", short(first), short(last));
    let judged = Judged::new(Mean::of(&left).above_zero(), found).number("at the least n", first);
    let claim = format!("NDCG does not converge, with {}", case.name);
    Some(Claim::new(NO_LIMIT, claim, judged.number("at the largest n", last)))
}

/// Judges whether the order of two ranking functions stops changing or keeps changing as samples grow. The theorem's
/// claim determines which of the two is tested.
fn distinguishable(case: &Case, series: &Series, at: usize) -> Option<Claim> {
    let (theorem, keeps_apart) = case.distinguishes?;
    let (early, late) = series.flips(at);
    let (early, late) = (Mean::of(&early), Mean::of(&late));
    let goes_on = late.above_zero();
    let died_out = late.mean == 0.0 && early.above_zero() == Verdict::Holds;
    let verdict = match (keeps_apart, goes_on, died_out) {
        (true, Verdict::Holds, _) | (false, _, true) => Verdict::Fails,
        (true, _, true) | (false, Verdict::Holds, _) => Verdict::Holds,
        _ => Verdict::Open,
    };
    let halves = format!("{} in the first half of the sizes, {late} in the second", short(early.mean));
    let found = format!("flips of three pairs per sample: {halves}");
    let what = match keeps_apart {
        true => "from some n on the order of two ranking functions stays",
        false => "the order of two ranking functions continues to flip",
    };
    let judged = Judged::new(verdict, found).number("early flips", early.mean).number("late flips", late.mean);
    Some(Claim::new(theorem, format!("{what}, with {}", case.name), judged))
}

fn tables(series: &Series, generated: bool) -> Vec<Table> {
    let of_figure = |case: &usize| {
        let columns = RANKERS.iter().flat_map(|ranker| [ranker, "\u{b1}"]);
        let row = |(at, n): (usize, &usize)| {
            let means = (0..RANKERS.len()).map(|ranker| Mean::of(series.at(*case, ranker, at)));
            (n.to_string(), means.flat_map(|mean| [Some(mean.mean), Some(mean.error)]).collect::<Vec<_>>())
        };
        let title = format!("NDCG, mean over samples, with {}", CASES[*case].name);
        Table::new(title, ["n"].into_iter().chain(columns)).with(series.sizes.iter().enumerate().map(row))
    };
    let columns = RANKERS.iter().flat_map(|ranker| [format!("{ranker}, fitted"), "limit".to_string()]);
    let mut fits = Table::new("limits", ["discount".to_string()].into_iter().chain(columns));
    let mut flips = Table::new("flips per sample", ["discount", "first half of the sizes", "second half"]);
    for (at, case) in CASES.iter().enumerate() {
        if case.limit.is_some() {
            let known = |ranker| (generated || case.same_for_all()).then(|| case.limit_of(ranker));
            let fitted = series.fitted(at);
            fits.row(case.name, fitted.iter().enumerate().flat_map(|(ranker, of)| [Some(mean(of)), known(ranker)]));
        }
        let (early, late) = series.flips(at);
        flips.row(case.name, [Some(mean(&early)), Some(mean(&late))]);
    }
    FIGURES.iter().map(of_figure).chain([fits, flips]).collect()
}

fn curves(series: &Series, case: usize) -> Curves {
    let at: Vec<f64> = series.sizes.iter().map(|n| *n as f64).collect();
    let title = format!("NDCG with {}", CASES[case].name);
    let curves = Curves::new(title, "n", &at, [Scale::Log, Scale::Linear]);
    RANKERS.iter().enumerate().fold(curves, |curves, (ranker, name)| {
        curves.curve(*name, (0..at.len()).map(|at| Some(mean(series.at(case, ranker, at)))))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns four fitted limits for each of three ranking functions, with errors of magnitude `noise`.
    fn fitted(limits: [f64; 3], noise: f64) -> Vec<Vec<f64>> {
        limits.map(|limit| [-1.0, 1.0, 0.5, -0.5].map(|part| limit + noise * part).to_vec()).to_vec()
    }

    #[test]
    fn a_limit_is_judged_by_what_is_fitted() {
        let case = &CASES[limits::ROOT];
        let limits = [0, 1, 2].map(|ranker| case.limit_of(ranker));
        assert_eq!(limit(case, &fitted(limits, 1e-3), true).unwrap().verdict, Verdict::Holds);
        assert_eq!(limit(case, &fitted(limits, 0.1), true).unwrap().verdict, Verdict::Open);
        assert_eq!(limit(case, &fitted([1.0; 3], 1e-3), true).unwrap().verdict, Verdict::Fails);
        assert_eq!(limit(case, &fitted(limits, 1e-3), false).unwrap().verdict, Verdict::Open, "unknown documents");
    }

    #[test]
    fn whether_ndcg_settles_is_judged_by_what_is_left_of_the_spread() {
        let case = &CASES[limits::HALVING];
        assert_eq!(no_limit(case, &[(0.3, 0.3), (0.2, 0.25), (0.4, 0.3)]).unwrap().verdict, Verdict::Holds);
        assert_eq!(no_limit(case, &[(0.3, 0.003), (0.2, 0.002), (0.4, 0.001)]).unwrap().verdict, Verdict::Fails);
        assert_eq!(no_limit(case, &[(0.3, 0.3)]).unwrap().verdict, Verdict::Open);
    }

    /// NDCG must converge with the logarithmic discount, but not with `2^-r`. Lemma 2 must fail if the NDCG values are
    /// shifted.
    #[test]
    fn generated_documents_tell_the_discounts_apart() {
        let series = Series::draw(&Population::Generated, &[100, 1000, 10_000], 40, 1, |_| ());
        let settles = |case: usize| no_limit(&CASES[limits::HALVING], &series.spread(case)).unwrap().verdict;
        assert_eq!((settles(limits::HALVING), settles(limits::LOG)), (Verdict::Holds, Verdict::Fails));
        assert_eq!(lemma_2(&series).verdict, Verdict::Holds);
        let mut off = series.clone();
        off.values[limits::LOG][0][2].iter_mut().for_each(|value| *value -= 0.1);
        assert_eq!(lemma_2(&off).verdict, Verdict::Fails);
    }
}
