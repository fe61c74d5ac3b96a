#!/usr/bin/env python3
"""Trains small rankers with LightGBM, XGBoost and CatBoost, and compares the scores that the real binary gives them with
those of their own library, also where a feature equals a threshold, one float beside it, and where it is missing. RankLib is
not run: a reader of our own, written from its documentation, stands for it. `.ci/exports` installs what is needed:

    .ci/exports target/debug/burn-rank

Prints the largest differences (relative above 1), and ends with 1 at the first above 1e-6.
"""

import json
import os
import pathlib
import sys
import tempfile

import catboost
import lightgbm
import numpy
import xgboost

import readers
from readers import F32

FEATURES = 8
LIMIT = 1e-6
ROOT = pathlib.Path(__file__).resolve().parents[2]


def documents(seed, queries, gaps):
    """Features of several kinds: with ties, with many zeros, large, and of both signs."""
    random = numpy.random.default_rng(seed)
    matrix = random.normal(size=(queries * 12, FEATURES)).astype(F32)
    matrix[:, 1] = numpy.round(matrix[:, 1] * 2) / 2
    matrix[:, 2] = numpy.maximum(matrix[:, 2], 0)
    matrix[:, 3] *= 10000
    matrix[:, 5] *= 1e-6
    gain = matrix[:, 0] + matrix[:, 1] - matrix[:, 4] ** 2 + matrix[:, 2] + matrix[:, 5] * 1e6
    labels = numpy.clip(numpy.round(gain + random.normal(size=len(matrix))), 0, 4).astype(int)
    if gaps:
        matrix[random.random(matrix.shape) < gaps] = numpy.nan
    return matrix, labels, [12] * queries


def thresholds_of(path):
    """The thresholds of a file of any of the four, from where they stand in it."""
    found = []
    if path.suffix == ".txt":
        return readers.thresholds_of_lightgbm(path)
    model = json.loads(path.read_text())
    if "learner" in model:
        booster = model["learner"]["gradient_booster"]
        booster = booster.get("gbtree", booster)
        for tree in booster["model"]["trees"]:
            nodes = zip(tree["left_children"], tree["split_indices"], tree["split_conditions"])
            found += [(feature, condition) for left, feature, condition in nodes if left >= 0]
        return found
    for feature in model["features_info"]["float_features"]:
        found += [(feature["flat_feature_index"], border) for border in feature["borders"] or []]
    return found


class Check:
    def __init__(self, binary, folder):
        self.bench = readers.Bench(binary, folder)
        self.folder = self.bench.folder
        self.table = readers.Table("import", "own library")
        self.random = numpy.random.default_rng(3)

    def check(self, what, name, predict, test, library=None):
        """Compares scores of test documents, and of documents at the thresholds, with those of `predict`."""
        path = self.folder / name
        thresholds = thresholds_of(path)
        if len(thresholds) > 300:
            thresholds = [thresholds[k] for k in self.random.choice(len(thresholds), 300, replace=False)]
        edge = readers.near(thresholds, numpy.nan_to_num(test), self.random)
        for matrix, where in [(test, ""), (edge, " at thresholds")]:
            self.bench.write_letor("data.txt", matrix, [len(matrix)])
            ours = self.bench.predict(name, "data.txt", "--missing", "keep")
            assert len(set(ours)) > 5, name
            self.table.add(f"{what}{where}", library or what.split(",")[0], predict(matrix), ours, LIMIT)
        # A saved ranker made of it, and another system's file made of that.
        self.bench.run("convert", name, "own.safetensors")
        assert (self.bench.predict("own.safetensors", "data.txt", "--missing", "keep") == ours).all()

    def lightgbm(self, what, parameters, data, test, rounds=30):
        matrix, labels, lengths = data
        parameters = {"objective": "lambdarank", "num_leaves": 15, "min_data_in_leaf": 5, "verbose": -1, "seed": 1, **parameters}
        booster = lightgbm.train(parameters, lightgbm.Dataset(matrix, labels, group=lengths), rounds)
        booster.save_model(self.folder / "lightgbm.txt")
        self.check(f"LightGBM, {what}", "lightgbm.txt", booster.predict, test)

    def xgboost(self, what, parameters, data, test, rounds=30):
        matrix, labels, lengths = data
        trained = xgboost.DMatrix(matrix, labels)
        trained.set_group(lengths)
        booster = xgboost.train({"objective": "rank:ndcg", "max_depth": 5, "seed": 1, **parameters}, trained, rounds)
        booster.save_model(self.folder / "xgboost.json")
        self.check(f"XGBoost, {what}", "xgboost.json", lambda x: booster.predict(xgboost.DMatrix(x)), test)

    def catboost(self, what, parameters, data, test, rounds=30):
        matrix, labels, lengths = data
        ranker = catboost.CatBoost({"loss_function": "YetiRank", "depth": 4, "iterations": rounds, "random_seed": 1, "thread_count": 2, "verbose": 0, "allow_writing_files": False, **parameters})
        ranker.fit(catboost.Pool(matrix, labels, group_id=numpy.repeat(range(len(lengths)), lengths)))
        if what == "scale and bias":
            ranker.set_scale_and_bias(0.5, 3.25)
        ranker.save_model(str(self.folder / "catboost.json"), format="json")
        self.check(f"CatBoost, {what}", "catboost.json", ranker.predict, test)

    def refused(self, name, words):
        """A ranker that has no counterpart here, refused by name."""
        self.bench.write_letor("data.txt", numpy.zeros((2, FEATURES), dtype=F32), [2])
        message = self.bench.run("predict", name, "data.txt", code=2)
        assert words in message, (words, message)

    def refusals(self, data):
        matrix, labels, lengths = data
        whole = numpy.nan_to_num(matrix).round().clip(0, 5)

        def train(library, **parameters):
            if library == "lightgbm":
                dataset = lightgbm.Dataset(whole, labels, group=lengths, categorical_feature=parameters.pop("categorical", "auto"))
                lightgbm.train({"verbose": -1, "min_data_in_leaf": 5, "min_data_per_group": 1, "cat_smooth": 1, **parameters}, dataset, 3).save_model(self.folder / "model.txt")
                return "model.txt"
            trained = xgboost.DMatrix(whole, labels, **parameters.pop("types", {}))
            booster = xgboost.train(parameters, trained, 3)
            booster.save_model(self.folder / parameters.get("name", "model.json"))
            return parameters.get("name", "model.json")

        self.refused(train("lightgbm", objective="lambdarank", categorical=[1, 2]), "categorical splits")
        self.refused(train("lightgbm", objective="multiclass", num_class=5), "num_class=5")
        self.refused(train("lightgbm", objective="poisson"), "the objective `poisson`")
        self.refused(train("lightgbm", objective="regression", linear_tree=True), "linear leaves")
        self.refused(train("xgboost", objective="multi:softprob", num_class=5), "num_class = 5")
        self.refused(train("xgboost", objective="count:poisson"), "the objective `count:poisson`")
        self.refused(train("xgboost", booster="gblinear"), "the booster `gblinear`")
        types = {"feature_types": ["c"] * FEATURES, "enable_categorical": True}
        self.refused(train("xgboost", tree_method="hist", types=types), "categorical splits")
        self.refused(train("xgboost", name="model.ubj"), "its binary notation (UBJSON)")
        for parameters, name, words in [
            ({"loss_function": "MultiClass"}, "model.json", "the loss `MultiClass`"),
            ({"loss_function": "Poisson"}, "model.json", "the loss `Poisson`"),
            ({"cat_features": [1], "loss_function": "RMSE"}, "model.json", "categorical features (1)"),
            ({"loss_function": "RMSE"}, "model.cbm", "its binary notation"),
        ]:
            rows = [[int(value) for value in row] for row in whole]
            ranker = catboost.CatBoost({"iterations": 3, "depth": 3, "verbose": 0, "allow_writing_files": False, **parameters})
            ranker.fit(rows, labels)
            pool = catboost.Pool(rows, labels, cat_features=parameters.get("cat_features"))
            ranker.save_model(str(self.folder / name), format=name[-4:].strip("."), pool=pool)
            self.refused(name, words)

    def ranklib(self, data):
        """Our export of trees, and a file as RankLib writes it."""
        (self.folder / "ranklib.xml").write_bytes((ROOT / "tests/golden/expected/imports/ranklib.xml").read_bytes())
        self.bench.write_letor("data.txt", data[0], [len(data[0])])
        theirs = readers.of_ranklib_trees(self.folder / "ranklib.xml", data[0])
        self.table.add("RankLib", "our reader", theirs, self.bench.predict("ranklib.xml", "data.txt"), LIMIT)


def main(check):
    whole, gaps = documents(1, 60, 0), documents(2, 60, 0.15)
    test = documents(3, 20, 0.15)[0]
    check.lightgbm("whole data", {}, whole, test)
    check.lightgbm("missing values", {}, gaps, test)
    check.lightgbm("zero_as_missing", {"zero_as_missing": True}, gaps, test)
    check.lightgbm("use_missing=false", {"use_missing": False}, gaps, test)
    check.lightgbm("random forest", {"objective": "regression", "boosting": "rf", "bagging_fraction": 0.7, "bagging_freq": 1}, gaps, test)
    check.lightgbm("dart", {"boosting": "dart"}, gaps, test)
    check.lightgbm("rank_xendcg", {"objective": "rank_xendcg"}, gaps, test)
    check.xgboost("whole data", {}, whole, test)
    check.xgboost("missing values", {}, gaps, test)
    check.xgboost("500 trees", {"max_depth": 3}, gaps, test, 500)
    check.xgboost("rank:pairwise, exact", {"objective": "rank:pairwise", "tree_method": "exact"}, whole, test)
    check.xgboost("base_score", {"objective": "reg:squarederror", "base_score": 0.7}, gaps, test)
    check.xgboost("dart", {"booster": "dart", "rate_drop": 0.3}, gaps, test)
    check.catboost("whole data", {}, whole, test)
    check.catboost("missing values", {}, gaps, test)
    check.catboost("nan_mode Max", {"nan_mode": "Max"}, gaps, test)
    check.catboost("scale and bias", {"loss_function": "RMSE"}, gaps, test)
    check.catboost("Depthwise", {"grow_policy": "Depthwise"}, gaps, test)
    check.catboost("Lossguide", {"grow_policy": "Lossguide", "loss_function": "QueryRMSE"}, gaps, test)
    check.ranklib(whole)
    check.refusals(whole)

    shared = pathlib.Path(os.environ.get("BURN_RANK_SHARED", ROOT.parent / "shared")) / "data/letor3-ohsumed/Fold1"
    if shared.is_dir():
        from sklearn.datasets import load_svmlight_file

        parts = []
        for part in ("train", "test"):
            lines = [line.split("#")[0] for line in (shared / f"{part}.txt").read_text().splitlines()]
            (check.folder / "part.txt").write_text("\n".join(lines) + "\n")
            matrix, labels, queries = load_svmlight_file(str(check.folder / "part.txt"), query_id=True, zero_based=False)
            lengths = numpy.diff(numpy.flatnonzero(numpy.concatenate([[True], queries[1:] != queries[:-1], [True]])))
            parts.append((matrix.toarray().astype(F32), labels.astype(int), list(lengths)))
        train, test = parts[0], parts[1][0]
        check.lightgbm("OHSUMED", {}, train, test, 100)
        check.xgboost("OHSUMED", {}, train, test, 100)
        check.catboost("OHSUMED", {}, train, test, 100)
    else:
        print("not run: real data (CONTRIBUTING.md says how to get them)")
    check.table.show()


with tempfile.TemporaryDirectory() as folder:
    main(Check(sys.argv[1], folder))
