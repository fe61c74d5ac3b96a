//! Measures how fast LETOR text is read and written: `read_speed [--threads N] FILE...`, or
//! `read_speed --synth QUERIES FILE` to write generated data first. Prints megabytes (10^6 bytes of text) per second,
//! for the best of three readings.
//!
//! Build with optimization: `cargo run --release --example read_speed -- ...`.

use std::error::Error;
use std::fs::File;
use std::io::BufWriter;
use std::path::PathBuf;
use std::time::Instant;

use burn_rank::data::SynthConfig;
use burn_rank::data::letor::{ReadOptions, read};

fn main() -> Result<(), Box<dyn Error + Send + Sync>> {
    let mut threads = 1;
    let mut queries = None;
    let mut paths: Vec<PathBuf> = Vec::new();
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--threads" => threads = arguments.next().ok_or("--threads needs a number")?.parse()?,
            "--synth" => queries = Some(arguments.next().ok_or("--synth needs a number of queries")?.parse()?),
            path => paths.push(path.into()),
        }
    }
    rayon::ThreadPoolBuilder::new().num_threads(threads).build()?.install(|| measure(queries, &paths))
}

fn measure(queries: Option<usize>, paths: &[PathBuf]) -> Result<(), Box<dyn Error + Send + Sync>> {
    let threads = rayon::current_num_threads();
    if let Some(queries) = queries {
        let path = paths.first().ok_or("--synth needs a file to write")?;
        let start = Instant::now();
        let bytes =
            SynthConfig { queries, ..SynthConfig::default() }.write(&mut BufWriter::new(File::create(path)?))?;
        let seconds = start.elapsed().as_secs_f64();
        println!("wrote {:.1} MB in {seconds:.3} s, {:.0} MB/s, {threads} threads", mega(bytes), mega(bytes) / seconds);
    }
    let bytes = paths.iter().map(|path| Ok(path.metadata()?.len())).sum::<std::io::Result<u64>>()?;
    let mut best = f64::INFINITY;
    let mut documents = 0;
    for _ in 0..3 {
        let start = Instant::now();
        documents = read(paths, &ReadOptions::default())?.documents();
        best = best.min(start.elapsed().as_secs_f64());
    }
    println!(
        "read {documents} documents, {:.1} MB in {best:.3} s, {:.0} MB/s, {threads} threads",
        mega(bytes),
        mega(bytes) / best
    );
    Ok(())
}

fn mega(bytes: u64) -> f64 {
    bytes as f64 / 1e6
}
