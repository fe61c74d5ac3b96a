#!/usr/bin/env python3
"""Writes teachers.json: losses of rerankers in float64, straight from the formulas, on 60 random lists with ties.

    python3 tests/golden/expected/teachers.py > tests/golden/expected/teachers.json

Each case: {"loss", "params", "scores", "labels", "value", "grad"}. The labels stand for a teacher's scores. A gradient
is taken with complex steps, which are exact to rounding.
"""
import json
import random
from cmath import exp, log


def log_sigmoid(t):
    return -log(1 + exp(-t)) if t.real > 0 else t - log(1 + exp(t))


def sigmoid(t):
    return exp(log_sigmoid(t))


def log_softmax(x):
    largest = max(value.real for value in x)
    total = log(sum(exp(value - largest) for value in x)) + largest
    return [value - total for value in x]


def binary_cross_entropy(s, y, positive_weight=1.0):
    parts = (positive_weight * b * log_sigmoid(a) + (1 - b) * log_sigmoid(-a) for a, b in zip(s, y))
    return -sum(parts) / len(s)


def teacher_mse(s, t):
    return sum((a - b) ** 2 for a, b in zip(s, t)) / len(s)


def margin_mse(s, t):
    pairs = [(i, j) for i in range(len(s)) for j in range(i) if t[i] != t[j]]
    return sum(((s[i] - s[j]) - (t[i] - t[j])) ** 2 for i, j in pairs) / len(pairs)


def teacher_kl(s, t, temperature=1.0):
    p = log_softmax([complex(b / temperature) for b in t])
    q = log_softmax([a / temperature for a in s])
    return temperature**2 * sum(exp(a) * (a - b) for a, b in zip(p, q))


def adr_mse(s, t, alpha=1.0):
    n = len(s)
    total = 0
    for i in range(n):
        rank = 1 + sum(t[j] > t[i] for j in range(n)) + (sum(t[j] == t[i] for j in range(n)) - 1) / 2
        smooth = 1 + sum(sigmoid(alpha * (s[j] - s[i])) for j in range(n) if j != i)
        total += (rank - smooth) ** 2 / log(1 + rank).real * log(2).real
    return total / n


CASES = [
    (binary_cross_entropy, {}), (binary_cross_entropy, {"positive_weight": 3.5}), (teacher_mse, {}), (margin_mse, {}),
    (teacher_kl, {}), (teacher_kl, {"temperature": 2.5}), (adr_mse, {}), (adr_mse, {"alpha": 4.0}),
]


def main():
    draw = random.Random(7)
    cases = []
    for number in range(60):
        n = draw.choice([2, 3, 5, 8, 13])
        loss, params = CASES[number % len(CASES)]
        s = [round(draw.gauss(0, 2), 4) for _ in range(n)]
        if loss is binary_cross_entropy:
            t = [draw.choice([0.0, 0.25, 1.0]) for _ in range(n)]
        else:
            t = [round(draw.gauss(0, 3), 1) for _ in range(n)]
            t[1:] = [draw.choice([a, t[0]]) for a in t[1:]]
            t[-1] = t[0] + 1.5
        grad = []
        for i in range(n):
            stepped = [complex(a, 1e-100 if j == i else 0) for j, a in enumerate(s)]
            grad.append(loss(stepped, t, **params).imag / 1e-100)
        value = loss([complex(a) for a in s], t, **params).real
        cases.append({"loss": loss.__name__, "params": params, "scores": s, "labels": t, "value": value, "grad": grad})
    print(json.dumps(cases))


if __name__ == "__main__":
    main()
