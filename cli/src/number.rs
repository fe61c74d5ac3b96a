//! Formats numbers for terminals and pages, and computes medians and quantiles.

use burn_rank::json::Value;
use burn_rank::workbench::text::plural;

use crate::experiment::Measures;

const MISSING: &str = "\u{2013}";

/// Formats a measure with four decimals, or as a dash if it has no value.
pub(crate) fn measure(value: Option<f64>) -> String {
    value.filter(|value| value.is_finite()).map_or(MISSING.to_string(), |value| minus(format!("{value:.4}")))
}

/// Formats a standard error for the place after its value, as in ` ± 0.0100`. Without a finite error, the text is
/// empty.
pub(crate) fn plus_minus(error: Option<f64>) -> String {
    error.filter(|error| error.is_finite()).map_or(String::new(), |error| format!(" \u{b1} {error:.4}"))
}

/// Writes a formatted number in ASCII, as terminals show it.
pub(crate) fn ascii(number: &str) -> String {
    number.replace(MISSING, "-").replace('\u{2212}', "-").replace('\u{202f}', "").replace("< 0.", "<.")
}

/// Returns the value of a measure by name.
pub(crate) fn named(values: &Measures, name: &str) -> Option<f64> {
    values.get(name).and_then(Value::as_f64)
}

/// Returns the names of the measures to show in a table, given the values of its rows. Measures that are 1 in every
/// row, or 0, are left out, and the second value says so. The measure `kept` is always shown.
pub(crate) fn varying<'a, I: Iterator<Item = &'a Measures>>(
    rows: impl Fn() -> I,
    kept: &str,
) -> (Vec<&'a String>, String) {
    let constant = |name: &String, value: f64| name != kept && rows().all(|row| named(row, name) == Some(value));
    let all: Vec<&String> = rows().next().map(|first| first.keys().collect()).unwrap_or_default();
    let left_out = [1.0, 0.0].into_iter().filter_map(|value| {
        let names: Vec<&str> = all.iter().filter(|name| constant(name, value)).map(|name| name.as_str()).collect();
        (!names.is_empty()).then(|| format!(" Always {value}, so not in the table: {}.", names.join(", ")))
    });
    let words = left_out.collect();
    (all.into_iter().filter(|name| !constant(name, 0.0) && !constant(name, 1.0)).collect(), words)
}

/// Formats a whole number with separators between groups of three digits.
pub(crate) fn count(value: usize) -> String {
    match value / 1000 {
        0 => value.to_string(),
        thousands => format!("{}\u{202f}{:03}", count(thousands), value % 1000),
    }
}

/// Formats a count with its noun, as in `1 round` or `3 queries`.
pub(crate) fn counted(value: usize, what: &str) -> String {
    format!("{} {}", count(value), plural(value, what))
}

/// Formats a number with about four significant digits, and with an exponent if needed.
pub(crate) fn figure(value: f64) -> String {
    minus(match value.abs() {
        _ if !value.is_finite() => MISSING.to_string(),
        size if size != 0.0 && !(1e-3..1e6).contains(&size) => format!("{value:.3e}"),
        _ if value.fract() == 0.0 => format!("{value}"),
        size if size >= 100.0 => format!("{value:.1}"),
        _ => format!("{value:.4}"),
    })
}

/// Formats a number briefly for a terminal, with five significant digits. A very small or very large number is written
/// with an exponent.
pub(crate) fn short(value: f64) -> String {
    match value.abs() {
        _ if !value.is_finite() => "unknown".to_string(),
        _ if value.fract() == 0.0 && value.abs() < 1e6 => format!("{value}"),
        size if (1e-3..1e4).contains(&size) => {
            let decimals = (4 - size.log10().floor() as i32).clamp(0, 6) as usize;
            format!("{value:.decimals$}")
        }
        _ => format!("{value:.3e}"),
    }
}

/// Formats a difference with its sign and four decimals.
pub(crate) fn difference(value: f64) -> String {
    minus(if value.is_finite() { format!("{value:+.4}") } else { MISSING.to_string() })
}

/// Formats a p-value; tiny p-values become "< 0.0001", never 0.
pub(crate) fn p_value(p: f64) -> String {
    if p < 0.00005 { "< 0.0001".to_string() } else { format!("{p:.4}") }
}

/// Formats a parameter's value with as few characters as possible.
pub(crate) fn parameter(value: f64) -> String {
    minus(if value != 0.0 && !(1e-3..1e4).contains(&value.abs()) { format!("{value:e}") } else { value.to_string() })
}

/// Formats a duration with a suitable unit.
pub(crate) fn seconds(seconds: f64) -> String {
    match seconds {
        s if s < 9.95 => format!("{s:.2} s"),
        s if s < 99.95 => format!("{s:.1} s"),
        s if s < 3600.0 => format!("{} min {:02} s", (s / 60.0) as u64, (s % 60.0) as u64),
        s => format!("{} h {:02} min", (s / 3600.0) as u64, (s % 3600.0 / 60.0) as u64),
    }
}

/// Formats an amount of memory in MiB or GiB.
pub(crate) fn memory(mib: f64) -> String {
    if mib < 1024.0 { format!("{mib:.0} MiB") } else { format!("{:.2} GiB", mib / 1024.0) }
}

/// Formats seconds since 1970 as a date in UTC.
pub(crate) fn date(since_1970: u64) -> String {
    // Howard Hinnant, "chrono-compatible low-level date algorithms": years that begin in March, eras of 400 years.
    let (days, rest) = (since_1970 / 86_400 + 719_468, since_1970 % 86_400);
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    format!("{year}-{month:02}-{day:02} {:02}:{:02} UTC", rest / 3600, rest % 3600 / 60)
}

/// Sorts the values and returns their median, or `None` if there are none. For an even number of values, the median is
/// the mean of the middle two.
pub(crate) fn median(values: &mut [f64]) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    (!values.is_empty()).then(|| quantile(values, 0.5))
}

/// Returns the value below which a given share of the ascending values lies. The result is interpolated between
/// neighboring values.
///
/// # Panics
/// Panics without values.
pub(crate) fn quantile(ascending: &[f64], share: f64) -> f64 {
    let at = share * (ascending.len() - 1) as f64;
    let (below, above) = (ascending[at.floor() as usize], ascending[at.ceil() as usize]);
    below + (above - below) * at.fract()
}

fn minus(text: String) -> String {
    text.replace('-', "\u{2212}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_for_people() {
        assert_eq!(
            [measure(Some(0.45678)), measure(Some(-1.0)), measure(None)],
            ["0.4568", "\u{2212}1.0000", "\u{2013}"]
        );
        assert_eq!([count(7), count(1234), count(1_000_000)], ["7", "1\u{202f}234", "1\u{202f}000\u{202f}000"]);
        assert_eq!([counted(1, "query"), counted(5, "fold"), counted(0, "query")], ["1 query", "5 folds", "0 queries"]);
        assert_eq!(
            [figure(0.0), figure(12.0), figure(0.12345), figure(-1e-9)],
            ["0", "12", "0.1235", "\u{2212}1.000e\u{2212}9"]
        );
        assert_eq!([difference(0.5), difference(-0.25)], ["+0.5000", "\u{2212}0.2500"]);
        assert_eq!([p_value(0.04), p_value(0.00006), p_value(0.0)], ["0.0400", "0.0001", "< 0.0001"]);
        assert_eq!([parameter(0.003), parameter(1e-6), parameter(10000.0)], ["0.003", "1e\u{2212}6", "1e4"]);
        assert_eq!(
            [seconds(0.123), seconds(59.97), seconds(200.0), seconds(7500.0)],
            ["0.12 s", "60.0 s", "3 min 20 s", "2 h 05 min"]
        );
        assert_eq!([memory(63.4), memory(2048.0)], ["63 MiB", "2.00 GiB"]);
    }

    #[test]
    fn measures_that_are_always_1_or_0_are_left_out() {
        let row = |values: [f64; 4]| -> Measures {
            let names = ["ndcg", "mrr", "p@1", "map"].map(String::from).into_iter();
            names.zip(values.map(Value::from)).collect()
        };
        let rows = [row([1.0, 1.0, 0.0, 1.0]), row([1.0, 1.0, 0.0, 0.5])];
        let (shown, words) = varying(|| rows.iter(), "ndcg");
        assert_eq!(shown, ["ndcg", "map"]);
        assert_eq!(words, " Always 1, so not in the table: mrr. Always 0, so not in the table: p@1.");
    }

    #[test]
    fn terminals_show_numbers_in_ascii() {
        let numbers = [p_value(1e-9), measure(None), difference(-0.25), count(1_000_000)];
        assert_eq!(numbers.map(|number| ascii(&number)), ["<.0001", "-", "-0.2500", "1000000"]);
    }

    #[test]
    fn short_numbers_have_five_digits() {
        assert_eq!(
            [short(0.0), short(12.0), short(0.123456), short(12.3456789), short(-1e-9), short(f64::NAN)],
            ["0", "12", "0.12346", "12.346", "-1.000e-9", "unknown"]
        );
    }

    #[test]
    fn quantiles_lie_between_neighbors() {
        assert_eq!([0.0, 0.25, 0.5, 1.0].map(|share| quantile(&[1.0, 2.0, 4.0], share)), [1.0, 1.5, 2.0, 4.0]);
        assert_eq!(quantile(&[0.3], 0.75), 0.3);
        assert_eq!([median(&mut [3.0, 1.0, 2.0]), median(&mut [4.0, 1.0, 2.0, 3.0])], [Some(2.0), Some(2.5)]);
        assert_eq!(median(&mut []), None);
    }

    #[test]
    fn dates_follow_the_calendar() {
        assert_eq!(date(0), "1970-01-01 00:00 UTC");
        assert_eq!(date(951_782_400), "2000-02-29 00:00 UTC");
        assert_eq!(date(1_795_263_164), "2026-11-21 12:12 UTC");
    }
}
