//! `burn-rank eval` computes exact measures of a ranker, of a file of scores, or of a TREC run.
//!
//! A TREC run is evaluated against its judgments, with this crate's measures and any convention, or with the lines of
//! trec_eval. Evaluations, also of single queries, are printed as tables, as lines in the format of trec_eval, or as
//! JSON.

use burn_rank::data::trec::Run;
use burn_rank::measure::evaluate;
use burn_rank::measure::trec_eval::{TrecEvaluator, TrecMeasure};
use burn_rank::refusal::Refusal;
use burn_rank::workbench::check_field;
use burn_rank::workbench::trec_eval::{TrecReport, documents};

use super::*;
use crate::experiment::{ExtremeQueries, RankedQuery};
use crate::report::ranking_table;

const MEASURES: &str = "ndcg@1,ndcg@5,ndcg@10,map,mrr";

/// Arguments of `eval`.
#[derive(Debug, Args)]
#[command(after_long_help = include_str!("texts/eval.txt").trim_ascii_end())]
pub struct EvalArgs {
    /// MODEL and DATA files, or only DATA files with --scores, or no files with --run
    #[arg(value_name = "MODEL DATA")]
    files: Vec<PathBuf>,
    /// File with one score per line, in the order of the documents of DATA
    #[arg(long, value_name = "FILE", conflicts_with = "run")]
    scores: Option<PathBuf>,
    /// TREC run to evaluate against --qrels
    #[arg(long, value_name = "FILE", requires = "qrels", conflicts_with = "files")]
    run: Option<PathBuf>,
    /// TREC relevance judgments of the queries of --run
    #[arg(long, value_name = "FILE", requires = "run")]
    qrels: Option<PathBuf>,
    /// Convention, such as standard, letor or trec_eval [default: the model's; trec_eval for a run; else standard]
    #[arg(short, long)]
    convention: Option<String>,
    /// Measures, comma-separated [default: ndcg@1,ndcg@5,ndcg@10,map,mrr; official for a run in --format trec]
    #[arg(short, long = "measures", value_name = "MEASURES")]
    measures: Vec<String>,
    /// Also print a line for each query
    #[arg(short = 'q', long)]
    per_query: bool,
    /// Also show the worst or best queries by the first measure, with their documents in ranked order. Give worst:N,
    /// best:N, or both, separated by a comma
    #[arg(long, value_name = "WHICH", conflicts_with_all = ["run", "compare_conventions", "format"])]
    queries: Option<String>,
    /// Evaluate the same ranking under every convention; with --json, the key `conventions` lists the results
    #[arg(long, conflicts_with_all = ["convention", "per_query", "format"])]
    compare_conventions: bool,
    /// Print a table, or lines in the format of trec_eval
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
    /// One JSON object
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    scoring: input::ScoringArgs,
    #[command(flatten)]
    judging: JudgingArgs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    Table,
    Trec,
}

impl EvalArgs {
    pub(super) fn run(self, out: &mut dyn Write) -> Result {
        input::once([&self.scores, &self.run, &self.qrels].into_iter().flatten().chain(&self.files))?;
        if self.run.is_some() {
            self.scoring.reading.expect_none("a TREC run")?;
        }
        self.scoring.execution.scope(|| match (&self.run, &self.qrels, &self.scores, self.files.as_slice()) {
            (Some(run), Some(qrels), ..) if self.format == Format::Trec => print_lines(&self, run, qrels, out),
            (Some(run), Some(qrels), ..) => evaluate_run(&self, run, qrels, out),
            (.., Some(_), []) => bail!("expected DATA after --scores FILE"),
            (.., Some(_), [model, ..]) if model.extension().is_some_and(|extension| extension == "safetensors") => {
                bail!("{}: expected only DATA with --scores FILE, no MODEL", model.display())
            }
            _ => evaluate_scored(&self, out),
        })
    }
}

/// Evaluates the scores of a ranker or of a file.
fn evaluate_scored(args: &EvalArgs, out: &mut dyn Write) -> Result {
    let refuse = |refusal: Refusal| Failure::input(format!("--queries: {}", refusal.message()));
    let asked = args.queries.as_deref().map(queries_asked).transpose().map_err(refuse)?;
    let usage = "expected MODEL DATA, --scores FILE DATA, or --qrels FILE --run FILE";
    let measures = input::measures(&args.measures, MEASURES)?;
    let named = args.convention.as_deref().map(input::convention).transpose()?;
    let (data, scored) = &args.scoring.scored(args.scores.as_deref(), &args.files, usage)?;
    if args.compare_conventions {
        let rows = Convention::PRESETS.iter().map(|preset| {
            let convention = preset.convention();
            let evaluation = evaluate(&scored.rankings(data, &convention), &measures, &convention);
            (preset.name, evaluation.map_err(|error| error.to_string()))
        });
        return conventions(&measures, rows, None, args.json, out);
    }
    let convention = named.or_else(|| scored.convention.clone()).unwrap_or_default();
    let evaluation = during("measuring", || evaluate(&scored.rankings(data, &convention), &measures, &convention))?;
    let queries = data.query_ids.iter().map(String::as_str).collect();
    let (measure, values) = (&evaluation.means[0].0, &evaluation.per_query[0]);
    let scores = [&scored.scores[..], scored.order(&convention)];
    let extremes = asked.map(|asked| ExtremeQueries::new(measure, data, scores, values, asked));
    Shown { evaluation: &evaluation, queries, run: None, extremes }.show(args, out)
}

fn evaluate_run(args: &EvalArgs, run: &Path, qrels: &Path, out: &mut dyn Write) -> Result {
    let measures = input::measures(&args.measures, MEASURES)?;
    let judgments = Judgments::read(qrels, &args.judging)?;
    if args.compare_conventions {
        let (rows, about) = under_every_convention(&judgments, run, &measures, args)?;
        return conventions(&measures, rows.into_iter(), Some(&about), args.json, out);
    }
    let convention = judgments.convention(args.convention.as_deref().unwrap_or("trec_eval"))?;
    let evaluator = Evaluator::new(&measures, &convention)?;
    let judged = judgments.measure(run, &evaluator)?;
    let (queries, values): (Vec<&str>, Vec<&QueryValues>) =
        judged.queries.iter().map(|(query, values)| (query.as_str(), values)).unzip();
    let evaluation = evaluator.summary(&values)?;
    let about = AboutRun::new(&judged, args.judging.complete);
    Shown { evaluation: &evaluation, queries, run: Some(about), extremes: None }.show(args, out)
}

/// The name of a convention, with the evaluation under it or the reason why the convention does not apply.
type Row = (&'static str, Result<Evaluation, String>);

/// Reads a run once and evaluates it under every preset. If a preset does not apply, its row contains the reason.
fn under_every_convention(
    judgments: &Judgments,
    run: &Path,
    measures: &[Measure],
    args: &EvalArgs,
) -> Result<(Vec<Row>, AboutRun)> {
    let evaluator = |name| Ok(Evaluator::new(measures, &judgments.convention(name)?)?);
    let names: Vec<&'static str> = Convention::PRESETS.iter().map(|preset| preset.name).collect();
    let evaluators = names.iter().map(|name| evaluator(name)).collect::<Result<Vec<_>>>()?;
    let judged = judgments.each(run, |name, query| {
        let documents = documents(query, args.judging.depth())?;
        let under = |evaluator: &Evaluator| {
            evaluator.query(&documents.ranking()).map_err(|error| judgments.place(name, &documents, &error))
        };
        Ok(evaluators.iter().map(under).collect::<Vec<_>>())
    })?;
    let rows = names.into_iter().zip(&evaluators).enumerate().map(|(at, (name, evaluator))| {
        let values: Result<Vec<&QueryValues>, String> =
            judged.queries.iter().map(|(_, values)| values[at].as_ref().map_err(String::clone)).collect();
        (name, values.and_then(|values| evaluator.summary(&values).map_err(|error| error.to_string())))
    });
    Ok((rows.collect(), AboutRun::new(&judged, args.judging.complete)))
}

/// Prints the same lines as trec_eval.
fn print_lines(args: &EvalArgs, run: &Path, qrels: &Path, out: &mut dyn Write) -> Result {
    if let Some(convention) = args.convention.as_deref().filter(|name| *name != "trec_eval") {
        bail!("--convention {convention}: expected `trec_eval`, which --format trec prints a run in");
    }
    let asked = if args.measures.is_empty() { "official".to_string() } else { args.measures.join(",") };
    let measures = TrecMeasure::parse_list(&asked).map_err(|error| Failure::from(error).context("--measures"))?;
    let evaluator = TrecEvaluator::new(&measures, args.judging.level, args.judging.depth())?;
    let judgments = Judgments::read(qrels, &args.judging)?;
    let judged = judgments.each(run, |_, query| {
        let empty = query.qrels.iter().all(|(_, relevance)| *relevance < args.judging.level);
        Ok((evaluator.query(query)?, empty))
    })?;

    let queries = judged.queries.len();
    let values = evaluator.summary(judged.queries.iter().map(|(_, (values, _))| values.as_slice()));
    let summary = TrecReport::of_all(&measures, &judged.tag, queries, &values);
    let empty = judged.queries.iter().filter(|(_, (_, empty))| *empty).count();
    let about = AboutRun::new(&judged, args.judging.complete);
    if args.json {
        let mut object = json!({
            "convention": judgments.convention("trec_eval")?, "queries": queries, "empty_queries": empty,
            "measures": summary,
        });
        about.add_to(&mut object);
        if args.per_query {
            let row = |(query, (values, _)): &(String, (Vec<f64>, bool))| json!({"query": query, "measures": TrecReport::of_query(&measures, query, values)});
            object["per_query"] = judged.queries.iter().map(row).collect();
        }
        return Ok(writeln!(out, "{object}")?);
    }
    if args.per_query {
        for (query, (values, _)) in &judged.queries {
            write!(out, "{}", TrecReport::of_query(&measures, query, values))?;
        }
    }
    write!(out, "{summary}")?;
    // Standard output matches trec_eval's line by line; anything more goes to standard error.
    note_empty(empty, queries, "trec_eval");
    for note in about.notes() {
        terminal::say(format_args!("note: {note}"));
    }
    Ok(())
}

/// Information about a TREC run that is printed with its measures.
struct AboutRun {
    tag: String,
    /// The number of queries in the qrels for which the run contains no document.
    missing: usize,
    /// The number of queries in the run for which the qrels contain no judgment.
    unjudged: usize,
    complete: bool,
}

impl AboutRun {
    fn new<T>(judged: &Run<T>, complete: bool) -> Self {
        let (missing, unjudged) = (judged.missing.len(), judged.unjudged);
        Self { tag: judged.tag.clone(), missing, unjudged, complete }
    }

    /// Returns notes about queries that occur only in the qrels, and about queries that occur only in the run.
    fn notes(&self) -> Vec<String> {
        let missing = if self.complete { "counted as empty lists" } else { "left out (--complete counts them)" };
        let notes = [
            (self.missing, "judged queries that the run misses", missing),
            (self.unjudged, "queries of the run without judgments", "left out"),
        ];
        let found = notes.into_iter().filter(|(count, ..)| *count > 0);
        found.map(|(count, what, then)| format!("{what}: {count}, {then}")).collect()
    }

    /// Writes the run's name and its notes, which are printed above the table.
    fn write(&self, out: &mut dyn Write) -> Result {
        writeln!(out, "run {}", harmless(&self.tag))?;
        Ok(self.notes().iter().try_for_each(|note| writeln!(out, "{note}"))?)
    }

    fn add_to(&self, object: &mut Value) {
        object["run"] = json!(self.tag);
        object["missing_queries"] = json!(self.missing);
        object["unjudged_queries"] = json!(self.unjudged);
        object["complete"] = json!(self.complete);
    }
}

/// An evaluation and the names of its queries.
struct Shown<'a> {
    evaluation: &'a Evaluation,
    queries: Vec<&'a str>,
    run: Option<AboutRun>,
    /// The worst and best queries, if they were asked for.
    extremes: Option<ExtremeQueries>,
}

impl Shown<'_> {
    fn show(&self, args: &EvalArgs, out: &mut dyn Write) -> Result {
        match (args.json, args.format) {
            (true, _) => return Ok(writeln!(out, "{}", self.json(args.per_query))?),
            (false, Format::Trec) => self.trec_lines(args.per_query, out)?,
            (false, Format::Table) => self.table(args.per_query, out)?,
        }
        self.extremes.iter().try_for_each(|extremes| print_extremes(extremes, out))
    }

    fn json(&self, per_query: bool) -> Value {
        let mut value = json!(self.evaluation);
        if let Some(run) = &self.run {
            run.add_to(&mut value);
        }
        if let Some(extremes) = &self.extremes {
            value["queries_shown"] = json!(extremes);
        }
        if per_query {
            let row = |(q, query): (usize, &&str)| {
                let values = self.evaluation.means.iter().zip(&self.evaluation.per_query);
                let values = values.map(|((measure, _), values)| (measure.to_string(), json!(values[q])));
                json!({"query": query, "measures": values.collect::<Map>()})
            };
            value["per_query"] = self.queries.iter().enumerate().map(row).collect();
        }
        value
    }

    fn table(&self, per_query: bool, out: &mut dyn Write) -> Result {
        let Evaluation { convention, queries, empty_queries, means, per_query: values, .. } = self.evaluation;
        writeln!(out, "convention {}, {}, {empty_queries} empty", convention.name, counted(*queries, "query"))?;
        if let Some(run) = &self.run {
            run.write(out)?;
        }
        let shown = self.queries.iter().enumerate().filter(|_| per_query);
        let rows = shown.map(|(q, query)| (*query, values.iter().map(move |values| measured(values[q]))));
        let all = ("all", means.iter().map(|(_, mean)| measured(Some(*mean))));
        let table = Table::new("query", means.iter().map(|(measure, _)| measure.to_string())).with(rows).with([all]);
        Ok(write!(out, "{}", table.within(COLUMNS))?)
    }

    fn trec_lines(&self, per_query: bool, out: &mut dyn Write) -> Result {
        let Evaluation { convention, queries, empty_queries, means, per_query: values, .. } = self.evaluation;
        if per_query {
            // The name of a query becomes one of the fields of a line.
            self.queries.iter().try_for_each(|query| check_field("query identifier", query))?;
            for (q, query) in self.queries.iter().enumerate() {
                for ((measure, _), values) in means.iter().zip(values) {
                    if let Some(value) = values[q] {
                        writeln!(out, "{:<22}\t{query}\t{value:.4}", measure.to_string())?;
                    }
                }
            }
        }
        for (measure, mean) in means {
            writeln!(out, "{:<22}\tall\t{mean:.4}", measure.to_string())?;
        }
        note_empty(*empty_queries, *queries, &convention.name);
        Ok(())
    }
}

/// Prints to standard error how many queries have no relevant document, since trec_eval's format has no line for this
/// number.
fn note_empty(empty: usize, queries: usize, convention: &str) {
    if empty > 0 {
        terminal::say(format_args!("note: empty queries: {empty} of {queries} (convention {convention})"));
    }
}

/// Prints the measures of one ranking, or of the TREC run `run`, under every convention. If a convention does not
/// apply, for example because identifiers are missing, the others are still printed.
fn conventions(
    measures: &[Measure],
    rows: impl Iterator<Item = Row>,
    run: Option<&AboutRun>,
    as_json: bool,
    out: &mut dyn Write,
) -> Result {
    let mut table = Table::new("convention", measures.iter().map(ToString::to_string));
    let (mut counts, mut undefined, mut objects) = (None, Vec::new(), Vec::new());
    for (name, evaluation) in rows {
        match evaluation {
            Ok(evaluation) => {
                objects.push(json!(evaluation));
                counts.get_or_insert((evaluation.queries, evaluation.empty_queries));
                table.row(name, evaluation.means.iter().map(|(_, mean)| measured(Some(*mean))));
            }
            Err(error) => {
                objects.push(json!({"convention": name, "error": error}));
                table.row(name, measures.iter().map(|_| "-"));
                undefined.push(format!("{name} is not defined here: {error}"));
            }
        }
    }
    if as_json {
        let mut object = json!({"conventions": objects});
        run.into_iter().for_each(|run| run.add_to(&mut object));
        return Ok(writeln!(out, "{object}")?);
    }
    run.map_or(Ok(()), |run| run.write(out))?;
    if let Some((queries, empty)) = counts {
        writeln!(out, "{}, {empty} empty", counted(queries, "query"))?;
    }
    write!(out, "{}", table.within(COLUMNS))?;
    Ok(undefined.iter().try_for_each(|line| writeln!(out, "{line}"))?)
}

/// The largest number of worst or best queries that may be requested.
const MOST: usize = 1000;

/// Reads how many of the worst and of the best queries to show: `worst:10`, `best:5`, or both, separated by commas.
fn queries_asked(text: &str) -> Result<[usize; 2], Refusal> {
    const ENDS: [&str; 2] = ["worst", "best"];
    let mut asked = [0; 2];
    for part in text.split(',').map(str::trim) {
        let (end, count) = part.split_once(':').unwrap_or((part, ""));
        let refuse = |expected: String| Refusal::new("", format!("`{part}`"), expected);
        let place = ENDS.iter().position(|name| *name == end).ok_or_else(|| {
            let near = did_you_mean(&nearest(end, ENDS));
            refuse(format!("worst:N, best:N, or both, separated by a comma{near}"))
        })?;
        let count = count.parse().ok().filter(|count| (1..=MOST).contains(count));
        asked[place] = count.ok_or_else(|| refuse(format!("{end}:N with N from 1 to {MOST}")))?;
    }
    Ok(asked)
}

/// Prints each of the queries as a table.
fn print_extremes(extremes: &ExtremeQueries, out: &mut dyn Write) -> Result {
    for (end, queries) in [("worst", &extremes.worst), ("best", &extremes.best)] {
        for (at, query) in queries.iter().enumerate() {
            let RankedQuery { query: name, value, documents, shown } = query;
            let measure = &extremes.measure;
            writeln!(out, "\n{end} {} of {}: query {}, {measure} {value:.4}", at + 1, queries.len(), harmless(name))?;
            write!(out, "{}", ranking_table(query).text())?;
            if shown.len() < *documents {
                writeln!(out, "of {documents} documents {}", ExtremeQueries::SHOWN)?;
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_are_read_with_their_numbers() {
        let asked = |text: &str| queries_asked(text).map_err(|refusal| refusal.message());
        assert_eq!(asked("worst:10, best:2"), Ok([10, 2]));
        assert_eq!(asked("best:1"), Ok([0, 1]));
        assert_eq!(asked("worst"), Err("found `worst`, expected worst:N with N from 1 to 1000".to_string()));
        assert_eq!(asked("worst:0"), Err("found `worst:0`, expected worst:N with N from 1 to 1000".to_string()));
        let near = "found `wrst:3`, expected worst:N, best:N, or both, separated by a comma; did you mean `worst`?";
        assert_eq!(asked("wrst:3"), Err(near.to_string()));
    }
}
