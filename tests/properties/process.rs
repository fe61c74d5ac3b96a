//! The library in another program's process: it changes nothing of the process, and what one thread asks for reaches
//! the threads that work for it and no others.

use std::collections::BTreeMap;
use std::fs;
use std::panic;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use burn_rank::data::letor::{self, ReadOptions};
use burn_rank::data::trec::{Qrels, read_judged_from, read_run_from};
use burn_rank::data::{DataError, Input};
use burn_rank::device;
use burn_rank::op::Execution;
use burn_rank::workbench::op::PrimitivePath;

/// Set in a separate process that runs only the test for which it was started.
const ALONE: &str = "BURN_RANK_TEST_ALONE";

#[test]
fn opening_a_device_loses_no_panic_of_another_thread() {
    const TIMES: usize = 3000;
    if std::env::var_os(ALONE).is_none() {
        let name = "process::opening_a_device_loses_no_panic_of_another_thread";
        let mut alone = Command::new(std::env::current_exe().unwrap());
        let output = alone.args([name, "--exact", "--nocapture"]).env(ALONE, "1").output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(
            output.status.success() && said.contains("1 passed"),
            "{said}{}",
            String::from_utf8_lossy(&output.stderr)
        );
        return;
    }
    static REPORTED: AtomicUsize = AtomicUsize::new(0);
    panic::set_hook(Box::new(|_| {
        REPORTED.fetch_add(1, Ordering::SeqCst);
    }));
    thread::scope(|threads| {
        threads.spawn(|| {
            for _ in 0..TIMES {
                assert!(panic::catch_unwind(|| panic!("reported")).is_err());
            }
        });
        for _ in 0..2 {
            threads.spawn(|| (0..TIMES).for_each(|_| drop(device::open("flex").unwrap())));
        }
    });
    assert!(panic::catch_unwind(|| panic!("reported")).is_err());
    let reported = REPORTED.load(Ordering::SeqCst);
    // Reporting a failed test needs the usual hook.
    let _ = panic::take_hook();
    assert_eq!(reported, TIMES + 1);
}

#[test]
fn a_function_given_to_a_run_sees_the_execution_of_the_caller() {
    let text: String = (0..400).map(|query| format!("{query} Q0 a 1 1.0 t\n")).collect();
    let execution = Execution::default().with_memory_budget(12_345).with_path(PrimitivePath::Tensor);
    let seen = || -> Vec<(Execution, bool)> {
        let caller = thread::current().id();
        let of_query = |_: &str, _: &[(&str, f32)]| {
            thread::sleep(std::time::Duration::from_micros(50));
            Ok::<_, DataError>((Execution::current(), thread::current().id() == caller))
        };
        let run = read_run_from(Input::from_reader("run", std::io::Cursor::new(text.clone())), of_query).unwrap();
        run.queries.into_iter().map(|(_, seen)| seen).collect()
    };
    let pool = rayon::ThreadPoolBuilder::new().num_threads(4).build().unwrap();
    let seen = pool.install(|| execution.scope(seen));
    assert!(seen.iter().all(|(seen, _)| *seen == execution));
    assert!(seen.iter().any(|(_, by_caller)| !by_caller), "no other thread took part");
    assert!(pool.broadcast(|_| Execution::current()).iter().all(|left| *left == Execution::default()));
}

#[test]
fn several_readers_are_read_as_files_are() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| {
        let path = folder.path().join(name);
        fs::write(&path, text).unwrap();
        path
    };
    let reader = |text: &str| Input::from_reader("standard input", std::io::Cursor::new(text.to_owned()));
    let (first, second) = ("1 qid:1 1:0.5\n0 qid:1 2:1\n", "2 qid:2 1:3\n");
    let options = ReadOptions::default();
    let expected = letor::read(&[file("a", first), file("-", second)], &options).unwrap();
    for _ in 0..2 {
        // Any number of readers may be given, with files among them.
        assert_eq!(letor::read_from([reader(first), reader(second)], &options).unwrap(), expected);
        let mixed = [Input::from_path(folder.path().join("a")), reader(second)];
        assert_eq!(letor::read_from(mixed, &options).unwrap(), expected);
    }
    let message =
        |text: &str, options: &ReadOptions| letor::read_from([reader(text)], options).unwrap_err().to_string();
    assert_eq!(
        message("1 qid:1 1:x\n", &options),
        "standard input:1:11: found `x`, expected a finite value of feature 1"
    );
    let message_without = message("1 1:3\n", &options);
    assert_eq!(message_without, "standard input:1:1: found no `qid:ID`, expected `qid:ID` on every line");
    let sizes = ReadOptions { groups: burn_rank::workbench::Groups::QueryFile, ..ReadOptions::default() };
    assert!(message("1 1:3\n", &sizes).ends_with("there is no file of group sizes next to standard input"));

    let qrels = "1 0 a 1\n2 0 a 0\n";
    let judgments = Qrels::read_from(reader(qrels)).unwrap();
    assert_eq!(judgments, Qrels::read(&file("qrels", qrels)).unwrap());
    // A query that appears again later means that a file is read again, but a reader is held whole.
    let run = "1 Q0 a 1 3 t\n2 Q0 a 1 3 t\n1 Q0 b 2 1 t\n";
    let path = file("run", run);
    let sizes = |input| {
        let of_query = |_: &str, query: &burn_rank::measure::trec_eval::TrecQuery| Ok::<_, DataError>(query.run.len());
        read_judged_from(input, &judgments, false, of_query).unwrap()
    };
    assert_eq!(sizes(reader(run)), sizes(Input::from_path(path)));
    let message = Qrels::read_from(reader("1 0 a x\n")).unwrap_err().to_string();
    assert_eq!(message, "standard input:1:7: found `x`, expected an integer relevance");
}

/// Returns the sources of the library and of the workbench except the command, each without its tests.
fn library() -> Vec<(String, String)> {
    fn files(folder: &Path, found: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                files(&path, found);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                found.push(path);
            }
        }
    }
    let of = |folder: &str| {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
        let mut found = Vec::new();
        files(&root, &mut found);
        let name = |path: &Path| path.strip_prefix(&root).unwrap().to_str().unwrap().replace('\\', "/");
        found.iter().map(|path| (name(path), fs::read_to_string(path).unwrap())).collect::<Vec<_>>()
    };
    let sources = ["src", "cli/src"].into_iter().flat_map(of);
    let without_tests = sources.map(|(name, text)| {
        let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap();
        let lines = code.lines().filter(|line| !line.trim_start().starts_with("//"));
        (name, lines.collect::<Vec<_>>().join("\n"))
    });
    let is_tests = |name: &str| name.ends_with("tests.rs") || name.ends_with("testing.rs");
    without_tests.filter(|(name, _)| !name.starts_with("cli/") && name != "main.rs" && !is_tests(name)).collect()
}

/// Counts the `words` in every file that has any of them.
fn occurrences(words: &[&str]) -> BTreeMap<String, usize> {
    let count = |text: &str| words.iter().map(|word| text.matches(word).count()).sum::<usize>();
    library().into_iter().map(|(name, text)| (name, count(&text))).filter(|(_, count)| *count > 0).collect()
}

/// Losses and primitives leave their results on the device. Whoever reads one waits for everything before it.
#[test]
fn losses_and_primitives_wait_for_no_device() {
    let mut reads = occurrences(&[".into_data(", ".to_data(", ".into_scalar", ".try_into_data("]);
    reads.retain(|name, _| name.starts_with("loss/") || name.starts_with("op/"));
    let expected = [
        ("loss/check.rs", 5, "`try_forward` reads what it checks, also weights and packed lists"),
        ("loss/explain.rs", 2, "numbers for a reader"),
        ("loss/input.rs", 1, "`try_forward` counts the queries that have something to learn"),
        ("loss/ranking_loss.rs", 1, "`degenerate_queries` and `explain` ask what can be learned"),
        ("loss/surrogate/position_function.rs", 1, "a table of ranks, computed by the host"),
    ];
    assert_eq!(reads, expected.map(|(name, count, _)| (name.to_owned(), count)).into());
}

#[test]
fn state_that_outlives_a_call_is_the_same_for_every_caller() {
    // State that outlives a call is limited to caches and tables of values that are the same for every caller, and to
    // state of one thread.
    let shared = ["OnceLock::new()", "LazyLock::new(", "Mutex::new(HashMap", "thread_local!", "static mut "];
    let expected = [
        ("data/columnar/mod.rs", 1, "whether a thread decodes a file that may be damaged"),
        ("data/fit_normalizer.rs", 1, "a table of constants"),
        ("data/letor/parse.rs", 1, "a table of constants"),
        ("device.rs", 1, "the number of reads of a thread"),
        ("execution/mod.rs", 1, "the execution of a thread, while its scope lasts"),
        ("experiment/config/document.rs", 1, "how often a thread of a test decodes a file"),
        ("experiment/cross_validation/jobs.rs", 1, "the results of the jobs of one call"),
        ("experiment/splits.rs", 1, "what a split holds, once its files have been read"),
        ("loss/surrogate/relaxation/expected/exponential_fit.rs", 1, "fits by their parameters"),
        ("memory.rs", 1, "whether the process has a limit of addresses"),
        ("op/gpu/launch.rs", 2, "kernels that a device can run, and tables that stay on it"),
    ];
    assert_eq!(occurrences(&shared), expected.map(|(name, count, _)| (name.to_owned(), count)).into());
    let atomics = occurrences(&["static "]).into_keys().filter(|name| {
        let text = &library().into_iter().find(|(other, _)| other == name).unwrap().1;
        text.lines().any(|line| line.contains("static ") && (line.contains("Atomic") || line.contains(": Mutex")))
    });
    assert_eq!(atomics.collect::<Vec<_>>(), Vec::<String>::new());
}

#[test]
fn parallel_code_carries_the_execution_to_its_threads() {
    // Loops over only numbers, which call nothing that depends on the execution, and threads that read ahead.
    let arithmetic = ["data/features/in_file.rs", "data/features/mod.rs", "learner/boosted_trees/sums.rs"];
    let fan_outs = occurrences(&["par_iter(", "par_iter_mut(", "par_chunks", "par_bridge(", "spawn("]);
    for name in arithmetic {
        assert!(fan_outs.contains_key(name), "{name} is on the list and has no parallel code");
    }
    let carried = occurrences(&[".bind(", "execution.scope("]);
    for (name, count) in fan_outs.iter().filter(|(name, _)| !arithmetic.contains(&name.as_str())) {
        assert_eq!(carried.get(name), Some(count), "{name}: give the closure to `Execution::current().bind(..)`");
    }
}
