//! `burn-rank predict` scores documents and writes one score per line, or a TREC run.

use burn_rank::data::trec::{check_names, check_tag, write_qrels, write_run};
use burn_rank::ranker::{Contributions, Model, RankerError};

use super::*;

/// Arguments of `predict`.
#[derive(Debug, Args)]
pub struct PredictArgs {
    /// A saved ranker, the folder of a `train` run, or a file of LightGBM, XGBoost, CatBoost or RankLib
    model: PathBuf,
    /// LETOR text or tables; `-` is standard input. A table needs no label column unless --qrels is given
    #[arg(required = true)]
    data: Vec<PathBuf>,
    /// File to write instead of standard output; an existing file is replaced
    #[arg(short, long)]
    out: Option<PathBuf>,
    /// Write a TREC run with this tag instead of one score per line. Documents are named by their identifiers, or
    /// numbered within a query if these are missing, repeated, or contain blanks or control characters
    #[arg(long, value_name = "TAG")]
    run_id: Option<String>,
    /// Write the labels of DATA to FILE as TREC qrels, with the same document names
    #[arg(long, value_name = "FILE", requires = "run_id")]
    qrels: Option<PathBuf>,
    /// Write contributions (TreeSHAP) instead of scores: what each feature adds to a document's score. The ranker must
    /// be a sum of trees. Each line has a document's contributions and the mean background score, separated by tabs;
    /// their sum is the document's score
    #[arg(long, conflicts_with_all = ["run_id", "qrels"])]
    contributions: bool,
    /// LETOR text or tables whose mean score is the baseline of the contributions, such as the training data
    /// [default: DATA]
    #[arg(long, value_name = "FILE", requires = "contributions")]
    background: Vec<PathBuf>,
    /// Begin with a line of names: each feature, and `expected` for the mean background score
    #[arg(long, requires = "contributions")]
    header: bool,
    #[command(flatten)]
    pub(super) scoring: input::ScoringArgs,
}

impl PredictArgs {
    pub(super) fn run(&self, out: &mut dyn Write) -> Result {
        let file = self.out.as_ref().filter(|path| !is_standard_stream(path));
        if file.is_none() && self.qrels.as_deref().is_some_and(is_standard_stream) {
            bail!("--qrels -: standard output has the run, expected a file");
        }
        let read = [&self.data[..], &self.background, std::slice::from_ref(&self.model)].concat();
        let mut outputs = Outputs::of_reading(read)?;
        file.map_or(Ok(()), |path| outputs.add("--out", path))?;
        self.qrels.as_ref().map_or(Ok(()), |path| outputs.add("--qrels", path))?;
        self.run_id.as_deref().map(check_tag).transpose()?;
        let device = self.scoring.device()?;
        let ranker = input::ranker(&self.model, &device)?;
        if self.contributions && !matches!(ranker.model(), Model::Trees(_)) {
            return Err(RankerError::NotTrees(ranker.model().in_words()).into());
        }
        self.scoring.reading.check(&ranker)?;
        let (reading, loaded) = (&self.scoring.reading, (self.model.as_path(), &ranker));
        let data = match &self.qrels {
            Some(_) => reading.read(&self.data, Some(loaded))?,
            None => reading.read_to_score(&self.data, loaded)?,
        };
        if self.contributions {
            return self.explain(&ranker, &data, file, out);
        }
        if self.run_id.is_some() {
            check_names(&data)?;
        }
        let scores = during("scoring", || ranker.predict(&data, &device))?;
        let run = |mut out: &mut dyn Write| match &self.run_id {
            None => data.in_read_order(&scores).iter().try_for_each(|score| writeln!(out, "{score}")),
            Some(tag) => write_run(&mut out, &data, &scores, tag).map_err(files::to_io),
        };
        let judgments = |mut out: &mut dyn Write| write_qrels(&mut out, &data).map_err(files::to_io);
        let shows_qrels = self.qrels.as_deref().is_some_and(is_standard_stream);
        // A run and its judgments belong together, so files get their names only after standard output is written.
        let mut prepared = Vec::new();
        if let Some(path) = self.qrels.as_ref().filter(|_| !shows_qrels) {
            prepared.push(files::prepare(path, judgments)?);
        }
        match file {
            Some(path) => prepared.push(files::prepare(path, run)?),
            None => print(out, run)?,
        }
        if shows_qrels {
            print(out, judgments)?;
        }
        files::commit(prepared)
    }

    /// Writes, for each document, how much every feature contributes to its score.
    fn explain(&self, ranker: &Ranker, data: &RankingDataset, file: Option<&PathBuf>, out: &mut dyn Write) -> Result {
        let background = match &self.background[..] {
            [] => None,
            files => Some(self.scoring.reading.read_to_score(files, (&self.model, ranker))?),
        };
        let background = background.as_ref().unwrap_or(data);
        let Contributions { values, expected, .. } =
            during("contributions of the features", || ranker.contributions(data, background))?;
        let lines = |out: &mut dyn Write| {
            let features = ranker.features();
            let rows: Vec<usize> = (0..data.documents()).collect();
            if self.header {
                // A tab or a line break in a name would be taken for the next column or line.
                let names = ranker.column_names();
                names.iter().take(features).try_for_each(|name| write!(out, "{}\t", harmless(name)))?;
                writeln!(out, "expected")?;
            }
            for row in data.in_read_order(&rows) {
                let own = &values[row * features..(row + 1) * features];
                own.iter().try_for_each(|value| write!(out, "{value}\t"))?;
                writeln!(out, "{expected}")?;
            }
            Ok(())
        };
        match file {
            Some(path) => files::write(path, lines),
            None => print(out, lines),
        }
    }
}

/// Writes to standard output.
fn print(out: &mut dyn Write, fill: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result {
    fill(out).map_err(|error| match error.kind() {
        io::ErrorKind::InvalidData => Failure::Input(error.into()),
        _ => error.into(),
    })
}
