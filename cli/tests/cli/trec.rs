//! `eval --qrels --run`: output like trec_eval's, other conventions, and bad files.

use serde_json::Value;

use super::Bench;
use super::bad_input::contains;
use super::common::{expected, expected_text, lines_within};

/// Query 2 has no relevant document, 3 is not in the run, 9 is not judged.
const QRELS: &str = "1 0 a 1\n1 0 b 0\n1 0 c 2\n2 0 a 0\n3 0 a 1\n";
const RUN: &str = "1 Q0 a 1 3.0 mine\n1 Q0 b 2 2.0 mine\n1 Q0 c 3 1.0 mine\n2 Q0 a 1 1.0 mine\n9 Q0 a 1 1.0 mine\n";
const EVAL: [&str; 5] = ["eval", "--qrels", "qrels", "--run", "run"];

fn bench() -> Bench {
    let bench = Bench::default();
    bench.write("qrels", QRELS);
    bench.write("run", RUN);
    bench
}

fn eval(bench: &Bench, options: &[&str]) -> String {
    bench.output(&[&EVAL[..], options].concat())
}

fn json(bench: &Bench, options: &[&str]) -> Value {
    serde_json::from_str(&eval(bench, &[options, &["--json"]].concat())).unwrap()
}

/// Returns the output for two of trec_eval's own test files.
fn golden(qrels: &str, run: &str, options: &[&str]) -> String {
    let file = |name: &str| expected("trec_eval").join(name).into_os_string().into_string().unwrap();
    let files = ["eval", "--format", "trec", "--qrels", &file(qrels), "--run", &file(run)];
    Bench::default().output(&[&files[..], options].concat())
}

#[test]
fn the_output_is_that_of_trec_eval() {
    let official = golden("qrels.test", "results.test", &[]);
    assert_eq!(official, expected_text("trec_eval/out.test"));
    assert_eq!(golden("qrels.test.with-comments", "results.test", &[]), official);
    // Names and parameters are as trec_eval's command line takes them; the last column names measures that we do not
    // have.
    let parameters = "-q -m iprec_at_recall..10,.20,.25,.75,.50 -m P.5,7,3 -m recall.20,2000 -m Rprec_mult.5.0,0.2,0.35 \
                      -m ndcg_cut.10,20,23.4 -m success.2,5,20";
    for (run, options, expected, compared, others) in [
        ("results.test", "-m all_trec", "out.test.a", 94, "infAP binG G ndcg_rel Rndcg"),
        ("results.test", "-m all_trec -q", "out.test.aq", 364, "infAP binG G ndcg_rel Rndcg relstring"),
        ("results.trunc", "-m all_trec -q --complete", "out.test.aqc", 364, "infAP binG G ndcg_rel Rndcg relstring"),
        (
            "results.test",
            parameters,
            "out.test.meas_params",
            76,
            "11pt_avg_.25,.5,.75 ndcg_1=3,2=9,4=4.5 utility_2,-1,0,0",
        ),
    ] {
        let options: Vec<&str> = options.split_whitespace().collect();
        let found = golden("qrels.test", run, &options);
        let others = others.split(' ').map(String::from).collect();
        assert_eq!(lines_within(&found, &format!("trec_eval/{expected}")), (compared, others));
    }
}

#[test]
fn depth_and_level_are_those_of_trec_eval() {
    let values = |options: &str| {
        let options: Vec<&str> = options.split(' ').collect();
        let lines = golden("qrels.rel_level", "results.test", &options);
        lines.lines().map(|line| line.rsplit('\t').next().unwrap().to_string()).collect::<Vec<_>>()
    };
    assert_eq!(values("-q -M 20 -m map"), values("-q -m map_cut.20"));
    assert_ne!(values("-l 2 -m num_rel"), values("-m num_rel"));
    assert_eq!(values("-l 2 -m ndcg"), values("-m ndcg"));
    // In the table the same numbers have our names.
    assert_eq!(values("-M 20 -l 2 -m P.5,recip_rank"), values("-M 20 -l 2 -m p@5,mrr"));
}

#[test]
fn the_table_says_what_was_counted() {
    let bench = bench();
    let head = "convention trec_eval, 2 queries, 1 empty\nrun mine\n";
    let unjudged = "queries of the run without judgments: 1, left out\n";
    // AP of query 1 is (1 + 2/3) / 2, its NDCG (1 + 2/2) / (2 + 1/log2 3).
    assert_eq!(
        eval(&bench, &["-q", "-m", "ndcg@10,map"]),
        format!(
            "{head}judged queries that the run misses: 1, left out (--complete counts them)\n{unjudged}\
             query  ndcg@10     map\n1       0.7602  0.8333\n2       0.0000  0.0000\nall     0.3801  0.4167\n"
        )
    );
    assert_eq!(
        eval(&bench, &["--complete", "-m", "map"]),
        format!(
            "{}judged queries that the run misses: 1, counted as empty lists\n{unjudged}query     map\nall    0.2778\n",
            head.replace("2 queries", "3 queries")
        )
    );
    // Standard output has trec_eval's lines only.
    let lines = bench.run(&[&EVAL[..], &["--format", "trec", "-m", "num_q,map"]].concat()).success();
    let lines = lines.get_output();
    let expected = "num_q                 \tall\t2\nmap                   \tall\t0.4167\n";
    assert_eq!(String::from_utf8(lines.stdout.clone()).unwrap(), expected);
    assert_eq!(
        String::from_utf8(lines.stderr.clone()).unwrap(),
        format!(
            "note: empty queries: 1 of 2 (convention trec_eval)\n\
             note: judged queries that the run misses: 1, left out (--complete counts them)\nnote: {unjudged}"
        )
    );
}

#[test]
fn json_has_the_same_values_in_full() {
    let bench = bench();
    let value = json(&bench, &["-q", "-m", "map"]);
    let counts = ["queries", "empty_queries", "missing_queries", "unjudged_queries"];
    assert_eq!(counts.map(|key| value[key].as_u64().unwrap()), [2, 1, 1, 1]);
    assert_eq!((&value["convention"], &value["run"]), (&Value::from("trec_eval"), &Value::from("mine")));
    let map = (1.0 + 2.0 / 3.0) / 2.0;
    assert!((value["measures"]["map"].as_f64().unwrap() - map / 2.0).abs() < 1e-15);
    assert_eq!(value["per_query"][1], serde_json::json!({"query": "2", "measures": {"map": 0.0}}));
    let trec = json(&bench, &["-q", "--format", "trec", "-m", "num_rel_ret,map,gm_map"]);
    assert_eq!(trec["measures"]["num_rel_ret"], 2);
    assert_eq!(trec["measures"]["map"], value["measures"]["map"]);
    assert_eq!(trec["per_query"][0]["measures"].as_object().unwrap().len(), 2, "no gm_map of one query");
    assert_eq!(counts.map(|key| &trec[key]), counts.map(|key| &value[key]));
    let all = json(&bench, &["--compare-conventions", "-m", "map"]);
    let about = ["run", "complete", "missing_queries", "unjudged_queries"];
    assert_eq!(about.map(|key| &all[key]), about.map(|key| &value[key]));
}

#[test]
fn options_for_data_are_refused_with_a_run() {
    let message = bench().refused(&[&EVAL[..], &["--missing", "zero"]].concat());
    assert_eq!(message, "error: --missing and --read: expected data to read by them, found a TREC run\n");
}

#[test]
fn other_conventions_read_the_same_run() {
    let bench = bench();
    // Query 2 is excluded; gains 1 and 3.
    let ndcg = (1.0 + 3.0 / 2.0) / (3.0 + 1.0 / 3f64.log2());
    let value = json(&bench, &["-c", "standard", "-m", "ndcg"]);
    assert!((value["measures"]["ndcg"].as_f64().unwrap() - ndcg).abs() < 1e-12);
    assert_eq!(value["empty_queries"], 1);
    let level = json(&bench, &["-l", "2", "-m", "mrr"]);
    assert_eq!(level["measures"]["mrr"].as_f64().unwrap(), 1.0 / 6.0);
    assert_eq!(level["convention"]["relevant_from"], 2.0, "the convention is printed as it was used");
    let table = eval(&bench, &["--compare-conventions", "-m", "ndcg"]);
    assert!(table.starts_with("run mine\n") && table.contains("\n2 queries, 1 empty\n"), "{table}");
    for row in ["standard    0.6885", "trec_eval   0.3801", "lightgbm    0.8443", "rax         0.3443"] {
        assert!(table.contains(row), "{row} is not in\n{table}");
    }
    // Only some conventions accept a negative relevance.
    bench.write("qrels", &QRELS.replace("1 0 b 0", "1 0 b -2"));
    contains(
        &bench.refused(&[&EVAL[..], &["-c", "standard", "-m", "map"]].concat()),
        &["qrels: document `b` of query `1` has the relevance -2", "expected a number, 0 or above"],
    );
    let table = eval(&bench, &["--compare-conventions", "-m", "ndcg"]);
    assert!(
        table.contains("trec_eval   0.3801") && table.contains("standard is not defined here: qrels: document `b`"),
        "{table}"
    );
}

#[test]
fn lines_of_a_query_need_not_be_together() {
    let bench = bench();
    let together = eval(&bench, &["-q"]);
    let lines: Vec<&str> = RUN.lines().collect();
    let apart: String = [0, 3, 4, 1, 2].map(|at| format!("{}\n", lines[at])).concat();
    bench.write("run", &apart);
    assert_eq!(eval(&bench, &["-q"]), together);
    for threads in ["1", "2"] {
        let output = bench.command(&[&EVAL[..], &["-q"]].concat()).env("RAYON_NUM_THREADS", threads).output().unwrap();
        assert_eq!(String::from_utf8(output.stdout).unwrap(), together);
    }
}

#[test]
fn a_run_may_be_compressed_or_come_from_a_pipe() {
    let bench = bench();
    let expected = eval(&bench, &[]);
    let piped = bench.command(&["eval", "--qrels", "qrels", "--run", "/dev/stdin"]).write_stdin(RUN).output().unwrap();
    assert_eq!(String::from_utf8(piped.stdout).unwrap(), expected);
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    std::io::Write::write_all(&mut gzip, RUN.as_bytes()).unwrap();
    std::fs::write(bench.path("run"), gzip.finish().unwrap()).unwrap();
    assert_eq!(eval(&bench, &[]), expected);
}

#[test]
fn bad_files_are_refused_with_the_place() {
    for (name, text, message) in [
        ("run", "1 Q0 a 1 3 t\n1 Q0 b 2 high t\n", "error: run:2:10: found `high`, expected a finite score\n"),
        (
            "run",
            "1 Q0 a 1 3\n",
            "error: run:1:11: found the end of the line, expected `query Q0 document rank score tag`\n",
        ),
        (
            "run",
            "1 Q0 a 1 3 t\n1 Q0 a 2 2 t\n",
            "error: run:2:6: found document `a` of query `1` again, expected each document once (it was first on line \
             1)\n",
        ),
        ("run", "# no line\n", "error: run: found no document, expected lines `query Q0 document rank score tag`\n"),
        ("run", "7 Q0 a 1 3 t\n", "error: run: found no query of qrels, which has 3 queries from `1` to `3`\n"),
        ("qrels", "1 0 a yes\n", "error: qrels:1:7: found `yes`, expected an integer relevance\n"),
        (
            "qrels",
            "1 0 a\n",
            "error: qrels:1:6: found the end of the line, expected `query iteration document relevance`\n",
        ),
    ] {
        let bench = bench();
        bench.write(name, text);
        for format in ["table", "trec"] {
            assert_eq!(bench.refused(&[&EVAL[..], &["--format", format]].concat()), message);
        }
    }
    contains(&bench().refused(&["eval", "--qrels", "qrels", "--run", "nowhere"]), &["nowhere: No such file"]);
    contains(&bench().refused(&["eval", "--qrels", "nowhere", "--run", "run"]), &["nowhere: No such file"]);
    let bench = bench();
    let refused = |options: &[&str]| bench.refused(&[&EVAL[..], options].concat());
    contains(&refused(&["-m", "ndgc@10"]), &["--measures: unknown measure `ndgc@10`", "did you mean `ndcg`?"]);
    contains(&refused(&["-m", "bpref"]), &["unknown measure `bpref`", "`bpref` is trec_eval's", "--format trec"]);
    contains(
        &refused(&["--format", "trec", "-m", "ndcg_cutt.10"]),
        &["--measures: unknown measure `ndcg_cutt.10`", "did you mean `ndcg_cut`?"],
    );
    contains(&refused(&["-c", "leter"]), &["--convention: unknown convention `leter`", "did you mean `letor`?"]);
    contains(&refused(&["--format", "trec", "-c", "letor"]), &["--convention letor", "expected `trec_eval`"]);
    for usage in [
        &["eval", "--run", "run"][..],
        &["eval", "--qrels", "qrels"],
        &["eval", "--qrels", "qrels", "--run", "run", "-l", "0"],
        &["eval", "--qrels", "qrels", "--run", "run", "-M", "0"],
        &["eval", "--qrels", "qrels", "--run", "run", "--scores", "run"],
        &["eval", "model", "data", "--complete"],
    ] {
        bench.run(usage).code(2);
    }
}
