#!/usr/bin/env python3
"""Held-out NDCG@10 while sentence-transformers' trainer fits a small cross-encoder, with its own loss and with ours.

    python3 benches/python/cross_encoder.py [--steps N] [--every N] [--seeds N] [--losses NAME,..]

A query is three words, a document eight, and its label the number of the query's words in it. Lists have 5 to 15
documents. The model is a BERT of two layers with random weights. Every loss gets the same data, weights and order of
batches of a seed. The table has means over seeds and their standard errors; NAME/unit has unit gradients. Needs
burn-rank[sentence-transformers].
"""

import argparse
import pathlib
import random
import statistics
import sys
import tempfile
import time

import numpy as np
import torch
import transformers
from burn_rank import evaluate
from burn_rank.sentence_transformers import RankingLoss
from datasets import Dataset
from sentence_transformers.cross_encoder import CrossEncoder, CrossEncoderTrainer, CrossEncoderTrainingArguments
from sentence_transformers.cross_encoder.losses import LambdaLoss

WORDS = [f"w{number}" for number in range(20)]
THEIRS = "LambdaLoss"


def lists(count, seed):
    draw = random.Random(seed)
    rows = {"query": [], "documents": [], "labels": []}
    for _ in range(count):
        query, documents = draw.sample(WORDS, 3), []
        for _ in range(draw.randint(5, 15)):
            shared = draw.sample(query, draw.choices([0, 1, 2, 3], [6, 3, 2, 1])[0])
            document = shared + draw.sample([word for word in WORDS if word not in query], 8 - len(shared))
            draw.shuffle(document)
            documents.append(document)
        rows["query"].append(" ".join(query))
        rows["documents"].append([" ".join(document) for document in documents])
        rows["labels"].append([float(len(set(query) & set(document))) for document in documents])
    return rows


def encoder(folder, seed):
    """Saves a cross-encoder of random weights and opens it."""
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS]
    (folder / "vocab.txt").write_text("\n".join(words))
    transformers.set_seed(seed)
    config = transformers.BertConfig(
        vocab_size=len(words), hidden_size=64, num_hidden_layers=2, num_attention_heads=4, intermediate_size=128,
        hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0, num_labels=1, max_position_embeddings=32,
    )
    transformers.BertForSequenceClassification(config).save_pretrained(folder)
    transformers.BertTokenizerFast(str(folder / "vocab.txt")).save_pretrained(folder)
    return CrossEncoder(str(folder), num_labels=1, device="cpu")


class Log(transformers.TrainerCallback):
    """Computes NDCG@10 of held-out lists before the first step and at every log."""

    def __init__(self, model, held_out):
        self.model, self.found = model, {}
        self.labels = np.concatenate(held_out["labels"])
        self.sizes = [len(of) for of in held_out["labels"]]
        queries = zip(held_out["query"], held_out["documents"])
        self.pairs = [(query, document) for query, documents in queries for document in documents]

    def measure(self, step):
        identity = torch.nn.Identity()
        scores = self.model.predict(self.pairs, batch_size=512, activation_fn=identity, show_progress_bar=False)
        means = evaluate(self.labels, np.float32(scores), np.array(self.sizes), "ndcg@10").means
        self.found[step] = means["ndcg@10"]

    def on_train_begin(self, arguments, state, control, **_):
        self.measure(0)

    def on_step_end(self, arguments, state, control, **_):
        if state.global_step % arguments.logging_steps == 0:
            self.measure(state.global_step)


def run(name, seed, options):
    """Trains with one loss and returns NDCG@10 by step, and the seconds of the whole."""
    with tempfile.TemporaryDirectory() as folder:
        model = encoder(pathlib.Path(folder), seed)
        size = {"mini_batch_size": 0}
        loss_name, _, gradients = name.partition("/")
        given = {"query_gradients": gradients} if gradients else {}
        loss = LambdaLoss(model, k=10, **size) if name == THEIRS else RankingLoss(model, loss_name, parameters=given, **size)
        arguments = CrossEncoderTrainingArguments(
            output_dir=folder, max_steps=options.steps, per_device_train_batch_size=16, learning_rate=1e-3, seed=seed,
            warmup_steps=20, logging_steps=options.every, save_strategy="no", report_to=[], use_cpu=True, disable_tqdm=True,
        )
        log = Log(model, lists(200, 1000))
        data = Dataset.from_dict(lists(2000, seed))
        trainer = CrossEncoderTrainer(model=model, args=arguments, train_dataset=data, loss=loss, callbacks=[log])
        trainer.remove_callback(transformers.PrinterCallback)
        start = time.perf_counter()
        trainer.train()
        return log.found, time.perf_counter() - start


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=400)
    parser.add_argument("--every", type=int, default=50)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--losses", default=f"{THEIRS},lambda_loss,approx_ndcg,approx_ndcg/unit,softmax_cross_entropy")
    options = parser.parse_args()
    names, seeds = options.losses.split(","), range(1, options.seeds + 1)
    transformers.logging.set_verbosity_error()
    torch.set_num_threads(1)
    found = {name: [] for name in names}
    seconds = dict.fromkeys(names, 0.0)
    for seed in seeds:
        for name in names:
            values, spent = run(name, seed, options)
            found[name].append(values)
            seconds[name] += spent
            print(f"seed {seed}, {name}:", *(f"{value:.4f}" for value in values.values()), file=sys.stderr, flush=True)
    print("| steps |", " | ".join(f"`{name}`" for name in names), "|\n|---:|" + "---:|" * len(names))
    for step in found[names[0]][0]:
        cells = []
        for name in names:
            values = [values[step] for values in found[name]]
            error = statistics.stdev(values) / len(values) ** 0.5 if len(values) > 1 else 0.0
            cells.append(f"{statistics.mean(values):.4f} ± {error:.4f}")
        print(f"| {step} |", " | ".join(cells), "|")
    print("| seconds |", " | ".join(f"{seconds[name] / len(seeds):.0f}" for name in names), "|")


if __name__ == "__main__":
    main()
