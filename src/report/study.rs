//! The page of a study.

use super::about::{Fact, Frame, header};
use super::html::{Html, Table, element, figure, figures, note, section};
use super::number;
use crate::plot::{Ink, Line, Lines};
use crate::study::{Claim, Curves, StudyReport};

pub(super) fn frame(report: &StudyReport) -> Frame {
    let findings = &report.findings;
    let held = findings.claims.iter().filter(|claim| claim.holds == Some(true)).count();
    let facts = vec![
        Fact::new("claims that hold", number::count(held), format!("of {}", findings.claims.len())),
        Fact::new("queries", number::count(report.queries), number::counted(report.documents, "document")),
        Fact::new("with equal scores", number::count(report.tied_queries), "about which the theorems say nothing"),
    ];
    let about = crate::json::json!({"description": format!("Shows {} ({}). On {}.", report.summary, report.paper, report.subject)});
    let versions = note(format!("burn-rank {}, burn {}.", report.versions.burn_rank, report.versions.burn));
    let sections = [
        section("claims", "Claims", claims(&findings.claims)),
        section("curves", "Curves", figures(findings.curves.iter().map(curves))),
        section("tables", "Tables", findings.tables.iter().map(table).collect()),
        section("made", "How it was made", versions),
    ];
    let main = element("main", sections.into_iter().collect::<Html>());
    Frame {
        command: "study",
        name: report.study.clone(),
        body: header("study", &report.study, &about, facts).then(main),
    }
}

fn claims(claims: &[Claim]) -> Html {
    let claim = |claim: &Claim| {
        let words = Html::text(format!(" {}: {}", claim.source, claim.claim));
        element("p", element("strong", claim.verdict()).then(words)).then(note(claim.found.as_str()))
    };
    claims.iter().map(claim).collect()
}

fn table(shown: &crate::study::Table) -> Html {
    let mut table = Table::new(shown.title.clone(), shown.columns.iter().map(String::as_str));
    for (name, values) in &shown.rows {
        let value = |value: &Option<f64>| value.map_or_else(|| number::measure(None), number::figure);
        table.row(name.as_str(), values.iter().map(value));
    }
    element("p", element("strong", shown.title.as_str())).then(table.html())
}

/// Draws curves on a logarithmic scale, in powers of ten.
fn curves(shown: &Curves) -> Html {
    const INKS: [Ink; 4] = [Ink::Surrogate, Ink::Objective, Ink::Validation, Ink::Test];
    let line = |(number, (name, values)): (usize, &(String, Vec<Option<f64>>))| {
        let point = |(at, value): (usize, &Option<f64>)| ((at + 1) as f64, value.map_or(f64::NAN, f64::log10));
        Line {
            name: name.clone(),
            ink: INKS[number % INKS.len()],
            points: values.iter().enumerate().map(point).collect(),
        }
    };
    let lines: Vec<Line> = shown.curves.iter().enumerate().map(line).collect();
    let legend: Vec<(Ink, String)> = lines.iter().map(|line| (line.ink, line.name.clone())).collect();
    let title = format!("{}, as a power of ten", shown.title);
    let plot = Lines {
        label: format!("{title}, by {}", shown.parameter),
        x_name: shown.parameter.clone(),
        lines,
        marks: vec![],
        x_labels: Some(shown.at.iter().map(f64::to_string).collect()),
        heights: vec![],
    };
    figure(title, plot.svg(), &legend)
}
