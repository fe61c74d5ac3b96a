"""Trains a ranker on arrays, saves it, and scores and measures other queries.

    python examples/rankers.py
"""

import tempfile
from pathlib import Path

import numpy as np

import burn_rank
from burn_rank.estimator import RankingEstimator


def generate(queries, seed):
    """Features, labels from 0 to 3 and sizes of queries."""
    random = np.random.default_rng(seed)
    sizes = random.integers(5, 40, queries)
    X = random.normal(size=(sizes.sum(), 10)).astype(np.float32)
    value = X[:, 0] - X[:, 1] * X[:, 2] + 0.5 * random.normal(size=len(X))
    return X, np.digitize(value, [0.0, 1.0, 2.0]), sizes


def main():
    X, y, sizes = generate(400, seed=1)
    trees = RankingEstimator({"kind": "boosted_trees", "rounds": 100}, loss="lambda_ndcg")
    trees.fit(X, y, sizes, validation=generate(100, seed=2))
    print(f"round {trees.best_round_} of {len(trees.history_)} selected")

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "ranker.safetensors"
        trees.ranker_.save(path)
        ranker = burn_rank.load(path)
    X, y, sizes = generate(100, seed=3)
    found = burn_rank.evaluate(y, ranker.predict(X, sizes), sizes, ["ndcg@10", "map"])
    print({measure: round(mean, 4) for measure, mean in found.means.items()})
    print("lowest NDCG@10 of a query:", round(float(np.nanmin(found.per_query["ndcg@10"])), 4))


if __name__ == "__main__":
    main()
