#!/usr/bin/env python3
"""Writes lambdarank.json: the gradients and second derivatives of LightGBM's objective `lambdarank`, list by list.

    python3 -m venv /tmp/peers && /tmp/peers/bin/pip install numpy lightgbm
    /tmp/peers/bin/python tests/golden/expected/generate_lambdarank.py

LightGBM does not hand out the gradients of its own objectives. They are taken from its trees: one tree, a leaf for each
document, has the values -g / (h + l2), and two values of l2 give g and h. Each list is repeated: LightGBM estimates the
documents of a leaf from its second derivatives, and splits off no leaf of less than one.
"""

import json
import pathlib

import lightgbm
import numpy

HERE = pathlib.Path(__file__).parent
L2 = (0.0, 1e-5)
COPIES = 1000


def leaves(scores, labels, truncation, norm, l2):
    """What a first tree adds to the score of each document, and whether each has a leaf of its own."""
    n = len(scores)
    places = numpy.arange(n, dtype=float).reshape(-1, 1)
    rows, label, start = (numpy.tile(of, COPIES) for of in (places.ravel(), labels, scores))
    fixed = {"min_data_in_bin": 1, "max_bin": 255, "feature_pre_filter": False, "verbose": -1}
    data = lightgbm.Dataset(rows.reshape(-1, 1), label, group=[n] * COPIES, init_score=start, params=fixed)
    params = fixed | {
        "objective": "lambdarank", "lambdarank_truncation_level": truncation, "lambdarank_norm": norm,
        "learning_rate": 1.0, "num_leaves": n, "min_data_in_leaf": 1, "min_sum_hessian_in_leaf": 1e-9, "lambda_l2": l2 * COPIES,
        "num_threads": 1, "deterministic": True,
    }
    booster = lightgbm.train(params, data, num_boost_round=1)
    apart = len(set(booster.predict(places, pred_leaf=True).ravel().tolist())) == n
    return booster.predict(places, raw_score=True), apart


def derivatives(scores, labels, truncation, norm):
    (first, apart), (second, also) = (leaves(scores, labels, truncation, norm, l2) for l2 in L2)
    assert apart and also, "two documents share a leaf"
    hessian = (second * L2[1] - first * L2[0]) / (first - second)
    return (-first * (hessian + L2[0])).tolist(), hessian.tolist()


def lists():
    # Shorter and longer than the truncation.
    yield [-0.4, 1.1, 0.8, -0.5, -0.9], [3, 4, 2, 0, 3]
    rng = numpy.random.default_rng(34)
    for n in (4, 7, 12):
        yield rng.normal(size=n).round(3).tolist(), rng.integers(0, 5, n).tolist()


def case(scores, labels, truncation, norm):
    gradient, hessian = derivatives(scores, labels, truncation, norm)
    return {
        "scores": scores, "labels": labels, "truncation": truncation, "norm": norm,
        "gradient": gradient, "hessian": hessian,
    }


CASES = [case(*of, truncation, norm) for of in lists() for truncation in (2, 5, 30) for norm in (False, True)]
(HERE / "lambdarank.json").write_text(json.dumps({"lightgbm": lightgbm.__version__, "cases": CASES}) + "\n")
