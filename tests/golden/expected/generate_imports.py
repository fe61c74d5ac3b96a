#!/usr/bin/env python3
"""Trains the small rankers of `imports/` with their own libraries, and writes the scores that these give them to
`imports.json`.

    python3 -m venv /tmp/peers && /tmp/peers/bin/pip install numpy lightgbm xgboost catboost
    /tmp/peers/bin/python tests/golden/expected/generate_imports.py

`imports/ranklib.xml` is made by hand: its scores are those of `tests/python/readers.py`, since RankLib is not run.
"""

import json
import pathlib
import sys

import catboost
import lightgbm
import numpy
import xgboost

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "python"))
import readers  # noqa: E402

OUT = HERE / "imports"
FEATURES = 5
RANKLIB = """## LambdaMART
## No. of trees = 2
## No. of leaves = 3

<ensemble>
\t<tree id="1" weight="0.1">
\t\t<split>
\t\t\t<feature> 5 </feature>
\t\t\t<threshold> 0.25 </threshold>
\t\t\t<split pos="left">
\t\t\t\t<output> -1.9366 </output>
\t\t\t</split>
\t\t\t<split pos="right">
\t\t\t\t<feature> 2 </feature>
\t\t\t\t<threshold> -0.5 </threshold>
\t\t\t\t<split pos="left">
\t\t\t\t\t<output> 0.7 </output>
\t\t\t\t</split>
\t\t\t\t<split pos="right">
\t\t\t\t\t<output> 1.1 </output>
\t\t\t\t</split>
\t\t\t</split>
\t\t</split>
\t</tree>
\t<tree id="2" weight="0.3">
\t\t<split>
\t\t\t<output> 0.123456 </output>
\t\t</split>
\t</tree>
</ensemble>
"""


def data(seed, queries, gaps):
    random = numpy.random.default_rng(seed)
    matrix = random.normal(size=(queries * 10, FEATURES)).astype(numpy.float32)
    matrix[:, 1] = numpy.round(matrix[:, 1] * 2) / 2
    matrix[:, 2] = numpy.maximum(matrix[:, 2], 0)
    matrix[:, 3] *= 1000
    labels = numpy.clip(numpy.round(matrix[:, 0] + matrix[:, 1] - matrix[:, 4] ** 2 + 0.3 * random.normal(size=len(matrix))), 0, 4)
    if gaps:
        matrix[random.random(matrix.shape) < 0.15] = numpy.nan
    return matrix, labels.astype(int), [10] * queries


def main():
    OUT.mkdir(exist_ok=True)
    matrix, labels, lengths = data(1, 30, True)
    queries = numpy.repeat(range(30), 10)
    test, _, _ = data(2, 4, True)
    cases = {}

    def of_lightgbm(name, parameters, rounds=4):
        parameters = {"objective": "lambdarank", "num_leaves": 5, "min_data_in_leaf": 5, "verbose": -1, "seed": 1, "num_threads": 1, "deterministic": True, **parameters}
        booster = lightgbm.train(parameters, lightgbm.Dataset(matrix, labels, group=lengths), rounds)
        booster.save_model(OUT / f"{name}.txt")
        cases[f"{name}.txt"] = booster.predict(test)

    def of_xgboost(name, parameters, rounds=4):
        trained = xgboost.DMatrix(matrix, labels)
        trained.set_group(lengths)
        booster = xgboost.train({"objective": "rank:ndcg", "max_depth": 3, "seed": 1, "nthread": 1, **parameters}, trained, rounds)
        booster.save_model(OUT / f"{name}.json")
        cases[f"{name}.json"] = booster.predict(xgboost.DMatrix(test)).astype(float)

    def of_catboost(name, parameters, rounds=4):
        ranker = catboost.CatBoost({"loss_function": "YetiRank", "depth": 3, "iterations": rounds, "random_seed": 1, "thread_count": 1, "verbose": 0, "allow_writing_files": False, **parameters})
        ranker.fit(catboost.Pool(matrix, labels, group_id=queries))
        ranker.save_model(str(OUT / f"{name}.json"), format="json")
        # The times of training and the parameters are long, and no part of the ranker but the loss.
        model = json.loads((OUT / f"{name}.json").read_text())
        info = model["model_info"]
        model["model_info"] = {"params": {"loss_function": info["params"]["loss_function"]}}
        (OUT / f"{name}.json").write_text(json.dumps(model) + "\n")
        cases[f"{name}.json"] = ranker.predict(test)

    of_lightgbm("lightgbm", {})
    of_lightgbm("lightgbm-zero-as-missing", {"zero_as_missing": True})
    of_lightgbm("lightgbm-no-missing", {"use_missing": False})
    of_lightgbm("lightgbm-forest", {"objective": "regression", "boosting": "rf", "bagging_fraction": 0.7, "bagging_freq": 1})
    of_xgboost("xgboost", {})
    of_xgboost("xgboost-base-score", {"objective": "reg:squarederror", "base_score": 0.7})
    of_xgboost("xgboost-dart", {"booster": "dart", "rate_drop": 0.4})
    of_catboost("catboost", {})
    of_catboost("catboost-nan-max", {"nan_mode": "Max", "loss_function": "RMSE"})
    of_catboost("catboost-depthwise", {"grow_policy": "Depthwise"})
    (OUT / "ranklib.xml").write_text(RANKLIB)
    cases["ranklib.xml"] = readers.of_ranklib_trees(OUT / "ranklib.xml", test)

    versions = {library.__name__: library.__version__ for library in (lightgbm, xgboost, catboost)}
    rows = [[None if numpy.isnan(value) else float(value) for value in row] for row in test]
    scores = {name: [float(score) for score in scores] for name, scores in sorted(cases.items())}
    with open(HERE / "imports.json", "w") as file:
        json.dump({"versions": versions, "rows": rows, "scores": scores}, file, indent=None)
        file.write("\n")


main()
