import os
from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

__version__: str

class Ranker:
    """A trained ranker: normalizer, model and what is known of its training. Threads may share one."""

    @staticmethod
    def load(path: str | os.PathLike[str]) -> Ranker: ...
    @staticmethod
    def from_bytes(bytes: bytes) -> Ranker: ...
    def to_bytes(self) -> bytes:
        """The bytes of the file; the same ranker has the same bytes."""
    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the file, whole or not at all."""
    def predict(self, X: NDArray[np.float32], query_sizes: NDArray[Any] | None = None) -> NDArray[np.float32]:
        """One score per document; higher is better. All documents are of one query where there are no sizes."""
    def contributions(
        self, X: NDArray[np.float32], background: NDArray[np.float32] | None = None
    ) -> tuple[NDArray[np.float64], float]:
        """What each feature contributes to each score, and the mean score of the background, for a ranker of trees."""
    @property
    def n_features(self) -> int: ...
    @property
    def kind(self) -> Literal["scorer", "trees", "ensemble", "kernel"]: ...
    @property
    def feature_names(self) -> list[str] | None: ...
    @property
    def metadata(self) -> dict[str, Any]:
        """Where it comes from: configuration, convention, measures, hash of the data, seed, versions."""
    def with_feature_names(self, names: Sequence[str] | None) -> Ranker: ...
    def card(self, title: str = "ranker") -> str:
        """A description in Markdown."""

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
    training: tuple[Any, Any, Any, Any, Any],
    validation: tuple[Any, Any, Any, Any, Any] | None,
    tell: Callable[[str], None],
) -> tuple[Ranker, str]: ...
