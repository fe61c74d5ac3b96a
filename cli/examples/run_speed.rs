//! Measures how fast a TREC run is evaluated, and in how much memory: `run_speed [--threads N] RUN QRELS`, or
//! `run_speed --synth LINES RUN QRELS` to write such files first. Prints the best of three evaluations.
//!
//! Build with optimization: `cargo run --release --example run_speed -- --synth 10000000 /tmp/run /tmp/qrels`.

use std::error::Error;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::time::Instant;

use burn_rank::data::trec::{Qrels, read_judged};
use burn_rank::measure::trec_eval::{TrecEvaluator, TrecMeasure};
use burn_rank::workbench::memory::peak_during;
use chacha20::ChaCha8Rng;
use rand::{RngExt, SeedableRng};

/// The shape of a TREC ad hoc run: the number of documents retrieved per query, and the number judged.
const RETRIEVED: usize = 1000;
const JUDGED: usize = 100;

type Failure = Box<dyn Error + Send + Sync>;

fn main() -> Result<(), Failure> {
    let mut threads = 1;
    let mut lines = None;
    let mut paths: Vec<String> = Vec::new();
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--threads" => threads = arguments.next().ok_or("--threads needs a number")?.parse()?,
            "--synth" => lines = Some(arguments.next().ok_or("--synth needs a number of lines")?.parse()?),
            _ => paths.push(argument),
        }
    }
    let [run, qrels] = paths.as_slice() else { return Err("expected RUN and QRELS".into()) };
    let (run, qrels) = (Path::new(run), Path::new(qrels));
    if let Some(lines) = lines {
        write(lines, run, qrels)?;
    }
    rayon::ThreadPoolBuilder::new().num_threads(threads).build()?.install(|| measure(run, qrels))
}

/// Writes a run and its judgments. Every second judged document is retrieved, and scores have three decimals, so that
/// some are tied.
fn write(lines: usize, run: &Path, qrels: &Path) -> Result<(), Failure> {
    let mut random = ChaCha8Rng::seed_from_u64(1);
    let (mut run, mut qrels) = (BufWriter::new(File::create(run)?), BufWriter::new(File::create(qrels)?));
    for query in 1..=lines.div_ceil(RETRIEVED) {
        let retrieved = RETRIEVED.min(lines - (query - 1) * RETRIEVED);
        // Steps are at least 1, so that every document appears once.
        let mut document = 0;
        let mut score = 30.0;
        for rank in 1..=retrieved {
            document += random.random_range(1..10_000);
            score -= random.random_range(0..20) as f64 / 1000.0;
            writeln!(run, "{query} Q0 clueweb-{document:010} {rank} {score:.3} synthetic")?;
            if rank % (2 * RETRIEVED / JUDGED) == 1 {
                writeln!(qrels, "{query} 0 clueweb-{document:010} {}", random.random_range(0..3))?;
                writeln!(qrels, "{query} 0 elsewhere-{document:010} {}", random.random_range(0..3))?;
            }
        }
    }
    run.flush()?;
    qrels.flush()?;
    Ok(())
}

fn measure(run: &Path, qrels: &Path) -> Result<(), Failure> {
    let measures = TrecMeasure::official();
    let mut best = f64::INFINITY;
    let mut found = (0.0, 0.0);
    let mut memory = None;
    for _ in 0..3 {
        let start = Instant::now();
        let (values, peak) = peak_during(|| -> Result<Vec<f64>, Failure> {
            let qrels = Qrels::read(qrels)?;
            let evaluator = TrecEvaluator::new(&measures, 1, None)?;
            let judged = read_judged(run, &qrels, false, |_, query| Ok::<_, Failure>(evaluator.query(query)?))?;
            Ok(evaluator.summary(judged.queries.iter().map(|(_, values)| values.as_slice())))
        });
        best = best.min(start.elapsed().as_secs_f64());
        memory = memory.max(peak);
        let values = values?;
        let at = |wanted| measures.iter().position(|measure| measure.to_string() == wanted);
        let value = |wanted| at(wanted).map_or(0.0, |at| values[at]);
        found = (value("num_ret"), value("map"));
    }
    let (lines, map) = found;
    println!("{lines} lines of judged queries, map {map:.4}");
    println!(
        "{best:.2} s, {:.2} million lines per second, {} threads",
        lines / best / 1e6,
        rayon::current_num_threads()
    );
    if let Some(bytes) = memory {
        println!("{} MiB held at most, of a run of {} MiB", bytes >> 20, run.metadata()?.len() >> 20);
    }
    Ok(())
}
