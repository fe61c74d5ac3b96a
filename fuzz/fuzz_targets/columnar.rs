//! Arrow and Parquet files: an error, or a consistent dataset that is written and read back the same.
#![no_main]

use burn_rank::data::columnar::Format;
use burn_rank::data::letor::{Missing, ReadOptions};
use burn_rank::data::read;
use burn_rank_fuzz::{as_file, pass_over_panics_of_others};
use libfuzzer_sys::fuzz_target;

fuzz_target!(init: pass_over_panics_of_others(), |bytes: &[u8]| {
    let options = ReadOptions { missing: Missing::Keep, max_cells: Some(1 << 20), ..ReadOptions::default() };
    let Ok(data) = read(&[as_file(bytes)], &options) else { return };
    // Values of a file that is not copied are looked at when someone asks.
    if data.check_values().is_err() {
        return;
    }
    data.check().expect("what is read is consistent");
    let hash = data.data_hash();
    let mut written = Vec::new();
    data.write_columnar(Format::Arrow, &mut written).expect("what is read can be written");
    let again = read(&[as_file(&written)], &options).expect("what is written is read");
    assert_eq!(again.data_hash(), hash);
});
