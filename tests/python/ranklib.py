"""RankLib reads our rankers, we read RankLib's, and the convention `rax` gives its measures.

    python tests/python/ranklib.py target/debug/burn-rank CLASSES

CLASSES is RankLib's jar, or the folder of its compiled classes (https://github.com/codelibs/ranklib). Needs Java and Python alone. The
data are generated, 60 queries in each part, with scores that are tied and queries without a relevant document.
"""

import pathlib
import re
import subprocess
import sys
import tempfile

PROGRAM, CLASSES = (pathlib.Path(name).resolve() for name in sys.argv[1:])
TRAIN, VALIDATION, TEST = "data/S1.txt", "data/S2.txt", "data/S3.txt"
DATA = f'data = {{ train = ["{TRAIN}"], validation = ["{VALIDATION}"] }}\n'
OURS = {
    "trees.xml": 'loss = { name = "lambda_ndcg" }\nlearner = { kind = "boosted_trees", rounds = 40 }\n',
    "linear.txt": 'normalizer = "none"\nlearner = { kind = "regression" }\n',
    "z_score.txt": 'normalizer = "z_score"\nlearner = { kind = "regression" }\n',
}
THEIRS = {"lambdamart.xml": "6", "mart.xml": "0"}
MEASURES = {"NDCG@10": "ndcg@10", "NDCG@3": "ndcg@3", "DCG@10": "dcg@10", "MAP": "map", "P@10": "p@10", "RR@10": "mrr@10", "ERR@10": "err@10"}


def run(folder, *command):
    done = subprocess.run([str(word) for word in command], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, (command, done.stdout, done.stderr)
    return done.stdout + done.stderr


def ours(folder, *arguments):
    return run(folder, PROGRAM, *arguments)


def theirs(folder, *arguments):
    return run(folder, "java", "-cp", CLASSES, "ciir.umass.edu.eval.Evaluator", *arguments)


def differences(folder, ranker, file):
    """The largest difference of the scores of a ranker here from those of a file there, relative for scores above 1."""
    theirs(folder, "-load", file, "-rank", TEST, "-score", "theirs.tsv")
    ours(folder, "predict", ranker, TEST, "--out", "ours.txt")
    expected = [float(line.split("\t")[-1]) for line in (folder / "theirs.tsv").read_text().splitlines()]
    found = [float(line) for line in (folder / "ours.txt").read_text().splitlines()]
    assert len(expected) == len(found) > 500, (len(expected), len(found))
    return max(abs(a - b) / max(1, abs(a)) for a, b in zip(expected, found))


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        ours(folder, "synth", "--queries", "180", "--features", "12", "--median-length", "10", "--parts", "3", "--out", "data")
        for file, settings in OURS.items():
            ranker = file.split(".")[0]
            (folder / "run.toml").write_text(settings + DATA)
            ours(folder, "train", "run.toml", "--out", ranker, "--quiet")
            ours(folder, "convert", ranker, file)
            found = differences(folder, ranker, file)
            print(f"{file} read by RankLib: largest difference {found:.1e}")
            assert found < 2e-6, file
        for file, kind in THEIRS.items():
            theirs(folder, "-ranker", kind, "-train", TRAIN, "-validate", VALIDATION, "-metric2t", "NDCG@10", "-tree", "40", "-save", file)
            found = differences(folder, file, file)
            print(f"{file} of RankLib read here: largest difference {found:.1e}")
            assert found < 2e-6, file
        compared = empty = 0
        for data in [VALIDATION, TEST]:
            for there, here in MEASURES.items():
                said = theirs(folder, "-load", "trees.xml", "-test", data, "-metric2T", there)
                expected = float(re.search(r" on test data: ([\d.]+)", said).group(1))
                table = ours(folder, "eval", "trees", data, "-c", "rax", "-m", here)
                found = float(next(line.split()[1] for line in table.splitlines() if line.startswith("all ")))
                assert abs(expected - found) < 6e-5, (data, there, expected, found)
                empty += int(re.search(r"(\d+) empty", table).group(1))
                compared += 1
        assert empty > 0, "no query without a relevant document"
        print(f"{compared} measures equal the convention rax to four digits")


if __name__ == "__main__":
    main()
