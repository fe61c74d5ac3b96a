import os
from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

__version__: str

class Ranker:
    """A trained ranker, with its normalizer and a record of its training. Threads may share a ranker."""

    @staticmethod
    def load(path: str | os.PathLike[str]) -> Ranker: ...
    @staticmethod
    def from_bytes(bytes: bytes) -> Ranker: ...
    def to_bytes(self) -> bytes:
        """Returns the bytes of the ranker's file; equal rankers have equal bytes."""
    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the ranker to a file. A failed write leaves no partial file."""
    def predict(self, X: NDArray[np.float32], query_sizes: NDArray[Any] | None = None) -> NDArray[np.float32]:
        """Returns one score per document; higher is better. Without sizes, all documents belong to one query.

        ``X`` has a column for each feature, in the order of ``feature_names``, or of the training data without names.
        Raises ``ValueError`` if a column is missing or left over.
        """
    def contributions(
        self, X: NDArray[np.float32], background: NDArray[np.float32] | None = None
    ) -> tuple[NDArray[np.float64], float]:
        """For a ranker of trees, returns each feature's part of each score, and the mean score of the background."""
    @property
    def n_features(self) -> int: ...
    @property
    def kind(self) -> Literal["scorer", "trees", "ensemble", "kernel", "members"]: ...
    @property
    def feature_names(self) -> list[str] | None: ...
    @property
    def metadata(self) -> dict[str, Any]:
        """The origin of the ranker: configuration, convention, measures, hash of the data, seed and versions."""
    def with_feature_names(self, names: Sequence[str] | None) -> Ranker: ...
    def card(self, title: str = "ranker") -> str:
        """Returns a description of the ranker in Markdown."""

def get_num_threads() -> int: ...
def set_num_threads(threads: int | None) -> None: ...
def main(arguments: list[str]) -> int: ...
def losses() -> str: ...
def loss(
    name: str,
    parameters: str,
    scores: NDArray[Any],
    labels: NDArray[Any],
    mask: NDArray[np.bool_] | None,
    gradient: bool,
    draw: int | None,
    threads: int | None,
) -> tuple[NDArray[Any], NDArray[Any] | None]: ...
def evaluate(
    labels: NDArray[Any],
    scores: NDArray[np.float32],
    query_sizes: NDArray[Any] | None,
    measures: list[str],
    convention: str,
    document_ids: list[str] | None,
) -> tuple[list[tuple[str, float, NDArray[np.float64]]], int, str]: ...
def train(
    config: str | os.PathLike[str] | tuple[str, str],
    set: list[str],
    out: str | os.PathLike[str] | None,
    claim: str,
    start: str | os.PathLike[str] | None,
    tell: Callable[[str], None],
) -> tuple[Ranker, str, str]: ...
def fit(
    config: str,
    training: tuple[Any, Any, Any, Any, Any, Any],
    validation: tuple[Any, Any, Any, Any, Any, Any] | None,
    tell: Callable[[str], None],
) -> tuple[Ranker, str]: ...
