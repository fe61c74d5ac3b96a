//! `burn-rank study NAME` checks the theorems of a paper on rankings.

use super::*;
use crate::experiment::{JOBS, KeptRun, STUDY, json_bytes, put_right};
use crate::report::{studies_page, study_page, study_table};
use crate::study::{Material, Over, Runs, STUDIES, Source, StudyEntry, StudyReport, Subject, find};

/// The argument that selects all studies.
const ALL: &str = "all";

/// Arguments of `study`.
#[derive(Debug, Args)]
#[command(after_long_help = include_str!("texts/study.txt").trim_ascii_end())]
pub struct StudyArgs {
    /// The study to run, or `all`; without a name, all studies are listed
    name: Option<String>,
    /// MODEL and DATA files, only DATA files with --scores, or folders of `cv` runs; without files, data are generated
    #[arg(value_name = "MODEL DATA")]
    files: Vec<PathBuf>,
    /// File with one score per line, in the order of the documents of DATA
    #[arg(long, value_name = "FILE", requires = "files")]
    scores: Option<PathBuf>,
    /// A second ranking of the same data: a model or, with --scores, a file of scores
    #[arg(long, value_name = "FILE", requires = "files")]
    against: Option<PathBuf>,
    /// A configuration of `train`; the study trains on its data
    #[arg(long, value_name = "FILE", conflicts_with = "files")]
    config: Option<PathBuf>,
    /// Ascending values of a parameter, as in beta=1,10; a list without a name sets the first parameter; may be
    /// repeated
    #[arg(long, value_name = "VALUES")]
    over: Vec<String>,
    /// Run a quick version with fewer values, epochs and samples
    #[arg(long)]
    quick: bool,
    /// Number of generated queries to rank, at most 40 with --quick; studies that train rankers generate other data
    #[arg(long, default_value_t = 200, conflicts_with_all = ["files", "config"], value_parser = clap::value_parser!(u32).range(1..=100_000))]
    queries: u32,
    /// Seed of generated data
    #[arg(long, default_value_t = 1, conflicts_with_all = ["files", "config"])]
    seed: u64,
    /// Folder for study.json and study.html, a page with plots; the folder is new, empty, or holds the same study
    #[arg(short, long, value_name = "FOLDER")]
    out: Option<PathBuf>,
    /// Replace the study in the folder
    #[arg(long, requires = "out")]
    overwrite: bool,
    /// One JSON object
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    pub(super) scoring: input::ScoringArgs,
}

fn over(text: &str) -> Result<Over> {
    let (name, values) = match text.split_once('=') {
        Some((name, values)) => (Some(name.trim().to_string()), values),
        None => (None, text),
    };
    let number = |value: &str| match value.trim().parse::<f64>() {
        Ok(number) => Ok(number),
        Err(_) => bail!("--over {text}: found `{value}`, expected numbers separated by commas"),
    };
    Ok((name, values.split(',').map(number).collect::<Result<_>>()?))
}

impl StudyArgs {
    pub(super) fn run(&self, out: &mut dyn Write) -> Result {
        let Some(name) = &self.name else { return self.list(out) };
        let all = name == ALL;
        let studies: Vec<&StudyEntry> = if all { STUDIES.iter().collect() } else { vec![find(name)?] };
        if all && !self.over.is_empty() {
            bail!("--over: found values for all studies, expected one study");
        }
        let over = self.over.iter().map(|text| over(text)).collect::<Result<Vec<Over>>>()?;
        let run = Identity::new(RunKind::Study, &self.arguments());
        let claim = if self.overwrite { Claim::Overwrite } else { Claim::New };
        let place = self.out.clone().map(Place::Folder);
        if let Some(place) = &place {
            OutputFolder::check(place, &run, claim)?;
        }
        let source = self.source()?;
        let mut reports = Vec::new();
        for study in studies.into_iter().filter(|study| !all || study.accepts(&source)) {
            let work = Work::new(study.name);
            let progress = &|what: &str, done: usize, all: usize| {
                work.steps(all);
                work.done(done);
                work.now(what);
            };
            reports.push(study.run(&source, &over, self.quick, progress)?);
        }
        let record = if all { json!({ "studies": reports }) } else { json!(reports[0]) };
        let texts = || reports.iter().map(text).collect::<Vec<_>>().join("\n");
        write!(out, "{}", if self.json { format!("{record}\n") } else { texts() })?;
        let Some(place) = place else { return Ok(()) };
        let bytes = json_bytes(&record)?;
        let mut folder = OutputFolder::open(&place, &run.on([&bytes]), "", claim)?;
        let page = if all { studies_page(&reports) } else { study_page(&reports[0]) };
        folder.write_together(&STUDY, |number, file| file.write_all([&bytes, page.as_bytes()][number]))?;
        folder.finish()?;
        if !self.json {
            writeln!(out, "\n{}", written_to(folder.path(), STUDY[1], true))?;
        }
        Ok(())
    }

    /// Returns the arguments that decide the results, as text.
    fn arguments(&self) -> String {
        let Self { name, files, scores, against, config, over, quick, queries, seed, .. } = self;
        format!("{:?}", (name, files, scores, against, config, over, quick, queries, seed))
    }

    fn list(&self, out: &mut dyn Write) -> Result {
        let mut table = Table::new("study", ["over", "what"]);
        for study in STUDIES {
            let names: Vec<&str> = study.parameters.iter().map(|parameter| parameter.name).collect();
            if self.json {
                let parameters = study.parameters.iter();
                let row = json!({
                    "study": study.name,
                    "parameters": parameters.map(|of| json!({"name": of.name, "values": of.values})).collect::<Value>(),
                    "takes": study.takes,
                    "what": study.summary, "paper": study.paper,
                });
                writeln!(out, "{row}")?;
            }
            table.row(study.name, [&names.join(", "), study.summary]);
        }
        if !self.json {
            write!(out, "{}", table.words())?;
        }
        Ok(())
    }

    fn source(&self) -> Result<Source> {
        input::once(self.files.iter().chain(&self.scores).chain(&self.against))?;
        self.runs().try_for_each(|run| put_right(run))?;
        let reading = &self.scoring.reading;
        match (&self.scores, &self.config, self.files.as_slice()) {
            (None, Some(path), []) => {
                reading.expect_none("a configuration, whose [data.read] has them")?;
                let config = Experiment::from_document(&Document::read(path, &[])?)?;
                let split = config.data.split(config.seed)?;
                Ok(Source::Training(Box::new(Material::new(path, &config, split))))
            }
            (None, None, [_, ..]) if self.runs().all(|run| KeptRun::is_in(run)) => {
                reading.expect_none("folders of runs")?;
                let device = self.scoring.device()?;
                let read = self.runs().map(|run| KeptRun::read(run, &device)).collect::<Result<Vec<_>, _>>()?;
                Ok(Source::Runs(Box::new(Runs::new(read)?)))
            }
            (None, None, [_, ..]) if self.runs().all(|run| run.join(REPORT).is_file() && run.join(JOBS).is_dir()) => {
                let lacking = self.runs().find(|run| !KeptRun::is_in(run)).unwrap_or(&self.files[0]).display();
                let advice = "`cv --resume --keep scores` keeps them";
                bail!("{lacking}: expected folders of `cv` runs that kept scores or rankers; {advice}")
            }
            (None, None, []) => {
                reading.expect_none("generated data")?;
                Ok(Source::Generated { queries: self.queries as usize, seed: self.seed })
            }
            (Some(scores), None, files) => {
                let data = self.scoring.reading.read(files, None)?;
                let by = |scores: &Path| Ok(subject(scores, files, &data, &Scored::from_file(scores, &data)?));
                self.rankings(scores, by)
            }
            (None, None, [model, files @ ..]) if !files.is_empty() => {
                let device = self.scoring.device()?;
                let ranker = input::ranker(model, &device)?;
                let common = Common::read(&self.scoring.reading, files, Some((model, &ranker)))?;
                let by = |model: &Path| {
                    let ranker = input::ranker(model, &device)?;
                    let scored = common.scored(&self.scoring.reading, (model, &ranker), &device)?;
                    Ok(subject(model, files, &common.data, &scored))
                };
                self.rankings(model, by)
            }
            _ => bail!("expected MODEL DATA, --scores FILE DATA, or neither"),
        }
    }

    /// Returns the arguments that may name folders of runs.
    fn runs(&self) -> impl Iterator<Item = &PathBuf> {
        self.files.iter().chain(&self.against)
    }

    /// Returns one ranking, or two if the user gave `--against`.
    fn rankings(&self, first: &Path, by: impl Fn(&Path) -> Result<Subject>) -> Result<Source> {
        Ok(match &self.against {
            None => Source::Ranking(by(first)?),
            Some(second) => Source::Rankings(by(first)?, by(second)?),
        })
    }
}

fn subject(ranking: &Path, files: &[PathBuf], data: &RankingDataset, scored: &Scored) -> Subject {
    let files: Vec<String> = files.iter().map(|path| path.display().to_string()).collect();
    Subject::new(format!("{} on {}", ranking.display(), files.join(" ")), data, &scored.scores)
}

fn text(report: &StudyReport) -> String {
    let findings = &report.findings;
    let about = &findings.about;
    let mut subject = harmless(&about.subject).into_owned();
    if let (Some(queries), Some(documents), Some(tied)) = (about.queries, about.documents, about.tied_queries) {
        let (queries, documents) = (counted(queries, "query"), counted(documents, "document"));
        let tied = counted(tied, "query");
        subject += &format!(": {queries} with something to rank, {documents}, {tied} with equal scores");
    }
    subject += if report.quick { " (quick)" } else { "" };
    let title = format!("{}: {}", report.study, report.summary);
    let mut text: String = [&title, &report.paper, &subject].into_iter().map(|words| paragraph(words)).collect();
    for table in &findings.tables {
        text += &format!("\n{}{}", paragraph(&table.title), study_table(table).within(COLUMNS));
    }
    text += "\n";
    for claim in &findings.claims {
        text += &marked(claim.verdict.name(), &format!("{}: {}", claim.source, claim.claim));
        text += &marked("", &claim.found);
    }
    text
}
