//! `burn-rank check` looks for faults in data.

use burn_rank::data::{DataError, folds};
use burn_rank::refusal::Refusal;
use burn_rank::workbench::check::{Check, ISTELLA_MISSING, Kind, Level, Report, SetReport};

use super::*;

/// Arguments of `check`.
#[derive(Debug, Args)]
#[command(after_long_help = include_str!("texts/check.txt").trim_ascii_end())]
pub struct CheckArgs {
    /// Data files, each checked as one set, or a folder with folds; `-` is standard input
    #[arg(required = true)]
    data: Vec<PathBuf>,
    /// Number of the fold to check, for a folder with folds
    #[arg(long, default_value_t = 1)]
    fold: usize,
    /// Return exit code 1 if there is a problem
    #[arg(long)]
    strict: bool,
    /// One JSON object
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    reading: input::ReadArgs,
}

/// A named data set, in one or more files.
#[derive(Debug)]
pub(super) struct Set {
    pub name: String,
    pub files: Vec<PathBuf>,
}

/// Returns the data sets that the paths contain. Each file is a set; a folder holds the sets of a fold.
pub(super) fn sets(data: &[PathBuf], fold: usize) -> Result<Vec<Set>> {
    let mut sets = Vec::new();
    for path in data {
        if !path.is_dir() {
            sets.push(Set { name: path.display().to_string(), files: vec![path.clone()] });
            continue;
        }
        let found = folds::discover(path)?;
        let count = found.len();
        let chosen = found.into_iter().find(|found| found.number == fold).ok_or_else(|| {
            let expected = format!("from 1 to {count}, the folds of {}", path.display());
            DataError::from(Refusal::new("--fold", fold, expected))
        })?;
        let several = data.len() > 1;
        let name = |set: &str| if several { format!("{}: {set}", path.display()) } else { set.to_string() };
        let of_fold = [("train", chosen.train), ("validation", chosen.validation), ("test", chosen.test)];
        sets.extend(of_fold.map(|(set, files)| Set { name: name(set), files }));
    }
    Ok(sets)
}

/// Reads a set and keeps its missing values. Also returns whether it contains a number that seems to stand for missing
/// values, although no option declares it. If `names` is not empty, only the columns with these names are read as the
/// features of a table.
pub(super) fn read(reading: &input::ReadArgs, files: &[PathBuf], names: &[String]) -> Result<(RankingDataset, bool)> {
    match reading.read_as_it_is(files, None, names) {
        Err(Failure::Input(error)) if is_istellas(&error) => {
            Ok((reading.read_as_it_is(files, Some(ISTELLA_MISSING), names)?, true))
        }
        read => Ok((read?, false)),
    }
}

/// Returns whether reading failed because of the number that marks missing values in the Istella data sets.
fn is_istellas(error: &anyhow::Error) -> bool {
    let Some(DataError::Syntax { found, .. } | DataError::Cell { found, .. }) = error.downcast_ref() else {
        return false;
    };
    let found = found.trim_matches('`');
    // Istella's number is rounded up in the text, beyond the largest 64-bit float.
    found.starts_with("1.797693") && found.parse::<f64>().is_ok_and(|value| value >= 0.999_999 * ISTELLA_MISSING)
}

impl CheckArgs {
    pub(super) fn run(self, out: &mut dyn Write) -> Result {
        input::once(&self.data)?;
        let mut check = Check::default();
        let sets = sets(&self.data, self.fold)?;
        // JSON has whole paths.
        let paths: Vec<&String> = sets.iter().map(|set| &set.name).collect();
        let names = if self.json { paths.into_iter().cloned().collect() } else { files::names(&paths) };
        for (name, Set { files, .. }) in names.into_iter().zip(&sets) {
            let (data, istellas) = read(&self.reading, files, check.names())?;
            if istellas {
                let words = "1.79769313486232e308 stands for a missing value, as in the files of Istella: read them with \
                    missing_value = 1.797e308 and missing = \"indicator\" in [data.read]";
                check.note(&name, Kind::MissingValue, words.to_string());
            }
            during(&format!("checking {name}"), || check.add(&name, &data)).map_err(DataError::from)?;
        }
        let report = check.finish();
        write!(out, "{}", if self.json { format!("{}\n", json!(report)) } else { render(&report) })?;
        if self.strict && report.problems() > 0 {
            let found = counted(report.problems(), "problem");
            return Err(Failure::work(format!("check found {found}, expected none with --strict")));
        }
        Ok(())
    }
}

fn render(report: &Report) -> String {
    let columns = ["queries", "documents", "features", "per query", "labels", "missing"];
    let rows = report.sets.iter().map(|set| (set.name.as_str(), row(set)));
    let mut text = Table::new("set", columns).with(rows).within(COLUMNS);
    if !report.published.is_empty() {
        let names = report.published.join(" or ");
        text += &format!("\n{}", paragraph(&format!("The data look like {names}.")));
    }
    if !report.findings.is_empty() {
        text.push('\n');
    }
    for finding in &report.findings {
        let level = if finding.level == Level::Problem { "problem" } else { "note" };
        let set = if report.sets.len() > 1 { format!("{}: ", finding.set) } else { String::new() };
        text += &marked(level, &harmless(&format!("{set}{}", finding.message)));
    }
    let (problems, all) = (report.problems(), report.findings.len());
    text + &match all {
        0 => "\nNothing found.\n".to_string(),
        _ => format!("\n{}, {}.\n", counted(problems, "problem"), counted(all - problems, "note")),
    }
}

fn row(set: &SetReport) -> [String; 6] {
    let of = &set.statistics;
    let counts = [of.queries, of.documents, of.features, of.missing_values];
    let [queries, documents, features, missing] = counts.map(|count| count.to_string());
    let (least, median, most) = of.length_range;
    let labels: Vec<f32> = set.labels().collect();
    let labels = match &labels[..] {
        [] => "-".to_string(),
        [label] => label.to_string(),
        [first, .., last] => format!("{first} to {last} ({})", counted(labels.len(), "level")),
    };
    [queries, documents, features, format!("{least}/{median}/{most}"), labels, missing]
}
