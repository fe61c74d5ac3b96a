//! Tests of the whole reader: what it accepts, and the place that it reports for each fault.

use std::io::Write;
use std::path::PathBuf;

use flate2::Compression;
use flate2::write::GzEncoder;
use proptest::prelude::*;
use tempfile::TempDir;

use super::{Missing, ReadOptions, Weights, read, read_from};
use crate::data::options::{Absent, Groups};
use crate::data::{DataError, Input, RankingDataset};

/// Writes files into a new folder.
fn files(contents: &[(&str, &[u8])]) -> (TempDir, Vec<PathBuf>) {
    let folder = tempfile::tempdir().unwrap();
    let paths: Vec<PathBuf> = contents.iter().map(|(name, _)| folder.path().join(name)).collect();
    for ((_, bytes), path) in contents.iter().zip(&paths) {
        std::fs::write(path, bytes).unwrap();
    }
    (folder, paths)
}

fn read_text(text: impl AsRef<[u8]>, options: &ReadOptions) -> Result<RankingDataset, DataError> {
    let (_folder, paths) = files(&[("data.txt", text.as_ref())]);
    read(&paths, options)
}

/// Returns the error message without the folder.
fn message(text: impl AsRef<[u8]>, options: &ReadOptions) -> String {
    let message = read_text(text, options).unwrap_err().to_string();
    message.split_once("data.txt").unwrap().1.to_owned()
}

fn compressed(text: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(text).unwrap();
    encoder.finish().unwrap()
}

const SAMPLE: &str = "\
# a comment line
2 qid:10 1:0.5 3:-2 #docid = GX001-22 inc = 1 prob = 0.2

0 qid:10 1:1e-2\t2:7\r
1.5 qid:q-x 4:.25 # seen twice\r
0 qid:q-x#docid=A
+1 qid:7 1:3";

#[test]
fn a_sample_of_everything() {
    let data = read_text(SAMPLE, &ReadOptions::default()).unwrap();
    assert_eq!(data.feature_count, 4);
    assert_eq!(data.labels, [2.0, 0.0, 1.5, 0.0, 1.0]);
    assert_eq!(data.offsets, [0, 2, 4, 5]);
    assert_eq!(data.query_ids, ["10", "q-x", "7"]);
    assert_eq!(data.document_ids, ["GX001-22", "", "seen twice", "A", ""]);
    let rows = [[0.5, 0.0, -2.0, 0.0], [0.01, 7.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.25], [0.0; 4], [3.0, 0.0, 0.0, 0.0]];
    assert_eq!(data.features.to_slice(), rows.concat());
    data.check().unwrap();
}

#[test]
fn compression_and_byte_order_marks_change_nothing() {
    let plain = read_text(SAMPLE, &ReadOptions::default()).unwrap();
    assert_eq!(read_text(compressed(SAMPLE.as_bytes()), &ReadOptions::default()).unwrap(), plain);
    assert_eq!(read_text(format!("\u{feff}{SAMPLE}"), &ReadOptions::default()).unwrap(), plain);
    let members = [compressed(&SAMPLE.as_bytes()[..40]), compressed(&SAMPLE.as_bytes()[40..])].concat();
    assert_eq!(read_text(members, &ReadOptions::default()).unwrap(), plain);
}

#[test]
fn several_files_are_read_as_one_dataset() {
    let (_folder, paths) = files(&[("a", b"0 qid:1 1:1 2:2\n1 qid:2 1:3\n"), ("b", b"2 qid:3 3:4 #x\n")]);
    let data = read(&paths, &ReadOptions::default()).unwrap();
    assert_eq!(data.features.to_slice(), [1.0, 2.0, 0.0, 3.0, 0.0, 0.0, 0.0, 0.0, 4.0]);
    assert_eq!(data.query_ids, ["1", "2", "3"]);
    assert_eq!(data.document_ids, ["", "", "x"]);
    assert_eq!(read(&[], &ReadOptions::default()).unwrap().queries(), 0);
}

#[test]
fn faults_are_reported_with_their_place() {
    let options = ReadOptions::default();
    let label = "expected a label (a number of at least 0)";
    let good = "0 qid:1 1:1\n";
    for (text, expected) in [
        (format!("{good}0 qid:1 1:1 2"), ":2:13: found `2`, expected `index:value`".to_owned()),
        (
            format!("{good}0 qid:1 1:1 2:"),
            ":2:15: found the end of the line, expected a finite value of feature 2".into(),
        ),
        (format!("{good}0"), ":2:2: found the end of the line, expected `qid:ID`, as on the lines before".into()),
        (format!("{good}0 1:1"), ":2:3: found `1:1`, expected `qid:ID`, as on the lines before".into()),
        (format!("{good}0 qid:"), ":2:3: found `qid:`, expected `qid:ID` with an identifier in UTF-8".into()),
        ("0 qid:1 1:0.5x 2:1".into(), ":1:11: found `0.5x`, expected a finite value of feature 1".into()),
        ("0 qid:1 1:0..5".into(), ":1:11: found `0..5`, expected a finite value of feature 1".into()),
        ("0 qid:1 1:nan".into(), ":1:11: found `nan`, expected a finite value of feature 1".into()),
        ("0 qid:1 1:inf".into(), ":1:11: found `inf`, expected a finite value of feature 1".into()),
        ("0 qid:1 1:1e39".into(), ":1:11: found `1e39`, expected a finite value of feature 1".into()),
        ("0 qid:1 0:1".into(), ":1:9: found `0:1`, expected a feature index from 1".into()),
        ("0 qid:1 2:1 2:1".into(), ":1:13: found `2:1`, expected a feature index above 2, the previous one".into()),
        ("0 qid:1 5:1 4:1".into(), ":1:13: found `4:1`, expected a feature index above 5, the previous one".into()),
        ("0 qid:1 -1:1".into(), ":1:9: found `-1:1`, expected `index:value`".into()),
        ("0 qid:1 1:1 qid:1".into(), ":1:13: found `qid:1`, expected `index:value`".into()),
        ("0 qid:1 1:1\r 2:1".into(), ":1:11: found `1\\r`, expected a finite value of feature 1".into()),
        (format!("{good}-1 qid:1 1:1"), format!(":2:1: found `-1`, {label}")),
        (format!("{good}nan qid:1 1:1"), format!(":2:1: found `nan`, {label}")),
        (format!("{good}inf qid:1 1:1"), format!(":2:1: found `inf`, {label}")),
        (format!("{good}qid:1 1:1"), format!(":2:1: found `qid:1`, {label}")),
        (format!("{good}  1:1"), format!(":2:3: found `1:1`, {label}")),
        ("0 1:1\n".into(), ":1:1: found no `qid:ID`, expected `qid:ID` on every line, or group sizes in ".into()),
        ("".into(), ": found no document, expected lines `label qid:ID index:value ...`".into()),
        ("# only a comment\n\n".into(), ": found no document, expected lines `label qid:ID index:value ...`".into()),
        (
            "0 qid:1 4000000000:1".into(),
            ":1:9: found `4000000000:1`, expected a feature index of at most 1000000 (option `max_feature_index`)"
                .into(),
        ),
        (
            "0 qid:1 99999999999999999999999:1".into(),
            ":1:9: found `99999999999999999999999:1`, expected a feature index of at most 1000000".into(),
        ),
        (
            "0 qid:1 1:NULL".into(),
            ":1:11: found `NULL`, expected a finite value of feature 1 (option `missing` = \"zero\" or \"query-min\""
                .into(),
        ),
    ] {
        let message = message(&text, &options);
        assert!(message.starts_with(&expected), "{text:?}\n  gives {message}\n  not   {expected}");
    }
    let expected = ReadOptions { features: Some(2), ..options };
    assert!(
        message("0 qid:1 1:1 3:1", &expected).starts_with(":1:13: found `3:1`, expected a feature index of at most 2")
    );
    assert_eq!(read_text("0 qid:1 1:1", &expected).unwrap().features.to_slice(), [1.0, 0.0]);
}

#[test]
fn a_query_that_occurs_again_is_refused() {
    let interleaved = message("0 qid:1 1:1\n0 qid:2 1:1\n0 qid:1 1:1\n", &ReadOptions::default());
    assert!(interleaved.starts_with(":3:3: found query `1` again"), "{interleaved}");
    assert!(interleaved.ends_with("data.txt:1; option `sort` = true puts them together)"), "{interleaved}");
    // Also where two files meet: a query must be in one file.
    let (_folder, paths) = files(&[("a", b"0 qid:1 1:1\n"), ("b", b"0 qid:1 1:1\n")]);
    let error = read(&paths, &ReadOptions::default()).unwrap_err();
    assert!(matches!(error, DataError::InterleavedQuery { line: 1, first_line: 1, .. }), "{error}");
}

#[test]
fn group_sizes_are_read_from_beside_the_file() {
    let data: &[u8] = b"0 1:1\n1 1:2\n2 2:3\n";
    let (_folder, paths) =
        files(&[("a", data), ("a.query", b"2\r\n\n1\n"), ("b.gz", &compressed(data)), ("b.query", b"3")]);
    let set = read(&[paths[0].clone(), paths[2].clone()], &ReadOptions::default()).unwrap();
    assert_eq!(set.offsets, [0, 2, 3, 6]);
    assert_eq!(set.query_ids, ["1", "2", "3"]);
    for (sizes, expected) in [
        ("2\n", "a.query: the group sizes sum to 2 documents, "),
        ("2\n2\n", "a.query: the group sizes sum to 4 documents, "),
        ("2\n x\n", "a.query:2:2: found `x`, expected the number of documents of a query"),
        ("0\n3\n", "a.query:1:1: found `0`, expected the number of documents of a query"),
        ("18446744073709551615\n18446744073709551615\n", "a.query: the group sizes sum to 18446744073709551615"),
    ] {
        std::fs::write(&paths[1], sizes).unwrap();
        let message = read(&paths[..1], &ReadOptions::default()).unwrap_err().to_string();
        assert!(message.contains(expected), "{message}");
    }
    let by_qid = ReadOptions { groups: Groups::Qid, ..ReadOptions::default() };
    assert!(read(&paths[..1], &by_qid).unwrap_err().to_string().contains("found no `qid:ID`"));
    // With this option, the sizes override the identifiers on the lines.
    let by_file = ReadOptions { groups: Groups::QueryFile, ..ReadOptions::default() };
    let (_folder, paths) = files(&[("a", b"0 qid:1 1:1\n0 qid:2 1:1\n0 qid:1 1:1\n"), ("a.query", b"1\n2\n")]);
    assert_eq!(read(&paths[..1], &by_file).unwrap().offsets, [0, 1, 3]);
}

#[test]
fn query_weights_are_read_from_beside_the_file() {
    let weighted = ReadOptions { query_weights: Weights::File, ..ReadOptions::default() };
    let data: &[u8] = b"0 qid:1 1:1\n1 qid:1 1:2\n2 qid:2 1:3\n";
    let more = compressed(b"0 qid:3 1:1\n");
    let (_folder, paths) =
        files(&[("a", data), ("a.query_weights", b"0.5\r\n\n2\n"), ("b.gz", &more), ("b.query_weights", b"1e1")]);
    let both = [paths[0].clone(), paths[2].clone()];
    assert_eq!(read(&both, &weighted).unwrap().query_weights, [0.5, 2.0, 10.0]);
    assert!(read(&both, &ReadOptions::default()).unwrap().query_weights.is_empty());
    for (weights, expected) in [
        ("1\n", "a.query_weights: 1 query weight, "),
        ("1\n1\n1\n", "a has 2 queries"),
        ("1\n -1\n", "a.query_weights:2:2: found `-1`, expected the weight of a query (a finite number of at least 0)"),
        ("1\ninf\n", "a.query_weights:2:1: found `inf`, expected the weight of a query"),
        ("0\n0\n", "query_weights = 0 everywhere: expected above 0 for some query"),
    ] {
        std::fs::write(&paths[1], weights).unwrap();
        let message = read(&paths[..1], &weighted).unwrap_err().to_string();
        assert!(message.contains(expected), "{message}");
    }
    std::fs::write(&paths[1], "1\n1.0\n").unwrap();
    let plain = read(&paths[..1], &ReadOptions::default()).unwrap();
    assert_eq!(read(&paths[..1], &weighted).unwrap(), plain, "weights of 1 are none");
    std::fs::remove_file(&paths[1]).unwrap();
    let message = read(&paths[..1], &weighted).unwrap_err().to_string();
    assert!(message.contains("a.query_weights: "), "{message}");
    let stream = Input::from_reader("a stream", std::io::Cursor::new(data));
    assert_eq!(
        read_from([stream], &weighted).unwrap_err().to_string(),
        "query_weights = file: expected `none`: there is no file of query weights next to a stream"
    );
}

#[test]
fn positions_may_be_long() {
    let options = ReadOptions { positions: true, ..ReadOptions::default() };
    let [top, side] = ["top", "side"].map(|place| place.repeat(100));
    let positions = format!("{top}\n{side}\n");
    let (_folder, paths) = files(&[("a", b"0 qid:1 1:1\n1 qid:1 1:2\n"), ("a.position", positions.as_bytes())]);
    let data = read(&paths[..1], &options).unwrap();
    assert_eq!(data.positions.of_each().collect::<Vec<_>>(), [&top, &side]);
    std::fs::write(&paths[1], positions.repeat(2)).unwrap();
    assert!(read(&paths[..1], &options).unwrap_err().to_string().contains("a.position: 4 positions, "));
}

#[test]
fn document_weights_are_read_from_lightgbms_file() {
    let weighted = ReadOptions { document_weights: Weights::File, ..ReadOptions::default() };
    let data: &[u8] = b"0 qid:1 1:1\n1 qid:1 1:2\n2 qid:2 1:3\n";
    let more = compressed(b"0 qid:3 1:1\n");
    let (_folder, paths) = files(&[("a", data), ("a.weight", b"0.5\n2\n1\n"), ("b.gz", &more), ("b.weight", b"1e1")]);
    let both = [paths[0].clone(), paths[2].clone()];
    assert_eq!(read(&both, &weighted).unwrap().document_weights, [0.5, 2.0, 1.0, 10.0]);
    assert!(read(&both, &ReadOptions::default()).unwrap().document_weights.is_empty());
    for (weights, expected) in [
        ("1\n2\n", "a.weight: 2 document weights, "),
        ("1\n1\n1\n1\n", "a has 3 documents"),
        ("1\n-1\n", "a.weight:2:1: found `-1`, expected the weight of a document (a finite number of at least 0)"),
        ("0\n0\n0\n", "document_weights = 0 everywhere: expected above 0 for some document"),
    ] {
        std::fs::write(&paths[1], weights).unwrap();
        let message = read(&paths[..1], &weighted).unwrap_err().to_string();
        assert!(message.contains(expected), "{message}");
    }
    std::fs::remove_file(&paths[1]).unwrap();
    let message = read(&paths[..1], &weighted).unwrap_err().to_string();
    assert!(message.contains("a.weight: "), "{message}");
    let stream = Input::from_reader("a stream", std::io::Cursor::new(data));
    assert_eq!(
        read_from([stream], &weighted).unwrap_err().to_string(),
        "document_weights = file: expected `none`: there is no file of document weights next to a stream"
    );
}

#[test]
fn missing_values_are_replaced() {
    let text = "0 qid:1 1:NULL 2:-4\n0 qid:1 1:2 2:null\n0 qid:1 1:3\n0 qid:2 1:NULL\n";
    let with = |missing| read_text(text, &ReadOptions { missing, ..ReadOptions::default() }).unwrap().features;
    assert_eq!(with(Missing::Zero).to_slice(), [0.0, -4.0, 2.0, 0.0, 3.0, 0.0, 0.0, 0.0]);
    assert_eq!(with(Missing::QueryMin).to_slice(), [2.0, -4.0, 2.0, -4.0, 3.0, 0.0, 0.0, 0.0]);
}

#[test]
fn missing_values_are_kept_and_written() {
    let text = "0 qid:1 1:nan 2:-4\n0 qid:1 1:2 2:null\n0 qid:1 3:3\n0 qid:2 2:NaN\n";
    let with = |missing, absent| read_text(text, &ReadOptions { missing, absent, ..ReadOptions::default() }).unwrap();
    // NaN is not equal to itself.
    let values = |missing, absent| {
        with(missing, absent).features.to_slice().iter().map(|x| if x.is_nan() { 9.0 } else { *x }).collect::<Vec<_>>()
    };
    let kept = [9.0, -4.0, 0.0, 2.0, 9.0, 0.0, 0.0, 0.0, 3.0, 0.0, 9.0, 0.0];
    assert_eq!(values(Missing::Keep, Absent::Zero), kept);
    assert_eq!(values(Missing::Keep, Absent::Missing), [9.0, -4.0, 9.0, 2.0, 9.0, 9.0, 9.0, 9.0, 3.0, 9.0, 9.0, 9.0]);
    assert_eq!(values(Missing::Zero, Absent::Missing), [0.0, -4.0, 0.0, 2.0, 0.0, 0.0, 0.0, 0.0, 3.0, 0.0, 0.0, 0.0]);
    let smallest = [2.0, -4.0, 3.0, 2.0, -4.0, 3.0, 2.0, -4.0, 3.0, 0.0, 0.0, 0.0];
    assert_eq!(values(Missing::QueryMin, Absent::Missing), smallest);
    let data = with(Missing::Keep, Absent::Zero);
    assert_eq!((data.first_missing(), data.statistics().missing_values), (Some((0, 0)), 3));
    data.check().unwrap();
    let mut written = Vec::new();
    data.write_letor(&mut written).unwrap();
    let written = String::from_utf8(written).unwrap();
    let keep = ReadOptions { missing: Missing::Keep, ..ReadOptions::default() };
    assert_eq!(read_text(&written, &keep).unwrap().data_hash(), data.data_hash());
    let wide = ReadOptions { features: Some(5), absent: Absent::Missing, ..keep };
    let wide = read_text("0 qid:1 1:1\n0 qid:1 4:1\n", &wide).unwrap();
    assert_eq!(wide.features.to_slice().iter().filter(|x| x.is_nan()).count(), 8);
    let refused = read_text(text, &ReadOptions { absent: Absent::Missing, ..ReadOptions::default() });
    assert!(refused.unwrap_err().to_string().starts_with("absent = missing: expected `zero`, or `keep`"));
}

#[test]
fn memory_is_bounded() {
    // Three lines that ask for a matrix of three million cells.
    let text = "0 qid:1 1000000:1\n".repeat(3);
    let few = ReadOptions { max_cells: Some(2_000_000), ..ReadOptions::default() };
    assert!(message(&text, &few).contains("more than 2000000 cells (documents x features)"));
    assert_eq!(read_text(&text, &ReadOptions::default()).unwrap().feature_count, 1_000_000);
    // A small hostile file under the default limit.
    let many = "0 qid:1 1000000:1\n".repeat(300);
    assert!(message(&many, &ReadOptions::default()).contains("option `max_cells`"));
    let short = ReadOptions { max_line_bytes: 1000, ..ReadOptions::default() };
    let line = format!("0 qid:1 1:1 #{}", "x".repeat(5 << 20));
    assert!(message(&line, &short).contains("option `max_line_bytes`"));
    let lines = format!("0 qid:1 1:1\n1 qid:1 1:2 #{}\n", "x".repeat(1000));
    let long = message(&lines, &short);
    assert!(long.contains("a line of 1013 bytes, expected at most 1000 bytes"), "{long}");
    assert!(read_text(&lines, &ReadOptions { max_line_bytes: 1013, ..ReadOptions::default() }).is_ok());
    // Refused before the first row takes memory.
    for features in [1_000_000_000, usize::MAX / 2] {
        let wide = ReadOptions { features: Some(features), ..ReadOptions::default() };
        assert!(message("0 qid:1 1:1\n", &wide).contains("option `max_cells`"));
    }
    assert_eq!(read_text(&line, &ReadOptions::default()).unwrap().documents(), 1);
}

#[test]
fn decompression_is_bounded() {
    let zeros = compressed(&vec![b' '; 80 << 20]);
    assert!(zeros.len() < 1 << 20);
    let bomb = message(&zeros, &ReadOptions { max_line_bytes: 100 << 20, ..ReadOptions::default() });
    assert!(bomb.contains("option `max_compression_ratio`"), "{bomb}");
    let small = ReadOptions { max_decompressed_bytes: 100, ..ReadOptions::default() };
    assert!(message(compressed(SAMPLE.repeat(9).as_bytes()), &small).contains("option `max_decompressed_bytes`"));
    let whole = compressed(SAMPLE.as_bytes());
    let error = read_text(&whole[..whole.len() - 12], &ReadOptions::default()).unwrap_err();
    assert!(matches!(error, DataError::Io { .. }), "{error}");
}

#[test]
fn the_size_of_a_compressed_file_limits_its_memory() {
    // 13 MiB of text would be granted 2^27 cells, but the compressed file has only a few kilobytes.
    let packed = compressed("0 qid:1 80:1\n".repeat(1 << 20).as_bytes());
    assert!(packed.len() < 1 << 16);
    let refused = message(&packed, &ReadOptions::default());
    assert!(refused.contains("more than 67108864 cells") && refused.contains("option `max_cells`"), "{refused}");
    assert_eq!(
        read_text(packed, &ReadOptions { max_cells: Some(1 << 27), ..ReadOptions::default() }).unwrap().documents(),
        1 << 20
    );
}

#[test]
fn options_are_checked() {
    let zero = ReadOptions { max_line_bytes: 0, ..ReadOptions::default() };
    assert_eq!(read(&[], &zero).unwrap_err().to_string(), "max_line_bytes = 0: expected at least 1");
    assert!(serde_json::from_str::<ReadOptions>("{\"featurs\": 3}").unwrap_err().to_string().contains("featurs"));
    let options: ReadOptions =
        serde_json::from_str("{\"missing\": \"query-min\", \"groups\": \"query-file\"}").unwrap();
    assert_eq!((options.missing, options.groups), (Missing::QueryMin, Groups::QueryFile));
}

#[test]
fn blocks_and_threads_change_nothing() {
    // About nine megabytes: several blocks, queries that cross their bounds, and rows that widen late.
    let mut text = String::new();
    for document in 0..60_000 {
        let query = document / 700;
        text.push_str(&format!("{} qid:{query} 1:{}.25 2:-3.5", document % 5, document));
        for feature in 3..20 + document / 30_000 {
            text.push_str(&format!(" {feature}:0.{document}"));
        }
        text.push_str(if document % 3 == 0 { " # d\n" } else { "\n" });
    }
    let (_folder, paths) = files(&[("data.txt", text.as_bytes())]);
    let on = |threads: usize, paths: &[PathBuf]| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| read(paths, &ReadOptions::default()))
    };
    let one = on(1, &paths).unwrap();
    assert_eq!((one.documents(), one.queries(), one.feature_count), (60_000, 86, 20));
    assert_eq!((one.row(59_999)[0], one.row(59_999)[19]), (59_999.25, 0.599_99));
    assert_eq!(on(3, &paths).unwrap(), one);
    // The first fault in the file is reported, whichever thread meets one first.
    let spoilt = text.replacen("5 qid:3 ", "x qid:3 ", 1).replacen("qid:80 1:", "qid:80 1:x", 1);
    let spoilt = spoilt.replacen("\n0 qid:9 1:", "\n0 qid:9 1:?", 1);
    let (_folder, paths) = files(&[("data.txt", spoilt.as_bytes())]);
    let messages = [1, 4].map(|threads| on(threads, &paths).unwrap_err().to_string());
    assert!(messages[0].contains(":6301:11: found `?"), "{}", messages[0]);
    assert_eq!(messages[0], messages[1]);
}

proptest! {
    #[test]
    fn hostile_bytes_give_an_error_or_a_valid_dataset(
        lines in prop::collection::vec("[0-9.:qid# NULL\\-+e\t\r]{0,40}|[0-3] qid:[1-3]( [1-9]:[-0-9.e]{1,6}){0,4}|\\PC{0,20}", 0..12)
    ) {
        if let Ok(data) = read_text(lines.join("\n"), &ReadOptions::default()) {
            prop_assert!(data.check().is_ok());
        }
    }

    #[test]
    fn written_text_reads_back_exactly(
        rows in prop::collection::vec((0u8..5, prop::collection::vec(any::<f32>(), 3)), 1..20),
        ids in prop::option::of(prop::collection::vec("[a-z]{1,4}( [a-z=#]{1,3})?|docid = [a-z]{0,3}", 20)), size in 1usize..6,
    ) {
        let documents = rows.len();
        let features = rows.iter().flat_map(|(_, row)| row).map(|&x| if x.is_finite() { x } else { -0.0 }).collect();
        let labels = rows.iter().map(|(label, _)| f32::from(*label) / 2.0).collect();
        let sizes: Vec<usize> = (0..documents).step_by(size).map(|start| size.min(documents - start)).collect();
        let mut data = RankingDataset::builder().features(features, 3).labels(labels).query_sizes(&sizes).build().unwrap();
        data.document_ids = ids.map(|ids| ids[..documents].to_vec()).unwrap_or_default();
        let mut text = Vec::new();
        match data.write_letor(&mut text) {
            Ok(()) => {
                let read = read_text(&text, &ReadOptions::default()).unwrap();
                prop_assert_eq!(read.data_hash(), data.data_hash());
                prop_assert_eq!(read, data);
            }
            Err(error) => prop_assert!(error.to_string().contains("document identifier"), "{}", error),
        }
    }
}
