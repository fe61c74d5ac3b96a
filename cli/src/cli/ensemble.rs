//! `burn-rank ensemble` joins rankers to one, whose score is the weighted mean of their standardized scores.

use std::collections::BTreeMap;

use burn_rank::measure::evaluate;
use burn_rank::ranker::{Member, Members, Metadata};

use super::*;
use crate::experiment::CARD;

/// Arguments of `ensemble`.
#[derive(Debug, Args)]
#[command(after_long_help = include_str!("texts/ensemble.txt").trim_ascii_end())]
pub struct EnsembleArgs {
    /// Two or more rankers of the same features: saved ones, folders of `train` runs, or files of LightGBM, XGBoost,
    /// CatBoost or RankLib
    #[arg(required = true, num_args = 2.., value_name = "RANKER")]
    rankers: Vec<PathBuf>,
    /// Folder for the ranker and its card: new, empty, or the folder of an earlier ensemble, which is replaced
    #[arg(long)]
    out: PathBuf,
    /// Validation data, on which the rankers are measured. --standardize fixed needs them
    #[arg(long, value_name = "FILE")]
    data: Vec<PathBuf>,
    /// Weights of the rankers in their order, separated by commas [default: 1 for each]
    #[arg(long, value_delimiter = ',', allow_hyphen_values = true)]
    weights: Vec<f64>,
    /// How the scores of a ranker are standardized
    #[arg(long, value_enum, default_value_t = Standardize::Query)]
    standardize: Standardize,
    /// Measures on the validation data, comma-separated [default: ndcg@10]
    #[arg(short, long = "measures", value_name = "MEASURES", requires = "data")]
    measures: Vec<String>,
    /// Convention, such as standard, letor or trec_eval [default: that of the first ranker]
    #[arg(short, long, requires = "data")]
    convention: Option<String>,
    /// One JSON object
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    pub(super) scoring: input::ScoringArgs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Standardize {
    /// To mean 0 and deviation 1 over the documents of a query
    Query,
    /// By one constant for each ranker, its mean deviation over the queries of --data
    Fixed,
}

/// The means of the measures on the validation queries.
type Means = Vec<(Measure, f64)>;

/// The number of validation queries and the convention of the measures, if there are validation queries.
type On<'a> = Option<(usize, &'a Convention)>;

impl EnsembleArgs {
    pub(super) fn run(&self, out: &mut dyn Write) -> Result {
        let place = Place::Folder(self.out.clone());
        OutputFolder::check(&place, &Identity::new(RunKind::Files, NAME), Claim::New)?;
        let read: Vec<PathBuf> = self.rankers.iter().map(|path| input::ranker_file(path)).collect();
        input::not_over("--out", &self.out.join(RANKER), &read, "is read")?;
        input::once(&self.data)?;
        let measures = input::measures(&self.measures, "ndcg@10")?;
        let device = self.scoring.device()?;
        let (members, strictest) = self.members(&device)?;
        let reader = members.members()[strictest].ranker.clone();
        // A ranker of another system does not know its convention.
        let known = members.members().iter().find(|member| !member.ranker.metadata().is_imported());
        let first = &known.unwrap_or(&members.members()[0]).ranker;
        let data = match &self.data[..] {
            [] => None,
            files => Some(self.scoring.reading.read(files, Some((&self.out, &reader)))?),
        };
        let convention = input::convention_or(self.convention.as_deref(), || first.metadata().convention.clone())?;
        let members = match (self.standardize, &data) {
            (Standardize::Query, _) => members,
            (Standardize::Fixed, Some(data)) => {
                during("standardizing", || members.with_fixed_deviations(data, &device))?
            }
            (Standardize::Fixed, None) => {
                bail!("--standardize fixed: expected --data with validation queries");
            }
        };
        let ranker = Ranker::of_members(members.clone())?;
        let means = |path: &Path, ranker: &Ranker| -> Result<Means> {
            let Some(data) = &data else { return Ok(Vec::new()) };
            let scored = Scored::by_ranker(path, ranker, data, &device)?;
            let rankings = scored.rankings(data, &convention);
            Ok(during("measuring", || evaluate(&rankings, &measures, &convention))?.means)
        };
        let rows = self.rankers.iter().zip(members.members());
        let rows = rows.map(|(path, member)| Ok((member, means(path, &member.ranker)?))).collect::<Result<Vec<_>>>()?;
        let all = means(&self.out, &ranker)?;
        let measured = all.iter().map(|(measure, value)| (format!("validation {measure}"), *value)).collect();
        let mut metadata = Metadata { measures: measured, convention: convention.clone(), ..ranker.metadata().clone() };
        // Data for all members are read as for the strictest of them.
        for key in ["data", "cv"].into_iter().filter(|key| !reader.metadata().config[*key].is_null()) {
            metadata.config[key] = reader.metadata().config[key].clone();
        }
        let ranker = ranker.with_metadata(metadata)?;
        let mut folder = OutputFolder::of_files(&self.out, NAME)?;
        let name = self.out.file_name().map_or(NAME.into(), |name| name.to_string_lossy());
        let files = [ranker.to_bytes(), ranker.card(&name).into_bytes()];
        folder.write_together(&[RANKER, CARD], |number, file| file.write_all(&files[number]))?;
        folder.finish()?;
        let on = data.as_ref().map(|data| (data.queries(), &convention));
        if !self.json {
            return self.print(&rows, &all, on, out);
        }
        let named = |means: &Means| -> BTreeMap<String, f64> {
            means.iter().map(|(measure, value)| (measure.to_string(), *value)).collect()
        };
        let rows = rows.iter().enumerate().map(|(number, (member, means))| {
            let deviation = members.fixed_deviations().map(|deviations| deviations[number]);
            json!({"name": member.name, "weight": member.weight, "deviation": deviation, "measures": named(means)})
        });
        let standardize = if members.fixed_deviations().is_some() { "fixed" } else { "query" };
        let record = json!({
            "out": self.out, "standardize": standardize, "members": rows.collect::<Vec<_>>(), "measures": named(&all),
            "queries": on.map(|(queries, _)| queries), "convention": on.map(|(_, convention)| convention),
        });
        Ok(writeln!(out, "{record}")?)
    }

    /// Prints the means of each member, and the means of the whole ensemble.
    fn print(&self, rows: &[(&Member, Means)], all: &Means, on: On, out: &mut dyn Write) -> Result {
        let total: f64 = rows.iter().map(|(member, _)| member.weight).sum();
        let measures = all.iter().map(|(measure, _)| measure.to_string());
        let mut table = Table::new("ranker", ["share".to_string()].into_iter().chain(measures));
        let cells = |share: String, means: &Means| {
            [share].into_iter().chain(means.iter().map(|(_, value)| format!("{value:.4}"))).collect::<Vec<_>>()
        };
        for (member, means) in rows {
            table.row(harmless(&member.name).into_owned(), cells(format!("{:.4}", member.weight / total), means));
        }
        if let Some((queries, convention)) = on {
            table.row("all", cells("1".to_string(), all));
            writeln!(out, "{}, {} convention", counted(queries, "validation query"), convention.name)?;
        }
        write!(out, "{}", table.text())?;
        let [folder, card] = [&self.out, &self.out.join(CARD)].map(|path| path.display().to_string());
        Ok(writeln!(out, "written to {}, its card is {}", harmless(&folder), harmless(&card))?)
    }

    /// Loads the rankers and joins those that read data in the same way. Also returns the number of the ranker for which
    /// data are read, since all others read its data alike.
    fn members(&self, device: &Device) -> Result<(Members, usize)> {
        let weights = match self.weights.len() {
            0 => vec![1.0; self.rankers.len()],
            found if found != self.rankers.len() => {
                bail!("--weights: found {found}, expected {}, one for each ranker", self.rankers.len())
            }
            _ => self.weights.clone(),
        };
        let names = files::names(&self.rankers);
        let member = |((path, name), weight): ((&PathBuf, String), f64)| {
            Ok(Member { name, weight, ranker: input::ranker(path, device)? })
        };
        let members = self.rankers.iter().zip(names).zip(weights).map(member).collect::<Result<_>>()?;
        let members = Members::new(members)?;
        // A ranker of another system does not know how its training data were read.
        let known = members.members().iter().zip(&self.rankers).enumerate();
        let known = known.filter(|(_, (member, _))| !member.ranker.metadata().is_imported());
        let known = known.map(|(number, (Member { name, ranker, .. }, path))| {
            Ok((number, name, self.scoring.reading.reading(Some((path, ranker)))?))
        });
        let known = known.collect::<Result<Vec<_>>>()?;
        for (_, other, reading) in &known {
            let (_, first, of_first) = &known[0];
            if !of_first.is_as(reading) && !reading.is_as(of_first) {
                let found = "found other columns, or another treatment of missing values";
                bail!("member `{other}`: {found}, expected the same as for member `{first}`");
            }
        }
        let strictest = known.iter().find(|(.., own)| known.iter().all(|(.., other)| own.is_as(other)));
        let strictest = strictest.map_or(0, |(number, ..)| *number);
        Ok((members, strictest))
    }
}

/// The command by which the folder of an ensemble is known.
const NAME: &str = "ensemble";
