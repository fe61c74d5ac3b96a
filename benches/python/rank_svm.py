#!/usr/bin/env python3
"""Times RankSVM beside scikit-learn's LinearSVC on the explicit pairs of the same training fold, at the same C.

    python3 -m venv /tmp/peers && /tmp/peers/bin/pip install numpy scikit-learn
    /tmp/peers/bin/python benches/python/rank_svm.py target/release/burn-rank FOLDS [C] [RUNS]

FOLDS holds Fold1/train.txt, or the parts S1, S2 and S3 that train its first fold. Runs alternate; the table has medians of
processor time, which other work on the machine changes little: for RankSVM that of the whole command (reading, fit, measures and
report), for LinearSVC that of the fit. Every objective is computed here, in double precision on the explicit pairs,

    1/2 ||w||^2 + C sum over pairs (i, j), y_i > y_j, of max(0, 1 - w . (x_i - x_j))^p,    p = 1 or 2,

as excess over the lowest. Forming the pairs, which LinearSVC needs and RankSVM never does, is timed apart. Ends with 1 where an
excess is above 1e-3 although its solver says that it converged.
"""

import json
import pathlib
import resource
import statistics
import subprocess
import sys
import tempfile
import time
import warnings

import numpy
import sklearn
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC

BINARY = str(pathlib.Path(sys.argv[1]).resolve())
FOLDS = pathlib.Path(sys.argv[2]).resolve()
C = float(sys.argv[3]) if len(sys.argv) > 3 else 1e-4
RUNS = int(sys.argv[4]) if len(sys.argv) > 4 else 5
TOLERANCE = 1e-6
LARGEST_EXCESS = 1e-3


def read(files):
    """Labels, features and query of each line."""
    labels, rows, queries = [], [], []
    for file in files:
        for line in file.read_text().splitlines():
            label, query, *features = line.split("#")[0].split()
            labels.append(float(label))
            queries.append(query)
            rows.append([float(feature.split(":")[1]) for feature in features])
    return numpy.array(labels), numpy.array(rows, dtype=numpy.float32).astype(numpy.float64), numpy.array(queries)


def explicit_pairs(labels, rows, queries):
    """x_i - x_j of every pair with y_i > y_j."""
    parts = []
    for query in dict.fromkeys(queries):
        own = queries == query
        above, below = numpy.nonzero(labels[own][:, None] > labels[own][None, :])
        parts.append(rows[own][above] - rows[own][below])
    return numpy.concatenate(parts)


def objective(weights, pairs, power):
    return 0.5 * weights @ weights + C * (numpy.maximum(0.0, 1.0 - pairs @ weights) ** power).sum()


def children():
    """Processor time of the commands run so far."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def ours(folder, loss):
    config = folder / f"{loss}.toml"
    config.write_text(
        f'name = "{loss}"\n[data]\nfolds = {json.dumps(str(FOLDS))}\nfold = 1\n[learner]\nkind = "rank_svm"\n'
        f'loss = "{loss}"\nc = {C}\ntolerance = {TOLERANCE}\nmax_steps = 10000\n[measure]\nselect = "map"\n'
    )

    def fit():
        out = folder / loss
        subprocess.run(["rm", "-rf", str(out)], check=True)
        start = children()
        subprocess.run([BINARY, "train", str(config), "--out", str(out)], check=True, capture_output=True)
        seconds = children() - start
        report = json.loads((out / "report.json").read_text())
        return seconds, numpy.array(report["weights"]), report["stop"] == "converged"

    return fit


def peer(pairs, loss, dual):
    # LinearSVC wants two classes: every second pair is turned round, which leaves the problem the same.
    signs = numpy.where(numpy.arange(len(pairs)) % 2 == 0, 1.0, -1.0)
    signed = pairs * signs[:, None]

    def fit():
        model = LinearSVC(C=C, loss=loss, dual=dual, fit_intercept=False, random_state=1)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", ConvergenceWarning)
            start = time.process_time()
            model.fit(signed, signs)
            seconds = time.process_time() - start
        return seconds, model.coef_[0], not caught

    return fit


def main():
    first = FOLDS / "Fold1" / "train.txt"
    files = [first] if first.exists() else [FOLDS / f"S{part}.txt" for part in (1, 2, 3)]
    data = read(files)
    start = time.process_time()
    pairs = explicit_pairs(*data)
    forming = time.process_time() - start
    shape = f"{len(pairs):,} pairs of {pairs.shape[1]} features"
    print(f"{FOLDS.name}: {shape} formed in {forming:.2f} s; C = {C:g}; scikit-learn {sklearn.__version__}, {RUNS} runs")
    print("| loss | solver | median | beside RankSVM | excess of the objective | converged |")
    print("|---|---|---|---|---|---|")
    worst = 0.0
    with tempfile.TemporaryDirectory() as folder:
        for loss, power in (("squared_hinge", 2), ("hinge", 1)):
            solvers = {f"RankSVM, duality gap {TOLERANCE:g}": ours(pathlib.Path(folder), loss)}
            for dual in (False, True) if power == 2 else (True,):
                solvers[f"LinearSVC, {'dual' if dual else 'primal'}, tol 1e-4"] = peer(pairs, loss, dual)
            times = {name: [] for name in solvers}
            found = {}
            for _ in range(RUNS):
                for name, fit in solvers.items():
                    seconds, weights, converged = fit()
                    times[name].append(seconds)
                    found[name] = (objective(weights, pairs, power), converged)
            lowest = min(value for value, _ in found.values())
            medians = {name: statistics.median(values) for name, values in times.items()}
            own = next(iter(medians.values()))
            for name, (value, converged) in found.items():
                excess = value / lowest - 1.0
                if converged:
                    worst = max(worst, excess)
                said = "yes" if converged else "no"
                print(f"| {loss} | {name} | {medians[name]:.3f} s | {medians[name] / own:.1f}x | {excess:.1e} | {said} |")
    if worst > LARGEST_EXCESS:
        sys.exit(f"an objective is {worst:.1e} above the lowest")


main()
