//! The bytes of an input: a file is mapped into memory, anything else is read.

#![allow(unsafe_code)]

use std::fs::File;
use std::io::Read;

use bytes::Bytes;
use memmap2::Mmap;

use crate::data::{DataError, Input};

/// Returns the bytes of an input; of a reader at most `most` of them.
pub(super) fn bytes_of(input: Input, most: u64) -> Result<Bytes, DataError> {
    let (path, reader) = input.into_parts();
    let Some(reader) = reader else {
        let file = File::open(&path).map_err(DataError::io(&path))?;
        // SAFETY: the mapping is private and read-only. Whoever changes the file in place while it is mapped changes
        // floats under our hands or ends the process; the documentation of the formats says so. Every length and offset
        // in the file is compared with the mapping's length, which does not change.
        let map = unsafe { Mmap::map(&file) }.map_err(DataError::io(&path))?;
        return Ok(Bytes::from_owner(map));
    };
    let mut bytes = Vec::new();
    reader.take(most.saturating_add(1)).read_to_end(&mut bytes).map_err(DataError::io(&path))?;
    if bytes.len() as u64 > most {
        return Err(DataError::Limit {
            path,
            found: format!("more than {most} bytes"),
            limit: format!("{most} bytes"),
            option: "max_decompressed_bytes",
        });
    }
    Ok(Bytes::from(bytes))
}
