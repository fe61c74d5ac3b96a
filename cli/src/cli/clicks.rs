//! `burn-rank clicks` generates click sessions on logged rankings, with inverse propensities as weights, and the
//! positions of the documents.

use burn_rank::data::columnar::Format;
use burn_rank::data::trec::read_run_scores_from;
use burn_rank::data::{ClickModel, Clicks};
use burn_rank::workbench::separator_of_name;

use super::*;

/// Arguments of `clicks`.
#[derive(Debug, Args)]
#[command(after_long_help = include_str!("texts/clicks.txt").trim_ascii_end())]
pub struct ClicksArgs {
    /// MODEL and DATA files, or only DATA files with --scores or --run
    #[arg(value_name = "MODEL DATA", required = true)]
    files: Vec<PathBuf>,
    /// File with one score per line, in the order of the documents of DATA
    #[arg(long, value_name = "FILE", conflicts_with = "run")]
    scores: Option<PathBuf>,
    /// TREC run for the queries of DATA; its documents must have the names that `predict --run-id` gives them
    #[arg(long, value_name = "FILE")]
    run: Option<PathBuf>,
    /// File for the clicks; weights go to FILE.weight, positions to FILE.position. Existing files are replaced
    #[arg(short, long, value_name = "FILE")]
    out: PathBuf,
    /// Strength of the position bias: a user examines rank r with probability r^-eta
    #[arg(long, default_value_t = ClickModel::default().eta)]
    eta: f64,
    /// Probability of a click on an examined document with label 0
    #[arg(long, default_value_t = ClickModel::default().noise)]
    noise: f64,
    /// Number of sessions for each query
    #[arg(long, default_value_t = ClickModel::default().sessions)]
    sessions: usize,
    /// Largest weight
    #[arg(long, default_value_t = ClickModel::default().max_weight)]
    max_weight: f64,
    /// Share of sessions in which documents are shown in a random order
    #[arg(long, value_name = "P", default_value_t = ClickModel::default().shuffle)]
    shuffle: f64,
    /// Seed of the clicks
    #[arg(long, default_value_t = ClickModel::default().seed)]
    seed: u64,
    /// One JSON object
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    pub(super) scoring: input::ScoringArgs,
}

impl ClicksArgs {
    pub(super) fn run(&self, out: &mut dyn Write) -> Result {
        let Self { eta, noise, sessions, max_weight, shuffle, seed, .. } = *self;
        let model = ClickModel { eta, noise, sessions, max_weight, shuffle, seed };
        model.check()?;
        if is_standard_stream(&self.out) {
            bail!("--out -: expected a file; weights and positions are written next to it");
        }
        if Format::from_path(&self.out).is_some() || separator_of_name(&self.out).is_some() {
            let expected = "expected a name for LETOR text, as in clicks.txt, since clicks are not written as a table";
            bail!("--out {}: {expected}", self.out.display());
        }
        let [weights, positions] = [".weight", ".position"].map(|ending| {
            let mut name = self.out.clone().into_os_string();
            name.push(ending);
            PathBuf::from(name)
        });
        let logged_by = self.scores.as_ref().or(self.run.as_ref());
        let mut outputs = Outputs::of_reading(self.files.iter().chain(logged_by))?;
        [&self.out, &weights, &positions].into_iter().try_for_each(|path| outputs.add("--out", path))?;
        let (data, scores) = self.logged()?;
        let Clicks { data, sessions, clicks, clipped, .. } =
            during("making clicks", || model.sessions(&data, &scores))?;
        files::commit([
            files::prepare(&weights, |mut file| data.write_document_weights(&mut file).map_err(files::to_io))?,
            files::prepare(&positions, |mut file| data.write_positions(&mut file).map_err(files::to_io))?,
            files::prepare(&self.out, |mut file| data.write_letor(&mut file).map_err(files::to_io))?,
        ])?;
        let with_clicks = data.queries();
        if self.json {
            let found = json!({
                "sessions": sessions, "sessions_with_clicks": with_clicks, "clicks": clicks, "clipped_weights": clipped
            });
            return Ok(writeln!(out, "{found}")?);
        }
        writeln!(out, "{with_clicks} of {sessions} sessions have a click and are written")?;
        Ok(writeln!(out, "{clicks} clicks, {clipped} of them with a weight clipped to {max_weight}")?)
    }

    /// Returns the logged data and their logged scores, by which the documents were ranked when users saw them.
    fn logged(&self) -> Result<(RankingDataset, Vec<f32>)> {
        if let Some(run) = &self.run {
            let data = self.scoring.reading.read(&self.files, None)?;
            let scores = read_run_scores_from(input::text(run)?, &data)?;
            return Ok((data, scores));
        }
        let usage = "expected MODEL DATA, --scores FILE DATA, or --run FILE DATA";
        let (data, scored) = self.scoring.scored(self.scores.as_deref(), &self.files, usage)?;
        let scores = scored.rankings(&data, &Convention::default()).scores.to_vec();
        Ok((data, scores))
    }
}
