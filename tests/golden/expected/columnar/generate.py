"""Writes the same few documents with pyarrow and polars in the forms that their users have: pyarrow 26.0.1, polars 2.1.0.

    pip install pyarrow==26.0.1 polars==2.1.0 numpy && python generate.py
"""

import pathlib

import numpy
import polars
import pyarrow
import pyarrow.feather
import pyarrow.parquet

here = pathlib.Path(__file__).parent
labels = [2, 0, 1, 0, 3]
queries = ["q1", "q1", "10", "10", "10"]
documents = ["D-1", None, "D-3", "D-4", "D-5"]
features = numpy.array(
    [[0.1, 2.0, -3.5], [1e-3, 0.0, 7.25], [5.0, 1.0, 0.5], [0.25, 3.0, 1e10], [4.0, 0.0, 0.125]], dtype=numpy.float32
)

(here / "data.txt").write_text(
    "".join(
        f"{label} qid:{query} " + " ".join(f"{i + 1}:{value}" for i, value in enumerate(row)) + (f" #docid = {name}" if name else "") + "\n"
        for label, query, name, row in zip(labels, queries, documents, features)
    )
)

lists = pyarrow.FixedSizeListArray.from_arrays(pyarrow.array(features.reshape(-1)), 3)
table = pyarrow.table({"label": labels, "query": queries, "document": documents, "features": lists})
pyarrow.feather.write_feather(table, here / "pyarrow_list.arrow", compression="uncompressed")
pyarrow.feather.write_feather(table, here / "pyarrow_list_zstd.arrow", compression="zstd", chunksize=2)
pyarrow.parquet.write_table(table, here / "pyarrow_list.parquet")

columns = {f"f{i + 1}": features[:, i].astype(numpy.float64) for i in range(3)}
coded = pyarrow.array(queries).dictionary_encode()
table = pyarrow.table({"label": pyarrow.array(labels, pyarrow.int8()), "qid": coded, "docid": documents, **columns})
pyarrow.feather.write_feather(table, here / "pyarrow_columns.arrow", compression="lz4")
pyarrow.parquet.write_table(table, here / "pyarrow_columns.parquet", compression="gzip", row_group_size=2)

frame = polars.DataFrame(
    {"label": labels, "query": queries, "document": documents, "features": features},
    schema_overrides={"features": polars.Array(polars.Float32, 3)},
)
frame.write_ipc(here / "polars_list.arrow", compression="zstd")
frame.write_parquet(here / "polars_list.parquet")
frame = polars.DataFrame({"label": labels, "qid": queries, "docid": documents, **columns})
frame = frame.with_columns(polars.col("qid").cast(polars.Categorical), polars.col("label").cast(polars.Float64))
frame.write_ipc(here / "polars_columns.arrow", compression="uncompressed")
frame.write_parquet(here / "polars_columns.parquet", compression="snappy")
