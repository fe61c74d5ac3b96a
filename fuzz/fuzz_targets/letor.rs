//! LETOR text, plain or compressed, under every rule for missing values and groups: an error, or a consistent dataset
//! that is written and read back the same.
#![no_main]

use burn_rank::data::letor::{Missing, ReadOptions, read};
use burn_rank::workbench::Groups;
use burn_rank_fuzz::{as_file, choice};
use libfuzzer_sys::fuzz_target;

const MOST_CELLS: usize = 1 << 20;

fuzz_target!(|bytes: &[u8]| {
    let (rules, text) = choice(bytes);
    let missing = [Missing::Error, Missing::Zero, Missing::QueryMin, Missing::Keep][rules % 4];
    let groups = [Groups::Auto, Groups::Qid, Groups::QueryFile][rules / 4 % 3];
    let options = ReadOptions { missing, groups, ..ReadOptions::default() };
    let Ok(data) = read(&[as_file(text)], &options) else { return };
    data.check().expect("what is read is consistent");
    // A few bytes may ask for many zeros, which would all be written.
    if data.features.len() > MOST_CELLS {
        return;
    }
    let mut written = Vec::new();
    // Identifiers that LETOR text cannot hold are refused.
    if data.write_letor(&mut written).is_ok() {
        let again = read(&[as_file(&written)], &options).expect("what is written is read");
        assert_eq!(again.data_hash(), data.data_hash());
    }
});
