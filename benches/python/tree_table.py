#!/usr/bin/env python3
"""The table of benchmarks/trees.md: our trees beside LightGBM, XGBoost and CatBoost, in three steps that can be stopped and run again.

    python3 -m venv /tmp/peers && /tmp/peers/bin/pip install numpy scipy lightgbm xgboost catboost
    P="/tmp/peers/bin/python benches/python/tree_table.py --binary target/release/burn-rank --data DATA --work /tmp/trees"
    $P choose ohsumed mq2008 generated-1 mslr generated-2     # fits the grid, looks at validation queries alone
    $P freeze                                                 # writes the points chosen to tree_points.json: commit it
    $P test ohsumed mq2008 generated-1 mslr generated-2       # fits the points of the file, measures test queries
    $P print

DATA has letor3-ohsumed, mq2008 and mslr-sample; the other two sets are generated. Each fit is one line of WORK/choose.jsonl or test.jsonl, and
one that is there is not made again. Steps never mix: `choose` does not read the test queries, `test` does not choose.

Every fit has at most 300 trees and stops early, after 30 trees without a better NDCG@10 of the validation queries (each library's own, of gains
2^y - 1). "default": each library's own parameters besides. "tuned": four points for each (leaves and rate; CatBoost, whose trees are symmetric,
depth and rate; RankBoost thresholds), 80 % of the queries (XGBoost: of the documents) and half of the features for each tree. Seed 1 chooses a
point for each fold by NDCG@10 of the validation queries, computed here for all (`standard` convention); seeds 1, 2, 3 are tested. What has
no random part (RankBoost, and the defaults of all but CatBoost) is fitted once.

Seconds are those of the processor, on one thread. Those of a peer are from features in memory, those of burn-rank of the whole process, which reads
text, measures and writes its report. MiB of a peer: growth of the peak; of burn-rank: the peak of the process less the features (4 bytes each).
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time

import numpy

FOLDS = range(1, 6)
SEEDS = [1, 2, 3]
ROUNDS, PATIENCE = 300, 30
POINTS_FILE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "tree_points.json")
# Seeds of the generated sets, fixed before the first fit.
GENERATED = {"generated-1": 101, "generated-2": 202}
SYNTH = ["--queries", "2000", "--features", "40", "--median-length", "15"]
SETS = ["ohsumed", "mq2008", "generated-1", "mslr", "generated-2"]
GRID = [(leaves, rate) for leaves in (7, 31) for rate in (0.05, 0.1)]
THRESHOLDS = [4, 16, 64, 255]
PEERS = ["LightGBM", "XGBoost", "CatBoost"]
OURS = {
    "LambdaMART": 'name = "lambda_ndcg"',
    "direct NDCG": 'name = "soft_ndcg"',
    "direct AP": 'name = "soft_ap"',
    "RankBoost": None,
}
METHODS = [*PEERS, *OURS]


def has_seeds(method, point):
    return method == "CatBoost" or (point is not None and method != "RankBoost")


# --- data -----------------------------------------------------------------------------------------------------------


def folder(arguments, name):
    """The folds of a set, made where they are not there."""
    if name in ("ohsumed", "mq2008"):
        return os.path.join(arguments.data, {"ohsumed": "letor3-ohsumed"}.get(name, name))
    path = os.path.join(arguments.work, name)
    if os.path.isdir(path):
        return path
    if name in GENERATED:
        subprocess.run([arguments.binary, "synth", *SYNTH, "--seed", str(GENERATED[name]), "--parts", "5", "-o", path], check=True)
        return path
    queries = {}
    with open(os.path.join(arguments.data, "mslr-sample", "sample.txt")) as lines:
        for line in lines:
            queries.setdefault(line.split(" ", 2)[1], []).append(line)
    os.makedirs(path)
    for part in range(5):
        with open(os.path.join(path, f"S{part + 1}.txt"), "w") as file:
            for number, lines in enumerate(queries.values()):
                if number % 5 == part:
                    file.writelines(lines)
    return path


def parts(path, fold):
    """Training, validation and test files of a fold."""
    if os.path.isdir(os.path.join(path, "Fold1")):
        return [[os.path.join(path, f"Fold{fold}", f"{part}.txt")] for part in ("train", "vali", "test")]
    file = lambda part: os.path.join(path, f"S{(fold + part) % 5 + 1}.txt")
    return [[file(part) for part in (-1, 0, 1)], [file(2)], [file(3)]]


class Queries:
    """Labels, features and sizes of some files."""

    def __init__(self, files):
        labels, names, rows = [], [], []
        for path in files:
            with open(path) as lines:
                for line in lines:
                    fields = line.split("#")[0].split()
                    labels.append(float(fields[0]))
                    names.append(fields[1])
                    rows.append([entry.split(":") for entry in fields[2:]])
        width = max(int(row[-1][0]) for row in rows if row)
        self.features = numpy.zeros((len(rows), width), dtype=numpy.float32)
        for values, row in zip(self.features, rows):
            values[[int(index) - 1 for index, _ in row]] = [float(value) for _, value in row]
        self.labels = numpy.array(labels)
        self.sizes = [0]
        for before, name in zip([None, *names], names):
            if name != before:
                self.sizes.append(0)
            self.sizes[-1] += 1
        self.sizes = self.sizes[1:]


# --- measures -------------------------------------------------------------------------------------------------------


def discounts(convention, size):
    ranks = numpy.arange(1, size + 1)
    return 1 / numpy.log2(ranks + 1) if convention == "standard" else 1 / numpy.log2(numpy.maximum(ranks, 2))


def ndcg(convention, labels, scores, cutoff=10):
    """`standard`: the expectation over the orders of equal scores; `letor`: equal scores in the order of the file."""
    gains, discount = numpy.exp2(labels) - 1, discounts(convention, len(labels))
    discount[cutoff:] = 0
    ideal = (numpy.sort(gains)[::-1] * discount).sum()
    if ideal == 0:
        return numpy.nan if convention == "standard" else 0.0
    order = numpy.argsort(-scores, kind="stable")
    if convention == "letor":
        return (gains[order] * discount).sum() / ideal
    _, first, counts = numpy.unique(-scores[order], return_index=True, return_counts=True)
    return (numpy.add.reduceat(gains[order], first) / counts * numpy.add.reduceat(discount, first)).sum() / ideal


def average_precision(convention, labels, scores):
    relevant = labels > 0
    total = relevant.sum()
    if total == 0:
        return numpy.nan if convention == "standard" else 0.0
    order = numpy.argsort(-scores, kind="stable")
    if convention == "letor":
        sorted_relevant = relevant[order]
        return (numpy.cumsum(sorted_relevant) / numpy.arange(1, len(labels) + 1))[sorted_relevant].mean()
    _, starts, counts = numpy.unique(-scores[order], return_index=True, return_counts=True)
    found = numpy.add.reduceat(relevant[order].astype(float), starts)
    value, before = 0.0, 0.0
    for first, size, hits in zip(starts, counts, found):
        # A place among the tied ones is relevant with chance hits / size, and so is each of the places before it, given that.
        if hits > 0:
            places = numpy.arange(1, size + 1)
            others = (places - 1) * ((hits - 1) / (size - 1) if size > 1 else 0.0)
            value += (hits / size * (before + 1 + others) / (first + places)).sum()
        before += hits
    return value / total


def measured(queries, scores):
    """Values of each query, by measure and convention."""
    found, start = {}, 0
    for size in queries.sizes:
        labels, own = queries.labels[start : start + size], scores[start : start + size]
        start += size
        for convention in ("standard", "letor"):
            found.setdefault(f"{convention} ndcg@10", []).append(float(ndcg(convention, labels, own)))
            found.setdefault(f"{convention} map", []).append(float(average_precision(convention, labels, own)))
    return found


# --- fits -----------------------------------------------------------------------------------------------------------


def status(field):
    with open("/proc/self/status") as lines:
        return next(int(line.split()[1]) for line in lines if line.startswith(field)) / 1024


def lightgbm_scores(train, validation, other, seed, point):
    import lightgbm

    parameters = {"objective": "lambdarank", "metric": "ndcg", "eval_at": [10], "num_threads": 1, "verbose": -1, "seed": seed}
    if point:
        parameters.update(num_leaves=point[0], learning_rate=point[1], bagging_by_query=True, bagging_fraction=0.8, bagging_freq=1)
        parameters.update(feature_fraction=0.5)
    sets = [lightgbm.Dataset(queries.features, queries.labels, group=queries.sizes) for queries in (train, validation)]
    stop = lightgbm.early_stopping(PATIENCE, verbose=False)
    ranker = lightgbm.train(parameters, sets[0], ROUNDS, valid_sets=[sets[1]], callbacks=[stop])
    return ranker.best_iteration, lambda queries: ranker.predict(queries.features, num_threads=1)


def xgboost_scores(train, validation, other, seed, point):
    import xgboost

    parameters = {"objective": "rank:ndcg", "eval_metric": "ndcg@10", "nthread": 1, "verbosity": 0, "seed": seed, "tree_method": "hist"}
    if point:
        parameters.update(grow_policy="lossguide", max_depth=0, max_leaves=point[0], eta=point[1], subsample=0.8, colsample_bytree=0.5)
    matrix = lambda queries: xgboost.DMatrix(queries.features, queries.labels, group=queries.sizes, nthread=1)
    ranker = xgboost.train(
        parameters, matrix(train), ROUNDS, evals=[(matrix(validation), "validation")], early_stopping_rounds=PATIENCE, verbose_eval=False
    )
    trees = ranker.best_iteration + 1
    return trees, lambda queries: ranker.predict(xgboost.DMatrix(queries.features, nthread=1), iteration_range=(0, trees))


def catboost_scores(train, validation, other, seed, point):
    import catboost

    parameters = {"loss_function": "YetiRank", "custom_metric": [], "eval_metric": "NDCG:top=10;type=Exp", "thread_count": 1, "verbose": False}
    parameters.update(random_seed=seed, iterations=ROUNDS, early_stopping_rounds=PATIENCE, allow_writing_files=False)
    if point:
        depth = {7: 4, 31: 6}[point[0]]
        parameters.update(depth=depth, learning_rate=point[1], rsm=0.5, bootstrap_type="Bernoulli", subsample=0.8, sampling_unit="Group")
    pool = lambda queries: catboost.Pool(
        queries.features, queries.labels, group_id=numpy.repeat(numpy.arange(len(queries.sizes)), queries.sizes), thread_count=1
    )
    ranker = catboost.CatBoost(parameters)
    ranker.fit(pool(train), eval_set=pool(validation))
    return ranker.tree_count_, lambda queries: ranker.predict(queries.features, thread_count=1)


def peer(method, train, validation, other, seed, point):
    """A fit in a process of its own, which has the features already: trees, scores of the other queries, costs."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.close(read)
            # The peak is counted from here.
            with open("/proc/self/clear_refs", "w") as file:
                file.write("5")
            before = status("VmRSS:")
            fit = {"LightGBM": lightgbm_scores, "XGBoost": xgboost_scores, "CatBoost": catboost_scores}[method]
            start = time.process_time()
            trees, predict = fit(train, validation, other, seed, point)
            seconds = time.process_time() - start
            memory = status("VmHWM:") - before
            start = time.process_time()
            scores = [numpy.asarray(predict(queries), dtype=float).tolist() for queries in (validation, other) if queries is not None]
            found = {"trees": trees, "fit_s": seconds, "predict_s": time.process_time() - start, "mib": memory, "scores": scores}
            with os.fdopen(write, "w") as file:
                json.dump(found, file)
        finally:
            os._exit(0)
    os.close(write)
    with os.fdopen(read) as file:
        text = file.read()
    os.waitpid(child, 0)
    return json.loads(text)


def ours(arguments, method, files, cells, seed, point):
    loss = f"[loss]\n{OURS[method]}" if OURS[method] else ""
    learner = f'kind = "boosted_trees"\nrounds = {ROUNDS}\npatience = {PATIENCE}'
    if method == "RankBoost":
        learner = f'kind = "rank_boost"\nrounds = {ROUNDS}\npatience = {PATIENCE}' + (f"\nthresholds = {point[0]}" if point else "")
    elif point:
        learner += f"\nleaves = {point[0]}\nlearning_rate = {point[1]}\nsubsample = 0.8\ncolsample = 0.5"
    train, validation, other = files
    config = f"""
seed = {seed}
[data]
train = {json.dumps(train)}
validation = {json.dumps(validation)}
{loss}
[learner]
{learner}
[measure]
select = "ndcg@10"
report = ["ndcg@10"]
"""
    environment = {**os.environ, "RAYON_NUM_THREADS": "1"}

    def seconds(command):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=environment)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    with tempfile.TemporaryDirectory() as out:
        path, run = os.path.join(out, "config.toml"), os.path.join(out, "run")
        with open(path, "w") as file:
            file.write(config)
        fit = seconds([arguments.binary, "train", path, "--out", run])
        with open(os.path.join(run, "report.json")) as file:
            trees = json.load(file)["best_round"]
        with open(os.path.join(run, "run.json")) as file:
            memory = json.load(file)["peak_memory_mib"] - cells * 4 / 2**20
        scores, predict = [], 0.0
        for names in (validation, other):
            if names:
                predict += seconds([arguments.binary, "predict", run, *names, "-o", os.path.join(out, "scores")])
                scores.append(numpy.loadtxt(os.path.join(out, "scores"), ndmin=1).tolist())
    return {"trees": trees, "fit_s": fit, "predict_s": predict, "mib": memory, "scores": scores}


def run(arguments, step, wanted):
    """Makes the fits that are not there; `wanted` lists (method, seed, label, point) of a set and fold."""
    # Imported before the first fork, so that no fit pays for it.
    import catboost, lightgbm, xgboost  # noqa: F401, E401

    path = os.path.join(arguments.work, f"{step}.jsonl")
    key = lambda row: (row["set"], row["method"], row["fold"], row["seed"], row["label"])
    done = set()
    if os.path.exists(path):
        with open(path) as lines:
            done = {key(json.loads(line)) for line in lines}
    for name in arguments.sets:
        place = folder(arguments, name)
        for fold in FOLDS:
            files = parts(place, fold)
            rows = [
                {"set": name, "method": method, "fold": fold, "seed": seed, "label": label, "point": point}
                for method, seed, label, point in wanted(name, fold)
            ]
            rows = [row for row in rows if key(row) not in done and row["method"] in arguments.methods]
            if not rows:
                continue
            train, validation = Queries(files[0]), Queries(files[1])
            test = Queries(files[2]) if step == "test" else None
            cells = train.features.size + validation.features.size
            for row in rows:
                if row["method"] in PEERS:
                    found = peer(row["method"], train, validation, test, row["seed"], row["point"])
                else:
                    names = [*files[:2], files[2] if test else []]
                    found = ours(arguments, row["method"], names, cells, row["seed"], row["point"])
                scores = [numpy.array(values) for values in found.pop("scores")]
                row.update(found, documents=len(train.labels) + len(validation.labels))
                row["validation"] = float(numpy.nanmean(measured(validation, scores[0])["standard ndcg@10"]))
                if test:
                    row["test"] = measured(test, scores[1])
                with open(path, "a") as file:
                    file.write(json.dumps(row) + "\n")
                print(name, fold, row["method"], row["seed"], row["label"], f"{row['validation']:.4f}", f"{row['fit_s']:.1f} s", flush=True)


def grid(method):
    points = [(thresholds,) for thresholds in THRESHOLDS] if method == "RankBoost" else GRID
    return [(",".join(map(str, point)), list(point)) for point in points]


def choose(arguments):
    run(arguments, "choose", lambda name, fold: [(method, SEEDS[0], *point) for method in METHODS for point in grid(method)])


def rows_of(arguments, step):
    with open(os.path.join(arguments.work, f"{step}.jsonl")) as lines:
        return [json.loads(line) for line in lines]


def freeze(arguments):
    best = {}
    for row in rows_of(arguments, "choose"):
        place = best.setdefault(row["set"], {}).setdefault(row["method"], {})
        before = place.get(str(row["fold"]))
        place.setdefault("fits", []).append(1)
        if before is None or row["validation"] > before["validation"]:
            place[str(row["fold"])] = {"point": row["point"], "validation": row["validation"]}
    # Methods without a fit of this grid keep the points that they have.
    complete = {}
    if os.path.exists(POINTS_FILE):
        with open(POINTS_FILE) as file:
            complete = json.load(file)
    for name, methods in best.items():
        for method, places in methods.items():
            if len(places.pop("fits")) == len(FOLDS) * len(grid(method)):
                complete.setdefault(name, {})[method] = [places[str(fold)]["point"] for fold in FOLDS]
    with open(POINTS_FILE, "w") as file:
        lines = [
            f" {json.dumps(name)}: {{\n" + ",\n".join(f"  {json.dumps(method)}: {json.dumps(points)}" for method, points in methods.items()) + "\n }"
            for name, methods in complete.items()
        ]
        file.write("{\n" + ",\n".join(lines) + "\n}\n")
    print(f"{POINTS_FILE}: " + "; ".join(f"{name}: {', '.join(methods)}" for name, methods in complete.items()))


def test(arguments):
    with open(POINTS_FILE) as file:
        frozen = json.load(file)

    def wanted(name, fold):
        for method in METHODS:
            seeds = SEEDS if has_seeds(method, None) else SEEDS[:1]
            yield from ((method, seed, "default", None) for seed in seeds)
            points = frozen.get(name, {}).get(method)
            if points:
                seeds = SEEDS if has_seeds(method, points) else SEEDS[:1]
                yield from ((method, seed, "tuned", points[fold - 1]) for seed in seeds)

    run(arguments, "test", wanted)


# --- the page -------------------------------------------------------------------------------------------------------

MEASURES = ["standard ndcg@10", "standard map", "letor ndcg@10", "letor map"]


def holm(p_values):
    order, adjusted, largest = numpy.argsort(p_values), [0.0] * len(p_values), 0.0
    for place, index in enumerate(order):
        largest = max(largest, min(1.0, (len(p_values) - place) * p_values[index]))
        adjusted[index] = largest
    return adjusted


def mean_error(values):
    values = values[~numpy.isnan(values)]
    return values.mean(), values.std(ddof=1) / len(values) ** 0.5


def complete(rows, name, method, label):
    """The values of each query, mean over seeds, of a set; None where a fit is missing."""
    own = [row for row in rows if (row["set"], row["method"], row["label"]) == (name, method, label)]
    seeds = SEEDS if has_seeds(method, None if label == "default" else label) else SEEDS[:1]
    if len(own) < len(FOLDS) * len(seeds):
        return None, own
    by_place = {(row["fold"], row["seed"]): row for row in own}
    value = lambda measure, fold: numpy.mean([by_place[fold, seed]["test"][measure] for seed in seeds], axis=0)
    return {measure: numpy.concatenate([value(measure, fold) for fold in FOLDS]) for measure in MEASURES}, own


def print_tables(arguments):
    from scipy import stats

    rows = rows_of(arguments, "test")
    pooled = {}
    for name in [name for name in SETS if any(row["set"] == name for row in rows)]:
        print(f"\n### {name}\n")
        print("| | | NDCG@10 | MAP | NDCG@10, `letor` | MAP, `letor` | trees | fit, s | predict, s | MiB |")
        print("|---|---|---|---|---|---|---|---|---|---|")
        found = {}
        for method in METHODS:
            for label in ("default", "tuned"):
                values, own = complete(rows, name, method, label)
                if values is None:
                    continue
                found[method, label] = values
                cells = [f"{mean:.4f} ± {error:.4f}" for mean, error in (mean_error(values[measure]) for measure in MEASURES)]
                costs = [numpy.mean([row[cost] for row in own]) for cost in ("trees", "fit_s", "predict_s", "mib")]
                costs = [f"{costs[0]:.0f}", f"{costs[1]:.2f}", f"{costs[2]:.3f}", f"{costs[3]:.0f}"]
                print(f"| {method} | {label} | {' | '.join([*cells, *costs])} |")
        for label in ("tuned", "default"):
            pairs = [(own, other) for own in OURS for other in PEERS if (own, label) in found and (other, label) in found]
            if not pairs:
                continue
            for measure in ("standard ndcg@10", "standard map"):
                differences = {pair: found[pair[0], label][measure] - found[pair[1], label][measure] for pair in pairs}
                p_values = holm([stats.ttest_1samp(values[~numpy.isnan(values)], 0.0).pvalue for values in differences.values()])
                convention, name = measure.split()
                print(f"\nDifferences from each peer ({label}, {name.upper()}, `{convention}`), with Holm-corrected p-values:\n")
                print("| | " + " | ".join(PEERS) + " |\n|---|" + "---|" * len(PEERS))
                p_of = dict(zip(differences, p_values))
                for own in OURS:
                    cells = []
                    for other in PEERS:
                        if (own, other) in differences:
                            mean, error = mean_error(differences[own, other])
                            pooled.setdefault((label, measure, own, other), []).append((mean, error))
                            p = p_of[own, other]
                            cells.append(f"{mean:+.4f} ± {error:.4f}, p {p:.2f}" if p >= 0.005 else f"{mean:+.4f} ± {error:.4f}, p < .005")
                        else:
                            cells.append("")
                    print(f"| {own} | {' | '.join(cells)} |")
    print("\n### All sets\n\nThe table gives the mean difference over the sets, with its 95 % interval.\n")
    print("| | | | " + " | ".join(PEERS) + " |\n|---|---|---|" + "---|" * len(PEERS))
    for label in ("tuned", "default"):
        for measure in ("standard ndcg@10", "standard map"):
            for own in OURS:
                cells, sets = [], 0
                for other in PEERS:
                    values = pooled.get((label, measure, own, other), [])
                    sets = max(sets, len(values))
                    if not values:
                        cells.append("")
                        continue
                    mean = numpy.mean([value for value, _ in values])
                    error = numpy.sqrt(numpy.sum([error**2 for _, error in values])) / len(values)
                    cells.append(f"{mean:+.4f} ({mean - 1.96 * error:+.4f} to {mean + 1.96 * error:+.4f})")
                if sets:
                    print(f"| {label} | {measure.split()[1]}, {sets} sets | {own} | {' | '.join(cells)} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", default="target/release/burn-rank")
    parser.add_argument("--data", default=".")
    parser.add_argument("--work", required=True)
    parser.add_argument("--methods", type=lambda text: text.split(","), default=METHODS)
    parser.add_argument("step", choices=["choose", "freeze", "test", "print"])
    parser.add_argument("sets", nargs="*", default=SETS)
    arguments = parser.parse_args()
    os.makedirs(arguments.work, exist_ok=True)
    for name in arguments.sets:
        if name not in SETS:
            sys.exit(f"{name} is not a set: expected {', '.join(SETS)}")
    {"choose": choose, "freeze": freeze, "test": test, "print": print_tables}[arguments.step](arguments)


if __name__ == "__main__":
    main()
