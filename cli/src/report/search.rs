//! The section on a search: plots of the selection measure over each key and over the rungs, and tables of trials.

use super::*;
use crate::experiment::{Rung, SearchReport, Trial};
use crate::plot::{Point, Scale, Scatter};

/// The maximum number of trials in the table for a fold.
const LISTED: usize = 200;

/// The maximum number of trials per fold that plots show.
const DRAWN: usize = 500;

/// Ink of a trial.
const TRIAL: Ink = Ink::Mark;

/// The color of the trial that the fold selects.
const SELECTED: Ink = Ink::Validation;

/// Builds the section with the trials of every fold; it is empty without a search.
pub(super) fn search(report: &CrossValidationReport) -> Html {
    let Some(search) = &report.result.search else { return Html::default() };
    let measure = format!("{} ({})", report.selection, report.result.convention.name);
    let folds = &report.result.folds;
    // Every trial has the same keys.
    let keys: Vec<&String> = folds.iter().flat_map(|fold| &fold.trials).take(1).flat_map(|t| t.values.keys()).collect();
    let with_rungs = if search.rungs.len() > 1 { folds.as_slice() } else { &[] };
    let by_key = keys.iter().map(|key| by_key(report, key, &measure));
    let by_rung = with_rungs.iter().map(|fold| by_rung(search, fold, &measure));
    let tables = folds.iter().filter(|fold| !fold.trials.is_empty()).map(|fold| table(search, fold, &keys));
    let plots = figures(by_key.chain(by_rung));
    section("search", "Search", note(words(report, search, &measure)).then(plots).then(tables.collect()))
}

fn words(report: &CrossValidationReport, search: &SearchReport, measure: &str) -> String {
    let how = match search.rungs.as_slice() {
        [] => format!("Each fold draws {} at random.", number::counted(search.trials, "trial")),
        rungs => {
            let rung = |rung: &Rung| {
                format!("{} of {}", number::counted(rung.trials, "trial"), number::counted(rung.rounds, "round"))
            };
            let rungs: Vec<String> = rungs.iter().map(rung).collect();
            format!(
                "Successive halving in each fold: {}. A dropped trial keeps the value that it had when it was dropped.",
                rungs.join(", then ")
            )
        }
    };
    let seeds = if report.result.seeds.len() > 1 { ", mean over seeds" } else { "" };
    format!(
        "{how} Values are {measure} on validation queries{seeds}. Each fold has its own trials, and selects one \
         without looking at its test queries."
    )
}

/// Plots the selection measure of every trial against the value that the trial drew for a key.
fn by_key(report: &CrossValidationReport, key: &str, measure: &str) -> Figure {
    let domain = &report.config["search"]["space"][key];
    let listed = domain.as_array();
    let labels = listed.map(|values| values.iter().map(short).collect::<Vec<_>>());
    let place = |value: &Value| match listed {
        Some(values) => values.iter().position(|other| other == value).map(|at| at as f64 + 1.0),
        None => value.as_f64(),
    };
    let mut points = Vec::new();
    for fold in &report.result.folds {
        for (at, trial) in fold.ranked_trials().into_iter().take(DRAWN).enumerate() {
            let place = trial.values.get(key).and_then(place).zip(trial.validation);
            points.extend(place.map(|(x, y)| Point { x, y, ink: if at == 0 { SELECTED } else { TRIAL } }));
        }
    }
    // Selected trials are drawn over the others.
    points.sort_by_key(|point| point.ink == SELECTED);
    let across = if domain["scale"].as_str() == Some("log") { Scale::Log } else { Scale::Linear };
    let plot = Scatter { x_name: key.to_string(), points, x_labels: labels, across };
    let legend = [(TRIAL, "trial".to_string()), (SELECTED, "trial that a fold selects".to_string())];
    Figure::new(format!("{measure} by {key}"), plot, legend)
}

/// Plots how the selection measure of each trial in a fold changes from rung to rung.
fn by_rung(search: &SearchReport, fold: &FoldResult, measure: &str) -> Figure {
    let line = |trial: &Trial, ink: Ink| {
        let height = |value: &Option<f64>| value.unwrap_or(f64::NAN);
        let rounds = search.rungs.iter().map(|rung| rung.rounds as f64);
        let points = rounds.zip(trial.rungs.iter().map(height)).collect();
        Line { name: format!("trial {}", trial.trial), ink, points }
    };
    let ranked = fold.ranked_trials();
    let mut lines: Vec<Line> = ranked.iter().skip(1).take(DRAWN).map(|trial| line(trial, TRIAL)).collect();
    lines.extend(ranked.first().map(|trial| line(trial, SELECTED)));
    let title = format!("fold {}: {measure} by rounds", fold.fold);
    let plot = Lines { x_name: "rounds".to_string(), lines, across: Scale::Log, ..Lines::default() };
    let legend = [(TRIAL, "trial".to_string()), (SELECTED, "trial selected".to_string())];
    Figure::new(title, plot, legend)
}

/// Builds a table of the trials in a fold, beginning with the selected one.
fn table(search: &SearchReport, fold: &FoldResult, keys: &[&String]) -> Html {
    let rungs = search.rungs.iter().map(|rung| format!("after {}", number::counted(rung.rounds, "round")));
    let columns = ["validation", "rounds"].map(str::to_string).into_iter().chain(rungs);
    let mut table = Table::new("trial", columns.chain(keys.iter().map(|key| key.to_string())));
    for (at, trial) in fold.ranked_trials().into_iter().take(LISTED).enumerate() {
        let figures = [number::measure(trial.validation), number::count(trial.rounds)].into_iter();
        let rungs =
            (0..search.rungs.len()).map(|rung| trial.rungs.get(rung).map_or(String::new(), |v| number::measure(*v)));
        let values = keys.iter().map(|key| trial.values.get(*key).map(short).unwrap_or_default());
        let cells = figures.chain(rungs).map(Cell::from).chain(values.map(|value| element("code", value).into()));
        table.marked_row(if at == 0 { "selected" } else { "" }, trial.trial.to_string(), cells);
    }
    let all = fold.trials.len();
    let listed = if all > LISTED { format!("the best {LISTED} of {all} trials") } else { format!("{all} trials") };
    details(&format!("Fold {}: {listed}", fold.fold), table.html(format!("trials of fold {}", fold.fold)))
}

/// Formats a drawn value as briefly as possible, without rounding numbers.
fn short(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Number(number) => number.as_f64().map_or_else(|| value.to_string(), number::parameter),
        other => other.to_string(),
    }
}
