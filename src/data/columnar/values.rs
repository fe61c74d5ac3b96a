//! Converts columns of any type to floats or text, and columns of dates and times to numbers that increase with time.

use arrow_array::cast::AsArray;
use arrow_array::types::{Float16Type, Float32Type, Float64Type};
use arrow_array::{
    Array, ArrayRef, Float32Array, Float64Array, LargeStringArray, RecordBatch, downcast_integer_array,
    downcast_primitive_array,
};
use arrow_buffer::{ArrowNativeType, ScalarBuffer};
use arrow_schema::{ArrowError, DataType, TimeUnit};

use crate::data::options::MISSING_HINT;
use crate::parallel;
use crate::text::shortened;

/// The largest number of characters of a value that a message shows.
pub(super) const SHOWN: usize = 40;

/// The number of rows that a thread transposes at a time.
const BLOCK: usize = 256;

/// Converts a column of numbers or truth values to the nearest floats; nulls stay nulls.
pub(super) fn floats(column: &dyn Array) -> Result<Float32Array, ArrowError> {
    Ok(downcast_integer_array!(
        column => column.unary(|number| number as f32),
        DataType::Float16 => column.as_primitive::<Float16Type>().unary(|number| number.to_f32()),
        DataType::Float32 => column.as_primitive().clone(),
        DataType::Float64 => column.as_primitive::<Float64Type>().unary(|number| number as f32),
        DataType::Boolean => column.as_boolean().iter().map(|value| Some(f32::from(u8::from(value?)))).collect(),
        other => return Err(no_conversion(other, "numbers")),
    ))
}

/// Converts a column of numbers or truth values to the nearest doubles; nulls stay nulls.
fn doubles(column: &dyn Array) -> Result<Float64Array, ArrowError> {
    Ok(downcast_integer_array!(
        column => column.unary(|number| number as f64),
        DataType::Float64 => column.as_primitive().clone(),
        _ => floats(column)?.unary(f64::from),
    ))
}

/// Returns whether a column holds text, perhaps in a dictionary.
pub(super) fn is_text(data_type: &DataType) -> bool {
    match data_type {
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => true,
        DataType::Dictionary(_, values) => is_text(values),
        _ => false,
    }
}

/// Converts a column of identifiers to text; nulls stay nulls. In a column of floats, only whole numbers that the type
/// holds exactly are identifiers; all other numbers become null.
pub(super) fn texts(column: &dyn Array) -> Result<LargeStringArray, ArrowError> {
    Ok(downcast_integer_array!(
        column => column.iter().map(|number| Some(number?.to_string())).collect(),
        DataType::Utf8 => column.as_string::<i32>().iter().collect(),
        DataType::LargeUtf8 => column.as_string().clone(),
        DataType::Utf8View => column.as_string_view().iter().collect(),
        DataType::Dictionary(_, _) => {
            let dictionary = column.as_any_dictionary();
            let (keys, values) = (dictionary.keys(), texts(dictionary.values())?);
            let value = |key: usize| (key < values.len() && values.is_valid(key)).then(|| values.value(key));
            downcast_integer_array!(
                keys => keys.iter().map(|key| value(key?.to_usize()?)).collect(),
                other => return Err(no_conversion(other, "keys")),
            )
        }
        DataType::Float16 => whole_numbers(column, 11)?,
        DataType::Float32 => whole_numbers(column, f32::MANTISSA_DIGITS)?,
        DataType::Float64 => whole_numbers(column, f64::MANTISSA_DIGITS)?,
        other => return Err(no_conversion(other, "text")),
    ))
}

/// Converts whole numbers to text; numbers that do not fit in `bits` bits become null, and so do all other numbers.
fn whole_numbers(column: &dyn Array, bits: u32) -> Result<LargeStringArray, ArrowError> {
    let is_exact = |number: f64| number.fract() == 0.0 && number.abs() < (1u64 << bits) as f64;
    let text = |number: Option<f64>| Some(number.filter(|number| is_exact(*number))?.to_string());
    Ok(doubles(column)?.iter().map(text).collect())
}

fn no_conversion(from: &DataType, to: &str) -> ArrowError {
    ArrowError::CastError(format!("a column of type {from} holds no {to}"))
}

/// Returns floats with NaN in place of nulls. Without nulls, the array's own values are returned.
pub(super) fn with_nan(floats: &Float32Array) -> ScalarBuffer<f32> {
    if floats.null_count() == 0 {
        return floats.values().clone();
    }
    floats.iter().map(|value| value.unwrap_or(f32::NAN)).collect::<Vec<f32>>().into()
}

/// Returns a value as text for messages.
pub(super) fn shown(column: &dyn Array, row: usize) -> String {
    if column.is_null(row) {
        return "null".to_owned();
    }
    let value = column.slice(row, 1);
    let text = match value.data_type() {
        DataType::Boolean => value.as_boolean().value(0).to_string(),
        DataType::Float64 => format!("{:?}", value.as_primitive::<Float64Type>().value(0)),
        data_type if data_type.is_floating() => {
            floats(&value).map(|float| format!("{:?}", float.value(0))).unwrap_or_default()
        }
        _ => match texts(&value) {
            Ok(text) => text.value(0).to_owned(),
            Err(_) => "a value".to_owned(),
        },
    };
    if text.is_empty() { "an empty text".to_owned() } else { shortened(&text, SHOWN) }
}

/// The first row whose list is null or differs in length from the others, with the length of its list.
pub(super) type Uneven = (usize, Option<usize>);

/// Returns the items of a column whose lists all have the length `width`.
pub(super) fn items(column: &dyn Array, width: usize) -> Result<ArrayRef, Uneven> {
    if let Some(row) = (0..column.len()).find(|&row| column.is_null(row)).filter(|_| column.null_count() > 0) {
        return Err((row, None));
    }
    if let Some(lists) = column.as_fixed_size_list_opt() {
        return Ok(lists.values().slice(lists.value_offset_at(0), lists.len() * width));
    }
    let (offsets, values): (Vec<usize>, &ArrayRef) = match (column.as_list_opt::<i32>(), column.as_list_opt::<i64>()) {
        (Some(lists), _) => (lists.value_offsets().iter().map(|&at| at as usize).collect(), lists.values()),
        (_, Some(lists)) => (lists.value_offsets().iter().map(|&at| at as usize).collect(), lists.values()),
        (None, None) => return Err((0, None)),
    };
    match offsets.windows(2).position(|ends| ends[1] - ends[0] != width) {
        Some(row) => Err((row, Some(offsets[row + 1] - offsets[row]))),
        None => Ok(values.slice(offsets[0], column.len() * width)),
    }
}

/// Returns the items of lists with `width` floats each, without copying them; `None` if there are nulls.
pub(super) fn plain_items(column: &dyn Array, width: usize) -> Option<ScalarBuffer<f32>> {
    let items = items(column, width).ok()?;
    let floats = items.as_primitive_opt::<Float32Type>()?;
    (floats.null_count() == 0).then(|| floats.values().clone())
}

/// Returns the length of the first list.
pub(super) fn first_length(column: &dyn Array) -> usize {
    let large = || column.as_list_opt::<i64>().map(|lists| lists.value_length(0) as usize);
    column.as_list_opt::<i32>().map(|lists| lists.value_length(0) as usize).or_else(large).unwrap_or(0)
}

/// Joins columns into row-major values, with NaN in place of nulls.
pub(super) fn side_by_side(batch: &RecordBatch, columns: &[usize]) -> Result<ScalarBuffer<f32>, ArrowError> {
    let width = columns.len();
    let floats = |&column: &usize| Ok(with_nan(&floats(batch.column(column))?));
    let columns: Vec<ScalarBuffer<f32>> = columns.iter().map(floats).collect::<Result<_, ArrowError>>()?;
    let mut values = vec![0.0; batch.num_rows() * width];
    parallel::for_each(values.chunks_mut(BLOCK * width).enumerate(), |(block, rows)| {
        for (place, column) in columns.iter().enumerate() {
            let column = &column[block * BLOCK..];
            for (row, value) in rows.chunks_exact_mut(width).zip(column) {
                row[place] = *value;
            }
        }
    });
    Ok(values.into())
}

/// The number of microseconds in a second.
const SECOND: i64 = 1_000_000;

/// The number of microseconds in a day.
const DAY: i64 = 86_400 * SECOND;

/// Converts a column of numbers, dates or times to numbers that increase with time. The second result tells whether the
/// column holds dates or times, which become microseconds. Text is read as a number, date or time. Values that cannot
/// be read become null.
pub(super) fn times(column: &dyn Array) -> Result<(Float64Array, bool), ArrowError> {
    if column.data_type().is_temporal() {
        return Ok((moments(column)?, true));
    }
    if !is_text(column.data_type()) {
        return Ok((doubles(column)?, false));
    }
    let texts = texts(column)?;
    let read = |text: Option<&str>| text?.trim().parse::<f64>().ok();
    // The first value says what the column holds, so that a later value that does not fit is the one at fault.
    if texts.iter().flatten().next().is_none_or(|first| read(Some(first)).is_some()) {
        return Ok((texts.iter().map(read).collect(), false));
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

/// Reads the numbers in a text that has the form of `like`, in which each 0 stands for a digit. The first number of a
/// date has four digits, and all other numbers have two. Missing numbers are 0.
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

/// Returns what is expected in place of a value of a feature, counted from 0, that cannot be used.
pub(super) fn finite_value(feature: usize, value: f32) -> String {
    let hint = if value.is_nan() { format!(" ({MISSING_HINT})") } else { String::new() };
    format!("a finite value of feature {}{hint}", feature + 1)
}

/// Returns whether a field stands for a missing value.
pub(super) fn is_missing(text: &str) -> bool {
    let text = text.trim();
    text.is_empty() || ["null", "nan", "na", "n/a", "none"].iter().any(|word| text.eq_ignore_ascii_case(word))
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
