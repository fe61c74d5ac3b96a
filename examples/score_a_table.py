"""Scores a Parquet table with an exported ranker on DataFusion and on Ray, and compares the scores with `burn-rank predict`.

    pip install datafusion 'ray[data]' onnxruntime pyarrow numpy
    python examples/score_a_table.py target/release/burn-rank

A ranker may look at the whole list of a query (self-attention, the normalizer `query_min_max`), so both engines hand over the
documents of a query together. The table has a row per document: `query`, `document`, `features`.
"""

import logging
import os
import pathlib
import subprocess
import sys
import tempfile

import datafusion
import numpy
import onnxruntime
import pyarrow
import pyarrow.parquet
import ray

# The largest difference from `burn-rank predict`, relative above 1: that of docs/how-to/export.md for ONNX.
TOLERANCE = 1e-5


class Ranker:
    """An exported ranker, opened once per process. On Ray it is a function of the rows of a query."""

    def __init__(self, path):
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1  # The engines run one per core.
        self.session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])

    def scores(self, features):
        """The scores of one query, `[documents]`, from its features, `[documents, features]`."""
        return self.session.run(["scores"], {"features": numpy.stack(list(features)).astype(numpy.float32)})[0]

    def __call__(self, rows):
        return {"query": rows["query"], "document": rows["document"], "score": self.scores(rows["features"])}


def on_datafusion(table, path):
    """Scores by (query, document): a function of SQL that takes the documents of a query and gives their scores."""
    ranker, numbers = Ranker(path), pyarrow.list_(pyarrow.float32())

    def scores(queries):
        return pyarrow.array([ranker.scores(documents) for documents in queries.to_pylist()], numbers)

    context = datafusion.SessionContext()
    context.register_parquet("documents", str(table))
    context.register_udf(datafusion.udf(scores, [pyarrow.list_(numbers)], numbers, "stable", "scores"))
    result = context.sql("""
        WITH queries AS (
            SELECT query,
                   array_agg(document ORDER BY document) AS documents,
                   array_agg(features ORDER BY document) AS features
            FROM documents
            GROUP BY query
        )
        SELECT query, unnest(documents) AS document, unnest(scores(features)) AS score FROM queries
    """)
    return by_document(pyarrow.Table.from_batches(result.collect()))


def on_ray(table, path):
    """Scores by (query, document): groups of rows go to processes that hold the ranker."""
    # A processor for the ranker, and some for reading and grouping, on a small machine too.
    ray.init(num_cpus=max(4, os.cpu_count()), log_to_driver=False, logging_level=logging.WARNING)
    logging.getLogger("ray.data").setLevel(logging.WARNING)
    ray.data.DataContext.get_current().enable_progress_bars = False
    queries = ray.data.read_parquet(str(table)).groupby("query", num_partitions=4)
    data = queries.map_groups(Ranker, fn_constructor_args=(path,), compute=ray.data.ActorPoolStrategy(size=1), batch_format="numpy")
    return by_document(pyarrow.concat_tables(ray.get(data.to_arrow_refs())))


def by_document(table):
    names = zip(table["query"].to_pylist(), table["document"].to_pylist())
    return dict(zip(names, table["score"].to_pylist(), strict=True))


def example(program, folder):
    """A table, a ranker of it that looks at whole lists, and its scores in the order of the rows."""

    def run(*arguments):
        subprocess.run([program, *arguments], cwd=folder, check=True, stdout=subprocess.DEVNULL)

    run("synth", "--queries", "50", "--features", "12", "--seed", "5", "--out", "synth.parquet")
    table = pyarrow.parquet.read_table(folder / "synth.parquet").select(["label", "query", "features"])
    names = pyarrow.array([f"d{row}" for row in range(table.num_rows)])
    # Small groups of rows, so that the engines read in parallel and queries lie across them.
    pyarrow.parquet.write_table(table.append_column("document", names), folder / "table.parquet", row_group_size=500)
    (folder / "run.toml").write_text("""
        normalizer = "query_min_max"
        data = { train = ["table.parquet"] }
        scorer = { kind = "attention", width = 16, blocks = 1, feed_forward = 16 }
        loss = { name = "approx_ndcg" }
        learner = { kind = "gradient", epochs = 2 }
    """)
    run("train", "run.toml", "--out", "run", "--quiet")
    run("convert", "run", "ranker.onnx")
    run("predict", "run", "table.parquet", "--out", "scores.txt")
    scores = [float(line) for line in (folder / "scores.txt").read_text().split()]
    return by_document(table.append_column("document", names).append_column("score", pyarrow.array(scores)))


def main(program):
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        expected = example(pathlib.Path(program).resolve(), folder)
        for module, score in [(datafusion, on_datafusion), (ray, on_ray)]:
            found = score(folder / "table.parquet", str(folder / "ranker.onnx"))
            assert found.keys() == expected.keys(), "every document has one score"
            worst = max(abs(found[name] - value) / max(1, abs(value)) for name, value in expected.items())
            assert worst <= TOLERANCE, f"{module.__name__}: {worst}"
            print(f"{module.__name__} {module.__version__}: {len(found)} documents, largest difference {worst:.1e}")


if __name__ == "__main__":
    main(sys.argv[1])
