"""Data frames of pandas and polars by the names of their columns."""

import numpy as np
import pytest
from burn_rank.estimator import RankingEstimator

TREES = {"kind": "boosted_trees", "rounds": 8, "leaves": 4}
COLUMNS = {"label": "rating", "query": "session", "id": "url", "drop": ["title"]}
pandas = pytest.importorskip("pandas")


def as_pandas(columns):
    return pandas.DataFrame(columns)


def as_polars(columns):
    return pytest.importorskip("polars").DataFrame(columns)


BOTH = pytest.mark.parametrize("frame", [as_pandas, as_polars])


def table(queries):
    """The columns of a table: those of the features are called `a` to `e`."""
    columns = {
        "title": [f"title {row}" for row in range(len(queries.y))],
        "session": [f"s{query}" for query in queries.qid],
        "rating": queries.y.astype(int).tolist(),
        "url": [f"/{row}" for row in range(len(queries.y))],
    }
    return columns | {name: queries.X[:, at].tolist() for at, name in enumerate("abcde")}


@BOTH
def test_a_frame_is_the_arrays_of_its_columns(frame, queries, held_out):
    plain = RankingEstimator(TREES).fit(queries.X, queries.y, qid=queries.qid)
    estimator = RankingEstimator(TREES, columns=COLUMNS).fit(frame(table(queries)))
    assert list(estimator.feature_names_in_) == list("abcde") == estimator.ranker_.feature_names
    assert estimator.n_features_in_ == 5
    expected = plain.predict(held_out.X, qid=held_out.qid)
    test = table(held_out)
    assert (estimator.predict(frame(test)) == expected).all()
    assert estimator.score(frame(test)) == plain.score(held_out.X, held_out.y, qid=held_out.qid)
    # Columns in another order, others beside them, and no label.
    other = {"extra": ["x"] * len(held_out.y)} | {name: test[name] for name in ("e", "session", "d", "a", "c", "b")}
    assert (estimator.predict(frame(other)) == expected).all()
    # The usual names, and labels beside the frame.
    usual = {"label" if name == "rating" else "query" if name == "session" else name: test[name] for name in test}
    usual = {name: usual[name] for name in usual if name not in ("title", "url")}
    by_name = RankingEstimator(TREES, columns={}).fit(frame(usual))
    beside = RankingEstimator(TREES, columns={}).fit(frame({name: usual[name] for name in usual if name != "label"}), test["rating"])
    assert (by_name.predict(frame(usual)) == beside.predict(frame(usual))).all()


@BOTH
def test_rows_in_any_order_give_the_same_ranker_and_scores_in_their_order(frame, queries, held_out):
    apart = np.concatenate([np.arange(len(queries.y))[half::2] for half in range(2)])
    # Queries begin in the same order.
    apart = sorted(apart, key=lambda row: row != queries.qid.searchsorted(queries.qid[row]))
    shuffled = {name: [values[row] for row in apart] for name, values in table(queries).items()}
    together = RankingEstimator("regression", columns=COLUMNS).fit(frame(table(queries)))
    estimator = RankingEstimator("regression", columns=COLUMNS).fit(frame(shuffled))
    mixed = np.random.default_rng(3).permutation(len(held_out.y))
    test = table(held_out)
    scores = estimator.predict(frame({name: [values[row] for row in mixed] for name, values in test.items()}))
    assert np.allclose(scores, together.predict(frame(test))[mixed], atol=1e-5)


@BOTH
def test_validation_and_weights_are_columns(frame, queries, held_out):
    train, validation = table(queries), table(held_out)
    weights = (1 + queries.qid % 3).astype(float)
    train["counts"] = weights.tolist()
    named = RankingEstimator(TREES, columns=COLUMNS | {"weight": "counts"})
    named.fit(frame(train), validation=frame(validation))
    plain = RankingEstimator(TREES).fit(
        queries.X, queries.y, queries.sizes, sample_weight=weights, validation=(held_out.X, held_out.y, held_out.sizes)
    )
    assert (named.predict(frame(validation)) == plain.predict(held_out.X)).all()
    assert named.evaluations_["validation"] == plain.evaluations_["validation"]


@BOTH
def test_named_columns_are_demanded_only_where_they_are_read(frame, queries, held_out):
    train, test = table(queries), table(held_out)
    estimator = RankingEstimator("regression", columns=COLUMNS).fit(frame(train))
    expected = estimator.ranker_.to_bytes()
    without = [
        ({name: train[name] for name in train if name != "rating"}, {"y": train["rating"]}),
        ({name: train[name] for name in train if name != "session"}, {"query_sizes": queries.sizes}),
    ]
    for columns, given in without:
        assert estimator.fit(frame(columns), **given).ranker_.to_bytes() == expected
    new = {name: test[name] for name in "abcde"}
    assert (estimator.predict(frame(new)) == estimator.predict(frame(test))).all()
    with pytest.raises(ValueError, match="found no column 'session'"):
        estimator.score(frame({name: test[name] for name in test if name != "session"}))


LISTS = {
    "attention": ({"kind": "gradient", "epochs": 1}, {"scorer": "attention"}),
    "latent_cross": ({"kind": "gradient", "epochs": 1}, {"scorer": {"kind": "latent_cross", "hidden": [4]}}),
    "query_min_max": (TREES, {"normalizer": "query_min_max"}),
    "seeds": ({"kind": "gradient", "epochs": 1, "seeds": 2}, {}),
}


@pytest.mark.parametrize("case", LISTS)
def test_rankers_of_lists_demand_the_queries_of_a_frame(case, queries, held_out):
    learner, given = LISTS[case]
    estimator = RankingEstimator(learner, columns=COLUMNS, **given).fit(as_pandas(table(queries)))
    test = as_pandas(table(held_out))
    with pytest.raises(ValueError, match="found no column 'session'"):
        estimator.predict(test.drop(columns="session"))
    by_size = estimator.predict(test.drop(columns="session"), query_sizes=held_out.sizes)
    assert (by_size == estimator.predict(test)).all()


@BOTH
def test_columns_that_are_not_needed_are_not_read(frame, queries, held_out):
    estimator = RankingEstimator(TREES, columns=COLUMNS | {"weight": "counts"})
    train = table(queries) | {"counts": [1.0] * len(queries.y)}
    words = {"rating": ["?"] * len(queries.y)}
    estimator.fit(frame(train | words), train["rating"])
    test = table(held_out)
    expected = estimator.predict(frame(test))
    texts = {name: ["?"] * len(held_out.y) for name in ("rating", "counts")}
    assert (estimator.predict(frame(test | texts)) == expected).all()
    usual = RankingEstimator(TREES, columns={"label": "rating", "drop": ["title", "url"]})
    usual.fit(frame({"query" if name == "session" else name: train[name] for name in train if name != "counts"}))
    new = {name: test[name] for name in "abcde"} | {name: test["url"] for name in ("query", "qid", "document", "docid")}
    assert len(usual.predict(frame(new))) == len(held_out.y)
    with pytest.raises(ValueError, match="found columns 'query', 'qid', expected one of them"):
        usual.score(frame(new | {"rating": test["rating"]}))


def test_names_of_columns_and_queries_have_any_type(queries, held_out):
    def numbered(queries):
        columns = {at: queries.X[:, at] for at in range(5)}
        columns[5] = [f"q{query}" if query % 2 else int(query) for query in queries.qid]
        return pandas.DataFrame(columns | {6: queries.y})

    estimator = RankingEstimator(TREES, columns={"label": 6, "query": 5}).fit(numbered(queries))
    assert list(estimator.feature_names_in_) == list("01234")
    plain = RankingEstimator(TREES).fit(queries.X, queries.y, queries.sizes)
    assert (estimator.predict(numbered(held_out)) == plain.predict(held_out.X)).all()


@BOTH
def test_missing_values(frame, queries):
    columns = table(queries)
    missing = np.arange(len(queries.y)) % 4 == 0
    columns["a"] = [None if gap else value for gap, value in zip(missing, columns["a"], strict=True)]
    network = {"kind": "gradient", "epochs": 2}
    with pytest.raises(ValueError, match="is missing, which this learner does not accept"):
        RankingEstimator(network, columns=COLUMNS).fit(frame(columns))
    estimator = RankingEstimator(network, scorer="linear", columns=COLUMNS, missing="indicator").fit(frame(columns))
    assert np.isfinite(estimator.predict(frame(columns))).all()
    assert estimator.ranker_.n_features == 5 and "a column each for `a`" in estimator.ranker_.card()
    with pytest.raises(ValueError, match="missing: found 'zero', expected None, 'keep' or 'indicator'"):
        RankingEstimator(network, missing="zero", columns=COLUMNS).fit(frame(columns))
    RankingEstimator(TREES, columns=COLUMNS).fit(frame(columns))


@BOTH
def test_a_search_cuts_frames_by_groups(frame, queries):
    pytest.importorskip("sklearn")
    from sklearn.model_selection import GridSearchCV, GroupKFold

    data = frame(table(queries))
    grid = {"learner": [TREES, TREES | {"rounds": 2}]}
    search = GridSearchCV(RankingEstimator(TREES, columns=COLUMNS), grid, cv=GroupKFold(3), error_score="raise")
    search.fit(data, table(queries)["rating"], groups=table(queries)["session"])
    assert search.best_params_["learner"] in grid["learner"]
    assert 0.6 < search.best_score_ < 1.0
    assert len(search.predict(data)) == len(queries.y)


@BOTH
def test_frames_are_refused_by_column(frame, queries):
    def refused(message, change=None, columns=COLUMNS, error=ValueError, **given):
        data = table(queries) | (change or {})
        data = {name: values for name, values in data.items() if values is not None}
        with pytest.raises(error, match=message):
            RankingEstimator("regression", columns=columns).fit(frame(data), **given)

    refused("found no column 'ratings' .*; did you mean 'rating'", columns=COLUMNS | {"label": "ratings"})
    refused("found no column 'tile' .*; did you mean 'title'", columns=COLUMNS | {"drop": ["tile"]})
    refused("columns: unknown key 'labels', .*; did you mean 'label'", columns={"labels": "rating"})
    refused(r"found column 'title' of type .*columns\['drop'\] = \['title'\] leaves it out", columns=COLUMNS | {"drop": []})
    refused("expected a column 'label', or another by", {"rating": None}, {"query": "session", "drop": ["title", "url"]})
    without = {"label": "rating", "drop": ["title", "url"]}
    refused("found no column of queries, expected a column 'query' or 'qid'", {"session": None}, without)
    refused(r"group, columns\['query'\]: found several", group=queries.sizes)
    words = [f"{at} words" for at in range(len(queries.y))]
    refused(r"found column 'b' of type .*columns\['drop'\] = \['title', 'b'\]", {"b": words})
    with pytest.raises(TypeError, match="X: found ndarray, expected a data frame of pandas or polars"):
        RankingEstimator("regression", columns=COLUMNS).fit(queries.X, queries.y)
    mixed = {name: values[::2] + values[1::2] for name, values in table(queries).items()}
    for argument in ("y", "sample_weight", "position"):
        with pytest.raises(ValueError, match=f"{argument}: found 2, expected {len(queries.y)}, one per document of X"):
            RankingEstimator("regression", columns=COLUMNS).fit(frame(mixed), **{argument: [1.0, 2.0]})
    fitted = RankingEstimator("regression", columns=COLUMNS).fit(frame(table(queries)))
    lacking = {name: values for name, values in table(queries).items() if name != "c"}
    with pytest.raises(ValueError, match="found no column 'c', expected one of each feature of fit"):
        fitted.predict(frame(lacking))


@BOTH
def test_validation_without_names_of_columns_has_the_order_of_fit(frame, queries, held_out):
    def features(X, names):
        return frame({name: X[:, "abcde".index(name)].tolist() for name in names})

    estimator = RankingEstimator(TREES)
    other = (features(held_out.X, "bacde"), held_out.y, held_out.sizes)
    with pytest.raises(ValueError, match="validation: found columns"):
        estimator.fit(features(queries.X, "abcde"), queries.y, queries.sizes, validation=other)


def test_importances_of_an_earlier_fit_are_gone(queries):
    estimator = RankingEstimator(TREES).fit(queries.X, queries.y, queries.sizes)
    assert len(estimator.feature_importances_) == 5
    estimator.set_params(learner="regression").fit(queries.X, queries.y, queries.sizes)
    assert not hasattr(estimator, "feature_importances_")
