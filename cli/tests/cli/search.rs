//! `[search]`: trials drawn at random and successive halving, in `cv`.

use std::fs;

use serde_json::Value;

use super::{Bench, SMALL};

/// Three folds of a gradient fit that takes an instant.
fn config(search: &str) -> String {
    SMALL.replace("test_queries = 8", "test_queries = 0").replace("validation_queries = 8", "validation_queries = 0")
        + "[cv]\nsplit = 3\n\n"
        + search
}

const RANDOM: &str = r#"[search]
kind = "random"
trials = 4

[search.space]
"learner.learning_rate" = { from = 0.001, to = 0.1, scale = "log" }
"scorer.hidden" = [[4], [8]]
"#;

const HALVING: &str = r#"[search]
kind = "successive_halving"
trials = 9
budget = 9

[search.space]
"learner.learning_rate" = { from = 0.0001, to = 0.1, scale = "log" }
"#;

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

fn report(bench: &Bench, run: &str) -> Vec<u8> {
    fs::read(bench.path(run).join("report.json")).unwrap()
}

#[test]
fn trials_are_the_same_for_any_number_of_jobs_and_each_fold_selects_its_best() {
    let bench = Bench::default();
    bench.write("cv.toml", &config(RANDOM));
    let text = bench.output(&["cv", "cv.toml", "--json", "--jobs", "1", "--out", "one"]);
    assert_eq!(
        bench.output(&["cv", "cv.toml", "--json", "--jobs", "3", "--out", "three"]).replace("\"three\"", "\"one\""),
        text
    );
    assert_eq!(report(&bench, "one"), report(&bench, "three"));
    let result = json(&text);
    assert_eq!(result["search"], json(r#"{"kind": "random", "trials": 4}"#));
    for fold in result["folds"].as_array().unwrap() {
        let trials = fold["trials"].as_array().unwrap();
        assert_eq!(trials.iter().map(|trial| trial["trial"].as_u64().unwrap()).collect::<Vec<_>>(), [1, 2, 3, 4]);
        let best = trials.iter().map(|trial| trial["validation"].as_f64().unwrap()).fold(f64::MIN, f64::max);
        assert_eq!(fold["validation"].as_f64().unwrap(), best);
        let chosen = trials.iter().find(|trial| trial["validation"].as_f64() == Some(best)).unwrap();
        let rate = &chosen["values"]["learner.learning_rate"];
        assert!((0.001..=0.1).contains(&rate.as_f64().unwrap()));
        assert!(
            fold["selected"].as_str().unwrap().starts_with(&format!("learner.learning_rate={rate} scorer.hidden=["))
        );
    }
    // Each fold has separate trials.
    assert_ne!(result["folds"][0]["trials"][0]["values"], result["folds"][1]["trials"][0]["values"]);

    // More trials leave those that were there as they are, and make only the new ones.
    let jobs = || fs::read_dir(bench.path("one/jobs")).unwrap().count();
    assert_eq!(jobs(), 12);
    let more = bench.output(&["cv", "cv.toml", "--json", "--out", "one", "--overwrite", "--set", "search.trials=5"]);
    assert_eq!(jobs(), 15);
    let trial = |text: &str, fold: usize, trial: usize| json(text)["folds"][fold]["trials"][trial].clone();
    assert_eq!(trial(&more, 2, 3), trial(&text, 2, 3));

    let page = fs::read_to_string(bench.path("three/report.html")).unwrap();
    for part in
        ["3 folds \u{d7} 4 trials \u{d7} 1 seed", "ndcg@10 (standard) by learner.learning_rate", "Fold 3: 4 trials"]
    {
        assert!(page.contains(part), "{part}");
    }
    let table = bench.output(&["cv", "cv.toml"]);
    assert!(
        table.contains("\nfold 2, the best 4 of 4 trials, the first selected\ntrial  validation  rounds  "),
        "{table}"
    );
}

#[test]
fn halving_drops_trials_and_goes_on_with_the_others_to_the_same_bytes() {
    let bench = Bench::default();
    bench.write("cv.toml", &config(HALVING));
    let text = bench.output(&["cv", "cv.toml", "--json", "--out", "kept", "--jobs", "2"]);
    let result = json(&text);
    let rungs = r#"[{"trials": 9, "rounds": 1}, {"trials": 3, "rounds": 3}, {"trials": 1, "rounds": 9}]"#;
    assert_eq!(result["search"]["rungs"], json(rungs));
    for fold in result["folds"].as_array().unwrap() {
        let trials = fold["trials"].as_array().unwrap();
        let with = |rungs: usize| trials.iter().filter(|t| t["rungs"].as_array().unwrap().len() == rungs).count();
        assert_eq!([with(1), with(2), with(3)], [6, 2, 1]);
        // The trials that stay have the highest measure after the first rung.
        let first = |trial: &Value| trial["rungs"][0].as_f64().unwrap();
        let dropped = trials.iter().filter(|t| t["rungs"].as_array().unwrap().len() == 1);
        let stayed = trials.iter().filter(|t| t["rungs"].as_array().unwrap().len() > 1);
        let highest = dropped.clone().map(first).fold(f64::MIN, f64::max);
        assert!(stayed.map(first).all(|value| value >= highest));
        assert!(dropped.into_iter().all(|trial| trial["rounds"] == 1));
        let last = trials.iter().find(|t| t["rungs"].as_array().unwrap().len() == 3).unwrap();
        assert_eq!((&last["rounds"], &last["validation"]), (&9.into(), &fold["validation"]));
    }
    // Without a folder the remaining trials are fitted again, with one they continue: the numbers are the same, and
    // equal the numbers of a fit of only that trial.
    assert_eq!(bench.output(&["cv", "cv.toml", "--json"]).replace("\"runs/cv\"", "\"kept\""), text);
    let rate = result["folds"][0]["selected"].as_str().unwrap();
    let alone = ["cv", "cv.toml", "--json", "--set", "search=", "--set", "cv.folds=[1]", "--set", rate];
    let alone = bench.output(&[&alone[..], &["--set", "learner.epochs=9"]].concat());
    assert_eq!(json(&alone)["folds"][0]["measures"], result["folds"][0]["measures"]);

    // Finished fits of a stopped run are not made again.
    let before = report(&bench, "kept");
    for removed in ["report.json", "run.json"] {
        fs::remove_file(bench.path("kept").join(removed)).unwrap();
    }
    let job = fs::read_dir(bench.path("kept/jobs")).unwrap().next().unwrap().unwrap().path();
    fs::remove_dir_all(job).unwrap();
    assert_eq!(bench.output(&["cv", "cv.toml", "--json", "--out", "kept", "--resume"]), text);
    assert_eq!(report(&bench, "kept"), before);
    let keep = ["cv", "cv.toml", "--json", "--out", "kept", "--resume", "--keep", "rankers"];
    assert_eq!(json(&bench.output(&keep))["kept"]["files"].as_array().unwrap().len(), 3);
    let page = fs::read_to_string(bench.path("kept/report.html")).unwrap();
    assert!(page.contains("9 trials of 1 round, then 3 trials of 3 rounds, then 1 trial of 9 rounds"));
    assert!(page.contains("fold 3: ndcg@10 (standard) by rounds"));
}

#[test]
fn halving_over_the_fits_of_another_search_gives_the_report_and_the_refit_that_it_gives_alone() {
    let bench = Bench::default();
    let halving = SMALL.replace("epochs = 3", "epochs = 9") + &HALVING.replace("budget = 9\n", "");
    bench.write("cv.toml", &halving);
    bench.output(&["cv", "cv.toml", "--set", "search.kind=random", "--out", "reused"]);
    let cv = |out: &str, more: &[&str]| {
        let refit = format!("{out}-refit");
        let args = ["cv", "cv.toml", "--json", "--out", out, "--refit", refit.as_str()];
        json(bench.output(&[&args[..], more].concat()).lines().next().unwrap())
    };
    let (reused, alone) = (cv("reused", &["--overwrite"]), cv("alone", &[]));
    assert_eq!(report(&bench, "reused"), report(&bench, "alone"));
    assert_eq!(reused["refit"]["setting"], reused["folds"][0]["selected"]);
    assert_eq!(reused["refit"]["setting"], alone["refit"]["setting"]);
}

#[test]
fn a_grid_ends_with_its_points_under_short_names_and_with_a_verdict() {
    let bench = super::grid("{ split = 3 }");
    let table = bench.output(&["cv", "grid.toml"]);
    let (_, points) = table
        .split_once("\nvalidation   error  folds  2 points, the best first\n")
        .unwrap_or_else(|| panic!("no points in\n{table}"));
    let rows: Vec<Vec<&str>> = points.lines().take(2).map(|line| line.split_whitespace().collect()).collect();
    let names: Vec<String> = rows.iter().map(|row| row[3..].join(" ")).collect();
    assert!(names.contains(&"lambda 0.01".to_string()) && names.contains(&"lambda 100.0".to_string()), "{table}");
    let won: usize = rows.iter().map(|row| row[2].strip_suffix("/3").unwrap().parse::<usize>().unwrap()).sum();
    assert_eq!(won, 3, "{table}");
    assert!(rows[0][0].parse::<f64>().unwrap() >= rows[1][0].parse::<f64>().unwrap(), "{table}");
    assert!(points.contains(&format!("verdict  {} has the highest mean on validation queries", names[0])), "{table}");
    assert!(!table.contains('{') && table.lines().all(|line| line.chars().count() <= 80), "{table}");
    let found = json(&bench.output(&["cv", "grid.toml", "--json"]));
    let of_point = |point: usize, key: &str| found["grid"][point][key].clone();
    assert_eq!(of_point(0, "name"), names[0].as_str());
    assert_eq!(format!("{:.4}", of_point(1, "validation").as_f64().unwrap()), rows[1][0]);
    assert!(of_point(0, "setting").as_str().unwrap().starts_with("learner.lambda=["));
}

#[test]
fn a_warning_of_many_fits_is_one_line() {
    let bench = super::grid("{ split = 3 }");
    // The second feature does not vary.
    let constant: String =
        (0..12).map(|query| format!("{} qid:{query} 1:{query} 2:1\n0 qid:{query} 1:0 2:1\n", 1 + query % 2)).collect();
    bench.write("data.txt", &constant);
    let stderr = bench.run(&["cv", "grid.toml"]).success().get_output().stderr.clone();
    let said = String::from_utf8(stderr).unwrap();
    let warnings: Vec<&str> = said.lines().filter(|line| line.starts_with("warning: ")).collect();
    assert_eq!(warnings.len(), 1, "{said}");
    assert!(
        warnings[0].contains("constant") && warnings[0].ends_with("and 5 more)") && !warnings[0].contains('{'),
        "{said}"
    );
}

#[test]
fn a_search_that_cannot_be_made_is_refused() {
    let bench = Bench::default();
    let random = |space: &str| format!("[search]\nkind = \"random\"\ntrials = 3\n[search.space]\n{space}\n");
    let halving = |keys: &str, space: &str| {
        format!("[search]\nkind = \"successive_halving\"\ntrials = 9\n{keys}\n[search.space]\n{space}\n")
    };
    let rate = "\"learner.learning_rate\" = [0.1, 0.2]";
    for (search, expected) in [
        (
            format!("[grid]\n{rate}\n{}", random(rate)),
            "search: expected either [grid] or [search], found both".to_string(),
        ),
        (
            "[search]\nkind = \"randon\"\ntrials = 3\n".to_string(),
            "a.toml:20:1: search.kind: unknown variant `randon`, expected `random` or `successive_halving`; did you mean \
             `random`?"
                .to_string(),
        ),
        (random("\"leaner.epochs\" = [1]"), "search.space.leaner.epochs: expected a key that begins with one of".into()),
        (random("\"learner.epoch\" = [1]"), "a.toml:23:1: search, at learner.epoch=1: learner.epoch: unknown field".into()),
        (
            random("\"learner.learning_rate\" = { from = 0.0, to = 1.0 }"),
            "a.toml:23:1: search, at learner.learning_rate=0.0: learner.learning_rate: found 0".into(),
        ),
        (
            random("\"learner.learning_rate\" = { from = 0.1, to = 1.0, scale = \"lg\" }"),
            "search.space.learner.learning_rate.scale: unknown variant `lg`".into(),
        ),
        (random("\"learner.learning_rate\" = 3"), "expected a list of values, at least one, or a range such as".into()),
        (
            halving("budget = 9", "\"learner.epochs\" = [1, 2]"),
            "search.space.learner.epochs: expected `search.budget` instead".into(),
        ),
        (
            halving("reduction = 4", rate),
            "learner.epochs: found 3, expected at least 4, the reduction of [search]".into(),
        ),
    ] {
        bench.write("a.toml", &format!("{SMALL}{search}"));
        for command in ["train", "cv"] {
            let message = bench.refused(&[command, "a.toml"]);
            assert!(message.contains(&expected), "{message}");
        }
    }
    // A learner is checked with the rounds that the budget gives it.
    bench.write("a.toml", &format!("{SMALL}{}", halving("budget = 9", rate)));
    let message = bench.refused(&["cv", "a.toml", "--set", "learner.epochs=20", "--set", "learner.warmup=10"]);
    let expected = "--set learner.warmup=10: learner.warmup: found 10, expected less than learner.epochs, which is 9";
    assert!(message.contains(expected), "{message}");
    let svm = "data = { synthetic = {} }\nlearner = { kind = \"svm_map\" }\n".to_string()
        + &halving("", "\"learner.c\" = [[0.1], [1.0]]");
    bench.write("svm.toml", &svm);
    let expected = "svm.toml:4:1: search.kind: found \"successive_halving\", expected \"random\": the learner `svm_map` has \
                    no rounds to divide among trials; these have: `ada_rank`, `boosted_trees`, `gradient`";
    let message = bench.refused(&["cv", "svm.toml"]);
    assert!(message.contains(expected), "{message}");
    // Trials need validation queries to choose among them.
    let message = bench.refused(&[
        "cv",
        "svm.toml",
        "--set",
        "search.kind=random",
        "--set",
        "data.synthetic.validation_queries=0",
    ]);
    assert!(message.contains("search = 9 trials: expected a validation set to select on"), "{message}");
}
