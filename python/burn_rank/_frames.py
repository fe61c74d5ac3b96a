"""Reads features, labels, queries and weights from the columns of pandas and polars data frames."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

#: The uses of a column, with the default names of columns for each use.
USUAL: dict[str, tuple[str, ...]] = {
    "label": ("label",),
    "query": ("query", "qid"),
    "id": ("document", "docid"),
    "weight": ("weight",),
}


@dataclass(frozen=True)
class Frame:
    """The contents of a data frame, in the order of its rows."""

    features: NDArray[np.float32]
    names: list[str]
    labels: NDArray[Any] | None
    queries: NDArray[Any] | None
    weights: NDArray[np.float32] | None


def read(
    X: Any, columns: Mapping[str, Any], known: Sequence[str] | None, needs_label: bool, needs_query: bool
) -> Frame:
    """Reads features, labels, queries and weights from the columns of a data frame.

    ``columns`` has the keys of ``[data.columns]`` in a configuration. Every other column is a feature. ``known`` names
    the features of a fitted estimator; then only these features are read, by name. A name that is no text stands for
    its text.
    """
    given = list(getattr(X, "columns", []))
    names = [str(name) for name in given]
    if not names:
        found = type(X).__name__
        raise TypeError(f"X: found {found}, expected a data frame of pandas or polars, whose columns `columns` names")
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"X: found two columns {twice!r}, expected a name of its own for each")
    column_of = dict(zip(names, given, strict=True))
    unknown = next((key for key in columns if key not in (*USUAL, "drop")), None)
    if unknown is not None:
        raise ValueError(f"columns: unknown key {unknown!r}, expected {', '.join(USUAL)} or drop{_near(unknown, USUAL)}")
    drop = columns.get("drop", [])
    drop = [drop] if isinstance(drop, str) else [str(name) for name in drop]
    # Documents to be scored have no identifiers and no weights yet.
    needed = {"label": needs_label, "query": needs_query, "id": known is None, "weight": known is None}
    place = {use: _place(use, columns.get(use), names, drop, needed[use], known is None) for use in USUAL}
    if place["label"] is None and needs_label:
        raise ValueError(f"X: found columns {_shown(names)}, expected a column 'label', or another by columns['label']")
    if known is None:
        lacking = next((name for name in drop if name not in names), None)
        if lacking is not None:
            raise ValueError(f"X: found no column {lacking!r} (columns['drop']){_near(lacking, names)}")
        others = {*drop, *(name for name in place.values() if name is not None)}
        features = [name for name in names if name not in others]
        if not features:
            raise ValueError("X: found no column of a feature, expected at least one")
    else:
        features = list(known)
        lacking = [name for name in features if name not in names]
        if lacking:
            columns = f"no column {lacking[0]!r}" if len(lacking) == 1 else f"no columns {_shown(lacking)}"
            raise ValueError(f"X: found {columns}, expected one of each feature of fit{_near(lacking[0], names)}")
    values = np.empty((len(X), len(features)), np.float32)
    for at, name in enumerate(features):
        values[:, at] = _numbers(X[column_of[name]], name, [*drop, name])
    label, query = place["label"], place["query"]
    # As in a configuration, a column of weights is read only if ``columns`` names it.
    weight = None if columns.get("weight") is None or known is not None else place["weight"]
    return Frame(
        features=values,
        names=features,
        labels=None if label is None or not needs_label else _numbers(X[column_of[label]], label),
        queries=None if query is None else array(X[column_of[query]]),
        weights=None if weight is None else _numbers(X[column_of[weight]], weight),
    )


def _place(use: str, asked: Any, names: list[str], drop: list[str], is_needed: bool, is_fit: bool) -> str | None:
    """Returns the column of a use, if there is one. A fit looks for every use, since such a column is no feature."""
    there = [name for name in names if name not in drop]
    if asked is not None:
        if str(asked) in there:
            return str(asked)
        if not is_needed:
            return None
        raise ValueError(f"X: found no column {str(asked)!r} (columns[{use!r}]){_near(str(asked), there)}")
    usual = [name for name in USUAL[use] if name in there]
    if len(usual) > 1 and (is_needed or is_fit):
        raise ValueError(f"X: found columns {_shown(usual)}, expected one of them, or columns[{use!r}]")
    return usual[0] if len(usual) == 1 else None


def _numbers(column: Any, name: str, drop: Sequence[str] = ()) -> NDArray[np.float32]:
    """Returns a column of numbers, with NaN for missing values."""
    values = array(column)
    is_number = values.dtype.kind in "fiub"
    if values.dtype.kind == "O":
        is_number = all(value is None or isinstance(value, (bool, int, float, np.number)) for value in values)
    if not is_number:
        drops = f" (columns['drop'] = {list(drop)} leaves it out)" if drop else ""
        raise ValueError(f"X: found column {name!r} of type {column.dtype}, expected numbers{drops}")
    return values.astype(np.float32)


def array(column: Any) -> NDArray[Any]:
    """Returns a column or any other sequence as an array, with None for missing values of a special type."""
    try:
        return np.asarray(column.to_numpy(na_value=None) if column.isna().any() else column.to_numpy())
    except AttributeError:
        return np.asarray(column)


def together(queries: NDArray[Any]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Returns an order of the rows that groups them by query, and the number of documents of each query.

    Queries are in the order of their first rows.
    """
    of_row = numbered(queries, "X")
    return np.argsort(of_row, kind="stable"), np.bincount(of_row)


def numbered(queries: NDArray[Any], argument: str) -> NDArray[np.intp]:
    """Returns the number of the query of each row. Queries are numbered in the order of their first rows."""
    if any(query is None or query != query for query in queries):
        raise ValueError(f"{argument}: found a row without a query, expected the query of each document")
    number: dict[Any, int] = {}
    return np.array([number.setdefault(query, len(number)) for query in queries], np.intp)


def _shown(names: Sequence[str]) -> str:
    more = f", ... ({len(names)} in all)" if len(names) > 8 else ""
    return ", ".join(repr(name) for name in names[:8]) + more


def _near(name: str, names: Any) -> str:
    near = difflib.get_close_matches(name, list(names), n=1)
    return f"; did you mean {near[0]!r}?" if near else ""
