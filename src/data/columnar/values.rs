//! Converts columns of any type to floats or text.

use std::borrow::Cow;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float32Type, Float64Type};
use arrow_array::{Array, ArrayRef, Float32Array, Float64Array, LargeStringArray, RecordBatch};
use arrow_buffer::ScalarBuffer;
use arrow_cast::{cast, display::array_value_to_string};
use arrow_schema::{ArrowError, DataType, TimeUnit};
use rayon::prelude::*;

use crate::text::shortened;

/// The largest number of characters of a value that a message shows.
pub(super) const SHOWN: usize = 40;

/// The number of rows that a thread transposes at a time.
const BLOCK: usize = 256;

/// Converts a column to the nearest floats; nulls stay nulls.
pub(super) fn floats(column: &dyn Array) -> Result<Float32Array, ArrowError> {
    let as_floats = match column.as_primitive_opt::<Float32Type>() {
        Some(floats) => return Ok(floats.clone()),
        None => cast(column, &DataType::Float32)?,
    };
    Ok(as_floats.as_primitive::<Float32Type>().clone())
}

/// Converts a column of identifiers to text; nulls stay nulls. In a column of floats, only whole numbers that the type
/// holds exactly are identifiers; all other numbers become null.
pub(super) fn texts(column: &dyn Array) -> Result<LargeStringArray, ArrowError> {
    let bits = match column.data_type() {
        DataType::Float16 => 11,
        DataType::Float32 => f32::MANTISSA_DIGITS,
        DataType::Float64 => f64::MANTISSA_DIGITS,
        _ => return Ok(cast(column, &DataType::LargeUtf8)?.as_string::<i64>().clone()),
    };
    let is_exact = |number: f64| number.fract() == 0.0 && number.abs() < (1u64 << bits) as f64;
    let text = |number: f64| is_exact(number).then(|| number.to_string());
    let numbers = cast(column, &DataType::Float64)?;
    Ok(numbers.as_primitive::<Float64Type>().iter().map(|number| number.and_then(text)).collect())
}

/// Converts a column of numbers, dates or times to numbers that increase with time. The second result tells whether the
/// column holds dates or times. Text is read as a number, date or time. Values that cannot be read become null.
pub(super) fn times(column: &dyn Array) -> Result<(Float64Array, bool), ArrowError> {
    let seconds = DataType::Timestamp(TimeUnit::Microsecond, None);
    let numbers = |column: &dyn Array| -> Result<Float64Array, ArrowError> {
        Ok(cast(column, &DataType::Float64)?.as_primitive::<Float64Type>().clone())
    };
    let is_text = matches!(column.data_type(), DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View);
    if column.data_type().is_temporal() {
        let micros = match column.data_type() {
            DataType::Time32(_) | DataType::Time64(_) | DataType::Duration(_) | DataType::Interval(_) => {
                cast(column, &DataType::Int64)?
            }
            _ => cast(column, &seconds)?,
        };
        return Ok((numbers(&cast(&micros, &DataType::Int64)?)?, true));
    }
    let plain = numbers(column)?;
    if !is_text || plain.null_count() == column.null_count() {
        return Ok((plain, false));
    }
    let texts: LargeStringArray = texts(column)?.iter().map(|text| text.map(with_seconds)).collect();
    Ok((numbers(&cast(&cast(&texts, &seconds)?, &DataType::Int64)?)?, true))
}

/// Returns a date with a time as `2024-05-01T10:30`, with or without a zone, with seconds, which ISO 8601 lets out.
fn with_seconds(text: &str) -> Cow<'_, str> {
    const MINUTES: usize = "2024-05-01T10:30".len();
    let is_like = |(byte, like): (u8, u8)| if like == b'0' { byte.is_ascii_digit() } else { byte == like };
    match text.trim().split_at_checked(MINUTES) {
        Some((start, zone))
            if matches!(start.as_bytes()[10], b'T' | b't' | b' ')
                && start.bytes().zip(*b"0000-00-00").all(is_like)
                && start.bytes().skip(11).zip(*b"00:00").all(is_like)
                && !zone.starts_with(':') =>
        {
            Cow::Owned(format!("{start}:00{zone}"))
        }
        _ => Cow::Borrowed(text),
    }
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
    match array_value_to_string(column, row) {
        Ok(text) if text.is_empty() => "an empty text".to_owned(),
        Ok(text) => shortened(&text, SHOWN),
        Err(_) => "a value".to_owned(),
    }
}

/// The first row whose list is null or differs in length from the others, with the length of its list.
pub(super) struct Uneven {
    pub row: usize,
    pub length: Option<usize>,
}

/// Returns the items of a column whose lists all have the length `width`.
pub(super) fn items(column: &dyn Array, width: usize) -> Result<ArrayRef, Uneven> {
    if let Some(row) = (0..column.len()).find(|&row| column.is_null(row)).filter(|_| column.null_count() > 0) {
        return Err(Uneven { row, length: None });
    }
    if let Some(lists) = column.as_fixed_size_list_opt() {
        return Ok(lists.values().slice(lists.value_offset_at(0), lists.len() * width));
    }
    let (offsets, values): (Vec<usize>, &ArrayRef) = match (column.as_list_opt::<i32>(), column.as_list_opt::<i64>()) {
        (Some(lists), _) => (lists.value_offsets().iter().map(|&at| at as usize).collect(), lists.values()),
        (_, Some(lists)) => (lists.value_offsets().iter().map(|&at| at as usize).collect(), lists.values()),
        (None, None) => return Err(Uneven { row: 0, length: None }),
    };
    match offsets.windows(2).position(|ends| ends[1] - ends[0] != width) {
        Some(row) => Err(Uneven { row, length: Some(offsets[row + 1] - offsets[row]) }),
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
    let lists = |lists: Option<usize>| lists.unwrap_or(0);
    match column.as_list_opt::<i32>() {
        Some(list) => list.value_length(0) as usize,
        None => lists(column.as_list_opt::<i64>().map(|list| list.value_length(0) as usize)),
    }
}

/// Joins columns into row-major values, with NaN in place of nulls.
pub(super) fn side_by_side(batch: &RecordBatch, columns: &[usize]) -> Result<ScalarBuffer<f32>, ArrowError> {
    let width = columns.len();
    let floats = |&column: &usize| Ok(with_nan(&floats(batch.column(column))?));
    let columns: Vec<ScalarBuffer<f32>> = columns.iter().map(floats).collect::<Result<_, ArrowError>>()?;
    let mut values = vec![0.0; batch.num_rows() * width];
    values.par_chunks_mut(BLOCK * width).enumerate().for_each(|(block, rows)| {
        for (place, column) in columns.iter().enumerate() {
            let column = &column[block * BLOCK..];
            for (row, value) in rows.chunks_exact_mut(width).zip(column) {
                row[place] = *value;
            }
        }
    });
    Ok(values.into())
}
