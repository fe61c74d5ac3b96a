"""Trains a model of PyTorch by ApproxNDCG three ways: burn-rank's operator, and the same loss written in PyTorch, eager and
compiled. Prints the NDCG of each and the time of a step, of which the model is a part.

    python examples/train_torch.py [--lists 64] [--documents 128] [--steps 60] [--threads 2]
"""

import argparse
import time

import numpy as np
import torch

import burn_rank
import burn_rank.torch

FEATURES, ALPHA = 32, 10.0


def approx_ndcg(scores, labels, mask):
    """1 - ApproxNDCG, the mean over lists: positions are 1 + sum of sigmoid(alpha (s_j - s_i)) over the others."""
    pairs = mask[:, :, None] & mask[:, None, :] & ~torch.eye(scores.shape[1], dtype=torch.bool)
    above = torch.sigmoid(ALPHA * (scores[:, None, :] - scores[:, :, None]))
    positions = 1 + torch.where(pairs, above, 0).sum(2)
    gains = torch.where(mask, torch.exp2(labels) - 1, 0)
    dcg = (gains / torch.log2(1 + positions)).sum(1)
    ranks = torch.arange(1, scores.shape[1] + 1)
    ideal = (gains.sort(1, descending=True).values / torch.log2(1 + ranks)).sum(1)
    return torch.where(ideal > 0, 1 - dcg / ideal.clamp(min=1e-12), 0).mean()


def generate(lists, documents, seed):
    """Features, labels from 0 to 4 and a mask of lists of different lengths."""
    random = torch.Generator().manual_seed(seed)
    features = torch.randn(lists, documents, FEATURES, generator=random)
    weights = torch.linspace(1, -0.5, FEATURES)
    value = features @ weights + features[..., 0] * features[..., 1] + torch.randn(lists, documents, generator=random)
    labels = torch.bucketize(value, torch.tensor([1.0, 3.0, 5.0, 6.5])).float()
    lengths = torch.randint(documents // 2, documents + 1, (lists, 1), generator=random)
    return features, labels, torch.arange(documents) < lengths


def ndcg(model, data):
    features, labels, mask = data
    with torch.no_grad():
        scores = model(features).squeeze(2)
    sizes = mask.sum(1).numpy()
    return burn_rank.evaluate(labels[mask].numpy(), scores[mask].numpy(), sizes, "ndcg@10")["ndcg@10"]


def train(loss, data, steps):
    """The trained model, and the median time of a step after the first five, in milliseconds."""
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(FEATURES, 32), torch.nn.ReLU(), torch.nn.Linear(32, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    features, labels, mask = data
    times = []
    for _ in range(steps):
        start = time.perf_counter()
        value = loss(model(features).squeeze(2), labels, mask)
        optimizer.zero_grad()
        value.backward()
        optimizer.step()
        times.append(time.perf_counter() - start)
    return model, 1e3 * float(np.median(times[5:]))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name, default in (("lists", 64), ("documents", 128), ("steps", 60), ("threads", torch.get_num_threads())):
        parser.add_argument(f"--{name}", type=int, default=default)
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    shape = arguments.lists, arguments.documents
    training, test = generate(*shape, seed=1), generate(*shape, seed=2)
    print(f"{shape[0]} lists of up to {shape[1]} documents, {arguments.threads} threads, torch {torch.__version__}")

    operator = burn_rank.torch.Loss("approx_ndcg", alpha=ALPHA)
    scores = torch.randn(shape, generator=torch.Generator().manual_seed(3))
    ours, theirs = operator(scores, *training[1:]).item(), approx_ndcg(scores, *training[1:]).item()
    assert abs(ours - theirs) < 1e-5, (ours, theirs)

    ways = {
        "burn_rank.torch": operator,
        "burn_rank.torch, compiled": torch.compile(operator, fullgraph=True),
        "PyTorch, eager": approx_ndcg,
        "PyTorch, compiled": torch.compile(approx_ndcg, fullgraph=True),
    }
    print(f"{'loss':<28}{'ms per step':>12}{'test NDCG@10':>14}")
    for name, loss in ways.items():
        model, milliseconds = train(loss, training, arguments.steps)
        print(f"{name:<28}{milliseconds:>12.2f}{ndcg(model, test):>14.4f}")


if __name__ == "__main__":
    main()
