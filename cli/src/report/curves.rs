//! Learning curves show, round by round, the learner's objective, and the exact measure next to its surrogate.

use burn_rank::learner::{BOUND, EXACT_LEARNABLE, Round, SURROGATE};

use super::*;

/// The properties that the curves of all fits in a report share.
pub(super) struct Curves<'a> {
    pub(super) config: &'a Value,
    pub(super) selection: Measure,
    pub(super) convention: &'a Convention,
    /// Values that the vertical axis of every measure plot must cover, so that the plots are comparable.
    pub(super) heights: Vec<f64>,
}

impl Curves<'_> {
    /// Draws one plot of the measures and another of the objective, and adds a table of all rounds.
    pub(super) fn of(&self, fit: &FitReport) -> Html {
        let word = round_word(self.config);
        let title = format!("{} by {}", self.measure(), self.axis(&fit.history));
        figures([self.measures(fit, title), self.objective(fit)])
            .then(self.gap(fit))
            .then(self.explanation(&fit.history))
            .then(self.approximation(fit))
            .then(details(&format!("Every {word}"), self.table(fit)))
    }

    /// Draws the plot of the measures only.
    pub(super) fn measures(&self, fit: &FitReport, title: String) -> Figure {
        let curve = |ink: Ink, name: &str, value: &dyn Fn(&Round) -> Option<f64>| Line {
            name: name.to_string(),
            ink,
            points: points(&fit.history, value),
        };
        let mut lines = vec![
            curve(Ink::Surrogate, &format!("surrogate{}, training", self.loss()), &surrogate),
            // The exact measure next to a surrogate is over the same queries: other queries would add to the gap.
            match fit.history.iter().any(|round| exact_learnable(round).is_some()) {
                true => curve(Ink::Train, "exact, the same queries", &exact_learnable),
                false => curve(Ink::Train, "exact, training", &|round| round.train),
            },
            curve(Ink::Validation, "exact, validation", &|round| round.validation),
            curve(Ink::Objective, "bound of the boosted measure, training", &bound),
        ];
        lines.retain(|line| line.points.iter().any(|point| point.1.is_finite()));
        self.figure(fit, title, lines, self.heights.clone())
    }

    fn objective(&self, fit: &FitReport) -> Figure {
        let points = points(&fit.history, |round| Some(round.objective));
        let name = format!("objective{}, training", self.loss());
        let title = format!("objective that the learner minimizes, by {}", self.axis(&fit.history));
        self.figure(fit, title, vec![Line { name, ink: Ink::Objective, points }], vec![])
    }

    fn figure(&self, fit: &FitReport, title: String, lines: Vec<Line>, heights: Vec<f64>) -> Figure {
        let mut legend: Vec<(Ink, String)> = lines.iter().map(|line| (line.ink, line.name.clone())).collect();
        let mut marks = Vec::new();
        if fit.best_round > 0 {
            marks.push(fit.best_round as f64);
            legend.push((Ink::Mark, format!("{} selected", round_word(self.config))));
        }
        let (x_name, x_labels) = (self.axis(&fit.history), grid(&fit.history).map(|(_, labels)| labels));
        Figure::new(title, Lines { x_name, lines, marks, x_labels, heights, ..Lines::default() }, legend)
    }

    /// Says how much the surrogate differs from the exact measure at the selected round.
    fn gap(&self, fit: &FitReport) -> Html {
        let Some(best) = fit.best_round.checked_sub(1).and_then(|best| fit.history.get(best)) else {
            return Html::default();
        };
        let last = |value: &dyn Fn(&Round) -> Option<f64>| {
            fit.history[..fit.best_round].iter().rev().find_map(|round| Some((round.round, value(round)?)))
        };
        let (exact, queries) = match last(&exact_learnable) {
            None => (last(&|round| round.train), "training queries"),
            exact => (exact, "the same queries"),
        };
        let exact = exact.map(|(round, value)| match round == best.round {
            true => (format!("exact on {queries}"), value),
            false => (format!("exact on {queries} (at {round}, the last measured before)"), value),
        });
        let surrogate = surrogate(best).map(|value| ("surrogate".to_string(), value));
        let validation = best.validation.map(|value| ("exact on validation queries".to_string(), value));
        let words = |(name, value): (String, f64)| format!("{name} {}", number::measure(Some(value)));
        let values: Vec<String> = [surrogate, exact, validation].into_iter().flatten().map(words).collect();
        match values.is_empty() {
            true => Html::default(),
            false => note(format!("At {} {}: {}.", round_word(self.config), best.round, values.join(", "))),
        }
    }

    fn explanation(&self, history: &[Round]) -> Html {
        let exact = format!(
            "The exact measure is {} in the {} convention, after the {}.",
            self.selection,
            self.convention.name,
            round_word(self.config)
        );
        let paths = path(history).map(|(name, _)| format!(" Curves start again with each {name}.")).unwrap_or_default();
        let any = |value: fn(&Round) -> Option<f64>| history.iter().any(|round| value(round).is_some());
        let at_moment = round_word(self.config) == "epoch";
        let moment = if at_moment { ", each measured when the epoch reached it" } else { "" };
        let same = match any(exact_learnable) {
            true => " \"Exact, the same queries\" is the exact measure on these queries.",
            false => "",
        };
        let surrogate = match any(surrogate) {
            true => format!(
                " The surrogate is the mean over the training queries with something to learn{moment}.{same} It \
                 differs from the exact measure because its ranks are smooth, and differs more if the loss has \
                 another cut-off or convention."
            ),
            false => " The objective and the measure have different scales, so compare only whether they rise or fall."
                .to_string(),
        };
        note(exact + &surrogate + &paths)
    }

    /// Says how the loss was approximated. Says nothing if the loss was computed exactly.
    fn approximation(&self, fit: &FitReport) -> Html {
        // Without exponentials the discount itself is used.
        let Some(found) = fit.approximation.as_ref().filter(|found| found.terms > 0) else { return Html::default() };
        note(format!(
            "The loss approximates its discount by a sum of {} exponentials. In lists of up to {}, the error is at most {}, or \
             {} in float32.",
            found.terms,
            number::counted(found.documents, "document"),
            number::figure(found.error_f64),
            number::figure(found.error_f32)
        ))
    }

    fn table(&self, fit: &FitReport) -> Html {
        let figures: Vec<&String> = fit.history.first().into_iter().flat_map(|r| &r.figures).map(|f| &f.0).collect();
        let columns = ["objective", "exact, training", "exact, validation"].map(str::to_string).into_iter();
        let named = figures.iter().map(|name| name.replace('_', " "));
        let mut table = Table::new(round_word(self.config), columns.chain(named));
        for round in &fit.history {
            let values = round.figures.iter().map(|(_, value)| number::figure(*value));
            let exact = [round.train, round.validation].map(number::measure);
            let cells = [number::figure(round.objective)].into_iter().chain(exact).chain(values);
            let class = if round.round == fit.best_round { "selected" } else { "" };
            table.marked_row(class, round.round.to_string(), cells);
        }
        table.html("rounds")
    }

    /// Returns the selection measure with its convention.
    pub(super) fn measure(&self) -> String {
        format!("{} ({})", self.selection, self.convention.name)
    }

    /// Returns the title of the horizontal axis: the parameter that the learner varies, or the name of a round.
    fn axis(&self, history: &[Round]) -> String {
        grid(history).map_or_else(|| round_word(self.config).to_string(), |(name, _)| name)
    }

    /// Returns the name of the loss, if the experiment has one.
    fn loss(&self) -> String {
        self.config["loss"]["name"].as_str().map(|name| format!(" {name}")).unwrap_or_default()
    }
}

/// Returns all values from one round that appear in the plot of the measures.
pub(super) fn heights(round: &Round) -> impl Iterator<Item = f64> {
    [round.train, round.validation, surrogate(round), exact_learnable(round), bound(round)].into_iter().flatten()
}

/// Returns the value that the learner reported for a round under this name, or `None`.
fn named(round: &Round, name: &str) -> Option<f64> {
    round.figures.iter().find(|(figure, _)| figure == name).map(|(_, value)| *value)
}

/// Returns the surrogate measure of a round on the training queries.
fn surrogate(round: &Round) -> Option<f64> {
    named(round, SURROGATE)
}

/// Returns the exact measure on the training queries for which the surrogate was computed.
fn exact_learnable(round: &Round) -> Option<f64> {
    named(round, EXACT_LEARNABLE)
}

/// Returns the lower bound on AdaRank's boosted measure (direct-optimization, Theorem 4). A negative bound is left out,
/// because the measure is never below 0.
fn bound(round: &Round) -> Option<f64> {
    named(round, BOUND).filter(|&bound| bound >= 0.0)
}

/// Returns a curve through the values of all rounds, with a gap wherever the learner's parameter changes.
fn points(history: &[Round], value: impl Fn(&Round) -> Option<f64>) -> Vec<(f64, f64)> {
    let begins = path(history).map(|(_, begins)| begins).unwrap_or_default();
    let mut points = Vec::new();
    for (index, round) in history.iter().enumerate() {
        if begins.contains(&index) {
            points.push((f64::NAN, f64::NAN));
        }
        points.extend(value(round).map(|value| (round.round as f64, value)));
    }
    points
}

/// Some learners fit one ranker after another for several values of a parameter, which is either `lambda` or `c`.
/// Returns the parameter's name and its value in each round, or `None` for other learners.
fn parameter(history: &[Round]) -> Option<(String, Vec<f64>)> {
    let (name, _) = history.first()?.figures.first()?.clone();
    let values = history.iter().map(|round| round.figures.first().map(|(_, value)| *value));
    let values: Vec<f64> = values.collect::<Option<_>>()?;
    matches!(name.as_str(), "lambda" | "c").then_some((name, values))
}

/// If a learner's parameter changes in every round, returns the parameter's name, and its values as labels.
fn grid(history: &[Round]) -> Option<(String, Vec<String>)> {
    let (name, values) = parameter(history)?;
    let distinct = values.windows(2).all(|pair| pair[0] != pair[1]);
    let labels = values.iter().map(|value| number::parameter(*value)).collect();
    (distinct && values.len() > 1).then_some((name, labels))
}

/// If a learner's parameter changes in some rounds, returns the parameter's name and the indices of these rounds.
/// Returns `None` if the parameter changes in every round or never.
fn path(history: &[Round]) -> Option<(String, Vec<usize>)> {
    let (name, values) = parameter(history)?;
    let begins: Vec<usize> = (1..values.len()).filter(|&round| values[round] != values[round - 1]).collect();
    (!begins.is_empty() && begins.len() + 1 < values.len()).then_some((name, begins))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn history(values: &[f64]) -> Vec<Round> {
        let round = |(index, value): (usize, &f64)| Round {
            round: index + 1,
            objective: *value,
            train: None,
            validation: None,
            figures: vec![("lambda".to_string(), *value)],
        };
        values.iter().enumerate().map(round).collect()
    }

    #[test]
    fn a_grid_labels_its_rounds_and_a_path_breaks_its_curve() {
        let stepped = history(&[1e-6, 0.1, 10.0]);
        assert_eq!(grid(&stepped).unwrap().1, ["1e\u{2212}6", "0.1", "10"]);
        assert_eq!(path(&stepped), None);
        let paths = history(&[0.1, 0.1, 10.0, 10.0]);
        assert_eq!((grid(&paths), path(&paths)), (None, Some(("lambda".to_string(), vec![2]))));
        let drawn = points(&paths, |round| (round.round != 2).then_some(round.objective));
        assert_eq!(drawn.iter().map(|point| point.1.is_finite()).collect::<Vec<_>>(), [true, false, true, true]);
    }
}
