//! Adds values to hashes.

use sha2::{Digest, Sha256};

/// Adds values to a hash as little-endian bytes.
pub(super) fn hash_floats(values: &[f32], hash: &mut Sha256) {
    let mut buffer = [0u8; 4096];
    for chunk in values.chunks(buffer.len() / 4) {
        for (slot, value) in buffer.chunks_exact_mut(4).zip(chunk) {
            slot.copy_from_slice(&value.to_le_bytes());
        }
        hash.update(&buffer[..4 * chunk.len()]);
    }
}
