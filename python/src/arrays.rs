//! Arrays of numpy as slices. What does not fit is refused by the name of the argument; nothing is converted unseen.

use numpy::{
    Element, PyArrayDescrMethods, PyArrayDyn, PyArrayMethods, PyReadonlyArrayDyn, PyUntypedArray,
    PyUntypedArrayMethods, dtype,
};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;

/// The requirements on an argument: its name, its dtype in words, and the name of each dimension.
#[derive(Clone, Copy)]
pub struct Wanted {
    pub name: &'static str,
    pub dimensions: &'static [&'static str],
}

impl Wanted {
    fn shape(self) -> String {
        match self.dimensions {
            [only] => format!("({only},)"),
            several => format!("({})", several.join(", ")),
        }
    }
}

fn shape_text(shape: &[usize]) -> String {
    match shape {
        [only] => format!("({only},)"),
        several => format!("({})", several.iter().map(usize::to_string).collect::<Vec<_>>().join(", ")),
    }
}

/// The array of an argument, of whatever dtype.
///
/// # Errors
/// `TypeError` for what is no array, `ValueError` for another number of dimensions.
pub fn untyped<'a, 'py>(wanted: Wanted, value: &'a Bound<'py, PyAny>) -> PyResult<&'a Bound<'py, PyUntypedArray>> {
    let Wanted { name, dimensions } = wanted;
    let array = value.cast::<PyUntypedArray>().map_err(|_| {
        let found = value.get_type().name().map_or_else(|_| "another type".to_string(), |name| name.to_string());
        PyTypeError::new_err(format!("{name}: found {found}, expected a numpy array"))
    })?;
    if array.ndim() != dimensions.len() {
        let (found, expected) = (shape_text(array.shape()), wanted.shape());
        return Err(PyValueError::new_err(format!("{name}: found shape {found}, expected {expected}")));
    }
    Ok(array)
}

/// Whether an array has this dtype, in the byte order of the machine.
pub fn is<T: Element>(array: &Bound<'_, PyUntypedArray>) -> bool {
    array.dtype().is_equiv_to(&dtype::<T>(array.py()))
}

/// The dtype of an array in words.
pub fn dtype_text(array: &Bound<'_, PyUntypedArray>) -> String {
    array.dtype().to_string()
}

/// `TypeError` for an array of a dtype that is not taken.
pub fn wrong_dtype(name: &str, array: &Bound<'_, PyUntypedArray>, expected: &str) -> PyErr {
    PyTypeError::new_err(format!("{name}: found dtype {}, expected {expected}", dtype_text(array)))
}

/// The array of an argument as it lies in memory, without a copy.
///
/// # Errors
/// `TypeError` for another dtype; `ValueError` for an order of memory in which rows do not follow one another, and for
/// numbers at addresses that the processor cannot read them from.
pub fn exact<'py, T: Element>(
    wanted: Wanted,
    value: &Bound<'py, PyAny>,
    expected: &str,
) -> PyResult<PyReadonlyArrayDyn<'py, T>> {
    let name = wanted.name;
    let array = untyped(wanted, value)?;
    if !is::<T>(array) {
        return Err(wrong_dtype(name, array, expected));
    }
    if !array.is_c_contiguous() || !array.is_aligned() {
        let found = match (array.is_aligned(), array.is_fortran_contiguous()) {
            (false, _) => "memory that is not aligned",
            (_, true) => "memory in Fortran order",
            _ => "memory with gaps (a slice or a view)",
        };
        let advice = format!("expected C order, which numpy.ascontiguousarray({name}) makes");
        return Err(PyValueError::new_err(format!("{name}: found {found}, {advice}")));
    }
    let array = value.cast::<PyArrayDyn<T>>().map_err(|_| wrong_dtype(name, array, expected))?;
    array.try_readonly().map_err(|error| PyValueError::new_err(format!("{name}: {error}")))
}

/// An argument of labels or numbers per query: real or whole numbers of any dtype and order, converted to `T` where
/// they are not such an array already.
///
/// # Errors
/// `TypeError` for other dtypes, `ValueError` for another number of dimensions.
pub fn converted<'py, T: Element>(wanted: Wanted, value: &Bound<'py, PyAny>) -> PyResult<PyReadonlyArrayDyn<'py, T>> {
    let array = untyped(wanted, value)?;
    if !matches!(array.dtype().kind(), b'b' | b'i' | b'u' | b'f') {
        return Err(wrong_dtype(wanted.name, array, "real or whole numbers"));
    }
    let kept = is::<T>(array) && array.is_c_contiguous() && array.is_aligned();
    if kept {
        return exact(wanted, value, "");
    }
    let py = value.py();
    let made = py.import("numpy")?.call_method1("ascontiguousarray", (value, dtype::<T>(py)))?;
    exact(wanted, &made, "")
}

/// The slice of an array that has passed the checks above.
pub fn slice<'a, T: Element>(name: &str, array: &'a PyReadonlyArrayDyn<'_, T>) -> PyResult<&'a [T]> {
    array.as_slice().map_err(|error| PyValueError::new_err(format!("{name}: {error}")))
}

/// Documents of each query, as the library takes them. All documents are of one query where there are no sizes.
///
/// # Errors
/// `TypeError` for what is not an array of whole numbers; `ValueError` for a number below 0, and for a sum other than
/// the number of documents of the argument `of`.
pub fn query_sizes(value: Option<&Bound<'_, PyAny>>, documents: usize, of: &str) -> PyResult<Vec<usize>> {
    const NAME: &str = "query_sizes";
    let Some(value) = value else { return Ok(vec![documents]) };
    let wanted = Wanted { name: NAME, dimensions: &["queries"] };
    let array = untyped(wanted, value)?;
    if !matches!(array.dtype().kind(), b'i' | b'u') {
        return Err(wrong_dtype(NAME, array, "whole numbers"));
    }
    let array = converted::<i64>(wanted, value)?;
    let mut sizes = Vec::with_capacity(array.len());
    let mut sum = 0usize;
    for (query, &size) in slice(NAME, &array)?.iter().enumerate() {
        let size = usize::try_from(size)
            .map_err(|_| PyValueError::new_err(format!("{NAME}[{query}]: found {size}, expected 0 or more")))?;
        sum = sum.saturating_add(size);
        sizes.push(size);
    }
    if sum != documents {
        return Err(PyValueError::new_err(format!(
            "{NAME}: found a sum of {sum}, expected {documents}, the documents of {of}"
        )));
    }
    Ok(sizes)
}
