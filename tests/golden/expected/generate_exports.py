#!/usr/bin/env python3
"""Writes exports.json: the scores that onnxruntime, LightGBM and XGBoost give the rankers that burn-rank exports, and the
contributions and importances of trees that know their documents and gains.

    python3 -m venv /tmp/peers && /tmp/peers/bin/pip install numpy onnx onnxruntime lightgbm xgboost
    mkdir /tmp/exports && BURN_RANK_EXPORTS=/tmp/exports cargo test --lib golden_tests
    /tmp/peers/bin/python tests/golden/expected/generate_exports.py /tmp/exports
"""

import hashlib
import json
import pathlib
import sys

import lightgbm
import numpy
import onnx
import onnxruntime
import xgboost

FEATURES = 6


def of_onnxruntime(path, queries):
    onnx.checker.check_model(onnx.load(path), full_check=True)
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    return numpy.concatenate([session.run(["scores"], {"features": query})[0] for query in queries])


def of_lightgbm(path, queries):
    booster = lightgbm.Booster(model_file=path)
    return numpy.concatenate([booster.predict(query, raw_score=True) for query in queries])


def of_xgboost(path, queries):
    booster = xgboost.Booster(model_file=path)
    return numpy.concatenate([booster.predict(xgboost.DMatrix(query)) for query in queries]).astype(float)


def explained_by_lightgbm(path, queries):
    booster = lightgbm.Booster(model_file=path)
    contributions = booster.predict(numpy.concatenate(queries), pred_contrib=True)
    splits, gains = (booster.feature_importance(kind) for kind in ("split", "gain"))
    return {"contributions": contributions.ravel().tolist(), "splits": splits.tolist(), "gains": gains.tolist()}


def explained_by_xgboost(path, queries):
    booster = xgboost.Booster(model_file=path)
    contributions = booster.predict(xgboost.DMatrix(numpy.concatenate(queries)), pred_contribs=True).astype(float)
    scores = {kind: booster.get_score(importance_type=kind) for kind in ("weight", "total_gain")}
    splits, gains = ([scores[kind].get(f"f{k}", 0) for k in range(FEATURES)] for kind in ("weight", "total_gain"))
    return {"contributions": contributions.ravel().tolist(), "splits": splits, "gains": gains}


def main(folder):
    queries = json.loads((folder / "queries.json").read_text())
    queries = [numpy.array(query, dtype=numpy.float32).reshape(-1, FEATURES) for query in queries]
    cases = {}
    for path in sorted(folder.iterdir()):
        scorer = {".onnx": of_onnxruntime, ".txt": of_lightgbm, ".json": of_xgboost}.get(path.suffix)
        if scorer and path.name != "queries.json":
            scores = scorer(str(path), queries)
            digest = hashlib.sha256(path.read_bytes()).hexdigest()
            cases[path.stem] = {"sha256": digest, "scores": [float(score) for score in scores]}
            if path.stem.endswith("counted"):
                explain = {".txt": explained_by_lightgbm, ".json": explained_by_xgboost}[path.suffix]
                cases[path.stem]["explained"] = explain(str(path), queries)
    versions = {module.__name__: module.__version__ for module in (lightgbm, numpy, onnx, onnxruntime, xgboost)}
    content = json.dumps({"versions": versions, "cases": cases}, indent=1)
    (pathlib.Path(__file__).parent / "exports.json").write_text(content + "\n")
    print(len(cases), "cases")


main(pathlib.Path(sys.argv[1]))
