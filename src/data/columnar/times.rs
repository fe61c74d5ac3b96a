//! Converts columns of numbers, dates and times to numbers that increase with time.

use arrow_array::{Array, Float64Array, downcast_primitive_array};
use arrow_buffer::ArrowNativeType;
use arrow_schema::{ArrowError, DataType, TimeUnit};

use super::values::{doubles, is_text, no_conversion, texts};

/// The number of microseconds in a second.
const SECOND: i64 = 1_000_000;

/// The number of microseconds in a day.
const DAY: i64 = 86_400 * SECOND;

/// Converts a column of numbers, dates or times to numbers that increase with time. The second result tells whether the
/// column holds dates or times, which become microseconds. Text is read as a number, date or time. Values that cannot be
/// read become null.
pub(super) fn times(column: &dyn Array) -> Result<(Float64Array, bool), ArrowError> {
    if column.data_type().is_temporal() {
        return Ok((moments(column)?, true));
    }
    if !is_text(column.data_type()) {
        return Ok((doubles(column)?, false));
    }
    let texts = texts(column)?;
    let read = |text: Option<&str>| text?.trim().parse::<f64>().ok();
    let numbers: Float64Array = texts.iter().map(read).collect();
    if numbers.null_count() == texts.null_count() {
        return Ok((numbers, false));
    }
    Ok((texts.iter().map(|text| Some(moment(text?.trim())? as f64)).collect(), true))
}

/// Converts dates and points in time to microseconds. Times of day and durations keep their unit.
fn moments(column: &dyn Array) -> Result<Float64Array, ArrowError> {
    let (factor, divisor) = match column.data_type() {
        DataType::Date32 => (DAY, 1),
        DataType::Date64 | DataType::Timestamp(TimeUnit::Millisecond, _) => (1000, 1),
        DataType::Timestamp(TimeUnit::Second, _) => (SECOND, 1),
        DataType::Timestamp(TimeUnit::Nanosecond, _) => (1, 1000),
        other @ DataType::Interval(_) => return Err(no_conversion(other, "numbers")),
        _ => (1, 1),
    };
    Ok(downcast_primitive_array!(
        column => column.iter().map(|value| Some((value?.to_i64()?.checked_mul(factor)? / divisor) as f64)).collect(),
        other => return Err(no_conversion(other, "numbers")),
    ))
}

/// Reads a date with or without a time (ISO 8601), as `2024-05-01`, `2024-05-01T10:30`, `2024-05-01 10:30:59.25Z` or
/// `2024-05-01 103059+02:00`. Returns the microseconds since 1970; a time without a zone is in UTC.
fn moment(text: &str) -> Option<i64> {
    let (date, rest) = text.split_at_checked(10)?;
    let [year, month, day] = numbers(date, "0000-00-00")?;
    let midnight = days_before(year, month, day)? * DAY;
    if rest.is_empty() {
        return Some(midnight);
    }
    let time = rest.strip_prefix(['T', 't', ' '])?;
    let places = ["00:00:00", "00:00", "000000"].into_iter().find_map(|like| {
        let (time, rest) = time.split_at_checked(like.len())?;
        Some((numbers(time, like)?, rest))
    });
    let ([hour, minute, second], mut zone) = places?;
    if hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    let mut micros = ((hour * 60 + minute) * 60 + second) * SECOND;
    if let Some(fraction) = zone.strip_prefix('.') {
        zone = fraction.trim_start_matches(|c: char| c.is_ascii_digit());
        let digits = &fraction[..fraction.len() - zone.len()];
        let kept = &digits[..digits.len().min(6)];
        micros += kept.parse::<i64>().ok()? * 10i64.pow(6 - kept.len() as u32);
    }
    Some(midnight + micros - offset(zone.trim_start())?)
}

/// Reads the difference of a time zone from UTC, as `+02:00`, `-0830` or `+02`, and returns its microseconds.
fn offset(zone: &str) -> Option<i64> {
    if matches!(zone, "" | "Z" | "z") {
        return Some(0);
    }
    let sign = if zone.starts_with('-') { -1 } else { 1 };
    let digits = zone.strip_prefix(['+', '-'])?;
    let [hours, minutes, _] = ["00:00", "0000", "00"].into_iter().find_map(|like| numbers(digits, like))?;
    (hours < 24).then_some(sign * (hours * 60 + minutes) * 60 * SECOND)
}

/// Reads the numbers in a text whose characters are those of `like`, which has a 0 for each digit. The first number
/// of a date has four digits, and all other numbers have two. Missing numbers are 0.
fn numbers(text: &str, like: &str) -> Option<[i64; 3]> {
    let is_like = |(byte, like): (u8, u8)| if like == b'0' { byte.is_ascii_digit() } else { byte == like };
    if text.len() != like.len() || !text.bytes().zip(like.bytes()).all(is_like) {
        return None;
    }
    let first = if like.contains('-') { 4 } else { 2 };
    let digits: String = text.chars().filter(char::is_ascii_digit).collect();
    let (start, rest) = digits.split_at(first);
    let number = |at: usize| rest.get(at..at + 2).map_or(Some(0), |number| number.parse().ok());
    Some([start.parse().ok()?, number(0)?, number(2)?])
}

/// Returns the number of days from 1970-01-01 to a day of the Gregorian calendar; `None` if there is no such day.
fn days_before(year: i64, month: i64, day: i64) -> Option<i64> {
    let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let lengths = [31, 28 + i64::from(is_leap), 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let before = usize::try_from(month - 1).ok().filter(|month| *month < lengths.len())?;
    if !(1..=lengths[before]).contains(&day) {
        return None;
    }
    // A leap day belongs to the years after it.
    let past = year - 1;
    let leap_days = past.div_euclid(4) - past.div_euclid(100) + past.div_euclid(400);
    // 719,162 days before 1970, from the year 1.
    Some(past * 365 + leap_days - 719_162 + lengths[..before].iter().sum::<i64>() + day - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_and_times_are_microseconds_since_1970() {
        for (text, seconds) in [
            ("1970-01-01", 0),
            ("2000-02-29", 951_782_400),
            ("2024-05-01T10:30", 1_714_559_400),
            ("2024-05-01 10:30:59Z", 1_714_559_459),
            ("2024-05-01t103059", 1_714_559_459),
            ("2024-05-01T12:30:59+02:00", 1_714_559_459),
            ("2024-05-01T12:30+0200", 1_714_559_400),
            ("2024-05-01 02:30:59 -08", 1_714_559_459),
            ("2016-12-31T23:59:60z", 1_483_228_800),
            ("1969-12-31T23:59:59", -1),
            ("0001-01-01", -62_135_596_800),
        ] {
            assert_eq!(moment(text), Some(seconds * SECOND), "{text}");
        }
        assert_eq!(moment("1970-01-01T00:00:00.25"), Some(250_000));
        assert_eq!(moment("1970-01-01T00:00:00.1234567899+00:00"), Some(123_456));
        for text in [
            "",
            "2024",
            "2024-5-1",
            "2023-02-29",
            "2024-13-01",
            "2024-05-00",
            "2024-05-01x",
            "2024-05-01T",
            "2024-05-01T24:00",
            "2024-05-01T10:60",
            "2024-05-01T10:30:61",
            "2024-05-01T10:30:00.",
            "2024-05-01T10:30 PST",
            "2024-05-01T10:30+2",
            "2024-05-01T10:30:5",
            "2024-05-0é",
        ] {
            assert_eq!(moment(text), None, "{text}");
        }
    }
}
