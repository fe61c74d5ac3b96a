"""Tables of pyarrow and polars read by burn-rank, and tables of burn-rank read by them.

    python tests/python/columnar.py target/debug/burn-rank
"""

import itertools
import pathlib
import subprocess
import sys
import tempfile

import numpy
import polars
import pyarrow
import pyarrow.feather
import pyarrow.ipc
import pyarrow.parquet

PROGRAM = pathlib.Path(sys.argv[1]).resolve()
FEATURES = 7


def run(folder, *args, code=0):
    done = subprocess.run([PROGRAM, *args], cwd=folder, capture_output=True, text=True)
    assert done.returncode == code, (args, done.returncode, done.stderr)
    return done.stdout if code == 0 else done.stderr


def text(path):
    """Labels, queries, names and features of LETOR text in which every feature is written."""
    labels, queries, names, rows = [], [], [], []
    for line in path.read_text().splitlines():
        line, _, comment = line.partition(" #docid = ")
        label, query, *values = line.split(" ")
        labels.append(float(label))
        queries.append(query.removeprefix("qid:"))
        names.append(comment or None)
        rows.append([float(value.split(":")[1]) for value in values])
    return labels, queries, names, numpy.array(rows, dtype=numpy.float32)


def ours_are_read(folder):
    labels, queries, names, rows = text(folder / "named.txt")
    for name in ["named.arrow", "named.parquet"]:
        path = folder / name
        run(folder, "convert", "named.txt", name)
        is_arrow = name.endswith("arrow")
        table = pyarrow.feather.read_table(path) if is_arrow else pyarrow.parquet.read_table(path)
        table.validate(full=True)
        assert table.column_names == ["label", "query", "document", "features"], table.schema
        assert table.schema.field("features").type == pyarrow.list_(pyarrow.field("item", pyarrow.float32(), nullable=False), FEATURES)
        assert table["label"].to_pylist() == labels
        assert table["query"].to_pylist() == queries
        assert table["document"].to_pylist() == names
        assert (numpy.array(table["features"].to_pylist(), dtype=numpy.float32) == rows).all()
        frame = polars.read_ipc(path) if is_arrow else polars.read_parquet(path)
        assert frame["query"].to_list() == queries and frame["document"].to_list() == names
        assert (frame["features"].to_numpy() == rows).all()
        print(f"ours, {name}: {table.num_rows} rows by pyarrow {pyarrow.__version__} and polars {polars.__version__}")


def pyarrow_tables(folder, labels, queries, names, rows):
    lists = pyarrow.FixedSizeListArray.from_arrays(pyarrow.array(rows.reshape(-1)), FEATURES)
    wide = pyarrow.FixedSizeListArray.from_arrays(pyarrow.array(rows.reshape(-1).astype(numpy.float64)), FEATURES)
    variable = lists.cast(pyarrow.list_(pyarrow.float32()))
    columns = {f"f{i}": rows[:, i] for i in range(FEATURES)}
    tables = {
        "list": {"label": labels, "query": queries, "document": names, "features": lists},
        "list64": {"label": labels, "query": queries, "document": names, "features": wide},
        "variable": {"label": labels, "query": queries, "document": names, "features": variable},
        "columns": {**columns, "docid": names, "qid": pyarrow.array(queries).dictionary_encode(), "label": pyarrow.array(labels, pyarrow.float64())},
    }
    for (kind, table), chunk in itertools.product(tables.items(), [None, 50]):
        table = pyarrow.table(table)
        for compression in ["uncompressed", "lz4", "zstd"]:
            path = folder / f"pyarrow-{kind}-{chunk}-{compression}.arrow"
            pyarrow.feather.write_feather(table, path, compression=compression, chunksize=chunk)
            yield path
        for compression, version in [("none", "2.6"), ("snappy", "1.0"), ("gzip", "2.6"), ("zstd", "2.6"), ("lz4", "2.4")]:
            path = folder / f"pyarrow-{kind}-{chunk}-{compression}.parquet"
            pyarrow.parquet.write_table(table, path, compression=compression, version=version, row_group_size=chunk)
            yield path


def polars_tables(folder, labels, queries, names, rows):
    array = polars.Array(polars.Float32, FEATURES)
    lists = polars.DataFrame({"label": labels, "query": queries, "document": names, "features": rows}, schema_overrides={"features": array})
    frames = {
        "array": lists,
        "list": lists.with_columns(polars.col("features").arr.to_list()),
        "columns": polars.DataFrame({"label": labels, "query": queries, "document": names, **{f"f{i}": rows[:, i] for i in range(FEATURES)}}),
        "category": lists.with_columns(polars.col("query").cast(polars.Categorical)),
    }
    for kind, frame in frames.items():
        for compression in ["uncompressed", "lz4", "zstd"]:
            path = folder / f"polars-{kind}-{compression}.arrow"
            frame.write_ipc(path, compression=compression)
            yield path
        for compression in ["uncompressed", "snappy", "zstd", "lz4"]:
            path = folder / f"polars-{kind}-{compression}.parquet"
            frame.write_parquet(path, compression=compression)
            yield path


def theirs_are_read(folder):
    columns = text(folder / "named.txt")
    run(folder, "convert", "named.txt", "expected.arrow")
    expected = (folder / "expected.arrow").read_bytes()
    count = 0
    for path in itertools.chain(pyarrow_tables(folder, *columns), polars_tables(folder, *columns)):
        run(folder, "convert", path.name, "read.arrow")
        if "-columns-" in path.name:
            # Columns have names, which text has not.
            run(folder, "convert", "read.arrow", "read.txt")
            assert (folder / "read.txt").read_bytes() == (folder / "named.txt").read_bytes(), path.name
        else:
            assert (folder / "read.arrow").read_bytes() == expected, path.name
        count += 1
    print(f"theirs: {count} files, the bytes of the text each")


def what_does_not_fit_is_refused(folder):
    labels, queries, names, rows = text(folder / "named.txt")
    frame = polars.DataFrame({"label": labels, "query": queries, "url": names, "f": rows[:, 0]})
    frame.write_parquet(folder / "url.parquet")
    message = run(folder, "convert", "url.parquet", "x.txt", code=2)
    assert "url.parquet: found column `url` of type " in message, message
    frame.drop("url").write_ipc_stream(folder / "stream.arrow")
    message = run(folder, "convert", "stream.arrow", "x.txt", code=2)
    assert "stream.arrow: found a stream of Arrow messages" in message, message
    missing = pyarrow.table({"label": [1, 0], "query": ["a", "a"], "f": pyarrow.array([0.5, None])})
    pyarrow.parquet.write_table(missing, folder / "missing.parquet")
    message = run(folder, "convert", "missing.parquet", "x.txt", code=2)
    assert "missing.parquet: row 2, column `f`: found null, expected a finite value of feature 1" in message, message
    run(folder, "convert", "missing.parquet", "missing.arrow", "--missing", "keep")
    kept = pyarrow.feather.read_table(folder / "missing.arrow")["features"].to_pylist()
    assert kept[0] == [0.5] and numpy.isnan(kept[1][0]), kept
    assert not (folder / "x.txt").exists()
    print("what does not fit is refused")


with tempfile.TemporaryDirectory() as name:
    folder = pathlib.Path(name)
    run(folder, "synth", "--queries", "20", "--features", str(FEATURES), "--median-length", "9", "--out", "plain.txt")
    lines = (folder / "plain.txt").read_text().splitlines()
    named = [line if at % 5 == 0 else f"{line} #docid = D-{at}" for at, line in enumerate(lines)]
    (folder / "named.txt").write_text("".join(f"{line}\n" for line in named))
    # Every feature written, zeros too.
    run(folder, "convert", "named.txt", "named.arrow")
    run(folder, "convert", "named.arrow", "named.txt")
    ours_are_read(folder)
    theirs_are_read(folder)
    what_does_not_fit_is_refused(folder)
