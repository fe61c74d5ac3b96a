//! The hidden traits of generated documents, the scorers that turn traits into labels, and the features that depend on
//! traits.
//!
//! Features come in families of five, one feature for each stream (body, anchor, title, URL, whole document). Six
//! families are term counts, term ratios, stream lengths, inverse document frequencies (constant in a query), term
//! frequencies and normalized term frequencies. The other six are tf-idf sums, Booleans, cosine similarities, BM25,
//! language-model log-probabilities and click counts. The values of each family have the scale of the web feature that
//! it imitates.

use chacha20::ChaCha8Rng;
use rand::Rng;

use super::config::{HiddenScorer, SynthConfig, bell};
use crate::seed::random_for;

/// The number of hidden traits.
const TRAITS: usize = 8;
/// The number of streams, which is also the number of features per family.
const STREAMS: usize = 5;
/// The share of a trait's variance that the documents of a query have in common.
const SHARED: f64 = 0.2;
/// The number of documents drawn to determine the label thresholds.
const CALIBRATION: usize = 20_000;

/// The shares of the labels below 1, below 2, below 3 and below 4. The labels 0 to 4 have the shares 0.52, 0.23, 0.19,
/// 0.04 and 0.02.
const SHARES_BELOW: [f64; 4] = [0.52, 0.75, 0.94, 0.98];

/// Returns the label for a number drawn uniformly from `[0, 1)`.
pub fn label(draw: f64) -> u8 {
    SHARES_BELOW.iter().filter(|&&below| draw >= below).count() as u8
}

/// The value of a feature from the weighted sum `x` of its traits and noise, its `level`, the inverse document
/// frequency (`rarity`) in its stream, and the number of the query's `terms`.
type Family = fn(x: f64, level: f64, rarity: f64, terms: f64) -> f64;

/// The families of features, each with the web feature that it imitates.
const FAMILIES: [Family; 12] = [
    // The number of covered query terms.
    covered,
    // The share of covered query terms.
    |x, level, _, terms| covered(x, level, 0.0, terms) / terms,
    // The length of the stream.
    |x, level, _, _| (4.0 + 2.0 * level + x).exp().floor(),
    // The inverse document frequency.
    |_, _, rarity, _| rarity,
    // The term frequency.
    |x, level, _, _| (0.8 + level + x).exp().floor(),
    // The normalized term frequency.
    |x, level, _, _| 0.02 * (level + x).exp(),
    // The sum of tf-idf.
    |x, level, rarity, _| rarity * (0.8 + level + 0.9 * x).exp().floor(),
    // The Boolean model.
    |x, level, _, _| f64::from(u8::from(x > 0.4 + level)),
    // The cosine similarity.
    |x, level, _, _| sigmoid(x + level),
    // BM25.
    |x, level, rarity, _| (0.5 * rarity * (2.0 + level + x)).max(0.0),
    // The logarithm of the probability in a language model.
    |x, level, rarity, _| -rarity - 4.0 + 2.0 * level + 1.5 * x,
    // The number of clicks.
    |x, level, _, _| (3.0 * (x - 0.3 + level)).exp().floor(),
];

fn covered(x: f64, level: f64, _: f64, terms: f64) -> f64 {
    (terms * sigmoid(1.5 * x + level)).round()
}

fn sigmoid(t: f64) -> f64 {
    1.0 / (1.0 + (-t).exp())
}

/// How a feature depends on traits: through a weighted sum of two traits and noise. The squares of the three weights
/// add up to 1.
#[derive(Debug, Clone, Copy)]
struct Lens {
    family: Family,
    first: (usize, f64),
    second: (usize, f64),
    noise: f64,
    /// A constant that shifts the feature, depending on its stream (body, title, ...).
    level: f64,
}

/// The traits that all queries of a generated set share: its features, label thresholds, noise and scorer.
pub(super) struct World {
    lenses: Vec<Lens>,
    thresholds: [f64; 4],
    noise: f64,
    scorer: HiddenScorer,
}

/// The properties that the documents of a query share.
pub(super) struct QueryView {
    traits: [f64; TRAITS],
    terms: f64,
    /// The inverse document frequency in each stream.
    rarity: [f64; STREAMS],
}

/// The traits of one document.
pub(super) type Document = [f64; TRAITS];

impl World {
    pub fn new(config: &SynthConfig) -> Self {
        let SynthConfig { seed, features, noise, scorer, .. } = *config;
        let mut random = random_for(seed, "synth features", 0);
        let lenses = (0..features).map(|feature| Lens::new(feature, &mut random)).collect();
        let mut world = Self { lenses, thresholds: [0.0; 4], noise, scorer };
        let mut random = random_for(seed, "synth thresholds", 0);
        let mut grades: Vec<f64> = Vec::with_capacity(CALIBRATION);
        while grades.len() < CALIBRATION {
            // One document of each query, unless the documents of a list belong together.
            let length = if scorer == HiddenScorer::Listwise { config.length(&mut random) } else { 1 };
            let view = world.query(&mut random);
            let documents: Vec<Document> = (0..length).map(|_| world.document(&view, &mut random)).collect();
            grades.extend(world.merits(&documents).into_iter().map(|merit| merit + noise * bell(&mut random)));
        }
        grades.sort_unstable_by(f64::total_cmp);
        world.thresholds = SHARES_BELOW.map(|below| grades[(below * grades.len() as f64) as usize]);
        world
    }

    pub fn query(&self, random: &mut ChaCha8Rng) -> QueryView {
        QueryView {
            traits: std::array::from_fn(|_| bell(random)),
            terms: 1.0 + (2.0 + bell(random)).clamp(0.0, 4.0).floor(),
            rarity: std::array::from_fn(|_| 6.0 + 1.7 * bell(random)),
        }
    }

    pub fn document(&self, view: &QueryView, random: &mut ChaCha8Rng) -> Document {
        view.traits.map(|shared| SHARED.sqrt() * shared + (1.0 - SHARED).sqrt() * bell(random))
    }

    /// Draws the label of a document with the hidden score `merit`. Noise is added to the score, and the label is the
    /// number of thresholds that the sum reaches.
    pub fn label(&self, merit: f64, random: &mut ChaCha8Rng) -> u8 {
        let grade = merit + self.noise * bell(random);
        self.thresholds.iter().filter(|&&threshold| grade >= threshold).count() as u8
    }

    /// Returns the hidden score of a document without regard to other documents.
    pub fn merit(&self, &[a, b, c, d, e, f, g, _]: &Document) -> f64 {
        let step = |passed: bool| f64::from(u8::from(passed));
        match self.scorer {
            // A linear part, two interactions, and a trait of which the middle is best.
            HiddenScorer::Smooth => {
                let linear = 0.6 * a + 0.5 * b + 0.4 * c;
                let interactions = 0.8 * a * b + 0.7 * (2.0 * d).tanh() * e;
                linear + interactions - 0.4 * f * f + 0.3 * g.max(0.0)
            }
            HiddenScorer::Steps => {
                let alone = 1.2 * step(a > 0.5) + step(a > -0.5) + 1.1 * step(b > 0.2);
                let pairs = 1.4 * step(a > 0.0 && b > 0.4) + 1.3 * step(d > 0.3 && e > -0.3);
                alone + 0.8 * step(c > 0.0) + pairs - 1.1 * step(f.abs() > 1.0) + step(g > 0.8)
            }
            HiddenScorer::Listwise => 0.6 * a + 0.5 * b + 0.4 * c + 0.7 * (2.0 * d).tanh() * e,
        }
    }

    /// Returns the hidden scores of a query's documents. With the listwise scorer, the score of a document falls by up
    /// to 3 if a better document has similar values of two traits.
    pub fn merits(&self, documents: &[Document]) -> Vec<f64> {
        let alone: Vec<f64> = documents.iter().map(|document| self.merit(document)).collect();
        if self.scorer != HiddenScorer::Listwise {
            return alone;
        }
        let distance = |one: &Document, other: &Document| (one[3] - other[3]).powi(2) + (one[5] - other[5]).powi(2);
        let nearest_better = |at: usize| {
            let better = (0..documents.len()).filter(|&other| alone[other] > alone[at]);
            better.map(|other| distance(&documents[at], &documents[other])).fold(f64::INFINITY, f64::min)
        };
        (0..documents.len()).map(|at| alone[at] - 3.0 * (-4.0 * nearest_better(at)).exp()).collect()
    }

    /// Appends the features of a document in millionths.
    pub fn features(&self, view: &QueryView, document: &Document, random: &mut ChaCha8Rng, out: &mut Vec<i64>) {
        out.extend(self.lenses.iter().enumerate().map(|(feature, lens)| {
            let seen = lens.first.1 * document[lens.first.0] + lens.second.1 * document[lens.second.0];
            let x = seen + lens.noise * bell(random);
            ((lens.family)(x, lens.level, view.rarity[feature % STREAMS], view.terms) * 1e6).round() as i64
        }));
    }
}

impl Lens {
    fn new(feature: usize, random: &mut ChaCha8Rng) -> Self {
        // The first trait cycles through all traits, so that a few features show all of them.
        let second = (random.next_u32() as usize) % TRAITS;
        let weights = [1.0 + 0.3 * bell(random), 0.4 * bell(random), 0.8 + 0.2 * bell(random)];
        let length = weights.iter().map(|weight| weight * weight).sum::<f64>().sqrt();
        Self {
            family: FAMILIES[feature / STREAMS % FAMILIES.len()],
            first: (feature % TRAITS, weights[0] / length),
            second: (second, weights[1] / length),
            noise: weights[2] / length,
            level: 0.5 * bell(random),
        }
    }
}
