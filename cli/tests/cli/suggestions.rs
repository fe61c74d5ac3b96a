//! Messages about names and values of other tools, and about slips that many make, say what to write instead.

use super::bad_input::contains;
use super::{Bench, SMALL};

fn small() -> Bench {
    let bench = Bench::default();
    bench.write("quickstart.toml", SMALL);
    bench
}

#[test]
fn names_of_other_tools_suggest_ours() {
    let bench = small();
    for (set, ours) in [
        ("learner.batch_size=8", "batch_queries"),
        ("learner.lr=0.1", "learning_rate"),
        ("learner.n_estimators=8", "epochs"),
        ("learner.early_stopping_rounds=8", "patience"),
        ("learner.max_grad_norm=1", "clip"),
        ("loss.name=rank_xendcg", "xe_ndcg"),
        ("loss.name=lambdamart", "lambda_ndcg"),
        ("loss.name=rank:pairwise", "rank_net"),
        ("loss.name=ListNetLoss", "list_net"),
        ("loss.name=MultipleNegativesRankingLoss", "softmax_cross_entropy"),
        ("learner={kind=\"lambdamart\"}", "boosted_trees"),
        ("learner={kind=\"LGBMRanker\"}", "boosted_trees"),
        ("learner={kind=\"boosted_trees\", num_leaves=8}", "leaves"),
        ("learner={kind=\"boosted_trees\", min_data_in_leaf=8}", "min_documents"),
        ("learner={kind=\"boosted_trees\", reg_lambda=8}", "l2"),
        ("scorer={kind=\"transformer\"}", "attention"),
        ("scorer.hidden_layer_sizes=[8]", "hidden"),
        ("scorer.dropout_rate=0.1", "dropout"),
        ("measure.select=mean_reciprocal_rank", "mrr"),
        ("measure.convention=scikit-learn", "sklearn"),
        ("normalizer=StandardScaler", "z_score"),
        ("objective=lambdarank", "loss"),
    ] {
        // Trees read no scorer.
        let scorer = if set.contains("boosted_trees") { "scorer=" } else { "seed=1" };
        let message = bench.refused(&["train", "quickstart.toml", "--set", scorer, "--set", set]);
        contains(&message, &[&format!("did you mean `{ours}`?")]);
    }
    // No wrong neighbor where the right name is not valid.
    let other = bench.refused(&["train", "quickstart.toml", "--set", "learner.num_leaves=3"]);
    assert!(!other.contains("did you mean"), "{other}");
}

#[test]
fn an_option_that_is_a_key_of_the_configuration_is_written_with_set() {
    let bench = small();
    for (args, hint) in [
        (&["--epochs", "3"][..], "--set learner.epochs=3"),
        (&["--epochs=4"], "--set learner.epochs=4"),
        (&["--seed", "7"], "--set seed=7"),
        (&["--learning-rate", "0.1"], "--set learner.learning_rate=0.1"),
        (&["--lr", "0.1"], "--set learner.learning_rate=0.1"),
        (&["--batch-size"], "--set learner.batch_queries=VALUE"),
        (&["--dropout", "0.5"], "--set scorer.dropout=0.5"),
        (&["--convention", "letor"], "--set measure.convention=letor"),
    ] {
        for command in ["train", "cv"] {
            let message = bench.refused(&[&[command, "quickstart.toml"], args].concat());
            assert!(message.contains(hint) && !message.contains("'-- "), "{args:?}: {message}");
        }
    }
    assert!(bench.refused(&["train", "quickstart.toml", "--wrong"]).contains("unexpected argument '--wrong'"));
    let verbose = bench.refused(&["train", "quickstart.toml", "-v"]);
    assert!(verbose.contains("unexpected argument '-v'") && !verbose.contains("'-- "), "{verbose}");
}

#[test]
fn a_configuration_that_does_not_exist_suggests_a_file_with_a_similar_name() {
    let bench = small();
    contains(&bench.refused(&["train", "quikstart.toml"]), &["No such file", "did you mean `quickstart.toml`?"]);
    contains(&bench.refused(&["train", "quickstart"]), &["did you mean `quickstart.toml`?"]);
    std::fs::create_dir(bench.path("configs")).unwrap();
    bench.write("configs/mine.toml", SMALL);
    contains(&bench.refused(&["cv", "configs/mien.toml"]), &["did you mean `configs/mine.toml`?"]);
    assert!(!bench.refused(&["train", "other.toml"]).contains("did you mean"));
}

/// Returns the message of `check` about a table.
fn checked(text: &str) -> String {
    let bench = Bench::default();
    bench.write("data.csv", text);
    bench.refused(&["check", "data.csv"])
}

#[test]
fn values_that_are_no_numbers_say_what_they_are() {
    contains(&checked("query,label,price\n1,1,\"12,5\"\n"), &["found `12,5`", "a decimal comma is not read"]);
    contains(&checked("query,label,price\n1,1,3\n1,0,\"12,5\"\n"), &["found `12,5`", "a decimal comma is not read"]);
    contains(
        &checked("query,label,price\n1,1,\"1,299.00\"\n"),
        &["`1,299.00`", "commas between thousands are not read"],
    );
    contains(&checked("query,label,price\n1,good,3\n"), &["found `good`, expected numbers", "map words to grades"]);
    contains(
        &checked("query,label,price\n1,1,3\n1,,4\n"),
        &["found null, expected a label", "leave out rows without one"],
    );
    let bench = Bench::default();
    bench.write("data.txt", "1 qid:1 1:12,5\n");
    contains(&bench.refused(&["check", "data.txt"]), &["found `12,5`", "a decimal comma is not read"]);
}

#[test]
fn a_column_that_other_tools_read_is_suggested_before_one_of_a_similar_name() {
    let message = checked("session_id,query_text,label,price\n1,red shoes,1,3\n");
    contains(&message, &["a column `query` or `qid`", "did you mean `session_id`?"]);
    contains(&checked("query,rating,lapel\n1,1,3\n"), &["a column `label`", "did you mean `rating`?"]);
    let bench = Bench::default();
    bench.write("data.csv", "query,label,a,b\n1,1,3,x\n");
    let message = bench.refused(&["check", "data.csv", "--read", "columns.drop=a,b"]);
    contains(&message, &["columns.drop", "as in columns.drop=[\"a\", \"b\"]"]);
}

/// Returns what `check` prints about data that it reads, in one line.
fn findings(text: &str) -> String {
    let bench = Bench::default();
    bench.write("data.csv", text);
    let output = bench.command(&["check", "data.csv"]).output().unwrap();
    let both = [output.stdout, output.stderr].concat();
    String::from_utf8(both).unwrap().split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn data_without_anything_to_learn_say_why() {
    let rows =
        |of: &dyn Fn(usize) -> String| -> String { format!("query,label,a\n{}", (0..12).map(of).collect::<String>()) };
    let single = findings(&rows(&|row| format!("{row},{},{row}\n", row % 2)));
    assert!(
        single.contains("every query has one document") && single.contains("the right column for queries?"),
        "{single}"
    );
    let same = findings(&rows(&|row| format!("{},0,{row}\n", row / 3)));
    assert!(same.contains("all labels are 0"), "{same}");
    // Most rows belong to a query that stands elsewhere.
    let moved = findings(&rows(&|row| format!("{},{},{row}\n", row % 4, row % 3)));
    assert!(moved.contains("is this the right column for queries?"), "{moved}");
    let bench = Bench::default();
    bench.write("same.csv", &rows(&|row| format!("{},0,{row}\n", row / 3)));
    bench.write("same.toml", "data = { train = [\"same.csv\"] }\nlearner = { kind = \"regression\" }\n");
    let message = bench.refused(&["train", "same.toml"]);
    contains(
        message.lines().last().unwrap(),
        &["error: train queries, all labels of which are 0: ndcg@10 has no mean"],
    );
}

#[test]
fn a_backend_that_is_not_built_gives_the_whole_command_and_the_tested_one() {
    let bench = small();
    for args in
        [&["train", "quickstart.toml", "--device", "rocm"][..], &["train", "quickstart.toml", "--set", "device=rocm"]]
    {
        let build = "cargo install --locked --path cli --features rocm";
        contains(&bench.refused(args), &[build, "the one tested on a GPU is `vulkan`"]);
    }
}

#[test]
fn the_first_steps_of_the_help_work_in_an_empty_folder() {
    let bench = Bench::default();
    let help = bench.output(&["--help"]);
    let steps = help.split("First steps:\n").nth(1).unwrap();
    let mut ran = 0;
    for line in steps.lines().take_while(|line| !line.is_empty()) {
        assert!(line.chars().count() <= 80, "{line}");
        let command = line.trim().split("   ").next().unwrap();
        let mut args: Vec<&str> = command.split(' ').skip(1).collect();
        match args[0] {
            "synth" => args.extend(["--median-length", "4", "--queries", "30"]),
            // The rest takes minutes in a debug build.
            "cv" => args.extend(["--set", "grid=", "--set", "learner.epochs=1"]),
            _ => {}
        }
        // An option counts once.
        if args[0] == "synth" {
            let at = args.iter().position(|arg| *arg == "--queries").unwrap();
            args.drain(at..at + 2);
        }
        bench.output(&args);
        ran += 1;
    }
    assert!(ran >= 4 && bench.path("ranker/ranker.safetensors").is_file(), "{ran}");
}
