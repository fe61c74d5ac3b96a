//! A comparison of devices: the tables and remarks that a terminal and a page show, and the page with notes and plots.

use super::*;
use crate::device_comparison::{DeviceComparison, DeviceRow, StepCost};
use crate::page::paragraph;
use crate::plot::Scale;
use burn_rank::workbench::significance::{Equivalence, EquivalenceVerdict};
use burn_rank::workbench::text::harmless;

/// A column of a table of devices: its title, and the cell of a device.
type Column = (&'static str, fn(&DeviceRow) -> Cell);

const QUALITY: &[Column] = &[
    ("mean", |row| Cell::number(number::measure(row.quality.map(|of| of.mean)))),
    ("error", |row| Cell::number(number::measure(row.quality.and_then(|of| of.standard_error)))),
    ("verdict", |row| row.verdict().into()),
    ("diff", |row| cell(row.equivalence.map(|of| of.difference), number::difference)),
    ("low", |row| cell(row.equivalence.map(|of| of.interval[0]), number::difference)),
    ("high", |row| cell(row.equivalence.map(|of| of.interval[1]), number::difference)),
];

const FIRST_BATCH: &[Column] = &[
    ("loss err", |row| cell(row.error.map(|error| error.loss), |error| format!("{error:.1e}"))),
    ("gradient err", |row| cell(row.error.map(|error| error.gradient), |error| format!("{error:.1e}"))),
    ("host MiB", |row| whole(row.peak_bytes.host.map(|bytes| (bytes >> 20) as f64))),
    ("device MiB", |row| whole(row.peak_bytes.device.map(|bytes| (bytes >> 20) as f64))),
];

const SPEED: &[Column] = &[
    ("train docs/s", |row| whole(row.train_documents_per_second)),
    ("score docs/s", |row| whole(row.score_documents_per_second)),
    ("target", |row| cell(row.seconds_to_target, duration)),
    ("open", |row| cell(row.seconds.open, duration)),
    ("compile", |row| cell(row.seconds.compile, duration)),
    ("round", |row| cell(row.seconds.round, duration)),
];

const STEP: &[Column] = &[
    ("time", |row| cell(row.step.as_ref().and_then(|step| step.seconds), duration)),
    ("in kernels", |row| cell(row.step.as_ref().and_then(|step| step.kernel_seconds), duration)),
    ("kernel launches", |row| tenths(row.step.as_ref().and_then(|step| step.launches))),
    ("device reads", |row| cell(row.step.as_ref().map(|step| step.reads), briefly)),
    ("sent KiB", |row| cell(row.step.as_ref().map(|step| step.sent_bytes / 1024.0), briefly)),
];

const RATES: &[Column] = &[
    ("4/step", |row| rate(row, 4)),
    ("16/step", |row| rate(row, 16)),
    ("64/step", |row| rate(row, 64)),
    ("256/step", |row| rate(row, 256)),
];

/// Returns the tables with their titles, in the order in which a terminal shows them. Some have rows only for devices
/// whose training steps were measured.
fn tables(comparison: &DeviceComparison) -> [(&'static str, Table); 7] {
    let by_device = |columns: &[Column], of_steps: bool| {
        let shown = comparison.devices.iter().filter(|row| !of_steps || row.step.is_some());
        let rows = shown.map(|row| (row.name(), columns.iter().map(move |(_, cell)| cell(row))));
        Table::new("device", columns.iter().map(|(title, _)| *title)).with(rows)
    };
    let tuned = |(row, _): (&DeviceRow, &StepCost)| {
        let first = |process: usize| {
            let seconds = row.trials.get(process).map(|trial| trial.seconds);
            cell(seconds.and_then(|of| Some(of.compile? + of.round?)), duration)
        };
        (row.name(), [first(0), first(1), cell(row.seconds.round, duration)])
    };
    let tuned = measured(comparison).filter(|(_, step)| step.launches.is_some()).map(tuned);
    let tuning = Table::new("device", ["first process", "second process", "later rounds"]).with(tuned);
    let sources = measured(comparison).flat_map(|(row, step)| {
        step.sources.iter().map(move |of| (of.source.as_str(), [row.name().into(), tenths(Some(of.launches))]))
    });
    let sources = Table::new("part", ["device", "launches"]).with(sources);
    [
        ("quality by device", by_device(QUALITY, false)),
        ("errors of the first batch, and memory, by device", by_device(FIRST_BATCH, false)),
        ("speed by device, in documents per second, and times", by_device(SPEED, false)),
        ("one training step by device", by_device(STEP, true)),
        ("training documents per second by queries per step", by_device(RATES, true)),
        ("first rounds, in which a process compiles and tunes kernels", tuning),
        ("kernel launches that a part adds to a step", sources),
    ]
}

/// Returns a comparison as a terminal shows it.
pub(crate) fn devices_text(comparison: &DeviceComparison) -> String {
    let text = |(title, table): (&str, Table)| match table.is_empty() {
        true => String::new(),
        false => format!("\n{title}\n{}", table.text()),
    };
    let tables: String = tables(comparison).into_iter().map(text).collect();
    let DeviceComparison { name, measure, set, margin, .. } = comparison;
    let about = format!("{name}: {measure} of {set} queries, margin {margin}; - is not measured");
    let lines = |text: String| paragraph(&harmless(&text));
    let remarks: String = remarks(comparison).into_iter().map(lines).collect();
    let space = if remarks.is_empty() { "" } else { "\n" };
    lines(about) + &tables + space + &remarks
}

/// Builds the page.
pub(crate) fn page(comparison: &DeviceComparison) -> String {
    let seeds = comparison.devices.iter().map(|row| row.trials.len()).max().unwrap_or(0);
    let description = format!(
        "The configuration {} on {}, {} each. Every device is compared with the first.",
        comparison.name,
        number::counted(comparison.devices.len(), "device"),
        number::counted(seeds, "seed"),
    );
    let verdict = |row: &DeviceRow| {
        let quality = row.quality.map_or_else(|| "not measured".to_string(), |of| number::measure(Some(of.mean)));
        let verdict = Html::text(row.verdict()).within("strong", &[("class", row.verdict())]);
        fact(row.name(), verdict, format!("{} {quality}", comparison.measure))
    };
    let facts = comparison.devices.iter().map(verdict);
    let [quality_table, first_batch, speed_table, step, rates, tuning, sources] =
        tables(comparison).map(|(title, table)| if table.is_empty() { Html::default() } else { table.html(title) });
    let remarks: Html = remarks(comparison).into_iter().map(|remark| element("p", remark)).collect();
    let sections = [
        quality(comparison, quality_table.then(first_batch)),
        speed(comparison, speed_table),
        steps(comparison, step.then(tuning).then(sources).then(rates)),
        if remarks.is_empty() { remarks } else { section("remarks", "Remarks", remarks) },
        configuration(&comparison.config),
        made(comparison),
    ];
    about::page("devices compare", &comparison.name, outcome(comparison), &description, facts, sections)
}

/// Says how many devices give the same ranker as the first.
fn outcome(comparison: &DeviceComparison) -> Html {
    let [first, others @ ..] = comparison.devices.as_slice() else { return Html::default() };
    let same = others.iter().filter(|row| ["identical", "same"].contains(&row.verdict())).count();
    let which = match others {
        [] => return Html::default(),
        [other] if same == 1 => format!("{} gives", other.name()),
        [other] => format!("{} is not shown to give", other.name()),
        _ => {
            let give = if same == 1 { "gives" } else { "give" };
            format!("{same} of {} {give}", number::counted(others.len(), "other device"))
        }
    };
    let words = format!("{which} the same quality as {}.", first.name());
    conclusion(&words, same == others.len())
}

/// Creates a cell of a value that is formatted with `words`, or a dash if it was not measured.
fn cell(value: Option<f64>, words: impl Fn(f64) -> String) -> Cell {
    Cell::number(value.map_or_else(|| number::measure(None), words))
}

/// Creates a cell of a value with one decimal.
fn tenths(value: Option<f64>) -> Cell {
    cell(value, |value| format!("{value:.1}"))
}

/// Creates a cell of a value without decimals.
fn whole(value: Option<f64>) -> Cell {
    cell(value, |value| number::count(value.round() as usize))
}

/// Creates a cell of the training speed with this number of queries per step.
fn rate(row: &DeviceRow, queries: usize) -> Cell {
    let measured = row.step.iter().flat_map(|step| &step.throughput).find(|of| of.batch_queries == queries);
    whole(measured.map(|of| of.documents_per_second))
}

/// Formats a number with at most two decimals.
fn briefly(value: f64) -> String {
    format!("{value:.2}").trim_end_matches('0').trim_end_matches('.').to_string()
}

/// Formats a time in milliseconds below a second, and in seconds from there.
fn duration(seconds: f64) -> String {
    match 1e3 * seconds {
        ms if ms < 9.995 => format!("{ms:.2} ms"),
        ms if ms < 999.5 => format!("{ms:.0} ms"),
        _ => number::seconds(seconds),
    }
}

/// Returns remarks on single devices.
fn remarks(comparison: &DeviceComparison) -> Vec<String> {
    let mut remarks = Vec::new();
    for row in &comparison.devices {
        let name = row.name();
        remarks.extend(row.failure.as_ref().map(|why| format!("{name} failed: {why}")));
        if row.is_wrong() {
            remarks.push(format!(
                "{name}: the loss or gradient of the first batch is wrong, even if the quality is the same"
            ));
        }
        match row.equivalence {
            Some(Equivalence { seeds_to_decide: Some(seeds), .. }) => {
                remarks.push(format!("{name}: about {seeds} seeds would decide"));
            }
            Some(of) if of.verdict == EquivalenceVerdict::NotDecided => {
                remarks.push(format!("{name}: more seeds would not decide; more queries might"));
            }
            _ => {}
        }
        if let (Some(target), Some(best), None) = (comparison.target, row.best, row.seconds_to_target) {
            remarks.push(format!("{name}: the target {target} was not reached; the best value is {best:.4}"));
        }
    }
    remarks
}

/// Returns a row for each device, with a dot if the device has a value.
fn dots(comparison: &DeviceComparison, dot: impl Fn(&DeviceRow) -> Option<Dot>) -> Vec<Row> {
    let rows = comparison.devices.iter();
    rows.filter_map(|row| Some(Row { name: row.name(), dots: vec![dot(row)?] })).collect()
}

/// Places the plots that have rows side by side.
fn plots<const N: usize>(plots: [(&str, Vec<Row>, bool); N]) -> Html {
    let plots = plots.into_iter().filter(|(_, rows, _)| !rows.is_empty());
    figures(plots.map(|(title, rows, zero)| Figure::new(title, Rows { rows, zero }, [])))
}

fn quality(comparison: &DeviceComparison, tables: Html) -> Html {
    let error = |row: &DeviceRow| row.quality.and_then(|of| of.standard_error);
    let means = dots(comparison, |row| Some(Dot::new(row.quality?.mean, Ink::Test).with_error(error(row))));
    let mut differences = dots(comparison, |row| {
        let of = row.equivalence?;
        Some(Dot::new(of.difference, Ink::Test).with_error(Some(of.interval[1] - of.difference)))
    });
    if !differences.is_empty() {
        let margin = Dot::new(0.0, Ink::Mark).with_error(Some(comparison.margin));
        differences.insert(0, Row { name: "margin".into(), dots: vec![margin] });
    }
    let title = format!("{} of {} queries, with standard errors over seeds", comparison.measure, comparison.set);
    let of_differences = "Difference from the first device, with 90% intervals";
    let plots = plots([(&title, means, false), (of_differences, differences, true)]);
    let what = note(format!(
        "Identical: byte-identical rankers for every seed. Same: the 90% interval of the difference, from low to high, \
         lies within {} of 0. Different: the 95% interval excludes 0, or the loss or gradient of the first batch is \
         wrong. Errors are relative to the largest component. The exact values come from double precision at the same \
         scores. \u{2013}: not measured.",
        comparison.margin
    ));
    section("quality", "Quality", what.then(tables).then(plots))
}

fn speed(comparison: &DeviceComparison, table: Html) -> Html {
    let rows = |value: fn(&DeviceRow) -> Option<f64>| dots(comparison, |row| Some(Dot::new(value(row)?, Ink::Train)));
    let plots = plots([
        ("Training documents per second", rows(|row| row.train_documents_per_second), true),
        ("Scored documents per second", rows(|row| row.score_documents_per_second), true),
        ("Seconds to the target", rows(|row| row.seconds_to_target), true),
    ]);
    let what = note(
        "All figures are medians over seeds. Each fit runs in a new process. Training time excludes the measures of a \
         round. Target is the time until --target was reached. Compile is the time of the first round minus the median \
         of the others.",
    );
    section("speed", "Speed", what.then(table).then(plots))
}

/// The maximum number of kernels in the table for a device.
const KERNELS: usize = 12;

/// Returns the devices whose training steps were measured.
fn measured(comparison: &DeviceComparison) -> impl Iterator<Item = (&DeviceRow, &StepCost)> {
    comparison.devices.iter().filter_map(|row| Some((row, row.step.as_ref()?)))
}

fn steps(comparison: &DeviceComparison, tables: Html) -> Html {
    if measured(comparison).next().is_none() {
        return Html::default();
    }
    let kernels = measured(comparison).flat_map(|(row, step)| {
        step.kernels.iter().take(KERNELS).map(move |kernel| {
            let cells = [row.name().into(), tenths(Some(kernel.launches)), cell(kernel.seconds, duration)];
            (kernel.name.as_str(), cells)
        })
    });
    let kernels = Table::new("kernel", ["device", "launches", "time"]).with(kernels);
    let rates = measured(comparison).flat_map(|(_, step)| &step.throughput).map(|of| of.documents_per_second);
    let heights = vec![0.0, rates.fold(0.0, f64::max)];
    let throughput = measured(comparison).filter(|(_, step)| !step.throughput.is_empty()).map(|(row, step)| {
        let title = format!("{}: training documents per second", row.name());
        let points = step.throughput.iter().map(|of| (of.batch_queries as f64, of.documents_per_second)).collect();
        let plot = Lines {
            x_name: "queries per step".to_string(),
            lines: vec![Line { name: "documents per second".to_string(), ink: Ink::Train, points }],
            across: Scale::Log,
            heights: heights.clone(),
            ..Lines::default()
        };
        Figure::new(title, plot, [])
    });
    let what = note(
        "A step is timed in a separate process, and its kernels are observed in another fit, which is not timed. The \
         host waits at every read. The rest of a step's time is the host's work, or waiting.",
    );
    let longest = format!("The {KERNELS} kernels that take the longest");
    let kernels = (!kernels.is_empty()).then(|| details(&longest, kernels.html("kernels of a training step")));
    section("steps", "Training steps", what.then(tables).then(figures(throughput)).then(kernels.unwrap_or_default()))
}

fn made(comparison: &DeviceComparison) -> Html {
    let machine = |row: &DeviceRow| {
        let trial = row.trials.first()?;
        Some((row.name(), [trial.platform.clone(), trial.instructions.clone(), trial.threads.to_string()]))
    };
    let machines = comparison.devices.iter().filter_map(machine);
    let table = Table::new("device", ["platform", "instructions", "threads"]).with(machines);
    let versions = &comparison.versions;
    let what =
        note(format!("burn-rank {}, burn {}. devices.json has every number.", versions.burn_rank, versions.burn));
    section("made", "How it was made", table.html("machines").then(what))
}
