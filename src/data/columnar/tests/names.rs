//! Names of columns: of indices, of sets that mix text and tables, twice the same, and very many.

use std::collections::HashMap;

use super::*;
use crate::data::options::{Columns, KeyColumn, Keys, Like};
use crate::data::reading::read_like;

/// A table as pandas writes a frame that was sorted: `__index_level_0__` and `day` are its index.
fn of_pandas(format: Format) -> Vec<u8> {
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("label", floats([2.0, 0.0, 1.0])),
        ("x", floats([0.5, 0.25, 4.0])),
        ("query", queries()),
        ("__index_level_0__", Arc::new(Int64Array::from(vec![7, 2, 5]))),
    ];
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let about = r#"{"index_columns": ["query", "__index_level_0__"], "columns": []}"#;
    let metadata = HashMap::from([("pandas".to_owned(), about.to_owned())]);
    let schema = Arc::new(batch.schema().as_ref().clone().with_metadata(metadata));
    file_of(&[batch.with_schema(schema).unwrap()], format, None)
}

#[test]
fn the_index_of_a_pandas_frame_is_no_feature_but_may_have_a_role() {
    for format in FORMATS {
        let bytes = of_pandas(format);
        let data = read_bytes(&bytes, &ReadOptions::default()).unwrap();
        assert_eq!((data.feature_names, data.query_ids), (vec!["x".to_owned()], vec!["a".to_owned(), "b".to_owned()]));
        assert_eq!(data.features.to_slice(), [0.5, 0.25, 4.0]);
        // A ranker that learned from it still gets it.
        let known = ["__index_level_0__".to_owned(), "x".to_owned()];
        let like = Like { feature_names: &known, ranker: Some(Columns::default()), ..Like::default() };
        let (_folder, paths) = files(&[("data", &bytes)]);
        let data = read_like(paths.iter().map(Input::from_path), &ReadOptions::default(), &like).unwrap().data;
        assert_eq!(data.features.to_slice(), [7.0, 0.5, 2.0, 0.25, 5.0, 4.0]);
    }
}

#[test]
fn two_columns_of_one_name_are_refused_in_every_format() {
    let expected = "data: found two columns `f`, expected a different name for each";
    for format in FORMATS {
        let field = |name: &str| Field::new(name, DataType::Float32, true);
        let mut fields: Vec<Field> = ["label", "f", "f", "g"].map(field).to_vec();
        fields.insert(1, Field::new("query", DataType::Utf8, true));
        let numbers = || floats([1.0, 2.0, 0.0]);
        let columns = vec![numbers(), queries(), numbers(), numbers(), numbers()];
        let batch = RecordBatch::try_new(Arc::new(Schema::new(fields)), columns).unwrap();
        let bytes = file_of(&[batch], format, None);
        assert_eq!(message(&bytes, &ReadOptions::default()), expected, "{format}");
        let columns = Columns { drop: vec!["f".to_owned()], ..Columns::default() };
        let data = read_bytes(&bytes, &ReadOptions { columns, ..ReadOptions::default() }).unwrap();
        assert_eq!(data.feature_names, ["g"]);
    }
    assert_eq!(message(b"label,query,f,f\n1,a,2,3\n", &ReadOptions::default()), expected);
}

#[test]
fn a_column_of_lists_that_is_dropped_has_no_features() {
    let bytes = with(vec![("price", floats([1.0, 2.0, 3.0])), ("match", floats([4.0, 5.0, 6.0]))]);
    let columns = Columns { drop: vec!["features".to_owned()], ..Columns::default() };
    let data = read_bytes(&bytes, &ReadOptions { columns, ..ReadOptions::default() }).unwrap();
    assert_eq!(data.feature_names, ["price", "match"]);
    assert_eq!(data.features.to_slice(), [1.0, 4.0, 2.0, 5.0, 3.0, 6.0]);
}

#[test]
fn the_names_of_tables_stay_with_a_set_that_also_has_text() {
    let text = ("c.txt", &b"1 qid:7 1:0.75 2:0.25\n0 qid:7 1:0.5\n"[..]);
    let table = ("a.csv", &b"query,label,a,b\n1,1,0.5,0\n1,0,1,0.25\n"[..]);
    let swapped = ("swapped.csv", &b"b,query,label,a\n0,2,1,0.5\n0.25,2,0,1\n"[..]);
    for order in [[text, table, swapped], [table, text, swapped], [table, swapped, text]] {
        let (_folder, paths) = files(&order);
        let data = read(&paths, &ReadOptions::default()).unwrap();
        data.check().unwrap();
        assert_eq!(data.feature_names, ["a", "b"]);
        let rows = |id: &str| data.query_features(data.query_ids.iter().position(|query| query == id).unwrap());
        assert_eq!((rows("7"), rows("1")), (&[0.75, 0.25, 0.5, 0.0][..], &[0.5, 0.0, 1.0, 0.25][..]));
        assert_eq!(rows("1"), rows("2"));
    }
    let (_folder, paths) = files(&[table, ("wide.txt", b"1 qid:7 1:0.75 3:0.25\n")]);
    let message = read(&paths, &ReadOptions::default()).unwrap_err().to_string();
    let expected = "wide.txt: found 3 features, expected at most 2, as many as the tables of the set have columns";
    assert!(message.contains(expected), "{message}");
}

#[test]
fn a_header_of_very_many_columns_is_refused_by_the_limit_on_features() {
    let header: Vec<String> = (0..30_000).map(|column| format!("c{column}")).collect();
    let table = format!("query,label,{}\na,1{}\n", header.join(","), ",0".repeat(30_000));
    let limited = |most: usize| ReadOptions { max_feature_index: most, ..ReadOptions::default() };
    for bytes in [table.as_bytes(), table.split_inclusive('\n').next().unwrap().as_bytes()] {
        let (_folder, paths) = files(&[("wide.csv", bytes)]);
        let refused = read(&paths, &limited(20_000)).unwrap_err().to_string();
        let expected = "wide.csv: found 30002 columns, expected at most 20000 features (option `max_feature_index`)";
        assert!(refused.ends_with(expected), "{refused}");
    }
    let (_folder, paths) = files(&[("wide.csv", table.as_bytes())]);
    let data = read(&paths, &limited(30_000)).unwrap();
    assert_eq!((data.feature_names.len(), data.documents()), (30_000, 1));
    // Columns in another order are found in time proportional to their number.
    let reversed: Vec<&str> = header.iter().rev().map(String::as_str).collect();
    let reversed = format!("query,label,{}\nb,1{}\n", reversed.join(","), ",0".repeat(30_000));
    let (_folder, paths) = files(&[("a.csv", table.as_bytes()), ("b.csv", reversed.as_bytes())]);
    assert_eq!(read(&paths, &limited(30_000)).unwrap().feature_names, header);
}

#[test]
fn a_word_for_a_missing_value_is_no_query() {
    for word in ["NA", "nan", "null", "None", "n/a", " "] {
        let found = message(format!("label,query,f\n1,{word},2\n").as_bytes(), &ReadOptions::default());
        assert!(found.starts_with("data: row 1, column `query`: found "), "{found}");
        assert!(
            found.ends_with("expected the identifier of a query (this word stands for a missing value)"),
            "{found}"
        );
    }
}

#[test]
fn a_word_for_a_missing_value_is_no_group_and_no_position_of_csv() {
    let text = |word: &str| format!("label,query,of,f\n1,1,a,2\n1,1,a,3\n0,2,{word},4\n");
    let group = KeyColumn::Group("of".to_owned());
    let by_group = (ReadOptions::default(), Like { key: Some(&group), ..Like::default() });
    let columns = Columns { position: Some("of".to_owned()), ..Columns::default() };
    let by_position = (ReadOptions { columns, positions: true, ..ReadOptions::default() }, Like::default());
    let read = |bytes: &[u8], (options, like): &(ReadOptions, Like)| {
        let (_folder, paths) = files(&[("data", bytes)]);
        read_like(paths.iter().map(Input::from_path), options, like).map(|read| read.data)
    };
    let expected =
        [(&by_group, "the group of a query"), (&by_position, "the position of a document (text or a whole number)")];
    for (by, expected) in expected {
        for word in ["NA", "null", "None", " "] {
            let found = read(text(word).as_bytes(), by).unwrap_err().to_string();
            let expected = format!("expected {expected}; this word stands for a missing value");
            assert!(found.contains("row 3, column `of`: found ") && found.ends_with(&expected), "{found}");
        }
        let empty = read(text("").as_bytes(), by).unwrap_err().to_string();
        assert!(empty.ends_with(&format!("found null, expected {expected}")), "{empty}");
        assert_eq!(read(text("b").as_bytes(), by).unwrap().documents(), 3);
        // A table that can hold nulls may hold these words.
        let batch = RecordBatch::try_from_iter([
            ("label", floats([1.0, 1.0, 0.0])),
            ("query", queries()),
            ("of", Arc::new(StringArray::from(vec!["a", "a", "NA"])) as ArrayRef),
            ("f", floats([2.0, 3.0, 4.0])),
        ]);
        assert!(read(&file_of(&[batch.unwrap()], Format::Arrow, None), by).is_ok());
    }
}

#[test]
fn messages_about_long_fields_are_short() {
    let digits = "7".repeat(100_000);
    for (row, part) in [
        (format!("1,a,{digits}\n"), "column `f`: found 7777"),
        (format!("1,{digits},1\n1,b,1\n1,{digits},1\n"), ""),
        (format!("{digits},a,1\n"), "column `label`: found "),
    ] {
        let table = format!("label,query,f\n{row}");
        let (_folder, paths) = files(&[("data.csv", table.as_bytes()), ("other.csv", table.as_bytes())]);
        let found = read(&paths, &ReadOptions::default()).unwrap_err().to_string();
        assert!(found.contains(part) && found.len() < 600, "{} {part}: {}", found.len(), &found[..200]);
    }
    for table in [
        format!("label,query,{digits}x\n1,a,many\n"),
        format!("label,query,{digits}x\n1,a,inf\n"),
        format!("label,{digits}x\n1,2\n"),
    ] {
        let found = message(table.as_bytes(), &ReadOptions::default());
        assert!(found.len() < 1200, "{}: {}", found.len(), &found[..200]);
    }
    let found =
        message(format!("1 qid:{digits} 1:1\n1 qid:2 1:1\n1 qid:{digits} 1:1\n").as_bytes(), &ReadOptions::default());
    assert!(found.contains("77\u{2026}` again, expected its documents") && found.len() < 600, "{}", found.len());
}

#[test]
fn times_may_leave_out_seconds() {
    let table = "label,query,f,at\n1,a,1,2024-05-01T10:30\n0,b,2,2024-05-01 10:31\n1,c,3,2024-05-01T10:30Z\n\
                 1,d,3,2024-05-01T12:30+02:00\n1,e,3,2024-05-01T10:30:30\n1,f,3,2024-05-01\n";
    let (_folder, paths) = files(&[("data", table.as_bytes())]);
    let key = KeyColumn::Time("at".to_owned());
    let like = Like { key: Some(&key), ..Like::default() };
    let read = read_like(paths.iter().map(Input::from_path), &ReadOptions::default(), &like).unwrap();
    let Some(Keys::Times(times)) = read.keys else { panic!("times") };
    let seconds: Vec<f64> = times.iter().map(|time| (time - times[0]) / 1e6).collect();
    assert_eq!(seconds, [0.0, 60.0, 0.0, 0.0, 30.0, -37_800.0]);
}
