"""Readers of rankers, written from the documentation of the formats, for systems that PyPI does not have; and what the
checks of exports and imports share."""

import json
import math
import pathlib
import subprocess
import xml.etree.ElementTree

import numpy

F32 = numpy.float32


def of_ranklib_linear(path, matrix):
    """RankLib's linear regression: comments, then `feature:weight` pairs, feature 0 the constant."""
    lines = path.read_text().splitlines()
    assert lines[0] == "## Linear Regression", lines[0]
    pairs = [pair.split(":") for line in lines if not line.startswith("##") for pair in line.split(" ")]
    weights = {int(feature): float(weight) for feature, weight in pairs}
    return weights[0] + matrix.astype(float) @ numpy.array([weights[k + 1] for k in range(matrix.shape[1])])


def of_ranklib_trees(path, matrix):
    """RankLib's LambdaMART: `value <= threshold` goes left, where a missing value counts as 0; 32-bit thresholds, leaves,
    weights and sums."""
    matrix = numpy.nan_to_num(matrix)
    lines = path.read_text().splitlines()
    assert lines[0] == "## LambdaMART", lines[0]
    root = xml.etree.ElementTree.fromstring("\n".join(line for line in lines if not line.startswith("##")))

    def node(split, row):
        while split.find("feature") is not None:
            is_left = row[int(split.find("feature").text) - 1] <= F32(split.find("threshold").text)
            split = next(side for side in split.findall("split") if side.get("pos") == ("left" if is_left else "right"))
        return F32(split.find("output").text)

    def score(row):
        total = F32(0)
        for tree in root.findall("tree"):
            total = F32(float(total) + float(node(tree.find("split"), row)) * float(F32(tree.get("weight"))))
        return total

    return numpy.array([score(row) for row in matrix], dtype=float)


def of_plugin_dump(path, matrix, names):
    """`model/xgboost+json` of the plug-ins: `value < split_condition` goes to `yes`; 32-bit conditions, leaves and sums.
    A missing value (NaN) goes to `missing`."""
    places = {name: place for place, name in enumerate(names)}
    trees = json.loads(path.read_text())

    def leaf(node, row):
        while "leaf" not in node:
            value = row[places[node["split"]]]
            side = node["missing"] if math.isnan(value) else node["yes" if value < F32(node["split_condition"]) else "no"]
            node = next(child for child in node["children"] if child["nodeid"] == side)
        return F32(node["leaf"])

    def score(row):
        total = F32(0)
        for tree in trees:
            total = F32(total + leaf(tree, row))
        return total

    return numpy.array([score(row) for row in matrix], dtype=float)


def of_plugin_linear(path, matrix, names):
    """`model/linear` of the plug-ins: a weight for each feature."""
    weights = json.loads(path.read_text())
    return matrix.astype(float) @ numpy.array([weights[name] for name in names])


def of_solr(path, matrix):
    """Solr's `MultipleAdditiveTreesModel` and `LinearModel`: 1e-6 is added to every threshold, `value <= threshold` goes
    left, all in 32 bits."""
    model = json.loads(path.read_text())
    kind = model["class"].rsplit(".", 1)[1]
    columns = {}
    for place, feature in enumerate(model["features"]):
        column = matrix[:, place].astype(F32)
        if "norm" in feature:
            assert feature["norm"]["class"] == "org.apache.solr.ltr.norm.StandardNormalizer"
            parameters = feature["norm"]["params"]
            assert float(parameters["std"]) > 0
            column = (column - F32(parameters["avg"])) / F32(parameters["std"])
        columns[feature["name"]] = column
    total = numpy.zeros(len(matrix), dtype=F32)
    if kind == "LinearModel":
        for name, weight in model["params"]["weights"].items():
            total = total + columns[name] * F32(weight)
        return total.astype(float)
    assert kind == "MultipleAdditiveTreesModel", kind

    def leaf(node, row):
        while "value" not in node:
            threshold = F32(F32(node["threshold"]) + F32(1e-6))
            node = node["left" if columns[node["feature"]][row] <= threshold else "right"]
        return F32(node["value"])

    for tree in model["params"]["trees"]:
        total = total + F32(tree["weight"]) * numpy.array([leaf(tree["root"], row) for row in range(len(matrix))], dtype=F32)
    return total.astype(float)


class Table:
    """What was compared with what, how many rankers, and the largest difference, relative above 1."""

    def __init__(self, first, second):
        self.heads = (first, second)
        self.rows = {}

    def add(self, first, second, ours, theirs, limit):
        ours, theirs = numpy.asarray(ours, dtype=float), numpy.asarray(theirs, dtype=float)
        assert ours.shape == theirs.shape, (first, second, ours.shape, theirs.shape)
        error = float(numpy.max(numpy.abs(ours - theirs) / numpy.maximum(1, numpy.abs(ours))))
        if not error <= limit:
            place = int(numpy.argmax(numpy.abs(ours - theirs)))
            raise SystemExit(f"{first} x {second}: differs by {error} (document {place}: {ours[place]}, {theirs[place]})")
        count, documents, largest = self.rows.get((first, second), (0, 0, 0.0))
        self.rows[first, second] = count + 1, documents + len(ours), max(largest, error)

    def show(self):
        print(f"| {self.heads[0]} | {self.heads[1]} | rankers | scores | largest difference |\n|---|---|--:|--:|--:|")
        for (first, second), (count, documents, largest) in self.rows.items():
            print(f"| {first} | {second} | {count} | {documents} | {largest:.1e} |")


class Bench:
    """A folder in which the real binary runs."""

    def __init__(self, binary, folder):
        self.binary, self.folder = str(pathlib.Path(binary).resolve()), pathlib.Path(folder)

    def run(self, *args, code=0):
        done = subprocess.run([self.binary, *map(str, args)], cwd=self.folder, capture_output=True, text=True)
        if done.returncode != code:
            raise SystemExit(f"{args}: exit code {done.returncode}, expected {code}\n{done.stderr}")
        return done.stdout + done.stderr

    def predict(self, model, data, *args):
        self.run("predict", model, data, "--out", "scores.txt", *args)
        return numpy.loadtxt(self.folder / "scores.txt", ndmin=1)

    def write_letor(self, name, matrix, lengths, labels=None):
        """Writes a matrix so that the same 32-bit floats are read; NaN is written out."""
        queries = numpy.repeat(numpy.arange(len(lengths)), lengths)
        with open(self.folder / name, "w") as file:
            for row, query in enumerate(queries):
                label = int(labels[row]) if labels is not None else row % 3
                values = " ".join(f"{place + 1}:{value!s}" for place, value in enumerate(matrix[row]))
                file.write(f"{label} qid:{query} {values}\n")
        return name


def thresholds_of_lightgbm(path):
    """The feature, from 0, and the threshold of every split of LightGBM's text."""
    features, thresholds = [], []
    for line in path.read_text().splitlines():
        if line.startswith("split_feature="):
            features += map(int, line.split("=")[1].split())
        if line.startswith("threshold="):
            thresholds += map(float, line.split("=")[1].split())
    return list(zip(features, thresholds))


def near(thresholds, matrix, random):
    """Rows of `matrix` with one value replaced by a threshold of its feature, and by the two floats beside it."""
    rows = []
    for feature, threshold in thresholds:
        threshold = F32(threshold)
        if not numpy.isfinite(threshold):
            continue
        with numpy.errstate(over="ignore"):
            beside = [numpy.nextafter(threshold, F32(end)) for end in (numpy.inf, -numpy.inf)]
        for value in (threshold, *beside):
            row = matrix[random.integers(len(matrix))].copy()
            row[feature] = value
            rows.append(row)
    rows = numpy.array(rows, dtype=F32)
    return rows[numpy.isfinite(rows).all(axis=1)]
