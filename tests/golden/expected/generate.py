#!/usr/bin/env python3
"""Writes peers.json and significance.json: what other packages compute, for the golden tests beside this script.

    python3 -m venv /tmp/peers && /tmp/peers/bin/pip install numpy scipy scikit-learn lightgbm xgboost
    /tmp/peers/bin/python tests/golden/expected/generate.py
"""

import json
import pathlib
import warnings

import lightgbm
import numpy
import scipy
import scipy.stats
import sklearn
import xgboost
from sklearn.metrics import average_precision_score, dcg_score, ndcg_score

HERE = pathlib.Path(__file__).parent
CUTOFFS = [1, 2, 3, 5, 10]


def queries():
    """Scores and labels: distinct and tied scores, one document, all-zero and all-equal labels, lists shorter than k."""
    rng = numpy.random.default_rng(20)
    yield [3.0, 2.0, 1.0], [0, 2, 1]
    yield [1.0, 1.0, 1.0, 1.0], [0, 0, 1, 2]
    yield [2.0, 1.0, 1.0, 0.0, 1.0], [0, 1, 0, 4, 2]
    yield [0.5, 0.25, 0.125], [0, 0, 0]
    yield [0.5, 0.5], [1, 1]
    yield [1.0], [3]
    yield [1.0], [0]
    yield [-1.0, -2.0, -3.0, -4.0], [0, 0, 0, 1]
    for documents in (6, 12, 25, 60):
        yield rng.normal(size=documents).astype("float32").tolist(), rng.integers(0, 5, documents).tolist()
        yield rng.integers(0, 4, documents).astype(float).tolist(), rng.choice([0, 0, 0, 1, 2], documents).tolist()


def binary(labels):
    return [int(label >= 1) for label in labels]


def of_sklearn(scores, labels):
    values = {}
    if len(labels) > 1:
        for k in CUTOFFS:
            values[f"ndcg@{k}"] = ndcg_score([labels], [scores], k=k)
            values[f"dcg@{k}"] = dcg_score([labels], [scores], k=k)
        values["ndcg"] = ndcg_score([labels], [scores])
        tau = scipy.stats.kendalltau(scores, labels).statistic
        if not numpy.isnan(tau):
            values["kendall_tau"] = tau
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        values["map"] = average_precision_score(binary(labels), scores)
    return values


def of_exponential_gains(scores, labels):
    """Gains as relevances: NDCG of exponential gains, tied documents averaged over their orders."""
    if len(labels) == 1 or not any(labels):
        return {}
    gains = [2.0**label - 1.0 for label in labels]
    values = {f"ndcg@{k}": ndcg_score([gains], [scores], k=k) for k in CUTOFFS}
    return {**values, "ndcg": ndcg_score([gains], [scores])}


def of_lightgbm(scores, labels):
    values = {}
    for metric in ("ndcg", "map"):
        data = lightgbm.Dataset(
            numpy.zeros((len(labels), 1)), label=labels, group=[len(labels)], init_score=scores, params={"verbose": -1}
        )
        params = {"objective": "lambdarank", "metric": metric, "eval_at": CUTOFFS, "verbose": -1}
        for _, name, value, _ in lightgbm.Booster(params, data).eval_train():
            values[name] = value
    return values


def of_xgboost(scores, labels):
    values = {}
    for metric in ("ndcg", "map", "pre"):
        used = labels if metric == "ndcg" else binary(labels)
        data = xgboost.DMatrix(numpy.zeros((len(labels), 1)), label=used, base_margin=scores, group=[len(labels)])
        names = [f"{metric}@{k}" for k in CUTOFFS] + ([] if metric == "pre" else [metric])
        params = {"objective": "rank:ndcg", "eval_metric": names, "verbosity": 0}
        booster = xgboost.train(params, data, num_boost_round=0)
        for entry in booster.eval(data).split("\t")[1:]:
            name, value = entry.removeprefix("eval-").rsplit(":", 1)
            # Without a cut-off XGBoost stops at rank 32, the pairs that its ranking objective takes.
            name = name if "@" in name else f"{name}@32"
            values[name.replace("pre@", "p@")] = float(value)
    return values


def peers():
    packages = {
        "sklearn": (of_sklearn, f"scikit-learn {sklearn.__version__}, SciPy {scipy.__version__} for kendall_tau"),
        "standard": (of_exponential_gains, f"scikit-learn {sklearn.__version__}, gains 2^label - 1 as its relevances"),
        "lightgbm": (of_lightgbm, f"LightGBM {lightgbm.__version__}"),
        "xgboost": (of_xgboost, f"XGBoost {xgboost.__version__}; binary labels for map and p; six printed digits"),
    }
    cases = [
        {"convention": name, "scores": scores, "labels": labels, "expected": compute(scores, labels)}
        for name, (compute, _) in packages.items()
        for scores, labels in queries()
    ]
    return {"versions": {name: version for name, (_, version) in packages.items()}, "cases": cases}


def paired_samples():
    rng = numpy.random.default_rng(21)
    yield [0.31, 0.25, 0.47, 0.58, 0.12, 0.66], [0.35, 0.25, 0.52, 0.49, 0.22, 0.71]
    first = rng.uniform(size=12)
    yield first.tolist(), (first + rng.normal(0.05, 0.1, 12)).tolist()
    first = rng.uniform(size=40)
    yield first.tolist(), (first + rng.normal(0.02, 0.1, 40)).tolist()


def mean_difference(x, y, axis):
    return numpy.mean(y - x, axis=axis)


def paired(first, second):
    first, second = numpy.array(first), numpy.array(second)
    t_test = scipy.stats.ttest_rel(second, first)
    interval = t_test.confidence_interval(0.95)
    difference = second - first
    row = {
        "first": first.tolist(),
        "second": second.tolist(),
        "mean_difference": difference.mean(),
        "cohen_d": difference.mean() / difference.std(ddof=1),
        "t": t_test.statistic,
        "t_p_value": t_test.pvalue,
        "t_interval": [interval.low, interval.high],
        "bootstrap_standard_error": difference.std() / len(difference) ** 0.5,
    }
    many = 200_000
    randomized = scipy.stats.permutation_test(
        (first, second), mean_difference, permutation_type="samples", n_resamples=many, rng=numpy.random.default_rng(1)
    )
    row["randomization_p_value"] = randomized.pvalue
    row["randomization_exact"] = 2 ** len(first) <= many
    bootstrap = scipy.stats.bootstrap(
        (difference,), numpy.mean, n_resamples=many, method="percentile", rng=numpy.random.default_rng(2)
    )
    row["bootstrap_interval"] = [bootstrap.confidence_interval.low, bootstrap.confidence_interval.high]
    return row


def tukey(systems):
    """One-way as SciPy has it, and with the queries as blocks: the same statistic on the two-way residual."""
    systems = numpy.array(systems)
    count, queries = systems.shape
    one_way = scipy.stats.tukey_hsd(*systems).pvalue
    residual = systems - systems.mean(0) - systems.mean(1, keepdims=True) + systems.mean()
    freedom = (count - 1) * (queries - 1)
    scale = (numpy.square(residual).sum() / freedom / queries) ** 0.5
    means = systems.mean(1)
    statistic = numpy.abs(means[:, None] - means[None, :]) / scale
    blocked = scipy.stats.studentized_range.sf(statistic, count, freedom)
    return {"systems": systems.tolist(), "one_way": one_way.tolist(), "blocked": blocked.tolist()}


def significance():
    rng = numpy.random.default_rng(22)
    base = rng.uniform(size=20)
    three = [base, base + rng.normal(0.05, 0.05, 20), base + rng.normal(0.2, 0.1, 20)]
    five = [rng.normal(0.1 * system, 0.5, 8) for system in range(5)]
    ranges = [
        {"q": q, "groups": groups, "freedom": freedom,
         "survival": scipy.stats.studentized_range.sf(q, groups, freedom)}
        for q in (0.1, 1.0, 2.5, 4.0, 7.0, 12.0)
        for groups in (2, 3, 10, 40)
        for freedom in (1, 2, 5, 30, 500, 20_000)
    ]
    return {
        "versions": {"scipy": scipy.__version__, "numpy": numpy.__version__},
        "paired": [paired(*samples) for samples in paired_samples()],
        "tukey": [tukey(three), tukey(five)],
        "studentized_range": ranges,
    }


def write(name, content):
    (HERE / name).write_text(json.dumps(content, indent=1) + "\n")


write("peers.json", peers())
write("significance.json", significance())
