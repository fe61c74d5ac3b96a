//! Rankers saved in version 1 of the format, which are those shipped in November 2026, load and give the same scores as
//! then: within a tolerance everywhere, and to the bit where the processor's instructions make no difference.
//! `cli/tests/needs/format_1.rs` compares the others to the bit.
//!
//! The files in `format_1/` are never made again after the first release, since whoever has saved a ranker expects it
//! to give the same scores.

use crate::common::format_1::{EVERY, bits, folder, recorded, scores};

#[test]
fn every_ranker_scores_as_it_did() {
    let recorded = recorded();
    let saved = std::fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().path());
    let saved = saved.filter(|path| path.extension().is_some_and(|extension| extension == "safetensors")).count();
    assert_eq!((saved, recorded.len()), (10, 10));
    let mut to_the_bit = Vec::new();
    for (name, by_set) in &recorded {
        let found = scores(name);
        for (set, expected) in by_set {
            assert_eq!(found.len(), expected.len(), "{name}");
            if set == EVERY {
                assert_eq!(bits(&found), *expected, "{name}");
                to_the_bit.push(name.as_str());
            }
            for (found, expected) in found.iter().zip(expected) {
                let expected = f32::from_bits(u32::from_str_radix(expected, 16).unwrap());
                let near = 1e-5 * expected.abs().max(1.0);
                assert!((found - expected).abs() <= near, "{name}, {set}: {found} {expected}");
            }
        }
    }
    assert_eq!(to_the_bit, ["synth-lambda-mart", "synth-rank-boost"]);
}
