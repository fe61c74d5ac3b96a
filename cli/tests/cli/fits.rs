//! Data that do not fit a ranker are refused, and the names of features go wherever a ranker goes.

use std::fmt::Write;
use std::fs;

use serde_json::Value;

use super::Bench;
use super::init::contains_all;

const CONFIG: &str = r#"
loss = { name = "lambda_ndcg" }
learner = { kind = "boosted_trees", rounds = 5, leaves = 4, min_documents = 2 }
data = { train = ["train.csv"], read = { missing = "keep" }, columns = { label = "grade", query = "session", drop = ["title"] } }
"#;

/// Twelve sessions of five rows. `price [EUR]` is missing in some rows, and `ctr <7d` says the grade.
fn table() -> String {
    let mut text = String::from("session,grade,title,price [EUR],ctr <7d,age\n");
    for row in 0..60 {
        let (grade, price) = (row * 7 % 3, row * 13 % 29);
        let price = if row % 11 == 0 { String::new() } else { format!("{price}.5") };
        writeln!(text, "s{},{grade},shoe {row},{price},{grade}.{},{}", row / 5, row % 10, row * 31 % 17).unwrap();
    }
    text
}

/// A ranker of a table in `run`.
fn bench() -> Bench {
    let bench = Bench::default();
    bench.write("train.csv", &table());
    bench.write("run.toml", CONFIG);
    bench.output(&["train", "run.toml", "--out", "run", "-q"]);
    bench
}

/// The columns of [`table`] with these places, in this order.
fn columns(places: &[usize]) -> String {
    let line = |line: &str| {
        let fields: Vec<&str> = line.split(',').collect();
        format!("{}\n", places.iter().map(|&place| fields[place]).collect::<Vec<_>>().join(","))
    };
    table().lines().map(line).collect()
}

fn report(bench: &Bench, run: &str) -> Value {
    serde_json::from_str(&fs::read_to_string(bench.path(&format!("{run}/report.json"))).unwrap()).unwrap()
}

/// Returns the standard output and the standard error of a command.
fn both(bench: &Bench, args: &[&str]) -> [String; 2] {
    let done = bench.run(args).success();
    [&done.get_output().stdout, &done.get_output().stderr].map(|text| String::from_utf8(text.clone()).unwrap())
}

#[test]
fn a_table_without_features_of_the_ranker_is_refused_by_their_names() {
    let bench = bench();
    let scores = bench.output(&["predict", "run", "train.csv"]);
    // Other columns, and another order of columns, change nothing.
    bench.write("moved.csv", &columns(&[5, 2, 4, 0, 3]).replace("shoe", "word"));
    assert_eq!(bench.output(&["predict", "run", "moved.csv"]), scores);
    bench.write("less.csv", &columns(&[0, 1, 4]));
    for command in
        [&["predict", "run", "less.csv"][..], &["eval", "run", "less.csv"], &["importance", "run", "less.csv"]]
    {
        let message = bench.refused(command);
        contains_all(&message, &["less.csv: found no columns `price [EUR]`, `age` among 1 column of features"]);
    }
    bench.write("none.csv", "query,price,ctr\n1,0.5,2\n1,1.5,1\n");
    let message = bench.refused(&["predict", "run", "none.csv"]);
    contains_all(&message, &["none.csv: found no columns `price [EUR]`, `ctr <7d`, `age` among 2 columns of features"]);
}

/// A ranker of five features with numbers in `run`, and its data.
fn numbered() -> Bench {
    let bench = Bench::default();
    bench.output(&["synth", "--queries", "12", "--features", "5", "--out", "d.txt"]);
    bench.write("fit.toml", "data = { train = [\"d.txt\"] }\nlearner = { kind = \"regression\" }\n");
    bench.output(&["train", "fit.toml", "--out", "run", "-q"]);
    bench
}

/// The data of [`numbered`] as a table whose features have these names.
fn named(bench: &Bench, name: impl Fn(usize) -> String, order: &[usize]) -> String {
    let header: Vec<String> = order.iter().map(|&feature| name(feature)).collect();
    let mut text = format!("qid,label,{}\n", header.join(","));
    for line in fs::read_to_string(bench.path("d.txt")).unwrap().lines() {
        let fields: Vec<&str> = line.split('#').next().unwrap().split_whitespace().collect();
        let value = |feature: usize| {
            let found = fields.iter().filter_map(|field| field.strip_prefix(&format!("{feature}:"))).next();
            found.unwrap_or("0").to_owned()
        };
        let values: Vec<String> = order.iter().map(|&feature| value(feature)).collect();
        writeln!(text, "{},{},{}", &fields[1]["qid:".len()..], fields[0], values.join(",")).unwrap();
    }
    text
}

#[test]
fn a_ranker_of_text_takes_a_table_by_the_numbers_of_its_features() {
    let bench = numbered();
    let scores = bench.output(&["predict", "run", "d.txt"]);
    bench.output(&["convert", "d.txt", "d.arrow"]);
    assert_eq!(bench.output(&["predict", "run", "d.arrow"]), scores);
    for (name, order) in [("feature_", [1, 2, 3, 4, 5]), ("", [4, 2, 5, 1, 3])] {
        bench.write("numbers.csv", &named(&bench, |feature| format!("{name}{feature}"), &order));
        assert_eq!(bench.output(&["predict", "run", "numbers.csv"]), scores, "{name}");
    }
    // Names say nothing of numbers, whatever their count.
    let letter = |feature: usize| ["price", "ctr", "age", "stock", "speed"][feature - 1].to_owned();
    for order in [&[1, 2][..], &[1, 2, 3, 4, 5]] {
        bench.write("letters.csv", &named(&bench, letter, order));
        let message = bench.refused(&["predict", "run", "letters.csv"]);
        let expected =
            "expected the features 1 to 5 of a ranker that knows no names: a column `features` of lists, or columns";
        contains_all(&message, &["letters.csv: found columns `price`, `ctr`", expected]);
    }
    bench.write("less.csv", &named(&bench, |feature| format!("feature_{feature}"), &[1, 3]));
    let message = bench.refused(&["predict", "run", "less.csv"]);
    contains_all(&message, &["less.csv: found no columns `feature_2`, `feature_4`, `feature_5` among 2 columns"]);
}

#[test]
fn features_beyond_those_of_the_ranker_are_refused_with_file_and_feature() {
    let bench = numbered();
    bench.write("wide.txt", "1 qid:1 1:1 5:2\n0 qid:1 1:2 9:1 12:3\n");
    for command in ["predict", "eval", "importance"] {
        let message = bench.refused(&[command, "run", "wide.txt"]);
        contains_all(&message, &["wide.txt:2:", "found `9:1`", "a feature index of at most 5, as the ranker has"]);
    }
    bench.write("wide.csv", "qid,label,1,2,3,4,5,6\n1,1,1,1,1,1,1,1\n1,0,1,1,1,1,1,1\n");
    let message = bench.refused(&["predict", "run", "wide.csv"]);
    contains_all(&message, &["wide.csv: found column `6`, expected the features 1 to 5 of the ranker"]);
    // Lists have all features, and no more.
    for (features, expected) in [("4", "found 4 features, expected 5"), ("7", "found 7 features, expected at most 5")] {
        bench.output(&["synth", "--queries", "3", "--features", features, "--out", "lists.arrow"]);
        let message = bench.refused(&["predict", "run", "lists.arrow"]);
        contains_all(&message, &["lists.arrow: ", expected, "ranker has"]);
    }
    // A sparse line may leave some out.
    bench.write("few.txt", "1 qid:1 1:1 3:2\n0 qid:1 1:2\n");
    let [scores, said] = both(&bench, &["predict", "run", "few.txt"]);
    assert_eq!(scores.lines().count(), 2);
    assert_eq!(said, "warning: few.txt has features 1 to 3, but run has 5: the missing ones count as 0\n");
}

#[test]
fn a_feature_that_text_leaves_out_is_missing_where_it_was_in_training() {
    let bench = Bench::default();
    bench.write("d.txt", "1 qid:1 1:1 2:1\n0 qid:1 1:2\n2 qid:2 1:1 2:3\n0 qid:2 1:1\n");
    let data = "data = { train = [\"d.txt\"], read = { missing = \"indicator\", absent = \"missing\" } }\n";
    bench.write("fit.toml", &format!("{data}learner = {{ kind = \"regression\" }}\n"));
    bench.output(&["train", "fit.toml", "--out", "run", "-q"]);
    bench.write("few.txt", "1 qid:1 1:1\n");
    let [scores, said] = both(&bench, &["predict", "run", "few.txt"]);
    assert!(said.contains("few.txt has only feature 1, but run has 2: the missing ones count as missing"), "{said}");
    bench.write("nan.txt", "1 qid:1 1:1 2:nan\n");
    assert_eq!(bench.output(&["predict", "run", "nan.txt"]), scores);
}

#[test]
fn eval_and_predict_name_the_columns_that_the_ranker_was_trained_with() {
    let bench = bench();
    bench.write("new.csv", &columns(&[0, 3, 4, 5]));
    assert_eq!(bench.output(&["predict", "run", "new.csv"]).lines().count(), 60);
    let message = bench.refused(&["eval", "run", "new.csv"]);
    let option = "which the ranker was trained with, or another named by option";
    contains_all(
        &message,
        &["new.csv: found columns", &format!("expected a column `grade`, {option} `columns.label`")],
    );
    bench.write("whose.csv", &columns(&[3, 4, 5]));
    let message = bench.refused(&["predict", "run", "whose.csv"]);
    contains_all(&message, &[&format!("expected a column `session`, {option} `columns.query`")]);
    // A column of another name by the option, as the message says.
    bench.write("other.csv", &table().replacen("grade", "rating", 1));
    let named = ["eval", "run", "other.csv", "--read", "columns.label=rating"];
    assert_eq!(bench.output(&named), bench.output(&["eval", "run", "train.csv"]));
}

fn mean(bench: &Bench, args: &[&str]) -> f64 {
    let found: Value = serde_json::from_str(&bench.output(&[args, &["-m", "ndcg", "--json"]].concat())).unwrap();
    found["measures"]["ndcg"].as_f64().unwrap()
}

#[test]
fn compare_reads_the_data_for_each_ranker_as_it_was_trained() {
    let bench = bench();
    // Another treatment of missing values, and other columns.
    let train = |out: &str, sets: &[&str]| {
        let sets: Vec<&str> = sets.iter().flat_map(|set| ["--set", set]).collect();
        let config = if out == "mean" { "mean.toml" } else { "run.toml" };
        bench.output(&[&["train", config, "--out", out, "-q"][..], &sets].concat());
    };
    let data = CONFIG.lines().last().unwrap();
    bench.write("mean.toml", &format!("learner = {{ kind = \"regression\" }}\n{data}\n"));
    train("zero", &["data.read.missing=zero", "data.columns.drop=[\"title\", \"ctr <7d\"]"]);
    train("mean", &["data.read.missing=indicator"]);
    bench.output(&["convert", "run", "lgb.txt"]);
    bench.output(&["convert", "run", "xgb.json", "--format", "xgboost"]);
    let systems = ["run", "zero", "mean", "lgb.txt", "xgb.json"];
    let args =
        [&["compare"][..], &systems, &["train.csv", "-m", "ndcg", "-c", "standard", "--json", "--resamples", "10"]];
    let found: Value = serde_json::from_str(&bench.output(&args.concat())).unwrap();
    for (at, system) in systems.iter().enumerate() {
        let own = if system.contains('.') {
            let columns = ["--read", "columns.label=grade", "--read", "columns.query=session"];
            mean(&bench, &[&["eval", system, "train.csv", "-c", "standard"][..], &columns].concat())
        } else {
            mean(&bench, &["eval", system, "train.csv", "-c", "standard"])
        };
        assert_eq!(found["measures"]["ndcg"]["means"][at].as_f64(), Some(own), "{system}: {found}");
    }
    // The option is for all.
    bench.output(&["compare", "run", "mean", "train.csv", "--missing", "zero"]);
    let piped = bench.command(&["compare", "run", "zero", "-"]).write_stdin(table()).assert().code(2);
    let message = String::from_utf8_lossy(&piped.get_output().stderr).into_owned();
    contains_all(&message, &["-: expected a file, since it is read twice: run and zero"]);
    train("other", &["data.columns.label=age", "data.columns.drop=[\"title\", \"grade\"]"]);
    let message = bench.refused(&["compare", "run", "other", "train.csv"]);
    contains_all(
        &message,
        &["run and other were trained on different labels of these data", "--read columns.label=NAME"],
    );
    bench.output(&["compare", "run", "other", "train.csv", "--read", "columns.label=grade"]);
}

#[test]
fn names_of_features_go_into_exports_cards_reports_and_contributions() {
    let bench = bench();
    let names = ["price [EUR]", "ctr <7d", "age"];
    bench.output(&["convert", "run", "run.onnx"]);
    let list = serde_json::to_string(&names).unwrap();
    let bytes = fs::read(bench.path("run.onnx")).unwrap();
    for part in ["feature_names", &list] {
        assert!(bytes.windows(part.len()).any(|window| window == part.as_bytes()), "{part}");
    }
    // What a system takes in no name becomes `_`, and a note says so.
    let [_, said] = both(&bench, &["convert", "run", "lgb.txt"]);
    contains_all(
        &said,
        &["LightGBM does not accept names with blanks or", "`price [EUR]` is `price__EUR_`, `ctr <7d` is `ctr_<7d`"],
    );
    let text = fs::read_to_string(bench.path("lgb.txt")).unwrap();
    assert!(text.contains("\nfeature_names=price__EUR_ ctr_<7d age\n"), "{text}");
    let [_, said] = both(&bench, &["convert", "run", "xgb.json", "--format", "xgboost"]);
    contains_all(
        &said,
        &["XGBoost does not accept names with `[`, `]` or `<`: `price [EUR]` is `price _EUR_`, `ctr <7d` is"],
    );
    let file: Value = serde_json::from_str(&fs::read_to_string(bench.path("xgb.json")).unwrap()).unwrap();
    assert_eq!(file["learner"]["feature_names"], serde_json::json!(["price _EUR_", "ctr _7d", "age"]));
    // They come back, and find the columns of the table.
    let columns = ["--read", "columns.query=session"];
    let scores = bench.output(&["predict", "run", "train.csv"]);
    for file in ["lgb.txt", "xgb.json"] {
        assert_eq!(bench.output(&[&["predict", file, "train.csv"][..], &columns].concat()), scores, "{file}");
    }
    let card = bench.output(&["models", "show", "run"]);
    contains_all(
        &card,
        &["| 1 | `price [EUR]` |\n| 2 | `ctr <7d` |\n| 3 | `age` |", "| columns that are not read | `title` |"],
    );
    assert!(fs::read_to_string(bench.path("run/README.md")).unwrap().contains("| 2 | `ctr <7d` |"));
    let shown: Value = serde_json::from_str(&bench.output(&["models", "show", "run", "--json"])).unwrap();
    assert_eq!(shown["metadata"]["feature_names"], serde_json::json!(names));
    assert_eq!(shown["dropped_columns"], serde_json::json!(["title"]));
    assert_eq!(report(&bench, "run")["feature_names"], serde_json::json!(names));
    let page = fs::read_to_string(bench.path("run/report.html")).unwrap();
    contains_all(&page, &["mean score by ctr &lt;7d", "price [EUR]"]);
    let importance = bench.output(&["importance", "run", "train.csv", "--repeats", "2"]);
    contains_all(&importance, &["ctr <7d"]);
    let found = bench.output(&["predict", "run", "train.csv", "--contributions", "--header"]);
    assert_eq!((found.lines().next(), found.lines().count()), (Some("price [EUR]\tctr <7d\tage\texpected"), 61));
}

#[test]
fn solr_refuses_missing_values_with_the_way_out() {
    let bench = Bench::default();
    // Documents without a change of price are as bad as those with the lower change, so that missing values go left.
    let write = |file: &str, changes: [&str; 3]| {
        let row = |row: usize| format!("s{},{},,{}\n", row / 6, [0, 0, 2][row % 3], changes[row % 3]);
        let rows: String = (0..60).map(row).collect();
        bench.write(file, &format!("session,grade,title,price\n{rows}"));
    };
    write("train.csv", ["", "-2", "-1"]);
    bench.write("run.toml", CONFIG);
    bench.output(&["train", "run.toml", "--out", "run", "-q"]);
    let message = bench.refused(&["convert", "run", "solr.json", "--format", "solr"]);
    contains_all(&message, &["missing values go left", "as after training with `missing` = \"zero\""]);
    bench.output(&["train", "run.toml", "--out", "zero", "-q", "--set", "data.read.missing=zero"]);
    bench.output(&["convert", "zero", "solr.json", "--format", "solr"]);
    // Where missing values go left as 0 does, Solr, which takes them for 0, agrees with the ranker.
    write("positive.csv", ["", "1", "2"]);
    bench.output(&["train", "run.toml", "--out", "as-zero", "-q", "--set", "data.train=[\"positive.csv\"]"]);
    bench.output(&["convert", "as-zero", "as-zero.json", "--format", "solr"]);
}
