"""A scikit-learn-style estimator.

The estimator does not need scikit-learn, and works in its pipelines, searches and cross-validations. scikit-learn
splits arguments that have one entry per document. If scikit-learn splits the data, pass a data frame with a column of
queries. Or pass ``qid``, the query of each document, with metadata routing to ``fit`` and ``score``.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _burn_rank, _frames
from ._burn_rank import Ranker
from ._json import encode
from ._losses import relaxed
from ._measures import evaluate
from ._train import Progress, listener

try:
    from sklearn.base import BaseEstimator
    from sklearn.exceptions import NotFittedError
except ImportError:

    class NotFittedError(ValueError, AttributeError):  # type: ignore[no-redef]
        """Raised if an estimator is used before it is fitted."""

    class BaseEstimator:  # type: ignore[no-redef]
        """Handles parameters like scikit-learn's class of the same name."""

        @classmethod
        def _get_param_names(cls) -> list[str]:
            return [name for name in inspect.signature(cls.__init__).parameters if name != "self"]

        def get_params(self, deep: bool = True) -> dict[str, Any]:
            return {name: getattr(self, name) for name in self._get_param_names()}

        def set_params(self, **params: Any) -> BaseEstimator:
            for name, value in params.items():
                if name not in self._get_param_names():
                    known = ", ".join(self._get_param_names())
                    raise ValueError(f"{name}: unknown parameter, expected one of {known}")
                setattr(self, name, value)
            return self


#: The default loss of each learner that needs a loss.
DEFAULT_LOSSES = {"boosted_trees": "lambda_ndcg", "gradient": "lambda_ndcg"}

_NO_LABELS = "y: found None, expected the label of each document"


class RankingEstimator(BaseEstimator):
    """Fits a ranker to arrays, or to a data frame of pandas or polars.

    ``learner``, ``loss`` and ``scorer`` are names, or dicts with the keys that docs/reference/configuration lists, as
    in ``{"kind": "boosted_trees", "rounds": 200}`` and ``{"name": "approx_ndcg", "alpha": 10.0}``. ``normalizer`` is
    the key ``normalizer`` of a configuration; None stands for the default of the learner. ``measure`` and
    ``convention`` select among rounds, and :meth:`score` uses them. ``progress`` works as in :func:`burn_rank.train`.

    ``columns`` gives the meaning of the columns of a data frame, with the keys of ``[data.columns]``: ``label``,
    ``query``, ``id``, ``weight`` (names), ``drop`` (a list). Every other column is a feature. ``columns={}`` selects
    the default names. With ``columns``, labels, queries and weights come from the frame, whose rows may have any order.
    Without ``columns``, every column is a feature.

    ``missing="indicator"`` is the key ``missing`` of ``[data.read]``. With it, every learner accepts missing values
    (NaN, null). Learners other than ``boosted_trees`` replace a missing value by the mean in training, and get a column
    that marks missing values.

    :meth:`fit` sets the attributes ``ranker_``, ``n_features_in_``, ``feature_names_in_`` if ``X`` has names,
    ``history_``, ``best_round_``, ``stop_``, ``evaluations_`` and ``position_factors_``, the factor of each position.
    For trees, it also sets ``feature_importances_``, the
    share of each feature in their gain.
    """

    def __init__(
        self,
        learner: str | Mapping[str, Any] = "boosted_trees",
        loss: str | Mapping[str, Any] | None = None,
        scorer: str | Mapping[str, Any] | None = None,
        normalizer: str | None = None,
        measure: str = "ndcg@10",
        convention: str | Mapping[str, Any] = "standard",
        seed: int = 1,
        progress: Progress | bool | None = None,
        columns: Mapping[str, Any] | None = None,
        missing: str | None = None,
    ) -> None:
        self.learner = learner
        self.loss = loss
        self.scorer = scorer
        self.normalizer = normalizer
        self.measure = measure
        self.convention = convention
        self.seed = seed
        self.progress = progress
        self.columns = columns
        self.missing = missing

    def _configuration(self) -> dict[str, Any]:
        def table(value: str | Mapping[str, Any], key: str) -> dict[str, Any]:
            return {key: value} if isinstance(value, str) else dict(value)

        learner = table(self.learner, "kind")
        loss = self.loss if self.loss is not None else DEFAULT_LOSSES.get(learner.get("kind", ""))
        config: dict[str, Any] = {
            "name": "estimator",
            "seed": self.seed,
            # The place of a file name.
            "data": {"train": ["arrays"]},
            "learner": learner,
            "measure": {"select": self.measure, "report": [self.measure], "convention": self.convention},
        }
        if self.normalizer is not None:
            config["normalizer"] = self.normalizer
        if self.missing is not None:
            if self.missing not in ("indicator", "keep"):
                expected = "None, 'keep' or 'indicator'; replace values in X for another choice"
                raise ValueError(f"missing: found {self.missing!r}, expected {expected}")
            config["data"]["read"] = {"missing": self.missing}
        if loss is not None:
            named = isinstance(loss, str)
            config["loss"] = (relaxed(loss) if ":" in loss else {"name": loss}) if named else dict(loss)
        if self.scorer is not None:
            config["scorer"] = table(self.scorer, "kind")
        return config

    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike | None = None,
        group: ArrayLike | None = None,
        *,
        query_sizes: ArrayLike | None = None,
        qid: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        query_weight: ArrayLike | None = None,
        position: ArrayLike | None = None,
        validation: Any = None,
    ) -> RankingEstimator:
        """Fits the ranker to documents ``X`` with labels ``y``.

        ``query_sizes``, which LightGBM calls ``group``, has the number of documents of each query, in order. In place
        of it, ``qid`` has the query of each document; documents of a query must be together. Without any of them, all
        documents belong to one query. ``sample_weight`` has the weight of each document, and ``query_weight`` the
        weight of each query, in the order of the queries' first rows, for learners that accept weights.
        ``position`` has the position at which each document was shown, text or a whole number such as its rank, for a
        learner with the table ``position``. ``validation`` is ``(X, y, query_sizes)``, and selects the best round.

        With ``columns``, only a data frame is needed, and ``validation`` is another data frame. ``y`` replaces the
        labels of the frame. Rows of a query that are not consecutive are grouped together.
        """
        data = self._documents(X, y, group, query_sizes, qid, None)
        weights = data.weights if sample_weight is None else data.ordered("sample_weight", _labels(sample_weight))
        positions = None if position is None else list(data.ordered("position", _positions(position)))
        training = (data.features, data.needed_labels(), data.sizes, _optional(query_weight), weights, positions)
        try:
            held_out = None if validation is None else self._held_out(validation, data.names)
        except (TypeError, ValueError) as error:
            raise type(error)(f"validation: {error}") from error
        config = encode("estimator", self._configuration())
        ranker, about = _burn_rank.fit(config, training, held_out, listener(self.progress))
        names = data.names
        self._has_queries = data.sizes is not None
        self.ranker_ = ranker.with_feature_names(None if names is None else [str(name) for name in names])
        self.n_features_in_ = data.features.shape[1]
        if names is not None:
            self.feature_names_in_ = names
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        facts = json.loads(about)
        self.history_, self.best_round_, self.stop_ = facts["history"], facts["best_round"], facts["stop"]
        self.evaluations_ = facts["evaluations"]
        self.position_factors_ = {of["position"]: of["factor"] for of in facts["positions"]}
        if facts["importance"] is not None:
            gain = np.asarray(facts["importance"]["gain"])
            self.feature_importances_ = gain / gain.sum() if gain.sum() > 0 else gain
        elif hasattr(self, "feature_importances_"):
            del self.feature_importances_
        return self

    def _held_out(self, validation: Any, names: NDArray[Any] | None) -> tuple[Any, ...]:
        """Returns the arrays of the validation queries, for a fit to features of these names."""
        if self.columns is not None and hasattr(validation, "columns"):
            data = self._documents(validation, None, None, None, None, names)
            return data.features, data.needed_labels(), data.sizes, None, None, None
        if len(validation) != 3:
            raise ValueError(f"found {len(validation)} parts, expected (X, y, query_sizes)")
        X, y, query_sizes = validation
        own = _names(X)
        if own is not None and names is not None and list(own) != list(names):
            raise ValueError(f"found columns {list(own)}, expected {list(names)}, as in fit")
        features = _features(X)
        return features, _labels(y), _sizes(len(features), None, query_sizes, None), None, None, None

    def _documents(
        self,
        X: Any,
        y: Any,
        group: Any,
        query_sizes: Any,
        qid: Any,
        known: NDArray[Any] | None,
        needs_label: bool = True,
        needs_query: bool = True,
    ) -> _Documents:
        """Returns the documents of ``X`` with labels and weights, with consecutive documents of each query."""
        if self.columns is None:
            features = _features(X)
            sizes = _sizes(len(features), group, query_sizes, qid)
            return _Documents(features, _names(X), None if y is None else _labels(y), sizes, None, None)
        names = None if known is None else list(known)
        given = [name for name, value in [("group", group), ("query_sizes", query_sizes), ("qid", qid)] if value is not None]
        frame = _frames.read(X, self.columns, names, needs_label and y is None, needs_query and not given)
        labels = frame.labels if y is None else _labels(y)
        if given or frame.queries is None or not needs_query:
            if not given and needs_query:
                expected = "a column 'query' or 'qid', another by columns['query'], or group, query_sizes or qid"
                raise ValueError(f"X: found no column of queries, expected {expected}")
            if given and frame.queries is not None and self.columns.get("query") is not None:
                raise ValueError(f"{given[0]}, columns['query']: found several, expected one of them")
            sizes, order = _sizes(len(frame.features), group, query_sizes, qid), None
        else:
            order, sizes = _frames.together(frame.queries)
            order = None if (np.diff(order) == 1).all() else order
        data = _Documents(frame.features, np.asarray(frame.names, dtype=object), labels, sizes, frame.weights, order)
        return data if order is None else data.together()

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "ranker_")

    def _fitted(self) -> Ranker:
        if not hasattr(self, "ranker_"):
            raise NotFittedError(f"{type(self).__name__}: call fit before this method")
        return self.ranker_

    def predict(
        self,
        X: ArrayLike,
        group: ArrayLike | None = None,
        *,
        query_sizes: ArrayLike | None = None,
        qid: ArrayLike | None = None,
    ) -> NDArray[np.float32]:
        """Returns one score per document; higher is better.

        Scorers of whole lists, several ``seeds`` of a network and the normalizer ``query_min_max`` use the queries;
        others do not need them.

        With ``columns``, the columns of a frame are found by name, in any order, and other columns are not read.
        Without ``columns``, ``X`` has the features of :meth:`fit` in the same order, and all documents belong to one
        query unless an argument says otherwise.
        """
        ranker = self._fitted()
        known = getattr(self, "feature_names_in_", None)
        if self.columns is not None:
            data = self._documents(
                X, None, group, query_sizes, qid, known, needs_label=False, needs_query=_reads_queries(ranker)
            )
            return data.in_order(ranker.predict(data.features, data.sizes))
        names = _names(X)
        if names is not None and known is not None and list(names) != list(known):
            raise ValueError(f"X: found features {list(names)}, expected {list(known)}")
        documents = _features(X)
        if documents.shape[1] != self.n_features_in_:
            expected = f"{type(self).__name__} is expecting {self.n_features_in_} features as input"
            raise ValueError(f"X has {documents.shape[1]} features, but {expected}")
        return ranker.predict(documents, _sizes(len(documents), group, query_sizes, qid))

    def score(
        self,
        X: ArrayLike,
        y: ArrayLike | None = None,
        group: ArrayLike | None = None,
        *,
        query_sizes: ArrayLike | None = None,
        qid: ArrayLike | None = None,
    ) -> float:
        """Returns the mean of ``measure`` over the queries.

        Without ``columns``, ``group``, ``query_sizes`` and ``qid``, all documents belong to one query. That is an error
        after a fit with queries, as in a search of scikit-learn without metadata routing.
        """
        if self.columns is not None:
            ranker, known = self._fitted(), getattr(self, "feature_names_in_", None)
            data = self._documents(X, y, group, query_sizes, qid, known)
            scores = ranker.predict(data.features, data.sizes)
            labels, sizes = data.needed_labels(), data.sizes
        else:
            if y is None:
                raise ValueError(_NO_LABELS)
            if getattr(self, "_has_queries", False) and group is None and query_sizes is None and qid is None:
                advice = "a search of scikit-learn needs a data frame, or metadata routing and"
                advice = f"{advice} set_score_request(qid=True)"
                raise ValueError(f"score: found no queries, expected group, query_sizes or qid, as in fit; {advice}")
            scores = self.predict(X, group, query_sizes=query_sizes, qid=qid)
            labels, sizes = _labels(y), _sizes(len(scores), group, query_sizes, qid)
        if len(labels) != len(scores):
            raise ValueError(f"y: found {len(labels)}, expected {len(scores)}, one per document of X")
        (mean,) = evaluate(labels, scores, sizes, [self.measure], self.convention).means.values()
        return mean

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        kind = self.learner if isinstance(self.learner, str) else self.learner.get("kind")
        tags.input_tags.allow_nan = kind == "boosted_trees" or self.missing == "indicator"
        return tags


@dataclass(frozen=True)
class _Documents:
    """Documents grouped by query; ``order`` has their rows in ``X`` if grouping moved them."""

    features: NDArray[np.float32]
    names: NDArray[Any] | None
    labels: NDArray[Any] | None
    sizes: NDArray[Any] | None
    weights: NDArray[np.float32] | None
    order: NDArray[np.intp] | None

    def together(self) -> _Documents:
        labels = None if self.labels is None else self.ordered("y", self.labels)
        weights = None if self.weights is None else self.ordered("X", self.weights)
        return _Documents(self.ordered("X", self.features), self.names, labels, self.sizes, weights, self.order)

    def ordered(self, argument: str, values: NDArray[Any]) -> NDArray[Any]:
        if self.order is not None and len(values) != len(self.order):
            raise ValueError(f"{argument}: found {len(values)}, expected {len(self.order)}, one per document of X")
        return values if self.order is None else np.ascontiguousarray(values[self.order])

    def in_order(self, scores: NDArray[np.float32]) -> NDArray[np.float32]:
        if self.order is None:
            return scores
        read = np.empty_like(scores)
        read[self.order] = scores
        return read

    def needed_labels(self) -> NDArray[Any]:
        if self.labels is None:
            raise ValueError(_NO_LABELS)
        return self.labels


def _reads_queries(ranker: Ranker) -> bool:
    """Returns whether the score of a document depends on the other documents of its query."""
    config = ranker.metadata["config"]
    kind = (config.get("scorer") or {}).get("kind")
    by_query = config.get("normalizer") == "query_min_max"
    return ranker.kind == "members" or kind in ("attention", "latent_cross") or by_query


def _names(X: Any) -> NDArray[Any] | None:
    columns = getattr(X, "columns", None)
    if columns is None:
        return None
    names = np.asarray(columns, dtype=object)
    return names if len(names) and all(isinstance(name, str) for name in names) else None


def _features(X: Any) -> NDArray[np.float32]:
    if hasattr(X, "toarray"):
        raise TypeError("X: found a sparse matrix, expected a dense array: X.toarray()")
    try:
        values = np.asarray(X)
        # NumPy would convert some complex numbers, times and texts without an error.
        if values.dtype.kind in "cmMSU":
            raise TypeError(f"found dtype {values.dtype}")
        if values.dtype == object and any(isinstance(value, (str, bytes)) for value in values.flat):
            raise TypeError("found text")
        array = np.ascontiguousarray(values, dtype=np.float32)
    except (TypeError, ValueError) as error:
        raise type(error)(f"X: {error}, expected numbers") from error
    if values.ndim != 2:
        raise ValueError(f"X: found shape {values.shape}, expected (documents, features)")
    return array


def _labels(y: Any) -> NDArray[Any]:
    return np.ascontiguousarray(y)


def _positions(position: Any) -> NDArray[Any]:
    """Returns positions as text. A whole number is the same position as an integer and as a float."""
    # NumPy would make one type of a list that mixes text and numbers.
    places = (_frames.array(position) if hasattr(position, "dtype") else np.asarray(position, dtype=object)).tolist()
    for at, place in enumerate(places):
        if isinstance(place, (float, np.floating)) and float(place).is_integer():
            places[at] = int(place)
        elif not isinstance(place, (str, int, np.integer)) or place == "":
            raise ValueError(f"position: found {place!r} in row {at + 1}, expected text or a whole number")
    return np.array([str(place) for place in places], dtype=object)


def _optional(values: ArrayLike | None) -> NDArray[Any] | None:
    return None if values is None else np.ascontiguousarray(values)


def _sizes(documents: int, group: Any, query_sizes: Any, qid: Any) -> NDArray[Any] | None:
    """Returns the number of documents of each query, or ``None`` if no argument is given."""
    given = {"group": group, "query_sizes": query_sizes, "qid": qid}
    found = [name for name, value in given.items() if value is not None]
    if len(found) > 1:
        raise ValueError(f"{', '.join(found)}: found several, expected one of them")
    if not found:
        return None
    if found != ["qid"]:
        sizes = np.ascontiguousarray(given[found[0]])
        if sizes.dtype.kind not in "iu":
            raise TypeError(f"{found[0]}: found dtype {sizes.dtype}, expected whole numbers")
        if sizes.sum() != documents:
            raise ValueError(f"{found[0]}: found a sum of {sizes.sum()}, expected {documents}, the documents of X")
        return sizes
    if np.shape(qid) != (documents,):
        raise ValueError(f"qid: found shape {np.shape(qid)}, expected ({documents},), one per document of X")
    of_row = _frames.numbered(_frames.array(qid), "qid")
    if (np.diff(of_row) < 0).any():
        raise ValueError("qid: found a query in several places, expected the documents of a query together")
    return np.bincount(of_row)
