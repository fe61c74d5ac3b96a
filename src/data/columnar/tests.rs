//! Tests of tables: what is read, and the place that is reported for each fault.

mod hostile;
mod names;
mod own_tables;

use std::path::PathBuf;
use std::sync::Arc;

use arrow_array::types::{Float32Type, Int8Type};
use arrow_array::{
    ArrayRef, BooleanArray, DictionaryArray, FixedSizeListArray, Float32Array, Float64Array, Int64Array, ListArray,
    RecordBatch, StringArray, StringViewArray, UInt8Array,
};
use arrow_buffer::ScalarBuffer;
use arrow_ipc::CompressionType;
use arrow_ipc::writer::{FileWriter, IpcWriteOptions};
use arrow_schema::{DataType, Field, Schema};
use parquet::arrow::ArrowWriter;
use tempfile::TempDir;

use super::Format;
use crate::data::letor::{Missing, ReadOptions, Weights};
use crate::data::options::Groups;
use crate::data::{DataError, Input, RankingDataset, read, read_from};

const FORMATS: [Format; 2] = [Format::Arrow, Format::Parquet];

fn files(contents: &[(&str, &[u8])]) -> (TempDir, Vec<PathBuf>) {
    let folder = tempfile::tempdir().unwrap();
    let paths: Vec<PathBuf> = contents.iter().map(|(name, _)| folder.path().join(name)).collect();
    for ((_, bytes), path) in contents.iter().zip(&paths) {
        std::fs::write(path, bytes).unwrap();
    }
    (folder, paths)
}

fn read_bytes(bytes: &[u8], options: &ReadOptions) -> Result<RankingDataset, DataError> {
    let (_folder, paths) = files(&[("data", bytes)]);
    let data = read(&paths, options)?;
    data.check_values()?;
    Ok(data)
}

/// Returns the error message without the folder.
fn message(bytes: &[u8], options: &ReadOptions) -> String {
    let (folder, paths) = files(&[("data", bytes)]);
    let message = read(&paths, options).and_then(|data| data.check_values()).unwrap_err().to_string();
    message.replace(&format!("{}/", folder.path().display()), "")
}

fn written(data: &RankingDataset, format: Format) -> Vec<u8> {
    let mut bytes = Vec::new();
    data.clone().write_columnar(format, &mut bytes).unwrap();
    bytes
}

/// Writes batches of columns as a file.
fn file_of(batches: &[RecordBatch], format: Format, compression: Option<CompressionType>) -> Vec<u8> {
    let mut bytes = Vec::new();
    let schema = batches[0].schema();
    match format {
        Format::Arrow => {
            let options = IpcWriteOptions::default().try_with_compression(compression).unwrap();
            let mut writer = FileWriter::try_new_with_options(&mut bytes, &schema, options).unwrap();
            batches.iter().for_each(|batch| writer.write(batch).unwrap());
            writer.finish().unwrap();
        }
        Format::Parquet => {
            let mut writer = ArrowWriter::try_new(&mut bytes, schema, None).unwrap();
            batches.iter().for_each(|batch| writer.write(batch).unwrap());
            writer.close().unwrap();
        }
    }
    bytes
}

/// Two queries of two and one documents.
fn table(columns: Vec<(&str, ArrayRef)>) -> Vec<u8> {
    file_of(&[RecordBatch::try_from_iter(columns).unwrap()], Format::Arrow, None)
}

fn floats<const N: usize>(values: [f32; N]) -> ArrayRef {
    Arc::new(Float32Array::from(values.to_vec()))
}

fn lists(width: i32, values: Vec<Option<f32>>) -> ArrayRef {
    let item = Arc::new(Field::new("item", DataType::Float32, true));
    Arc::new(FixedSizeListArray::try_new(item, width, Arc::new(Float32Array::from(values)), None).unwrap())
}

fn queries() -> ArrayRef {
    Arc::new(StringArray::from(vec!["a", "a", "b"]))
}

/// A valid table, except for the given columns.
fn with(columns: Vec<(&str, ArrayRef)>) -> Vec<u8> {
    let mut all: Vec<(&str, ArrayRef)> = vec![
        ("label", floats([2.0, 0.0, 1.0])),
        ("query", queries()),
        ("features", lists(2, [1.0, 2.0, 3.0, 4.0, 5.0, 6.0].map(Some).to_vec())),
    ];
    all.retain(|(name, _)| columns.iter().all(|(other, _)| other != name));
    all.extend(columns);
    table(all)
}

fn three() -> RankingDataset {
    let features = vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
    let mut data = RankingDataset::builder()
        .features(features, 2)
        .labels(vec![2.0, 0.0, 1.0])
        .query_sizes(&[2, 1])
        .build()
        .unwrap();
    data.query_ids = vec!["a".into(), "b".into()];
    data
}

#[test]
fn what_is_written_is_read_back_bit_for_bit() {
    let keep = ReadOptions {
        missing: Missing::Keep,
        query_weights: Weights::File,
        document_weights: Weights::File,
        ..ReadOptions::default()
    };
    let plain = three();
    let mut full = three().with_query_weights(vec![0.5, 2.0]).unwrap();
    full = full.with_document_weights(vec![1.0, 0.0, 3.5]).unwrap();
    full.document_ids = vec!["x y".into(), String::new(), "z".into()];
    full.features.to_mut_slice()[3] = -0.0;
    full.features.to_mut_slice()[4] = f32::MIN_POSITIVE / 8.0;
    for format in FORMATS {
        assert_eq!(read_bytes(&written(&plain, format), &ReadOptions::default()).unwrap(), plain, "{format}");
        let bytes = written(&full, format);
        let back = read_bytes(&bytes, &keep).unwrap();
        assert_eq!(back, full, "{format}");
        assert_eq!(back.data_hash(), full.data_hash(), "{format}");
        // Only training queries have weights.
        let unweighted = read_bytes(&bytes, &ReadOptions::default()).unwrap();
        assert!(unweighted.query_weights.is_empty() && unweighted.document_weights.is_empty());
    }
    let mut missing = three();
    missing.features.to_mut_slice()[1] = f32::NAN;
    for format in FORMATS {
        let keep = ReadOptions { missing: Missing::Keep, ..ReadOptions::default() };
        let back = read_bytes(&written(&missing, format), &keep).unwrap();
        assert_eq!(back.data_hash(), missing.data_hash(), "{format}");
    }
    let empty =
        RankingDataset::builder().features(Vec::new(), 0).labels(vec![1.0, 0.0]).query_sizes(&[2]).build().unwrap();
    assert_eq!(read_bytes(&written(&empty, Format::Arrow), &ReadOptions::default()).unwrap(), empty);
    let refused = empty.write_columnar(Format::Parquet, &mut Vec::new()).unwrap_err().to_string();
    assert_eq!(refused, "dataset: number of features is 0, expected at least 1 in a Parquet file");
}

#[test]
fn a_table_without_documents_is_not_written() {
    for format in FORMATS {
        for none in [three().select(&[]), RankingDataset::builder().features(Vec::new(), 2).build().unwrap()] {
            let refused = none.write_columnar(format, &mut Vec::new()).unwrap_err().to_string();
            assert_eq!(refused, "dataset: number of documents is 0, expected at least 1 in a table", "{format}");
        }
    }
}

#[test]
fn the_features_of_a_plain_arrow_file_stay_where_they_lie() {
    // Values of a dataset's own are copied by `clone`.
    let shares = |data: &RankingDataset| {
        let values: ScalarBuffer<f32> = data.features.clone().into();
        values.as_ptr() == data.features.to_slice().as_ptr()
    };
    let bytes = written(&three(), Format::Arrow);
    let data = read_bytes(&bytes, &ReadOptions::default()).unwrap();
    assert!(shares(&data));
    let mut changed = data.clone();
    changed.features.to_mut_slice()[0] = 9.0;
    assert!(!shares(&changed) && data == three());

    // Infinite values are looked for when the values are used, not when the file is opened.
    let infinite = [1.0, 2.0, 3.0, f32::INFINITY, 5.0, 6.0].map(Some).to_vec();
    let bytes_of_infinite = with(vec![("features", lists(2, infinite))]);
    let (_folder, paths) = files(&[("data", &bytes_of_infinite)]);
    let opened = read(&paths, &ReadOptions::default()).unwrap();
    let error = opened.check_values().unwrap_err().to_string();
    assert!(
        error.ends_with("data: row 2, column `features`: found inf, expected a finite value of feature 2"),
        "{error}"
    );

    let wider = ReadOptions { features: Some(3), ..ReadOptions::default() };
    assert!(!shares(&read_bytes(&bytes, &wider).unwrap()));
    assert!(!shares(&read_bytes(&written(&three(), Format::Parquet), &ReadOptions::default()).unwrap()));

    let mut missing = three();
    missing.features.to_mut_slice()[1] = f32::NAN;
    let bytes = written(&missing, Format::Arrow);
    let with = |missing| read_bytes(&bytes, &ReadOptions { missing, ..ReadOptions::default() });
    assert!(shares(&with(Missing::Keep).unwrap()));
    assert_eq!(with(Missing::Zero).unwrap().features.to_slice(), [1.0, 0.0, 3.0, 4.0, 5.0, 6.0]);
    assert_eq!(with(Missing::QueryMin).unwrap().features.to_slice(), [1.0, 4.0, 3.0, 4.0, 5.0, 6.0]);
    assert!(with(Missing::Error).is_err());
}

#[test]
fn text_and_tables_have_the_same_hash() {
    let data = crate::data::SynthConfig { queries: 30, features: 7, ..Default::default() }.generate().unwrap();
    let mut text = Vec::new();
    data.write_letor(&mut text).unwrap();
    let of_text = read_bytes(&text, &ReadOptions::default()).unwrap();
    for format in FORMATS {
        let of_table = read_bytes(&written(&of_text, format), &ReadOptions::default()).unwrap();
        assert_eq!(of_table.data_hash(), of_text.data_hash(), "{format}");
    }
}

#[test]
fn columns_of_other_types_are_converted() {
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("f2", Arc::new(Int64Array::from(vec![Some(16_777_217), None, Some(-3)]))),
        ("label", Arc::new(UInt8Array::from(vec![2, 0, 1]))),
        ("qid", Arc::new(DictionaryArray::<Int8Type>::from_iter(["q 1", "q 1", "2"]))),
        ("f1", Arc::new(Float64Array::from(vec![0.1, f64::NAN, 1e-60]))),
        ("clicked", Arc::new(BooleanArray::from(vec![true, false, true]))),
        ("docid", Arc::new(Int64Array::from(vec![Some(7), None, Some(-9)]))),
    ];
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    for format in FORMATS {
        let bytes = file_of(std::slice::from_ref(&batch), format, None);
        let options = ReadOptions { missing: Missing::Zero, ..ReadOptions::default() };
        let data = read_bytes(&bytes, &options).unwrap();
        assert_eq!(data.features.to_slice(), [16_777_216.0, 0.1, 1.0, 0.0, 0.0, 0.0, -3.0, 0.0, 1.0], "{format}");
        assert_eq!(data.query_ids, ["q 1", "2"]);
        assert_eq!(data.document_ids, ["7", "", "-9"]);
        assert_eq!(data.labels, [2.0, 0.0, 1.0]);
        let keep = ReadOptions { missing: Missing::Keep, ..ReadOptions::default() };
        let missing: Vec<bool> =
            read_bytes(&bytes, &keep).unwrap().features.to_slice().iter().map(|x| x.is_nan()).collect();
        assert_eq!(missing, [false, false, false, true, true, false, false, false, false]);
        let smallest = ReadOptions { missing: Missing::QueryMin, ..ReadOptions::default() };
        assert_eq!(read_bytes(&bytes, &smallest).unwrap().features.to_slice()[3..5], [16_777_216.0, 0.1]);
    }
}

/// If a column were absent, every later column would be read as the wrong feature.
#[test]
fn a_column_of_features_that_is_absent_is_refused() {
    let columns = |names: &[&'static str], query: [&str; 3]| {
        let mut columns: Vec<(&str, ArrayRef)> =
            vec![("label", floats([2.0, 0.0, 1.0])), ("query", Arc::new(StringArray::from(query.to_vec())))];
        columns.extend(names.iter().map(|name| (*name, floats([1.0, 2.0, 3.0]))));
        table(columns)
    };
    let (whole, part) = (columns(&["f1", "f2", "f3"], ["a", "a", "b"]), columns(&["f1", "f3"], ["c", "c", "d"]));
    let three = ReadOptions { features: Some(3), ..ReadOptions::default() };
    assert_eq!(read_bytes(&whole, &three).unwrap().feature_count, 3);
    let expected = "data: found 2 columns of features, expected 3, one for each feature (option `features`)";
    assert_eq!(message(&part, &three), expected);
    for order in [[&whole, &part], [&part, &whole]] {
        let (_folder, paths) = files(&[("one", order[0]), ("two", order[1])]);
        let refused = read(&paths, &ReadOptions::default()).unwrap_err().to_string();
        assert!(refused.contains("columns of features, expected"), "{refused}");
    }
}

/// The first row says how long the lists of a set are that is read with as many features as another.
#[test]
fn lists_of_any_length_stay_where_they_lie_if_they_have_the_features_asked_for() {
    let rows = [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]].map(|row| Some(row.map(Some)));
    let lists: ArrayRef = Arc::new(ListArray::from_iter_primitive::<Float32Type, _, _>(rows));
    let (_folder, paths) = files(&[("data", &with(vec![("features", lists)]))]);
    let read = |features| read(&paths, &ReadOptions { features, ..ReadOptions::default() }).unwrap();
    let streams = |features| read(features).stream(1 << 20, 1 << 20);
    assert!(streams(None).is_ok() && streams(Some(2)).is_ok());
    assert!(streams(Some(3)).unwrap_err().to_string().contains("the place of the features"));
    assert_eq!(read(Some(3)).features.to_slice(), [1.0, 2.0, 0.0, 3.0, 4.0, 0.0, 5.0, 6.0, 0.0]);
}

/// The rows that the file states, and not only those that were read.
#[test]
fn lists_of_any_length_take_room_for_all_rows_once_their_length_is_known() {
    let rows = [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]].map(|row| Some(row.map(Some)));
    let lists: ArrayRef = Arc::new(ListArray::from_iter_primitive::<Float32Type, _, _>(rows));
    let batch = |query: &str| {
        let queries: ArrayRef = Arc::new(StringArray::from(vec![query; 3]));
        RecordBatch::try_from_iter([("label", floats([0.0; 3])), ("query", queries), ("features", lists.clone())])
            .unwrap()
    };
    let bytes = file_of(&[batch("a"), batch("b")], Format::Arrow, Some(CompressionType::LZ4_FRAME));
    let limited = |most: usize| ReadOptions { max_cells: Some(most), ..ReadOptions::default() };
    assert_eq!(read_bytes(&bytes, &limited(12)).unwrap().documents(), 6);
    assert!(
        message(&bytes, &limited(8)).contains("found 6 documents x 2 features"),
        "{}",
        message(&bytes, &limited(8))
    );
}

#[test]
fn lists_may_have_any_type_of_list_and_nulls_among_their_items() {
    let rows = [vec![Some(1.0), None], vec![Some(3.0), Some(4.0)], vec![Some(5.0), Some(6.0)]].map(Some);
    let list = ListArray::from_iter_primitive::<Float32Type, _, _>(rows);
    let view = StringViewArray::from(vec!["a", "a", "b"]);
    let options = ReadOptions { missing: Missing::Zero, ..ReadOptions::default() };
    let mut expected = three();
    expected.features.to_mut_slice()[1] = 0.0;
    for lists in
        [Arc::new(list) as ArrayRef, lists(2, vec![Some(1.0), None, Some(3.0), Some(4.0), Some(5.0), Some(6.0)])]
    {
        // Columns next to a list of features are not read.
        let bytes = with(vec![("query", Arc::new(view.clone())), ("features", lists), ("url", queries())]);
        assert_eq!(read_bytes(&bytes, &options).unwrap(), expected);
    }
}

#[test]
fn batches_may_end_within_a_query_and_be_compressed() {
    let batch = |labels: [f32; 2], queries: [&str; 2], first: f32| {
        let features = (0..4).map(|at| Some(first + at as f32)).collect();
        let columns: Vec<(&str, ArrayRef)> = vec![
            ("label", floats(labels)),
            ("query", Arc::new(StringArray::from(queries.to_vec()))),
            ("features", lists(2, features)),
        ];
        RecordBatch::try_from_iter(columns).unwrap()
    };
    let batches = [batch([0.0, 1.0], ["a", "b"], 0.0), batch([2.0, 3.0], ["b", "c"], 4.0)];
    for compression in [None, Some(CompressionType::LZ4_FRAME), Some(CompressionType::ZSTD)] {
        let data = read_bytes(&file_of(&batches, Format::Arrow, compression), &ReadOptions::default()).unwrap();
        assert_eq!(data.offsets, [0, 1, 3, 4]);
        assert_eq!(data.features.to_slice(), [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]);
    }
}

#[test]
fn the_last_column_of_a_parquet_file_may_have_a_large_dictionary() {
    let values: Vec<f32> = (0..6000).map(|at| (at % 2000) as f32).collect();
    let data =
        RankingDataset::builder().features(values, 1).labels(vec![1.0; 6000]).query_sizes(&[6000]).build().unwrap();
    assert_eq!(read_bytes(&written(&data, Format::Parquet), &ReadOptions::default()).unwrap(), data);
}

#[test]
fn text_and_tables_may_be_one_set() {
    let table = written(&three(), Format::Arrow);
    let (_folder, paths) =
        files(&[("a.txt", b"1 qid:9 1:7\n"), ("b.arrow", &table), ("c.txt", b"0 qid:8 3:1 #docid = d\n")]);
    let data = read(&paths, &ReadOptions::default()).unwrap();
    assert_eq!(data.feature_count, 3);
    assert_eq!(data.query_ids, ["9", "a", "b", "8"]);
    assert_eq!(data.features.to_slice()[..6], [7.0, 0.0, 0.0, 1.0, 2.0, 0.0]);
    assert_eq!(data.document_ids, ["", "", "", "", "d"]);
    let again = read(&[paths[1].clone(), paths[1].clone()], &ReadOptions::default()).unwrap_err().to_string();
    assert!(again.contains("b.arrow: row 1, column `query`: found query `a` again, expected all its rows"), "{again}");
    let wider = ReadOptions { features: Some(4), ..ReadOptions::default() };
    assert_eq!(read(&paths[1..2], &wider).unwrap().row(0), [1.0, 2.0, 0.0, 0.0]);
}

#[test]
fn readers_are_read_too() {
    for format in FORMATS {
        let input = Input::from_reader("standard input", std::io::Cursor::new(written(&three(), format)));
        assert_eq!(read_from([input], &ReadOptions::default()).unwrap(), three());
    }
}

#[test]
fn values_that_cannot_be_are_reported_with_row_and_column() {
    let no_query = Arc::new(StringArray::from(vec![Some("a"), None, Some("b")]));
    let infinite = lists(2, vec![Some(1.0), Some(2.0), Some(3.0), Some(f32::INFINITY), Some(5.0), Some(6.0)]);
    let missing = lists(2, vec![Some(1.0), Some(2.0), None, Some(4.0), Some(5.0), Some(6.0)]);
    let uneven = [Some(vec![Some(1.0)]), Some(vec![Some(3.0), Some(4.0)]), Some(vec![])];
    let uneven = Arc::new(ListArray::from_iter_primitive::<Float32Type, _, _>(uneven));
    let shorter = [Some(vec![Some(1.0), Some(2.0)]), Some(vec![Some(3.0)]), Some(vec![])];
    let shorter = Arc::new(ListArray::from_iter_primitive::<Float32Type, _, _>(shorter));
    let large: ArrayRef = Arc::new(Float64Array::from(vec![1.0, 2.0, 1e39]));
    for (bytes, expected) in [
        (
            with(vec![("label", floats([2.0, -1.0, 1.0]))]),
            "row 2, column `label`: found -1.0, expected a label (a number of at least 0)",
        ),
        (
            with(vec![("label", Arc::new(Float32Array::from(vec![Some(2.0), Some(0.0), None])))]),
            "row 3, column `label`: found null, expected a label (a number of at least 0); leave out rows without one",
        ),
        (
            with(vec![("query", Arc::new(StringArray::from(vec!["a", "", "b"])))]),
            "row 2, column `query`: found an empty text, expected the identifier of a query \
             (text, or a whole number that its type holds exactly)",
        ),
        (
            with(vec![("label", Arc::new(Float64Array::from(vec![2.0, 1e39, 0.0])))]),
            "row 2, column `label`: found 1e39, expected a label (a number of at least 0) of at most 3.4028235e38 in \
             size, the largest 32-bit float",
        ),
        (
            with(vec![("query", no_query)]),
            "row 2, column `query`: found null, expected the identifier of a query \
             (text, or a whole number that its type holds exactly)",
        ),
        (
            with(vec![("features", infinite)]),
            "row 2, column `features`: found inf, expected a finite value of feature 2",
        ),
        (
            with(vec![("features", missing)]),
            "row 2, column `features`: found null, expected a finite value of feature 1 (option `missing` = \"zero\" or \"query-min\" replaces a missing one, \"keep\" leaves it to boosted trees, \"indicator\" gives every learner a mean and a column)",
        ),
        (
            with(vec![("features", uneven)]),
            "row 2, column `features`: found 2 values, expected 1, as in the other rows",
        ),
        (
            with(vec![("features", shorter)]),
            "row 2, column `features`: found 1 value, expected 2, as in the other rows",
        ),
        (
            table(vec![("label", floats([0.0; 3])), ("qid", queries()), ("bm25", large)]),
            "row 3, column `bm25`: found 1e39, expected a finite value of feature 1 of at most 3.4028235e38 in size, the \
             largest 32-bit float",
        ),
    ] {
        assert_eq!(message(&bytes, &ReadOptions::default()), format!("data: {expected}"));
    }
    let weights = ReadOptions { query_weights: Weights::File, ..ReadOptions::default() };
    let bytes = with(vec![("query_weight", floats([1.0, 2.0, 1.0]))]);
    assert_eq!(
        message(&bytes, &weights),
        "data: row 2, column `query_weight`: found 2.0, expected 1, as in the query's rows before"
    );
    let weights = ReadOptions { document_weights: Weights::File, ..ReadOptions::default() };
    let bytes = with(vec![("weight", floats([1.0, 2.0, -1.0]))]);
    assert_eq!(
        message(&bytes, &weights),
        "data: row 3, column `weight`: found -1.0, expected the weight of a document (a finite number of at least 0)"
    );
}

#[test]
fn tables_that_do_not_fit_are_refused() {
    let label = || ("label", floats([0.0; 3]));
    let query = || ("query", queries());
    for (bytes, expected) in [
        (
            table(vec![("lable", floats([0.0; 3])), query()]),
            "found columns `lable`, `query`, expected a column `label`, or another named by option `columns.label`; did you mean `lable`?",
        ),
        (
            table(vec![label(), ("f", floats([0.0; 3]))]),
            "found columns `label`, `f`, expected a column `query` or `qid`, or another named by option `columns.query`",
        ),
        (
            table(vec![label(), query()]),
            "found no features, expected a column `features` of lists, or one column per feature",
        ),
        (table(vec![label(), query(), ("qid", queries())]), "found columns `query` and `qid`, expected one of them"),
        (
            table(vec![("label", queries()), query()]),
            "found column `label` of type Utf8, expected numbers: map words to grades, such as 0, 1, 2",
        ),
        (
            table(vec![label(), ("query", Arc::new(BooleanArray::from(vec![true; 3])))]),
            "found column `query` of type Boolean, expected text or whole numbers",
        ),
        (
            table(vec![label(), query(), ("url", queries())]),
            "found column `url` of type Utf8, expected numbers, as every column of a feature has (option `columns.drop` = \
             [\"url\"] leaves it out)",
        ),
        (
            b"\xff\xff\xff\xff\x10\0\0\0".to_vec(),
            "found a stream of Arrow messages, expected LETOR text, an Arrow file (the IPC file format), a Parquet file, or \
             CSV or TSV with a header",
        ),
    ] {
        assert_eq!(message(&bytes, &ReadOptions::default()), format!("data: {expected}"));
    }
    let bytes = with(vec![]);
    let narrow = ReadOptions { features: Some(1), ..ReadOptions::default() };
    assert_eq!(message(&bytes, &narrow), "data: found 2 features, expected at most 1 (option `features`)");
    let weights = ReadOptions { document_weights: Weights::File, ..ReadOptions::default() };
    assert_eq!(
        message(&bytes, &weights),
        "data: found no such column, expected a column `weight` (option `document_weights` = \"file\")"
    );
    let groups = ReadOptions { groups: Groups::QueryFile, ..ReadOptions::default() };
    assert!(message(&bytes, &groups).contains("data has a column of queries"));
    let cells = ReadOptions { max_cells: Some(5), ..ReadOptions::default() };
    assert_eq!(
        message(&bytes, &cells),
        "data: found 3 documents x 2 features, expected at most 5 cells for a file of this size (option `max_cells`)"
    );
    let none = RecordBatch::new_empty(Arc::new(Schema::new(vec![
        Field::new("label", DataType::Float32, false),
        Field::new("query", DataType::Utf8, false),
        Field::new("f", DataType::Float32, false),
    ])));
    for format in FORMATS {
        let bytes = file_of(std::slice::from_ref(&none), format, None);
        assert_eq!(message(&bytes, &ReadOptions::default()), "data: found no document, expected at least one row");
    }
}

#[test]
fn defect_18_a_whole_table_that_is_not_read_is_not_called_damaged() {
    let replaced = |bytes: &[u8], at: usize, with: &[u8]| {
        let mut bytes = bytes.to_vec();
        bytes[at..at + with.len()].copy_from_slice(with);
        bytes
    };
    let places = |bytes: &[u8], text: &[u8]| -> Vec<usize> {
        (0..bytes.len()).filter(|&at| bytes[at..].starts_with(text)).collect()
    };
    let expected =
        "numbers and text, uncompressed or compressed by LZ4 or Zstandard, in a Parquet file by Snappy or gzip too";
    // The footer has the codec of a column behind its name: 6 for Zstandard, 4 for Brotli, 3 for LZO, all doubled.
    let parquet = written(&three(), Format::Parquet);
    let codecs = places(&parquet, b"label\x15\x0c");
    for (number, name) in [(8, "Brotli"), (6, "LZO")] {
        let patched = codecs.iter().fold(parquet.clone(), |bytes, at| replaced(&bytes, at + 6, &[number]));
        let found = message(&patched, &ReadOptions::default());
        assert_eq!(found, format!("data: found columns compressed by {name}, expected {expected}"));
    }
    // A column of integers of 64 bits whose schema says 128, which other systems have.
    let arrow = with(vec![("x", Arc::new(Int64Array::from(vec![1, 2, 3])))]);
    let messages = places(&arrow, &[64, 0, 0, 0]).into_iter().filter_map(|at| {
        let (_folder, paths) = files(&[("data", &replaced(&arrow, at, &[128]))]);
        read(&paths, &ReadOptions::default()).err().map(|error| error.to_string())
    });
    let messages: Vec<String> = messages.collect();
    let unread = "found a type of column (Int type with bit width of 128 and signed of true not supported), expected ";
    assert!(messages.iter().any(|message| message.contains(unread)), "{messages:?}");
}
