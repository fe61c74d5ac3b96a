//! How SmoothNDCG behaves as its parameter sigma decreases (smoothrank, Figures 1 and 2, sections 5.1 to 5.4).
//!
//! SmoothRank is trained with decreasing values of sigma, and the study keeps its weights at each value. Let `mu` be
//! the smallest squared difference of two scores, and `m` the number of documents. Section 5.1 then gives
//! `|SmoothNDCG - NDCG| <= exp(-mu / sigma) max(sum_j D(j) sum_{i != d(j)} G_i / Z, (m - 1) NDCG)`. The paper's
//! `O(exp(-mu / sigma))` omits the maximum. Section 5.2 bounds the Lipschitz constant by `8 B R m^(3/2) / sigma` and
//! the complexity term by `24 (B R m)^2 / (sigma sqrt(n))`. The loss is below 1, so a complexity term of 1 or more is
//! vacuous.

use burn_rank::loss::explain;

use super::*;
use crate::experiment::linear_weights;

pub(super) const ENTRY: StudyEntry = StudyEntry {
    name: "smoothness",
    summary: "how SmoothNDCG, its optimum and NDCG on new queries change as sigma falls",
    paper: "Chapelle and Wu, Gradient descent optimization of smoothed information retrieval metrics, Figures 1 and 2, section 5",
    parameters: &[
        Parameter { name: "sigma", values: &[0.015_625, 0.0625, 0.25, 1.0, 4.0, 16.0, 64.0], domain: Domain::Positive },
        Parameter { name: "lambda", values: &[0.01], domain: Domain::Positive },
    ],
    takes: &[GENERATED, TRAINING, RUNS],
    run,
};

/// The first value of sigma in training, as in the paper.
const FIRST_SIGMA: f64 = 64.0;
/// The measure of trained rankers.
const AT_10: Measure = Measure::Ndcg(Some(10));
/// The number of training queries, and the number of steps along the line in Figure 1. The first pair is for a full
/// study, the second for a quick one.
const LINE: [(usize, usize); 2] = [(30, 60), (8, 30)];
/// To test Lemma 1, sigma is divided by each of these factors, and the scores are divided by the factor's square root.
const SCALES: [f64; 3] = [0.25, 4.0, 10.0];

/// Returns SmoothNDCG without a cut-off, as a loss.
fn smooth(sigma: f64) -> LossSpec {
    LossSpec::new("smooth_ndcg").with("sigma", sigma)
}

/// Returns the bound of section 5.1 on the error of SmoothNDCG, or `None` for equal scores.
fn bound(query: &ScoredQuery, sigma: f64, ndcg: f64) -> Option<f64> {
    let mu = query.smallest_difference().powi(2);
    let mut order: Vec<usize> = (0..query.scores.len()).collect();
    order.sort_by(|i, j| query.scores[*j].total_cmp(&query.scores[*i]));
    let gains: Vec<f64> = order.iter().map(|i| gain(query.labels[*i])).collect();
    let sum: f64 = gains.iter().sum();
    let others: f64 = gains.iter().zip(1u32..).map(|(gain, rank)| discount(f64::from(rank)) * (sum - gain)).sum();
    let most = (others / query.ideal_dcg()).max((gains.len() - 1) as f64 * ndcg);
    (mu > 0.0).then(|| (-mu / sigma).exp() * most)
}

/// The ranker at one sigma, with its measures and errors.
struct AtSigma {
    sigma: f64,
    weights: Vec<f64>,
    /// The NDCG@10 of each training query.
    train: Vec<f64>,
    validation: Vec<f64>,
    test: Vec<f64>,
    errors: Bounded,
    /// The mean of `mu / sigma` over the training queries. This is the exponent in the bound of section 5.1.
    exponent: f64,
    /// The largest change in the loss when scores and sigma are divided as in Lemma 1; it should be 0.
    scaled: f64,
    /// The gradient's norm for each query, with the bound from section 5.2.
    slopes: Bounded,
    /// `24 (B R m)^2 / (sigma sqrt(n))`
    complexity: f64,
}

fn train_at(material: &Material, linear: &Linear, sigma: f64, lambda: f64, steps: usize) -> Result<AtSigma> {
    let learner = json!({
        "kind": "smooth_rank", "lambda": lambda, "steps": steps,
        "first_sigma": FIRST_SIGMA.max(sigma), "last_sigma": sigma,
    });
    let fit = material.fit(&learner, Some(LossSpec::new("smooth_ndcg")), false)?;
    let weights: Vec<f64> = linear_weights(&fit.ranker).unwrap_or_default().into_iter().map(f64::from).collect();
    let train = material.scored(&fit, &material.split.train)?;
    let at_10 = |data: &RankingDataset| material.scored(&fit, data)?.measured(AT_10);
    let exponents: Vec<f64> = train.queries.iter().map(|query| query.smallest_difference().powi(2) / sigma).collect();
    let longest = train.queries.iter().map(|query| query.scores.len()).max().unwrap_or(0) as f64;
    let reach = norm(&weights) * linear.largest_norm();
    let mut found = AtSigma {
        sigma,
        train: train.measured(AT_10)?,
        validation: material.split.validation.as_ref().map(at_10).transpose()?.unwrap_or_default(),
        test: at_10(material.test()?)?,
        errors: Bounded::default(),
        exponent: mean(&exponents),
        scaled: 0.0,
        slopes: Bounded::default(),
        complexity: 24.0 * (reach * longest).powi(2) / (sigma * (train.queries.len() as f64).sqrt()),
        weights,
    };
    let loss = smooth(sigma).build()?;
    for (query, ndcg) in train.queries.iter().zip(train.measured(Measure::Ndcg(None))?) {
        let explained = explain(&*loss, &query.scores, &query.labels, DType::F64)?;
        found.errors.add((explained.value - ndcg).abs(), bound(query, sigma, ndcg), 1.0);
        let steepest = 8.0 * reach * longest.powf(1.5) / sigma;
        found.slopes.add(norm(&explained.grad), Some(steepest), f64::INFINITY);
        for scale in SCALES {
            let scores = query.scores.iter().map(|score| score / scale.sqrt()).collect();
            let changed = ScoredQuery { scores, labels: query.labels.clone() }.surrogate(&smooth(sigma / scale))?;
            found.scaled = found.scaled.max((changed - explained.value).abs());
        }
    }
    Ok(found)
}

fn run(setting: &Setting) -> Result<Findings> {
    let material = Material::of(setting)?;
    let mut sigmas = setting.values("sigma").to_vec();
    if setting.quick && sigmas.len() > 3 {
        sigmas = vec![sigmas[0], sigmas[sigmas.len() / 2], sigmas[sigmas.len() - 1]];
    }
    let lambda = setting.values("lambda")[0];
    let linear = material.linear(&material.split.train, usize::MAX)?;
    let mut found = Vec::new();
    for (at, &sigma) in sigmas.iter().enumerate() {
        setting.step(&format!("sigma = {sigma}"), at, sigmas.len() + 1);
        found.push(train_at(&material, &linear, sigma, lambda, if setting.quick { 10 } else { 30 })?);
    }
    setting.step("the line of Figure 1", sigmas.len(), sigmas.len() + 1);
    let (queries, steps) = LINE[usize::from(setting.quick)];
    let (linear, weights) = (material.linear(&material.split.train, queries)?, &found[0].weights);
    let line = Line::new(&linear, weights, &sigmas, steps)?;
    let mut claims = claims(&found);
    claims.extend([line.claim(), flat(&linear, weights)?]);
    let about = About::text(format!("{}, lambda = {lambda}", material.origin));
    Ok(Findings { about, tables: vec![table(&found)], curves: vec![line.curves(), annealing(&found)], claims })
}

fn table(found: &[AtSigma]) -> Table {
    let columns = ["sigma", "train NDCG@10", "test NDCG@10", "|A - NDCG|", "mu / sigma", "gradient", "24(BRm)^2/.."];
    let row = |of: &AtSigma| {
        let (train, test) = (mean(&of.train), mean(&of.test));
        let [train, test, exponent, complexity] = [train, test, of.exponent, of.complexity].map(Some);
        (short(of.sigma), [train, test, of.errors.mean(), exponent, of.slopes.largest(), complexity])
    };
    let title = "after training at sigma (annealed from 64), means over queries";
    Table::new(title, columns).with(found.iter().map(row))
}

fn annealing(found: &[AtSigma]) -> Curves {
    let sigmas: Vec<f64> = found.iter().map(|of| of.sigma).collect();
    Curves::new("NDCG@10 over the annealing (Figure 2)", "sigma", &sigmas, [Scale::Log, Scale::Linear])
        .curve("train", found.iter().map(|of| Some(mean(&of.train))))
        .curve("test", found.iter().map(|of| Some(mean(&of.test))))
}

fn claims(found: &[AtSigma]) -> Vec<Claim> {
    let within = |of: &AtSigma| {
        let what = "|SmoothNDCG - NDCG| is within exp(-mu / sigma) times its constant";
        let claim = format!("{what} at sigma = {}", short(of.sigma));
        Claim::new("section 5.1", claim, Bounded::judge([&of.errors], "training queries"))
    };
    let mut claims: Vec<Claim> = found.iter().map(within).collect();
    let downwards = found.iter().rev().map(|of| (format!("sigma = {}", short(of.sigma)), &of.errors.errors));
    claims.push(Claim::new("section 5.1", "the smaller sigma, the smaller |SmoothNDCG - NDCG|", falls(downwards)));
    let claim = "annealing raises NDCG@10 on the training queries, from the largest sigma to the smallest";
    claims.push(Claim::new("Figure 2", claim, annealed(found)));
    let claim = "annealing to the end overfits: test NDCG@10 is lower than at the sigma chosen on validation queries";
    claims.push(Claim::new("Figure 2", claim, overfitted(found)));
    let claim = "24 (B R m)^2 / (sigma sqrt(n)) bounds the difference of training and test loss";
    let complexity = found.iter().map(|of| of.complexity).fold(f64::INFINITY, f64::min);
    claims.push(Claim::new("section 5.2", claim, complexity_is(complexity)));
    let slopes = Bounded::judge(found.iter().map(|of| &of.slopes), "queries and values of sigma");
    let claim = "the gradient is at most 8 B R m^(3/2) / sigma, at the trained weights";
    claims.push(Claim::new("section 5.2", claim, slopes));
    let claim = "with w_0 = 0, sigma / c and w / sqrt(c) give the same SmoothNDCG, for c = .25, 4, 10";
    let scaled = found.iter().map(|of| of.scaled).fold(0.0, f64::max);
    claims.push(Claim::new("Lemma 1", claim, identity(scaled)));
    claims
}

fn annealed(found: &[AtSigma]) -> Judged {
    let (Some(last), Some(first)) = (found.first(), found.last()) else { return Judged::new(Verdict::Open, "") };
    let rise = Mean::of_differences(&last.train, &first.train);
    let judged = Judged::new(rise.above_zero(), format!("it rises by {rise}"));
    judged.number("rise", rise.mean).number("standard error", rise.error)
}

/// Judges whether the smallest sigma has a lower measure on test queries than the sigma that is best on validation
/// queries.
fn overfitted(found: &[AtSigma]) -> Judged {
    let validated = found.iter().filter(|of| !of.validation.is_empty());
    let best = validated.max_by(|left, right| mean(&left.validation).total_cmp(&mean(&right.validation)));
    let (Some(last), Some(best)) = (found.first(), best) else {
        return Judged::new(Verdict::Open, "there are no validation queries");
    };
    let drop = Mean::of_differences(&best.test, &last.test);
    let words = format!("chosen sigma = {}; the drop is {drop}", short(best.sigma));
    Judged::new(drop.above_zero(), words).number("drop", drop.mean).number("standard error", drop.error)
}

/// Judges the complexity term of section 5.2. `least` is the smallest value of this term over all sigmas.
fn complexity_is(least: f64) -> Judged {
    let (verdict, found) = match least {
        least if least >= 1.0 - ROUNDING => (Verdict::Vacuous, "the bound is 1 or more at every sigma"),
        _ => (Verdict::Open, "the bound is on an expectation, which no sample shows"),
    };
    Judged::new(verdict, format!("{found}: at least {}", short(least))).number("least bound", least)
}

/// Judges whether two expressions are equal, given the largest difference of their values.
fn identity(largest: f64) -> Judged {
    let verdict = if largest <= ROUNDING { Verdict::Holds } else { Verdict::Fails };
    let judged = Judged::new(verdict, format!("the values differ by at most {}", short(largest)));
    judged.number("largest difference", largest)
}

/// Judges whether SmoothNDCG tends to a constant, `sum_i G_i sum_j D(j) / (m Z)`, as sigma grows.
fn flat(linear: &Linear, weights: &[f64]) -> Result<Claim> {
    let of_sigma = |sigma: f64| {
        let error = |query: ScoredQuery| {
            let soft = query.surrogate(&smooth(sigma))?;
            // Equal scores give every document the weight 1 / m at every rank.
            let equal = ScoredQuery { scores: vec![0.0; query.scores.len()], ..query };
            Ok((soft - equal.surrogate(&smooth(sigma))?).abs())
        };
        let errors = linear.scored(weights).queries.into_iter().map(error).collect::<Result<Vec<f64>>>()?;
        Ok((format!("sigma = {sigma}"), errors))
    };
    let columns = [1e2, 1e4, 1e6].into_iter().map(of_sigma).collect::<Result<Vec<_>>>()?;
    Ok(Claim::new("section 5.3", "SmoothNDCG tends to a constant as sigma grows (difference from it)", falls(columns)))
}

/// SmoothNDCG of linear rankers with the weights `w + t w_rand` (Figure 1).
struct Line {
    at: Vec<f64>,
    /// For each sigma, the mean over queries at each `t`. The last curve, with sigma 0, is exact NDCG.
    curves: Vec<(f64, Vec<f64>)>,
}

impl Line {
    fn new(linear: &Linear, weights: &[f64], sigmas: &[f64], steps: usize) -> Result<Self> {
        let mut random = random(1, "smoothness", 0);
        let direction: Vec<f64> = (0..linear.features()).map(|_| random.random::<f64>() - 0.5).collect();
        let scale = norm(weights) / norm(&direction);
        let at: Vec<f64> = (0..=steps).map(|i| 2.0 * i as f64 / steps as f64 - 1.0).collect();
        let value = |sigma: f64, t: f64| {
            let weights: Vec<f64> = weights.iter().zip(&direction).map(|(w, d)| w + t * scale * d).collect();
            let moved = linear.scored(&weights);
            let values = match sigma {
                0.0 => moved.measured(Measure::Ndcg(None)),
                sigma => moved.surrogates(&smooth(sigma)),
            };
            Ok(mean(&values?))
        };
        let of_sigma = |sigma: f64| Ok((sigma, at.iter().map(|t| value(sigma, *t)).collect::<Result<_>>()?));
        let curves = sigmas.iter().copied().chain([0.0]).map(of_sigma).collect::<Result<_>>()?;
        Ok(Self { at, curves })
    }

    fn curves(&self) -> Curves {
        let plot = Curves::new("SmoothNDCG along w + t w_rand (Figure 1)", "t", &self.at, [Scale::Linear; 2]);
        // Shows one curve per color: the smallest sigmas, and exact NDCG.
        let shown = self.curves.iter().take(4).chain(self.curves.last().filter(|_| self.curves.len() > 4));
        shown.fold(plot, |plot, (sigma, values)| {
            let name = if *sigma == 0.0 { "NDCG".to_string() } else { format!("sigma {}", short(*sigma)) };
            plot.curve(name, values.iter().map(|value| Some(*value)))
        })
    }

    /// Judges whether the curves for larger sigma have fewer local maxima.
    fn claim(&self) -> Claim {
        let smooth = self.curves.iter().filter(|(sigma, _)| *sigma > 0.0);
        let counts: Vec<usize> = smooth.map(|(_, values)| maxima(values)).collect();
        Claim::new("Figure 1", "the larger sigma, the fewer local maxima on the line", fewer(&counts))
    }
}

/// Counts the local maxima of a curve, not counting its ends.
fn maxima(values: &[f64]) -> usize {
    values.windows(3).filter(|of| of[1] > of[0] + ROUNDING && of[1] > of[2] + ROUNDING).count()
}

/// Judges whether the counts never increase from one to the next, and whether the last count is lower than the first.
fn fewer(counts: &[usize]) -> Judged {
    let verdict = match () {
        () if counts.windows(2).any(|two| two[1] > two[0]) => Verdict::Fails,
        () if counts.first() > counts.last() => Verdict::Holds,
        () => Verdict::Open,
    };
    let words: Vec<String> = counts.iter().map(usize::to_string).collect();
    Judged::new(verdict, format!("local maxima, from the smallest sigma up: {}", words.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn query(scores: &[f64]) -> ScoredQuery {
        ScoredQuery { scores: scores.to_vec(), labels: vec![0.0, 2.0, 1.0] }
    }

    fn judged(scores: &[f64], sigma: f64) -> Verdict {
        let query = query(scores);
        let ndcg = query.exact(Measure::Ndcg(None), &Convention::default()).unwrap();
        let mut found = Bounded::default();
        found.add((query.surrogate(&smooth(sigma)).unwrap() - ndcg).abs(), bound(&query, sigma, ndcg), 1.0);
        Bounded::judge([&found], "queries").verdict
    }

    #[test]
    fn the_bound_of_section_5_1_holds_is_vacuous_or_says_nothing() {
        assert_eq!(judged(&[3.0, 2.0, 1.0], 0.2), Verdict::Holds);
        assert_eq!(judged(&[3.0, 2.0, 1.0], 5.0), Verdict::Vacuous);
        assert_eq!(judged(&[3.0, 3.0, 1.0], 0.2), Verdict::Open);
        // A bound for a smaller sigma does not hold at this one.
        let (wide, ndcg) = (query(&[3.0, 2.0, 1.0]), 0.5);
        let mut found = Bounded::default();
        found.add((wide.surrogate(&smooth(2.0)).unwrap() - ndcg).abs(), bound(&wide, 0.05, ndcg), 1.0);
        assert_eq!(Bounded::judge([&found], "queries").verdict, Verdict::Fails);
    }

    #[test]
    fn verdicts_follow_what_was_found() {
        assert_eq!(
            [&[5, 2, 2][..], &[2, 3], &[1, 1]].map(|of| fewer(of).verdict),
            [Verdict::Holds, Verdict::Fails, Verdict::Open]
        );
        assert_eq!(maxima(&[0.0, 1.0, 0.5, 0.7, 0.2, 0.9]), 2);
        assert_eq!([complexity_is(3.0), complexity_is(0.5)].map(|of| of.verdict), [Verdict::Vacuous, Verdict::Open]);
        assert_eq!([identity(1e-13), identity(1e-3)].map(|of| of.verdict), [Verdict::Holds, Verdict::Fails]);
        let at = |sigma: f64, train: &[f64], validation: f64, test: &[f64]| AtSigma {
            sigma,
            weights: vec![],
            train: train.to_vec(),
            validation: vec![validation],
            test: test.to_vec(),
            errors: Bounded::default(),
            exponent: 0.0,
            scaled: 0.0,
            slopes: Bounded::default(),
            complexity: 1.0,
        };
        let (low, high) = ([0.3, 0.4, 0.5], [0.61, 0.7, 0.82]);
        let overfits = [at(0.1, &high, 0.4, &low), at(1.0, &low, 0.6, &high)];
        assert_eq!((annealed(&overfits).verdict, overfitted(&overfits).verdict), (Verdict::Holds, Verdict::Holds));
        let the_last_is_best = [at(0.1, &low, 0.9, &low), at(1.0, &high, 0.6, &high)];
        assert_eq!(annealed(&the_last_is_best).verdict, Verdict::Fails);
        assert_eq!(overfitted(&the_last_is_best).verdict, Verdict::Open, "nothing is compared with itself");
    }

    #[test]
    fn a_large_sigma_flattens_and_a_change_of_scale_changes_nothing() {
        let query = query(&[3.0, 2.0, 1.0]);
        let scaled = ScoredQuery { scores: vec![1.5, 1.0, 0.5], ..query.clone() };
        let [before, after] = [(&query, 1.0), (&scaled, 0.25)].map(|(of, sigma)| of.surrogate(&smooth(sigma)).unwrap());
        assert!((before - after).abs() < 1e-12);
        // sum_i G_i sum_j D(j) / (m Z), by hand.
        let discounts = 1.0 + 1.0 / 3f64.log2() + 0.5;
        let constant = 4.0 * discounts / (3.0 * (3.0 + 1.0 / 3f64.log2()));
        assert!((query.surrogate(&smooth(1e9)).unwrap() - constant).abs() < 1e-6);
    }
}
