//! The verdict of a comparison, in a sentence for each measure.

use serde::Serialize;

use super::*;

/// The outcome of a comparison by one measure.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Verdict {
    /// The system with the highest mean. With two systems, it is given only if the test shows that it is better.
    pub(crate) best: Option<usize>,
    /// The systems that the test does not distinguish from the best one.
    pub(crate) not_distinguished: Vec<usize>,
    /// The outcome in words.
    #[serde(rename = "words")]
    pub(crate) sentence: String,
}

impl Verdict {
    /// Derives the outcome from the tests of all pairs of systems, at the level `1 - confidence`. Two systems are
    /// compared by the randomization test, and more systems by Tukey's.
    pub(crate) fn new(measure: Measure, pairs: &[Comparison], labels: &[String], config: &ComparisonConfig) -> Self {
        let level = 1.0 - config.confidence;
        let verdict = match pairs {
            [pair] => of_two(pair, labels, level),
            pairs => of_many(pairs, labels, level),
        };
        Self { sentence: format!("{measure}: {}", verdict.sentence), ..verdict }
    }

    /// Returns whether the test shows that the best system is better than every other one.
    pub(crate) fn is_clear(&self) -> bool {
        self.best.is_some() && self.not_distinguished.is_empty()
    }
}

fn of_two(pair: &Comparison, labels: &[String], level: f64) -> Verdict {
    let (difference, p) = (pair.mean_difference, pair.randomization.p_value);
    let [first, second] = [&labels[pair.first], &labels[pair.second]];
    if p < level {
        let (best, better, worse) =
            if difference > 0.0 { (pair.second, second, first) } else { (pair.first, first, second) };
        let p = number::ascii(&number::p_value(p));
        let p = if p.starts_with('<') { format!("p {p}") } else { format!("p = {p}") };
        let sentence = format!("{better} is better than {worse}: +{:.4}, {p}.", difference.abs());
        return Verdict { best: Some(best), not_distinguished: Vec::new(), sentence };
    }
    let (queries, detectable) = (pair.queries, pair.t_test.detectable);
    // Most measures are at most 1. The randomization test of `n` queries gives no p-value below 2 / 2^n.
    let is_blind = |queries: usize| 2.0 / 2f64.powf(queries as f64) >= level;
    let none_is_detectable = detectable >= 1.0 && pair.first_mean.max(pair.second_mean) <= 1.0;
    let sentence = match pair.wins + pair.losses {
        0 => format!("no difference: {first} and {second} have the same value on each of the {queries} queries."),
        _ if none_is_detectable || is_blind(queries) => {
            format!("no difference shown between {first} and {second}. {queries} queries are too few to show one.")
        }
        apart if is_blind(apart) => format!(
            "no difference shown between {first} and {second}. They differ on {apart} of {queries} queries, too few to \
             show one."
        ),
        _ => format!(
            "no difference shown between {first} and {second}. With these {queries} queries, a difference of \
             {detectable:.4} would be found four times in five."
        ),
    };
    Verdict { best: None, not_distinguished: vec![pair.first, pair.second], sentence }
}

fn of_many(pairs: &[Comparison], labels: &[String], level: f64) -> Verdict {
    let mut means = vec![f64::NEG_INFINITY; labels.len()];
    for pair in pairs {
        means[pair.first] = pair.first_mean;
        means[pair.second] = pair.second_mean;
    }
    let best =
        (0..means.len()).reduce(|best, other| if means[other] > means[best] { other } else { best }).unwrap_or(0);
    let alike = pairs.iter().filter_map(|pair| {
        let other = if pair.first == best { pair.second } else { pair.first };
        let is_of_best = pair.first == best || pair.second == best;
        (is_of_best && pair.tukey.is_none_or(|tukey| tukey.p_value >= level)).then_some(other)
    });
    let not_distinguished: Vec<usize> = alike.collect();
    let level = (level * 1e6).round() / 1e6;
    let others = match not_distinguished.as_slice() {
        [] => format!("It is better than each of the others (Tukey's test, p < {level})."),
        alike if alike.len() + 1 == labels.len() => {
            format!("The test distinguishes none of the others from it (Tukey's test, p >= {level}).")
        }
        alike => {
            let names: Vec<&str> = alike.iter().map(|&system| labels[system].as_str()).collect();
            format!("Not distinguished from it (Tukey's test, p >= {level}): {}.", names.join(", "))
        }
    };
    let sentence = format!("{} has the highest mean, {:.4}. {others}", labels[best], means[best]);
    Verdict { best: Some(best), not_distinguished, sentence }
}

#[cfg(test)]
mod tests {
    use burn_rank::measure::significance::compare_all;

    use super::*;

    fn verdict(systems: &[&[f64]]) -> Verdict {
        let values: Vec<Vec<Option<f64>>> = systems.iter().map(|of| of.iter().copied().map(Some).collect()).collect();
        let config = ComparisonConfig { resamples: 1000, ..ComparisonConfig::default() };
        let pairs = compare_all(&values.iter().map(Vec::as_slice).collect::<Vec<_>>(), &config).unwrap();
        let labels = ["one", "two", "three"].map(String::from);
        Verdict::new(Measure::Ndcg(Some(10)), &pairs, &labels[..systems.len()], &config)
    }

    #[test]
    fn two_systems_differ_or_a_detectable_difference_is_named() {
        let low: [f64; 8] = [0.0, 0.1, 0.2, 0.1, 0.0, 0.2, 0.1, 0.0];
        let high = low.map(|value| value + 0.5);
        let found = verdict(&[&high, &low]);
        assert_eq!(found.sentence, "ndcg@10: one is better than two: +0.5000, p = 0.0078.");
        assert!(found.is_clear() && found.best == Some(0));
        // Eight differences of .1 to both sides have the standard error .1 / sqrt(7). With 7 degrees of freedom, the
        // quantiles of t at .975 and .8 are 2.3646 and .8960.
        let found = verdict(&[&[0.1; 8], &[0.0, 0.2, 0.0, 0.2, 0.0, 0.2, 0.0, 0.2]]);
        assert!(
            found.sentence.ends_with("With these 8 queries, a difference of 0.1232 would be found four times in five."),
            "{found:?}"
        );
        assert!(!found.is_clear() && found.best.is_none());
        // Five signs agree by chance once in 16.
        let found = verdict(&[&[0.0; 5], &[0.1, 0.2, 0.1, 0.2, 0.1]]);
        assert!(found.sentence.ends_with("5 queries are too few to show one."), "{found:?}");
        let found = verdict(&[&[0.0; 8], &[0.1, 0.2, 0.1, 0.0, 0.0, 0.0, 0.0, 0.0]]);
        assert!(found.sentence.ends_with("They differ on 3 of 8 queries, too few to show one."), "{found:?}");
        assert!(verdict(&[&[0.0, 1.0], &[1.0, 1.0]]).sentence.ends_with("2 queries are too few to show one."));
        assert!(verdict(&[&low, &low]).sentence.contains("no difference: one and two have the same value"));
    }

    #[test]
    fn of_several_systems_those_that_the_test_does_not_distinguish_from_the_best_are_named() {
        let low = [0.0, 0.1, 0.2, 0.1, 0.0, 0.2, 0.1, 0.0];
        let high = low.map(|value| value + 0.5);
        let mut near = high;
        near[0] += 0.02;
        let found = verdict(&[&low, &high, &near]);
        let words =
            "ndcg@10: three has the highest mean, 0.5900. Not distinguished from it (Tukey's test, p >= 0.05): two.";
        assert_eq!((found.sentence.as_str(), found.best, found.not_distinguished), (words, Some(2), vec![1]));
        assert!(verdict(&[&low, &low, &low]).sentence.contains("distinguishes none of the others"));
        assert!(verdict(&[&low, &high, &high.map(|value| value + 0.3)]).is_clear());
    }
}
