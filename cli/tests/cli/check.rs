//! `check`: faults of data that it names, each in a file that has it and no other.

use std::fmt::Write;

use serde_json::Value;

use super::Bench;
use super::causes::gzip;

/// Numbers from 0 to below 1 that look random, the same in each run.
struct Noise(u64);

impl Noise {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 40) as f64 / (1u64 << 24) as f64
    }
}

/// LETOR text of queries named `name1`, ... with eight documents each. A line is what `of_line` makes of a label, which
/// runs through 0 to `levels` - 1, and of features between 0 and 1.
fn letor(
    name: &str,
    queries: usize,
    features: usize,
    levels: usize,
    mut of_line: impl FnMut(&mut f64, &mut Vec<f64>),
) -> String {
    let mut noise = Noise(name.bytes().map(u64::from).sum());
    let mut text = String::new();
    for query in 1..=queries {
        for _ in 0..8 {
            let mut label = (noise.next() * levels as f64).floor();
            let mut values: Vec<f64> = (0..features).map(|_| noise.next()).collect();
            of_line(&mut label, &mut values);
            write!(text, "{label} qid:{name}{query}").unwrap();
            for (at, value) in values.iter().enumerate() {
                match value.is_nan() {
                    true => write!(text, " {}:NULL", at + 1).unwrap(),
                    false => write!(text, " {}:{value}", at + 1).unwrap(),
                }
            }
            text.push('\n');
        }
    }
    text
}

/// Whether a text says all that, however it is broken into lines.
fn contains(text: &str, parts: &[&str]) {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    parts.iter().for_each(|part| assert!(text.contains(part), "`{part}` in: {text}"));
}

fn clean(name: &str, queries: usize) -> String {
    letor(name, queries, 5, 3, |_, _| ())
}

/// Returns the report of `check --json` on files.
fn report(bench: &Bench, args: &[&str]) -> Value {
    serde_json::from_str(&bench.output(&[&["check", "--json"], args].concat())).unwrap()
}

/// The findings by their kinds, without those that chance may bring: queries with one label or none that is relevant.
fn kinds(report: &Value) -> Vec<(String, String)> {
    let findings = report["findings"].as_array().unwrap().iter();
    let of = |finding: &Value, key: &str| finding[key].as_str().unwrap().to_string();
    let all = findings.map(|finding| (of(finding, "level"), of(finding, "kind")));
    all.filter(|(_, kind)| !["one_label", "no_relevant"].contains(&kind.as_str())).collect()
}

/// The only finding of a file, and its message.
fn only(text: &str, args: &[&str]) -> (String, String) {
    let bench = Bench::default();
    bench.write("data.txt", text);
    let report = report(&bench, &[&["data.txt"], args].concat());
    let found = kinds(&report);
    assert_eq!(found.len(), 1, "{report}");
    let kind = &found[0].1;
    let finding = report["findings"].as_array().unwrap().iter().find(|finding| finding["kind"] == kind.as_str());
    (format!("{} {kind}", found[0].0), finding.unwrap()["message"].as_str().unwrap().to_string())
}

#[test]
fn check_counts_what_is_there_in_80_columns() {
    let bench = Bench::default();
    bench.write("train.txt", &clean("a", 40));
    bench.write("test.txt", &clean("b", 10));
    let text = bench.output(&["check", "train.txt", "test.txt"]);
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines.iter().all(|line| line.chars().count() <= 80), "{text}");
    let words = |line: &str| line.split_whitespace().map(str::to_string).collect::<Vec<_>>();
    assert_eq!(words(lines[1]), ["train.txt", "40", "320", "5", "8/8/8", "0", "to", "2", "(3", "levels)", "0"]);
    assert_eq!(words(lines[2])[..4], ["test.txt", "10", "80", "5"]);
    let report = report(&bench, &["train.txt", "test.txt"]);
    assert_eq!(report["sets"][0]["documents"], 320);
    assert_eq!(report["sets"][1]["name"], "test.txt");
    assert!(kinds(&report).is_empty(), "{report}");
}

#[test]
fn queries_that_teach_nothing_are_counted() {
    let bench = Bench::default();
    let text = "0 qid:1 1:1\n0 qid:1 1:2\n1 qid:2 1:3\n0 qid:2 1:4\n2 qid:3 1:5\n2 qid:3 1:6\n";
    bench.write("data.txt", text);
    let text = bench.output(&["check", "data.txt"]);
    contains(
        &text,
        &[
            "2 of 3 queries have one label only, as in query 1: nothing is learned there",
            "1 of 3 queries has no relevant document",
        ],
    );
}

#[test]
fn data_without_a_query_of_two_labels_are_a_problem() {
    let bench = Bench::default();
    bench.write("data.txt", &letor("a", 20, 3, 1, |_, _| ()));
    let output = bench.run(&["check", "--strict", "data.txt"]).code(1);
    let message = String::from_utf8(output.get_output().stderr.clone()).unwrap();
    contains(&message, &["check found 1 problem, expected none with --strict"]);
    contains(
        &bench.output(&["check", "data.txt"]),
        &["problem all labels are 0, so no query has two labels: there is nothing to learn"],
    );
}

#[test]
fn files_go_by_their_last_names_where_these_differ() {
    let bench = Bench::default();
    for folder in ["a", "b"] {
        std::fs::create_dir(bench.path(folder)).unwrap();
    }
    for file in ["a/one.txt", "b/one.txt", "b/two.txt"] {
        bench.write(file, "0 qid:1 1:1\n0 qid:1 1:2\n");
    }
    let text = bench.output(&["check", "a/one.txt", "b/two.txt"]);
    contains(&text, &["problem one.txt: all labels are 0", "problem two.txt: all labels are 0"]);
    let text = bench.output(&["check", "a/one.txt", "b/one.txt", "b/two.txt"]);
    contains(&text, &["problem a/one.txt: all", "problem b/one.txt: all", "problem two.txt: all"]);
    assert_eq!(report(&bench, &["a/one.txt", "b/two.txt"])["sets"][0]["name"], "a/one.txt");
}

#[test]
fn documents_with_the_features_of_another_one_are_counted() {
    let mut place = 0;
    let text = letor("a", 30, 4, 2, |_, values| {
        place += 1;
        // The third and fourth of each query.
        if [2, 3].contains(&((place - 1) % 8)) {
            *values = vec![0.25, (place / 8) as f64, 0.5, 0.125];
        }
    });
    let (kind, message) = only(&text, &[]);
    assert_eq!(kind, "note duplicate_document");
    contains(&message, &["30 documents have the features of another one in the query", "query a1, document 4"]);
}

#[test]
fn constant_huge_and_missing_features_are_named() {
    let (kind, message) = only(&letor("a", 30, 4, 2, |_, values| values[2] = 7.0), &[]);
    assert_eq!(
        (kind.as_str(), message.as_str()),
        ("note constant_feature", "feature 3 has one value in all documents")
    );
    let (kind, message) = only(&letor("a", 30, 4, 2, |_, values| values[1] *= -3e9), &[]);
    assert_eq!(kind, "note huge_feature");
    contains(&message, &["feature 2 reaches", "e9 in size", "need a normalizer"]);
    let missing = letor("a", 30, 4, 2, |_, values| {
        if values[0] < 0.5 {
            values[0] = f64::NAN;
        }
    });
    let (kind, message) = only(&missing, &[]);
    assert_eq!(kind, "note missing_value");
    contains(&message, &["% of the values are missing, in feature 1"]);
}

#[test]
fn features_that_give_the_label_away_are_a_problem() {
    for sign in [1.0, -1.0] {
        let (kind, message) = only(&letor("a", 30, 4, 3, |label, values| values[3] = sign * (*label + 0.01)), &[]);
        assert_eq!(kind, "problem gives_label_away");
        contains(&message, &["feature 4 gives the label away: it orders 100.0% of the pairs"]);
    }
    // A feature that says half of what the label does, and one that is there in few documents.
    let bench = Bench::default();
    let honest = letor("a", 60, 4, 3, |label, values| {
        values[3] += 0.5 * *label;
        values[2] = if values[2] > 0.99 { *label } else { 0.0 };
    });
    bench.write("data.txt", &honest);
    assert!(kinds(&report(&bench, &["data.txt"])).is_empty());
}

#[test]
fn files_that_are_sorted_by_label_are_named() {
    let mut place = 0;
    let text = letor("a", 30, 4, 3, |label, _| {
        *label = [2.0, 2.0, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0][place % 8];
        place += 1;
    });
    assert_eq!(only(&text, &[]).0, "note sorted_by_label");
}

#[test]
fn labels_that_fit_no_gain_are_named() {
    let (kind, message) =
        only(&letor("a", 30, 3, 3, |label, _| *label = if *label == 2.0 { 31.0 } else { *label }), &[]);
    assert_eq!(kind, "problem label_level");
    contains(&message, &["labels up to 31", "from 0 to 30", "gain = \"linear\""]);
    let (kind, message) = only(&letor("a", 30, 3, 3, |label, _| *label *= 0.5), &[]);
    assert_eq!(kind, "note label_level");
    contains(&message, &["labels that are not whole, as in 0.5"]);
    let (kind, message) = only(&letor("a", 30, 3, 3, |label, _| *label += 1.0), &[]);
    assert_eq!(kind, "note label_level");
    contains(&message, &["no label is 0, the lowest is 1"]);
    let bench = Bench::default();
    bench.write("data.txt", "1 qid:1 1:1\n-1 qid:1 1:2\n");
    contains(&bench.refused(&["check", "data.txt"]), &["data.txt:2:1: found `-1`, expected a label"]);
}

#[test]
fn queries_and_documents_of_two_sets_are_named() {
    let bench = Bench::default();
    let (train, test) = (clean("a", 30), clean("b", 10));
    let again: String = train.lines().take(16).map(|line| format!("{line}\n")).collect();
    bench.write("train.txt", &train);
    bench.write("test.txt", &format!("{test}{again}"));
    let found = report(&bench, &["train.txt", "test.txt"]);
    let expected = [("problem", "same_query"), ("note", "same_document")];
    assert_eq!(kinds(&found), expected.map(|(level, kind)| (level.to_string(), kind.to_string())));
    let text = bench.output(&["check", "train.txt", "test.txt"]);
    contains(
        &text,
        &["test.txt: 2 queries are in train.txt too, as in query a1", "16 documents have the features of one in"],
    );
    for (name, features, level) in [("narrow.txt", 4, "note"), ("wide.txt", 6, "problem")] {
        bench.write(name, &letor("c", 10, features, 3, |_, _| ()));
        let expected = [(level.to_string(), "feature_count".to_string())];
        assert_eq!(kinds(&report(&bench, &["train.txt", name])), expected);
        let words = format!("{name}: {features} features here, 5 in train.txt");
        contains(&bench.output(&["check", "train.txt", name]), &[&words]);
    }
}

#[test]
fn a_folder_of_folds_is_three_sets() {
    let bench = Bench::default();
    for part in 1..=3 {
        bench.write(&format!("S{part}.txt"), &clean(&"q".repeat(part), 5 + part));
    }
    let of_fold = |fold: &str| {
        let report = report(&bench, &[".", "--fold", fold]);
        let sets = report["sets"].as_array().unwrap().iter();
        sets.map(|set| format!("{} {}", set["name"].as_str().unwrap(), set["queries"])).collect::<Vec<_>>()
    };
    assert_eq!(of_fold("1"), ["train 6", "validation 7", "test 8"]);
    assert_eq!(of_fold("2"), ["train 7", "validation 8", "test 6"]);
    contains(&bench.refused(&["check", ".", "--fold", "4"]), &["--fold = 4: expected from 1 to 3, the folds of ."]);
}

#[test]
fn published_sets_are_known_by_their_shapes() {
    for (features, levels, scale, expected) in [
        (136, 5, 1.0, &["MSLR-WEB10K", "MSLR-WEB30K"][..]),
        (220, 5, 500.0, &["Istella", "Istella-S"]),
        (700, 5, 1.0, &["Yahoo C14 set 2", "Yahoo C14 set 1"]),
        (45, 3, 1.0, &["OHSUMED of LETOR 3.0"]),
        (64, 2, 1.0, &["a .Gov set of LETOR 3.0"]),
        (46, 3, 1.0, &["MQ2008 of LETOR 4.0", "MQ2007 of LETOR 4.0"]),
        (47, 3, 1.0, &[]),
        // As wide as a set, but neither its labels nor its values.
        (46, 9, 500.0, &[]),
    ] {
        let bench = Bench::default();
        bench.write(
            "data.txt",
            &letor("a", 12, features, levels, |_, values| values.iter_mut().for_each(|v| *v *= scale)),
        );
        let report = report(&bench, &["data.txt"]);
        assert_eq!(report["published"], serde_json::json!(expected), "{features}");
        assert!(kinds(&report).is_empty(), "{report}");
    }
    // Too many queries for MQ2008.
    let bench = Bench::default();
    bench.write("data.txt", &letor("a", 800, 46, 3, |_, _| ()));
    assert_eq!(report(&bench, &["data.txt"])["published"], serde_json::json!(["MQ2007 of LETOR 4.0"]));
}

#[test]
fn what_is_off_in_a_published_set_is_named() {
    let (kind, message) = only(&letor("a", 12, 136, 5, |_, values| values[7] *= 3.0), &[]);
    assert_eq!(kind, "note published");
    contains(&message, &["values of feature 8 lie outside the range of MSLR-WEB30K: shares of query terms"]);
    let (kind, message) = only(&letor("a", 12, 46, 3, |_, values| values[0] *= 30.0), &[]);
    assert_eq!(kind, "note published");
    contains(&message, &["feature 1 lie outside the range of MQ2007 of LETOR 4.0", "QueryLevelNorm"]);
    let (kind, message) = only(&letor("a", 12, 45, 4, |_, _| ()), &[]);
    assert_eq!(kind, "note published");
    contains(&message, &["label 3; labels of OHSUMED of LETOR 3.0 are whole numbers from 0 to 2"]);
}

/// Data with Istella's number in about half of the values of feature 2.
fn istella() -> String {
    let text = letor("a", 30, 4, 2, |_, values| {
        if values[1] < 0.5 {
            values[1] = f64::NAN;
        }
    });
    text.replace("NULL", "1.79769313486232e+308")
}

#[test]
fn the_number_that_stands_for_a_missing_value_in_istella_is_named_and_read() {
    let bench = Bench::default();
    bench.write("data.txt", &istella());
    bench.write("null.txt", &istella().replace("1.79769313486232e+308", "NULL"));
    let found = report(&bench, &["data.txt"]);
    let expected = [("problem", "missing_value"), ("note", "missing_value")];
    assert_eq!(kinds(&found), expected.map(|(level, kind)| (level.to_string(), kind.to_string())));
    assert!(found["findings"].to_string().contains("as in the files of Istella"), "{found}");
    contains(&bench.refused(&["convert", "data.txt", "data.arrow"]), &["data.txt:", "of feature 2", "3.4028235e38"]);
    let number = "missing_value=1.797e308";
    contains(&bench.refused(&["convert", "data.txt", "data.arrow", "--read", number]), &["missing_value", "`missing`"]);
    contains(&bench.refused(&["check", "data.txt", "--read", "missing_value=nan"]), &["missing_value"]);
    let told = report(&bench, &["data.txt", "--read", number]);
    assert_eq!(kinds(&told), [("note".to_string(), "missing_value".to_string())]);
    // The same data, however the missing value is written; tables too.
    for missing in ["keep", "zero", "query-min"] {
        bench.output(&["convert", "data.txt", "number.arrow", "--missing", missing, "--read", number]);
        bench.output(&["convert", "null.txt", "null.arrow", "--missing", missing]);
        let [number, null] = ["number.arrow", "null.arrow"].map(|name| std::fs::read(bench.path(name)).unwrap());
        assert!(number == null, "{missing}");
    }
    bench.write("minus.txt", &istella().replace("1.79769313486232e+308", "-999"));
    bench.output(&["convert", "minus.txt", "minus.arrow"]);
    let minus = report(&bench, &["minus.arrow", "--read", "missing_value=-999"]);
    assert_eq!(minus["sets"][0]["missing_values"], told["sets"][0]["missing_values"]);
    bench.write("largest.txt", &istella().replace("1.79769313486232e+308", "3.4028235e38"));
    let largest = report(&bench, &["largest.txt"]);
    assert_eq!(kinds(&largest), [("problem".to_string(), "huge_feature".to_string())]);
}

#[test]
fn what_cannot_be_checked_is_refused() {
    let bench = Bench::default();
    bench.write("data.txt", &clean("a", 3));
    contains(&bench.refused(&["check", "absent.txt"]), &["absent.txt"]);
    contains(&bench.refused(&["check", "-", "-"]), &["standard input", "twice"]);
    contains(&bench.refused(&["check", "data.txt", "--read", "mising_value=3"]), &["missing_value"]);
    contains(&bench.refused(&["check"]), &["<DATA>"]);
    bench.write("empty.txt", "");
    contains(&bench.refused(&["check", "empty.txt"]), &["empty.txt: found no document"]);
    let piped = bench.command(&["check", "-"]).write_stdin(clean("a", 3)).assert().success();
    contains(&String::from_utf8_lossy(&piped.get_output().stdout), &["24"]);
}

#[test]
fn columns_of_a_table_are_called_by_their_names() {
    let bench = Bench::default();
    let mut noise = Noise(5);
    let mut row = |query: usize| {
        let grade = (3.0 * noise.next()).floor();
        let matches = noise.next();
        format!("{grade},search {query},/item/{matches},{matches},{},7\n", 2.0 * grade + 0.5)
    };
    let rows: String = (0..30).flat_map(|query| [query; 8]).map(&mut row).collect();
    bench.write("shop.csv", &format!("grade,search,url,match,bought,shop\n{rows}"));
    let columns = ["columns.label=grade", "columns.query=search", "columns.id=url"];
    let read: Vec<&str> = columns.iter().flat_map(|column| ["--read", column]).collect();
    let found = report(&bench, &[&["shop.csv"][..], &read].concat());
    let expected = [("problem", "gives_label_away"), ("note", "constant_feature")];
    assert_eq!(kinds(&found), expected.map(|(level, kind)| (level.to_string(), kind.to_string())));
    let text = bench.output(&[&["check", "shop.csv"][..], &read].concat());
    contains(&text, &["column `bought` gives the label away", "column `shop` has one value in all documents"]);
    // The reading options are in the configuration.
    bench.output(&[&["init", "shop.csv"][..], &read].concat());
    let config = std::fs::read_to_string(bench.path("shop.toml")).unwrap();
    contains(&config, &["[data.columns] label = \"grade\" query = \"search\" id = \"url\""]);
    let short = config.replace("epochs = 100", "epochs = 1").replace("rounds = 300", "rounds = 2");
    bench.write("short.toml", &short);
    bench.output(&["cv", "short.toml", "--quiet", "--refit", "best"]);
}

#[test]
fn a_missing_value_is_kept_unless_it_is_to_be_an_error() {
    let bench = Bench::default();
    bench.write("data.csv", "label,query,f\n1,a,2\n0,a,\n1,b,3\n0,b,1\n");
    assert_eq!(report(&bench, &["data.csv"])["sets"][0]["missing_values"], 1);
    assert!(report(&bench, &["data.csv", "--missing", "zero"])["sets"][0]["missing_values"].is_null());
    for error in [["--missing", "error"], ["--read", "missing=error"]] {
        for command in [&["check", "data.csv", "--json"][..], &["init", "data.csv", "--json"]] {
            let message = bench.refused(&[command, &error].concat());
            contains(&message, &["data.csv: row 2, column `f`: found null, expected a finite value of feature 1"]);
        }
    }
    assert!(!bench.path("data.toml").exists());
    // The number of Istella's files is not taken for a missing value there.
    bench.write("istella.txt", &istella());
    contains(&bench.refused(&["check", "istella.txt", "--missing", "error"]), &["istella.txt:", "3.4028235e38"]);
}

#[test]
fn a_query_of_floats_is_the_query_of_integers() {
    let bench = Bench::default();
    bench.write("train.csv", "label,query,f\n1,1,2.5\n0,1,3\n1,2,4\n0,2,5\n");
    bench.write("test.csv", "label,query,f\n1,1.0,6\n0,1.0,7\n1,3.0,8\n0,3.0,9\n");
    let found = report(&bench, &["train.csv", "test.csv"]);
    contains(&found["findings"].to_string(), &["1 query is in train.csv too, as in query 1"]);
    bench.write("test.csv", "label,query,f\n1,1,6\n0,1.5,7\n");
    for command in ["check", "init"] {
        let message = bench.refused(&[command, "train.csv", "test.csv", "--json"]);
        contains(&message, &["test.csv: row 2, column `query`: found 1.5, expected the identifier of a query"]);
    }
}

#[test]
fn a_note_about_moved_rows_names_their_file() {
    let bench = Bench::default();
    bench.write("train.csv", "label,query,f\n1,a,2\n0,a,3\n1,b,4\n0,b,5\n");
    bench.write("test.csv", "label,query,f\n1,c,6\n0,d,7\n0,c,8\n1,d,9\n");
    for command in [&["check", "--json"][..], &["init", "--json", "--out", "a.toml"]] {
        let run = bench.run(&[command, &["train.csv", "test.csv"]].concat()).success();
        let (told, written) = (String::from_utf8_lossy(&run.get_output().stderr), &run.get_output().stdout);
        assert_eq!(told, "note: test.csv: moved 2 of 4 rows next to the other rows of their query\n");
        assert!(serde_json::from_slice::<Value>(written).is_ok());
    }
}

#[test]
fn what_is_no_table_of_commas_or_tabs_is_called_what_it_is() {
    let bench = Bench::default();
    let table = "label;query;f\n1;a;0,5\n0;a;1,5\n";
    bench.write("semi.txt", table);
    bench.write("semi.csv", table);
    bench.write("bars", &table.replace(';', "|"));
    bench.write("bars.csv", &table.replace(';', "|"));
    bench.write("empty.csv", "");
    std::fs::write(bench.path("twice.csv.gz"), gzip(&gzip(table.as_bytes()))).unwrap();
    std::fs::create_dir(bench.path("folder")).unwrap();
    for name in ["train.csv", "test.csv", "val.csv"] {
        bench.write(&format!("folder/{name}"), "label,query,f\n1,a,2\n");
    }
    for (data, expected) in [
        ("semi.txt", "semi.txt: found columns separated by `;` in the first line `label;query;f`, expected commas or"),
        ("semi.csv", "semi.csv: found columns separated by `;` in the first line `label;query;f`, expected commas or"),
        ("bars", "bars: found columns separated by `|` in the first line `label|query|f`, expected commas or tabs"),
        ("bars.csv", "bars.csv: found columns separated by `|` in the first line `label|query|f`, expected commas or"),
        ("empty.csv", "empty.csv: found an empty file, expected names of columns"),
        ("twice.csv.gz", "twice.csv.gz: found a file compressed by gzip twice, expected once"),
        ("folder", "folder: found no `vali` among `test.csv`, `train.csv`, `val.csv`, expected train, vali (or valid,"),
        ("folder", "; did you mean `val.csv`?"),
    ] {
        for command in [&["check", "--json"][..], &["init", "--json", "--out", "a.toml"]] {
            let refused = bench.run(&[command, &[data]].concat()).code(2);
            assert!(refused.get_output().stdout.is_empty(), "{data}");
            contains(&String::from_utf8_lossy(&refused.get_output().stderr), &[expected]);
        }
    }
    assert!(!bench.path("a.toml").exists());
    let columns = ["label", "query", "id", "weight", "drop"];
    for (key, column) in columns.map(|column| (column, column)).into_iter().chain([("column.lable", "label")]) {
        let message = bench.refused(&["check", "semi.csv", "--read", &format!("{key}=grade")]);
        let expected = format!("--read {key}: unknown field `{key}`; did you mean `columns.{column}`?\n");
        assert!(message.ends_with(&expected), "{message}");
    }
}
