//! A reranker: a small transformer that reads the query and a document together, trained on ranking losses.
//!
//! ```text
//! cargo run --release --package burn-rank --features optim --example cross_encoder
//! ```
//!
//! With `--small` it takes a few steps, to show that it runs, and no more is learned than they teach.
//!
//! The token lists are generated. A query is two words, every document has both, and it is relevant if they stand in
//! the order of the query. So a bag of words cannot tell the documents apart, and the cross-encoder has to read.
//!
//! The lines marked 1 to 4 are what a reranker takes from burn-rank: flat scores of all (query, document) pairs of a
//! step (1), a gradient in the memory of a few documents (2), the exact NDCG@10 (3) that chooses the checkpoint (4).

use std::error::Error;
use std::time::Instant;

use burn::module::Module;
use burn::nn::transformer::{TransformerEncoder, TransformerEncoderConfig, TransformerEncoderInput};
use burn::nn::{Embedding, EmbeddingConfig, Linear, LinearConfig, Relu};
use burn::optim::AdamConfig;
use burn::tensor::{Bool, Device, Int, Tensor, TensorData};
use burn_rank::cached_backward;
use burn_rank::metric::evaluate_packed;
use burn_rank::prelude::*;
use burn_rank::seed::seed_for;
use chacha20::ChaCha8Rng;
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};

const SEED: u64 = 42;
/// Number of different words; 0 is padding.
const WORDS: i64 = 12;
/// Words of the longest document.
const LONGEST: usize = 10;
/// Largest number of tokens that the model holds at once, padding included.
const CHUNK_TOKENS: usize = 1536;

/// How long to train, and on how much.
struct Effort {
    /// Training queries; a tenth as many validate, and as many test.
    queries: usize,
    steps: usize,
    /// Largest number of tokens in a step, padding included.
    tokens: usize,
    /// Steps between two looks at the validation queries.
    look: usize,
}

const FULL: Effort = Effort { queries: 2000, steps: 600, tokens: 6144, look: 50 };
const SMALL: Effort = Effort { queries: 60, steps: 4, tokens: 2048, look: 2 };

/// A query of two words, and its documents.
struct Query {
    words: [i64; 2],
    documents: Vec<Vec<i64>>,
    labels: Vec<f32>,
}

impl Query {
    /// 10 to 30 documents of 5 to 10 words, of which one in five has the words in the order of the query.
    fn generate(random: &mut ChaCha8Rng) -> Self {
        let mut words: Vec<i64> = (1..=WORDS).collect();
        words.shuffle(random);
        let (query, others) = ([words[0], words[1]], &words[2..]);
        let (mut documents, mut labels) = (Vec::new(), Vec::new());
        for document in 0..random.random_range(10..=30) {
            // The first document is relevant, so that every query has one.
            let is_relevant = document == 0 || random.random_bool(0.2);
            let mut places: Vec<usize> = (0..random.random_range(5..=LONGEST)).collect();
            let mut text: Vec<i64> = places.iter().map(|_| others[random.random_range(0..others.len())]).collect();
            places.shuffle(random);
            let (first, second) = (places[0].min(places[1]), places[0].max(places[1]));
            let order = if is_relevant { query } else { [query[1], query[0]] };
            (text[first], text[second]) = (order[0], order[1]);
            documents.push(text);
            labels.push(f32::from(u8::from(is_relevant)));
        }
        // The order of the rows breaks ties of scores.
        let mut order: Vec<usize> = (0..documents.len()).collect();
        order.shuffle(random);
        Self {
            words: query,
            labels: order.iter().map(|&document| labels[document]).collect(),
            documents: order.into_iter().map(|document| documents[document].clone()).collect(),
        }
    }

    fn generate_many(number: usize, purpose: &str) -> Vec<Self> {
        let mut random = ChaCha8Rng::seed_from_u64(seed_for(SEED, purpose, 0));
        (0..number).map(|_| Self::generate(&mut random)).collect()
    }
}

/// Tokens of (query, document) pairs: `[pairs, 2 + LONGEST]`, the query first.
#[derive(Clone)]
struct Chunk {
    tokens: Tensor<2, Int>,
    /// True at padding, as burn's layers take it.
    padding: Tensor<2, Bool>,
}

/// All pairs of some queries.
struct Batch {
    chunks: Vec<Chunk>,
    labels: Tensor<1>,
    segments: Segments,
}

impl Batch {
    fn new(queries: &[&Query], device: &Device) -> Result<Self, Box<dyn Error>> {
        let width = 2 + LONGEST;
        let pairs = queries.iter().flat_map(|query| query.documents.iter().map(|text| (query.words, text)));
        let mut tokens = Vec::new();
        for (words, text) in pairs {
            tokens.extend(words);
            tokens.extend(text);
            tokens.resize(tokens.len().next_multiple_of(width), 0);
        }
        let chunks = tokens.chunks(CHUNK_TOKENS / width * width).map(|tokens| {
            let tokens = TensorData::new(tokens.to_vec(), [tokens.len() / width, width]);
            let tokens = Tensor::<2, Int>::from_data(tokens, device);
            Chunk { padding: tokens.clone().equal_elem(0), tokens }
        });
        let labels: Vec<f32> = queries.iter().flat_map(|query| query.labels.iter().copied()).collect();
        let lengths: Vec<usize> = queries.iter().map(|query| query.documents.len()).collect();
        Ok(Self {
            chunks: chunks.collect(),
            labels: Tensor::from_data(TensorData::new(labels.clone(), [labels.len()]), device),
            segments: Segments::from_lengths(&lengths)?,
        })
    }
}

/// A model that scores pairs.
trait Score: Module {
    /// `[pairs, 2 + LONGEST]` to `[pairs]`.
    fn score(&self, chunk: &Chunk) -> Tensor<1>;

    /// All scores of a batch. Call it on `valid()`, which records nothing.
    fn scores(&self, batch: &Batch) -> Tensor<1> {
        Tensor::cat(batch.chunks.iter().map(|chunk| self.score(chunk)).collect(), 0)
    }
}

/// Reads a query and a document as one text.
#[derive(Module, Debug)]
struct CrossEncoder {
    words: Embedding,
    places: Embedding,
    encoder: TransformerEncoder,
    output: Linear,
}

impl CrossEncoder {
    fn new(device: &Device) -> Self {
        let d = 32;
        Self {
            words: EmbeddingConfig::new(1 + WORDS as usize, d).init(device),
            places: EmbeddingConfig::new(2 + LONGEST, d).init(device),
            encoder: TransformerEncoderConfig::new(d, 64, 2, 2).with_norm_first(true).with_dropout(0.02).init(device),
            output: LinearConfig::new(2 * d, 1).init(device),
        }
    }
}

impl Score for CrossEncoder {
    fn score(&self, chunk: &Chunk) -> Tensor<1> {
        let [pairs, width] = chunk.tokens.dims();
        let places = Tensor::<1, Int>::arange(0..width as i64, &chunk.tokens.device()).unsqueeze::<2>();
        let texts = self.words.forward(chunk.tokens.clone()) + self.places.forward(places);
        let input = TransformerEncoderInput::new(texts).mask_pad(chunk.padding.clone());
        // The states of the two words of the query, which have read the document.
        let found = self.encoder.forward(input).narrow(1, 0, 2);
        self.output.forward(found.reshape([pairs as i32, -1])).squeeze_dim(1)
    }
}

/// Sees which words there are and not where.
#[derive(Module, Debug)]
struct BagOfWords {
    words: Embedding,
    hidden: Linear,
    output: Linear,
}

impl BagOfWords {
    fn new(device: &Device) -> Self {
        let d = 32;
        Self {
            words: EmbeddingConfig::new(1 + WORDS as usize, d).init(device),
            hidden: LinearConfig::new(2 * d, 64).init(device),
            output: LinearConfig::new(64, 1).init(device),
        }
    }
}

impl Score for BagOfWords {
    fn score(&self, chunk: &Chunk) -> Tensor<1> {
        let words = self.words.forward(chunk.tokens.clone());
        let words = words.mask_fill(chunk.padding.clone().unsqueeze_dim::<3>(2), 0.0);
        let sum = |words: Tensor<3>| words.sum_dim(1).squeeze_dim::<2>(1);
        let both = Tensor::cat(vec![sum(words.clone().narrow(1, 0, 2)), sum(words.narrow(1, 2, LONGEST))], 1);
        self.output.forward(Relu::new().forward(self.hidden.forward(both))).squeeze_dim(1)
    }
}

fn ndcg(scores: Tensor<1>, batch: &Batch) -> Result<f64, Box<dyn Error>> {
    let (labels, segments, measures) = (batch.labels.clone(), &batch.segments, [Measure::Ndcg(Some(10))]);
    Ok(evaluate_packed(scores, labels, segments, &measures, &Convention::default())?.means[0].1) // 3
}

/// Trains a model, and returns it as it was at the best look at the validation queries.
fn train<M: Score>(
    mut model: M,
    loss: &dyn RankingLoss,
    effort: &Effort,
    training: &[Query],
    validation: &Batch,
    device: &Device,
) -> Result<M, Box<dyn Error>> {
    let mut optimizer = AdamConfig::new().init();
    let (mut best, mut checkpoint) = (f64::NEG_INFINITY, model.valid());
    let mut order: Vec<usize> = Vec::new();
    let mut random = ChaCha8Rng::seed_from_u64(seed_for(SEED, "shuffle", 0));
    for step in 0..effort.steps {
        // As many queries as the budget of tokens has room for, one at least.
        let (mut queries, mut tokens) = (Vec::new(), 0);
        loop {
            if order.is_empty() {
                order = (0..training.len()).collect();
                order.shuffle(&mut random);
            }
            let query = &training[order[order.len() - 1]];
            tokens += query.documents.len() * (2 + LONGEST);
            if tokens > effort.tokens && !queries.is_empty() {
                break;
            }
            order.pop();
            queries.push(query);
        }
        let Batch { chunks, labels, segments } = Batch::new(&queries, device)?;
        let of = |scores| loss.forward_packed(scores, labels.clone(), &segments, Reduction::Mean); // 1
        let (_, gradients) = cached_backward(&model, &chunks, M::score, of, seed_for(SEED, "step", step as u64))?; // 2
        // Warms up, then falls to 0.
        let rate = 2e-3 * ((step + 1) as f64 / 50.0).min(1.0) * (1.0 - step as f64 / effort.steps as f64);
        model = optimizer.step(rate, model, gradients);
        if (step + 1) % effort.look == 0 {
            let valid = model.valid();
            let found = ndcg(valid.scores(validation), validation)?;
            if found > best {
                (best, checkpoint) = (found, valid); // 4
            }
        }
    }
    Ok(checkpoint)
}

fn main() -> Result<(), Box<dyn Error>> {
    let device = Device::flex().autodiff();
    let is_small = std::env::args().any(|argument| argument == "--small");
    let effort = if is_small { &SMALL } else { &FULL };
    let training = Query::generate_many(effort.queries, "training");
    let [validation, test] = ["validation", "test"].map(|purpose| Query::generate_many(effort.queries / 10, purpose));
    // A measure needs no gradient.
    let batch = |queries: &[Query]| Batch::new(&queries.iter().collect::<Vec<_>>(), &Device::flex());
    let (validation, test) = (batch(&validation)?, batch(&test)?);
    let random = ndcg(test.labels.zeros_like(), &test)?;
    println!("random order                          NDCG@10 {random:.4}");

    let losses: [Box<dyn RankingLoss>; 2] =
        [Box::new(SoftmaxCrossEntropyConfig::new().init()?), Box::new(ApproxNdcgConfig::new().init()?)];
    let mut failed = Vec::new();
    for loss in &losses {
        let start = Instant::now();
        device.seed(SEED);
        let bag = train(BagOfWords::new(&device), &**loss, effort, &training, &validation, &device)?;
        let cross = train(CrossEncoder::new(&device), &**loss, effort, &training, &validation, &device)?;
        let (bag, cross) = (ndcg(bag.scores(&test), &test)?, ndcg(cross.scores(&test), &test)?);
        let closed = 100.0 * (cross - random) / (1.0 - random);
        println!("bag of words,  {:<22} NDCG@10 {bag:.4}", loss.about().name);
        println!("cross-encoder, {:<22} NDCG@10 {cross:.4}  {closed:.0} % of the way to 1", loss.about().name);
        eprintln!("{:.0} s", start.elapsed().as_secs_f64());
        if !is_small && ((bag - random).abs() > 0.05 || closed < 90.0) {
            failed.push(loss.about().name);
        }
    }
    if failed.is_empty() {
        return Ok(());
    }
    Err(format!("{failed:?}: expected a bag of words near a random order, and a cross-encoder near 1").into())
}
