"""Models that burn-rank-text has trained, opened by sentence-transformers: the same scores.

    python3 tests/python/text_models.py COMMAND MODEL
"""

import json
import os
import subprocess
import sys
import tempfile

TEXTS = [
    "Plants make sugar from light, water and carbon dioxide.",
    "A bank is the slope beside a river.",
    "The bank lends money to people who buy houses, and asks for it back with interest, year after year. " * 12,
    "Ferments turn sugar to alcohol.",
]
QUERIES = ["how do plants eat", "where a river ends", "who lends money", "what makes wine"]


def write_lists(path):
    with open(path, "w", encoding="utf-8") as file:
        for query, text in enumerate(QUERIES):
            for document, of in enumerate(TEXTS):
                relevance = int(document == query)
                line = {"query_id": query, "doc_id": document, "query": text, "text": of, "relevance": relevance}
                file.write(json.dumps(line) + "\n")


def ours(run):
    with open(run, encoding="utf-8") as file:
        return {(int(fields[0]), int(fields[2])): float(fields[4]) for fields in map(str.split, file)}


def theirs(kind, model):
    from sentence_transformers import CrossEncoder, SentenceTransformer

    pairs = [(query, document) for query in range(len(QUERIES)) for document in range(len(TEXTS))]
    if kind == "cross_encoder":
        scores = CrossEncoder(model, device="cpu").predict([(QUERIES[q], TEXTS[d]) for q, d in pairs])
        return dict(zip(pairs, map(float, scores)))
    towers = SentenceTransformer(model, device="cpu")
    queries, documents = towers.encode(QUERIES), towers.encode(TEXTS)
    return {(q, d): 20 * float(queries[q] @ documents[d]) for q, d in pairs}


def main():
    command, weights = (os.path.abspath(path) for path in sys.argv[1:])
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        write_lists("lists.jsonl")
        with open("text.toml", "w", encoding="utf-8") as file:
            file.write(f'model = {json.dumps(weights)}\nmax_tokens = 96\n[data]\ntrain = ["lists.jsonl"]\n')
            file.write('[learner]\nepochs = 2\nbatch_documents = 8\n')
        for kind, more in [("towers", []), ("cross_encoder", []), ("cross_encoder", ["learner.lora={ rank = 4, alpha = 8 }"])]:
            model = f"{kind}{len(more)}"
            settings = [word for setting in [f"kind={kind}", *more] for word in ("--set", setting)]
            subprocess.run([command, "train", "text.toml", "--out", model, "--quiet", *settings], check=True)
            subprocess.run([command, "rerank", model, "lists.jsonl", "--out", f"{model}.run"], check=True)
            found, expected = ours(f"{model}.run"), theirs(kind, model)
            apart = max(abs(found[pair] - expected[pair]) for pair in expected)
            print(f"{model}: {len(found)} scores, at most {apart:.1e} apart")
            if found.keys() != expected.keys() or not apart < 1e-4:
                sys.exit(f"{model}: expected at most 1e-4")


main()
