//! `burn-rank synth`: generated LETOR text in the shape of MSLR-WEB.

use std::io::{self, BufWriter, Write};
use std::path::PathBuf;

use clap::Args;

use super::Failure;
use crate::atomic_file;
use crate::data::SynthConfig;

/// Arguments of `synth`.
#[derive(Debug, Args)]
pub struct SynthArgs {
    /// Number of queries
    #[arg(long, default_value_t = 1_000)]
    queries: usize,
    /// Number of features
    #[arg(long, default_value_t = 136)]
    features: usize,
    /// Seed of the hidden scorer and of every query
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Longest list
    #[arg(long, default_value_t = 1_251)]
    max_length: usize,
    /// Deviation of the label noise
    #[arg(long, default_value_t = SynthConfig::default().noise)]
    noise: f64,
    /// File to write; standard output when absent
    #[arg(short, long)]
    out: Option<PathBuf>,
}

impl SynthArgs {
    pub(super) fn run(self, out: &mut dyn Write) -> Result<(), Failure> {
        let config = SynthConfig {
            queries: self.queries,
            features: self.features,
            seed: self.seed,
            max_length: self.max_length,
            noise: self.noise,
            ..SynthConfig::default()
        };
        config.check().map_err(Failure::input)?;
        match &self.out {
            None => {
                config.write(&mut BufWriter::new(out))?;
                Ok(())
            }
            Some(path) => atomic_file::write_with(path, |file| {
                config.write(&mut BufWriter::new(file)).map(drop).map_err(io::Error::other)
            })
            .map_err(|error| Failure::input(format!("{}: cannot write: {error}", path.display()))),
        }
    }
}
