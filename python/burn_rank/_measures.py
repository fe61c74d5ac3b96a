"""Computes exact measures."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import _burn_rank
from ._json import encode

#: The measures that ``burn-rank eval`` prints by default.
MEASURES = ("ndcg@1", "ndcg@5", "ndcg@10", "map", "mrr")


@dataclass(frozen=True)
class Evaluation:
    """The measures of scores under one convention."""

    means: dict[str, float]
    """The mean of each measure over the queries that the convention does not leave out."""
    per_query: dict[str, NDArray[np.float64]]
    """For each measure, the value of each query, or NaN if the convention leaves the query out."""
    queries: int
    empty_queries: int
    """The number of queries without a relevant document."""
    convention: str | dict[str, Any]

    def __getitem__(self, measure: str) -> float:
        return self.means[measure]


def evaluate(
    labels: NDArray[Any],
    scores: NDArray[np.float32],
    query_sizes: NDArray[Any] | None = None,
    measures: str | Sequence[str] = MEASURES,
    convention: str | Mapping[str, Any] = "standard",
    document_ids: Sequence[str] | None = None,
) -> Evaluation:
    """Computes exact measures of scores for each query, and their means.

    ``scores`` are ``float32``, of the shape ``(documents,)``. A score of -inf means that the document was not
    retrieved. ``query_sizes`` are the numbers of documents of the queries, in order; by default, all documents belong
    to one query. ``measures`` are names as in ``"ndcg@10,map"`` or ``["ndcg@10", "map"]``. The result has the usual
    name of each, such as ``"map"`` for ``"ap"``. ``convention`` is a name (``burn-rank models --measures`` lists the
    names), or a preset with changes, as in ``{"preset": "letor", "gain": "linear"}``. ``document_ids`` break ties if
    the convention uses them.

    Raises ``TypeError`` for a wrong dtype. Raises ``ValueError`` for wrong lengths, an unknown measure or
    convention, a score that is NaN, a label that the convention rejects, or a measure without a value for any query.
    """
    names = measures.split(",") if isinstance(measures, str) else list(measures)
    ids = None if document_ids is None else list(document_ids)
    text = encode("convention", convention if isinstance(convention, str) else dict(convention))
    values, empty, used = _burn_rank.evaluate(labels, scores, query_sizes, names, text, ids)
    return Evaluation(
        means={name: mean for name, mean, _ in values},
        per_query={name: of_queries for name, _, of_queries in values},
        queries=1 if query_sizes is None else len(query_sizes),
        empty_queries=empty,
        convention=json.loads(used),
    )
