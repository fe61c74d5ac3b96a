#!/usr/bin/env python3
"""A student without a teacher, and with teachers that have seen its queries or have not: mean NDCG@10 of test queries.

    python3 benches/python/teacher.py [--quick] BURN_RANK WORK NAME=FOLDER ..

Each FOLDER has folds (`Fold1` .. or parts `S1` ..). `generated` without a folder is made by `burn-rank synth`. Teachers
are boosted trees, students perceptrons, with three seeds. An in-sample teacher is the ranker of the same fold. An
out-of-fold teacher is `cv --scores` of the same folds, whose rankers have seen queries on which the student is tested. A
nested teacher is `cv --scores` of the training queries of each fold. WORK receives the runs; those that are there are not
fitted again. Differences are paired by query, the mean over seeds first; an error is the standard error of their mean.
"""

import json
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


def files(folder, fold):
    """Returns the training, validation and test files of a fold."""
    of_fold = folder / f"Fold{fold}"
    if of_fold.is_dir():
        return [[of_fold / f"{name}.txt"] for name in ["train", "vali", "test"]]
    parts = [folder / f"S{(fold + place - 1) % 5 + 1}.txt" for place in range(5)]
    return [parts[:3], parts[3:4], parts[4:]]


def values(folder, scores_of):
    """Returns NDCG@10 of every test query, the mean over seeds."""
    found = []
    for fold in FOLDS:
        queries, of_seeds = labels_of(files(folder, fold)[2][0]), []
        for seed in SEEDS:
            scores, of_queries = iter([float(line) for line in scores_of(fold, seed).read_text().split()]), []
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
    trees, student = work / "trees.toml", work / "student.toml"
    rounds, epochs = (5, 2) if quick else (100, 100)
    head = f'[cv]\nseeds = {SEEDS}\n[loss]\nname = "lambda_ndcg"\n'
    trees.write_text(f'{head}[learner]\nkind = "boosted_trees"\nrounds = {rounds}\n')
    student.write_text(f'{head}[scorer]\nkind = "mlp"\n[learner]\nkind = "gradient"\nepochs = {epochs}\n')
    of_teacher = ["loss.teacher.name=teacher_kl", "loss.teacher.scale=query", "loss.teacher.factor=2"]

    def cv(config, out, sets, *rest):
        command = [program, "cv", str(config), "--quiet", "--out", str(out)]
        for assignment in sets:
            command += ["--set", assignment]
        done = subprocess.run([*command, *rest], stderr=subprocess.PIPE, text=True)
        if done.returncode != 0:
            raise SystemExit(done.stderr)
        return lambda fold, seed: out / f"kept/fold{fold}-seed{seed}.scores.txt"

    names = ["no teacher", "in-sample teacher", "out-of-fold teacher", "nested teacher"]
    print("| set | queries |", " | ".join(names), "|\n|---|" + "---:|" * 5, flush=True)
    for name in sets:
        name, _, folder = name.partition("=")
        folder = pathlib.Path(folder).resolve() if folder else generated(program, work, quick).resolve()
        runs, keep = (work / name).resolve(), ["--keep", "scores"]
        runs.mkdir(exist_ok=True)
        folds, table = f"data.folds={folder}", runs / "teacher.csv"
        cv(trees, runs / "trees", [folds], "--keep", "rankers", "--scores", str(table))
        alone = cv(student, runs / "alone", [folds], *keep)
        out = cv(student, runs / "out", [folds, *of_teacher, f"data.teacher={table}"], *keep)
        inside, nested = {}, {}
        for fold in FOLDS:
            for seed in SEEDS:
                ranker = runs / f"trees/kept/fold{fold}-seed{seed}.safetensors"
                own = [folds, *of_teacher, f"data.teacher={ranker}", f"cv.folds=[{fold}]", f"cv.seeds=[{seed}]"]
                inside[fold, seed] = cv(student, runs / f"in-{fold}-{seed}", own, *keep)(fold, seed)
            train, validation, test = [json.dumps([str(file) for file in part]) for part in files(folder, fold)]
            table = runs / f"nested-{fold}.csv"
            cv(trees, runs / f"nested-trees-{fold}", [f"data.train={train}", "cv.split=5"], "--scores", str(table))
            own = [f"data.train={train}", f"data.validation={validation}", f"data.test={test}", f"data.teacher={table}"]
            nested[fold] = cv(student, runs / f"nested-{fold}", [*own, *of_teacher], *keep)
        alone = values(folder, alone)
        cells = ["{:.4f} ± {:.4f}".format(*mean_error(alone))]
        for scores_of in [lambda fold, seed: inside[fold, seed], out, lambda fold, seed: nested[fold](1, seed)]:
            taught = values(folder, scores_of)
            cells.append("{:+.4f} ± {:.4f}".format(*mean_error([b - a for a, b in zip(alone, taught)])))
        print(f"| {name} | {len(alone)} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
