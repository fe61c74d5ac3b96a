//! Tables with columns of other names, CSV, and rows that do not stand together by query.

use std::io::Write;

use super::*;
use crate::data::Columns;
use crate::data::options::{KeyColumn, Keys, Like};
use crate::data::reading::read_like;

const CSV: &str = "label,query,document,bm25,clicks\n2,a,x,0.5,3\n0,a,y,-1e-2,\n1,b,\"z, \"\"w\"\"\",7,true\n";

fn keep() -> ReadOptions {
    ReadOptions { missing: Missing::Keep, ..ReadOptions::default() }
}

fn named(columns: Columns) -> ReadOptions {
    ReadOptions { columns, missing: Missing::Keep, ..ReadOptions::default() }
}

fn read_named(name: &str, bytes: &[u8], options: &ReadOptions) -> Result<RankingDataset, DataError> {
    let (_folder, paths) = files(&[(name, bytes)]);
    read(&paths, options)
}

#[test]
fn csv_is_read_with_its_quotes_and_missing_values() {
    let data = read_named("train.csv", CSV.as_bytes(), &keep()).unwrap();
    data.check().unwrap();
    assert_eq!((data.labels.as_slice(), data.offsets.as_slice()), (&[2.0, 0.0, 1.0][..], &[0, 2, 3][..]));
    assert_eq!(
        (data.query_ids, data.document_ids),
        (vec!["a".into(), "b".into()], ["x", "y", "z, \"w\""].map(String::from).to_vec())
    );
    assert_eq!(data.feature_names, ["bm25", "clicks"]);
    let bits = |values: &[f32]| values.iter().map(|value| value.to_bits()).collect::<Vec<u32>>();
    assert_eq!(bits(data.features.to_slice()), bits(&[0.5, 3.0, -0.01, f32::NAN, 7.0, 1.0]));
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(bytes).unwrap();
    gzip.finish().unwrap()
}

#[test]
fn csv_is_recognized_by_its_name_and_by_its_contents() {
    let expected = read_named("train.csv", CSV.as_bytes(), &keep()).unwrap().data_hash();
    let gzip = gzip(CSV.as_bytes());
    let windows = format!("\u{feff}{}", CSV.replace('\n', "\r\n"));
    let tabs =
        "label\tquery\tdocument\tbm25\tclicks\n2\ta\tx\t0.5\t3\n0\ta\ty\t-0.01\tNA\n1\tb\t\"z, \"\"w\"\"\"\t7\t1\n";
    for (name, bytes) in [
        ("data", CSV.as_bytes()),
        ("data.csv.gz", &gzip),
        ("data", &gzip),
        ("windows.csv", windows.as_bytes()),
        ("data.tsv", tabs.as_bytes()),
        ("data", tabs.as_bytes()),
        ("no_line_end.csv", CSV.trim_end().as_bytes()),
    ] {
        assert_eq!(read_named(name, bytes, &keep()).unwrap().data_hash(), expected, "{name}");
    }
    let input = Input::from_reader("standard input", std::io::Cursor::new(CSV));
    assert_eq!(read_from([input], &keep()).unwrap().data_hash(), expected);
}

#[test]
fn tables_with_other_separators_are_refused_by_the_separator() {
    for separator in [";", "|"] {
        // With a decimal comma.
        let table = "label;query;f\n1;a;0,5\n".replace(';', separator);
        for (name, bytes) in [("data", table.clone().into_bytes()), ("data.txt.gz", gzip(table.as_bytes()))] {
            let message = read_named(name, &bytes, &keep()).unwrap_err().to_string();
            assert!(message.contains(&format!("{name}: found columns separated by `{separator}` in ")), "{message}");
        }
    }
    let message = read_named("data.csv.gz", &gzip(&gzip(CSV.as_bytes())), &keep()).unwrap_err().to_string();
    assert!(message.contains("data.csv.gz: found a file compressed by gzip twice, expected once"), "{message}");
}

#[test]
fn a_query_is_a_whole_number_whatever_type_holds_it() {
    let queries = |name: &str, bytes: &[u8]| read_named(name, bytes, &keep()).map(|data| data.query_ids);
    let csv = |first: &str, second: &str| format!("label,query,f\n1,{first},2\n0,{second},3\n");
    for (first, second, expected) in [
        ("7.0", "8.", ["7", "8"]),
        ("-7.000", "9007199254740993.0", ["-7", "9007199254740993"]),
        ("1.2.3", "a.5", ["1.2.3", "a.5"]),
        ("07", "1e5", ["07", "1e5"]),
    ] {
        assert_eq!(queries("a.csv", csv(first, second).as_bytes()).unwrap(), expected);
    }
    assert_eq!(queries("a.csv", csv("7.0", "7").as_bytes()).unwrap(), ["7"]);
    let batch = |queries: ArrayRef| {
        let two: ArrayRef = Arc::new(Float32Array::from(vec![1.0, 0.0]));
        RecordBatch::try_from_iter([("label", two.clone()), ("query", queries), ("f", two)]).unwrap()
    };
    let doubles = |first: f64, second: f64| -> ArrayRef { Arc::new(Float64Array::from(vec![first, second])) };
    let floats = |first: f32, second: f32| -> ArrayRef { Arc::new(Float32Array::from(vec![first, second])) };
    let refused = |message: String, row: usize, found: &str| {
        let expected =
            format!("row {row}, column `query`: found {found}, expected the identifier of a query (text, or");
        assert!(message.contains(&expected), "{message}");
    };
    for format in FORMATS {
        let read = |queries: ArrayRef| read_bytes(&file_of(&[batch(queries)], format, None), &keep());
        assert_eq!(read(doubles(7.0, 9e15)).unwrap().query_ids, ["7", "9000000000000000"]);
        assert_eq!(read(floats(7.0, -8.0)).unwrap().query_ids, ["7", "-8"]);
        let text: ArrayRef = Arc::new(StringArray::from(vec!["1.0", "1.5"]));
        assert_eq!(read(text).unwrap().query_ids, ["1.0", "1.5"]);
        refused(read(doubles(7.0, 7.5)).unwrap_err().to_string(), 2, "7.5");
        refused(read(doubles(f64::NAN, 7.0)).unwrap_err().to_string(), 1, "NaN");
        refused(read(doubles(7.0, 1e16)).unwrap_err().to_string(), 2, "1e16");
        refused(read(floats(7.0, 16_777_216.0)).unwrap_err().to_string(), 2, "16777216.0");
    }
    for (found, row) in [("7.5", 1), ("1.5e3", 1)] {
        refused(queries("a.csv", csv(found, "7").as_bytes()).unwrap_err().to_string(), row, found);
    }
}

/// Blocks are cut where rows end, not where lines do.
#[test]
fn rows_of_many_blocks_and_quoted_line_ends_are_read_in_order() {
    let mut text = "query,label,note,value\n".to_owned();
    for row in 0..120_000 {
        text += &format!("q{},{},\"two\nlines, {row}\",{}\n", row / 10, row % 3, row);
    }
    assert!(text.len() > crate::data::source::BLOCK);
    let options = named(Columns { id: Some("note".into()), ..Columns::default() });
    let data = read_named("large.csv", text.as_bytes(), &options).unwrap();
    assert_eq!((data.queries(), data.documents(), data.feature_count), (12_000, 120_000, 1));
    assert!(
        (0..data.documents())
            .all(|row| data.features.to_slice()[row] == row as f32 && data.labels[row] == (row % 3) as f32)
    );
    assert_eq!(data.document_ids[119_999], "two\nlines, 119999");
}

/// The first three blocks of the file end within quotes.
#[test]
fn blocks_in_which_most_line_ends_are_quoted_end_where_a_row_does() {
    let note = "x\n".repeat(50_000);
    let table = |rows: usize, note: &str| {
        let row = |row: usize| format!("q{row},{},\"{note}\",{row}\n", row % 2);
        format!("query,label,note,value\n{}", (0..rows).map(row).collect::<String>())
    };
    let options =
        ReadOptions { max_line_bytes: 1000, ..named(Columns { id: Some("note".into()), ..Columns::default() }) };
    let data = read_named("large.csv", table(80, &note).as_bytes(), &options).unwrap();
    assert!(data.features.to_slice().iter().copied().eq((0..80).map(|row| row as f32)));
    assert!(data.document_ids.iter().all(|id| *id == note) && data.query_ids[79] == "q79");
    let long = table(2, &note.repeat(70));
    let refused = read_named("long.csv", long.as_bytes(), &options).unwrap_err().to_string();
    assert!(refused.contains("a quote that does not end within") && refused.contains("max_line_bytes"), "{refused}");
}

/// As for the crate `csv`, a quote that is not the first character of a field is a character like others.
#[test]
fn a_quote_within_a_field_opens_nothing() {
    let text = "label,query,width\",f,document\n1,a,2,0.5,a 5\" phone\n0,a,1,0.25,\"b, \"\"6\"\"\n7\"\n1,b,2,4,c\"\"\n";
    let data = read_named("a.csv", text.as_bytes(), &keep()).unwrap();
    assert_eq!(data.feature_names, ["width\"", "f"]);
    assert_eq!(data.features.to_slice(), [2.0, 0.5, 1.0, 0.25, 2.0, 4.0]);
    assert_eq!(data.document_ids, ["a 5\" phone", "b, \"6\"\n7", "c\"\""]);
    // In several blocks, the first of which has an odd number of quotes.
    let mut text = "query,label,document,f\n0,1,a 5\" phone,0\n".to_owned();
    (1..200_000).for_each(|row| text += &format!("{},{},phone {row},{row}\n", row / 10, row % 2));
    assert!(text.len() > 2 * crate::data::source::BLOCK);
    assert_eq!(read_named("large.csv", text.as_bytes(), &keep()).unwrap().documents(), 200_000);
    let lone =
        read_named("a.csv", b"label,query,f,document\n1,a,2,a 5\"\n1,a,3,b\rc\n", &keep()).unwrap_err().to_string();
    assert!(lone.contains("row 2: found a carriage return without a line feed"), "{lone}");
}

#[test]
fn data_without_weights_may_lack_the_column_of_weights() {
    let options = named(Columns { weight: Some("w".into()), ..Columns::default() });
    let read = |ignores_teacher_and_positions| {
        let (_folder, paths) = files(&[("a.csv", &b"label,query,f\n1,a,2\n"[..])]);
        let like = Like { ignores_teacher_and_positions, ..Like::default() };
        read_like(paths.iter().map(Input::from_path), &options, &like).map(|read| read.data.feature_names)
    };
    assert_eq!(read(true).unwrap(), ["f"]);
    assert!(read(false).unwrap_err().to_string().contains("a column `w` (option `columns.weight`)"));
}

#[test]
fn faults_of_csv_have_their_row_and_column() {
    let message = |text: &str, options: &ReadOptions| {
        let (folder, paths) = files(&[("a.csv", text.as_bytes())]);
        let message = read(&paths, options).unwrap_err().to_string();
        message.replace(&format!("{}/", folder.path().display()), "")
    };
    for (text, expected) in [
        ("label,query,f\n1,a,2\n1,a,many\n", "a.csv: row 2, column `f`: found `many`, expected a number"),
        (
            "label,query,f\n1,a,2\n,a,1\n",
            "a.csv: row 2, column `label`: found null, expected a label (a number of at least 0); leave out rows \
             without one",
        ),
        (
            "label,query,f\n1,a,2\n1,,1\n",
            "a.csv: row 2, column `query`: found null, expected the identifier of a query \
             (text, or a whole number that its type holds exactly)",
        ),
        ("label,query,f\n1,a,inf\n", "a.csv: row 1, column `f`: found inf, expected a finite value of feature 1"),
        ("\n", "a.csv: found no text in the first line, expected names of columns, in UTF-8, in the first line"),
        ("", "a.csv: found an empty file, expected names of columns, in UTF-8, in the first line"),
        (
            "label,query,f\n1,a,\"open\n2,b,3\n",
            "a.csv: row 1: found a quote without an end, expected rows that can be read",
        ),
        (
            "label,query,f\n1,a,2\n1,a,\"open\n2,b,3\n",
            "a.csv: row 2: found a quote without an end, expected rows that can be read",
        ),
        (
            "label,query,f\n1,a,2\n\"1,a,3\n",
            "a.csv: row 2: found 1 field in `\"1,a,3`, expected 3, as the first line has",
        ),
        ("label,query,f\n1,a,2\n\n1,a\n", "a.csv: row 2: found 2 fields in `1,a`, expected 3, as the first line has"),
        ("label,query,f\n1,a,2,3\n", "a.csv: row 1: found 4 fields in `1,a,2,3`, expected 3, as the first line has"),
        ("label,query,f\n", "a.csv: found no document, expected at least one row below the names of the columns"),
        (
            "1,2,3\n1,2,3\n",
            "a.csv: found numbers in the first line `1,2,3`, expected names of columns, in UTF-8, in the first line",
        ),
        (
            "label;query;f\n1;a;2\n",
            "a.csv: found columns separated by `;` in the first line `label;query;f`, expected commas or tabs: save the \
             table with one of these as its separator",
        ),
        ("label\n1\n", "a.csv: found the first line `label`, expected names of several columns, separated by commas"),
        (
            ",label,query,f\n0,1,a,2\n",
            "a.csv: found column 1 without a name, expected a name for each feature (option `columns.drop` = [\"\"] leaves it out)",
        ),
        ("label,query,f,f\n1,a,2,3\n", "a.csv: found two columns `f`, expected a different name for each"),
        (
            "label,query,f,title,url\n1,a,2,cats,u\n",
            "a.csv: row 1, column `title`: found `cats`, expected numbers, as every column of a feature has (option \
             `columns.drop` = [\"title\", \"url\"] leaves it out)",
        ),
        (
            "label,query,f,price\n1,a,2,\n1,a,2,\"0,5\"\n",
            "a.csv: row 2, column `price`: found `0,5`, expected numbers (a decimal comma is not read: write a point)",
        ),
        (
            "label,query,f\ngood,a,2\n",
            "a.csv: row 1, column `label`: found `good`, expected numbers: map words to grades, such as 0, 1, 2",
        ),
        (
            "label,query,f\n1,a,2\n1,a,-1e300\n",
            "a.csv: row 2, column `f`: found -1e300, expected a finite value of feature 1 of at most 3.4028235e38 in size, \
             the largest 32-bit float",
        ),
        (
            "label,query,f\n1,a,2\n1,a,inf\n",
            "a.csv: row 2, column `f`: found inf, expected a finite value of feature 1",
        ),
    ] {
        assert_eq!(message(text, &ReadOptions::default()), expected);
    }
    let bytes = b"label,query,f\n1,a,2\n1,caf\xe9,2\n";
    let (_folder, paths) = files(&[("a.csv", bytes)]);
    let latin = read(&paths, &ReadOptions::default()).unwrap_err().to_string();
    assert!(latin.ends_with("row 2, column `query`: found bytes such as 0xe9, expected text in UTF-8"), "{latin}");
}

#[test]
fn a_column_may_hold_the_scores_of_a_teacher() {
    let options = named(Columns { teacher: Some("t".into()), ..Columns::default() });
    let found = read_named("a.csv", b"label,query,t,f\n1,b,-0.5,1\n0,a,2,2\n0,b,,3\n", &options).unwrap();
    assert_eq!(
        (found.feature_count, found.teacher[0], found.teacher[1].is_nan(), found.teacher[2]),
        (1, -0.5, true, 2.0)
    );
    let refused = |text: &str| read_named("a.csv", text.as_bytes(), &options).unwrap_err().to_string();
    let infinite = refused("label,query,t,f\n1,b,inf,1\n");
    assert!(infinite.contains("expected a teacher's score (a finite number)"), "{infinite}");
    assert!(refused("label,query,f\n1,b,1\n").contains("expected a column `t` (option `columns.teacher`)"));
}

#[test]
fn columns_have_the_names_that_the_options_give_them() {
    let columns = Columns {
        label: Some("rating".into()),
        query: Some("session".into()),
        id: Some("url".into()),
        weight: Some("w".into()),
        teacher: None,
        position: None,
        drop: vec!["title".into()],
    };
    let csv = "session,url,rating,title,price,w\n7,u1,3,cats,1.5,2\n7,u2,0,dogs,2.5,1\n";
    let options = ReadOptions { document_weights: Weights::File, ..named(columns.clone()) };
    let of_csv = read_named("own.csv", csv.as_bytes(), &options).unwrap();
    assert_eq!((of_csv.labels.as_slice(), of_csv.query_ids.as_slice()), (&[3.0, 0.0][..], &["7".to_owned()][..]));
    assert_eq!(
        (of_csv.document_ids.as_slice(), of_csv.document_weights.as_slice()),
        (&["u1", "u2"].map(String::from)[..], &[2.0, 1.0][..])
    );
    assert_eq!(
        (of_csv.feature_names.as_slice(), of_csv.features.to_slice()),
        (&["price".to_owned()][..], &[1.5, 2.5][..])
    );
    let text = |values: [&str; 2]| -> ArrayRef { Arc::new(StringArray::from(values.to_vec())) };
    let two = |values: [f32; 2]| -> ArrayRef { Arc::new(Float32Array::from(values.to_vec())) };
    let batch = RecordBatch::try_from_iter([
        ("session", Arc::new(Int64Array::from(vec![7, 7])) as ArrayRef),
        ("url", text(["u1", "u2"])),
        ("rating", two([3.0, 0.0])),
        ("title", text(["cats", "dogs"])),
        ("price", two([1.5, 2.5])),
        ("w", two([2.0, 1.0])),
    ]);
    for format in FORMATS {
        let bytes = file_of(&[batch.as_ref().unwrap().clone()], format, None);
        assert_eq!(read_bytes(&bytes, &options).unwrap(), of_csv);
    }
    let refused = |columns: Columns, expected: &str| {
        let message = read_named("own.csv", csv.as_bytes(), &named(columns)).unwrap_err().to_string();
        assert!(message.ends_with(expected), "{message}");
    };
    let but = |change: &dyn Fn(&mut Columns)| {
        let mut columns = columns.clone();
        change(&mut columns);
        columns
    };
    refused(
        but(&|columns| columns.label = Some("ratng".into())),
        "found columns `session`, `url`, `rating`, `title`, `price`, `w`, expected a column `ratng` (option \
         `columns.label`); did you mean `rating`?",
    );
    refused(
        but(&|columns| columns.drop = vec!["titel".into()]),
        "expected a column `titel` (option `columns.drop`); did you mean `title`?",
    );
    refused(but(&|columns| columns.label = Some("title".into())), "expected a column `title` (option `columns.label`)");
    let expected = "own.csv: row 1, column `url`: found `u1`, expected numbers: map words to grades, such as 0, 1, 2";
    refused(but(&|columns| columns.label = Some("url".into())), expected);
    // A label that another column replaces is not learned from.
    let both = "label,clicks,query,f\n1,0,a,1\n";
    let by_clicks = named(Columns { label: Some("clicks".into()), ..Columns::default() });
    let message = read_named("both.csv", both.as_bytes(), &by_clicks).unwrap_err().to_string();
    let expected = "found column `label`, although `columns.label` names another, expected no feature of that name (option \
                    `columns.drop` = [\"label\"] leaves it out)";
    assert!(message.ends_with(expected), "{message}");
    let text = message_of_text(&by_clicks);
    assert!(
        text.ends_with("found text, expected a table: option `columns` names columns, and text has none"),
        "{text}"
    );
    // A file that is not there is not called text.
    let missing = read(&["none.txt".into()], &by_clicks).unwrap_err().to_string();
    assert!(missing.starts_with("none.txt: ") && !missing.contains("text has none"), "{missing}");
}

fn message_of_text(options: &ReadOptions) -> String {
    read_named("a.txt", b"1 qid:1 1:2\n", options).unwrap_err().to_string()
}

#[test]
fn features_of_several_files_are_those_of_the_same_name() {
    let (one, two) = ("label,query,f,g\n1,a,1,2\n", "g,query,label,f\n4,b,0,3\n");
    let (_folder, paths) = files(&[("one.csv", one.as_bytes()), ("two.csv", two.as_bytes())]);
    assert_eq!(read(&paths, &keep()).unwrap().features.to_slice(), [1.0, 2.0, 3.0, 4.0]);
    let other = two.replace('g', "h");
    let (_folder, paths) = files(&[("one.csv", one.as_bytes()), ("two.csv", other.as_bytes())]);
    let message = read(&paths, &keep()).unwrap_err().to_string();
    assert!(
        message.ends_with(
            "found no column `g` among 2 columns of features, expected one for each feature of the files before"
        ),
        "{message}"
    );
    // A ranker reads its own features, whatever else there is.
    let names = ["g".to_owned()];
    let like = Like { feature_names: &names, ranker: Some(Columns::default()), ..Like::default() };
    let wide = "title,f,label,query,g\nx,1,0,a,5\n";
    let (_folder, paths) = files(&[("wide.csv", wide.as_bytes())]);
    let read = |like: &Like| read_like(paths.iter().map(Input::from_path), &keep(), like);
    assert_eq!(read(&like).unwrap().data.features.to_slice(), [5.0]);
    let absent = ["gg".to_owned()];
    let message = read(&Like { feature_names: &absent, ..like }).err().unwrap().to_string();
    assert!(
        message.contains("no column `gg` among 3 columns of features, expected one for each feature of the ranker"),
        "{message}"
    );
}

/// A table, shuffled, and the same one sorted by query.
fn shuffled() -> (&'static str, &'static str) {
    (
        "label,query,document,weight,f\n0,a,1,1,1\n1,b,2,2,2\n2,a,3,3,3\n3,c,4,4,4\n4,b,5,5,5\n5,b,6,6,6\n6,a,7,7,7\n",
        "label,query,document,weight,f\n0,a,1,1,1\n2,a,3,3,3\n6,a,7,7,7\n1,b,2,2,2\n4,b,5,5,5\n5,b,6,6,6\n3,c,4,4,4\n",
    )
}

#[test]
fn rows_that_stand_apart_are_put_together_and_keep_the_order_of_the_file() {
    let (apart, together) = shuffled();
    let weighted = ReadOptions { document_weights: Weights::File, ..ReadOptions::default() };
    let found = read_named("a.csv", apart.as_bytes(), &weighted).unwrap();
    let expected = read_named("a.csv", together.as_bytes(), &weighted).unwrap();
    assert_eq!(RankingDataset { read_order: Vec::new(), ..found.clone() }, expected);
    found.check().unwrap();
    assert_eq!((found.moved(), expected.moved()), (4, 0));
    assert_eq!(found.in_read_order(&found.labels), [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    assert_eq!(found.from_read_order(&[0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0]), found.labels);
    // In the files of a set each stands by itself.
    let next = together.replace(",a,", ",d,").replace(",b,", ",e,").replace(",c,", ",g,");
    let (_folder, paths) = files(&[("a.csv", apart.as_bytes()), ("b.csv", next.as_bytes())]);
    let both = read(&paths, &weighted).unwrap();
    both.check().unwrap();
    assert_eq!((both.read_order[..7].to_vec(), both.read_order[7..].to_vec()), (found.read_order, (7..14).collect()));
    let (_folder, paths) = files(&[("a.csv", apart.as_bytes()), ("b.csv", together.as_bytes())]);
    let message = read(&paths, &weighted).unwrap_err().to_string();
    assert!(
        message.contains("b.csv: row 1, column `query`: found query `a` again, expected all its rows in one file"),
        "{message}"
    );
}

/// Features that would stay in the file come into memory.
#[test]
fn lists_of_an_arrow_file_are_put_together_too() {
    let batch = |query: [&str; 2], label: [f32; 2], values: [f32; 4]| {
        let columns: Vec<(&str, ArrayRef)> = vec![
            ("label", Arc::new(Float32Array::from(label.to_vec()))),
            ("query", Arc::new(StringArray::from(query.to_vec()))),
            ("query_weight", Arc::new(Float32Array::from(vec![if label[0] < 2.0 { 1.0 } else { 3.0 }, 1.0]))),
            ("features", lists(2, values.map(Some).to_vec())),
        ];
        RecordBatch::try_from_iter(columns).unwrap()
    };
    let batches =
        [batch(["a", "b"], [0.0, 1.0], [0.0, 0.5, 1.0, 1.5]), batch(["c", "a"], [2.0, 3.0], [2.0, 2.5, 3.0, 3.5])];
    let weighted = ReadOptions { query_weights: Weights::File, ..ReadOptions::default() };
    for format in FORMATS {
        let data = read_bytes(&file_of(&batches, format, None), &weighted).unwrap();
        assert_eq!(data.query_ids, ["a", "b", "c"]);
        assert_eq!(
            (data.labels.as_slice(), data.read_order.as_slice()),
            (&[0.0, 3.0, 1.0, 2.0][..], &[0, 3, 1, 2][..])
        );
        assert_eq!(data.features.to_slice(), [0.0, 0.5, 3.0, 3.5, 1.0, 1.5, 2.0, 2.5]);
        assert_eq!(data.query_weights, [1.0, 1.0, 3.0]);
        data.check().unwrap();
    }
    let differ = [batch(["a", "b"], [0.0, 1.0], [0.0; 4]), batch(["a", "c"], [2.0, 0.0], [0.0; 4])];
    assert_eq!(
        message(&file_of(&differ, Format::Arrow, None), &weighted),
        "data: row 3, column `query_weight`: found 3, expected 1, as in the query's rows before"
    );
}

#[test]
fn lines_of_text_are_put_together_where_the_option_says_so() {
    let text = b"0 qid:a 1:1\n1 qid:b 1:2\n2 qid:a 1:3 2:4\n";
    let error = read_named("a.txt", text, &ReadOptions::default()).unwrap_err().to_string();
    assert!(
        error.contains("a.txt:3:3: found query `a` again")
            && error.ends_with("a.txt:1; option `sort` = true puts them together)"),
        "{error}"
    );
    let sorted = ReadOptions { sort: true, ..ReadOptions::default() };
    let data = read_named("a.txt", text, &sorted).unwrap();
    data.check().unwrap();
    assert_eq!((data.labels.as_slice(), data.read_order.as_slice()), (&[0.0, 2.0, 1.0][..], &[0, 2, 1][..]));
    assert_eq!(data.features.to_slice(), [1.0, 0.0, 3.0, 4.0, 2.0, 0.0]);
    let weighted = ReadOptions { document_weights: Weights::File, query_weights: Weights::File, ..sorted };
    let (_folder, paths) =
        files(&[("a.txt", text), ("a.txt.weight", b"1\n2\n3\n"), ("a.txt.query_weights", b"5\n6\n")]);
    let data = read(&paths[..1], &weighted).unwrap();
    assert_eq!(
        (data.document_weights.as_slice(), data.query_weights.as_slice()),
        (&[1.0, 3.0, 2.0][..], &[5.0, 6.0][..])
    );
}

#[test]
fn the_column_that_splits_queries_is_read_and_is_no_feature() {
    let csv = "label,query,day,user,f\n0,a,2024-03-01,u,1\n1,b,2024-01-31T10:00:00,v,2\n0,a,2024-02-01,u,3\n";
    let (_folder, paths) = files(&[("a.csv", csv.as_bytes())]);
    let drop = |name: &str| named(Columns { drop: vec![name.into()], ..Columns::default() });
    let read = |key: &KeyColumn, options: &ReadOptions| {
        read_like(paths.iter().map(Input::from_path), options, &Like { key: Some(key), ..Like::default() })
    };
    let of_day = read(&KeyColumn::Time("day".into()), &drop("user")).unwrap();
    let Some(Keys::Times(times)) = of_day.keys else { panic!("no times") };
    // A query has the time of its latest row.
    assert_eq!((times.len(), times[0] - times[1]), (2, 1e6 * (29.0 * 24.0 + 14.0) * 3600.0));
    assert_eq!(of_day.data.feature_names, ["f"]);
    let of_user = read(&KeyColumn::Group("user".into()), &drop("day")).unwrap();
    assert_eq!(of_user.keys, Some(Keys::Groups(vec!["u".into(), "v".into()])));
    let error = |key: &KeyColumn, options: &ReadOptions| read(key, options).err().unwrap().to_string();
    let differ = error(&KeyColumn::Group("day".into()), &drop("user"));
    assert!(
        differ.ends_with("row 3, column `day`: found 2024-02-01, expected 2024-03-01, as in the query's rows before"),
        "{differ}"
    );
    let no_time = error(&KeyColumn::Time("user".into()), &drop("day"));
    assert!(
        no_time.ends_with("row 1, column `user`: found u, expected a number, a date or a time (ISO 8601)"),
        "{no_time}"
    );
    let absent = error(&KeyColumn::Time("days".into()), &drop("user"));
    assert!(absent.ends_with("expected a column `days`, by which the data are split; did you mean `day`?"), "{absent}");
}

#[test]
fn a_column_of_numbers_here_and_of_dates_there_is_no_time() {
    let of = |days: [&str; 2]| {
        let csv = |at: usize| format!("label,query,day,f\n0,{at},{},1\n", days[at]);
        let (first, second) = (csv(0), csv(1));
        let (_folder, paths) = files(&[("a.csv", first.as_bytes()), ("b.csv", second.as_bytes())]);
        let key = KeyColumn::Time("day".into());
        let like = Like { key: Some(&key), ..Like::default() };
        read_like(paths.iter().map(Input::from_path), &keep(), &like).map(|read| read.keys)
    };
    assert_eq!(of(["20240301", "20240302"]).unwrap(), Some(Keys::Times(vec![20240301.0, 20240302.0])));
    assert!(of(["2024-03-01", "2024-03-02"]).is_ok());
    for (days, expected) in [
        (["20240301", "2024-03-02"], "row 1, column `day`: found 2024-03-02, expected a number, as in the rows before"),
        (
            ["2024-03-01", "20240302"],
            "row 1, column `day`: found 20240302, expected a date or a time (ISO 8601), as in the rows before",
        ),
    ] {
        let error = of(days).unwrap_err().to_string();
        assert!(error.contains("b.csv") && error.ends_with(expected), "{error}");
    }
}

#[test]
fn a_carriage_return_alone_is_refused_with_its_row() {
    let rows = "1,q1,3\n0,q1,2\n".repeat(1500);
    for (csv, expected) in [
        ("label,query,f\n1,q1,3\n0,q1,2\r1,q2,7\r1,q2,8\n".to_owned(), "row 2: found a carriage return"),
        (format!("label,query,f\n{rows}\n1,q2,\"a\rb\"\n0,q2,7\r1,q2,8\n"), "row 3002: found a carriage return"),
        ("label,query,f\r1,q1,3\r0,q1,2\r".to_owned(), "found a carriage return without a line feed in the first line"),
    ] {
        let (_folder, paths) = files(&[("a.csv", csv.as_bytes())]);
        let read = read_like(paths.iter().map(Input::from_path), &keep(), &Like::default());
        let error = read.map(|read| read.data).unwrap_err().to_string();
        assert!(error.contains(expected) && error.ends_with("lines that end in LF or CRLF"), "{error}");
    }
}

#[test]
fn labels_that_nobody_reads_may_be_anything() {
    let (_folder, paths) = files(&[("a.csv", b"label,query,f\ngood,a,1\n,a,2\n")]);
    let like = Like { ignores_labels: true, ..Like::default() };
    let data = read_like(paths.iter().map(Input::from_path), &keep(), &like).map(|read| read.data).unwrap();
    assert_eq!((data.feature_count, data.labels), (1, vec![0.0, 0.0]));
}

#[test]
fn a_table_of_documents_without_labels_is_read_where_nobody_reads_them() {
    let csv = "query,f\na,1\na,2\n";
    let (_folder, paths) = files(&[("a.csv", csv.as_bytes())]);
    let read = |ignores_labels| {
        let like = Like { ignores_labels, ..Like::default() };
        read_like(paths.iter().map(Input::from_path), &keep(), &like).map(|read| read.data)
    };
    let data = read(true).unwrap();
    assert_eq!((data.labels, data.features.to_slice()[..].to_vec()), (vec![0.0, 0.0], vec![1.0, 2.0]));
    assert!(read(false).unwrap_err().to_string().contains("expected a column `label`"));
}
