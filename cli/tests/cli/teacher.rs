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
fn scores_of_folds_need_a_name_for_each_query() {
    let bench = bench();
    fs::create_dir(bench.path("parts")).unwrap();
    for part in 1..=3 {
        let rows = format!("0 qid:1 1:{part}1\n1 qid:1 1:{part}2\n");
        bench.write(&format!("parts/S{part}.txt"), &rows);
    }
    let folds = ["--set", "data={folds=\"parts\"}", "--set", "cv={}", "--out", "parts-cv"];
    let message = bench.refused(&[&["cv", "trees.toml", "--scores", "s.csv"][..], &folds].concat());
    assert!(message.contains("data.folds = query `1` again in ["), "{message}");
    bench.write("rows.txt", "1\n2\n3\n4\n5\n6\n");
    let taught = ["--set", "data.teacher=rows.txt"];
    let message = bench.refused(&[&["cv", "student.toml"][..], &folds, &taught].concat());
    assert!(message.contains("S2.txt\"]: expected another name for each query of the test files"), "{message}");
    assert!(!bench.path("parts-cv").exists(), "nothing was fitted");
    bench.output(
        &[&["cv", "trees.toml", "--set", "learner={kind=\"regression\"}", "--set", "loss="][..], &folds].concat(),
    );
}

#[test]
fn scores_of_a_split_have_the_rows_of_its_file() {
    let bench = bench();
    let data = "data={train=[\"data.txt\"], split={shares=[0.5, 0.25, 0.25]}}";
    bench.output(&["cv", "trees.toml", "--set", data, "--set", "cv={}", "--no-out"]);
    bench.output(&["cv", "trees.toml", "--set", data, "--set", "cv={}", "--out", "cv", "--scores", "t.csv"]);
    let lines = text(&bench, "data.txt");
    let queries: Vec<&str> = lines.lines().map(|line| line.split(' ').nth(1).unwrap()).collect();
    let table = text(&bench, "t.csv");
    assert!(table.lines().count() > 1);
    for row in table.lines().skip(1) {
        let cells: Vec<&str> = row.split(',').collect();
        let number: usize = cells[2].parse().unwrap();
        assert_eq!(queries[number - 1], format!("qid:{}", cells[0]), "{row}");
    }
}

#[test]
fn a_file_of_scores_that_cannot_be_written_is_refused_before_any_fit() {
    let bench = bench();
    bench.write("blank.csv", "label,query,f\n0,a b,1\n1,a b,2\n0,c,1\n1,c,2\n0,d,1\n1,d,2\n");
    fs::create_dir(bench.path("parts")).unwrap();
    (1..=3).for_each(|part| {
        drop(bench.write(&format!("parts/S{part}.csv"), &format!("label,query,f\n0,{part},1\n1,{part},2\n")))
    });
    for (scores, data, expected) in [
        ("results/s.csv", "data.train=[\"data.txt\"]", "--scores results/s.csv: found no folder results, expected one"),
        ("s.run", "data.train=[\"blank.csv\"]", "a name without blanks"),
        (
            "parts/S2.csv",
            "data={folds=\"parts\"}",
            "--scores parts/S2.csv: expected a different file: this one is read",
        ),
    ] {
        let cv = if data.contains("folds") { "cv={}" } else { "cv.split=3" };
        let args = ["cv", "trees.toml", "--set", data, "--set", cv, "--out", "cv", "--scores", scores];
        let message = bench.refused(&args);
        assert!(message.contains(expected), "{message}");
        assert!(!bench.path("cv").exists(), "nothing was fitted");
    }
}

#[test]
fn a_ranker_teaches_the_data_on_which_it_was_trained() {
    let bench = bench();
    let data = text(&bench, "data.txt");
    let second = data.lines().position(|line| line.contains(" qid:10 ")).unwrap();
    let lines: Vec<&str> = data.lines().collect();
    bench.write("a.txt", &(lines[..second].join("\n") + "\n"));
    bench.write("b.txt", &(lines[second..].join("\n") + "\n"));
    bench.output(&["train", "trees.toml", "--out", "whole"]);
    let taught = |extra: &[&str]| {
        let sets = ["--set", "data.train=[\"a.txt\", \"b.txt\"]", "--set", "data.teacher=whole"];
        bench.run(&[&["cv", "student.toml", "--out", "taught", "--refit", "best"][..], &sets, extra].concat())
    };
    let run = taught(&[]);
    let said = String::from_utf8_lossy(&run.get_output().stderr).into_owned();
    assert!(run.get_output().status.success(), "{said}");
    assert!(said.contains("was trained on these queries, so its scores depend on their labels"), "{said}");
    let said = String::from_utf8_lossy(&run.get_output().stdout).into_owned();
    assert!(said.contains("refit, trained on 18 queries"), "{said}");
    // Other scores are other data, which no finished run is taken for.
    assert!(taught(&["--resume"]).get_output().status.success());
    bench.output(&["train", "trees.toml", "--out", "whole", "--overwrite", "--set", "learner.rounds=2"]);
    let said = String::from_utf8_lossy(&taught(&["--resume"]).code(2).get_output().stderr).into_owned();
    assert!(said.contains("taught: holds a run on other data"), "{said}");
}

#[test]
fn a_ranker_teaches_and_is_continued_only_where_missing_values_are_as_in_its_training() {
    let bench = bench();
    let keep = "data.read={absent=\"missing\", missing=\"keep\"}";
    bench.output(&["train", "trees.toml", "--out", "t", "--set", keep]);
    let go_on = ["train", "trees.toml", "--continue", "t", "--out", "more"];
    let learn = ["train", "student.toml", "--set", "data.teacher=t", "--out", "taught"];
    for args in [go_on, learn] {
        let message = bench.refused(&args);
        let expected = "found a ranker that treats missing values in another way, expected the `missing`, `absent`";
        assert!(message.contains(expected), "{message}");
    }
    bench.output(&[&go_on[..], &["--set", keep]].concat());
    // Missing values are kept here too, until they are filled.
    bench.output(&[&learn[..], &["--set", "data.read={absent=\"missing\", missing=\"indicator\"}"]].concat());
}

#[test]
fn a_teacher_of_the_training_share_of_a_split_has_seen_its_queries() {
    let bench = bench();
    let split = "data={train=[\"data.txt\"], split={shares=[0.5, 0.25, 0.25]}";
    bench.output(&["train", "trees.toml", "--out", "share", "--set", &format!("{split}}}"), "--set", "cv={}"]);
    let taught = |more: &str| {
        let set = format!("{split}, teacher=\"share\"}}");
        let run = bench.run(&["train", "student.toml", "--no-out", "--set", &set, "--set", "cv={}", "--set", more]);
        String::from_utf8_lossy(&run.success().get_output().stderr).into_owned()
    };
    let said = taught("seed=1");
    assert!(said.contains("was trained on these queries"), "{said}");
    let said = taught("seed=2");
    assert!(!said.contains("was trained on these queries"), "{said}");
}

#[test]
fn rows_of_test_queries_need_no_weights() {
    let bench = Bench::default();
    for fold in 1..=2 {
        fs::create_dir_all(bench.path(&format!("folds/Fold{fold}"))).unwrap();
        for (set, query) in [("train", "a"), ("vali", "b"), ("test", "c")] {
            let rows = format!("0 qid:{query}{fold} 1:1\n1 qid:{query}{fold} 1:2\n");
            bench.write(&format!("folds/Fold{fold}/{set}.txt"), &rows);
        }
        bench.write(&format!("folds/Fold{fold}/train.txt.query_weights"), "2\n");
    }
    bench.write(
        "w.toml",
        "data = { folds = \"folds\", read = { query_weights = \"file\" } }\nloss = { name = \"list_net\" }\n\
         scorer = { kind = \"linear\" }\nlearner = { kind = \"gradient\", epochs = 1 }\n",
    );
    bench.output(&["cv", "w.toml", "--out", "run", "--scores", "s.csv"]);
    assert_eq!(text(&bench, "s.csv").lines().count(), 5);
}

/// A run may score the queries on which training selects and tests, and no queries that the data do not have.
#[test]
fn a_run_may_hold_all_queries_of_the_data_and_no_others() {
    let bench = bench();
    let line = |query: &str, id: usize| format!("{query} Q0 {id} 1 0.{id} t\n");
    let of = |query: &str| format!("0 qid:{query} 1:1\n1 qid:{query} 1:2\n");
    bench.write("train.txt", &of("a"));
    bench.write("vali.txt", &of("b"));
    bench.write("all.run", &(line("a", 1) + &line("a", 2) + &line("b", 1)));
    bench.write("vali.run", &line("b", 1));
    bench.write("more.run", &(line("a", 1) + &line("a", 2) + &line("c", 1)));
    let args = |run: &str| -> Vec<String> {
        let files = ["data.train=[\"train.txt\"]", "data.validation=[\"vali.txt\"]", "cv={}"].map(str::to_owned);
        let sets = files.into_iter().chain([format!("data.teacher={run}")]).flat_map(|set| ["--set".to_owned(), set]);
        ["train", "student.toml", "--no-out"].map(str::to_owned).into_iter().chain(sets).collect()
    };
    let all = args("all.run");
    bench.output(&all.iter().map(String::as_str).collect::<Vec<_>>());
    for (run, expected) in [
        (
            "vali.run",
            "data.teacher: vali.run: found no score of a training query, expected one for at least one training document",
        ),
        (
            "more.run",
            "data.teacher: more.run:3:1: found query `c`, expected a query of the training, validation or test",
        ),
    ] {
        let args = args(run);
        let message = bench.refused(&args.iter().map(String::as_str).collect::<Vec<_>>());
        assert!(message.contains(expected), "{message}");
    }
}

#[test]
fn what_no_teacher_can_be_is_refused() {
    let bench = bench();
    bench.write("short.txt", "0.5\n0.25\n");
    bench.write("zz.csv", "query,row,score\nzz,1,0.5\n");
    bench.write("nan.csv", "query,row,score\n1,1,0.5\n1,2,nan\n");
    bench.write("table.csv", "label,query,f,t\n1,a,1,0.5\n0,a,2,N/A\n");
    bench.write("none.csv", "label,query,f\n1,a,1\n0,a,2\n");
    bench.write("empty.csv", "label,query,f,t\n1,a,1,\n0,a,2,\n");
    for (args, expected) in [
        (vec![], "loss.teacher: found no teacher, expected data.teacher or data.columns.teacher"),
        (vec!["data.teacher=short.txt"], "found 2 scores, expected"),
        (vec!["data.teacher=zz.csv"], "row 1: found query `zz`, expected `"),
        (vec!["data.teacher=absent.csv"], "data.teacher: absent.csv: found no file that can be read"),
        (vec!["data.teacher=nan.csv"], "nan.csv: row 2, column `score`: found `nan`, expected a teacher's score"),
        (
            vec!["data.columns.teacher=t", "data.train=[\"table.csv\"]"],
            "table.csv: row 2, column `t`: found `N/A`, expected a teacher's score (a finite number), or an empty cell",
        ),
        (
            vec!["data.columns.teacher=t", "data.train=[\"none.csv\"]", "data.test=[\"table.csv\"]", "cv={}"],
            "none.csv: found columns `label`, `query`, `f`, expected a column `t`",
        ),
        (
            vec!["data.columns.teacher=t", "data.train=[\"empty.csv\"]"],
            "data.columns.teacher = no score: expected a score for some document",
        ),
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
