//! The HTML page about a `train` run.

use burn_rank::learner::PositionFactor;
use burn_rank::workbench::learner::in_words;

use super::{
    Curves, Fact, Frame, conclusion_of_train, configuration, convention_in_words, cost, data, description, features,
    positions, provenance, queries, round_word,
};
use crate::experiment::{RunRecord, SetMeasures, TrainReport};
use crate::number;
use crate::page::{Cell, Html, Table, note, section, with_error};

pub(super) fn frame(report: &TrainReport, record: Option<&RunRecord>) -> Frame {
    let curves =
        Curves { config: &report.config, selection: report.selection, convention: &report.convention, heights: vec![] };
    let importance = report.fit.importance.as_ref().map(|found| [(String::new(), found)]);
    let normalizer = report.config["normalizer"].as_str().unwrap_or("none");
    let sections = [
        section("results", "Results", results(report)),
        members(report),
        match report.fit.members.is_empty() {
            true => section("curves", "Learning curves", curves.of(&report.fit)),
            false => Html::default(),
        },
        queries::distribution(&[(String::new(), &report.per_query)], report.selection, &report.convention),
        report
            .extremes
            .as_ref()
            .map(|found| queries::extremes(&[(String::new(), found)], &report.convention))
            .unwrap_or_default(),
        positions::factors(&of_positions(report)),
        features::weights(&[("weight".to_string(), &report.fit)], normalizer),
        importance.map(|found| features::importance(&found, &report.fit.feature_names)).unwrap_or_default(),
        features::partial_dependence(&report.partial_dependence, &report.fit.feature_names, normalizer),
        data::of_split(&report.data),
        configuration(&report.config),
        provenance(&report.versions, &[report.fit.seed], &report.convention, record),
    ];
    let (conclusion, description) = (conclusion_of_train(report), description(&report.config));
    Frame::new("train", &report.name, conclusion, description, facts(report, record), sections)
}

fn facts(report: &TrainReport, record: Option<&RunRecord>) -> Vec<Fact> {
    let selection = report.selection.to_string();
    let measured = |set: &str, measures: &SetMeasures| {
        let of = |values| number::named(values, &selection);
        let value = with_error(of(&measures.measures), of(&measures.standard_errors));
        let counts = format!("{} convention, {}", report.convention.name, number::counted(measures.queries, "query"));
        Fact::new(format!("{set} {selection}"), value, counts)
    };
    // The most important measures come first; the measures of the training queries say the least.
    let sets: Vec<_> = report.measures.iter().collect();
    let shown = sets.iter().rev().take((sets.len() - 1).max(1));
    let mut facts: Vec<Fact> = shown.map(|(set, measures)| measured(set, measures)).collect();
    let rounds = number::counted(report.fit.rounds, round_word(&report.config));
    facts.push(match report.fit.members.len() {
        0 => Fact::new(
            format!("selected {}", round_word(&report.config)),
            number::count(report.fit.best_round),
            format!("of {rounds}, {}", in_words(report.fit.stop)),
        ),
        members => Fact::new("members".to_string(), number::count(members), in_words(report.fit.stop).to_string()),
    });
    facts.extend(record.map(cost));
    facts
}

/// Returns the factors of positions of the fit, or of each member of an ensemble.
fn of_positions(report: &TrainReport) -> Vec<(String, &[PositionFactor])> {
    let members = report.fit.members.iter().map(|member| (member.name.clone(), &member.positions[..]));
    std::iter::once((String::new(), &report.fit.positions[..])).chain(members).collect()
}

/// Lists the members of an ensemble with the selection measure of each.
fn members(report: &TrainReport) -> Html {
    if report.fit.members.is_empty() {
        return Html::default();
    }
    let sets: Vec<String> = report.measures.iter().map(|(set, _)| format!("{set} {}", report.selection)).collect();
    let head = ["member", "weight", "seed", "selected round", "rounds", "end"].map(str::to_string);
    let mut table = Table::new(head.into_iter().chain(sets.iter().cloned()));
    for member in &report.fit.members {
        let of_fit = [member.weight.to_string(), member.seed.to_string()].into_iter();
        let of_fit = of_fit.chain([member.best_round, member.rounds].map(number::count)).map(Cell::number);
        let measured = sets.iter().map(|set| with_error(member.measures.get(set).copied(), None));
        let end = [Cell::from(in_words(member.stop))];
        table.row(member.name.as_str(), of_fit.chain(end).chain(measured));
    }
    section("members", "Members", table.html("members"))
}

fn results(report: &TrainReport) -> Html {
    let rows = || report.measures.iter().map(|(_, measures)| &measures.measures);
    let (names, hidden) = number::varying(rows, &report.selection.to_string());
    let table = measures_table(report, "set", &names);
    let errors = Html::text(format!(
        " Empty queries have no relevant document. \u{b1} is the standard error of the mean over queries.{hidden}"
    ));
    let cautions = report.cautions.iter().map(|caution| note(caution.as_str())).collect::<Html>();
    let about = note(convention_in_words(&report.convention).then(errors));
    cautions.then(table.html("measures")).then(about)
}

/// Builds a table with the measures of each set of queries; `first` is the title of the column with the sets.
pub(crate) fn measures_table(report: &TrainReport, first: &str, names: &[&String]) -> Table {
    let mut table = Table::new([first, "queries", "empty"].into_iter().chain(names.iter().map(|name| name.as_str())));
    for (set, measures) in report.measures.iter() {
        let counts = [measures.queries, measures.empty_queries].map(|value| Cell::number(number::count(value)));
        let value = |name: &&String| {
            let of = |values| number::named(values, name);
            with_error(of(&measures.measures), of(&measures.standard_errors))
        };
        table.row(set, counts.into_iter().chain(names.iter().map(value)));
    }
    table
}
