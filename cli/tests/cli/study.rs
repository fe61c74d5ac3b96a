//! `study`: checks what papers prove, on generated queries and on given rankings.

use std::fs;

use serde_json::Value;

use super::Bench;
use super::bad_input::contains;

/// The studies that need only a ranking.
const OF_A_RANKING: [&str; 3] = ["position-accuracy", "measure-accuracy", "softrank-directness"];

/// Returns the words of a text, without its line breaks and columns.
fn in_one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn a_study_prints_its_verdicts_and_leaves_its_page() {
    let bench = Bench::default();
    let list = bench.output(&["study"]);
    for name in OF_A_RANKING {
        assert!(list.contains(name), "{list}");
        let text = bench.output(&["study", name, "--queries", "12", "--quick", "--out", name]);
        assert!(text.starts_with(name) && text.contains("  Theorem"), "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        let report: Value =
            serde_json::from_str(&fs::read_to_string(bench.path(name).join("study.json")).unwrap()).unwrap();
        assert_eq!((report["study"].as_str(), report["queries"].as_u64()), (Some(name), Some(12)));
        let claims = report["claims"].as_array().unwrap();
        for claim in claims {
            let verdict = claim["verdict"].as_str().unwrap();
            assert!(["holds", "fails", "vacuous", "open"].contains(&verdict), "{claim}");
            assert!(claim["numbers"].is_object(), "{claim}");
            let words =
                format!("{verdict} {}: {}", claim["source"].as_str().unwrap(), claim["claim"].as_str().unwrap());
            assert!(in_one_line(&text).contains(&in_one_line(&words)), "{words}");
        }
        let page = fs::read_to_string(bench.path(name).join("study.html")).unwrap();
        assert!(page.starts_with("<!DOCTYPE html>") && page.contains("<svg") && page.ends_with("</html>\n"));
        let printed = bench.output(&["study", name, "--queries", "12", "--quick", "--json"]);
        assert_eq!(serde_json::from_str::<Value>(&printed).unwrap(), report, "the same on every run");
    }
}

/// One page for every study that takes a ranking, with an index.
#[test]
fn all_studies_of_a_ranking_are_one_page() {
    let bench = Bench::default();
    bench.write("data", "1 qid:1 1:0\n0 qid:1 1:0\n2 qid:1 1:0\n");
    bench.write("scores", "3\n1\n2\n");
    let args = ["study", "all", "--scores", "scores", "data", "--quick"];
    let text = bench.output(&[&args[..], &["--out", "all"]].concat());
    let record: Value = serde_json::from_str(&fs::read_to_string(bench.path("all/study.json")).unwrap()).unwrap();
    let page = fs::read_to_string(bench.path("all/study.html")).unwrap();
    for name in OF_A_RANKING {
        assert!(text.contains(&format!("{name}: ")), "{text}");
        assert!(page.contains(&format!("href=\"#{name}\"")) && page.contains(&format!("id=\"{name}\"")));
    }
    assert!(record["studies"].as_array().unwrap().iter().all(|study| study["quick"] == true));
    let printed = bench.output(&[&args[..], &["--json"]].concat());
    assert_eq!(serde_json::from_str::<Value>(&printed).unwrap(), record);
    bench.output(&[&args[..], &["--out", "all"]].concat());
}

/// Figure 2 at the paper's alpha = 100 and elsewhere, and bounds that no query can exceed.
#[test]
fn nothing_is_said_to_hold_that_was_not_shown() {
    let bench = Bench::default();
    let report: Value =
        serde_json::from_str(&bench.output(&["study", "measure-accuracy", "--quick", "--json"])).unwrap();
    let verdict = |report: &Value, source: &str, claim: &str| {
        let claims = report["claims"].as_array().unwrap().iter();
        let mut of = claims.filter(|of| of["source"] == source && of["claim"].as_str().unwrap().ends_with(claim));
        of.next().unwrap_or_else(|| panic!("{source}: {claim}"))["verdict"].as_str().unwrap().to_string()
    };
    // On 8 queries the measure differs more between training and test queries than the theorem can make use of.
    let theorem_7 = report["claims"].as_array().unwrap().iter().filter(|claim| claim["source"] == "Theorem 7");
    assert_eq!(theorem_7.clone().count(), 10, "two surrogates, five values of alpha");
    assert!(theorem_7.clone().all(|claim| claim["verdict"] != "fails"), "{report}");
    for alpha in ["alpha = 1", "alpha = 100", "alpha = 1000"] {
        assert_ne!(verdict(&report, "Figure 2", alpha), "holds");
    }
    assert_eq!(verdict(&report, "Theorem 5", "alpha = 1, for every beta"), "vacuous");
    let directness: Value =
        serde_json::from_str(&bench.output(&["study", "softrank-directness", "--quick", "--json"])).unwrap();
    assert_ne!(verdict(&directness, "Theorem 2, as proved", "sigma = 1"), "holds");
    assert_eq!(verdict(&directness, "Theorem 2, equation (1)", "delta = 4 sigma"), "fails");
}

/// Scores 3, 1 and 2 with labels 1, 0 and 2 at alpha = 1: the error of ApproxNDCG is worked by hand. Ties have no
/// bound.
#[test]
fn a_given_ranking_is_studied() {
    let bench = Bench::default();
    bench.write("data", "1 qid:1 1:0\n0 qid:1 1:0\n2 qid:1 1:0\n1 qid:2 1:0\n0 qid:2 1:0\n0 qid:3 1:0\n");
    bench.write("scores", "3\n1\n2\n1\n1\n1\n");
    let args = ["study", "measure-accuracy", "--scores", "scores", "data", "--over", "1,2", "--json"];
    let report: Value = serde_json::from_str(&bench.output(&args)).unwrap();
    assert_eq!(report["subject"], "scores on data");
    assert_eq!((&report["queries"], &report["tied_queries"]), (&Value::from(2), &Value::from(1)), "query 3 is empty");
    let sigmoid = |t: f64| 1.0 / (1.0 + (-t).exp());
    let position = [1.0 + sigmoid(-2.0) + sigmoid(-1.0), 0.0, 1.0 + sigmoid(1.0) + sigmoid(-1.0)];
    let ideal = 3.0 + 1.0 / 3f64.log2();
    let approximate = (1.0 / (1.0 + position[0]).log2() + 3.0 / (1.0 + position[2]).log2()) / ideal;
    let first = (approximate - (1.0 + 3.0 / 3f64.log2()) / ideal).abs();
    // The documents of query 2 share the ranks 1 and 2; both are at position 1.5.
    let second = (1.0 / 2.5f64.log2() - 0.5 * (1.0 + 1.0 / 3f64.log2())).abs();
    let rho = report["tables"][0]["rows"][0][1][0].as_f64().unwrap();
    assert!((rho - 0.5 * (first + second)).abs() < 1e-9, "{rho}");
    assert_eq!(report["tables"][2]["rows"][0][1][0], 1.0, "one query has a bound");
    // The bound of each query from its positions: the errors of its terms, and the farther of the shared ranks.
    let discount = |rank: f64| 1.0 / (1.0 + rank).log2();
    let terms = (discount(position[0]) - 1.0).abs() + 3.0 * (discount(position[2]) - discount(2.0)).abs();
    let shared = (1.0 - discount(1.5)).max(discount(1.5) - discount(2.0));
    let bound = report["tables"][4]["rows"][0][1][0].as_f64().unwrap();
    assert!((bound - 0.5 * (terms / ideal + shared)).abs() < 1e-9, "{bound}");
    let claims = report["claims"].as_array().unwrap();
    let of_instance = claims.iter().find(|claim| claim["source"] == "Theorem 6, of the instance").unwrap();
    assert_eq!(of_instance["numbers"]["not covered"], 0.0, "{of_instance}");
    let text = bench.output(&["study", "softrank-directness", "--scores", "scores", "data", "--over", "1"]);
    assert!(text.contains("\nopen     Theorem 2"), "{text}");
    assert!(in_one_line(&text).contains("the claim covers none of 2 queries"), "{text}");
}

/// Two rankers on two queries: the first errs on no pair, the second on the two pairs of the label 2.
#[test]
fn two_rankings_are_compared() {
    let bench = Bench::default();
    bench.write("data", "2 qid:1 1:0\n1 qid:1 1:0\n0 qid:1 1:0\n1 qid:2 1:0\n0 qid:2 1:0\n");
    bench.write("right", "3\n2\n1\n2\n1\n");
    bench.write("wrong", "0\n2\n1\n2\n1\n");
    let args = ["study", "errors", "--scores", "right", "data", "--against", "wrong", "--json"];
    let report: Value = serde_json::from_str(&bench.output(&args)).unwrap();
    assert_eq!(report["subject"], "right on data against wrong on data");
    let rows = report["tables"][0]["rows"].as_array().unwrap();
    let rates: Vec<(&str, [f64; 3])> =
        rows.iter().map(|row| (row[0].as_str().unwrap(), [0, 1, 2].map(|at| row[1][at].as_f64().unwrap()))).collect();
    assert_eq!(rates, [("1-0", [2.0, 0.0, 0.0]), ("2-0", [1.0, 0.0, 1.0]), ("2-1", [1.0, 0.0, 1.0])]);
    assert!(report["claims"].as_array().unwrap().iter().all(|claim| claim["verdict"] == "open"), "one or two queries");
    let message = bench.refused(&["study", "errors", "--scores", "right", "data"]);
    contains(&message, &["errors: found a ranking, expected generated data or data to train on or two rankings"]);
    // Samples are no larger than a small ranking, and one size decides nothing.
    let args = ["study", "discounts", "--scores", "right", "data", "--json"];
    let report: Value = serde_json::from_str(&bench.output(&args)).unwrap();
    let rows = report["tables"][0]["rows"].as_array().unwrap();
    assert_eq!(rows.iter().map(|row| row[0].as_str().unwrap()).collect::<Vec<_>>(), ["5"]);
    assert!(rows[0][1].as_array().unwrap().iter().all(Value::is_number), "{report}");
    assert!(report["claims"].as_array().unwrap().iter().all(|claim| claim["verdict"] == "open"), "{report}");
}

#[test]
fn a_study_trains_on_the_data_of_a_configuration() {
    let bench = Bench::default();
    let size = ["--queries", "30", "--features", "5", "--median-length", "8", "--max-length", "12"];
    bench.output(&[&["synth"][..], &size, &["--parts", "5", "--out", "data"]].concat());
    bench.write("train.toml", "[data]\nfolds = \"data\"\n[learner]\nkind = \"regression\"\n");
    let args = ["study", "truncation", "--config", "train.toml", "--quick", "--over", "k=1,5", "--json"];
    let report: Value = serde_json::from_str(&bench.output(&args)).unwrap();
    assert_eq!(report["subject"], "train.toml, fold 1");
    assert_eq!(report["tables"][0]["rows"].as_array().unwrap().len(), 2);
    // The round in a configuration was chosen for its own learner.
    bench.write("train.toml", "[data]\nfolds = \"data\"\n[learner]\nkind = \"regression\"\n[measure]\nround = 1\n");
    assert_eq!(serde_json::from_str::<Value>(&bench.output(&args)).unwrap(), report);
    bench.write("untested.toml", "[data]\ntrain = [\"data/S1.txt\"]\n[learner]\nkind = \"regression\"\n");
    let message = bench.refused(&["study", "truncation", "--config", "untested.toml", "--quick"]);
    contains(&message, &["untested.toml", "no queries to test on"]);
    let message = bench.refused(&["study", "bounds", "--config", "train.toml"]);
    contains(&message, &["bounds: found data to train on, expected generated data"]);
    let message = bench.refused(&[&args[..], &["--read", "label=x"]].concat());
    contains(&message, &["--read: expected data to read by them, found a configuration"]);
}

#[test]
fn studies_that_cannot_be_made_are_refused() {
    let bench = Bench::default();
    bench.write("one", "1 qid:1 1:0\n1 qid:1 1:1\n");
    bench.write("scores", "1\n2\n");
    let refused = |args: &[&str]| bench.refused(&[&["study"], args].concat());
    contains(&refused(&["position-acuracy"]), &["unknown study", "did you mean `position-accuracy`?"]);
    contains(&refused(&["measure-accuracy", "--over", "0"]), &["alpha = 0: expected a finite number above 0"]);
    contains(&refused(&["measure-accuracy", "--over", "beta=x"]), &["found `x`, expected numbers"]);
    contains(&refused(&["measure-accuracy", "--over", "betta=1"]), &["no parameter `betta`", "did you mean `beta`?"]);
    contains(&refused(&["all", "--over", "1"]), &["--over", "expected one study"]);
    contains(&refused(&["bounds", "--missing", "zero"]), &["--missing and --read", "found generated data"]);
    contains(&refused(&["measure-accuracy", "--over", "2,1"]), &["alpha = 1", "ascending"]);
    contains(&refused(&["measure-accuracy", "scores"]), &["expected MODEL DATA, --scores FILE DATA, or neither"]);
    contains(
        &refused(&["measure-accuracy", "--scores", "scores", "one"]),
        &["scores on one: found no query with a relevant and an irrelevant document"],
    );
}

/// Runs that kept their scores are the source of every study, and each takes the run that it is about.
#[test]
fn kept_runs_are_studied_over_all_folds() {
    let bench = Bench::default();
    bench.output(&["synth", "--queries", "18", "--features", "4", "--median-length", "8", "--out", "data.txt"]);
    let config = |learner: &str| format!("data = {{ train = [\"data.txt\"] }}\ncv = {{ split = 3 }}\n{learner}\n");
    let soft = "scorer = { kind = \"linear\" }\nloss = { name = \"soft_ndcg\" }\nlearner = { kind = \"gradient\", epochs = 2 }";
    for (name, learner) in [
        ("ridge", "learner = { kind = \"regression\" }"),
        ("ada", "learner = { kind = \"ada_rank\", rounds = 3 }"),
        ("boost", "learner = { kind = \"rank_boost\", rounds = 3 }"),
        ("soft", soft),
    ] {
        bench.write(&format!("{name}.toml"), &config(learner));
        bench.output(&["cv", &format!("{name}.toml"), "--out", name, "--keep", "scores"]);
    }
    let study = |args: &[&str]| -> Value {
        serde_json::from_str(&bench.output(&[&["study"][..], args, &["--quick", "--json"]].concat())).unwrap()
    };
    let errors = study(&["errors", "ridge", "ada", "boost"]);
    let title = errors["tables"][0]["title"].as_str().unwrap();
    assert!(title.contains("ada and boost"), "those that the paper compares: {title}");
    assert!(errors["queries"].as_u64().unwrap() > 12, "the test queries of all three folds: {}", errors["queries"]);
    let title = study(&["errors", "ridge", "soft"])["tables"][0]["title"].as_str().unwrap().to_string();
    assert!(title.contains("ridge and soft"), "two runs are compared with each other: {title}");
    let against = study(&["errors", "ridge", "--against", "soft"])["tables"][0]["title"].as_str().unwrap().to_string();
    assert_eq!(against, title);

    let directness = study(&["softrank-directness", "ridge", "ada", "soft", "--over", "sigma=0.01"]);
    assert!(directness["subject"].as_str().unwrap().starts_with("soft,"), "{}", directness["subject"]);
    let claims = directness["claims"].as_array().unwrap();
    let pool = claims.iter().find(|claim| claim["source"] == "Theorem 1, the best of a pool").unwrap();
    assert!(["open", "vacuous"].contains(&pool["verdict"].as_str().unwrap()), "{pool}");
    assert!(pool["found"].as_str().unwrap().starts_with("soft against "), "{pool}");

    let all = study(&["all", "ridge", "soft"]);
    let names: Vec<&str> = all["studies"].as_array().unwrap().iter().map(|of| of["study"].as_str().unwrap()).collect();
    assert_eq!(names.len(), 8, "{names:?}");

    // Runs of other folds, and runs that kept nothing, are refused.
    bench.output(&["cv", "ridge.toml", "--set", "cv.split=4", "--out", "other", "--keep", "scores"]);
    let message = bench.refused(&["study", "errors", "ridge", "other"]);
    assert!(message.contains("tested on other queries, features or folds than ridge"), "{message}");
    bench.output(&["cv", "ridge.toml", "--out", "plain"]);
    let message = bench.refused(&["study", "errors", "ridge", "plain"]);
    let advice = "expected folders of `cv` runs that kept scores or rankers; `cv --resume --keep scores` keeps them\n";
    assert_eq!(message, format!("error: plain: {advice}"));
}
