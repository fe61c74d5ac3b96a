#!/usr/bin/env python3
"""Validation NDCG@10 epoch by epoch, by loss: the mean over folds and seeds, with the settings of a perceptron.

    python3 benches/python/learning_curves.py target/release/burn-rank FOLDS [--seeds 1,2,3] [--epochs 40] [--out FOLDER]

Every loss has configs/recommended/neural.toml with its own name, and every epoch is run. A fit that is not in the folder
yet runs. Test queries are not read. It prints a table in Markdown.
"""

import argparse
import json
import pathlib
import statistics
import subprocess

LOSSES = {
    "`list_net`": {"loss.name": "list_net"},
    "`lambda_ndcg`": {"loss.name": "lambda_ndcg"},
    "`approx_ndcg`": {"loss.name": "approx_ndcg"},
    "`approx_ndcg`, raw gradients": {"loss.name": "approx_ndcg", "loss.query_gradients": "raw"},
}
EPOCHS = [1, 2, 3, 4, 6, 8, 10, 15, 20, 25, 30, 35, 40, 60, 80, 100]


def curve(program, config, folds, fold, seed, epochs, settings, out):
    """The validation value of each epoch of one fit."""
    if not (out / "metrics.jsonl").exists():
        keys = {"data.folds": folds, "data.fold": fold, "seed": seed, "learner.epochs": epochs, "learner.patience": epochs}
        options = [f"--set={key}={value}" for key, value in (keys | settings).items()]
        subprocess.run([program, "train", config, *options, "--overwrite", "--out", out], check=True, capture_output=True)
    return [json.loads(line)["validation"] for line in (out / "metrics.jsonl").read_text().splitlines()]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("folds", type=pathlib.Path)
    parser.add_argument("--seeds", default="1,2,3")
    parser.add_argument("--epochs", type=int, default=40)
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("curves"))
    options = parser.parse_args()
    config = pathlib.Path(__file__).parents[2] / "configs" / "recommended" / "neural.toml"
    shown = [epoch for epoch in EPOCHS if epoch <= options.epochs]
    print("| loss | " + " | ".join(f"epoch {shown[0]}" if i == 0 else str(epoch) for i, epoch in enumerate(shown)) + " |")
    print("|---" * (len(shown) + 1) + "|")
    for number, (name, settings) in enumerate(LOSSES.items()):
        fits = [(fold, seed) for fold in range(1, 6) for seed in options.seeds.split(",")]
        curves = [
            curve(options.program, config, options.folds, fold, seed, options.epochs, settings, options.out / f"{number}-{fold}-{seed}")
            for fold, seed in fits
        ]
        means = [statistics.fmean(values) for values in zip(*curves, strict=True)]
        print(f"| {name} | " + " | ".join(f"{means[epoch - 1]:.4f}" for epoch in shown) + " |", flush=True)


if __name__ == "__main__":
    main()
