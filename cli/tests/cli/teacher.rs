//! Teachers: `cv --scores` writes scores that `data.teacher` reads, and what no teacher can be.

use std::fs;

use super::Bench;

/// Generated queries in `data.txt`, and configurations of a teacher and of a student that train in an instant.
fn bench() -> Bench {
    let bench = Bench::default();
    bench.output(&["synth", "--queries", "18", "--features", "5", "--out", "data.txt"]);
    let data = "[data]\ntrain = [\"data.txt\"]\n[cv]\nsplit = 3\n[loss]\nname = \"lambda_ndcg\"\n";
    let trees = format!("name = \"trees\"\n{data}[learner]\nkind = \"boosted_trees\"\nrounds = 3\n");
    bench.write("trees.toml", &trees);
    let student = format!(
        "name = \"student\"\n{data}[loss.teacher]\nname = \"teacher_kl\"\nscale = \"query\"\n[learner]\nkind = \"gradient\"\n\
         epochs = 2\n[scorer]\nkind = \"linear\"\n"
    );
    bench.write("student.toml", &student);
    bench
}

fn text(bench: &Bench, name: &str) -> String {
    fs::read_to_string(bench.path(name)).unwrap()
}

#[test]
fn scores_out_of_fold_are_a_teacher() {
    let bench = bench();
    let said = bench.output(&["cv", "trees.toml", "--out", "trees", "--scores", "t.csv"]);
    assert!(said.contains("scores of the test documents are in t.csv"), "{said}");
    let table = text(&bench, "t.csv");
    let rows: Vec<Vec<&str>> = table.lines().skip(1).map(|line| line.split(',').collect()).collect();
    assert_eq!(table.lines().next(), Some("query,document,row,fold,score"));
    assert_eq!(rows.len(), text(&bench, "data.txt").lines().count());
    assert!(rows.iter().zip(1..).all(|(row, number)| row[2] == number.to_string()), "in the order of the data");
    // The scores of a fold are those that `--keep scores` writes.
    bench.output(&["cv", "trees.toml", "--out", "trees", "--keep", "scores", "--scores", "t.tsv"]);
    let kept: Vec<String> = (1..=3)
        .flat_map(|fold| {
            let kept = text(&bench, &format!("trees/kept/fold{fold}-seed1.scores.txt"));
            kept.lines().map(|score| format!("{fold} {score}")).collect::<Vec<_>>()
        })
        .collect();
    let mut found: Vec<String> = rows.iter().map(|row| format!("{} {}", row[3], row[4])).collect();
    let mut expected = kept;
    found.sort();
    expected.sort();
    assert_eq!(found, expected);
    assert_eq!(text(&bench, "t.tsv"), table.replace(',', "\t"));

    for name in ["t.arrow", "t.parquet", "t.run"] {
        bench.output(&["cv", "trees.toml", "--out", "trees", "--scores", name]);
    }
    let lines: Vec<&str> = rows.iter().map(|row| row[4]).collect();
    bench.write("t.txt", &(lines.join("\n") + "\n"));
    let student = |teacher: &str| {
        let set = format!("data.teacher={teacher}");
        bench.output(&["cv", "student.toml", "--no-out", "--set", &set])
    };
    let by_table = student("t.csv");
    for other in ["t.tsv", "t.arrow", "t.parquet", "t.run", "t.txt"] {
        assert_eq!(student(other), by_table, "{other}");
    }
    assert_ne!(
        student("t.csv"),
        bench.output(&[
            "cv",
            "student.toml",
            "--no-out",
            "--set",
            "data.teacher=t.csv",
            "--set",
            "loss.teacher.weight=0"
        ])
    );

    // A saved ranker, which has seen the queries.
    bench.output(&["train", "trees.toml", "--out", "whole"]);
    let run = bench.run(&["train", "student.toml", "--out", "taught", "--set", "data.teacher=whole"]);
    let said = String::from_utf8_lossy(&run.get_output().stderr).into_owned();
    assert!(run.get_output().status.success() && said.contains("was trained on these queries"), "{said}");
}

#[test]
fn what_no_teacher_can_be_is_refused() {
    let bench = bench();
    bench.write("short.txt", "0.5\n0.25\n");
    bench.write("zz.csv", "query,row,score\nzz,1,0.5\n");
    for (args, expected) in [
        (vec![], "loss.teacher: found no teacher, expected data.teacher or data.columns.teacher"),
        (vec!["data.teacher=short.txt"], "found 2 scores, expected"),
        (vec!["data.teacher=zz.csv"], "row 1: found query `zz`, expected `"),
        (vec!["data.teacher=none.csv"], "none.csv"),
        (vec!["data.teacher=short.txt", "loss.teacher.weight=-1"], "loss.teacher.weight"),
        (vec!["data.columns.teacher=t", "data.teacher=short.txt"], "expected none with data.columns.teacher"),
        (vec!["data.columns.teacher=t"], "data.txt: found text, expected a table"),
    ] {
        let sets = args.iter().flat_map(|set| ["--set", set]);
        let all: Vec<&str> = ["cv", "student.toml", "--no-out"].into_iter().chain(sets).collect();
        let message = bench.refused(&all);
        assert!(message.contains(expected), "{args:?}: {message}");
    }
    let unread = bench.refused(&["cv", "trees.toml", "--no-out", "--set", "data.teacher=short.txt"]);
    assert!(
        unread.contains("expected a section [loss.teacher] with it: the loss `lambda_ndcg` reads labels only"),
        "{unread}"
    );
    let ending = bench.refused(&["cv", "trees.toml", "--scores", "t.xlsx"]);
    assert!(ending.contains("--scores = t.xlsx: expected a name that ends in .csv"), "{ending}");
    let over = bench.refused(&["cv", "trees.toml", "--scores", "data.txt"]);
    assert!(over.contains("--scores"), "{over}");
}

#[test]
fn a_list_may_have_the_scores_of_a_teacher() {
    let bench = Bench::default();
    bench.write("lists", "{\"scores\": [1, 0, 2], \"labels\": [0, 0, 0], \"teacher\": [2, null, 1]}\n");
    let found: serde_json::Value = serde_json::from_str(&bench.output(&["loss", "teacher_mse", "lists"])).unwrap();
    assert_eq!((&found["loss"], &found["grad"][1]), (&serde_json::json!(1.0), &serde_json::json!(0.0)));
    bench.write("short", "{\"scores\": [1, 0], \"labels\": [0, 0], \"teacher\": [2]}\n");
    let refused = bench.refused(&["loss", "teacher_mse", "short"]);
    assert!(refused.contains("found 1 scores of a teacher, expected 2, one per score"), "{refused}");
}
