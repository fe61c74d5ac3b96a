//! Learning curves: what the learner minimises, and the exact measure beside its surrogate, so that their gap is seen.

use serde_json::Value;

use super::about::round_word;
use super::html::{Html, Table, details, figure, figures, note};
use super::number;
use crate::experiment::FitReport;
use crate::learner::{Round, SURROGATE};
use crate::measure::{Convention, Measure};
use crate::plot::{Ink, Line, Lines};

/// What all curves of a report have in common.
pub(super) struct Curves<'a> {
    pub(super) config: &'a Value,
    pub(super) selection: Measure,
    pub(super) convention: &'a Convention,
}

impl Curves<'_> {
    /// Two plots: measures, objective; then what they show, and every round as a table.
    pub(super) fn of(&self, fit: &FitReport) -> Html {
        let word = round_word(self.config);
        let title = format!("{} by {}", self.measure(), self.axis(&fit.history));
        let measures = self.measures(fit, &title);
        let objective = self.objective(fit);
        figures([measures, objective])
            .then(self.gap(fit))
            .then(self.explanation(&fit.history))
            .then(details(&format!("Every {word}"), self.table(fit)))
    }

    /// The measures alone.
    pub(super) fn measures(&self, fit: &FitReport, title: &str) -> Html {
        let curve = |ink: Ink, name: String, value: &dyn Fn(&Round) -> Option<f64>| {
            let points = fit.history.iter().filter_map(|round| Some((round.round as f64, value(round)?)));
            Line { name, ink, points: points.collect() }
        };
        let lines = [
            curve(Ink::Surrogate, format!("surrogate{}, training", self.loss()), &surrogate),
            curve(Ink::Train, "exact, training".to_string(), &|round| round.train),
            curve(Ink::Validation, "exact, validation".to_string(), &|round| round.validation),
        ];
        let lines: Vec<Line> = lines.into_iter().filter(|line| !line.points.is_empty()).collect();
        self.figure(fit, title.to_string(), lines)
    }

    fn objective(&self, fit: &FitReport) -> Html {
        let points = fit.history.iter().map(|round| (round.round as f64, round.objective)).collect();
        let name = format!("objective{}, training", self.loss());
        let title = format!("what the learner minimises, by {}", self.axis(&fit.history));
        self.figure(fit, title, vec![Line { name, ink: Ink::Objective, points }])
    }

    fn figure(&self, fit: &FitReport, title: String, lines: Vec<Line>) -> Html {
        let mut legend: Vec<(Ink, String)> = lines.iter().map(|line| (line.ink, line.name.clone())).collect();
        let marks = if fit.best_round > 0 { vec![fit.best_round as f64] } else { vec![] };
        if fit.best_round > 0 {
            legend.push((Ink::Mark, format!("{} selected", round_word(self.config))));
        }
        let names: Vec<&str> = lines.iter().map(|line| line.name.as_str()).collect();
        let label = format!("Curves of {}: {}", title, names.join("; "));
        let (x_name, x_labels) = (self.axis(&fit.history), grid(&fit.history).map(|(_, labels)| labels));
        figure(title, Lines { label, x_name, lines, marks, x_labels }.svg(), &legend)
    }

    /// How far surrogate and exact measure are apart at the round selected.
    fn gap(&self, fit: &FitReport) -> Html {
        let Some(best) = fit.best_round.checked_sub(1).and_then(|best| fit.history.get(best)) else {
            return Html::default();
        };
        let measured = fit.history[..fit.best_round].iter().rev().find_map(|round| Some((round.round, round.train?)));
        let mut words = vec![format!("At {} {}", round_word(self.config), best.round)];
        let mut say = |name: &str, value: Option<f64>| {
            words.extend(value.map(|value| format!("{name} {}", number::measure(Some(value)))));
        };
        say("surrogate", surrogate(best));
        match measured {
            Some((round, train)) if round == best.round => say("exact on training queries", Some(train)),
            Some((round, train)) => {
                say(&format!("exact on training queries (at {round}, the last measured before)"), Some(train))
            }
            None => {}
        }
        say("exact on validation queries", best.validation);
        if words.len() == 1 {
            return Html::default();
        }
        note(format!("{}: {}.", words[0], words[1..].join(", ")))
    }

    fn explanation(&self, history: &[Round]) -> Html {
        let exact = format!(
            "Exact: {} under the {} convention, after the {}.",
            self.selection,
            self.convention.name,
            round_word(self.config)
        );
        let surrogate = match history.iter().any(|round| surrogate(round).is_some()) {
            true if round_word(self.config) == "epoch" => {
                " Surrogate: the mean over the training queries with something to learn, each at the weights that the \
                 epoch met it with; where the loss has another cut-off or convention than the exact measure, that is \
                 part of the gap."
            }
            true => {
                " Surrogate: the mean over the training queries with something to learn; where the loss has another \
                 cut-off or convention than the exact measure, that is part of the gap."
            }
            false => "",
        };
        note(exact + surrogate)
    }

    fn table(&self, fit: &FitReport) -> Html {
        let figures: Vec<&String> = fit.history.first().into_iter().flat_map(|r| &r.figures).map(|f| &f.0).collect();
        let columns = [round_word(self.config), "objective", "exact, training", "exact, validation"];
        let named = figures.iter().map(|name| name.replace('_', " "));
        let mut table = Table::new("rounds", columns.into_iter().map(str::to_string).chain(named));
        for round in &fit.history {
            let values = round.figures.iter().map(|(_, value)| number::figure(*value));
            let exact = [round.train, round.validation].map(number::measure);
            let cells = [number::figure(round.objective)].into_iter().chain(exact).chain(values);
            let class = if round.round == fit.best_round { "selected" } else { "" };
            table.marked_row(class, round.round.to_string(), cells);
        }
        table.html()
    }

    /// The selection measure with its convention.
    fn measure(&self) -> String {
        format!("{} ({})", self.selection, self.convention.name)
    }

    /// What the horizontal axis counts.
    fn axis(&self, history: &[Round]) -> String {
        grid(history).map_or_else(|| round_word(self.config).to_string(), |(name, _)| name)
    }

    /// The name of the loss, where the experiment has one.
    fn loss(&self) -> String {
        self.config["loss"]["name"].as_str().map(|name| format!(" {name}")).unwrap_or_default()
    }
}

/// The value of the surrogate, where the learner says it.
fn surrogate(round: &Round) -> Option<f64> {
    round.figures.iter().find(|(name, _)| name == SURROGATE).map(|(_, value)| *value)
}

/// The parameter that a learner steps through, and its value in each round: the first figure, where no value repeats.
fn grid(history: &[Round]) -> Option<(String, Vec<String>)> {
    let first = |round: &Round| round.figures.first().cloned();
    let (name, _) = history.first().and_then(first)?;
    let mut seen = std::collections::HashSet::new();
    let distinct = history.iter().all(|round| first(round).is_some_and(|(_, value)| seen.insert(value.to_bits())));
    let is_parameter = matches!(name.as_str(), "lambda" | "c");
    let labels = history.iter().filter_map(first).map(|(_, value)| number::parameter(value));
    (is_parameter && distinct && history.len() > 1).then(|| (name, labels.collect()))
}
