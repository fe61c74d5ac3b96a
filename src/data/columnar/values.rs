//! Converts columns of any type to floats or text.

use arrow_array::cast::AsArray;
use arrow_array::types::{Float16Type, Float32Type, Float64Type};
use arrow_array::{Array, ArrayRef, Float32Array, Float64Array, LargeStringArray, RecordBatch, downcast_integer_array};
use arrow_buffer::{ArrowNativeType, ScalarBuffer};
use arrow_schema::{ArrowError, DataType};

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
pub(super) fn doubles(column: &dyn Array) -> Result<Float64Array, ArrowError> {
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

pub(super) fn no_conversion(from: &DataType, to: &str) -> ArrowError {
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
