//! The options of the generator, and the lengths of lists.

use chacha20::ChaCha8Rng;
use rand::Rng;
use serde::{Deserialize, Serialize};

/// The function that determines the labels of documents, before noise is added.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HiddenScorer {
    /// Sums, products and quadratic functions of traits.
    #[default]
    Smooth,
    /// A sum of step functions of single traits and of pairs of traits, as in an ensemble of trees.
    Steps,
    /// Sums and products of traits, minus a penalty for a document that resembles a better document in its list.
    Listwise,
}

/// Options of the generator.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SynthConfig {
    /// The number of queries. Default: 1,000.
    pub queries: usize,
    /// The number of features. Default: 136.
    pub features: usize,
    /// The seed of all random numbers. Default: 1.
    pub seed: u64,
    /// The median of the list lengths, before they are limited. Default: 105.
    pub median_length: f64,
    /// The standard deviation of the logarithm of the list lengths. Default: 0.5.
    pub length_deviation: f64,
    /// The length of the longest list. Default: 1,251, as in MSLR-WEB30K.
    pub max_length: usize,
    /// The standard deviation of the label noise; the standard deviation of the hidden scores is about 1.6. Default:
    /// 0.8.
    pub noise: f64,
    /// The function that determines the labels of documents. Default: smooth.
    pub scorer: HiddenScorer,
}

impl Default for SynthConfig {
    fn default() -> Self {
        Self {
            queries: 1_000,
            features: 136,
            seed: 1,
            median_length: 105.0,
            length_deviation: 0.5,
            max_length: 1_251,
            noise: 0.8,
            scorer: HiddenScorer::Smooth,
        }
    }
}

impl SynthConfig {
    /// Draws the list length of a query from the first numbers of the query's random generator.
    pub(super) fn length(&self, random: &mut ChaCha8Rng) -> usize {
        let length = self.median_length * (self.length_deviation * bell(random)).exp();
        (length.round() as usize).clamp(1, self.max_length)
    }
}

/// Draws a bell-shaped variable as the sum of four uniform variables (Irwin-Hall). The variable has mean 0 and standard
/// deviation 1, and lies within +-3.47. The variable is cheap to sample, and its bounded range keeps the printed
/// feature values short.
pub(super) fn bell(random: &mut ChaCha8Rng) -> f64 {
    let bits = random.next_u64();
    let sum = (0..4).map(|part| (bits >> (16 * part)) & 0xffff).sum::<u64>();
    // The variance of four uniform variables on [0, 1] is 1/3.
    (sum as f64 / 65_535.0 - 2.0) * 3f64.sqrt()
}
