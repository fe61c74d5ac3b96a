//! Files that are cut off, damaged, or state sizes that they do not have.

use std::sync::Arc;

use arrow_array::types::Int8Type;
use arrow_array::{ArrayRef, BooleanArray, DictionaryArray, Float32Array, Int64Array, RecordBatch, StringViewArray};
use arrow_ipc::CompressionType;
use proptest::prelude::*;

use super::{FORMATS, file_of, floats, message, three, written};
use crate::data::columnar::Format;
use crate::data::letor::{Missing, ReadOptions};
use crate::data::{Input, read_from};

#[test]
fn a_file_that_states_hostile_sizes_is_refused_before_memory_is_asked_for() {
    // The first eight bytes of a compressed buffer are its size.
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("label", Arc::new(Float32Array::from(vec![1.0; 4096]))),
        ("query", Arc::new(Int64Array::from(vec![1; 4096]))),
        ("f", Arc::new(Float32Array::from(vec![1.0; 4096]))),
    ];
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let bytes = file_of(&[batch], Format::Arrow, Some(CompressionType::ZSTD));
    // The size and the first bytes of what Zstandard writes.
    let beginning = [16_384u64.to_le_bytes().as_slice(), b"\x28\xb5\x2f\xfd"].concat();
    let at = bytes.windows(12).position(|window| window == beginning).unwrap();
    let mut hostile = bytes.clone();
    hostile[at..at + 8].copy_from_slice(&(1u64 << 40).to_le_bytes());
    let found = message(&hostile, &ReadOptions::default());
    assert!(
        found.contains(
            "bytes of decompressed columns, expected at most 67108864 bytes (option `max_compression_ratio`)"
        ),
        "{found}"
    );
    hostile[at..at + 8].copy_from_slice(&(1u64 << 63).to_le_bytes());
    assert_eq!(
        message(&hostile, &ReadOptions::default()),
        "data: not a complete Arrow file: Ipc error: the size of a buffer is negative"
    );
}

#[test]
fn a_dictionary_that_states_more_values_than_it_holds_is_refused_before_memory_is_asked_for() {
    const VALUES: u32 = 10_000;
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("label", Arc::new(Float32Array::from(vec![1.0; VALUES as usize]))),
        ("query", Arc::new(Int64Array::from(vec![1; VALUES as usize]))),
        ("f", Arc::new(Float32Array::from_iter_values((0..VALUES).map(|value| value as f32)))),
    ];
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let mut bytes = file_of(&[batch], Format::Parquet, None);
    // Compact Thrift: the seventh field is a dictionary's header, whose first field is a zigzag number of three bytes.
    let header = |values: u32| {
        let number = 2 * values;
        [0x4c, 0x15, number as u8 | 0x80, (number >> 7) as u8 | 0x80, (number >> 14) as u8]
    };
    let beginning = header(VALUES);
    let at = bytes.windows(5).position(|window| window == beginning).unwrap();
    bytes[at..at + 5].copy_from_slice(&header(1_000_000));
    assert_eq!(
        message(&bytes, &ReadOptions::default()),
        "data: not a complete Parquet file: Parquet argument error: a dictionary of 40000 bytes states 1000000 values"
    );
}

/// Reads bytes that may be anything: whatever happens, it is an error or a dataset that holds together.
fn survives(bytes: &[u8]) {
    let input = Input::from_reader("damaged", std::io::Cursor::new(bytes.to_vec()));
    let options = ReadOptions { missing: Missing::Keep, max_cells: Some(1 << 20), ..ReadOptions::default() };
    if let Ok(data) = read_from([input], &options)
        && data.check_values().is_ok()
    {
        data.check().unwrap();
    }
}

/// Files of several kinds, to be damaged.
fn samples() -> Vec<Vec<u8>> {
    let mut data = three();
    data.document_ids = vec!["x".into(), "y".into(), "z".into()];
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("label", floats([2.0, 0.0, 1.0])),
        ("query", Arc::new(DictionaryArray::<Int8Type>::from_iter(["a", "a", "b"]))),
        ("document", Arc::new(StringViewArray::from(vec!["a name of more than twelve bytes", "b", "c"]))),
        ("f1", Arc::new(Int64Array::from(vec![Some(1), None, Some(3)]))),
        ("f2", Arc::new(BooleanArray::from(vec![true, false, true]))),
    ];
    let batch = [RecordBatch::try_from_iter(columns).unwrap()];
    let mut samples: Vec<Vec<u8>> = FORMATS.iter().map(|format| written(&data, *format)).collect();
    for compression in [CompressionType::LZ4_FRAME, CompressionType::ZSTD] {
        samples.push(file_of(&batch, Format::Arrow, Some(compression)));
    }
    samples.push(file_of(&batch, Format::Parquet, None));
    samples
}

#[test]
fn a_file_cut_off_anywhere_is_an_error() {
    for bytes in samples() {
        for length in 0..bytes.len() {
            let input = Input::from_reader("cut", std::io::Cursor::new(bytes[..length].to_vec()));
            assert!(read_from([input], &ReadOptions::default()).is_err(), "{length} of {}", bytes.len());
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn damaged_files_are_errors_and_never_panics(sample in 0usize..5, damage in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6)) {
        let mut bytes = samples().swap_remove(sample);
        for (place, value) in damage {
            let at = place.index(bytes.len());
            bytes[at] = value;
        }
        survives(&bytes);
    }

    #[test]
    fn sizes_in_the_metadata_may_be_anything(sample in 0usize..5, place in any::<prop::sample::Index>(), size in prop::sample::select(vec![-1i64, 0, 1 << 31, 1 << 40, i64::MAX, i64::MIN])) {
        let mut bytes = samples().swap_remove(sample);
        let at = place.index(bytes.len() - 8);
        bytes[at..at + 8].copy_from_slice(&size.to_le_bytes());
        survives(&bytes);
    }
}
