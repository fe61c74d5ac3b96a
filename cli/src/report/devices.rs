//! The HTML page that compares devices.

use super::about::{Fact, Frame, configuration, header};
use crate::device_comparison::{DeviceComparison, DeviceRow, StepCost};
use crate::number;
use crate::page::{Html, Table, details, element, figure, figures, note, section};
use crate::plot::{Dot, Ink, Line, Lines, Row, Rows, Scale};
use burn_rank::workbench::json::json;

const NOT_MEASURED: &str = "not measured";

/// Builds the page.
pub(super) fn frame(comparison: &DeviceComparison) -> Frame {
    let seeds = comparison.devices.iter().map(|row| row.trials.len()).max().unwrap_or(0);
    let about = json!({
        "description": format!(
            "The configuration {} on {}, {} each. Every device is compared with the first.",
            comparison.name,
            number::counted(comparison.devices.len(), "device"),
            number::counted(seeds, "seed"),
        ),
    });
    let verdict = |row: &DeviceRow| {
        let quality = row.quality.map_or_else(|| NOT_MEASURED.to_string(), |of| number::measure(Some(of.mean)));
        Fact::new(row.name().as_str(), row.verdict(), format!("{} {quality}", comparison.measure))
    };
    let facts = comparison.devices.iter().map(verdict).collect();
    let main = element(
        "main",
        [
            quality(comparison),
            speed(comparison),
            steps(comparison),
            failures(comparison),
            configuration(&comparison.config),
            made(comparison),
        ]
        .into_iter()
        .collect::<Html>(),
    );
    Frame {
        command: "devices compare",
        name: comparison.name.clone(),
        body: header("devices compare", &comparison.name, &about, facts).then(main),
    }
}

/// Formats a value with `words`, or returns "not measured".
fn or_none(value: Option<f64>, words: impl Fn(f64) -> String) -> String {
    value.map_or_else(|| NOT_MEASURED.to_string(), words)
}

/// Returns a row for each device, with a dot if the device has a value.
fn dots(comparison: &DeviceComparison, dot: impl Fn(&DeviceRow) -> Option<Dot>) -> Vec<Row> {
    let rows = comparison.devices.iter();
    rows.filter_map(|row| Some(Row { name: row.name(), dots: vec![dot(row)?] })).collect()
}

fn plot(title: &str, rows: Vec<Row>, zero: bool) -> Html {
    if rows.is_empty() {
        return Html::default();
    }
    figure(title, Rows { label: title.to_string(), rows, zero }.svg(), &[])
}

fn quality(comparison: &DeviceComparison) -> Html {
    let columns =
        ["device", "mean", "standard error", "verdict", "difference", "90% interval", "loss error", "gradient error"];
    let mut table = Table::new(columns);
    for row in &comparison.devices {
        let of = row.equivalence.as_ref();
        table.row(
            row.name(),
            [
                or_none(row.quality.map(|of| of.mean), |mean| number::measure(Some(mean))),
                or_none(row.quality.and_then(|of| of.standard_error), |error| number::measure(Some(error))),
                row.verdict().to_string(),
                or_none(of.map(|of| of.difference), number::difference),
                of.map_or_else(String::new, |of| {
                    format!("{} to {}", number::difference(of.interval[0]), number::difference(of.interval[1]))
                }),
                or_none(row.error.map(|error| error.loss), |error| format!("{error:.1e}")),
                or_none(row.error.map(|error| error.gradient), |error| format!("{error:.1e}")),
            ],
        );
    }
    let error = |row: &DeviceRow| row.quality.and_then(|of| of.standard_error);
    let means = dots(comparison, |row| Some(Dot::new(row.quality?.mean, Ink::Test).with_error(error(row))));
    let differences = dots(comparison, |row| {
        let of = row.equivalence?;
        Some(Dot::new(of.difference, Ink::Test).with_error(Some(of.interval[1] - of.difference)))
    });
    let margin =
        Row { name: "margin".into(), dots: vec![Dot::new(0.0, Ink::Mark).with_error(Some(comparison.margin))] };
    let differences = if differences.is_empty() { differences } else { [vec![margin], differences].concat() };
    let title = format!("{} of {} queries, with standard errors over seeds", comparison.measure, comparison.set);
    let plots = figures([
        plot(&title, means, false),
        plot("Difference from the first device, with 90% intervals", differences, true),
    ]);
    let what = note(format!(
        "Identical: the same bytes for every seed. Same: the 90% interval of the difference lies within {} of 0. \
         Different: the 95% interval excludes 0, or loss or gradient of the first batch are wrong. Errors are shares of \
         the largest component; the exact values come from double precision at the same scores.",
        comparison.margin
    ));
    section("quality", "Quality", what.then(table.html("quality by device")).then(plots))
}

fn speed(comparison: &DeviceComparison) -> Html {
    let columns = [
        "device",
        "training documents/s",
        "scored documents/s",
        "to the target",
        "open",
        "compile",
        "round",
        "memory of the host",
        "memory of the device",
    ];
    let mut table = Table::new(columns);
    let mib = |bytes: Option<u64>| or_none(bytes.map(|bytes| bytes as f64 / f64::from(1 << 20)), number::memory);
    for row in comparison.devices.iter().filter(|row| row.failure.is_none()) {
        let rate = |value| or_none(value, |rate: f64| number::count(rate.round() as usize));
        let target = match (comparison.target, row.seconds_to_target) {
            (None, _) => NOT_MEASURED.to_string(),
            (Some(_), Some(seconds)) => number::seconds(seconds),
            (Some(_), None) => format!("not reached; best {}", number::measure(row.best)),
        };
        table.row(
            row.name(),
            [
                rate(row.train_documents_per_second),
                rate(row.score_documents_per_second),
                target,
                or_none(row.seconds.open, number::seconds),
                or_none(row.seconds.compile, number::seconds),
                or_none(row.seconds.round, number::seconds),
                mib(row.peak_bytes.host),
                mib(row.peak_bytes.device),
            ],
        );
    }
    let rate = |value: fn(&DeviceRow) -> Option<f64>| dots(comparison, |row| Some(Dot::new(value(row)?, Ink::Train)));
    let plots = figures([
        plot("Training documents per second", rate(|row| row.train_documents_per_second), true),
        plot("Scored documents per second", rate(|row| row.score_documents_per_second), true),
        plot("Seconds to the target", rate(|row| row.seconds_to_target), true),
    ]);
    let what = note(
        "Medians over seeds. Each fit runs in a new process. Training is timed without the measures of a round. Compile \
         is what the first round took more than the median of the others.",
    );
    section("speed", "Speed", what.then(table.html("speed by device")).then(plots))
}

/// The maximum number of kernels in the table for a device.
const KERNELS: usize = 12;

/// Returns the devices whose training steps were measured.
fn measured(comparison: &DeviceComparison) -> impl Iterator<Item = (&DeviceRow, &StepCost)> {
    comparison.devices.iter().filter_map(|row| Some((row, row.step.as_ref()?)))
}

fn steps(comparison: &DeviceComparison) -> Html {
    if measured(comparison).next().is_none() {
        return Html::default();
    }
    let milliseconds =
        |seconds: Option<f64>| or_none(seconds, |seconds| format!("{} ms", number::figure(seconds * 1e3)));
    let mut table = Table::new(["device", "step", "in kernels", "launches", "reads"]);
    let mut kernels = Table::new(["kernel", "device", "launches", "time"]);
    for (row, step) in measured(comparison) {
        table.row(
            row.name(),
            [
                milliseconds(step.seconds),
                milliseconds(step.kernel_seconds),
                or_none(step.launches, number::figure),
                number::figure(step.reads),
            ],
        );
        for kernel in step.kernels.iter().take(KERNELS) {
            let cells = [row.name(), number::figure(kernel.launches), milliseconds(kernel.seconds)];
            kernels.row(kernel.name.clone(), cells);
        }
    }
    let rates = measured(comparison).flat_map(|(_, step)| &step.throughput).map(|of| of.documents_per_second);
    let heights = vec![0.0, rates.fold(0.0, f64::max)];
    let throughput = measured(comparison).filter(|(_, step)| !step.throughput.is_empty()).map(|(row, step)| {
        let title = format!("{}: training documents per second", row.name());
        let points = step.throughput.iter().map(|of| (of.batch_queries as f64, of.documents_per_second)).collect();
        let plot = Lines {
            label: title.clone(),
            x_name: "queries per step".to_string(),
            lines: vec![Line { name: "documents per second".to_string(), ink: Ink::Train, points }],
            marks: vec![],
            x_labels: None,
            across: Scale::Log,
            upward: Scale::Linear,
            heights: heights.clone(),
        };
        figure(title, plot.svg(), &[])
    });
    let plots = figures(throughput);
    let what = note(
        "A step is timed in a separate process, and its kernels are watched in one more fit, which is not timed. The \
         host waits at every read. What is not in kernels is work of the host, or waiting.",
    );
    let kernels = if measured(comparison).any(|(_, step)| !step.kernels.is_empty()) {
        details(&format!("The {KERNELS} kernels that take the longest"), kernels.html("kernels of a training step"))
    } else {
        Html::default()
    };
    section("steps", "Training steps", what.then(table.html("a training step by device")).then(plots).then(kernels))
}

fn failures(comparison: &DeviceComparison) -> Html {
    let failed: Vec<(String, &str)> =
        comparison.devices.iter().filter_map(|row| Some((row.name(), row.failure.as_deref()?))).collect();
    if failed.is_empty() {
        return Html::default();
    }
    let mut table = Table::new(["device", "why"]);
    failed.into_iter().for_each(|(name, why)| table.row(name, [why]));
    section("failures", "Failures", table.html("devices that failed"))
}

fn made(comparison: &DeviceComparison) -> Html {
    let mut table = Table::new(["device", "platform", "instructions", "threads"]);
    for row in &comparison.devices {
        if let Some(trial) = row.trials.first() {
            table.row(row.name(), [trial.platform.clone(), trial.instructions.clone(), trial.threads.to_string()]);
        }
    }
    let versions = &comparison.versions;
    let what =
        note(format!("burn-rank {}, burn {}. devices.json holds every number.", versions.burn_rank, versions.burn));
    section("made", "How it was made", table.html("machines").then(what))
}
