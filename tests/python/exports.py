#!/usr/bin/env python3
"""Trains small rankers with the real binary, exports them, and compares their scores with those of the systems that read
the exports: onnxruntime, LightGBM, XGBoost. Readers of our own, written from the documentation, stand for RankLib (`.ci/ranklib`
runs it), and for Solr and the plug-ins of OpenSearch and Elasticsearch, which are not run. `.ci/exports` installs what is needed:

    .ci/exports target/debug/burn-rank

Trees are also scored where a feature equals a threshold, one float beside it, and where it is missing. On the training data
LightGBM's and XGBoost's contributions and importances are compared with ours. Prints the largest differences (relative above
1), and ends with 1 at the first above 1e-5; above 1e-9 for the contributions of LightGBM, which are in 64 bits.
"""

import csv
import itertools
import json
import os
import pathlib
import sys
import tempfile

import lightgbm
import numpy
import onnxruntime
import safetensors.numpy

try:
    import xgboost
except ImportError:
    xgboost = None

import readers
from readers import F32

FEATURES = 12
ROOT = pathlib.Path(__file__).resolve().parents[2]
LIMIT = 1e-5
LIMIT_64 = 1e-9

CONFIG = """
normalizer = "{normalizer}"
[data]
train = ["{train}"]
{data}
{scorer}
{learner}
"""
GRADIENT = """
[loss]
name = "approx_ndcg"
[learner]
kind = "gradient"
epochs = 2
learning_rate = 0.05
"""
TREES = """
[loss]
name = "lambda_ndcg"
[learner]
kind = "boosted_trees"
rounds = 20
"""
SAMPLED = TREES + "subsample = 0.5\ncolsample_by_node = 0.7\n"
SEVERAL = SAMPLED + "seeds = 2\n"
BALANCED = SAMPLED.replace("lambda_ndcg", "approx_ndcg")
SEARCHED = BALANCED + 'steps = "line_search"\n'
STUMPS = """
[learner]
kind = "rank_boost"
rounds = 20
"""
KERNELS = """
[learner]
kind = "smooth_rank"
kernel_components = 5
"""
ATTENTION = '[scorer]\nkind = "{kind}"\nwidth = 8\nheads = 2\nblocks = 2\nfeed_forward = 6\n{more}'
NORMALISERS = ["none", "query_min_max", "z_score", "log1p", "quantile", "gauss", "clipped_z_score"]
ACTIVATIONS = ["relu", "leaky_relu", "gelu", "silu", "tanh", "sigmoid", "identity"]


def read_letor(path, features):
    """All documents as 32-bit floats, and the number of those of each query."""
    rows, queries = [], {}
    for line in path.read_text().splitlines():
        fields = line.split("#")[0].split()
        row = numpy.zeros(features, dtype=F32)
        for field in fields[2:]:
            feature, value = field.split(":")
            row[int(feature) - 1] = value
        rows.append(row)
        queries[fields[1]] = queries.get(fields[1], 0) + 1
    return numpy.stack(rows), list(queries.values())


def queries_of(matrix, lengths):
    return numpy.split(matrix, numpy.cumsum(lengths)[:-1])


def of_onnx(path, matrix, lengths):
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    return numpy.concatenate([session.run(["scores"], {"features": query})[0] for query in queries_of(matrix, lengths)])


def of_onnx_batch(path, matrix, lengths):
    """All queries at once, padded with noise."""
    shape = (len(lengths), max(lengths) + 2)
    features = numpy.random.default_rng(1).normal(size=(*shape, matrix.shape[1])).astype(F32)
    mask = numpy.arange(shape[1])[None, :] < numpy.array(lengths)[:, None]
    features[mask] = matrix
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    scores = session.run(["scores"], {"features": features, "mask": mask})[0]
    assert (scores[~mask] == 0).all()
    return scores[mask]


def of_safetensors(path, matrix):
    """A linear ranker with `z_score`, from the saved arrays and the JSON in the header."""
    arrays = safetensors.numpy.load_file(path)
    with safetensors.safe_open(path, "np") as file:
        header = json.loads(file.metadata()["burn_rank"])
    z_score = header["metadata"]["normalizer"]["map"]["z_score"]
    return ((matrix.astype(float) - z_score["mean"]) * z_score["scale"] @ arrays["Linear.linear.weight"])[:, 0]


def same_trees(dump, plugin):
    """Compares a dump of XGBoost with our file for the plug-ins, node by node."""
    assert len(dump) == len(plugin), (len(dump), len(plugin))
    waiting = list(zip(dump, plugin))
    count = 0
    while waiting:
        theirs, ours = waiting.pop()
        count += 1
        for key in ("nodeid", "depth", "split", "yes", "no", "missing"):
            # XGBoost leaves the depth out at leaves, and so do we.
            assert theirs.get(key) == ours.get(key), (key, theirs, ours)
        for key in ("split_condition", "leaf"):
            assert (key in theirs) == (key in ours), (key, theirs, ours)
            assert key not in ours or F32(theirs[key]) == F32(ours[key]), (key, theirs[key], ours[key])
        waiting += list(zip(theirs.get("children", []), ours.get("children", [])))
    return count


class Check:
    def __init__(self, binary, folder):
        self.bench = readers.Bench(binary, folder)
        self.folder = self.bench.folder
        self.table = readers.Table("export", "reader")
        self.random = numpy.random.default_rng(1)
        self.bench.run("synth", "--queries", "30", "--features", FEATURES, "--out", "train.txt")
        self.bench.run("synth", "--queries", "5", "--features", FEATURES, "--seed", "9", "--out", "test.txt")

    def train(self, name, normalizer, scorer, learner, train="train.txt", data=""):
        text = CONFIG.format(normalizer=normalizer, scorer=scorer, learner=learner, train=train, data=data)
        (self.folder / f"{name}.toml").write_text(text)
        self.bench.run("train", f"{name}.toml", "--out", f"run-{name}")
        return f"run-{name}/ranker.safetensors"

    def export(self, model, out, form=None, code=0):
        """Returns the written file; with another exit code, the message."""
        output = self.bench.run("convert", model, out, *(["--format", form] if form else []), code=code)
        assert (self.folder / out).exists() == (code == 0), out
        return self.folder / out if code == 0 else output

    def graphs(self, name, what, model, data="test.txt", args=(), matrix=None, lengths=None):
        """Compares both graphs of a ranker."""
        if matrix is None:
            matrix, lengths = read_letor(self.folder / data, FEATURES)
        ours = self.bench.predict(model, data, *args)
        assert len(set(ours)) > 10, name
        graph = self.export(model, f"{name}.onnx")
        self.table.add(f"ONNX, {what}", "onnxruntime", ours, of_onnx(graph, matrix, lengths), LIMIT)
        graph = self.export(model, f"{name}-batch.onnx", "onnx-batch")
        self.table.add(f"ONNX of many queries, {what}", "onnxruntime", ours, of_onnx_batch(graph, matrix, lengths), LIMIT)

    def linear(self, normalizer):
        for bias in (True, False):
            name = f"linear-{normalizer}-{bias}".lower()
            model = self.train(name, normalizer, f'[scorer]\nkind = "linear"\nbias = {str(bias).lower()}', GRADIENT)
            self.graphs(name, "linear", model)
            matrix, _ = read_letor(self.folder / "test.txt", FEATURES)
            ours = self.bench.predict(model, "test.txt")
            names = [f"feature_{k + 1}" for k in range(FEATURES)]
            folds = normalizer in ("none", "z_score")
            text = self.export(model, f"{name}.txt", code=0 if folds else 2)
            if folds:
                self.table.add("RankLib text", "our reader", ours, readers.of_ranklib_linear(text, matrix), LIMIT)
            holds = folds and not (bias and self.has_bias(model))
            solr = self.export(model, f"{name}-solr.json", "solr", code=0 if holds else 2)
            if holds:
                self.table.add("Solr JSON, linear", "our reader", ours, readers.of_solr(solr, matrix), LIMIT)
            holds = normalizer == "none" and holds
            weights = self.export(model, f"{name}-weights.json", "plugin-linear", code=0 if holds else 2)
            if holds:
                theirs = readers.of_plugin_linear(weights, matrix, names)
                self.table.add("JSON of weights", "our reader", ours, theirs, LIMIT)
            if normalizer == "z_score" and not bias:
                self.table.add("saved ranker", "safetensors", ours, of_safetensors(self.folder / model, matrix), LIMIT)

    def has_bias(self, model):
        arrays = safetensors.numpy.load_file(self.folder / model)
        return float(arrays["Linear.linear.bias"][0]) != 0

    def trees(self, name, model, normalizer, data, missing):
        """Compares all exports of trees on the documents of a file, which may have missing values."""
        args = ("--missing", "keep") if missing else ()
        features = int(json.loads(self.bench.run("models", "show", model, "--json"))["features"])
        matrix, lengths = read_letor(self.folder / data, features)
        self.graphs(f"{name}", "trees", model, data, args, matrix, lengths)
        if normalizer == "query_min_max":
            for form, suffix in [("lightgbm", "txt"), ("ranklib", "xml"), ("xgboost", "json"), ("solr", "json")]:
                message = self.export(model, f"{name}-{form}.{suffix}", form, code=2)
                assert "query_min_max" in message, message
            return
        text = self.export(model, f"{name}.txt")
        booster = lightgbm.Booster(model_file=text)
        thresholds = readers.thresholds_of_lightgbm(text)
        if len(thresholds) > 300:
            thresholds = [thresholds[k] for k in self.random.choice(len(thresholds), 300, replace=False)]
        finite = numpy.nan_to_num(matrix)
        edge = readers.near(thresholds, finite, self.random)
        self.bench.write_letor(f"{name}-near.txt", edge, [len(edge)])
        sets = [(data, matrix, args, ""), (f"{name}-near.txt", edge, (), " at thresholds")]
        names = [f"feature_{k + 1}" for k in range(features)]
        for data, matrix, args, where in sets:
            ours = self.bench.predict(model, data, *args)
            # LightGBM takes values within 1e-35 of 0 for 0, as the page says.
            apart = ~((matrix != 0) & (numpy.abs(matrix) <= 1e-35)).any(axis=1)
            theirs = booster.predict(matrix, raw_score=True)
            self.table.add(f"LightGBM text{where}", "lightgbm", ours[apart], theirs[apart], LIMIT)
            graph = self.folder / f"{name}.onnx"
            self.table.add(f"ONNX, trees{where}", "onnxruntime", ours, of_onnx(graph, matrix, [len(matrix)]), LIMIT)
            plugin = self.export(model, f"{name}-plugin.json", "xgboost-dump")
            theirs = readers.of_plugin_dump(plugin, matrix, names)
            self.table.add(f"XGBoost dump{where}", "our reader", ours, theirs, LIMIT)
            if xgboost:
                path = self.export(model, f"{name}-xgboost.json", "xgboost")
                loaded = xgboost.Booster(model_file=path)
                theirs = loaded.predict(xgboost.DMatrix(matrix), output_margin=True)
                self.table.add(f"XGBoost JSON{where}", "xgboost", ours, theirs, LIMIT)
                self.same_dump(loaded, plugin, names)
            self.without_missing(name, model, ours, matrix, where)

    def explained(self, name, model, data, missing=False, continues=False):
        """Compares contributions and importances of LightGBM and XGBoost with ours on the training data of a ranker."""
        args = ("--missing", "keep") if missing else ()
        features = int(json.loads(self.bench.run("models", "show", model, "--json"))["features"])
        matrix, _ = read_letor(self.folder / data, features)
        scores = self.bench.predict(model, data, *args)
        self.bench.run("predict", model, data, "--contributions", "--background", data, "--out", "contributions.txt", *args)
        ours = numpy.loadtxt(self.folder / "contributions.txt", ndmin=2)
        assert numpy.abs(ours.sum(axis=1) - scores).max() <= LIMIT * max(1, numpy.abs(scores).max())

        booster = lightgbm.Booster(model_file=self.export(model, f"{name}.txt"))
        theirs = booster.predict(matrix, pred_contrib=True)
        self.table.add("LightGBM text, contributions", "lightgbm", ours.ravel(), theirs.ravel(), LIMIT_64)
        importances = [booster.feature_importance(kind) for kind in ("split", "gain")]
        frame = booster.trees_to_dataframe()
        assert (frame["count"] > 0).all() and len(frame) == frame["node_index"].nunique()
        if xgboost:
            loaded = xgboost.Booster(model_file=self.export(model, f"{name}-xgboost.json", "xgboost"))
            theirs = loaded.predict(xgboost.DMatrix(matrix), pred_contribs=True)
            self.table.add("XGBoost JSON, contributions", "xgboost", ours.ravel(), theirs.ravel(), LIMIT)
            kinds = ("weight", "total_gain", "gain", "total_cover", "cover")
            scores = {kind: loaded.get_score(importance_type=kind) for kind in kinds}
            by_kind = {kind: numpy.array([scores[kind].get(f"f{k}", 0) for k in range(features)]) for kind in kinds}
            # What LightGBM says about the nodes that split a feature.
            for kind, column in (("total_gain", "split_gain"), ("total_cover", "count")):
                splits = frame[frame["split_feature"].notna()]
                of_feature = [splits[splits["split_feature"] == f"feature_{k + 1}"][column].sum() for k in range(features)]
                share = numpy.array(of_feature) / max(of_feature)
                self.table.add(f"XGBoost JSON, {kind}", "lightgbm", share, by_kind[kind] / max(of_feature), LIMIT)
            for total, mean in (("total_gain", "gain"), ("total_cover", "cover")):
                used = by_kind["weight"] > 0
                assert numpy.allclose((by_kind[total] / numpy.maximum(by_kind["weight"], 1))[used], by_kind[mean][used])
        report = json.loads((self.folder / pathlib.Path(model).parent / "report.json").read_text())
        # Those of stumps are not reported, and those of trees that continue others are of the new ones alone.
        if "importance" not in report or continues:
            return
        splits, gain = (numpy.array(report["importance"][key], dtype=float) for key in ("splits", "gain"))
        self.table.add("LightGBM text, importance by splits", "lightgbm", splits, importances[0], 0)
        share = importances[1] / gain.sum()
        self.table.add("LightGBM text, importance by gain", "lightgbm", gain / gain.sum(), share, LIMIT)
        if xgboost:
            self.table.add("XGBoost JSON, importance by splits", "xgboost", splits, by_kind["weight"], 0)
            share = by_kind["total_gain"] / gain.sum()
            self.table.add("XGBoost JSON, importance by gain", "xgboost", gain / gain.sum(), share, LIMIT)

    def named(self):
        """The systems load the names of features, whatever characters these have, and score the right columns."""
        matrix, lengths = read_letor(self.folder / "train.txt", FEATURES)
        labels = [line.split()[0] for line in (self.folder / "train.txt").read_text().splitlines()]
        names = ["price [EUR]", "ctr <7d", "a,b", 'say "x"', "größe", "back\\slash", "{age}", "a b", "a_b", "t:u", " ", "last"]
        queries = numpy.repeat(numpy.arange(len(lengths)), lengths)
        with open(self.folder / "named.csv", "w", newline="") as file:
            rows = csv.writer(file)
            rows.writerow(["query", "label", *names])
            rows.writerows([query, label, *map(str, row)] for query, label, row in zip(queries, labels, matrix))
        model = self.train("named", "none", "", TREES, "named.csv")
        ours = self.bench.predict(model, "named.csv")
        graph = self.export(model, "named.onnx")
        metadata = onnxruntime.InferenceSession(graph, providers=["CPUExecutionProvider"]).get_modelmeta()
        assert json.loads(metadata.custom_metadata_map["feature_names"]) == names
        self.table.add("ONNX, names", "onnxruntime", ours, of_onnx(graph, matrix, lengths), LIMIT)
        text = self.export(model, "named.txt")
        booster = lightgbm.Booster(model_file=text)
        found = booster.feature_name()
        assert len(set(found)) == FEATURES and found[0] == "price__EUR_" and found[4] == "größe" and found[8] == "a_b", found
        json.dumps(booster.dump_model())
        assert lightgbm.Booster(model_str=booster.model_to_string()).feature_name() == found
        # LightGBM itself takes the names.
        lightgbm.Dataset(matrix, labels, feature_name=found).construct()
        self.table.add("LightGBM text, names", "lightgbm", ours, booster.predict(matrix, raw_score=True), LIMIT)
        self.table.add("LightGBM text, names", "ours again", ours, self.bench.predict("named.txt", "train.txt"), LIMIT)
        if xgboost:
            loaded = xgboost.Booster(model_file=self.export(model, "named.json", "xgboost"))
            found = loaded.feature_names
            assert len(set(found)) == FEATURES and found[:3] == ["price _EUR_", "ctr _7d", "a,b"], found
            theirs = loaded.predict(xgboost.DMatrix(matrix, feature_names=found), output_margin=True)
            self.table.add("XGBoost JSON, names", "xgboost", ours, theirs, LIMIT)
            self.table.add("XGBoost JSON, names", "ours again", ours, self.bench.predict("named.json", "train.txt"), LIMIT)

    def continued(self):
        """Trees that continue others are explained with them."""
        self.bench.run("train", "explain-none.toml", "--continue", "run-explain-none", "--out", "run-more")
        self.explained("explain-more", "run-more/ranker.safetensors", "train.txt", continues=True)

    def joined(self):
        """Members of several kinds are one graph, and trees with fixed deviations one sum of trees."""
        self.bench.run("ensemble", "run-linear-z_score-true", "run-trees-quantile", "run-trees-none", "--out", "joined")
        self.graphs("joined", "members", "joined/ranker.safetensors")
        fixed = ["--standardize", "fixed", "--data", "train.txt"]
        self.bench.run("ensemble", "run-trees-none", "run-explain-sampled", *fixed, "--out", "fixed")
        model = "fixed/ranker.safetensors"
        self.graphs("fixed", "members with fixed deviations", model)
        matrix, _ = read_letor(self.folder / "test.txt", FEATURES)
        ours = self.bench.predict(model, "test.txt")
        booster = lightgbm.Booster(model_file=self.export(model, "fixed.txt"))
        self.table.add("LightGBM text, members", "lightgbm", ours, booster.predict(matrix, raw_score=True), LIMIT)
        if xgboost:
            loaded = xgboost.Booster(model_file=self.export(model, "fixed.json", "xgboost"))
            theirs = loaded.predict(xgboost.DMatrix(matrix), output_margin=True)
            self.table.add("XGBoost JSON, members", "xgboost", ours, theirs, LIMIT)

    def same_dump(self, loaded, plugin, names):
        fmap = self.folder / "fmap.txt"
        fmap.write_text("".join(f"{place}\t{name}\tq\n" for place, name in enumerate(names)))
        dump = [json.loads(tree) for tree in loaded.get_dump(fmap=str(fmap), dump_format="json")]
        nodes = same_trees(dump, json.loads(plugin.read_text()))
        count, all_nodes, largest = self.table.rows.get(("XGBoost dump", "xgboost's own, nodes"), (0, 0, 0.0))
        self.table.rows["XGBoost dump", "xgboost's own, nodes"] = count + 1, all_nodes + nodes, largest

    def without_missing(self, name, model, ours, matrix, where):
        """RankLib and Solr, which take missing values for 0, hold trees in which none goes left, or each goes with 0. Only
        documents without missing values are compared."""
        whole = ~numpy.isnan(matrix).any(axis=1)
        for form, suffix, read, label in [
            ("ranklib", "xml", readers.of_ranklib_trees, "RankLib XML"),
            ("solr", "json", readers.of_solr, "Solr JSON, trees"),
        ]:
            out = f"{name}-{form}.{suffix}"
            (self.folder / out).unlink(missing_ok=True)
            try:
                path = self.export(model, out, form)
            except SystemExit as refusal:
                reason = "missing values go left" if "missing values go left" in str(refusal) else "the threshold"
                assert reason in str(refusal), refusal
                key = (label, f"refused: {reason}")
                count, scores, largest = self.table.rows.get(key, (0, 0, 0.0))
                self.table.rows[key] = count + (where == ""), scores, largest
                continue
            self.table.add(f"{label}{where}", "our reader", numpy.asarray(ours)[whole], read(path, matrix[whole]), LIMIT)


def main(check):
    for normalizer in NORMALISERS:
        check.linear(normalizer)
        model = check.train(f"trees-{normalizer}", normalizer, "", TREES)
        check.trees(f"trees-{normalizer}", model, normalizer, "test.txt", False)

    learners = {"none": TREES, "sampled": SAMPLED, "several": SEVERAL, "balanced": BALANCED, "searched": SEARCHED}
    for kind, learner in {**learners, "stumps": STUMPS}.items():
        check.explained(f"explain-{kind}", check.train(f"explain-{kind}", "none", "", learner), "train.txt")
    for normalizer in ("z_score", "quantile", "gauss"):
        name = f"explain-{normalizer}"
        check.explained(name, check.train(name, normalizer, "", SAMPLED), "train.txt")
    check.continued()
    check.joined()
    check.named()

    # Documents of which every tenth value is missing.
    for name, seed in [("gaps", 1), ("gaps-test", 2)]:
        source = "train.txt" if name == "gaps" else "test.txt"
        matrix, lengths = read_letor(check.folder / source, FEATURES)
        labels = [line.split()[0] for line in (check.folder / source).read_text().splitlines()]
        matrix[numpy.random.default_rng(seed).random(matrix.shape) < 0.1] = numpy.nan
        check.bench.write_letor(f"{name}.txt", matrix, lengths, labels)
    for normalizer in ("none", "quantile", "query_min_max"):
        model = check.train(f"gaps-{normalizer}", normalizer, "", TREES, "gaps.txt", '[data.read]\nmissing = "keep"')
        check.trees(f"gaps-{normalizer}", model, normalizer, "gaps-test.txt", True)
        if normalizer != "query_min_max":
            check.explained(f"explain-gaps-{normalizer}", model, "gaps.txt", True)

    matrix, lengths = read_letor(check.folder / "gaps-test.txt", FEATURES)
    scorers = {
        "linear": '[scorer]\nkind = "linear"',
        "perceptron": '[scorer]\nkind = "mlp"\nhidden = [8, 4]',
        "attention": ATTENTION.format(kind="attention", more=""),
    }
    for normalizer, (what, scorer) in itertools.product(NORMALISERS, scorers.items()):
        name = f"filled-{what}-{normalizer}"
        model = check.train(name, normalizer, scorer, GRADIENT, "gaps.txt", '[data.read]\nmissing = "indicator"')
        check.graphs(name, f"{what}, missing values", model, "gaps-test.txt", (), matrix, lengths)

    combinations = itertools.product(ACTIVATIONS, ["none", "layer", "batch"])
    for (activation, norm), normalizer in zip(combinations, itertools.cycle(NORMALISERS)):
        name = f"mlp-{activation}-{norm}-{normalizer}"
        scorer = f'[scorer]\nkind = "mlp"\nhidden = [8, 4]\nactivation = "{activation}"\nnorm = "{norm}"'
        check.graphs(name, "perceptron", check.train(name, normalizer, scorer, GRADIENT))
    for normalizer in NORMALISERS:
        scorer = ATTENTION.format(kind="attention", more="")
        check.graphs(f"attention-{normalizer}", "attention", check.train(f"attention-{normalizer}", normalizer, scorer, GRADIENT))
        scorer = ATTENTION.format(kind="latent_cross", more='hidden = [6, 4]\nnorm = "batch"')
        check.graphs(f"cross-{normalizer}", "latent cross", check.train(f"cross-{normalizer}", normalizer, scorer, GRADIENT))
        check.graphs(f"kernels-{normalizer}", "kernels", check.train(f"kernels-{normalizer}", normalizer, "", KERNELS))

    shared = pathlib.Path(os.environ.get("BURN_RANK_SHARED", ROOT.parent / "shared")) / "data/letor3-ohsumed/Fold1"
    if shared.is_dir():
        for part in ("train", "test"):
            (check.folder / f"ohsumed-{part}.txt").symlink_to(next(shared.glob(f"{part}*")))
        model = check.train("ohsumed", "none", "", TREES, "ohsumed-train.txt")
        check.trees("ohsumed", model, "none", "ohsumed-test.txt", False)
        check.explained("explain-ohsumed", model, "ohsumed-train.txt")
    else:
        print("not run: real data (CONTRIBUTING.md says how to get them)")
    check.table.show()


with tempfile.TemporaryDirectory() as folder:
    main(Check(sys.argv[1], folder))
