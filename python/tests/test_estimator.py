"""The estimator: scikit-learn's manner, with and without scikit-learn."""

import pickle
import subprocess
import sys

import burn_rank
import numpy as np
import pytest
from burn_rank.estimator import NotFittedError, RankingEstimator

TREES = {"kind": "boosted_trees", "rounds": 10, "leaves": 4}
GRADIENT = {"kind": "gradient", "epochs": 3, "batch_queries": 4, "learning_rate": 0.1}


@pytest.mark.parametrize("learner", [TREES, GRADIENT, "regression", "rank_boost"])
def test_fit_predict_score(learner, queries, held_out):
    estimator = RankingEstimator(learner, measure="ndcg@5")
    assert estimator.fit(queries.X, queries.y, queries.sizes) is estimator
    scores = estimator.predict(held_out.X, held_out.sizes)
    assert scores.shape == held_out.y.shape and scores.dtype == np.float32
    expected = burn_rank.evaluate(held_out.y, scores, held_out.sizes, "ndcg@5")["ndcg@5"]
    assert estimator.score(held_out.X, held_out.y, held_out.sizes) == expected > 0.6
    assert estimator.n_features_in_ == 5 and not hasattr(estimator, "feature_names_in_")
    assert estimator.evaluations_["train"]["measures"]["ndcg@5"] > 0.6
    assert hasattr(estimator, "feature_importances_") == (learner is TREES)


def test_a_fit_to_arrays_is_a_fit_to_files(queries, held_out, config, tmp_path):
    run = burn_rank.train(config, out=tmp_path / "run")
    estimator = RankingEstimator(
        config["learner"], config["loss"], normalizer="z_score", measure="ndcg@5", seed=config["seed"]
    )
    estimator.fit(queries.X, queries.y, queries.sizes, validation=(held_out.X, held_out.y, held_out.sizes))
    assert (estimator.predict(held_out.X) == run.ranker.predict(held_out.X)).all()
    assert estimator.best_round_ == run.report["best_round"] and len(estimator.history_) == 3


def test_queries_are_given_in_one_of_three_ways(queries):
    estimator = RankingEstimator("regression")
    by = [
        estimator.fit(queries.X, queries.y, **given).ranker_.to_bytes()
        for given in ({"group": queries.sizes}, {"query_sizes": list(queries.sizes)}, {"qid": queries.qid})
    ]
    assert by[0] == by[1] == by[2]
    with pytest.raises(ValueError, match="group, qid: found several, expected one of them"):
        estimator.fit(queries.X, queries.y, queries.sizes, qid=queries.qid)
    with pytest.raises(ValueError, match="qid: found a query in several places"):
        estimator.fit(queries.X, queries.y, qid=queries.qid % 2)
    with pytest.raises(ValueError, match=r"qid: found shape \(3,\), expected"):
        estimator.fit(queries.X, queries.y, qid=[1, 2, 3])


def test_weights(queries):
    plain = RankingEstimator(TREES).fit(queries.X, queries.y, queries.sizes)
    ones = np.ones(len(queries.y))
    same = RankingEstimator(TREES).fit(queries.X, queries.y, queries.sizes, sample_weight=ones)
    assert same.ranker_.to_bytes() == plain.ranker_.to_bytes()
    other = RankingEstimator(TREES).fit(queries.X, queries.y, queries.sizes, sample_weight=ones + queries.qid % 3)
    assert (other.predict(queries.X) != plain.predict(queries.X)).any()
    plain = RankingEstimator(GRADIENT).fit(queries.X, queries.y, queries.sizes)
    other = RankingEstimator(GRADIENT).fit(queries.X, queries.y, queries.sizes, query_weight=np.arange(1, 41))
    assert (other.predict(queries.X) != plain.predict(queries.X)).any()
    with pytest.raises(ValueError, match="regression: the training queries have weights, which this learner does not"):
        RankingEstimator("regression").fit(queries.X, queries.y, queries.sizes, query_weight=np.arange(1, 41))
    with pytest.raises(ValueError, match="query_weights = 1 weight: expected 40, one per query"):
        RankingEstimator(GRADIENT).fit(queries.X, queries.y, queries.sizes, query_weight=[1.0])


def test_positions(queries):
    position = np.concatenate([np.arange(1, size + 1) for size in queries.sizes])
    for learner in (TREES, GRADIENT):
        plain = RankingEstimator(learner).fit(queries.X, queries.y, queries.sizes)
        assert plain.position_factors_ == {}
        with_factors = RankingEstimator({**learner, "position": {"kind": "additive"}})
        with_factors.fit(queries.X, queries.y, queries.sizes, position=position)
        assert list(with_factors.position_factors_) == [str(place) for place in sorted(set(position))]
        assert (with_factors.predict(queries.X) != plain.predict(queries.X)).any()
        with pytest.raises(ValueError, match="positions = 3 positions: expected"):
            with_factors.fit(queries.X, queries.y, queries.sizes, position=[1, 2, 3])
    with pytest.raises(ValueError, match="position"):
        with_factors.fit(queries.X, queries.y, queries.sizes)


def test_positions_are_text_or_whole_numbers(queries):
    position = np.concatenate([np.arange(1, size + 1) for size in queries.sizes])
    estimator = RankingEstimator({**TREES, "position": {"kind": "additive"}})
    for as_read in (position.astype(np.float32), [f"{place}" for place in position]):
        estimator.fit(queries.X, queries.y, queries.sizes, position=as_read)
        assert list(estimator.position_factors_) == [str(place) for place in sorted(set(position))]
    for other in (None, np.nan, "", 1.5):
        mixed = [*position[:2].tolist(), other, *(f"{place}" for place in position[3:])]
        with pytest.raises(ValueError, match="position: found .* in row 3, expected text or a whole number"):
            estimator.fit(queries.X, queries.y, queries.sizes, position=mixed)


def test_pickles_and_what_is_not_fitted(queries, held_out):
    estimator = RankingEstimator(TREES)
    with pytest.raises(NotFittedError, match="RankingEstimator: call fit before this method"):
        estimator.predict(held_out.X)
    assert pickle.loads(pickle.dumps(estimator)).get_params() == estimator.get_params()
    estimator.fit(queries.X, queries.y, queries.sizes)
    copy = pickle.loads(pickle.dumps(estimator))
    assert (copy.predict(held_out.X) == estimator.predict(held_out.X)).all()


REFUSED = {
    "learner": (RankingEstimator("boosted_tree"), "did you mean `boosted_trees`?"),
    "parameter": (RankingEstimator({"kind": "boosted_trees", "leafs": 3}), "did you mean `leaves`?"),
    "loss": (RankingEstimator(loss="aprox_ndcg"), "did you mean `approx_ndcg`?"),
    "cut-off": (RankingEstimator(loss="ndcg@1O:approximate_positions"), 'loss.k: found "1O"'),
    "loss that is not read": (RankingEstimator("regression", "list_net"), "does not read the section [loss]"),
    "normalizer": (RankingEstimator(normalizer="zscore"), "z_score"),
    "measure": (RankingEstimator(measure="ndgc"), "ndgc"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_parameters_are_refused_by_fit(case, queries):
    estimator, message = REFUSED[case]
    with pytest.raises(ValueError) as caught:
        estimator.fit(queries.X, queries.y, queries.sizes)
    assert message in str(caught.value)


def test_data_are_refused(queries, held_out):
    estimator = RankingEstimator("regression")
    with pytest.raises(ValueError, match=r"X: found shape \(5,\), expected \(documents, features\)"):
        estimator.fit(queries.X[0], queries.y)
    with pytest.raises(ValueError, match="y: found 3, expected"):
        estimator.fit(queries.X, queries.y[:3])
    with pytest.raises(ValueError, match="label"):
        estimator.fit(queries.X, -1 - queries.y)
    with pytest.raises(ValueError, match="is missing, which this learner does not accept"):
        estimator.fit(queries.X * np.nan, queries.y, queries.sizes)
    with pytest.raises(ValueError, match="validation: found 2 parts"):
        estimator.fit(queries.X, queries.y, validation=(held_out.X, held_out.y))
    for wrong, message in [
        ((held_out.X[0], held_out.y, None), r"validation: X: found shape \(5,\)"),
        ((held_out.X, held_out.y[:3], None), "validation: y: found 3, expected"),
        ((held_out.X, held_out.y, [1, 2]), "validation: query_sizes: found a sum of 3"),
    ]:
        with pytest.raises(ValueError, match=message):
            estimator.fit(queries.X, queries.y, queries.sizes, validation=wrong)
    for X, message in [
        ([["a"]], "X: found dtype <U1, expected numbers"),
        (queries.X + 1j, "X: found dtype complex64, expected numbers"),
        (queries.X.astype("datetime64[s]"), r"X: found dtype datetime64\[s\], expected numbers"),
        (np.array([[1, None, "2"]], dtype=object), "X: found text, expected numbers"),
    ]:
        with pytest.raises((TypeError, ValueError), match=message):
            estimator.fit(X, queries.y)
    fraction = "group: found dtype float64, expected whole numbers"
    for group, message in [([0.5], fraction), ([3], "group: found a sum of 3")]:
        with pytest.raises((TypeError, ValueError), match=message):
            estimator.fit(queries.X, queries.y, group)
    estimator.fit(queries.X, queries.y, queries.sizes)
    with pytest.raises(ValueError, match="X has 3 features, but RankingEstimator is expecting 5"):
        estimator.predict(held_out.X[:, :3])
    with pytest.raises(ValueError, match="y: found None, expected the label of each document"):
        estimator.score(held_out.X, qid=held_out.qid)
    with pytest.raises(ValueError, match=f"y: found 3, expected {len(held_out.y)}, one per document of X"):
        estimator.score(held_out.X, held_out.y[:3], qid=held_out.qid)


def test_scikit_learn(queries, held_out):
    pytest.importorskip("sklearn")
    from sklearn import config_context
    from sklearn.base import clone
    from sklearn.model_selection import GridSearchCV, GroupKFold
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    estimator = RankingEstimator(TREES, measure="ndcg@5")
    copy = clone(estimator)
    assert copy is not estimator and copy.get_params() == estimator.get_params()
    assert copy.set_params(seed=9).seed == 9
    with pytest.raises(ValueError):
        copy.set_params(seeds=9)

    pipeline = make_pipeline(StandardScaler(), RankingEstimator("regression"))
    pipeline.fit(queries.X, queries.y, rankingestimator__query_sizes=queries.sizes)
    assert pipeline.predict(held_out.X).shape == held_out.y.shape

    assert "RankingEstimator(" in repr(estimator)
    grid = {"learner": [TREES, TREES | {"rounds": 2}]}
    search = GridSearchCV(estimator, grid, cv=GroupKFold(3), error_score="raise")
    with pytest.raises(ValueError, match="score: found no queries, expected group, query_sizes or qid"):
        search.fit(queries.X, queries.y, groups=queries.qid, qid=queries.qid)
    with config_context(enable_metadata_routing=True):
        estimator.set_fit_request(qid=True).set_score_request(qid=True)
        search.fit(queries.X, queries.y, groups=queries.qid, qid=queries.qid)
    train, test = next(GroupKFold(3).split(queries.X, queries.y, queries.qid))
    estimator.fit(queries.X[train], queries.y[train], qid=queries.qid[train])
    of_fold = estimator.score(queries.X[test], queries.y[test], qid=queries.qid[test])
    assert search.cv_results_["split0_test_score"][0] == of_fold


def test_arrays_without_queries_are_one_query(queries):
    estimator = RankingEstimator("regression", measure="ndcg@5").fit(queries.X, queries.y)
    expected = burn_rank.evaluate(queries.y, estimator.predict(queries.X), None, "ndcg@5")["ndcg@5"]
    assert estimator.score(queries.X, queries.y) == expected


def test_queries_have_any_identifiers_but_none_is_missing(queries):
    estimator = RankingEstimator("regression")
    expected = estimator.fit(queries.X, queries.y, qid=queries.qid).ranker_.to_bytes()
    mixed = np.array([f"q{query}" if query % 2 else int(query) for query in queries.qid], dtype=object)
    assert estimator.fit(queries.X, queries.y, qid=mixed).ranker_.to_bytes() == expected
    for missing in (np.nan, None):
        lacking = np.where(queries.qid == 3, missing, queries.qid.astype(object))
        with pytest.raises(ValueError, match="qid: found a row without a query"):
            estimator.fit(queries.X, queries.y, qid=lacking)


def test_names_of_features(queries, held_out):
    class Frame:
        """What the estimator reads of a table of pandas or polars."""

        def __init__(self, X, columns):
            self.X, self.columns, self.shape, self.ndim = X, columns, X.shape, 2

        def __array__(self, dtype=None, copy=None):
            return self.X.astype(dtype or self.X.dtype)

    estimator = RankingEstimator("regression").fit(Frame(queries.X, list("abcde")), queries.y, queries.sizes)
    assert list(estimator.feature_names_in_) == list("abcde") == estimator.ranker_.feature_names
    with pytest.raises(ValueError, match="X: found features"):
        estimator.predict(Frame(held_out.X, list("abced")))
    estimator.fit(queries.X, queries.y, queries.sizes)
    assert not hasattr(estimator, "feature_names_in_")


def test_without_scikit_learn():
    text = """
import sys
sys.modules["sklearn"] = sys.modules["sklearn.base"] = None
import numpy as np
from burn_rank.estimator import RankingEstimator
e = RankingEstimator("regression").set_params(seed=5)
assert e.get_params()["seed"] == 5
try:
    e.set_params(sed=1)
except ValueError as error:
    assert "sed: unknown parameter" in str(error)
else:
    raise SystemExit("not refused")
X, y = np.random.rand(20, 2), np.arange(20) % 3
print(e.fit(X, y).predict(X).shape)
"""
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "(20,)\n"), done.stderr


def test_progress_and_ctrl_c(queries):
    events = []
    RankingEstimator(GRADIENT, progress=events.append).fit(queries.X, queries.y, queries.sizes)
    assert [event["round"] for event in events if event["event"] == "round"] == [1, 2, 3]

    def press(event):
        if event["event"] == "round":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        RankingEstimator(GRADIENT | {"epochs": 100_000}, progress=press).fit(queries.X, queries.y, queries.sizes)
