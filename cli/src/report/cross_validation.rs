//! The HTML page about a cross-validation.

use burn_rank::learner::Importance;

use super::*;
use crate::experiment::{FoldDetails, Standing};

pub(super) fn page(report: &CrossValidationReport, record: Option<&RunRecord>) -> String {
    let result = &report.result;
    let folds = || result.folds.iter().map(|fold| format!("fold {}", fold.fold)).zip(&report.details);
    let per_query: Vec<_> = folds().map(|(fold, of)| (format!("{fold}, "), &of.per_query)).collect();
    let found: Vec<(String, &FitReport)> = folds().filter_map(|(fold, of)| Some((fold, of.fits.first()?))).collect();
    let used: Vec<(String, &Importance)> =
        found.iter().filter_map(|(fold, fit)| Some((fold.clone(), fit.importance.as_ref()?))).collect();
    let names = found.first().map(|(_, fit)| &fit.feature_names[..]).unwrap_or_default();
    let sets: Vec<_> = result.folds.iter().zip(&report.details).map(|(fold, of)| (fold.fold, &of.data)).collect();
    let ends: Vec<_> = folds().filter_map(|(fold, of)| Some((format!("{fold}, "), of.extremes.as_ref()?))).collect();
    let shared = shared(&report.config);
    let normalizer = shared["normalizer"].as_str().unwrap_or("each");
    let factors: Vec<_> = found.iter().map(|(fold, fit)| (fold.clone(), &fit.positions[..])).collect();
    let sections = [
        section("results", "Results", results(report)),
        grid(report),
        search::search(report),
        learning_curves(report, &shared, &found),
        queries::distribution(&per_query, report.selection, &result.convention),
        queries::extremes(&ends, &result.convention, &result.seeds),
        features::positions(&factors),
        features::weights(&found, normalizer),
        features::importance(&used, names),
        data::of_folds(&sets),
        configuration(&report.config),
        provenance(&report.versions, &result.seeds, &result.convention, record),
    ];
    let (concluded, description) = (concluded(report), description(&report.config));
    about::page("cv", &result.name, concluded, description, facts(report, record), sections)
}

/// Returns the configuration without the sections that are not the same in all fits.
fn shared(config: &Value) -> Value {
    let mut shared = config.clone();
    let tried = [&config["grid"], &config["search"]["space"]].into_iter().filter_map(Value::as_object);
    for key in tried.flat_map(|of| of.keys()) {
        let changed: &[&str] = match key.as_str() {
            "learner" | "learner.kind" => &["learner", "loss", "normalizer"],
            "loss" | "loss.name" => &["loss"],
            "normalizer" => &["normalizer"],
            _ => &[],
        };
        changed.iter().for_each(|section| shared[*section] = Value::Null);
    }
    shared
}

/// Says which point of the grid is the best, and how good the selected points are on test queries.
fn concluded(report: &CrossValidationReport) -> Html {
    let result = &report.result;
    let selection = report.selection.to_string();
    let what = match (&result.search, report.points.len()) {
        (Some(_), _) => ", with the trial that each fold selected",
        (None, 0 | 1) => "",
        (None, _) => ", with the point that each fold selected",
    };
    let test = format!(
        "On {} in {}, the mean {selection} is {}{what}.",
        number::counted(result.queries, "test query"),
        number::counted(result.folds.len(), "fold"),
        in_a_sentence(&result.measures, &result.standard_errors, &selection)
    );
    let of_grid = report.verdict().map(|(words, decided)| conclusion(&words, decided));
    of_grid.unwrap_or_default().then(conclusion(&test, true))
}

/// Returns the word for the setting that each fold selects: `trial` or `point`.
fn choice(report: &CrossValidationReport) -> &'static str {
    if report.result.search.is_some() { "trial" } else { "point" }
}

fn facts(report: &CrossValidationReport, record: Option<&RunRecord>) -> Vec<Html> {
    let result = &report.result;
    let selection = report.selection.to_string();
    let test = named_measure(&result.measures, &result.standard_errors, &selection);
    let validation = result.folds.iter().map(|fold| fold.validation).sum::<f64>() / result.folds.len().max(1) as f64;
    let validation = number::measure(Some(validation));
    let (choices, what) = match &result.search {
        Some(search) => (search.trials, "trial"),
        None => (report.points.len(), "grid point"),
    };
    let fits = result.folds.len() * choices * result.seeds.len();
    let parts = [(result.folds.len(), "fold"), (choices, what), (result.seeds.len(), "seed")];
    let plan = parts.map(|(count, what)| number::counted(count, what)).join(" \u{d7} ");
    let convention = format!("{} convention", result.convention.name);
    let queries = number::counted(result.queries, "query");
    let at_selected = format!("{convention}, at the selected {}s", choice(report));
    let mut facts = vec![
        fact(format!("test {selection}"), test, format!("{convention}, {queries}")),
        fact(format!("{} {selection}", result.selected_on), validation, at_selected),
        fact("fits", number::count(fits), plan),
    ];
    facts.extend(record.map(cost));
    facts
}

fn results(report: &CrossValidationReport) -> Html {
    let result = &report.result;
    let rows = || result.folds.iter().map(|fold| &fold.measures).chain([&result.measures]);
    let (names, hidden) = number::varying(rows, &report.selection.to_string());
    let selected_on = &result.selected_on;
    let validation = format!("{selected_on} {}", report.selection);
    let columns = ["queries", validation.as_str()].into_iter().chain(names.iter().map(|name| name.as_str()));
    let mut table = Table::new("fold", columns);
    let cells = |measures: &Measures, errors: &Measures| -> Vec<Cell> {
        names.iter().map(|name| named_measure(measures, errors, name)).collect()
    };
    for (fold, details) in result.folds.iter().zip(&report.details) {
        let first = [number::count(details.per_query.queries.len()), number::measure(Some(fold.validation))];
        let first = first.into_iter().map(Cell::from);
        table.row(fold.fold.to_string(), first.chain(cells(&fold.measures, &fold.standard_errors)));
    }
    let first = [number::count(result.queries), String::new()].into_iter().map(Cell::from);
    let query_means = report.query_means();
    let printed = |means: &Measures| names.iter().map(|name| number::measure(number::named(means, name))).collect();
    let (of_queries, of_folds): (Vec<String>, Vec<String>) = (printed(&query_means), printed(&result.measures));
    let differ = of_queries != of_folds;
    let name = if differ { "mean of folds" } else { "mean" };
    table.marked_row("total", name, first.chain(cells(&result.measures, &result.standard_errors)));
    if differ {
        let means = of_queries.into_iter().map(Cell::number);
        table.marked_row("total", "mean of queries", [Cell::default(), Cell::default()].into_iter().chain(means));
    }

    let selection = report.selection.to_string();
    let selection_ink = if selected_on == "training" { Ink::Train } else { Ink::Validation };
    let row = |name: String, validation: Option<f64>, measures: &Measures, errors: &Measures| {
        let test = number::named(measures, &selection)
            .map(|at| Dot::new(at, Ink::Test).with_error(number::named(errors, &selection)));
        let validation = validation.map(|at| Dot::new(at, selection_ink));
        Row { name, dots: test.into_iter().chain(validation).collect() }
    };
    let of_fold = |fold: &FoldResult| {
        row(format!("fold {}", fold.fold), Some(fold.validation), &fold.measures, &fold.standard_errors)
    };
    let mean = row("mean".to_string(), None, &result.measures, &result.standard_errors);
    let rows = result.folds.iter().map(of_fold).chain([mean]).collect();
    let title = format!("{selection} ({}) by fold", result.convention.name);
    let legend = [
        (Ink::Test, "test, \u{b1} standard error".to_string()),
        (selection_ink, format!("{selected_on}, at the selected {}", choice(report))),
    ];
    let plot = Figure::new(title, Rows { rows, zero: false }, legend);
    let means = if differ { " cv prints the mean of folds, and compare uses the mean of queries." } else { "" };
    let words = Html::text(format!(
        " {} of {} are empty: they have no relevant document. \u{b1} is the standard error over the queries of \
         the fold or, for the mean, of all folds.{means}{hidden}",
        number::count(result.empty_queries),
        number::counted(result.queries, "query"),
    ));
    let words = note(convention_in_words(&result.convention).then(words));
    table.html("measures by fold").then(words).then(figures([plot]))
}

/// The largest number of points that the plot and the table of the grid show.
const SHOWN: usize = 40;

/// Builds a section with the points of the grid, the best first: their means on validation queries, how many folds
/// select them, and their values in every fold.
fn grid(report: &CrossValidationReport) -> Html {
    let standings = report.standings();
    let Some(best) = standings.first() else { return Html::default() };
    let folds = &report.result.folds;
    let shown = &standings[..standings.len().min(SHOWN)];
    let measure = format!("{} ({})", report.selection, report.result.convention.name);
    let row = |(at, of): (usize, &Standing)| {
        let ink = if at == 0 { Ink::Validation } else { Ink::Mark };
        Row { name: of.name.clone(), dots: vec![Dot::new(of.validation, ink).with_error(Some(of.standard_error))] }
    };
    let title = format!("{measure} of each point on validation queries");
    let legend = [(Ink::Validation, format!("{}, the best mean, \u{b1} standard error over folds", best.name))];
    let rows = Rows { rows: shown.iter().enumerate().map(row).collect(), zero: false };
    let mut table = Table::new("point", ["validation", "folds won"]);
    for (at, of) in shown.iter().enumerate() {
        let mean = with_error(Some(of.validation), Some(of.standard_error));
        let won = Cell::from(format!("{} of {}", of.folds.len(), folds.len()));
        table.marked_row(if at == 0 { "selected" } else { "" }, of.name.as_str(), [mean, won]);
    }
    let what = note(format!(
        "{measure} on validation queries, mean over folds{}. Each fold selects its own best point, without looking at its \
         test queries.",
        if report.result.seeds.len() > 1 { " and seeds" } else { "" }
    ));
    let by_fold = details("Every point in every fold", by_fold(report, &standings).html("grid by fold"));
    let plot = figures([Figure::new(title, rows, legend)]);
    section("grid", "Grid", plot.then(table.html("grid")).then(what).then(by_fold))
}

/// Builds a table with the value of each point in each fold, and with the keys that the point sets.
fn by_fold(report: &CrossValidationReport, standings: &[Standing]) -> Table {
    let folds = report.result.folds.iter().map(|fold| format!("fold {}", fold.fold));
    let rows = standings.iter().map(|of| {
        let cell = move |(fold, details): (&FoldResult, &FoldDetails)| {
            let text = number::measure(details.points.get(of.index).copied());
            if of.folds.contains(&fold.fold) { element("mark", text) } else { Html::from(text) }
        };
        let cells = report.result.folds.iter().zip(&report.details).map(cell);
        (of.name.as_str(), cells.chain([element("code", of.setting.as_str())]))
    });
    Table::new("point", folds.chain(["setting".to_string()])).with(rows)
}

/// Draws the first seed's learning curves for the setting that each fold selected.
fn learning_curves(report: &CrossValidationReport, config: &Value, fits: &[(String, &FitReport)]) -> Html {
    let result = &report.result;
    let curves = Curves {
        config,
        selection: report.selection,
        convention: &result.convention,
        heights: fits.iter().flat_map(|(_, fit)| &fit.history).flat_map(curves::heights).collect(),
    };
    let plot = |(fold, fit): &(String, &FitReport)| curves.measures(fit, format!("{fold}: {}", curves.measure()));
    let plots: Vec<Figure> = fits.iter().filter(|(_, fit)| fit.history.len() > 1).map(plot).collect();
    if plots.is_empty() {
        return Html::default();
    }
    let seeds = queries::first_seed(&result.seeds);
    let choice = if result.search.is_some() { "trial" } else { "grid point" };
    let what = note(format!("One fit per fold, with the {choice} that the fold selected.{seeds}"));
    section("curves", "Learning curves", figures(plots).then(what))
}
