"""Exact measures: those of the command, and refusals."""

import json

import burn_rank
import numpy as np
import pytest


def test_measures_are_those_of_the_command(queries, run, tmp_path):
    scores = np.random.default_rng(5).normal(size=len(queries.y)).astype(np.float32)
    data = queries.write(tmp_path / "data.txt")
    (tmp_path / "scores").write_text("".join(f"{score!r}\n" for score in map(float, scores)))
    for convention in ["standard", "letor", "lightgbm"]:
        done = run("eval", "--scores", tmp_path / "scores", data, "-c", convention, "-m", "ndcg@3,map,mrr", "--json")
        expected = json.loads(done.stdout)
        found = burn_rank.evaluate(queries.y, scores, queries.sizes, "ndcg@3,map,mrr", convention)
        assert found.means == expected["measures"]
        assert (found.queries, found.empty_queries) == (expected["queries"], expected["empty_queries"])
        assert found.convention == convention


def test_values_of_queries():
    labels, scores = np.array([0, 1, 0, 0, 2, 1]), np.array([1, 2, 3, 4, 5, 6], np.float32)
    found = burn_rank.evaluate(labels, scores, np.array([2, 2, 2]), ["mrr", "ndcg"])
    assert found["mrr"] == 1.0 and found.empty_queries == 1
    np.testing.assert_array_equal(found.per_query["mrr"], [1.0, np.nan, 1.0])
    ideal = (3 + 1 / np.log2(3)), (1 + 3 / np.log2(3))
    np.testing.assert_allclose(found.per_query["ndcg"], [1.0, np.nan, ideal[1] / ideal[0]])
    # An own convention counts what the standard one leaves out.
    counted = burn_rank.evaluate(labels, scores, np.array([2, 2, 2]), "mrr", {"empty": {"value": 0.0}})
    assert counted["mrr"] == pytest.approx(2 / 3) and counted.convention["name"] == "custom"


def test_one_query_needs_no_sizes_and_ties_may_be_decided_by_identifiers():
    scores = np.zeros(2, np.float32)
    assert burn_rank.evaluate(np.array([1, 0]), scores, measures="mrr")["mrr"] == 0.75
    first = burn_rank.evaluate(np.array([1, 0]), scores, None, "mrr", "trec_eval", ["b", "a"])
    assert first["mrr"] == 1.0
    with pytest.raises(ValueError, match="orders equal scores by document identifier, but the documents have none"):
        burn_rank.evaluate(np.array([1, 0]), scores, None, "mrr", "trec_eval")


Y, S = np.array([1.0, 0.0, 2.0]), np.array([0.5, 0.25, 1.0], np.float32)
REFUSED = {
    "dtype": ((Y, S.astype(np.float64)), TypeError, "scores: found dtype float64, expected float32"),
    "order": ((Y, np.zeros(6, np.float32)[::2]), ValueError, "scores: found memory with gaps"),
    "shape": ((Y, S[:, None]), ValueError, "scores: found shape (3, 1), expected (documents,)"),
    "lengths": ((Y[:2], S), ValueError, "labels: found 2, expected 3, one per score"),
    "sum": ((Y, S, np.array([1, 1])), ValueError, "query_sizes: found a sum of 2, expected 3, the documents of scores"),
    "negative": ((Y, S, np.array([4, -1])), ValueError, "query_sizes[1]: found -1, expected 0 or more"),
    "sizes": ((Y, S, np.array([1.0, 2.0])), TypeError, "query_sizes: found dtype float64, expected whole numbers"),
    "list": ((Y, S, [1, 2]), TypeError, "query_sizes: found list, expected a numpy array"),
    "NaN": ((Y, S * np.float32("nan")), ValueError, "score"),
    "label": ((Y - 3, S), ValueError, "label"),
    "measure": ((Y, S, None, "ndgc"), ValueError, "ndgc"),
    "convention": ((Y, S, None, "map", "leter"), ValueError, "did you mean `letor`?"),
    "field": ((Y, S, None, "map", {"gian": 1}), ValueError, "gian"),
    "no relevant": ((Y * 0, S, None, "map"), ValueError, "map"),
    "identifiers": ((Y, S, None, "map", "trec_eval", ["a"]), ValueError, "document identifiers"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused(case):
    arguments, kind, message = REFUSED[case]
    with pytest.raises(kind) as caught:
        burn_rank.evaluate(*arguments)
    assert message in str(caught.value)
