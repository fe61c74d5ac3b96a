//! Lists without padding and cached gradients: median times, and the largest memory that is in use at once, counted by
//! the allocator. Float32 on Flex. Each line compares a way with the one that it stands in for.
//!
//! ```text
//! cargo bench --package burn-rank-benches --bench packed
//! ```

use std::alloc::{GlobalAlloc, Layout, System};
use std::hint::black_box;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use burn::module::Module;
use burn::nn::transformer::{TransformerEncoder, TransformerEncoderConfig, TransformerEncoderInput};
use burn::nn::{Linear, LinearConfig};
use burn::optim::GradientsParams;
use burn::tensor::{Bool, Device, Distribution, Tensor, TensorData};
use burn_rank::cached_backward;
use burn_rank::prelude::*;

/// Counts the bytes in use, and the most at once.
struct Counting;

static IN_USE: AtomicUsize = AtomicUsize::new(0);
static MOST: AtomicUsize = AtomicUsize::new(0);

#[allow(unsafe_code, reason = "the interface of allocators; memory comes from the system's")]
// SAFETY: every call goes to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let now = IN_USE.fetch_add(layout.size(), Ordering::Relaxed) + layout.size();
        MOST.fetch_max(now, Ordering::Relaxed);
        // SAFETY: the caller's promises are the promises of the system's allocator.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        IN_USE.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: as above.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Runs ways in turn, so that all of them meet the same load. Returns the median seconds of each way, and the largest
/// memory that its runs use above the memory in use before.
fn in_turn<const N: usize>(runs: usize, mut ways: [&mut dyn FnMut(); N]) -> [(f64, usize); N] {
    ways.iter_mut().for_each(|way| way());
    let mut found = [const { (Vec::new(), 0) }; N];
    for _ in 0..runs {
        for (way, (seconds, most)) in ways.iter_mut().zip(&mut found) {
            let before = IN_USE.load(Ordering::Relaxed);
            MOST.store(before, Ordering::Relaxed);
            let start = Instant::now();
            way();
            seconds.push(start.elapsed().as_secs_f64());
            *most = MOST.load(Ordering::Relaxed).saturating_sub(before).max(*most);
        }
    }
    found.map(|(mut seconds, most)| {
        seconds.sort_by(f64::total_cmp);
        (seconds[runs / 2], most)
    })
}

fn print(what: &str, found: (f64, usize), of: (f64, usize)) {
    let [ms, of_ms] = [found.0 * 1e3, of.0 * 1e3];
    let [mib, of_mib] = [found.1, of.1].map(|bytes| bytes as f64 / f64::from(1 << 20));
    println!(
        "{what:<62} {ms:>9.3} ms of {of_ms:>9.3} ({:.2})   {mib:>8.2} MiB of {of_mib:>8.2} ({:.2})",
        ms / of_ms,
        mib / of_mib
    );
}

/// Flat scores and labels of lists.
struct Flat {
    scores: Tensor<1>,
    labels: Tensor<1>,
    segments: Segments,
}

impl Flat {
    fn new(lengths: &[usize], device: &Device) -> Self {
        device.seed(1);
        let segments = Segments::from_lengths(lengths).expect("no list is empty");
        let count = [segments.documents()];
        let scores = Tensor::random(count, Distribution::Normal(0.0, 1.0), device);
        let labels = Tensor::<1>::random(count, Distribution::Uniform(0.0, 5.0), device).floor().clamp(0.0, 4.0);
        Self { scores, labels, segments }
    }

    fn step(&self, loss: &dyn RankingLoss) -> Option<TensorData> {
        let scores = self.scores.clone().require_grad();
        let value = loss.forward_packed(scores.clone(), self.labels.clone(), &self.segments, Reduction::Mean);
        scores.grad(&value.backward()).map(Tensor::into_data)
    }

    /// `[lists, longest]` of scores, labels and the mask.
    fn padded(&self) -> (Tensor<2>, Tensor<2>, Tensor<2, Bool>) {
        let lengths: Vec<usize> = self.segments.lengths().collect();
        let width = lengths.iter().copied().max().unwrap_or(0);
        let device = self.scores.device();
        let rows = |values: Tensor<1>| {
            let mut values = values.into_data().iter::<f32>().collect::<Vec<_>>().into_iter();
            let rows = lengths.iter().flat_map(|&length| {
                let mut row: Vec<f32> = values.by_ref().take(length).collect();
                row.resize(width, 0.0);
                row
            });
            Tensor::<2>::from_data(TensorData::new(rows.collect::<Vec<f32>>(), [lengths.len(), width]), &device)
        };
        let mask = rows(self.scores.ones_like()).greater_elem(0.5);
        (rows(self.scores.clone()), rows(self.labels.clone()), mask)
    }
}

fn step_padded(
    loss: &dyn RankingLoss,
    (scores, labels, mask): &(Tensor<2>, Tensor<2>, Tensor<2, Bool>),
) -> Option<TensorData> {
    let scores = scores.clone().require_grad();
    let value = loss.forward(scores.clone(), labels.clone(), mask.clone(), Reduction::Mean);
    scores.grad(&value.backward()).map(Tensor::into_data)
}

fn packed(device: &Device) {
    let names = ["softmax_cross_entropy", "list_net", "rank_net", "lambda_ndcg", "approx_ndcg", "smooth_ndcg"];
    let tens = vec![10; 1000];
    let (long, short) = (Flat::new(&[10_000], device), Flat::new(&tens, device));
    let together = Flat::new(&[tens, vec![10_000]].concat(), device);
    // 64 lists of 10 to 250 documents, 60 on average.
    let lengths: Vec<usize> = (0..64).map(|list| 10 + (240.0 * (f64::from(list) / 63.0).powf(3.8)) as usize).collect();
    let mixed = Flat::new(&lengths, device);
    let padded = mixed.padded();
    println!("64 lists of 10 to 250 documents, {:.1} on average", mixed.segments.documents() as f64 / 64.0);
    for name in names {
        let loss = LossSpec::new(name).build().expect("defaults are valid");
        let step = |lists: &Flat| drop(black_box(lists.step(&*loss)));
        let [found, long, short] = in_turn(31, [&mut || step(&together), &mut || step(&long), &mut || step(&short)]);
        // One after the other, they need the larger memory; together, both.
        let apart = (long.0 + short.0, long.1 + short.1);
        print(&format!("{name}: 10,000 and 1,000 of 10, apart"), found, apart);
        let mut padded_step = || drop(black_box(step_padded(&*loss, &padded)));
        let [found, of_padded] = in_turn(401, [&mut || step(&mixed), &mut padded_step]);
        print(&format!("{name}: 64 of 10 to 250, padded"), found, of_padded);
    }
}

/// A transformer that scores texts of 16 vectors.
#[derive(Module, Debug)]
struct Network {
    encoder: TransformerEncoder,
    output: Linear,
}

impl Network {
    fn score(&self, texts: &Tensor<3>) -> Tensor<1> {
        let [documents, ..] = texts.dims();
        let texts = self.encoder.forward(TransformerEncoderInput::new(texts.clone()));
        self.output.forward(texts.narrow(1, 0, 1).reshape([documents as i32, -1])).squeeze_dim(1)
    }
}

fn cached(device: &Device) {
    let network = Network {
        encoder: TransformerEncoderConfig::new(64, 128, 4, 2).init(device),
        output: LinearConfig::new(64, 1).init(device),
    };
    let loss = ApproxNdcgConfig::new().init().expect("defaults are valid");
    let flat = Flat::new(&[40; 8], device);
    let texts = Tensor::<3>::random([320, 16, 64], Distribution::Normal(0.0, 1.0), device);
    let of = |scores| loss.forward_packed(scores, flat.labels.clone(), &flat.segments, Reduction::Mean);
    let chunks = texts.clone().split(32, 0);
    let mut cached = || {
        black_box(cached_backward(&network, &chunks, Network::score, of, 1).expect("both passes agree"));
    };
    let mut whole = || {
        let value = of(network.score(&texts));
        black_box(GradientsParams::from_grads(value.backward(), &network));
    };
    let mut chunk = || {
        let value = network.score(&chunks[0]).sum();
        black_box(GradientsParams::from_grads(value.backward(), &network));
    };
    let [found, one_pass, one_chunk] = in_turn(9, [&mut cached, &mut whole, &mut chunk]);
    print("cached_backward of 10 chunks of 32: time of one pass", found, one_pass);
    print("cached_backward of 10 chunks of 32: memory of one chunk", found, one_chunk);
}

fn main() {
    // `cargo test --benches` only asks whether it starts.
    if std::env::args().all(|argument| argument != "--bench") {
        return;
    }
    let device = Device::flex().autodiff();
    packed(&device);
    cached(&device);
}
