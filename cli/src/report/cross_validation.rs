//! The HTML page about a cross-validation.

use burn_rank::learner::Importance;

use super::about::{Fact, Frame, configuration, convention_in_words, cost, header, provenance};
use super::curves::{self, Curves};
use super::{data, extremes, importance, queries, search, weights};
use crate::experiment::{CrossValidationReport, FitReport, FoldDetails, Measures, RunRecord};
use crate::number;
use crate::page::{Cell, Html, Table, element, figure, figures, note, section, with_error};
use crate::plot::{Dot, Ink, Row, Rows};

pub(super) fn frame(report: &CrossValidationReport, record: Option<&RunRecord>) -> Frame {
    let result = &report.result;
    let numbers = || result.folds.iter().map(|fold| fold.fold);
    let per_query: Vec<_> =
        numbers().zip(&report.details).map(|(fold, d)| (format!("fold {fold}, "), &d.per_query)).collect();
    let found: Vec<(String, &FitReport)> = numbers()
        .zip(&report.details)
        .filter_map(|(fold, d)| Some((format!("fold {fold}"), d.fits.first()?)))
        .collect();
    let used: Vec<(String, &Importance)> = numbers()
        .zip(&report.details)
        .filter_map(|(fold, d)| Some((format!("fold {fold}"), d.fits.first()?.importance.as_ref()?)))
        .collect();
    let sets: Vec<_> = numbers().zip(report.details.iter().map(|details| &details.data)).collect();
    let ends: Vec<_> = numbers()
        .zip(&report.details)
        .filter_map(|(fold, d)| Some((format!("fold {fold}, "), d.extremes.as_ref()?)))
        .collect();
    let normalizer = report.config["normalizer"].as_str().unwrap_or("none");
    let sections = [
        section("results", "Results", results(report)),
        grid(report),
        search::search(report),
        learning_curves(report),
        queries::distribution(&per_query, report.selection, &result.convention),
        extremes::extremes(&ends, &result.convention),
        weights::weights(&found, normalizer),
        importance::importance(&used),
        data::of_folds(&sets),
        configuration(&report.config),
        provenance(&report.versions, &result.seeds, &result.convention, record),
    ];
    let top = header("cv", &result.name, &report.config, facts(report, record));
    let main = element("main", sections.into_iter().collect::<Html>());
    Frame { command: "cv", name: result.name.clone(), body: top.then(main) }
}

/// Returns the name of the queries on which grid points and trials are selected.
fn selected_on(report: &CrossValidationReport) -> &'static str {
    if report.details.iter().all(|details| details.data.validation.is_some()) { "validation" } else { "training" }
}

/// Returns the word for the setting that each fold selects: `trial` or `point`.
fn choice(report: &CrossValidationReport) -> &'static str {
    if report.result.search.is_some() { "trial" } else { "point" }
}

fn facts(report: &CrossValidationReport, record: Option<&RunRecord>) -> Vec<Fact> {
    let result = &report.result;
    let selection = report.selection.to_string();
    let test =
        with_error(number::named(&result.measures, &selection), number::named(&result.standard_errors, &selection));
    let validation = result.folds.iter().map(|fold| fold.validation).sum::<f64>() / result.folds.len().max(1) as f64;
    let convention = &result.convention.name;
    let (choices, what) = match &result.search {
        Some(search) => (search.trials, "trial"),
        None => (report.points.len(), "grid point"),
    };
    let fits = result.folds.len() * choices * result.seeds.len();
    let plan = format!(
        "{} \u{d7} {} \u{d7} {}",
        number::counted(result.folds.len(), "fold"),
        number::counted(choices, what),
        number::counted(result.seeds.len(), "seed")
    );
    let mut facts = vec![
        Fact::new(
            format!("test {selection}"),
            test,
            format!("{convention} convention, {}", number::counted(result.queries, "query")),
        ),
        Fact::new(
            format!("{} {selection}", selected_on(report)),
            number::measure(Some(validation)),
            format!("{convention} convention, at the {}s selected", choice(report)),
        ),
        Fact::new("fits", number::count(fits), plan),
    ];
    facts.extend(record.map(cost));
    facts
}

fn results(report: &CrossValidationReport) -> Html {
    let result = &report.result;
    let names: Vec<&String> = result.measures.keys().collect();
    let selected_on = selected_on(report);
    let validation = format!("{selected_on} {}", report.selection);
    let columns = ["fold", "queries", validation.as_str()].into_iter().chain(names.iter().map(|name| name.as_str()));
    let mut table = Table::new(columns);
    let cells = |measures: &Measures, errors: &Measures| -> Vec<Cell> {
        names.iter().map(|name| with_error(number::named(measures, name), number::named(errors, name))).collect()
    };
    for (fold, details) in result.folds.iter().zip(&report.details) {
        let first = [number::count(details.per_query.queries.len()), number::measure(Some(fold.validation))];
        let first = first.into_iter().map(Cell::from);
        table.row(fold.fold.to_string(), first.chain(cells(&fold.measures, &fold.standard_errors)));
    }
    let first = [number::count(result.queries), String::new()].into_iter().map(Cell::from);
    table.marked_row("total", "mean", first.chain(cells(&result.measures, &result.standard_errors)));

    let selection = report.selection.to_string();
    let selection_ink = if selected_on == "training" { Ink::Train } else { Ink::Validation };
    let row = |name: String, validation: Option<f64>, measures: &Measures, errors: &Measures| {
        let test = number::named(measures, &selection)
            .map(|at| Dot::new(at, Ink::Test).with_error(number::named(errors, &selection)));
        let validation = validation.map(|at| Dot::new(at, selection_ink));
        Row { name, dots: test.into_iter().chain(validation).collect() }
    };
    let mut rows: Vec<Row> = result
        .folds
        .iter()
        .map(|f| row(format!("fold {}", f.fold), Some(f.validation), &f.measures, &f.standard_errors))
        .collect();
    rows.push(row("mean".to_string(), None, &result.measures, &result.standard_errors));
    let title = format!("{selection} ({}) by fold", result.convention.name);
    let legend = [
        (Ink::Test, "test, \u{b1} standard error".to_string()),
        (selection_ink, format!("{selected_on}, at the {} selected", choice(report))),
    ];
    let plot = figure(title.as_str(), Rows { label: title.clone(), rows, zero: false }.svg(), &legend);
    let words = Html::text(format!(
        " Without a relevant document: {} of {}. \u{b1} is a standard error: of a fold over its queries, of the mean over \
         the queries of all folds; the mean itself is that of the folds.",
        number::count(result.empty_queries),
        number::counted(result.queries, "query"),
    ));
    let words = note(convention_in_words(&result.convention).then(words));
    table.html("measures by fold").then(words).then(figures([plot]))
}

/// Builds a section with the selection measure of every grid point in every fold.
fn grid(report: &CrossValidationReport) -> Html {
    if report.points.len() < 2 {
        return Html::default();
    }
    let folds = &report.result.folds;
    let columns = ["point".to_string()].into_iter().chain(folds.iter().map(|fold| format!("fold {}", fold.fold)));
    let mut table = Table::new(columns.chain(["folds that select it".to_string()]));
    for (p, point) in report.points.iter().enumerate() {
        let chosen = |fold: usize| folds.get(fold).is_some_and(|fold| fold.selected == *point);
        let cell = |(fold, details): (usize, &FoldDetails)| {
            let text = number::measure(details.points.get(p).copied());
            if chosen(fold) { element("mark", text) } else { Html::from(text) }
        };
        let times = (0..folds.len()).filter(|&fold| chosen(fold)).count();
        let cells = report.details.iter().enumerate().map(cell).chain([Html::from(times.to_string())]);
        table.row(element("code", point.as_str()), cells);
    }
    let what = note(format!(
        "{} ({}) on validation queries, mean over seeds. Each fold selects its own point, marked, without looking at its \
         test queries.",
        report.selection, report.result.convention.name
    ));
    section("grid", "Grid", table.html("grid").then(what))
}

/// Draws the first seed's learning curves for the setting that each fold selected.
fn learning_curves(report: &CrossValidationReport) -> Html {
    let result = &report.result;
    let first = || report.details.iter().filter_map(|details| details.fits.first());
    let curves = Curves {
        config: &report.config,
        selection: report.selection,
        convention: &result.convention,
        heights: first().flat_map(|fit| &fit.history).flat_map(curves::heights).collect(),
    };
    let plots: Vec<Html> = result
        .folds
        .iter()
        .zip(&report.details)
        .filter_map(|(fold, details)| Some((fold, details.fits.first()?)))
        .filter(|(_, fit)| fit.history.len() > 1)
        .map(|(fold, fit)| {
            let title = format!("fold {}: {} ({})", fold.fold, report.selection, result.convention.name);
            curves.measures(fit, &title)
        })
        .collect();
    if plots.is_empty() {
        return Html::default();
    }
    let seeds = match result.seeds.as_slice() {
        [first, _, ..] => format!(" Seed {first}, the first of {}.", result.seeds.len()),
        _ => String::new(),
    };
    let choice = if result.search.is_some() { "trial" } else { "grid point" };
    let what = note(format!("One fit per fold, at the {choice} that the fold selected.{seeds}"));
    section("curves", "Learning curves", figures(plots).then(what))
}
