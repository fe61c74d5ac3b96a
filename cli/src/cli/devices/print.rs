//! Prints a device comparison on the terminal, in a table of 100 columns.

use std::io::Write;

use burn_rank::workbench::text::harmless;

use crate::cli::failure::Failure;
use crate::device_comparison::{DeviceComparison, DeviceRow, StepCost};
use crate::page::Table;

/// Prints a device comparison as tables of quality and speed, followed by remarks on single devices.
pub(super) fn table(comparison: &DeviceComparison, out: &mut dyn Write) -> Result<(), Failure> {
    let number = |value: Option<f64>, decimals: usize| match value {
        Some(value) => format!("{value:.decimals$}"),
        None => "-".to_string(),
    };
    let signed = |value: Option<f64>| value.map_or("-".to_string(), |value| format!("{value:+.4}"));
    let small = |value: Option<f64>| value.map_or("-".to_string(), |value| format!("{value:.1e}"));
    let mut quality =
        Table::new(["device", "mean", "error", "verdict", "difference", "90% from", "to", "loss err", "gradient err"]);
    let mut speed = Table::new([
        "device",
        "train/s",
        "score/s",
        "target s",
        "open s",
        "compile s",
        "round s",
        "host MiB",
        "device MiB",
    ]);
    let mib = |bytes: Option<u64>| bytes.map_or("-".to_string(), |bytes| (bytes >> 20).to_string());
    for row in &comparison.devices {
        let of = row.equivalence.as_ref();
        quality.row(
            row.name(),
            [
                number(row.quality.map(|of| of.mean), 4),
                number(row.quality.and_then(|of| of.standard_error), 4),
                row.verdict().to_string(),
                signed(of.map(|of| of.difference)),
                signed(of.map(|of| of.interval[0])),
                signed(of.map(|of| of.interval[1])),
                small(row.error.map(|error| error.loss)),
                small(row.error.map(|error| error.gradient)),
            ],
        );
        speed.row(
            row.name(),
            [
                number(row.train_documents_per_second, 0),
                number(row.score_documents_per_second, 0),
                number(row.seconds_to_target, 2),
                number(row.seconds.open, 2),
                number(row.seconds.compile, 2),
                number(row.seconds.round, 3),
                mib(row.peak_bytes.host),
                mib(row.peak_bytes.device),
            ],
        );
    }
    writeln!(
        out,
        "{}: {} of {} queries, margin {}; rates in documents; - is not measured",
        harmless(&comparison.name),
        comparison.measure,
        comparison.set,
        comparison.margin
    )?;
    write!(out, "{}\n{}", quality.text(), speed.text())?;
    steps(comparison, out)?;
    for row in &comparison.devices {
        let name = harmless(&row.name()).into_owned();
        if let Some(why) = &row.failure {
            writeln!(out, "{name} failed: {}", harmless(why))?;
        }
        if row.is_wrong() {
            writeln!(out, "{name}: loss or gradient of the first batch are wrong, whatever the quality is")?;
        }
        if let Some(seeds) = row.equivalence.and_then(|of| of.seeds_to_decide) {
            writeln!(out, "{name}: about {seeds} seeds would decide")?;
        }
        if let (Some(target), Some(best), None) = (comparison.target, row.best, row.seconds_to_target) {
            writeln!(out, "{name}: the target {target} was not reached; the best value is {best:.4}")?;
        }
    }
    Ok(())
}

/// Prints the cost of training steps if it was measured.
fn steps(comparison: &DeviceComparison, out: &mut dyn Write) -> Result<(), Failure> {
    let measured: Vec<(&DeviceRow, &StepCost)> =
        comparison.devices.iter().filter_map(|row| Some((row, row.step.as_ref()?))).collect();
    if measured.is_empty() {
        return Ok(());
    }
    let batches = StepCost::BATCHES.map(|queries| format!("{queries}/step"));
    let columns = ["device", "step ms", "kernels ms", "launches", "reads"].map(String::from);
    let mut table = Table::new(columns.iter().chain(&batches).map(String::as_str));
    let milliseconds =
        |seconds: Option<f64>| seconds.map_or("-".to_string(), |seconds| format!("{:.3}", seconds * 1e3));
    for (row, step) in &measured {
        let speed = |queries: usize| step.throughput.iter().find(|of| of.batch_queries == queries);
        let speeds = StepCost::BATCHES
            .map(|queries| speed(queries).map_or("-".to_string(), |of| format!("{:.0}", of.documents_per_second)));
        let cells = [
            milliseconds(step.seconds),
            milliseconds(step.kernel_seconds),
            step.launches.map_or("-".to_string(), |launches| format!("{launches:.1}")),
            format!("{:.3}", step.reads),
        ];
        table.row(row.name(), cells.into_iter().chain(speeds));
    }
    writeln!(out, "\nA training step, and training documents per second by the queries of a step:")?;
    write!(out, "{}", table.text())?;
    for (row, step) in &measured {
        let shares = step
            .kernels
            .iter()
            .take(3)
            .filter_map(|kernel| Some((&kernel.name, 100.0 * kernel.seconds? / step.kernel_seconds?)));
        for (number, (kernel, share)) in shares.enumerate() {
            let what = if number == 0 { "most of the time of kernels: " } else { "then " };
            writeln!(out, "{}: {what}{} {share:.0}%", harmless(&row.name()), harmless(kernel))?;
        }
    }
    Ok(())
}
