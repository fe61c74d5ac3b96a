//! `burn-rank synth` generates data in the shape of MSLR-WEB, as LETOR text or as a table.

use std::io::{BufWriter, IsTerminal};
use std::ops::Range;

use burn_rank::data::columnar::Format;
use burn_rank::data::{DataError, SynthConfig};
use burn_rank::workbench::folds::part_number;
use burn_rank::workbench::synth::write_telling;
use burn_rank::workbench::{HiddenScorer, separator_of_name};

use super::*;

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
    /// Median length of a list
    #[arg(long, default_value_t = SynthConfig::default().median_length)]
    median_length: f64,
    /// Longest list
    #[arg(long, default_value_t = 1_251)]
    max_length: usize,
    /// Standard deviation of the label noise
    #[arg(long, default_value_t = SynthConfig::default().noise)]
    noise: f64,
    /// How labels depend on hidden traits: smoothly, by steps, or listwise, so that they also depend on the other
    /// documents of the list
    #[arg(long, value_parser = input::one_of(SCORERS), default_value = "smooth")]
    scorer: HiddenScorer,
    /// File to write; an existing file is replaced. NAME.arrow and NAME.parquet become tables. Any other file is text,
    /// which is written block by block to save memory. With `-`, the data go to standard output, and without --out,
    /// too, unless that is a terminal
    #[arg(short, long)]
    out: Option<PathBuf>,
    /// Write the queries to N files of about equal size, S1.txt, S2.txt, ..., which `data.folds` can read. The folder
    /// --out is new, empty, or from an earlier `synth`, whose files stay until all new ones are complete
    #[arg(long, value_name = "N", requires = "out", value_parser = clap::value_parser!(u16).range(3..))]
    parts: Option<u16>,
}

/// How labels may depend on hidden traits.
const SCORERS: [(&str, HiddenScorer, &str); 3] = [
    ("smooth", HiddenScorer::Smooth, "Labels depend on sums, products and parabolas of traits"),
    ("steps", HiddenScorer::Steps, "Steps of traits and of pairs of traits, as in trees"),
    (
        "listwise",
        HiddenScorer::Listwise,
        "Like `smooth`, but without parabolas, and with a penalty for a document that repeats a better document of its \
         list",
    ),
];

impl SynthArgs {
    pub(super) fn run(self, out: &mut dyn Write) -> Result {
        let Self { queries, features, seed, median_length, max_length, noise, scorer, .. } = self;
        let config =
            SynthConfig { queries, features, seed, median_length, max_length, noise, scorer, ..Default::default() };
        config.check()?;
        let out_file = self.out.as_ref().filter(|path| !is_standard_stream(path));
        match (out_file, self.parts) {
            (None, Some(_)) => bail!("--parts: expected a folder in --out, found `-`"),
            (None, None) if self.out.is_none() && io::stdout().is_terminal() => {
                bail!(
                    "--out: expected a file, as in --out data.txt: standard output is a terminal; --out - prints there"
                )
            }
            (None, None) => match config.write(&mut BufWriter::new(out)) {
                Err(DataError::Io { source, .. }) => Err(source.into()),
                other => Ok(other.map(drop)?),
            },
            (Some(path), None) => match Format::from_path(path) {
                Some(format) => files::write(path, |file| config.write_columnar(format, file).map_err(files::to_io)),
                None if separator_of_name(path).is_some() => {
                    let expected = "expected a name that ends in .arrow, .parquet or .txt";
                    bail!("{}: {expected}: CSV and TSV are not written", path.display())
                }
                None => files::write(path, |file| fill(&config, 0..config.queries, file)),
            },
            (Some(folder), Some(parts)) => {
                let parts = usize::from(parts);
                ensure!(config.queries >= parts, "--queries {}: expected at least --parts {parts}", self.queries);
                if let Some(further) = further_part(folder, parts) {
                    let found = format!("{}: found a part beyond --parts {parts}", further.display());
                    let expected = "expected none, since `cv` would read it as a part of these data";
                    bail!("{found}, {expected}; remove it or choose another folder");
                }
                let files: Vec<String> = (1..=parts).map(|part| format!("S{part}.txt")).collect();
                let folder = OutputFolder::of_files(folder, "synth")?;
                let start = |part: usize| (part as u128 * config.queries as u128 / parts as u128) as usize;
                Ok(folder.write_together(&files, |part, file| fill(&config, start(part)..start(part + 1), file))?)
            }
        }
    }
}

/// Returns the first file `S<N>.txt` in a folder whose number N is above `parts`, if an earlier run left one there.
fn further_part(folder: &Path, parts: usize) -> Option<PathBuf> {
    let names = std::fs::read_dir(folder).ok()?.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let further = names.filter_map(|name| Some((part_number(&name).filter(|&number| number > parts)?, name)));
    further.min().map(|(_, name)| folder.join(name))
}

fn fill(config: &SynthConfig, queries: Range<usize>, file: &mut dyn Write) -> io::Result<()> {
    let work = Work::of("queries", queries.len());
    let written = write_telling(config, &mut BufWriter::new(file), queries, |queries| work.done(queries));
    written.map(drop).map_err(files::to_io)
}
