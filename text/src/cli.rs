//! The command `burn-rank-text`.

use std::ffi::OsString;
use std::io::Write;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::Instant;

use burn::tensor::Device;
use burn_rank::data::trec::{check_names, check_tag, read_run, write_run};
use burn_rank::device;
use burn_rank::learner::StopReason;
use burn_rank::workbench::json::json;
use burn_rank::workbench::text::{counted, harmless, shown};
use burn_rank::workbench::{atomic_file, check_field};
use burn_rank_cli::Document;
use burn_rank_cli::workbench::{
    Failure, PAGE, Result, Work, end, interrupt_on_signal, measures_text, not_over, parse, say, start_threads,
    written_to,
};
use clap::{Args, Parser, Subcommand};

use crate::data::{Beir, Source, TextList, read, to_dataset, write_lines};
use crate::error::TextError;
use crate::folder::ModelFolder;
use crate::mine::{Corpus, MiningOptions, mine};
use crate::rerank::{Reranker, below, in_first_order, truncate};
use crate::run::{FinishedText, RunError, TextRun};
use crate::scorer::{Kind, TextScorer};
use crate::settings::TextConfig;
use crate::train::Event;

/// Rerankers of texts: train BERT on ranking losses, rerank with it, mine hard negatives.
#[derive(Debug, Parser)]
#[command(
    name = "burn-rank-text",
    version,
    max_term_width = 100,
    disable_help_subcommand = true,
    after_help = "Exit codes: 0 done, 1 failed, 2 bad usage or bad input, 130 stopped at once by Ctrl-C."
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Train a reranker from a configuration file
    Train(TrainArgs),
    /// Score lists of texts, and write a TREC run
    Rerank(RerankArgs),
    /// Find documents that a model of two towers takes for relevant, and that are not known to be
    Mine(MineArgs),
}

#[derive(Debug, Args)]
struct TrainArgs {
    /// Configuration file
    config: PathBuf,
    /// Set a key of the configuration, as in learner.epochs=2; may be repeated
    #[arg(long = "set", value_name = "KEY=VALUE")]
    set: Vec<String>,
    /// Folder for the model and its report
    #[arg(long)]
    out: PathBuf,
    /// Replace the run in the folder once the new one is complete
    #[arg(long)]
    overwrite: bool,
    /// Print one JSON object instead of the table
    #[arg(long)]
    json: bool,
    /// Print only warnings, errors, and what --json asks for
    #[arg(long, short)]
    quiet: bool,
}

/// What reads a model.
#[derive(Debug, Args)]
struct ModelArgs {
    /// Folder of a trained model, or of Hugging Face's kind
    model: PathBuf,
    /// The most tokens of a text or a pair [default: as trained, or the positions of the model]
    #[arg(long)]
    max_tokens: Option<usize>,
    /// The most tokens, with padding, that a thread reads at a time
    #[arg(long, default_value_t = 4096)]
    chunk_tokens: usize,
    /// Device, as listed by `burn-rank devices` [default: BURN_DEVICE, else flex]
    #[arg(long)]
    device: Option<String>,
}

#[derive(Debug, Args)]
struct RerankArgs {
    #[command(flatten)]
    model: ModelArgs,
    /// JSON lines with a document each, or a folder of BEIR with --run
    #[arg(required = true)]
    lists: Vec<PathBuf>,
    /// File for the run
    #[arg(long)]
    out: PathBuf,
    /// How the model scores [default: as trained, or by its head]
    #[arg(long)]
    kind: Option<Kind>,
    /// Rerank only the first K documents of the first stage; the others keep their order below
    #[arg(long, value_name = "K")]
    top: Option<usize>,
    /// TREC run of the first stage [default: the order and the scores of the lists]
    #[arg(long, value_name = "FIRST")]
    run: Option<PathBuf>,
    /// The last field of the run's lines
    #[arg(long, default_value = "burn-rank-text")]
    tag: String,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
struct MineArgs {
    #[command(flatten)]
    model: ModelArgs,
    /// JSON lines with a document each, or a folder of BEIR
    lists: PathBuf,
    /// File for the lists
    #[arg(long)]
    out: PathBuf,
    /// The ranks from which negatives are taken, from 0
    #[arg(long, default_value = "10:100", value_name = "FIRST:LAST", value_parser = window)]
    window: Range<usize>,
    /// Share by which a negative's cosine is at least below the cosine of the best relevant document
    #[arg(long, default_value_t = 0.05)]
    relative_margin: f64,
    /// The most negatives of a query
    #[arg(long, default_value_t = 10)]
    negatives: usize,
    /// The judgments of a folder of BEIR
    #[arg(long, default_value = "train")]
    qrels: String,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

fn window(text: &str) -> std::result::Result<Range<usize>, String> {
    let ends = text.split_once(':').and_then(|(first, last)| Some(first.parse().ok()?..last.parse().ok()?));
    ends.ok_or_else(|| "expected FIRST:LAST, such as 10:100".to_string())
}

/// Runs a command line, whose first argument is the name of the program, and returns its exit code.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> u8 {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    let (cli, mut out) = match parse::<Cli>(&arguments) {
        Ok(parsed) => parsed,
        Err(code) => return code,
    };
    start_threads(true);
    let done = match cli.command {
        Command::Train(args) => args.run(&mut *out),
        Command::Rerank(args) => args.run(&mut *out),
        Command::Mine(args) => args.run(&mut *out),
    };
    end(done, &mut *out)
}

/// Tells faults of the input from others: a file that cannot be written, a gradient that cannot be computed, and a loss
/// that diverges.
fn failure(error: TextError) -> Failure {
    match error {
        TextError::Unwritable { .. } => Failure::unwritable(error),
        TextError::Gradient(_) | TextError::Diverged { .. } => Failure::work(error),
        error => error.into(),
    }
}

impl TrainArgs {
    fn run(self, out: &mut dyn Write) -> Result {
        let start = Instant::now();
        let mut document = Document::read(&self.config, &self.set)?;
        document.set_default_device();
        let placed = |refusal: &burn_rank::refusal::Refusal| Failure::from(document.place(refusal));
        let config = TextConfig::from_document(&document).map_err(|refusal| placed(&refusal))?;
        let device = device::open(&config.device)
            .map_err(|error| Failure::from(document.refuse("device", &error.to_string())))?;
        let failed = |error: RunError| match error {
            RunError::Text(TextError::Refused(refusal)) => placed(&refusal),
            RunError::Text(error) => failure(error),
            RunError::Output(error) => error.into(),
        };
        let run = TextRun::open(config, device, &self.out, self.overwrite).map_err(failed)?;
        let name = run.config().name.clone();
        let progress = Progress::new(self.quiet);
        let interrupt = interrupt_on_signal()?;
        let done = run.train(interrupt, &|event| progress.hear(&event)).map_err(failed)?;
        drop(progress);
        self.print(&done, &name, start, out)?;
        match done.report.fit.stop {
            StopReason::Interrupted => {
                Err(Failure::work(format!("interrupted; the best model so far is in {}", done.folder.display())))
            }
            _ => Ok(()),
        }
    }

    fn print(&self, done: &FinishedText, name: &str, start: Instant, out: &mut dyn Write) -> Result {
        let FinishedText { folder, report, tokens_per_second, is_new, .. } = done;
        let fit = &report.fit;
        if self.json {
            let measures = report.measures.iter().map(|(set, found)| (set.to_string(), json!(found)));
            let mut summary = json!({
                "out": folder, "best_round": fit.best_round, "rounds": fit.rounds, "stop": fit.stop,
                "measures": measures.collect::<burn_rank::json::Map>(), "tokens_per_second": tokens_per_second,
                "seconds": start.elapsed().as_secs_f64(),
            });
            if !report.cautions.is_empty() {
                summary["cautions"] = json!(report.cautions);
            }
            writeln!(out, "{summary}")?;
        } else if !self.quiet {
            let cost = match is_new {
                true => format!(", {:.1} s, {tokens_per_second:.0} tokens a second", start.elapsed().as_secs_f64()),
                false => String::new(),
            };
            writeln!(out, "{}: epoch {} of {} selected{cost}", harmless(name), fit.best_round, fit.rounds)?;
            write!(out, "{}", measures_text(report))?;
            for caution in &report.cautions {
                writeln!(out, "{caution}")?;
            }
            writeln!(out, "{}", written_to(folder, PAGE, *is_new))?;
        }
        Ok(())
    }
}

/// Shows a training: one line with steps, loss, tokens a second and the time left.
struct Progress(Option<Work>);

impl Progress {
    fn new(quiet: bool) -> Self {
        Self((!quiet).then(|| Work::new("reading texts")))
    }

    fn hear(&self, event: &Event) {
        if let Event::Warning(words) = event {
            say(format_args!("warning: {words}"));
        }
        let Some(work) = &self.0 else { return };
        match event {
            Event::Begun(steps) => work.steps(*steps),
            Event::Step { done, epoch, loss, tokens_per_second } => {
                work.done(*done);
                work.now(&format!("epoch {epoch}  loss {loss:.4}  {tokens_per_second:.0} tokens/s"));
            }
            Event::Scored(done, all) => work.now(&format!("validation {done}/{all}")),
            Event::Round(round) => {
                let value = round.validation.map(|value| format!("  validation {value:.4}")).unwrap_or_default();
                say(format_args!("epoch {}  loss {:.4}{value}", round.round, round.objective));
            }
            Event::Warning(_) => {}
        }
    }
}

impl ModelArgs {
    fn open(&self) -> Result<(ModelFolder, Device)> {
        if self.chunk_tokens == 0 {
            return Err(Failure::input("--chunk-tokens 0: expected at least 1"));
        }
        let device = self.device.as_deref().map_or_else(device::open_default, device::open)?;
        Ok((ModelFolder::open(&self.model)?, device))
    }

    fn reranker<S: TextScorer>(&self, folder: &ModelFolder, model: S, device: Device) -> Result<Reranker<S>> {
        Ok(Reranker::new(folder, model, self.max_tokens, self.chunk_tokens, device)?)
    }
}

impl RerankArgs {
    fn run(self, out: &mut dyn Write) -> Result {
        let start = Instant::now();
        check_tag(&self.tag)?;
        not_over("--out", &self.out, &[&self.lists[..], self.run.as_slice()].concat(), "is read")?;
        if self.top == Some(0) {
            return Err(Failure::input("--top 0: expected at least 1"));
        }
        let (folder, device) = self.model.open()?;
        let mut lists = self.lists()?;
        let dataset = to_dataset(&lists)?;
        check_names(&dataset)?;
        check_documents(&lists)?;
        let others = truncate(&mut lists, self.top.unwrap_or(usize::MAX));
        let scores = match folder.kind(self.kind)? {
            Kind::Towers => {
                let model = folder.towers(None, &device)?.model;
                self.scores(self.model.reranker(&folder, model, device)?, &lists)?
            }
            Kind::CrossEncoder => {
                let loaded = folder.cross_encoder(&device)?;
                if !loaded.new.is_empty() {
                    let new = loaded.new.join(", ");
                    return Err(Failure::input(format!(
                        "{}: no {new}, expected a trained head",
                        folder.path().display()
                    )));
                }
                self.scores(self.model.reranker(&folder, loaded.model, device)?, &lists)?
            }
        };
        let with_others = scores
            .iter()
            .zip(others)
            .flat_map(|(scores, others)| scores.iter().copied().chain(below(scores, others)).collect::<Vec<_>>());
        let all: Vec<f32> = with_others.collect();
        let written = |file: &mut dyn Write| {
            write_run(&mut { file }, &dataset, &all, &self.tag)
                .map_err(|error| std::io::Error::other(error.to_string()))
        };
        atomic_file::write_with(&self.out, written).map_err(TextError::unwritable(&self.out)).map_err(failure)?;
        let seconds = start.elapsed().as_secs_f64();
        let documents: usize = lists.iter().map(|list| list.documents.len()).sum();
        if self.json {
            let summary = json!({"out": self.out, "queries": lists.len(), "documents": documents, "seconds": seconds});
            writeln!(out, "{summary}")?;
        } else {
            let (queries, documents) = (counted(lists.len(), "query"), counted(documents, "document"));
            writeln!(
                out,
                "{}: {queries}, {documents} scored in {seconds:.1} s",
                harmless(&self.out.display().to_string())
            )?;
        }
        Ok(())
    }

    /// The lists in the order of the first stage.
    fn lists(&self) -> Result<Vec<TextList>> {
        if let ([folder], true) = (&self.lists[..], self.lists[0].is_dir()) {
            let Some(run) = &self.run else {
                return Err(Failure::input(format!(
                    "{}: expected --run with the candidates of a folder",
                    folder.display()
                )));
            };
            let beir = Beir { beir: folder.clone(), qrels: None, run: run.clone() };
            return Ok(read(&[Source::Beir(beir)])?);
        }
        let sources: Vec<Source> = self.lists.iter().cloned().map(Source::Lines).collect();
        let mut lists = read(&sources)?;
        if let Some(run) = &self.run {
            first_stage(&mut lists, run)?;
        }
        in_first_order(&mut lists);
        Ok(lists)
    }

    fn scores<S: TextScorer>(&self, reranker: Reranker<S>, lists: &[TextList]) -> Result<Vec<Vec<f32>>> {
        let work = Work::of("reranking", lists.len());
        Ok(reranker.scores(lists, |done| work.done(done))?)
    }
}

/// Refuses a document that a TREC run cannot hold, for which a run has a number in place of the identifier.
fn check_documents(lists: &[TextList]) -> Result {
    for list in lists {
        let mut documents = list.documents.iter();
        if let Some(document) = documents.find(|document| check_field("document", &document.id).is_err()) {
            let (query, document) = (shown(&list.id), shown(&document.id));
            let expected = "a name without blanks and control characters, since a TREC run holds no other";
            return Err(Failure::input(format!("query {query}: found document {document:?}, expected {expected}")));
        }
    }
    Ok(())
}

/// Gives documents the scores of a run. A run that has none of the queries is refused, and so is one that has a
/// document without a text.
fn first_stage(lists: &mut [TextList], run: &Path) -> Result {
    let found = read_run(run, |_, documents| {
        Ok::<_, TextError>(documents.iter().map(|&(id, score)| (id.to_string(), score)).collect())
    })?;
    let mut found: std::collections::HashMap<String, std::collections::HashMap<String, f32>> =
        found.queries.into_iter().collect();
    if !lists.iter().any(|list| found.contains_key(&list.id)) {
        let first = lists.first().map_or_else(String::new, |list| format!(" such as {}", shown(&list.id)));
        return Err(Failure::input(format!("{}: found no query of the lists, expected some{first}", run.display())));
    }
    for list in lists {
        let mut scores = found.remove(&list.id).unwrap_or_default();
        for document in &mut list.documents {
            document.score = scores.remove(&document.id);
        }
        if let Some(document) = scores.keys().min() {
            let (run, document, query) = (run.display(), shown(document), shown(&list.id));
            let found = format!("found document {document} of query {query}");
            return Err(Failure::input(format!("{run}: {found}, expected only documents of its list")));
        }
    }
    Ok(())
}

impl MineArgs {
    fn run(self, out: &mut dyn Write) -> Result {
        let start = Instant::now();
        let options = MiningOptions {
            window: self.window.clone(),
            relative_margin: self.relative_margin,
            negatives: self.negatives,
        };
        options.check().map_err(TextError::from)?;
        not_over("--out", &self.out, &[&self.lists], "is read")?;
        let (folder, device) = self.model.open()?;
        let model = folder.towers(None, &device)?.model;
        let towers = self.model.reranker(&folder, model, device)?;
        let corpus = match self.lists.is_dir() {
            true => Corpus::from_beir(&self.lists, &self.qrels)?,
            false => Corpus::from_lists(read(&[Source::Lines(self.lists.clone())])?).map_err(TextError::from)?,
        };
        if corpus.queries.is_empty() {
            let place = self.lists.display();
            return Err(Failure::input(format!("{place}: found no relevant document, expected one or more")));
        }
        let work = Work::of("reading texts", corpus.documents.len() + corpus.queries.len());
        let lists = mine(&towers, &corpus, &options, |done| work.done(done))?;
        drop(work);
        if lists.is_empty() {
            return Err(Failure::input("no negative found: expected a wider --window or a smaller --relative-margin"));
        }
        atomic_file::write_with(&self.out, |file| write_lines(&lists, file))
            .map_err(TextError::unwritable(&self.out))
            .map_err(failure)?;
        let negatives: usize =
            lists.iter().flat_map(|list| &list.documents).filter(|document| document.relevance == 0.0).count();
        let (queries, seconds) = (corpus.queries.len(), start.elapsed().as_secs_f64());
        if self.json {
            let summary = json!({
                "out": self.out, "queries": lists.len(), "of": queries, "negatives": negatives, "seconds": seconds,
            });
            writeln!(out, "{summary}")?;
        } else {
            let (found, negatives) = (lists.len(), counted(negatives, "negative"));
            let place = self.out.display().to_string();
            writeln!(out, "{}: {negatives} for {found} of {queries} queries in {seconds:.1} s", harmless(&place))?;
        }
        Ok(())
    }
}
