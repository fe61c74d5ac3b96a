//! Derives a seed for each purpose from one seed, so the order of execution never changes a result.

use chacha20::ChaCha8Rng;
use rand::SeedableRng;
use sha2::{Digest, Sha256};

/// Derives a seed from the run's seed, for one purpose (`"shuffle"`, `"dropout"`, ...) and one index (epoch, query,
/// fold).
pub fn seed_for(seed: u64, purpose: &str, index: u64) -> u64 {
    let mut hash = Sha256::new();
    hash.update(seed.to_le_bytes());
    hash.update(index.to_le_bytes());
    hash.update(purpose.as_bytes());
    let digest = hash.finalize();
    u64::from_le_bytes(digest[..8].try_into().expect("a digest has 32 bytes"))
}

/// Returns the generator of random numbers for one purpose and one index. [`seed_for`] derives its seed.
pub(crate) fn random_for(seed: u64, purpose: &str, index: u64) -> ChaCha8Rng {
    ChaCha8Rng::seed_from_u64(seed_for(seed, purpose, index))
}

#[cfg(test)]
mod tests {
    use super::seed_for;

    #[test]
    fn purposes_and_indices_differ() {
        let seeds = [
            seed_for(1, "shuffle", 0),
            seed_for(1, "shuffle", 1),
            seed_for(1, "dropout", 0),
            seed_for(2, "shuffle", 0),
        ];
        let distinct: std::collections::HashSet<_> = seeds.iter().collect();
        assert_eq!(distinct.len(), seeds.len());
        // Saved runs must continue with the seeds that they were started with.
        assert_eq!(seed_for(1, "shuffle", 0), 12_221_973_227_393_605_519);
    }
}
