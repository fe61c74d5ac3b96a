#!/usr/bin/env python3
"""A student alone, with a teacher that has seen its queries, and with one that has not: mean NDCG@10 of test queries.

    python3 benches/python/teacher.py [--quick] BURN_RANK WORK NAME=FOLDER ..

Each FOLDER has folds (`Fold1` .. or parts `S1` ..). `generated` without a folder is made by `burn-rank synth`. Teachers
are boosted trees of the same folds, students perceptrons, with three seeds. WORK receives the runs. Differences are
paired by query, the mean over seeds first; an error is the standard error of their mean.
"""

import math
import pathlib
import re
import subprocess
import sys

SEEDS, FOLDS = [1, 2, 3], [1, 2, 3, 4, 5]


def labels_of(path):
    """Returns the labels of each query, in the order of the file."""
    queries = {}
    for line in path.read_text().splitlines():
        label, query = line.split()[:2]
        queries.setdefault(query, []).append(float(label))
    return list(queries.values())


def ndcg(labels, scores, k=10):
    gains = [2**label - 1 for label in labels]
    order = sorted(range(len(labels)), key=lambda i: (-scores[i], i))
    dcg = lambda gains: sum(gain / math.log2(rank + 2) for rank, gain in enumerate(gains[:k]))
    best = dcg(sorted(gains, reverse=True))
    return dcg([gains[i] for i in order]) / best if best > 0 else None


def test_file(folder, fold):
    for name in [f"Fold{fold}/test.txt", f"S{(fold + 3) % 5 + 1}.txt"]:
        if (folder / name).exists():
            return folder / name
    raise SystemExit(f"{folder}: no test file of fold {fold}")


def values(folder, run_of):
    """Returns NDCG@10 of every test query, the mean over seeds."""
    found = []
    for fold in FOLDS:
        queries, of_seeds = labels_of(test_file(folder, fold)), []
        for seed in SEEDS:
            kept = run_of(fold, seed) / f"kept/fold{fold}-seed{seed}.scores.txt"
            scores, of_queries = iter([float(line) for line in kept.read_text().split()]), []
            for labels in queries:
                of_queries.append(ndcg(labels, [next(scores) for _ in labels]))
            of_seeds.append(of_queries)
        found += [sum(of) / len(of) for of in zip(*of_seeds) if of[0] is not None]
    return found


def mean_error(values):
    n = len(values)
    mean = sum(values) / n
    return mean, math.sqrt(sum((value - mean) ** 2 for value in values) / (n - 1) / n)


def generated(program, work, quick):
    folder = work / "generated-data"
    folder.mkdir(parents=True, exist_ok=True)
    queries = "60" if quick else "200"
    command = [program, "synth", "--queries", queries, "--features", "20", "--out", str(folder / "all.txt")]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    parts = [[] for _ in FOLDS]
    numbers = {}
    for line in (folder / "all.txt").read_text().splitlines():
        query = re.search(r"qid:(\S+)", line)[1]
        parts[numbers.setdefault(query, len(numbers)) % 5].append(line)
    for number, part in enumerate(parts, 1):
        (folder / f"S{number}.txt").write_text("\n".join(part) + "\n")
    (folder / "all.txt").unlink()
    return folder


def main():
    arguments = sys.argv[1:]
    quick = "--quick" in arguments
    program, work, *sets = [argument for argument in arguments if argument != "--quick"]
    work = pathlib.Path(work)
    work.mkdir(parents=True, exist_ok=True)
    trees = work / "trees.toml"
    rounds, epochs = (5, 2) if quick else (100, 100)
    head = f'[cv]\nseeds = {SEEDS}\n[loss]\nname = "lambda_ndcg"\n'
    trees.write_text(f'{head}[learner]\nkind = "boosted_trees"\nrounds = {rounds}\n[data]\nfolds = "."\n')
    student = work / "student.toml"
    student.write_text(f'{head}[scorer]\nkind = "mlp"\n[learner]\nkind = "gradient"\nepochs = {epochs}\n[data]\nfolds = "."\n')
    of_teacher = ["loss.teacher.name=teacher_kl", "loss.teacher.scale=query", "loss.teacher.factor=2"]

    def cv(config, out, folder, *rest, sets=()):
        command = [program, "cv", str(config), "--quiet", "--out", str(out), "--overwrite", "--set", f"data.folds={folder}"]
        for assignment in sets:
            command += ["--set", assignment]
        subprocess.run([*command, *rest], check=True)

    print("| set | queries | student alone | in-sample teacher | out-of-fold teacher |\n|---|---:|---:|---:|---:|")
    for name in sets:
        name, _, folder = name.partition("=")
        folder = pathlib.Path(folder).resolve() if folder else generated(program, work, quick).resolve()
        runs = work / name
        table = runs / "teacher.csv"
        runs.mkdir(exist_ok=True)
        cv(trees, runs / "trees", folder, "--keep", "rankers", "--scores", str(table.resolve()))
        cv(student, runs / "alone", folder, "--keep", "scores")
        cv(student, runs / "out", folder, "--keep", "scores", sets=[*of_teacher, f"data.teacher={table.resolve()}"])
        for fold in FOLDS:
            for seed in SEEDS:
                ranker = (runs / f"trees/kept/fold{fold}-seed{seed}.safetensors").resolve()
                own = [*of_teacher, f"data.teacher={ranker}", f"cv.folds=[{fold}]", f"cv.seeds=[{seed}]"]
                cv(student, runs / f"in-{fold}-{seed}", folder, "--keep", "scores", sets=own)
        alone = values(folder, lambda fold, seed: runs / "alone")
        cells = ["{:.4f} ± {:.4f}".format(*mean_error(alone))]
        for run_of in [lambda fold, seed: runs / f"in-{fold}-{seed}", lambda fold, seed: runs / "out"]:
            taught = values(folder, run_of)
            cells.append("{:+.4f} ± {:.4f}".format(*mean_error([b - a for a, b in zip(alone, taught)])))
        print(f"| {name} | {len(alone)} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
