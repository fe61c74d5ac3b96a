//! Tables as other programs write them: columns of other names, CSV, rows that do not stand together by query, and
//! splits.

use std::fs;
use std::io::Write;

use super::Bench;

const COLUMNS: &str = r#"
[data.columns]
label = "rating"
query = "session"
id = "url"
drop = ["title"]
"#;

const CONFIG: &str = r#"
learner = { kind = "regression" }
measure = { report = ["map"] }
[data]
train = ["own.csv"]
test = ["own.csv"]
"#;

/// Rows of ten sessions, of which each has four, with a feature that says the rating and one that does not.
fn rows() -> Vec<String> {
    let row = |row: usize| {
        let (session, rating) = (row / 4, row * 7 % 3);
        let (price, day) = (row * 13 % 29, 1 + session);
        format!(
            "s{session},u{row},{rating},\"title, {row}\",{price}.5,{}.25,2024-05-{day:02},user{}",
            rating * 2,
            session / 2
        )
    };
    (0..40).map(row).collect()
}

const HEADER: &str = "session,url,rating,title,price,clicks,day,user\n";

fn table(rows: &[String]) -> String {
    format!("{HEADER}{}\n", rows.join("\n"))
}

/// The rows in another order: of each session the first two, then the others.
fn shuffled() -> Vec<String> {
    let (rows, mut apart) = (rows(), Vec::new());
    for half in [0, 2] {
        apart.extend(rows.chunks(4).flat_map(|session| session[half..half + 2].to_vec()));
    }
    apart
}

/// A table with only the columns of [`COLUMNS`], and one whose rows stand apart.
fn bench() -> Bench {
    let bench = Bench::default();
    let plain = |text: String| -> String {
        // The day and the user are for splits.
        text.lines().map(|line| format!("{}\n", line.rsplitn(3, ',').last().unwrap())).collect()
    };
    bench.write("own.csv", &plain(table(&rows())));
    bench.write("apart.csv", &plain(table(&shuffled())));
    bench.write("run.toml", &format!("{CONFIG}{COLUMNS}"));
    bench
}

#[test]
fn a_table_with_columns_of_other_names_goes_through_every_command() {
    let bench = bench();
    bench.output(&["train", "run.toml", "--out", "run"]);
    // The ranker knows the columns, and takes its features by name.
    let scores = bench.output(&["predict", "run", "own.csv"]);
    assert_eq!(scores.lines().count(), 40);
    let moved = "clicks,extra,session,price,rating\n4.25,word,a,0.5,2\n0.25,word,a,0.5,0\n";
    bench.write("moved.csv", moved);
    let of_moved: Vec<f32> =
        bench.output(&["predict", "run", "moved.csv"]).lines().map(|line| line.parse().unwrap()).collect();
    assert!(of_moved[0] > of_moved[1], "{of_moved:?}");
    let message = bench.refused(&[
        "predict",
        "run",
        &bench.write("less.csv", "rating,session,clicks\n1,a,2\n").display().to_string(),
    ]);
    assert!(
        message.contains(
            "found no column `price` among 1 column of features, expected one for each feature of the ranker"
        ),
        "{message}"
    );
    let measured = bench.output(&["eval", "run", "own.csv"]);
    assert!(measured.contains("ndcg@10"), "{measured}");
    let by_hand = [
        "--read",
        "columns.label=rating",
        "--read",
        "columns.query=session",
        "--read",
        "columns.id=url",
        "--read",
        "columns.drop=[\"title\"]",
    ];
    for out in ["own.arrow", "own.parquet", "own.txt"] {
        let line = bench.output(&[&["convert", "own.csv", out][..], &by_hand].concat());
        assert!(line.contains("10 queries, 40 documents, 2 features"), "{line}");
        assert_eq!(bench.output(&["predict", "run", out]), scores, "{out}");
    }
    fs::write(bench.path("scores.txt"), &scores).unwrap();
    assert_eq!(
        bench.output(&[&["eval", "--scores", "scores.txt", "own.csv"][..], &by_hand].concat()),
        bench.output(&["eval", "run", "own.csv", "-c", "standard"])
    );
    let report = fs::read_to_string(bench.path("run/config.toml")).unwrap();
    assert!(report.contains("label = \"rating\""), "{report}");
    let importance = bench.output(&["importance", "run", "own.csv"]);
    assert!(importance.contains("clicks") && importance.contains("price"), "{importance}");
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(&fs::read(bench.path("own.csv")).unwrap()).unwrap();
    fs::write(bench.path("own.csv.gz"), gzip.finish().unwrap()).unwrap();
    fs::write(
        bench.path("own.tsv"),
        fs::read_to_string(bench.path("own.csv")).unwrap().replace(", ", ". ").replace(',', "\t"),
    )
    .unwrap();
    for file in ["own.csv.gz", "own.tsv"] {
        assert_eq!(bench.output(&["predict", "run", file]), scores, "{file}");
    }
}

#[test]
fn what_is_wrong_with_columns_is_refused_before_anything_is_written() {
    let bench = bench();
    for (set, expected) in [
        (
            "data.columns.label=ratng",
            "own.csv: found columns `session`, `url`, `rating`, `title`, `price`, `clicks`, expected a column `ratng` (option `columns.label`); did you mean `rating`?",
        ),
        ("data.columns.lable=x", "data.columns.lable: unknown field `lable`"),
        (
            "data.columns.teacher=x",
            "data.columns.teacher: found \"x\", expected none: the learner `regression` learns from no teacher; `boosted_trees` and `gradient` do",
        ),
        ("data.columns.labels=x", "data.columns.labels: a table has one column of labels, which `label` names"),
        (
            "data.columns.position=x",
            "the learner `regression` does not use positions; `boosted_trees` and `gradient` do",
        ),
        (
            "data.columns.drop=",
            "own.csv: row 1, column `title`: found `title, 0`, expected numbers, as every column of a feature has (option `columns.drop` = [\"title\"] leaves it out)",
        ),
        (
            "data.columns.weight=price",
            "data.columns.weight: found \"price\", expected none: the learner `regression` does not use document \
             weights",
        ),
    ] {
        let message = bench.refused(&["train", "run.toml", "--out", "run", "--set", set]);
        assert!(message.contains(expected), "{set}: {message}");
        assert!(!bench.path("run").exists());
    }
    for (read, expected) in [
        ("columns.lable=rating", "--read columns.lable: unknown field `lable`"),
        ("columns.label=3", "--read columns.label: found 3, expected a string"),
    ] {
        let message = bench.refused(&["convert", "own.csv", "own.arrow", "--read", read]);
        assert!(message.contains(expected), "{read}: {message}");
    }
    bench.write("bad.csv", "rating,session,f\n1,a,1\n1,a,many\n");
    let message = bench.refused(&[
        "convert",
        "bad.csv",
        "bad.arrow",
        "--read",
        "columns.label=rating",
        "--read",
        "columns.query=session",
    ]);
    assert!(message.contains("bad.csv: row 2, column `f`: found `many`, expected a number"), "{message}");
    assert!(!bench.path("bad.arrow").exists() && !bench.path("own.arrow").exists());
}

#[test]
fn rows_that_stand_apart_are_put_together_and_scores_keep_the_order_of_the_file() {
    let bench = bench();
    bench.output(&["train", "run.toml", "--out", "run"]);
    let note = "note: apart.csv: moved 20 of 40 rows next to the other rows of their query";
    let predicted = bench.run(&["predict", "run", "apart.csv", "--out", "apart.txt"]).success();
    let said = String::from_utf8(predicted.get_output().stderr.clone()).unwrap();
    assert!(said.contains(note), "{said}");
    let scores: Vec<String> = bench.output(&["predict", "run", "own.csv"]).lines().map(str::to_owned).collect();
    let apart: Vec<String> = fs::read_to_string(bench.path("apart.txt")).unwrap().lines().map(str::to_owned).collect();
    let score_of = |row: &String| scores[rows().iter().position(|other| other == row).unwrap()].clone();
    assert_eq!(apart, shuffled().iter().map(score_of).collect::<Vec<_>>());
    // Scores in the order of the file are the ranker's scores, and runs agree.
    let measured = bench.output(&["eval", "run", "own.csv"]);
    let columns = [
        "--read",
        "columns.label=rating",
        "--read",
        "columns.query=session",
        "--read",
        "columns.id=url",
        "--read",
        "columns.drop=[\"title\"]",
    ];
    assert_eq!(bench.output(&["eval", "run", "apart.csv"]), measured);
    let of_scores =
        bench.output(&[&["eval", "--scores", "apart.txt", "apart.csv", "-c", "standard"][..], &columns].concat());
    assert_eq!(of_scores, bench.output(&["eval", "run", "own.csv", "-c", "standard"]));
    let run = |file: &str| bench.output(&["predict", "run", file, "--run-id", "tag"]);
    let sorted = |text: String| {
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        lines.sort();
        lines
    };
    assert_eq!(sorted(run("apart.csv")), sorted(run("own.csv")));
    // Training says it, and learns the same.
    let apart = "data.train=[\"apart.csv\"]";
    let trained = bench.run(&["train", "run.toml", "--out", "other", "--set", apart]).success();
    let said = String::from_utf8(trained.get_output().stderr.clone()).unwrap();
    assert!(said.contains("data.train: moved 20 of 40 rows next to the other rows of their query"), "{said}");
    assert_eq!(bench.output(&["predict", "other", "own.csv"]).lines().count(), 40);
}

#[test]
fn text_that_stands_apart_is_refused_unless_it_is_to_be_sorted() {
    let bench = Bench::default();
    bench.write("a.txt", "0 qid:a 1:1\n1 qid:b 1:2\n2 qid:a 1:3\n1 qid:b 1:4\n");
    bench.write("run.toml", "data = { train = [\"a.txt\"] }\nlearner = { kind = \"regression\" }\n");
    let message = bench.refused(&["train", "run.toml", "--out", "run"]);
    assert!(
        message.contains("a.txt:3:3: found query `a` again, expected its documents on consecutive lines (it began at ")
            && message.contains("option `sort` = true puts them together"),
        "{message}"
    );
    assert!(!bench.path("run").exists());
    bench.output(&["train", "run.toml", "--out", "run", "--set", "data.read.sort=true"]);
    bench.refused(&["predict", "run", "a.txt"]);
    let scores: Vec<f32> = bench
        .output(&["predict", "run", "a.txt", "--read", "sort=true"])
        .lines()
        .map(|line| line.parse().unwrap())
        .collect();
    assert!(scores.is_sorted(), "{scores:?}");
}

/// The table with its days and users, and a configuration that splits it.
fn split_bench(by: &str) -> Bench {
    let bench = Bench::default();
    bench.write("all.csv", &table(&shuffled()));
    let columns = COLUMNS.replace("[\"title\"]", "[\"title\", \"day\", \"user\"]");
    let data = format!("[data]\ntrain = [\"all.csv\"]\nsplit = {by}\n");
    bench.write("run.toml", &format!("learner = {{ kind = \"regression\" }}\n{data}{columns}"));
    bench
}

fn report(bench: &Bench, run: &str) -> serde_json::Value {
    serde_json::from_str(&fs::read_to_string(bench.path(&format!("{run}/report.json"))).unwrap()).unwrap()
}

fn queries(report: &serde_json::Value) -> [u64; 3] {
    ["train", "validation", "test"].map(|set| report["data"][set]["statistics"]["queries"].as_u64().unwrap_or(0))
}

#[test]
fn one_file_is_split_by_query_by_group_and_by_time() {
    let bench = split_bench("{ shares = [0.5, 0.2, 0.3] }");
    bench.output(&["train", "run.toml", "--out", "run"]);
    let first = report(&bench, "run");
    assert_eq!(queries(&first), [5, 2, 3]);
    bench.output(&["train", "run.toml", "--out", "same"]);
    assert_eq!(report(&bench, "same")["data"], first["data"]);
    bench.output(&["train", "run.toml", "--out", "other", "--set", "seed=2"]);
    assert_ne!(report(&bench, "other")["data"], first["data"]);
    // The column that splits the queries is no feature, and need not be dropped.
    for (by, drop, expected) in [("{group=\"user\"}", "day", [6, 2, 2]), ("{time=\"day\"}", "user", [6, 2, 2])] {
        let set = format!("data.split={{by={by}}}");
        let drop = format!("data.columns.drop=[\"title\", \"{drop}\"]");
        bench.output(&["train", "run.toml", "--out", "split", "--overwrite", "--set", &set, "--set", &drop]);
        assert_eq!(queries(&report(&bench, "split")), expected, "{by}");
        assert_eq!(bench.output(&["predict", "split", "all.csv"]).lines().count(), 40);
    }
    // The latest sessions test, whatever the seed is: only the rows of the last two days have the same data.
    let last: Vec<String> = rows()[32..].to_vec();
    bench.write("last.csv", &table(&last));
    let set = [
        "--set",
        "data={train=[\"last.csv\"], columns={label=\"rating\", query=\"session\", id=\"url\", drop=[\"title\", \"day\", \"user\"]}}",
    ];
    bench.output(&[&["train", "run.toml", "--out", "last"][..], &set].concat());
    assert_eq!(report(&bench, "last")["data"]["train"]["hash"], report(&bench, "split")["data"]["test"]["hash"]);
}

#[test]
fn cross_validation_splits_by_group_and_by_time() {
    let bench = split_bench("{}");
    for (split, drop) in [
        ("4", "\"day\", \"user\""),
        ("{folds=5, by={group=\"user\"}}", "\"day\""),
        ("{folds=3, by={time=\"day\"}}", "\"user\""),
    ] {
        let sets = [
            format!(
                "data={{train=[\"all.csv\"], columns={{label=\"rating\", query=\"session\", id=\"url\", drop=[\"title\", {drop}]}}}}"
            ),
            format!("cv.split={split}"),
        ];
        let args = ["cv", "run.toml", "--out", "cv", "--overwrite", "--set", &sets[0], "--set", &sets[1]];
        let table = bench.output(&args);
        assert!(table.contains("std. error"), "{split}: {table}");
        // The configuration of the run says the same split.
        bench.output(&["cv", "cv/config.toml", "--out", "again", "--overwrite"]);
        let [first, again] = ["cv", "again"].map(|run| report(&bench, run));
        assert_eq!((&first["folds"], &first["measures"]), (&again["folds"], &again["measures"]), "{split}");
        assert!(first["folds"].as_array().is_some_and(|folds| folds.len() >= 3), "{first}");
    }
    // One split is one fold.
    assert!(bench.output(&["cv", "run.toml"]).contains("ndcg@10"));
}

#[test]
fn a_column_that_divides_queries_is_no_feature_of_train_either() {
    let bench = Bench::default();
    let row = |row: usize| format!("{},{},{},{}\n", row / 4, row % 3, row / 8, row * 7 % 11);
    bench.write("t.csv", &format!("query,label,customer,f\n{}", (0..80).map(row).collect::<String>()));
    bench.write("less.csv", "query,label,f\n1,1,2\n1,0,3\n");
    let data = "learner = { kind = \"regression\" }\ndata = { train = [\"t.csv\"]";
    bench
        .write("cv.toml", &format!("{data} }}\ncv = {{ split = {{ folds = 3, by = {{ group = \"customer\" }} }} }}\n"));
    bench.output(&["train", "cv.toml", "--out", "cv", "-q", "--set", "data.test=[\"t.csv\"]"]);
    assert_eq!(report(&bench, "cv")["data"]["train"]["statistics"]["features"], 1);
    let scores = bench.output(&["predict", "cv", "t.csv"]);
    assert_eq!((scores.lines().count(), bench.output(&["predict", "cv", "less.csv"]).lines().count()), (80, 2));
    bench.output(&["train", "cv.toml", "--no-out", "--set", "data.train=[\"less.csv\"]"]);
    // A column with a role keeps it.
    bench.write(
        "split.toml",
        &format!("{data}, columns = {{ drop = [\"customer\"] }}, split = {{ by = {{ time = \"query\" }} }} }}\n"),
    );
    bench.output(&["train", "split.toml", "--out", "split", "-q"]);
    assert_eq!(bench.output(&["predict", "split", "t.csv"]).lines().count(), 80);
    bench.output(&["cv", "split.toml", "--out", "folds", "--refit", "best"]);
    assert_eq!(bench.output(&["predict", "best", "t.csv"]).lines().count(), 80);
}

#[test]
fn a_cell_that_is_no_time_is_named_and_not_the_first_of_its_column() {
    let bench = Bench::default();
    bench.write(
        "run.toml",
        "data = { train = [\"t.csv\"], split = { by = { time = \"day\" } } }\nlearner = { kind = \"regression\" }\n",
    );
    let table = |first: &str, odd: &str| {
        let row =
            |query: usize| format!("0,q{query},{first},1\n1,q{query},{},2\n", if query == 7 { odd } else { first });
        format!("label,query,day,f\n{}", (0..12).map(row).collect::<String>())
    };
    for (first, odd) in [("1714559400", "x"), ("1714559400", "2024-05-01"), ("2024-05-01", "x"), ("2024-05-01", "17")] {
        bench.write("t.csv", &table(first, odd));
        let message = bench.refused(&["train", "run.toml", "--out", "run"]);
        let expected =
            format!("t.csv: row 16, column `day`: found {odd}, expected a number, a date or a time (ISO 8601)");
        assert!(message.replace('`', "").contains(&expected.replace('`', "")), "{message}");
    }
}

#[test]
fn splits_that_cannot_be_made_are_refused() {
    let bench = split_bench("{}");
    for (command, set, expected) in [
        (
            "train",
            "data.split={shares=[0.5, 0.2, 0.2]}",
            "data.split.shares: found [0.5, 0.2, 0.2], expected three shares from 0 to 1 that sum to 1",
        ),
        ("train", "data.split={by=\"querry\"}", "data.split.by: unknown variant `querry`, expected"),
        (
            "train",
            "data.split={by={group=\"usr\"}}",
            "expected a column `usr`, by which the data are split; did you mean `user`?",
        ),
        (
            "train",
            "data.split={by={group=\"url\"}}",
            "row 2, column `url`: found u1, expected u0, as in the query's rows before",
        ),
        (
            "train",
            "data.split={by={time=\"title\"}}",
            "column `title`: found title, 0, expected a number, a date or a time (ISO 8601)",
        ),
        ("train", "data.test=[\"all.csv\"]", "data.test: found 1 file, expected none with data.split"),
        (
            "train",
            "data.split={shares=[0.98, 0.01, 0.01]}",
            "data.split.shares = [0.98, 0.01, 0.01]: expected shares that leave a query to select on",
        ),
        ("cv", "cv.split=3", "cv.split: found 3, expected none with data.split: only one of them can split the data"),
        (
            "cv",
            "data.split={shares=[0.8, 0.2, 0.0]}",
            "data.split.shares = [0.8, 0.2, 0.0]: expected a third share above 0, for test queries",
        ),
        (
            "cv",
            "cv.split=\"five\"",
            "cv.split: found \"five\", expected a number of folds, or a table with `folds` and `by`",
        ),
        ("cv", "cv.split={folds=3, bye=\"query\"}", "cv.split.bye: unknown field `bye`"),
    ] {
        let message = bench.refused(&[command, "run.toml", "--set", set]);
        assert!(message.contains(expected), "{set}: {message}");
        assert!(!bench.path("runs").exists());
    }
    bench.write(
        "text.toml",
        "learner = { kind = \"regression\" }\ndata = { train = [\"a.txt\"], split = { by = { time = \"day\" } } }\n",
    );
    bench.write("a.txt", "1 qid:1 1:2\n");
    let message = bench.refused(&["train", "text.toml"]);
    assert!(
        message.contains("a.txt: found text, expected a table with a column `day`, by which the data are split"),
        "{message}"
    );
}

#[test]
fn documents_without_labels_are_scored_and_neither_measured_nor_judged() {
    let bench = bench();
    bench.output(&["train", "run.toml", "--out", "run"]);
    let labeled = "session,url,price,clicks,rating\na,x,0.5,4.25,2\na,y,0.5,0.25,0\n";
    bench.write("labeled.csv", labeled);
    bench.write("new.csv", &labeled.replace(",rating", "").replace(",2\n", "\n").replace(",0\n", "\n"));
    let scores = bench.output(&["predict", "run", "labeled.csv"]);
    assert_eq!(bench.output(&["predict", "run", "new.csv"]), scores);
    assert_eq!(bench.output(&["predict", "run", "new.csv", "--run-id", "t"]).lines().count(), 2);
    for refused in [&["eval", "run", "new.csv"][..], &["predict", "run", "new.csv", "--run-id", "t", "--qrels", "q"]] {
        let message = bench.refused(refused);
        assert!(message.contains("new.csv:") && message.contains("expected a column `rating`, which"), "{message}");
    }
}

#[test]
fn a_table_from_a_pipe_is_told_by_its_header() {
    let bench = bench();
    bench.output(&["train", "run.toml", "--out", "run"]);
    let expected = bench.output(&["predict", "run", "own.csv"]);
    let text = fs::read_to_string(bench.path("own.csv")).unwrap();
    for name in ["-", "/dev/stdin"] {
        let piped = bench.command(&["predict", "run", name]).write_stdin(text.clone()).assert().success();
        assert_eq!(String::from_utf8_lossy(&piped.get_output().stdout), expected, "{name}");
    }
}

#[test]
fn a_name_of_csv_is_refused_where_no_csv_is_written() {
    let bench = bench();
    for name in ["made.csv", "made.tsv", "made.csv.gz"] {
        for command in [
            &["synth", "--queries", "3", "--out", name][..],
            &["convert", "own.csv", name, "--read", "columns.query=session"],
        ] {
            let message = bench.refused(command);
            assert!(
                message.contains(&format!("{name}: expected a name that ends in .arrow, .parquet or .txt")),
                "{message}"
            );
            assert!(!bench.path(name).exists());
        }
    }
}
