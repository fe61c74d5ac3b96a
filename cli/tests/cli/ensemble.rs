//! `ensemble`: several rankers become one, and what is refused.

use std::fs;

use serde_json::Value;

use super::bad_input::contains;
use super::{Bench, SMALL, files};

/// Makes generated queries and three rankers of them: two networks with other normalizers, and trees.
fn trained() -> Bench {
    let bench = Bench::default();
    bench.output(&["synth", "--queries", "20", "--features", "5", "--out", "data.txt"]);
    bench.output(&["synth", "--queries", "8", "--features", "5", "--seed", "2", "--out", "valid.txt"]);
    let data = "data = { train = [\"data.txt\"] }\n";
    let network = "scorer = { kind = \"mlp\", hidden = [4] }\nloss = { name = \"list_net\" }\n\
                   learner = { kind = \"gradient\", epochs = 1 }\n";
    let trees = "loss = { name = \"lambda_ndcg\" }\nlearner = { kind = \"boosted_trees\", rounds = 3, leaves = 4 }\n";
    for (name, more) in [
        ("gauss", format!("normalizer = \"gauss\"\n{network}")),
        ("score", format!("normalizer = \"z_score\"\n{network}")),
        ("trees", format!("normalizer = \"none\"\n{trees}")),
    ] {
        bench.write(&format!("{name}.toml"), &format!("{more}{data}"));
        bench.output(&["train", &format!("{name}.toml"), "--out", name, "--quiet"]);
    }
    bench
}

fn scores(bench: &Bench, ranker: &str, data: &str) -> Vec<f64> {
    bench.output(&["predict", ranker, data]).lines().map(|line| line.parse().unwrap()).collect()
}

#[test]
fn rankers_become_one_in_a_folder_with_its_card() {
    let bench = trained();
    let table = bench.output(&[
        "ensemble",
        "gauss",
        "score/ranker.safetensors",
        "trees",
        "--data",
        "valid.txt",
        "--out",
        "all",
    ]);
    let lines: Vec<&str> = table.lines().collect();
    assert_eq!(lines[0], "8 validation queries, standard convention");
    assert_eq!(lines[1].split_whitespace().collect::<Vec<_>>(), ["ranker", "share", "ndcg@10"]);
    for (line, name) in lines[2..6].iter().zip(["gauss", "ranker.safetensors", "trees", "all"]) {
        assert!(line.starts_with(name), "{table}");
    }
    assert_eq!(lines[6], "written to all, its card is all/README.md");
    assert_eq!(files(&bench.path("all")), ["README.md", "ranker.safetensors"]);
    let card = fs::read_to_string(bench.path("all/README.md")).unwrap();
    assert!(card.contains("| member `gauss` |") && card.contains("| validation ndcg@10 |"), "{card}");

    // The mean of standardized scores, computed from the scores of the members.
    let own = ["gauss", "score", "trees"].map(|name| scores(&bench, name, "valid.txt"));
    let all = scores(&bench, "all", "valid.txt");
    let text = fs::read_to_string(bench.path("valid.txt")).unwrap();
    let queries: Vec<&str> = text.lines().map(|line| line.split(' ').nth(1).unwrap()).collect();
    for query in queries.chunk_by(|a, b| a == b).scan(0, |start, query| {
        *start += query.len();
        Some(*start - query.len()..*start)
    }) {
        let standardized = own.each_ref().map(|scores| {
            let scores = &scores[query.clone()];
            let mean = scores.iter().sum::<f64>() / scores.len() as f64;
            let variance = scores.iter().map(|score| (score - mean).powi(2)).sum::<f64>() / scores.len() as f64;
            let standardized = scores.iter().map(|score| (score - mean) / variance.sqrt().max(1e-12));
            standardized.collect::<Vec<_>>()
        });
        for (place, score) in all[query].iter().enumerate() {
            let expected = standardized.iter().map(|scores| scores[place]).sum::<f64>() / 3.0;
            assert!((score - expected).abs() < 1e-4, "{score} {expected}");
        }
    }
    // The same command replaces its folder with the same bytes; other commands take the ranker.
    let bytes = fs::read(bench.path("all/ranker.safetensors")).unwrap();
    bench.output(&["ensemble", "gauss", "score", "trees", "--data", "valid.txt", "--out", "other"]);
    let args =
        ["ensemble", "gauss", "score/ranker.safetensors", "trees", "--data", "valid.txt", "--out", "all", "--json"];
    let record: Value = serde_json::from_str(&bench.output(&args)).unwrap();
    assert_eq!(fs::read(bench.path("all/ranker.safetensors")).unwrap(), bytes);
    assert_eq!((&record["standardize"], &record["queries"]), (&"query".into(), &8.into()));
    assert_eq!(record["members"].as_array().unwrap().len(), 3);
    assert!(record["members"][2]["measures"]["ndcg@10"].as_f64() > Some(0.0), "{record}");
    let eval: Value =
        serde_json::from_str(&bench.output(&["eval", "all", "valid.txt", "-m", "ndcg@10", "--json"])).unwrap();
    assert_eq!(eval["measures"]["ndcg@10"], record["measures"]["ndcg@10"], "{eval} {record}");
    bench.output(&["importance", "all", "valid.txt", "--repeats", "1"]);
    bench.output(&["models", "show", "all"]);
}

#[test]
fn rankers_that_read_the_same_data_alike_join_in_any_order() {
    let bench = Bench::default();
    bench.output(&["synth", "--queries", "12", "--features", "3", "--out", "data.txt"]);
    bench.write("a.toml", "data = { train = [\"data.txt\"] }\nlearner = { kind = \"regression\" }\n");
    for missing in ["error", "zero"] {
        bench.output(&[
            "train",
            "a.toml",
            "--set",
            &format!("data.read.missing={missing}"),
            "--out",
            missing,
            "--quiet",
        ]);
    }
    for (first, second) in [("error", "zero"), ("zero", "error")] {
        bench.output(&["ensemble", first, second, "--out", "joined"]);
        // The ensemble takes what both take.
        bench.write("lacking.txt", "1 qid:1 1:nan\n0 qid:1 1:2\n");
        contains(&bench.refused(&["predict", "joined", "lacking.txt"]), &["lacking.txt:1:"]);
    }
}

#[test]
fn fixed_deviations_score_each_document_by_itself_and_trees_are_exported() {
    let bench = trained();
    let args = ["ensemble", "trees", "trees", "--weights", "2,1", "--standardize", "fixed", "--data", "valid.txt"];
    let record: Value =
        serde_json::from_str(&bench.output(&[&args[..], &["--out", "all", "--json"]].concat())).unwrap();
    let deviation = record["members"][0]["deviation"].as_f64().unwrap();
    let own = scores(&bench, "trees", "valid.txt");
    for (score, own) in scores(&bench, "all", "valid.txt").iter().zip(&own) {
        assert!((score - own / deviation).abs() < 1e-5, "{score} {own}");
    }
    bench.output(&["convert", "all", "trees.txt"]);
    for (score, own) in scores(&bench, "trees.txt", "valid.txt").iter().zip(&own) {
        assert!((score - own / deviation).abs() < 1e-5, "{score} {own}");
    }
    for format in ["xgboost", "xgboost-dump"] {
        bench.output(&["convert", "all", "trees.json", "--format", format]);
    }
    for format in ["onnx", "onnx-batch"] {
        bench.output(&["convert", "all", "all.onnx", "--format", format]);
    }
    let refused = bench.refused(&["convert", "all", "all.xml"]);
    assert!(refused.contains("RankLib XML cannot hold an ensemble of members: expected"), "{refused}");
    bench.output(&["ensemble", "gauss", "trees", "--out", "mixed"]);
    let refused = bench.refused(&["convert", "mixed", "mixed.txt", "--format", "lightgbm"]);
    assert!(refused.contains("LightGBM text cannot hold an ensemble of members: expected"), "{refused}");
    let refused = bench.refused(&["predict", "mixed", "valid.txt", "--contributions"]);
    assert!(refused.contains("found an ensemble of members, expected a ranker that is a sum of trees"), "{refused}");
}

#[test]
fn what_cannot_be_joined_is_refused_and_nothing_is_written() {
    let bench = trained();
    bench.write("small.toml", SMALL);
    bench.output(&["train", "small.toml", "--out", "small", "--quiet"]);
    let before = files(&bench.path(""));
    for (args, expected) in [
        (&["gauss"][..], "2 values required"),
        (&["gauss", "small"], "member `small`: found 10 features, expected 5, as member `gauss` has"),
        (&["gauss", "score", "--weights", "1"], "--weights: found 1, expected 2, one for each ranker"),
        (&["gauss", "score", "--weights", "1,-2"], "member `score`: found the weight -2, expected a finite number"),
        (&["gauss", "score", "--weights", "0,0"], "found weights with the sum 0, expected a finite sum above 0"),
        (&["gauss", "score", "--weights", "1,x"], "invalid value 'x'"),
        (&["gauss", "score", "--standardize", "fixed"], "--standardize fixed: expected --data with validation queries"),
        (&["gauss", "score", "-m", "map"], "--data"),
        (&["gauss", "absent"], "absent"),
    ] {
        let refused = bench.refused(&[&["ensemble"], args, &["--out", "all"]].concat());
        assert!(refused.contains(expected), "{args:?}: {refused}");
    }
    let refused = bench.refused(&["ensemble", "gauss", "score", "--out", "gauss"]);
    assert!(refused.contains("gauss: "), "{refused}");
    assert_eq!(files(&bench.path("")), before);
}

/// A network and trees on files, as members of one configuration.
const MEMBERS: &str = r#"
[data]
train = ["data.txt"]
validation = ["valid.txt"]

[[members]]
normalizer = "gauss"
scorer = { kind = "mlp", hidden = [4] }
loss = { name = "lambda_ndcg" }
learner = { kind = "gradient", epochs = 2 }

[[members]]
name = "forest"
weight = 2
loss = { name = "lambda_ndcg" }
learner = { kind = "boosted_trees", rounds = 4, leaves = 4, min_documents = 2, subsample = 0.5 }
"#;

fn with_members() -> Bench {
    let bench = Bench::default();
    bench.output(&["synth", "--queries", "20", "--features", "5", "--out", "data.txt"]);
    bench.output(&["synth", "--queries", "8", "--features", "5", "--seed", "2", "--out", "valid.txt"]);
    bench.write("members.toml", MEMBERS);
    bench
}

fn json(bench: &Bench, file: &str) -> Value {
    serde_json::from_str(&fs::read_to_string(bench.path(file)).unwrap()).unwrap()
}

#[test]
fn members_of_a_configuration_are_those_that_are_trained_one_by_one() {
    let bench = with_members();
    let printed = bench.output(&["train", "members.toml", "--out", "all"]);
    assert!(printed.contains("members: 2 members joined, all rounds done"), "{printed}");
    assert!(printed.contains("  gradient-1: round "), "{printed}");
    let members = json(&bench, "all/report.json")["members"].clone();
    assert_eq!(
        (&members[0]["seed"], &members[1]["name"], &members[1]["weight"]),
        (&1.into(), &"forest".into(), &2.0.into())
    );
    assert_eq!(members[1]["history"].as_array().unwrap().len(), 4);
    assert!(members[0]["measures"]["validation ndcg@10"].as_f64() > Some(0.0), "{members}");
    assert!(fs::read_to_string(bench.path("all/report.html")).unwrap().contains("forest"));

    let head = &MEMBERS[..MEMBERS.find("[[members]]").unwrap()];
    for (number, sections) in MEMBERS.split("[[members]]\n").skip(1).enumerate() {
        let sections: Vec<&str> =
            sections.lines().filter(|line| !line.starts_with("name") && !line.starts_with("weight")).collect();
        bench.write("one.toml", &format!("{}\n{head}", sections.join("\n")));
        let seed = format!("seed={}", members[number]["seed"]);
        bench.output(&["train", "one.toml", "--set", &seed, "--out", &format!("m{number}"), "--quiet"]);
    }
    bench.output(&["ensemble", "m0", "m1", "--weights", "1,2", "--out", "joined"]);
    assert_eq!(scores(&bench, "all", "valid.txt"), scores(&bench, "joined", "valid.txt"));

    // The configuration that a run leaves gives the same ranker.
    let printed = bench.output(&["train", "all/config.toml", "--out", "again", "--quiet", "--json"]);
    let printed: Value = serde_json::from_str(&printed).unwrap();
    assert_eq!(printed["members"][1]["best_round"], members[1]["best_round"], "{printed}");
    assert_eq!(scores(&bench, "again", "valid.txt"), scores(&bench, "all", "valid.txt"));
    let set = ["train", "members.toml", "--set", "standardize=fixed", "--out", "fixed", "--quiet"];
    bench.output(&set);
    assert!(json(&bench, "fixed/report.json")["members"][1]["deviation"].as_f64() > Some(0.0));
}

#[test]
fn seeds_of_a_network_are_members() {
    let bench = with_members();
    let network = "scorer = { kind = \"mlp\", hidden = [4] }\nloss = { name = \"lambda_ndcg\" }\n\
                   learner = { kind = \"gradient\", epochs = 2, seeds = 3 }\ndata = { train = [\"data.txt\"] }\n";
    bench.write("seeds.toml", network);
    let printed = bench.output(&["train", "seeds.toml", "--out", "three"]);
    assert!(printed.contains("seeds: 3 members joined"), "{printed}");
    let report = json(&bench, "three/report.json");
    let seeds: Vec<u64> =
        report["members"].as_array().unwrap().iter().map(|member| member["seed"].as_u64().unwrap()).collect();
    assert!(seeds[0] == 1 && seeds[1] != seeds[2] && seeds.len() == 3, "{seeds:?}");
    for (number, seed) in seeds.iter().enumerate() {
        let set = format!("seed={seed}");
        let out = format!("m{number}");
        bench.output(&["train", "seeds.toml", "--set", "learner.seeds=1", "--set", &set, "--out", &out, "--quiet"]);
    }
    bench.output(&["ensemble", "m0", "m1", "m2", "--out", "joined"]);
    assert_eq!(scores(&bench, "three", "valid.txt"), scores(&bench, "joined", "valid.txt"));
    for (set, expected) in [
        ("learner.seeds=0", "learner.seeds: found 0, expected a whole number from 1 to 1000"),
        ("grid={\"learner.epochs\"=[1, 2]}", "grid: expected none next to several learner.seeds of a network"),
    ] {
        let refused = bench.refused(&["train", "seeds.toml", "--set", set, "--out", "run"]);
        assert!(refused.contains(expected), "{set}: {refused}");
    }
    // A single seed stands next to a grid, and in it.
    let cv = ["cv", "seeds.toml", "--set", "learner.seeds=1", "--set", "cv.split=3", "--no-out", "--set"];
    bench.output(&[&cv[..], &["grid={\"learner.epochs\"=[1, 2]}"]].concat());
    let refused = bench.refused(&[&cv[..], &["grid={\"learner.seeds\"=[1, 2]}"]].concat());
    assert!(refused.contains("learner.seeds: found 2, expected 1 where a grid or a search tries"), "{refused}");
}

#[test]
fn a_run_of_members_that_was_stopped_continues_with_the_next_one() {
    let bench = with_members();
    bench.output(&["train", "members.toml", "--out", "all", "--quiet"]);
    let whole = ["ranker.safetensors", "report.json"].map(|name| fs::read(bench.path(&format!("all/{name}"))).unwrap());
    // As it is while the second member is being fitted.
    for name in ["ranker.safetensors", "report.json", "report.html", "run.json", "README.md"] {
        fs::remove_file(bench.path(&format!("all/{name}"))).unwrap();
    }
    fs::remove_dir_all(bench.path("all/member-2")).unwrap();
    bench.output(&["train", "members.toml", "--out", "all", "--resume", "--quiet"]);
    let again = ["ranker.safetensors", "report.json"].map(|name| fs::read(bench.path(&format!("all/{name}"))).unwrap());
    assert!(whole == again, "the same bytes");
    bench.output(&["train", "members.toml", "--out", "all", "--overwrite", "--quiet"]);
}

#[test]
fn members_are_cross_validated_as_one_fit_and_refitted() {
    let bench = with_members();
    let files = "data={train=[\"data.txt\"]}";
    let args =
        ["cv", "members.toml", "--set", files, "--set", "cv.split=3", "--out", "cv", "--refit", "best", "--json"];
    let record: Value = serde_json::from_str(bench.output(&args).lines().next().unwrap()).unwrap();
    assert_eq!(record["folds"].as_array().unwrap().len(), 3, "{record}");
    let report = json(&bench, "cv/report.json");
    let fits: Vec<&Value> = report["details"].as_array().unwrap().iter().map(|fold| &fold["fits"][0]).collect();
    let best = json(&bench, "best/report.json");
    assert!(record["refit"].get("round").is_none(), "{record}");
    for member in 0..2 {
        let mut rounds: Vec<u64> =
            fits.iter().map(|fit| fit["members"][member]["best_round"].as_u64().unwrap()).collect();
        rounds.sort_unstable();
        assert_eq!(best["members"][member]["rounds"].as_u64(), Some(rounds[1]), "{rounds:?}");
        assert_eq!(record["refit"]["member_rounds"][member].as_u64(), Some(rounds[1]), "{record}");
    }
    assert_eq!(scores(&bench, "best", "valid.txt").len(), scores(&bench, "best/ranker.safetensors", "valid.txt").len());
}

#[test]
fn a_refit_of_members_with_fixed_constants_is_refused_before_the_first_fit() {
    let bench = with_members();
    let sets = ["--set", "data={train=[\"data.txt\"]}", "--set", "cv.split=3", "--set", "standardize=fixed"];
    let cv = ["cv", "members.toml", "--out", "cv", "--refit", "best"];
    let refused = bench.refused(&[&cv[..], &sets].concat());
    assert!(refused.contains("standardize = \"fixed\": expected \"query\" for --refit"), "{refused}");
    assert!(!bench.path("cv").exists() && !bench.path("best").exists());
}

#[test]
fn members_that_cannot_be_fitted_are_refused_by_name() {
    let bench = with_members();
    for (set, expected) in [
        ("learner={kind=\"gradient\"}", "learner: expected none next to [[members]]"),
        ("loss={name=\"list_net\"}", "loss: expected none next to [[members]]"),
        ("grid={\"learner.epochs\"=[1]}", "grid: expected none next to [[members]]"),
        ("members=[]", "members: found an empty list, expected at least one member"),
        ("standardize=never", "standardize: "),
        (
            "members=[{weight=-1, learner={kind=\"regression\"}}]",
            "members[0].weight: found -1, expected a finite number",
        ),
        ("members=[{weight=0, learner={kind=\"regression\"}}]", "members: found the weight 0 for all members"),
        ("members=[{learner={kind=\"regresion\"}}]", "members[0].learner.kind: "),
        ("members=[{learner={kind=\"regression\"}, normaliser=\"none\"}]", "normaliser"),
    ] {
        let refused = bench.refused(&["train", "members.toml", "--set", set, "--out", "run"]);
        assert!(refused.contains(expected), "{set}: {refused}");
    }
    bench.write(
        "alone.toml",
        "standardize = \"fixed\"\ndata = { train = [\"data.txt\"] }\nlearner = { kind = \"regression\" }\n",
    );
    assert!(bench.refused(&["train", "alone.toml"]).contains("standardize: requires [[members]]"));
    let few = MEMBERS.replace("min_documents = 2", "min_documents = 100000");
    bench.write("few.toml", &few);
    let refused = bench.refused(&["train", "few.toml", "--out", "run"]);
    assert!(refused.contains("member `forest`: "), "{refused}");
    assert!(!bench.path("run").exists(), "nothing is left");
}
