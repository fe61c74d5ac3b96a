//! Sentences that qualify the values of a run: which queries chose its round, and how few queries its means cover.

use burn_rank::data::RankingDataset;
use burn_rank::learner::Round;
use burn_rank::measure::{Convention, EmptyQuery, Measure};
use burn_rank::workbench::is_graded;
use burn_rank::workbench::text::counted;

use super::config::ExperimentConfig;
use super::split::Split;

impl ExperimentConfig {
    /// Returns what a reader of the values of a fit on this split must know.
    pub(super) fn cautions(&self, split: &Split) -> Vec<String> {
        let chosen = self.warning_without_validation(", whose value is too high; use cv");
        let chosen = chosen.filter(|_| split.validation.is_none());
        let empty = split.sets().filter_map(|(name, data)| {
            let empty = EmptyQueries::of(data, &self.measure.convention);
            empty.caution(if name == "train" { "training" } else { name }, self)
        });
        chosen.into_iter().chain(empty).collect()
    }
}

/// Returns a hint, meant for training by gradients, if the first round is the best and the objective rose after it.
pub(super) fn rising(history: &[Round], best_round: usize) -> Option<String> {
    let (first, last) = (history.first()?.objective, history.last()?.objective);
    (best_round == 1 && last > first).then(|| {
        format!(
            "the first epoch is the best, and the loss rose from {first:.4} to {last:.4}: try a smaller \
             learner.learning_rate"
        )
    })
}

/// The queries of a set without a relevant document.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct EmptyQueries {
    pub(super) queries: usize,
    pub(super) empty: usize,
    /// The smallest label above 0 that is too low for a relevant document.
    lowest: Option<f32>,
}

impl EmptyQueries {
    /// Counts the queries of a set.
    pub(super) fn of(data: &RankingDataset, convention: &Convention) -> Self {
        let is_relevant = |label: &f32| f64::from(*label) >= convention.relevant_from;
        let has_none = |query: &[usize]| !data.labels[query[0]..query[1]].iter().any(is_relevant);
        let low = data.labels.iter().copied().filter(|label| *label > 0.0 && !is_relevant(label));
        Self {
            queries: data.queries(),
            empty: data.offsets.windows(2).filter(|query| has_none(query)).count(),
            lowest: low.min_by(f32::total_cmp),
        }
    }

    /// Adds the counts of another set.
    pub(super) fn and(self, other: Self) -> Self {
        let lowest = self.lowest.into_iter().chain(other.lowest).min_by(f32::total_cmp);
        Self { queries: self.queries + other.queries, empty: self.empty + other.empty, lowest }
    }

    /// Returns a sentence about the queries called `name` if more than half of them have no relevant document. It names
    /// the convention that would help, and, if labels are too low for relevance, the measures that take no grades.
    pub(super) fn caution(self, name: &str, config: &ExperimentConfig) -> Option<String> {
        let (Self { queries, empty, lowest }, convention) = (self, &config.measure.convention);
        let (graded, others): (Vec<Measure>, Vec<Measure>) = config.measures().into_iter().partition(is_graded);
        // Graded measures find something in a query with any label above 0.
        let is_of_some = lowest.is_some() && !graded.is_empty();
        // Where no query counts, the measure is refused.
        let is_refused = empty == queries && convention.empty == EmptyQuery::Exclude;
        if 2 * empty <= queries || is_refused || (is_of_some && others.is_empty()) {
            return None;
        }
        let names = others.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
        let of = if is_of_some { format!(" for {names}") } else { String::new() };
        let counts = match convention.empty {
            EmptyQuery::Exclude => format!("the means are over the other {}{of}", queries - empty),
            EmptyQuery::Value(value) => format!("each counts as {value} in the means{of}"),
        };
        let preset = match convention.name.as_str() {
            "custom" | "standard" => String::new(),
            name => format!("preset = {name:?}, "),
        };
        let helps = match (lowest, convention.empty) {
            // Half of the smallest label is surely below it, also as a number of 64 bits.
            (Some(lowest), _) => Some(format!(
                "for labels from {lowest}, set measure.convention = {{ {preset}gain = \"linear\", relevant_from = {} }}",
                lowest / 2.0
            )),
            (None, EmptyQuery::Exclude) => {
                Some(format!("measure.convention = {{ {preset}empty = {{ value = 0.0 }} }} counts them as 0"))
            }
            (None, EmptyQuery::Value(_)) => None,
        };
        let (from, helps) = (convention.relevant_from, helps.map(|helps| format!("; {helps}")).unwrap_or_default());
        let all = counted(queries, &format!("{name} query"));
        Some(format!("{empty} of {all} have no document with a label of {from} or above: {counts}{helps}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_loss_that_rises_from_the_first_epoch_asks_for_a_smaller_learning_rate() {
        let rounds = |losses: &[f64]| -> Vec<Round> {
            let round = |(at, objective): (usize, &f64)| Round {
                round: at + 1,
                objective: *objective,
                train: None,
                validation: None,
                figures: Vec::new(),
            };
            losses.iter().enumerate().map(round).collect()
        };
        let hint = rising(&rounds(&[0.5, 0.9, 3.0]), 1).unwrap();
        assert!(hint.contains("rose from 0.5000 to 3.0000: try a smaller learner.learning_rate"), "{hint}");
        assert_eq!(rising(&rounds(&[0.5, 0.9, 3.0]), 2), None);
        assert_eq!(rising(&rounds(&[0.5, 0.4]), 1), None);
        assert_eq!(rising(&rounds(&[0.5]), 1), None);
    }
}
