//! Checks of the shapes and types of tensors before a primitive runs. Without these checks, tensors of different shapes
//! could be broadcast, or a kernel could read beyond the end of an array. The result would still look valid. Shapes and
//! types are known on the host, so the checks do not wait for a device.

use burn::tensor::Tensor;

/// Returns the text of an error, such as `labels are [1, 3], scores [2, 3]`.
pub(crate) fn difference(what: &str, found: &[usize], other: &str, expected: &[usize]) -> String {
    let verb = if what.ends_with('s') { "are" } else { "is" };
    format!("{what} {verb} {found:?}, {other} {expected:?}")
}

/// Panics unless all inputs of `function` have the same shape.
#[track_caller]
pub(crate) fn assert_same<const D: usize>(
    function: &str,
    (name, first): (&str, &Tensor<D>),
    others: &[(&str, &Tensor<D>)],
) {
    let expected = first.dims();
    for (what, other) in others {
        let found = other.dims();
        assert!(found == expected, "{function}: {}", difference(what, &found, name, &expected));
    }
}

/// Panics unless all inputs of `function` have the same shape and type.
#[track_caller]
pub(crate) fn assert_alike<const D: usize>(
    function: &str,
    (name, first): (&str, &Tensor<D>),
    others: &[(&str, &Tensor<D>)],
) {
    assert_same(function, (name, first), others);
    for (what, other) in others {
        assert_type(function, (name, first), (what, other));
    }
}

/// Panics unless two inputs of `function` have the same type.
#[track_caller]
pub(crate) fn assert_type<const D: usize>(
    function: &str,
    (name, first): (&str, &Tensor<D>),
    (what, other): (&str, &Tensor<D>),
) {
    let (found, expected) = (other.dtype(), first.dtype());
    assert!(found == expected, "{function}: {what} of type {found:?}, {name} of type {expected:?}");
}

/// Panics unless `table` has one entry for each rank of the tensor in `ranked`; the message begins with `function`.
#[track_caller]
pub(crate) fn assert_entry_per_rank(function: &str, (name, table): (&str, &[f64]), ranked: (&str, &Tensor<2>)) {
    let shape = ranked.1.dims();
    assert!(
        table.len() == shape[1],
        "{function}: {} (one entry per rank)",
        difference(name, &[table.len()], ranked.0, &shape)
    );
}

#[cfg(test)]
mod tests {
    use super::difference;

    #[test]
    fn a_refusal_names_both_shapes() {
        assert_eq!(difference("labels", &[1, 3], "scores", &[2, 3]), "labels are [1, 3], scores [2, 3]");
        assert_eq!(difference("mask", &[2, 1], "scores", &[2, 3]), "mask is [2, 1], scores [2, 3]");
    }
}
