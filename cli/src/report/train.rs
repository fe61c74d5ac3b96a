//! The HTML page about a `train` run.

use burn_rank::workbench::learner::in_words;

use super::*;
use crate::experiment::SetMeasures;

pub(super) fn page(report: &TrainReport, record: Option<&RunRecord>) -> String {
    let curves =
        Curves { config: &report.config, selection: report.selection, convention: &report.convention, heights: vec![] };
    let importance: Vec<_> = report.fit.importance.iter().map(|found| (String::new(), found)).collect();
    let normalizer = report.config["normalizer"].as_str().unwrap_or("none");
    // The factors of the fit, or of each member of an ensemble.
    let of_members = report.fit.members.iter().map(|member| (member.name.clone(), &member.positions[..]));
    let positions: Vec<_> = [(String::new(), &report.fit.positions[..])].into_iter().chain(of_members).collect();
    let extremes: Vec<_> = report.extremes.iter().map(|found| (String::new(), found)).collect();
    let sections = [
        section("results", "Results", results(report)),
        match report.fit.members.is_empty() {
            true => section("curves", "Learning curves", curves.of(&report.fit)),
            false => members(report),
        },
        queries::distribution(&[(String::new(), &report.per_query)], report.selection, &report.convention),
        queries::extremes(&extremes, &report.convention, &[]),
        features::positions(&positions),
        features::weights(&[("weight".to_string(), &report.fit)], normalizer),
        features::importance(&importance, &report.fit.feature_names),
        features::partial_dependence(&report.partial_dependence, &report.fit.feature_names, normalizer),
        data::of_split(&report.data),
        configuration(&report.config),
        provenance(&report.versions, &[report.fit.seed], &report.convention, record),
    ];
    let (concluded, description) = (concluded(report), description(&report.config));
    about::page("train", &report.name, concluded, description, facts(report, record), sections)
}

/// Says how good the ranker is, and on which queries that was measured.
fn concluded(report: &TrainReport) -> Html {
    let selection = report.selection.to_string();
    let Some((set, of)) = report.measures.iter().last() else { return Html::default() };
    let set_in_words = if set == "train" { "training" } else { set };
    let measured = in_a_sentence(&of.measures, &of.standard_errors, &selection);
    let on = number::counted(of.queries, &format!("{set_in_words} query"));
    let round = round_word(&report.config);
    let (best, rounds) = (report.fit.best_round, report.fit.rounds);
    let selected_on = if report.measures.validation.is_some() { "validation" } else { "training" };
    let is_given = report.estimate.is_some() || !report.config["measure"]["round"].is_null();
    let how = match set {
        "test" if rounds > 1 && !is_given => {
            let round = round[..1].to_uppercase() + &round[1..];
            format!(" {round} {best} of {rounds} was selected on the {selected_on} queries.")
        }
        "test" => String::new(),
        _ if is_given => format!(" There are no test queries.{}", estimated(report)),
        _ => format!(
            " There are no test queries. Expect a lower value on new queries, because the {round} was selected on the \
             {selected_on} queries."
        ),
    };
    conclusion(&format!("{selection} is {measured} on {on}.{how}"), set == "test")
}

/// Says how good the cross-validation expects a refit to be.
fn estimated(report: &TrainReport) -> String {
    let Some(estimate) = &report.estimate else { return String::new() };
    let selection = report.selection.to_string();
    let [mean, error] = [&estimate.measures, &estimate.standard_errors].map(|of| of.get(&selection).copied());
    format!(
        " On new queries, expect {}{}, the mean of the cross-validation over {} in {}.",
        number::measure(mean),
        number::plus_minus(error),
        number::counted(estimate.queries, "test query"),
        number::counted(estimate.folds, "fold")
    )
}

fn facts(report: &TrainReport, record: Option<&RunRecord>) -> Vec<Html> {
    let selection = report.selection.to_string();
    let of_set = |(set, of): &(&str, &SetMeasures)| {
        let counts = format!("{} convention, {}", report.convention.name, number::counted(of.queries, "query"));
        fact(format!("{set} {selection}"), named_measure(&of.measures, &of.standard_errors, &selection), counts)
    };
    // The most important measures come first; the measures of the training queries say the least.
    let sets: Vec<_> = report.measures.iter().collect();
    let mut facts: Vec<Html> = sets.iter().rev().take((sets.len() - 1).max(1)).map(of_set).collect();
    let rounds = number::counted(report.fit.rounds, round_word(&report.config));
    let end = in_words(report.fit.stop);
    facts.push(match report.fit.members.len() {
        0 => fact(
            format!("selected {}", round_word(&report.config)),
            number::count(report.fit.best_round),
            format!("of {rounds}, {end}"),
        ),
        members => fact("members", number::count(members), end),
    });
    facts.extend(record.map(cost));
    facts
}

/// Lists the members of an ensemble with the selection measure of each.
fn members(report: &TrainReport) -> Html {
    let sets: Vec<String> = report.measures.iter().map(|(set, _)| format!("{set} {}", report.selection)).collect();
    let head = ["weight", "seed", "selected round", "rounds", "end"].map(str::to_string);
    let rows = report.fit.members.iter().map(|member| {
        let of_fit = [member.weight.to_string(), member.seed.to_string()].into_iter();
        let of_fit = of_fit.chain([member.best_round, member.rounds].map(number::count)).map(Cell::number);
        let measured = sets.iter().map(move |set| with_error(member.measures.get(set).copied(), None));
        let end = [Cell::from(in_words(member.stop))];
        (member.name.as_str(), of_fit.chain(end).chain(measured))
    });
    let table = Table::new("member", head.into_iter().chain(sets.iter().cloned())).with(rows);
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
    let rows = report.measures.iter().map(|(set, measures)| {
        let counts = [measures.queries, measures.empty_queries].map(|value| Cell::number(number::count(value)));
        let values = names.iter().map(move |name| named_measure(&measures.measures, &measures.standard_errors, name));
        (set, counts.into_iter().chain(values))
    });
    Table::new(first, ["queries", "empty"].into_iter().chain(names.iter().map(|name| name.as_str()))).with(rows)
}
