//! TREC runs and judgments, plain or compressed: an error, or a value.
#![no_main]

use burn_rank::data::DataError;
use burn_rank::data::trec::{Qrels, read_run};
use burn_rank_fuzz::{as_file, choice};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let (which, text) = choice(bytes);
    let path = as_file(text);
    if which % 2 == 0 {
        let Ok(run) = read_run(&path, |_, documents| Ok::<_, DataError>(documents.len())) else { return };
        assert!(run.queries.iter().all(|(_, documents)| *documents > 0));
    } else if let Ok(qrels) = Qrels::read(&path) {
        for query in &qrels.queries {
            assert!(!qrels.judgments(query).is_empty());
        }
    }
});
