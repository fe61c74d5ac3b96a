//! Tests that need something that not every machine has: the research data, which may not be passed on with the
//! repository; a browser; shells and groff; packages of Python; the right to mount a file system. libtest cannot report
//! that a test did not run, so this suite has a harness of its own. A test whose need is not met is listed as ignored,
//! with what is lacking, and the last line counts such tests. CONTRIBUTING.md says how to meet each need.
//!
//! `#[test]` means nothing here. A test is a `pub fn` that is listed in [`tests`].

#[path = "../common/bench.rs"]
mod bench;
#[path = "../../../tests/common/mod.rs"]
mod common;
#[path = "../common/follow.rs"]
mod follow;
#[path = "../../../tests/golden/measure_lists.rs"]
#[allow(dead_code, reason = "the golden suite uses the rest")]
mod measure_lists;

mod browser;
mod data;
mod disk;
mod export_page;
mod format_1;
mod programs;
mod python;
mod python_pages;
mod terminal;

use std::path::Path;
use std::process::ExitCode;

use data::shared;
use libtest_mimic::{Arguments, Failed, Trial};

/// Makes a test from its path and its needs.
macro_rules! test {
    ($test:path, $($need:expr),+) => {
        trial(stringify!($test), Ok(())$(.and_then(|()| $need.map(|_| ())))+, $test)
    };
}

fn trial(name: &str, need: Result<(), String>, test: fn()) -> Trial {
    let trial = Trial::test(name, move || {
        test();
        Ok(())
    });
    match need {
        Ok(()) => trial,
        // `--ignored` runs it nevertheless, and it fails.
        Err(lacking) => trial.with_kind(format!("skipped: {lacking}")).with_ignored_flag(true),
    }
}

/// The compiler warns of a `pub fn` that is not in [`tests`], but leaves out a function with `#[test]` without a word.
fn every_test_is_listed() -> Result<(), Failed> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/needs");
    for entry in std::fs::read_dir(&folder)?.chain(std::fs::read_dir(folder.join("data"))?) {
        let path = entry?.path();
        if path.is_dir() {
            continue;
        }
        let lost = std::fs::read_to_string(&path)?.lines().any(|line| line.trim() == "#[test]");
        if lost {
            return Err(format!("{}: a test here is a `pub fn` that main.rs lists", path.display()).into());
        }
    }
    Ok(())
}

fn tests() -> Vec<Trial> {
    let mounts = disk::mounts();
    vec![
        Trial::test("every_test_is_listed", every_test_is_listed),
        test!(data::ada_rank::map_by_fold_on_letor_2_ohsumed, shared("data/letor2-ohsumed")),
        test!(data::ada_rank::each_feature_once_gives_the_same_mean_to_four_digits, shared("data/letor2-ohsumed")),
        test!(browser::a_browser_sees_pages_that_fit_in_light_and_dark, browser::found()),
        test!(data::collections::letor_3_ohsumed, shared("data/letor3-ohsumed")),
        test!(data::collections::letor_2_ohsumed_in_parts_with_crlf, shared("data/letor2-ohsumed")),
        test!(data::collections::letor_4_mq2008, shared("data/mq2008")),
        test!(data::collections::mslr_sample, shared("data/mslr-sample/sample.txt")),
        test!(data::collections::lightgbm_group_sizes, shared("data/lightgbm-lambdarank")),
        test!(disk::a_full_disk_keeps_what_it_has, mounts.clone()),
        test!(disk::a_read_only_disk_keeps_what_it_has, mounts.clone()),
        test!(disk::a_mount_point_is_written_to_and_not_replaced, mounts.clone()),
        test!(disk::files_that_belong_together_stay_together_on_a_full_disk, mounts.clone()),
        test!(disk::a_run_comes_back_after_a_full_disk, mounts.clone()),
        test!(disk::an_overwriting_run_on_a_full_disk_leaves_the_old_run, mounts),
        test!(
            export_page::the_python_of_the_page_on_exports_reads_exports,
            python::with(&["lightgbm", "numpy", "onnxruntime", "safetensors", "xgboost"])
        ),
        test!(format_1::every_ranker_scores_to_the_bit, format_1::recorded_here()),
        test!(
            data::published_features::every_published_number_agrees,
            shared("data/letor2-ohsumed"),
            shared(data::published_features::FIGURES)
        ),
        test!(programs::bash_accepts_its_script, programs::installed("bash")),
        test!(programs::fish_accepts_its_script, programs::installed("fish")),
        test!(programs::zsh_accepts_its_script, programs::installed("zsh")),
        test!(programs::the_pages_are_valid_troff, programs::installed("groff")),
        test!(python_pages::adjectives_and_adverbs_of_wordnet_keep_their_definitions, python::with(&[])),
        test!(python_pages::a_new_ranker_every_night, python::with(&[])),
        test!(
            python_pages::a_ranker_in_onnx_runtime,
            programs::installed("curl"),
            python::with(&["numpy", "onnxruntime"])
        ),
        test!(
            python_pages::a_table_and_a_figure_for_a_paper,
            programs::installed("rsvg-convert"),
            python::with(&["matplotlib"])
        ),
        test!(python_pages::grades_from_clicks_and_purchases, python::with(&["pandas"])),
        test!(python_pages::text_and_categories_as_features_with_pandas, python::with(&["pandas"])),
        test!(python_pages::text_and_categories_as_features_with_polars, python::with(&["pandas", "polars"])),
        test!(terminal::without_color_nothing_is_colored, terminal::lent()),
        test!(
            terminal::progress_scrolls_back_with_measure_surrogate_rate_and_time_left_in_80_columns_and_fewer,
            terminal::lent()
        ),
        test!(terminal::quiet_is_quiet_on_a_terminal, terminal::lent()),
        test!(terminal::ctrl_c_stops_a_run_after_its_round, terminal::lent()),
        test!(terminal::ctrl_c_in_a_cross_validation_without_a_folder_says_that_nothing_is_saved, terminal::lent()),
        test!(terminal::sigterm_stops_a_run_after_its_round, terminal::lent()),
        test!(terminal::a_terminal_that_hangs_up_stops_a_run_after_its_round, terminal::lent()),
        test!(terminal::terminal_sequences_in_names_are_harmless_on_a_terminal, terminal::lent()),
        test!(terminal::what_takes_long_says_on_a_terminal_what_goes_on, terminal::lent()),
        test!(terminal::without_a_terminal_on_standard_error_nothing_is_drawn, terminal::lent()),
    ]
}

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let conclusion = libtest_mimic::run(&arguments, tests());
    if conclusion.num_ignored > 0 && !arguments.list {
        let asked = conclusion.num_passed + conclusion.num_failed + conclusion.num_ignored;
        eprintln!(
            "skipped: {} of {asked} tests, for want of what is named beside each; CONTRIBUTING.md says how to get it\n",
            conclusion.num_ignored
        );
    }
    conclusion.exit_code()
}
