#!/usr/bin/env python3
"""Losses and perceptrons by their defaults, next to boosted trees of other libraries: NDCG@10 and MAP of test queries. Tables of benchmarks/losses.md.

    python3 -m venv /tmp/peers && /tmp/peers/bin/pip install numpy lightgbm xgboost catboost
    /tmp/peers/bin/python benches/python/neural_quality.py target/release/burn-rank --out FOLDER [SET ..] [--table NAME] [--seeds 1,2,3]

A SET is one of those below, which `burn-rank synth` makes, or NAME=FOLDER with S1.txt .. S5.txt or Fold1 .. Fold5; without any, all of those
below. What is in --out is not run again: a run goes on where an earlier one ended. Every fit of ours is one of `burn-rank cv` and its defaults.

--table trees (the default): perceptrons on four losses, `lambda_ndcg`, `list_net` and, for direct optimization, `approx_ndcg` and `soft_ap`
with unit gradients, and three libraries of trees. `.. 10 epochs` are `list_net` and `approx_ndcg` with 10 epochs at a rate of .003; `plain`
adds z-scores and no dropout. Trees have a learning rate of .05, 80 % of the documents and of the features for each tree, and at most 1,500
trees, which stop after 100 without a better NDCG@10 on validation queries. LightGBM has lambdarank and at least 20 documents in a leaf,
XGBoost rank:ndcg, CatBoost YetiRank. Leaves (7, 15, 31) and depths (3, 4, 6; CatBoost 4, 6) are chosen for each fold by validation NDCG@10
with the first seed.

--table ingredients: what each default of a perceptron is worth. One at a time is taken away. `gauss, all values` maps each feature by all its
training values instead of 257 knots, before burn-rank sees the data.

--table ensembles: rankers of several members beside the libraries with three seeds joined in the same way: the mean of the scores that are
standardized in each query. `lambda_ndcg` is one perceptron, the mean of three fits.

Every other figure is that of a single ranker: a query's value is the mean over the seeds. Differences are paired over test queries; the figure after ±
is their standard error. The convention is `standard`, for all. The pooled row or column weighs the sets by 1 / SE^2.
"""

import argparse
import itertools
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

import numpy

# What `burn-rank synth --parts 5` is told, and the folds that are tested.
SETS = {
    "gen": ("--queries 1000 --features 40 --median-length 20 --seed 911", [1, 3]),
    "new": ("--queries 1000 --features 80 --median-length 25 --noise 1.0 --seed 20261126", [1, 3]),
    "unseen": ("--queries 2000 --features 60 --median-length 12 --noise 1.6 --seed 77", [1, 2]),
    "big": ("--queries 2000 --features 136 --median-length 60 --seed 2024", [1]),
    "steps": ("--queries 1000 --features 40 --median-length 20 --seed 911 --scorer steps", [1, 3]),
}
ALL_FOLDS = [1, 2, 3, 4, 5]
MEASURES = ["ndcg@10", "map"]
BRIEF = ["learner.epochs=10", "learner.learning_rate=0.003"]
PLAIN = [*BRIEF, "normalizer=z_score", "scorer.dropout=0"]
NETS = {
    "lambda_ndcg": ["loss.name=lambda_ndcg"],
    "list_net": ["loss.name=list_net"],
    "approx_ndcg": ["loss.name=approx_ndcg"],
    "soft_ap": ["loss.name=soft_ap"],
    "list_net, 10 epochs": ["loss.name=list_net", *BRIEF],
    "approx_ndcg, 10 epochs": ["loss.name=approx_ndcg", *BRIEF],
    "list_net, 10 epochs, plain": ["loss.name=list_net", *PLAIN],
    "approx_ndcg, 10 epochs, plain": ["loss.name=approx_ndcg", *PLAIN],
}
# What one of a library's points is called, and the points.
POINTS = {"LightGBM": ("leaves", [7, 15, 31]), "XGBoost": ("depth", [3, 4, 6]), "CatBoost": ("depth", [4, 6])}
# Differences that are printed, each of the first from the second.
DIFFERENCES = [
    ("lambda_ndcg", "LightGBM"),
    ("list_net", "LightGBM"),
    ("approx_ndcg", "LightGBM"),
    ("lambda_ndcg", "XGBoost"),
    ("lambda_ndcg", "CatBoost"),
    ("lambda_ndcg", "list_net"),
    ("approx_ndcg", "list_net"),
    ("approx_ndcg", "lambda_ndcg"),
    ("soft_ap", "list_net"),
    ("soft_ap", "lambda_ndcg"),
    ("approx_ndcg, 10 epochs", "list_net, 10 epochs"),
    ("approx_ndcg, 10 epochs, plain", "list_net, 10 epochs, plain"),
    *(
        (ensemble, "lambda_ndcg")
        for ensemble in ("three networks", "six networks", "three and three of two losses", "three networks and trees")
    ),
    ("three and three of two losses", "six networks"),
    ("three networks and trees", "three and three of two losses"),
    *(
        (ensemble, f"{library} joined")
        for ensemble in ("six networks", "three and three of two losses", "trees, three seeds", "three networks and trees")
        for library in ("LightGBM", "XGBoost", "CatBoost")
    ),
]
ALL_VALUES = "gauss, all values"
WITHOUT = {
    "raw gradients": ["loss.query_gradients=raw"],
    "normalizer z_score": ["normalizer=z_score"],
    "normalizer quantile": ["normalizer=quantile"],
    ALL_VALUES: ["normalizer=none"],
    "no dropout": ["scorer.dropout=0"],
    "all 100 epochs": ["learner.patience=100"],
    "10 epochs": ["learner.epochs=10"],
    "learning rate .01": ["learner.learning_rate=0.01"],
}
INGREDIENTS = {
    f"{loss}, {what}": [f"loss.name={loss}", *keys]
    for loss in ("lambda_ndcg", "approx_ndcg")
    for what, keys in WITHOUT.items()
    if (loss, what) != ("lambda_ndcg", "raw gradients")
}
MEMBER = """\
[[members]]
scorer = {{ kind = "mlp" }}
loss = {{ name = "{loss}" }}
learner = {{ kind = "gradient", seeds = {seeds} }}
"""
TREES = """\
[[members]]
weight = {weight}
loss = {{ name = "lambda_ndcg" }}
learner = {{ kind = "boosted_trees", learning_rate = 0.05, rounds = 1500, patience = 100, subsample = 0.8, colsample = 0.8, seeds = 3 }}
"""
# The members of each ranker, which follow MEASURED in its configuration.
ENSEMBLES = {
    "three networks": MEMBER.format(loss="lambda_ndcg", seeds=3),
    "six networks": MEMBER.format(loss="lambda_ndcg", seeds=6),
    "three and three of two losses": MEMBER.format(loss="lambda_ndcg", seeds=3) + MEMBER.format(loss="approx_ndcg", seeds=3),
    "trees, three seeds": TREES.format(weight=1),
    "three networks and trees": MEMBER.format(loss="lambda_ndcg", seeds=3) + TREES.format(weight=3),
}
JOINED = " joined"
TABLES = {
    "ensembles": ["lambda_ndcg", *ENSEMBLES, *(f"{library}{JOINED}" for library in POINTS)],
    "trees": [*POINTS, *NETS],
    "ingredients": ["lambda_ndcg", "approx_ndcg", *INGREDIENTS],
}
MEASURED = """\
measure = { convention = "standard", select = "ndcg@10", report = ["ndcg@10", "map"] }
"""
CONFIG = (
    MEASURED
    + """\
scorer = { kind = "mlp" }
loss = { name = "lambda_ndcg" }
learner = { kind = "gradient" }
"""
)
ROUNDS, PATIENCE = 1500, 100


def of_queries(report, measure):
    """The value of each test query of a cross-validation, NaN where the convention leaves it out."""
    return numpy.array([value for fold in report["details"] for value in fold["per_query"]["values"][measure]], dtype=float)


def net(binary, folder, folds, sets, seeds, threads, out, written=CONFIG):
    """Values of each test query by measure, the mean over seeds, and what each fold selected with the best round of each fit."""
    path = os.path.join(out, "report.json")
    if not os.path.exists(path):
        with tempfile.TemporaryDirectory() as work:
            config = os.path.join(work, "perceptron.toml")
            with open(config, "w") as file:
                file.write(written)
            sets = [f"data.folds={json.dumps(os.path.abspath(folder))}", f"cv.folds={folds}", f"cv.seeds={seeds}", *sets]
            command = [binary, "cv", config, "--out", out, "--jobs", str(threads), *(["--resume"] if os.path.exists(out) else [])]
            command += [part for key in sets for part in ("--set", key)]
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    with open(path) as file:
        report = json.load(file)
    values = {measure: of_queries(report, measure) for measure in MEASURES}
    fits = [fit["best_round"] for fold in report["details"] for fit in fold["fits"]]
    selected = [fold["selected"] for fold in report["folds"] if fold["selected"] != "-"]
    return values, f"best rounds {fits}, selected {selected}"


def parts(folder, fold):
    """Training, validation and test files of a fold, from 1."""
    if os.path.isdir(os.path.join(folder, "Fold1")):
        return [[os.path.join(folder, f"Fold{fold}", f"{part}.txt")] for part in ("train", "vali", "test")]
    files = [os.path.join(folder, f"S{(fold - 1 + part) % 5 + 1}.txt") for part in range(5)]
    return [files[:3], files[3:4], files[4:]]


def read(files):
    labels, rows, queries = [], [], []
    for path in files:
        with open(path) as lines:
            for line in lines:
                fields = line.split("#")[0].split()
                labels.append(float(fields[0]))
                queries.append(fields[1])
                rows.append({int(index): float(value) for index, value in (entry.split(":") for entry in fields[2:])})
    features = numpy.zeros((len(rows), max(max(row) for row in rows if row)))
    for row, values in zip(features, rows):
        for index, value in values.items():
            row[index - 1] = value
    return numpy.array(labels), features, [len(list(group)) for _, group in itertools.groupby(queries)]


def learnable(labels, features, sizes):
    """Without the queries that have no relevant document, which count as 1 in LightGBM."""
    queries = numpy.repeat(numpy.arange(len(sizes)), sizes)
    has_relevant = numpy.bincount(queries, labels > 0, len(sizes)) > 0
    keeps = has_relevant[queries]
    return labels[keeps], features[keeps], numpy.array(sizes)[has_relevant]


def fit_lightgbm(train, validation, leaves, seed, threads):
    """Validation NDCG@10, trees and how to score."""
    import lightgbm

    parameters = {
        "objective": "lambdarank", "metric": "ndcg", "eval_at": [10], "learning_rate": 0.05, "num_leaves": leaves,
        "min_data_in_leaf": 20, "feature_fraction": 0.8, "bagging_fraction": 0.8, "bagging_freq": 1, "seed": seed,
        "num_threads": threads, "force_col_wise": True, "verbose": -1,
    }
    sets = [lightgbm.Dataset(rows, labels, group=sizes) for labels, rows, sizes in (train, validation)]
    stop = lightgbm.early_stopping(PATIENCE, verbose=False)
    ranker = lightgbm.train(parameters, sets[0], ROUNDS, valid_sets=[sets[1]], callbacks=[stop])
    return ranker.best_score["valid_0"]["ndcg@10"], ranker.best_iteration, ranker.predict


def fit_xgboost(train, validation, depth, seed, threads):
    import xgboost

    parameters = {
        "objective": "rank:ndcg", "eval_metric": "ndcg@10", "eta": 0.05, "max_depth": depth, "subsample": 0.8, "colsample_bytree": 0.8,
        "seed": seed, "nthread": threads,
    }
    sets = [xgboost.DMatrix(rows, labels, group=sizes, nthread=threads) for labels, rows, sizes in (train, validation)]
    ranker = xgboost.train(parameters, sets[0], ROUNDS, evals=[(sets[1], "validation")], early_stopping_rounds=PATIENCE, verbose_eval=False)
    trees = ranker.best_iteration + 1
    return ranker.best_score, trees, lambda rows: ranker.predict(xgboost.DMatrix(rows), iteration_range=(0, trees))


def fit_catboost(train, validation, depth, seed, threads):
    import catboost

    measure = "NDCG:top=10;type=Exp"
    ranker = catboost.CatBoost({
        "loss_function": "YetiRank", "eval_metric": measure, "learning_rate": 0.05, "depth": depth, "rsm": 0.8, "random_seed": seed,
        "bootstrap_type": "Bernoulli", "subsample": 0.8, "iterations": ROUNDS, "early_stopping_rounds": PATIENCE, "use_best_model": True,
        "thread_count": threads, "allow_writing_files": False, "verbose": False,
    })
    sets = [catboost.Pool(rows, labels, group_id=numpy.repeat(numpy.arange(len(sizes)), sizes)) for labels, rows, sizes in (train, validation)]
    ranker.fit(sets[0], eval_set=sets[1])
    return max(ranker.get_evals_result()["validation"][measure]), ranker.tree_count_, ranker.predict


FITS = {"LightGBM": fit_lightgbm, "XGBoost": fit_xgboost, "CatBoost": fit_catboost}


def trees(binary, folder, folds, seeds, threads, out, library="LightGBM", is_joined=False):
    """The same of a library of trees. Values are those of `burn-rank eval`."""
    path = os.path.join(out, "values.json")
    if not os.path.exists(path):
        fit, (what, points) = FITS[library], POINTS[library]
        values, joined, chosen = {measure: [] for measure in MEASURES}, {measure: [] for measure in MEASURES}, []
        for fold in folds:
            files = parts(folder, fold)
            train, validation, test = read(files[0]), learnable(*read(files[1])), read(files[2])
            width = max(train[1].shape[1], test[1].shape[1], validation[1].shape[1])
            train, validation, test = (
                (labels, numpy.pad(rows, ((0, 0), (0, width - rows.shape[1]))), sizes) for labels, rows, sizes in (train, validation, test)
            )
            first = {point: fit(train, validation, point, seeds[0], threads) for point in points}
            point = max(points, key=lambda point: first[point][0])
            rankers = [first[point], *(fit(train, validation, point, seed, threads) for seed in seeds[1:])]
            scores = [numpy.asarray(predict(test[1]), dtype=float) for _, _, predict in rankers]
            found = [measured(binary, files[2], of) for of in scores]
            together = measured(binary, files[2], numpy.mean([standardized(of, test[2]) for of in scores], axis=0))
            for measure in MEASURES:
                joined[measure].extend(together[measure])
                values[measure].extend(numpy.mean([of[measure] for of in found], axis=0).tolist())
            chosen.append(f"{what} {point}, {[count for _, count, _ in rankers]} trees")
        os.makedirs(out, exist_ok=True)
        with open(path, "w") as file:
            json.dump({"values": values, "joined": joined, "chosen": chosen, "version": __import__(library.lower()).__version__}, file)
    with open(path) as file:
        found = json.load(file)
    return found["joined" if is_joined else "values"], "; ".join(found["chosen"])


def standardized(scores, sizes):
    """Scores of each query with mean 0 and deviation 1, or 0 where all are equal."""
    parts = numpy.split(scores, numpy.cumsum(sizes)[:-1])
    return numpy.concatenate([(part - part.mean()) / part.std() if part.max() > part.min() else 0 * part for part in parts])


def by_all_values(folder, folds, out):
    """The folds as Fold1, Fold2, .., with each feature mapped to the standard normal distribution by all its training values."""
    normal = statistics.NormalDist()
    for at_fold, fold in enumerate(folds, 1):
        files = parts(folder, fold)
        train = read(files[0])[1]
        ordered = [numpy.sort(column) for column in train.T]

        def mapped(at, values):
            if ordered[at][0] == ordered[at][-1]:
                return numpy.zeros(len(values))
            shares = sum(numpy.searchsorted(ordered[at], values, side) for side in ("left", "right")) / (2 * len(train))
            distinct, places = numpy.unique(numpy.clip(shares, 0.001, 0.999), return_inverse=True)
            return numpy.array([normal.inv_cdf(share) for share in distinct])[places]

        for part, names in zip(("train", "vali", "test"), files):
            labels, rows, sizes = read(names)
            rows = numpy.pad(rows, ((0, 0), (0, train.shape[1] - rows.shape[1])))
            rows = numpy.stack([mapped(at, column) for at, column in enumerate(rows.T)], axis=1)
            path = os.path.join(out, f"Fold{at_fold}", f"{part}.txt")
            os.makedirs(os.path.dirname(path), exist_ok=True)
            queries = numpy.repeat(numpy.arange(len(sizes)), sizes)
            with open(path, "w") as file:
                for label, query, row in zip(labels, queries, rows):
                    file.write(f"{label:g} qid:{query} {' '.join(f'{at}:{value:.9g}' for at, value in enumerate(row, 1))}\n")
    return out


def measured(binary, files, scores):
    """Values of each query; NaN where the convention leaves it out."""
    with tempfile.NamedTemporaryFile("w") as file:
        file.write("".join(f"{score!r}\n" for score in scores.tolist()))
        file.flush()
        command = [binary, "eval", "--scores", file.name, *files, "--per-query", "--json", "-m", ",".join(MEASURES), "-c", "standard"]
        report = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    number = lambda value: numpy.nan if value is None else value
    return {measure: [number(query["measures"].get(measure)) for query in report["per_query"]] for measure in MEASURES}


def generated(binary, out, name):
    """The folder of a generated set, made where it is not there."""
    folder = os.path.join(out, "data", name)
    if not os.path.exists(folder):
        os.makedirs(os.path.dirname(folder), exist_ok=True)
        subprocess.run([binary, "synth", *SETS[name][0].split(), "--parts", "5", "--out", folder], check=True, stdout=subprocess.DEVNULL)
    return folder


def mean(values):
    values = values[~numpy.isnan(values)]
    return values.mean(), values.std(ddof=1) / len(values) ** 0.5


def pooled(figures):
    """Mean and standard error of several means, by 1 / SE^2. Sets whose queries all differ alike are left out, unless all do."""
    uneven = [(value, error) for value, error in figures if error > 0]
    if not uneven:
        return statistics.mean(value for value, _ in figures), 0.0
    weights = [1 / error**2 for _, error in uneven]
    return sum(weight * value for weight, (value, _) in zip(weights, uneven)) / sum(weights), sum(weights) ** -0.5


def in_words(value, error):
    return f"{value:+.4f} ± {error:.4f}"


def trees_table(found, methods):
    methods = [method for method in methods if all(method in of_set for of_set in found.values())]
    print("| set | queries | " + " | ".join(f"{method}: NDCG@10, MAP" for method in methods) + " |\n|---|---|" + "---|" * len(methods))
    for name, of_set in found.items():
        count = int((~numpy.isnan(of_set[methods[0]]["ndcg@10"])).sum())
        cells = [f"{mean(of_set[method]['ndcg@10'])[0]:.4f}, {mean(of_set[method]['map'])[0]:.4f}" for method in methods]
        print(f"| {name} | {count} | " + " | ".join(cells) + " |")
    pairs = [(one, other) for one, other in DIFFERENCES if one in methods and other in methods]
    if not pairs:
        return
    for measure in MEASURES:
        print(f"\n{measure}\n\n| set | " + " | ".join(f"{one} - {other}" for one, other in pairs) + " |\n|---|" + "---|" * len(pairs))
        columns = {pair: [] for pair in pairs}
        for name, of_set in found.items():
            for one, other in pairs:
                columns[one, other].append(mean(of_set[one][measure] - of_set[other][measure]))
            print(f"| {name} | " + " | ".join(in_words(*columns[pair][-1]) for pair in pairs) + " |")
        print("| pooled | " + " | ".join(in_words(*pooled(columns[pair])) for pair in pairs) + " |", flush=True)


def differences(found, method, other, measure):
    """Mean difference and error on each set, None where one of the two was not run."""
    both = lambda of_set: method in of_set and other in of_set
    return [mean(of_set[method][measure] - of_set[other][measure]) if both(of_set) else None for of_set in found.values()]


def ingredients_table(found, methods):
    one = len(found) == 1
    columns = [f"{name}, {title}" for name in found for title in ("NDCG@10", "MAP")] if one else [*found, "pooled, NDCG@10", "pooled, MAP"]
    print("| without | compared with | " + " | ".join(columns) + " |\n|---|---|" + "---|" * len(columns))
    for method in filter(methods.__contains__, INGREDIENTS):
        loss, what = method.split(", ", 1)
        of_sets = {measure: differences(found, method, loss, measure) for measure in MEASURES}
        if not any(of_sets["ndcg@10"]):
            continue
        cells = [] if one else [in_words(*figure) if figure else "" for figure in of_sets["ndcg@10"]]
        cells += [in_words(*pooled(list(filter(None, of_sets[measure])))) for measure in MEASURES]
        print(f"| `{loss}`, {what} | `{loss}` | {' | '.join(cells)} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary")
    parser.add_argument("sets", nargs="*")
    parser.add_argument("--out", required=True)
    parser.add_argument("--table", choices=TABLES, default="trees")
    parser.add_argument("--seeds", default="1,2,3")
    parser.add_argument("--methods", help="methods of the table to run, separated by semicolons; all if left out")
    parser.add_argument("--made", action="store_true", help="run nothing: print the methods that are in --out")
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    arguments = parser.parse_intermixed_args()
    binary, seeds = os.path.abspath(arguments.binary), [int(seed) for seed in arguments.seeds.split(",")]
    methods = TABLES[arguments.table] if arguments.methods is None else [name.strip() for name in arguments.methods.split(";")]
    keys = {**NETS, **INGREDIENTS}
    for name in methods:
        if name not in TABLES[arguments.table]:
            sys.exit(f"{name} is not a method of --table {arguments.table}: expected {'; '.join(TABLES[arguments.table])}")
    found = {}
    for name in arguments.sets or SETS:
        name, _, folder = name.partition("=")
        folds = ALL_FOLDS
        if not folder:
            folder, folds = generated(binary, arguments.out, name), SETS[name][1]
        of_set = found.setdefault(name, {})
        for method in methods:
            place = method.translate(str.maketrans({",": "", " ": "-"}))
            library, start = method.removesuffix(JOINED), time.time()
            out = os.path.join(arguments.out, name, library if library in POINTS else place)
            if arguments.made and not any(os.path.exists(os.path.join(out, file)) for file in ("report.json", "values.json")):
                continue
            if library in POINTS:
                values, how = trees(binary, folder, folds, seeds, arguments.threads, out, library, method != library)
            elif method in ENSEMBLES:
                values, how = net(binary, folder, folds, [], seeds[:1], arguments.threads, out, MEASURED + ENSEMBLES[method])
            else:
                source, own_folds = folder, folds
                if method.endswith(ALL_VALUES):
                    source = os.path.join(arguments.out, "data", f"{name}-all-values")
                    if not os.path.exists(source):
                        by_all_values(folder, folds, source)
                    own_folds = list(range(1, len(folds) + 1))
                values, how = net(binary, source, own_folds, keys[method], seeds, arguments.threads, out)
            of_set[method] = {measure: numpy.array(values[measure], dtype=float) for measure in MEASURES}
            print(f"{name}, {method}: {mean(of_set[method]['ndcg@10'])[0]:.4f}, {how}, {time.time() - start:.0f} s", file=sys.stderr, flush=True)
    {"trees": trees_table, "ingredients": ingredients_table, "ensembles": trees_table}[arguments.table](found, methods)


if __name__ == "__main__":
    main()
