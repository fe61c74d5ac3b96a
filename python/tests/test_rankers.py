"""Saved rankers: the scores of the command, files, pickles, threads, refusals."""

import pickle
from concurrent.futures import ThreadPoolExecutor

import burn_rank
import numpy as np
import pytest


@pytest.fixture
def trained(config, tmp_path):
    return burn_rank.train(config, out=tmp_path / "run")


def test_scores_are_the_bytes_of_the_command(trained, held_out, run, tmp_path):
    ranker = burn_rank.load(trained.folder)
    scores = ranker.predict(held_out.X, held_out.sizes)
    assert scores.dtype == np.float32 and scores.shape == held_out.y.shape
    done = run("predict", trained.folder, held_out.write(tmp_path / "data.txt"))
    assert scores.tolist() == [np.float32(line) for line in done.stdout.split()]


def test_what_is_known_of_a_ranker(trained):
    ranker = trained.ranker
    assert (ranker.kind, ranker.n_features, ranker.feature_names) == ("scorer", 5, None)
    assert ranker.metadata["seed"] == 3 and ranker.metadata["config"]["loss"]["name"] == "approx_ndcg"
    assert ranker.metadata["measures"]["validation ndcg@5"] == trained.measures["validation"]["measures"]["ndcg@5"]
    named = ranker.with_feature_names(list("abcde"))
    assert named.feature_names == list("abcde") and ranker.feature_names is None
    assert ranker.card("Mine").startswith("# Mine\n")
    assert repr(ranker) == "<burn_rank.Ranker: scorer, 5 features>"
    with pytest.raises(ValueError, match="list of feature names has 1 feature, but the model has 5"):
        ranker.with_feature_names(["a"])


def test_files_bytes_and_pickles_are_the_same_ranker(trained, held_out, tmp_path):
    ranker = trained.ranker
    ranker.save(tmp_path / "ranker.safetensors")
    copies = [
        burn_rank.load(str(tmp_path / "ranker.safetensors")),
        burn_rank.Ranker.from_bytes(ranker.to_bytes()),
        pickle.loads(pickle.dumps(ranker)),
    ]
    for copy in copies:
        assert copy.to_bytes() == ranker.to_bytes()
        assert (copy.predict(held_out.X) == ranker.predict(held_out.X)).all()


def test_threads_share_a_ranker(trained, held_out):
    ranker = trained.ranker
    expected = ranker.predict(held_out.X, held_out.sizes)
    with ThreadPoolExecutor(8) as threads:
        for scores in threads.map(lambda _: ranker.predict(held_out.X, held_out.sizes), range(64)):
            assert (scores == expected).all()


def test_missing_values_are_for_trees(trained, queries, held_out):
    X = held_out.X.copy()
    X[4, 2] = np.nan
    with pytest.raises(ValueError, match="query `1`, document 5: feature 3 is missing"):
        trained.ranker.predict(X)
    from burn_rank.estimator import RankingEstimator

    trees = RankingEstimator({"kind": "boosted_trees", "rounds": 5}).fit(queries.X, queries.y, queries.sizes).ranker_
    assert np.isfinite(trees.predict(X)).all()
    values, expected = trees.contributions(held_out.X, queries.X)
    assert values.shape == held_out.X.shape
    np.testing.assert_allclose(values.sum(axis=1) + expected, trees.predict(held_out.X), atol=1e-5)
    with pytest.raises(ValueError, match="only trees have contributions"):
        trained.ranker.contributions(held_out.X)


def test_no_documents_have_no_scores(trained):
    assert trained.ranker.predict(np.empty((0, 5), np.float32), np.empty(0, int)).shape == (0,)


X = np.zeros((4, 5), np.float32)
REFUSED = {
    "dtype": ((X.astype(np.float64),), TypeError, "X: found dtype float64, expected float32"),
    "Fortran order": ((np.asfortranarray(X),), ValueError, "X: found memory in Fortran order, expected C order"),
    "gaps": ((np.zeros((8, 5), np.float32)[::2],), ValueError, "X: found memory with gaps"),
    "shape": ((X[0],), ValueError, "X: found shape (5,), expected (documents, features)"),
    "list": ((X.tolist(),), TypeError, "X: found list, expected a numpy array"),
    "features": ((np.zeros((4, 6), np.float32),), ValueError, "the data have feature 6"),
    "lacking": ((np.zeros((4, 4), np.float32),), ValueError, "X: found 4 features, expected 5, in the order of the training data"),
    "infinity": ((X + np.float32("inf"),), ValueError, "features[0] = inf: expected a finite number"),
    "sum": ((X, np.array([1, 2])), ValueError, "query_sizes: found a sum of 3, expected 4, the documents of X"),
    "empty query": ((X, np.array([4, 0])), ValueError, "query_sizes[1] = 0: expected at least 1 document"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused(case, trained):
    arguments, kind, message = REFUSED[case]
    with pytest.raises(kind) as caught:
        trained.ranker.predict(*arguments)
    assert message in str(caught.value)


def test_files_that_are_no_rankers(tmp_path):
    with pytest.raises(FileNotFoundError, match="nowhere"):
        burn_rank.load(tmp_path / "nowhere")
    (tmp_path / "text").write_text("text")
    with pytest.raises(ValueError, match="text: "):
        burn_rank.load(tmp_path / "text")
    with pytest.raises(ValueError, match="bytes: "):
        burn_rank.Ranker.from_bytes(b"text")
    with pytest.raises(TypeError):
        burn_rank.load(3)
