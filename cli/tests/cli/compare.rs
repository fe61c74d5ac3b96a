//! `compare`: tests between systems, and systems that cannot be compared.

use serde_json::Value;

use super::Bench;
use super::bad_input::contains;

/// Four queries of two documents: the first three have a relevant and an irrelevant one, the last has no relevant one.
const DATA: &str =
    "1 qid:1 1:0\n0 qid:1 1:0\n1 qid:2 1:0\n0 qid:2 1:0\n1 qid:3 1:0\n0 qid:3 1:0\n0 qid:4 1:0\n0 qid:4 1:0\n";
/// `A` is wrong for all three queries with a relevant document, `B` is right for two of them.
const A: &str = "0\n1\n0\n1\n0\n1\n0\n0\n";
const B: &str = "1\n0\n1\n0\n0\n1\n0\n0\n";

fn bench() -> Bench {
    let bench = Bench::default();
    bench.write("data", DATA);
    bench.write("a", A);
    bench.write("b", B);
    bench
}

#[test]
fn two_systems_agree_with_values_worked_by_hand() {
    // Reciprocal ranks 1/2 1/2 1/2 and 1 1 1/2: differences 1/2 1/2 0, of mean 1/3 and deviation sqrt(1/12), so that t
    // = 2 with 2 degrees of freedom; 2 of the 4 sign assignments of two halves are as far from 0 as the observed one.
    let expected = "\
convention standard, 4 queries, 1 empty
compared on 3 of them

mean     mrr
a     0.5000
b     0.8333

mrr       diff      low     high       t  random      d  win/tie/loss
b - a  +0.3333  +0.0000  +0.5000  0.1835  0.5000  +1.15         2/1/0

mrr       a       b    b - a
1    0.5000  1.0000  +0.5000
2    0.5000  1.0000  +0.5000
3    0.5000  0.5000  +0.0000
4         -       -

low, high: 95% bootstrap interval; t, random: two-sided p-values;
d: effect size; win/tie/loss: queries. 100000 resamples, seed 0.
How to read this: burn-rank compare --help

verdict  mrr: no difference shown between a and b. 3 queries are too few to show
         one.
";
    assert_eq!(bench().output(&["compare", "a", "b", "data", "-m", "mrr", "-q"]), expected);
}

#[test]
fn json_has_every_test_in_full() {
    let bench = bench();
    let compare = ["compare", "a", "b", "data", "-m", "mrr,map", "--json", "--seed", "7", "--resamples", "3"];
    let text = bench.output(&compare);
    let value: Value = serde_json::from_str(&text).unwrap();
    assert_eq!((&value["queries"], &value["empty_queries"]), (&Value::from(4), &Value::from(1)));
    assert_eq!(value["systems"], serde_json::json!(["a", "b"]));
    let pair = &value["measures"]["mrr"]["pairs"][0];
    assert_eq!((&pair["queries"], &pair["wins"], &pair["losses"]), (&3.into(), &2.into(), &0.into()));
    assert!((pair["t_test"]["t"].as_f64().unwrap() - 2.0).abs() < 1e-12);
    assert_eq!(pair["randomization"]["exact"], false, "4 assignments are more than 3 resamples");
    assert_eq!(pair["bootstrap"]["samples"], 3);
    assert!(pair.get("tukey").is_none());
    // The result depends on the seed, but not on the number of threads.
    for threads in ["1", "2"] {
        let again = bench.command(&compare).env("RAYON_NUM_THREADS", threads).output().unwrap();
        assert_eq!(String::from_utf8(again.stdout).unwrap(), text);
    }
}

#[test]
fn more_than_two_systems_get_tukeys_test() {
    let bench = bench();
    bench.write("c", A);
    let table = bench.output(&["compare", "a", "b", "c", "data", "-m", "mrr,ndcg@10", "--resamples", "1000"]);
    for row in ["b - a  +0.3333", "c - a  +0.0000", "c - b  -0.3333"] {
        assert!(table.contains(row), "{row} is not in\n{table}");
    }
    assert!(table.lines().all(|line| line.chars().count() <= 80), "fits 80 columns:\n{table}");
    // The measures agree here, and three queries are too few for any verdict but this.
    let verdict = "verdict  mrr: b has the highest mean, 0.8333. The test distinguishes none of the\n         others from it (Tukey's test, p >= 0.05).\n";
    assert!(table.contains(verdict), "{table}");
    let value: Value =
        serde_json::from_str(&bench.output(&["compare", "a", "b", "c", "data", "-m", "mrr", "--json"])).unwrap();
    let pairs = value["measures"]["mrr"]["pairs"].as_array().unwrap();
    assert_eq!(pairs.len(), 3);
    assert_eq!(pairs[1]["tukey"]["p_value"], 1.0, "A and C are the same");
    let [first, last] = [0, 2].map(|pair| pairs[pair]["tukey"]["p_value"].as_f64().unwrap());
    assert!((first - last).abs() < 1e-12 && first < 0.5, "{first} {last}");
}

#[test]
fn runs_are_compared_on_the_same_queries() {
    let bench = bench();
    bench.write("qrels", "1 0 x 1\n1 0 y 0\n2 0 x 1\n2 0 y 0\n3 0 x 1\n");
    let run = |tag: &str, queries: &[(&str, &str)]| -> String {
        queries.iter().map(|(query, first)| format!("{query} Q0 {first} 1 2 {tag}\n{query} Q0 z 2 1 {tag}\n")).collect()
    };
    bench.write("one", &run("first", &[("1", "x"), ("2", "y")]));
    bench.write("two", &run("second", &[("2", "x"), ("1", "x")]));
    let table = bench.output(&["compare", "one", "two", "--qrels", "qrels", "-m", "mrr", "-q"]);
    for row in [
        "convention trec_eval, 2 queries, 0 empty",
        "one  one (first)",
        "two  two (second)",
        "two - one  +0.5000",
        "2    0.0000  1.0000    +1.0000",
    ] {
        assert!(table.contains(row), "{row} is not in\n{table}");
    }
    let complete = bench.output(&["compare", "one", "two", "--qrels", "qrels", "-m", "mrr", "--complete"]);
    assert!(complete.contains("compared on 3 of them") && complete.contains("two - one  +0.3333"), "{complete}");

    bench.write("part", &run("part", &[("2", "x")]));
    for (runs, lacking, having) in [(["one", "part"], "part", "one"), (["part", "one"], "part", "one")] {
        assert_eq!(
            bench.refused(&["compare", runs[0], runs[1], "--qrels", "qrels"]),
            format!(
                "error: {lacking}: found no document for query `1`, which {having} has; \
                 --complete counts missing queries as empty lists\n"
            )
        );
    }
    bench.output(&["compare", "one", "part", "--qrels", "qrels", "--complete"]);
    bench.write("bad", "1 Q0 x one high tag\n");
    assert_eq!(
        bench.refused(&["compare", "one", "bad", "--qrels", "qrels"]),
        "error: bad:1:12: found `high`, expected a finite score\n"
    );
}

#[test]
fn systems_that_cannot_be_compared_are_refused() {
    let bench = bench();
    bench.write("short", "1\n0\n");
    bench.write("run", "1 Q0 x 1 2 tag\n");
    bench.write("none", "0 qid:1 1:0\n0 qid:1 1:1\n");
    let refused = |args: &[&str]| bench.refused(&[&["compare"], args].concat());
    assert_eq!(refused(&["a", "short", "data"]), "error: short: found 2 scores, expected 8, one per document\n");
    assert_eq!(
        refused(&["a", "run", "data"]),
        "error: run: found a TREC run, expected one score per line (a TREC run is read with --qrels)\n"
    );
    contains(&refused(&["a", "b", "data", "-m", "mapp"]), &["unknown measure `mapp`", "did you mean `map`?"]);
    contains(&refused(&["a", "b", "data", "-c", "leter"]), &["did you mean `letor`?"]);
    contains(&refused(&["a", "b", "data", "--confidence", "1"]), &["confidence = 1", "between 0 and 1"]);
    contains(&refused(&["a", "data"]), &["expected two systems or more and DATA"]);
    assert_eq!(refused(&["a", "dat"]), "error: dat: found no such file or folder\n");
    contains(&refused(&["a", "--qrels", "data"]), &["expected two runs or more with --qrels"]);
    contains(&refused(&["run", "run", "--qrels", "data", "--missing", "zero"]), &["found TREC runs"]);
    contains(
        &refused(&["short", "short", "none"]),
        &["ndcg@10 has no mean", "none of which has a label with a gain above 0"],
    );
    contains(&refused(&["short", "short", "data.safetensors"]), &["data.safetensors"]);
    bench.run(&["compare"]).code(2);
    bench.run(&["compare", "a", "b", "data", "--resamples", "0"]).code(2);
}

/// Runs two cross-validations of the same folds, one of other folds, one in another convention, and a `train` run.
fn finished_runs() -> Bench {
    let bench = Bench::default();
    bench.output(&[
        "synth",
        "--queries",
        "24",
        "--features",
        "5",
        "--median-length",
        "6",
        "--parts",
        "4",
        "--out",
        "parts",
    ]);
    let config = "[data]\nfolds = \"parts\"\n[learner]\nkind = \"regression\"\nlambda = [1.0]\n[measure]\nreport = [\"ndcg@10\", \"map\"]\n";
    bench.write("config.toml", config);
    for (run, set) in [
        ("cv/a", "learner.lambda=[1.0]"),
        ("cv/b", "learner.lambda=[1000.0]"),
        ("cv/letor", "measure.convention=letor"),
        ("cv/two", "cv.folds=[1,2]"),
    ] {
        bench.output(&["cv", "config.toml", "--set", set, "--out", run]);
    }
    bench.output(&["train", "config.toml", "--out", "train"]);
    bench
}

#[test]
fn finished_runs_are_compared_by_their_reports() {
    let bench = finished_runs();
    let read =
        |name: &str| -> Value { serde_json::from_str(&std::fs::read_to_string(bench.path(name)).unwrap()).unwrap() };
    let text = bench.output(&["compare", "cv/a", "cv/b", "--json", "-q", "--resamples", "100"]);
    let found: Value = serde_json::from_str(&text).unwrap();
    let report = read("cv/b/report.json");
    let folds = report["details"].as_array().unwrap();
    for measure in ["ndcg@10", "map"] {
        let values = folds.iter().flat_map(|fold| fold["per_query"]["values"][measure].as_array().unwrap());
        let counted: Vec<f64> = values.filter_map(Value::as_f64).collect();
        let mean = counted.iter().sum::<f64>() / counted.len() as f64;
        let of_second = found["measures"][measure]["means"][1].as_f64().unwrap_or_else(|| panic!("{found}"));
        assert!((of_second - mean).abs() < 1e-12, "{measure}: {of_second} for {mean}");
    }
    assert_eq!(found["queries"], 24, "every query is tested in one fold");

    // A run of one fold gives the same by its report and by its ranker.
    let by_report = bench.output(&["compare", "train", "train", "-m", "map", "--resamples", "10"]);
    assert!(by_report.starts_with("convention standard, 6 queries"), "{by_report}");
    let test = "parts/S4.txt";
    let by_ranker = bench.output(&["compare", "train", "train", test, "-m", "map", "--resamples", "10"]);
    assert_eq!(by_ranker, by_report);
    let file = bench.output(&["eval", "train/ranker.safetensors", test]);
    assert_eq!(bench.output(&["eval", "train", test]), file);
}

#[test]
fn runs_without_test_queries_say_which_queries_they_were_measured_on() {
    let bench = Bench::default();
    let data = |documents: usize| {
        let row = |at: usize| {
            let (query, place) = (at / documents, at % documents);
            let label = if place == query % documents { "0.5" } else { "0" };
            format!("{label} qid:{query} 1:{} 2:{}\n", query * 7 % 5 + place, place * query % 4)
        };
        (0..12 * documents).map(row).collect::<String>()
    };
    bench.write("half.txt", &data(3));
    let convention = "measure = { convention = { preset = \"standard\", gain = \"linear\", relevant_from = 0.5 } }\n";
    let learner = "learner = { kind = \"regression\" }\n";
    bench.write("a.toml", &format!("data = {{ train = [\"half.txt\"] }}\n{learner}{convention}"));
    for out in ["a", "b"] {
        bench.output(&["train", "a.toml", "--out", out, "--quiet"]);
    }
    let compare = ["compare", "a", "b", "--resamples", "10"];
    let text = bench.output(&compare);
    // A label of 0.5 is relevant.
    assert!(text.starts_with("convention custom, 12 training queries, 0 empty\n"), "{text}");
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let caution = "There are no test queries, so the training queries that chose the rounds also test the runs.";
    assert!(words.contains(&format!("note {caution}")), "{text}");
    bench.output(&[&compare[..], &["--html", "page.html"]].concat());
    assert!(bench.text("page.html").contains(caution));
    // A file of a run is not overwritten.
    let report = bench.text("a/report.json");
    contains(
        &bench.refused(&[&compare[..], &["--html", "a/report.json"]].concat()),
        &["--html a/report.json: expected a different file"],
    );
    assert_eq!(bench.text("a/report.json"), report);
    // Another run has as many queries of the same names, with other documents.
    bench.write("half.txt", &data(4));
    bench.output(&["train", "a.toml", "--out", "other", "--quiet"]);
    let table = bench.output(&["report", "a", "b", "other"]);
    assert!(table.contains("The runs were measured on 2 different sets of queries."), "{table}");
    // A cross-validation counts empty queries by the convention, too.
    let cv = bench.output(&["cv", "a.toml", "--set", "cv.split=3", "--out", "cv"]);
    assert!(cv.contains("12 test queries, 0 empty"), "{cv}");
}

#[test]
fn a_file_of_scores_has_no_convention() {
    let bench = Bench::default();
    bench.output(&["synth", "--queries", "12", "--features", "4", "--out", "data.txt"]);
    let data = "data = { train = [\"data.txt\"] }\nlearner = { kind = \"regression\" }\n";
    bench.write("a.toml", &format!("{data}measure = {{ convention = \"letor\" }}\n"));
    bench.output(&["train", "a.toml", "--out", "a", "--quiet"]);
    bench.write("scores", &bench.output(&["predict", "a", "data.txt"]));
    for systems in [["a", "scores"], ["scores", "a"]] {
        let text = bench.output(&["compare", systems[0], systems[1], "data.txt", "--resamples", "10"]);
        assert!(text.starts_with("convention letor, "), "{text}");
    }
}

#[test]
fn documents_that_share_an_identifier_are_shown_by_number() {
    let bench = bench();
    bench.write("data", &DATA.lines().map(|line| format!("{line} #docid = x\n")).collect::<String>());
    bench.output(&["compare", "a", "b", "data", "-m", "mrr", "--html", "page.html"]);
    let row = "<tr><th scope=\"row\">1</th><td>1</td><td>2</td><td>1</td><td>1</td></tr>";
    assert!(bench.text("page.html").contains(row));
}

#[test]
fn finished_runs_that_cannot_be_compared_are_refused() {
    let bench = finished_runs();
    let refused = |args: &[&str]| bench.refused(&[&["compare"], args].concat());
    assert_eq!(
        refused(&["cv/a", "cv/letor"]),
        "error: cv/letor: found the convention \"letor\", expected \"standard\", as in cv/a\n"
    );
    assert_eq!(
        refused(&["cv/a", "cv/two"]),
        "error: cv/two: measured on other queries, features or folds than cv/a: compare rankers on their data\n"
    );
    assert_eq!(
        refused(&["cv/a", "cv/b", "-m", "p@7"]),
        "error: cv/a: no values of p@7, found map, ndcg@10; `measure.report` lists what a run keeps\n"
    );
    contains(&refused(&["cv/a", "cv/b", "-c", "letor"]), &["found values in the convention standard, expected letor"]);
    contains(&refused(&["cv/a", "parts"]), &["parts: no report.json here; expected the folder of a finished run"]);
    contains(&refused(&["cv/a", "train", "parts/S4.txt"]), &["cv/a: no ranker.safetensors here"]);
    contains(&refused(&["cv/a"]), &["two folders of finished runs or more; found 1 in all"]);
    contains(&refused(&["cv/a", "cv/b", "--read", "label=foo"]), &["expected data to read by them, found folders of"]);
}

#[test]
fn a_page_shows_which_queries_changed_and_leaves_the_tables_as_they_are() {
    let bench = bench();
    let compare = ["compare", "a", "b", "data", "-m", "mrr"];
    let tables = bench.output(&compare);
    let written = format!("{tables}written to page.html\n");
    assert_eq!(bench.output(&[&compare[..], &["--html", "page.html"]].concat()), written);
    let page = std::fs::read_to_string(bench.path("page.html")).unwrap();
    assert_eq!(bench.output(&[&compare[..], &["--html", "-"]].concat()), page);
    for part in [
        "<title>a, b \u{b7} burn-rank compare</title>",
        "<p class=\"verdict open\">mrr: no difference shown between a and b.",
        "mrr: mean differences with 95% intervals",
        "<td>+0.3333</td><td>+0.0000</td><td>+0.5000</td><td>0.1835</td><td>0.5000</td>",
        "query 2: +0.5000, from 0.5000 to 1.0000",
        // The relevant document is the second by A and the first by B.
        "<tr><th scope=\"row\">1</th><td>1</td><td>2</td><td>1</td><td>1</td></tr>",
    ] {
        assert!(page.contains(part), "{part}");
    }
    assert!(!page.contains("From a to b: lost"));
    let message = bench.refused(&[&compare[..], &["--html", "b"]].concat());
    assert!(message.contains("--html b: expected a different file: this one is read"), "{message}");
}

#[test]
fn a_paper_gets_a_table_in_latex_and_a_forest_plot() {
    let bench = bench();
    bench.write("c_d", B);
    let compare = ["compare", "a", "b", "c_d", "data", "-m", "mrr,ndcg@10", "--resamples", "100"];
    let table = "\
% 4 queries (1 empty), convention standard. Needs the package booktabs.
% Bold: the highest mean. Dagger: not distinguished from it (Tukey's HSD, level 5.000\\%).
\\begin{tabular}{lrr}
\\toprule
 & mrr & ndcg@10 \\\\
\\midrule
a & 0.5000$^\\dagger$ & 0.6309$^\\dagger$ \\\\
b & \\textbf{0.8333} & \\textbf{0.8770} \\\\
c\\_d & \\textbf{0.8333} & \\textbf{0.8770} \\\\
\\bottomrule
\\end{tabular}
";
    assert_eq!(bench.output(&[&compare[..], &["--latex", "-"]].concat()), table);
    let both = bench.output(&[&compare[..], &["--latex", "t.tex", "--svg", "forest.svg"]].concat());
    assert!(both.ends_with("\nwritten to t.tex, forest.svg\n"), "{both}");
    assert_eq!(std::fs::read_to_string(bench.path("t.tex")).unwrap(), table);
    let svg = std::fs::read_to_string(bench.path("forest.svg")).unwrap();
    assert!(svg.starts_with("<svg xmlns=\"http://www.w3.org/2000/svg\" width=") && svg.ends_with("</svg>\n"), "{svg}");
    // Two measures of three pairs, and the names of both.
    assert_eq!(svg.matches("<circle").count(), 6);
    assert!(svg.contains("mrr: c_d \u{2212} a"), "{svg}");
    let message = bench.refused(&[&compare[..], &["--latex", "x", "--svg", "x"]].concat());
    assert_eq!(message, "error: --svg x: expected a different file from --latex\n");
    let message = bench.refused(&[&compare[..], &["--latex", "x", "--svg", "./x"]].concat());
    assert_eq!(message, "error: --svg ./x: expected a different file from --latex\n");
    // Files that belong together are written together.
    let message = bench.refused(&[&compare[..], &["--latex", "new.tex", "--svg", "none/x.svg"]].concat());
    assert!(message.contains("none/x.svg: cannot write") && !bench.path("new.tex").exists(), "{message}");
    for option in ["--html", "--latex", "--svg"] {
        let message = bench.refused(&[&compare[..], &["--json", option, "-"]].concat());
        let expected = "expected a file: standard output can hold only one of the two";
        assert_eq!(message, format!("error: --json: found {option} -, {expected}\n"));
    }
}

#[test]
fn names_that_are_too_long_for_the_tables_become_letters() {
    let bench = bench();
    bench.write("a-rather-long-name", A);
    bench.write("another-long-name", B);
    let table = bench.output(&["compare", "a-rather-long-name", "another-long-name", "data", "-m", "mrr"]);
    for row in
        ["\nA  a-rather-long-name\nB  another-long-name\n", "\nB - A  +0.3333", "shown between a-rather-long-name and"]
    {
        assert!(table.contains(row), "{row} is not in\n{table}");
    }
    let page =
        bench.output(&["compare", "a-rather-long-name", "another-long-name", "data", "-m", "mrr", "--html", "-"]);
    assert!(page.contains("between a-rather-long-name and another-long-name"));
}

#[test]
fn cv_and_compare_name_the_mean_of_folds_and_the_mean_of_queries() {
    let bench = Bench::default();
    bench.output(&["synth", "--queries", "23", "--features", "5", "--out", "data.txt"]);
    let config = "data = { train = [\"data.txt\"] }\nlearner = { kind = \"regression\" }\n\
                  cv = { split = 3 }\nmeasure = { report = [\"ndcg@10\"] }\n";
    bench.write("cv.toml", config);
    let table = bench.output(&["cv", "cv.toml", "--out", "one"]);
    bench.output(&["cv", "cv.toml", "--set", "learner.lambda=[1000.0]", "--out", "two"]);
    let compared = bench.output(&["compare", "one", "two", "--resamples", "100"]);
    let row = |text: &str, name: &str| text.lines().find(|line| line.starts_with(name)).map(str::to_string);
    let last = |line: String| line.split_whitespace().last().unwrap().to_string();
    for name in ["mean of folds", "mean of queries"] {
        let in_cv = row(&table, name).unwrap_or_else(|| panic!("{table}"));
        let at = compared.lines().position(|line| line.starts_with(name)).unwrap_or_else(|| panic!("{compared}"));
        assert_eq!(last(in_cv), last(compared.lines().nth(at + 1).unwrap().to_string()), "{name}: {table}{compared}");
    }
    assert_ne!(last(row(&table, "mean of folds").unwrap()), last(row(&table, "mean of queries").unwrap()));
}

#[test]
fn a_page_of_runs_has_their_documents_where_they_are_known() {
    let bench = Bench::default();
    bench.write("qrels", "1 0 a 1\n1 0 b 0\n2 0 c 1\n2 0 d 0\n3 0 e 1\n");
    bench.write("one", "1 Q0 b 1 2 one\n1 Q0 a 2 1 one\n2 Q0 c 1 2 one\n3 Q0 e 1 1 one\n");
    bench.write("two", "1 Q0 a 1 2 two\n2 Q0 d 1 2 two\n2 Q0 c 2 1 two\n3 Q0 e 1 1 two\n");
    bench.output(&["compare", "one", "two", "--qrels", "qrels", "-m", "mrr", "--html", "page.html"]);
    let page = std::fs::read_to_string(bench.path("page.html")).unwrap();
    // `b` is judged and not retrieved by the second run.
    assert!(
        page.contains("<tr><th scope=\"row\">b</th><td>0</td><td>1</td><td>\u{2013}</td><td>2</td></tr>"),
        "{page}"
    );
    assert!(page.contains("From one to two: lost"));

    let bench = finished_runs();
    let page_of_runs = || {
        bench.output(&["compare", "cv/a", "cv/b", "-m", "map", "--resamples", "100", "--html", "page.html"]);
        std::fs::read_to_string(bench.path("page.html")).unwrap()
    };
    assert!(page_of_runs().contains("The rankings are not known"));
    for run in ["cv/a", "cv/b"] {
        let config = format!("{run}/config.toml");
        bench.output(&["cv", &config, "--out", run, "--resume", "--keep", "scores"]);
    }
    let page = page_of_runs();
    assert!(page.contains("rank in b") && !page.contains("The rankings are not known"));
}
