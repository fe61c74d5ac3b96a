//! The page of one study, and a page of several studies with an index.

use super::*;
use crate::study::{Claim, Curves, StudyReport, Verdict};

/// Builds the HTML page about one study.
pub(crate) fn page(report: &StudyReport) -> String {
    let about = &report.findings.about;
    let mut facts = verdicts(std::slice::from_ref(report));
    if let Some(queries) = about.queries {
        let documents = number::counted(about.documents.unwrap_or(0), "document");
        facts.push(fact("queries", number::count(queries), documents));
    }
    if let Some(tied) = about.tied_queries {
        facts.push(fact("with equal scores", number::count(tied), "not covered by the theorems"));
    }
    let description = format!("Shows {}", described(report));
    let sections = [sections(report, ""), made(report)];
    about::page("study", &report.study, outcome(std::slice::from_ref(report)), &description, facts, sections)
}

/// Builds the HTML page about several studies, with an index.
pub(crate) fn page_of_several(reports: &[StudyReport]) -> String {
    let names: Vec<&str> = reports.iter().map(|report| report.study.as_str()).collect();
    let description = format!("The studies {}.", names.join(", "));
    let rows = reports.iter().map(|report| {
        let link = Html::text(&report.study).within("a", &[("href", &format!("#{}", report.study))]);
        let counts = Verdict::ALL.map(|verdict| number::count(report.findings.count(verdict)));
        (link, counts.map(Html::from).into_iter().chain([Html::text(&report.findings.about.subject)]))
    });
    let table = Table::new("study", ["holds", "fails", "vacuous", "open", "of"]).with(rows);
    let studies = reports.iter().map(|report| {
        let content = note(described(report)).then(sections(report, &format!("{}-", report.study)));
        section(&report.study, &report.study, content)
    });
    let made = reports.first().map(made).unwrap_or_default();
    let sections = [section("index", "Index", table.html("verdicts by study")), studies.collect(), made];
    about::page("study", "all", outcome(reports), &description, verdicts(reports), sections)
}

fn described(report: &StudyReport) -> String {
    let quick = if report.quick { " This quick version uses fewer values, epochs and samples." } else { "" };
    format!("{} ({}). On {}.{quick}", report.summary, report.paper, report.findings.about.subject)
}

/// Returns the number of claims with this verdict in all studies.
fn count(reports: &[StudyReport], verdict: Verdict) -> usize {
    reports.iter().map(|report| report.findings.count(verdict)).sum()
}

/// Writes the number of all claims.
fn all_claims(reports: &[StudyReport]) -> String {
    number::counted(reports.iter().map(|report| report.findings.claims.len()).sum(), "claim")
}

/// Says how many claims hold.
fn outcome(reports: &[StudyReport]) -> Html {
    let [holds, fails, vacuous, open] = Verdict::ALL.map(|verdict| count(reports, verdict));
    let others = if vacuous + open > 0 { " These data do not decide the others." } else { "" };
    let verb = |count: usize, word: &str| format!("{count} {word}{}", if count == 1 { "s" } else { "" });
    let (held, failed) = (verb(holds, "hold"), verb(fails, "fail"));
    conclusion(&format!("Of {}, {held} and {failed}.{others}", all_claims(reports)), fails == 0)
}

fn verdicts(reports: &[StudyReport]) -> Vec<Html> {
    let what = ["shown here", "the opposite was shown here", "cannot fail here", "nothing was shown"];
    let of_verdict = |(verdict, what): (Verdict, _)| {
        let count = number::count(count(reports, verdict));
        fact(verdict.name(), count, format!("of {}: {what}", all_claims(reports)))
    };
    Verdict::ALL.into_iter().zip(what).map(of_verdict).collect()
}

/// Builds the sections of a study; `prefix` keeps their HTML identifiers unique on a page with several studies.
fn sections(report: &StudyReport, prefix: &str) -> Html {
    let findings = &report.findings;
    let named = |name: &str, title: &str, content: Html| section(&format!("{prefix}{name}"), title, content);
    let table = |shown: &crate::study::Table| titled(&shown.title, study_table(shown).html(&shown.title));
    let tables = findings.tables.iter().map(table).collect();
    named("claims", "Claims", claims(&findings.claims))
        .then(named("curves", "Curves", figures(findings.curves.iter().map(curves))))
        .then(named("tables", "Tables", tables))
}

fn made(report: &StudyReport) -> Html {
    let versions = note(format!("burn-rank {}, burn {}.", report.versions.burn_rank, report.versions.burn));
    section("made", "How it was made", versions)
}

fn claims(claims: &[Claim]) -> Html {
    let claim = |claim: &Claim| {
        let words = Html::text(format!(" {}: {}", claim.source, claim.claim));
        element("p", Html::text(claim.verdict.name()).within("strong", &[("class", claim.verdict.name())]).then(words))
            .then(note(claim.found.as_str()))
    };
    claims.iter().map(claim).collect()
}

/// Builds a table of a study. A terminal shows five significant digits, and a page four decimals.
pub(crate) fn study_table(shown: &crate::study::Table) -> Table {
    let cell = |value: &Option<f64>| match value {
        Some(value) => Cell::of(number::short(*value), number::figure(*value)),
        None => measured(None),
    };
    let (first, others) = shown.columns.split_first().expect("the column of names");
    Table::new(first, others).with(shown.rows.iter().map(|(name, values)| (name, values.iter().map(cell))))
}

fn curves(shown: &Curves) -> Figure {
    const INKS: [Ink; 5] = [Ink::Test, Ink::Objective, Ink::Validation, Ink::Train, Ink::Surrogate];
    let line = |(number, (name, values)): (usize, &(String, Vec<Option<f64>>))| Line {
        name: name.clone(),
        ink: INKS[number % INKS.len()],
        points: shown.at.iter().zip(values).map(|(at, value)| (*at, value.unwrap_or(f64::NAN))).collect(),
    };
    let lines: Vec<Line> = shown.curves.iter().enumerate().map(line).collect();
    let legend: Vec<(Ink, String)> = lines.iter().map(|line| (line.ink, line.name.clone())).collect();
    let (x_name, across, upward) = (shown.parameter.clone(), shown.across, shown.upward);
    let plot = Lines { x_name, lines, across, upward, ..Lines::default() };
    Figure::new(shown.title.as_str(), plot, legend)
}
