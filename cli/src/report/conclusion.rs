//! The conclusion of a run, in sentences under the title of its page.

use super::round_word;
use crate::experiment::{CrossValidationReport, TrainReport};
use crate::number;
use crate::page::Html;

/// Builds a conclusion. A conclusion that is not `clear` has the color of a warning.
pub(super) fn conclusion(words: &str, clear: bool) -> Html {
    Html::text(words).within("p", &[("class", if clear { "verdict clear" } else { "verdict open" })])
}

/// Says how good the ranker of a `train` run is, and on which queries that was measured.
pub(super) fn of_train(report: &TrainReport) -> Html {
    let selection = report.selection.to_string();
    let Some((set, measures)) = report.measures.iter().last() else { return Html::default() };
    let [value, error] =
        [&measures.measures, &measures.standard_errors].map(|values| number::named(values, &selection));
    let queries = match set {
        "train" => "training query",
        "validation" => "validation query",
        _ => "test query",
    };
    let mut words =
        format!("{selection} is {} on {}.", with_error(value, error), number::counted(measures.queries, queries));
    let round = round_word(&report.config);
    let selected_on = if report.measures.validation.is_some() { "validation" } else { "training" };
    words += &match set {
        "test" if report.fit.rounds > 1 => {
            format!(
                " {} {} of {} was selected on the {selected_on} queries.",
                capitalized(round),
                report.fit.best_round,
                report.fit.rounds
            )
        }
        "test" => String::new(),
        _ => format!(
            " There are no test queries. Expect a lower value on new queries, because the {round} was selected on the \
             {selected_on} queries."
        ),
    };
    conclusion(&words, set == "test")
}

/// Says which point of the grid is the best, and how good the selected points are on test queries.
pub(super) fn of_cross_validation(report: &CrossValidationReport) -> Html {
    let result = &report.result;
    let selection = report.selection.to_string();
    let [value, error] = [&result.measures, &result.standard_errors].map(|values| number::named(values, &selection));
    let what = match (&result.search, report.points.len()) {
        (Some(_), _) => "the trials that the folds selected reach",
        (None, 0 | 1) => "the mean of the folds is",
        (None, _) => "the points that the folds selected reach",
    };
    let test = format!(
        "On {} in {}, {what} {selection} {}.",
        number::counted(result.queries, "test query"),
        number::counted(result.folds.len(), "fold"),
        with_error(value, error)
    );
    report
        .verdict()
        .map(|(words, decided)| conclusion(&words, decided))
        .unwrap_or_default()
        .then(conclusion(&test, true))
}

fn with_error(value: Option<f64>, error: Option<f64>) -> String {
    number::measure(value) + &number::plus_minus(error)
}

fn capitalized(word: &str) -> String {
    let mut letters = word.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}
