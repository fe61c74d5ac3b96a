//! The table and the page of many runs. They show the settings that differ, the best run by validation, and how far
//! every other run is from it on the same queries.

use std::collections::{BTreeMap, BTreeSet};

use burn_rank::json::Map;
use burn_rank::measure::significance::{ComparisonConfig, compare};
use burn_rank::workbench::text::{counted, shown};
use serde::Serialize;

use super::*;

/// The samples of each test. There are as many tests as runs, so they draw fewer than `compare` does.
const RESAMPLES: usize = 10_000;

/// The level of the tests, after their correction.
const LEVEL: f64 = 0.05;

/// A finished run as it is read from its folder.
pub(crate) struct FinishedRun {
    pub(crate) folder: String,
    pub(crate) report: Report,
    pub(crate) record: Option<RunRecord>,
}

impl FinishedRun {
    /// Returns every setting of the run's configuration under its dotted key.
    pub(crate) fn settings(&self) -> BTreeMap<String, Value> {
        let mut settings = BTreeMap::new();
        leaves("", self.setup().0, &mut settings);
        settings
    }

    /// Returns the configuration, and the measure by which rounds are selected.
    fn setup(&self) -> (&Value, Measure) {
        match &self.report {
            Report::Train(report) => (&report.config, report.selection),
            Report::Cv(report) => (&report.config, report.selection),
        }
    }
}

/// The table of runs, with notes that qualify it.
#[derive(Debug, Serialize)]
pub(crate) struct Runs {
    /// The runs of one set of test queries stand together, the best by validation first.
    pub(crate) runs: Vec<RunRow>,
    /// The notes, in sentences.
    pub(crate) notes: Vec<String>,
}

/// A run as a row of the table.
#[derive(Debug, Default, Serialize)]
pub(crate) struct RunRow {
    pub(crate) folder: String,
    pub(crate) name: String,
    command: &'static str,
    /// The settings by which the runs differ.
    pub(crate) settings: Map,
    /// The mean and the standard error of each measure, by the set of queries.
    measures: BTreeMap<String, BTreeMap<String, Mean>>,
    /// The set of queries on which runs are compared.
    set: String,
    pub(crate) seconds: Option<f64>,
    /// Whether the run has the best validation measure among the runs on its queries.
    best: bool,
    /// The difference from the best run; `null` for the best run itself, and without a best run.
    difference: Option<Difference>,
    /// The measure by which the run selected its rounds, or the measure that was asked for.
    selection: String,
    #[serde(skip)]
    config: BTreeMap<String, Value>,
    #[serde(skip)]
    queries: Queries,
    #[serde(skip)]
    values: BTreeMap<String, Vec<Option<f64>>>,
    #[serde(skip)]
    curve: Vec<(f64, f64)>,
    #[serde(skip)]
    round: &'static str,
}

/// The mean of a measure over queries, and its standard error.
#[derive(Debug, Clone, Copy, Default, Serialize)]
struct Mean {
    mean: Option<f64>,
    standard_error: Option<f64>,
}

/// The difference of a run from the best one on the same queries.
#[derive(Debug, Serialize)]
struct Difference {
    measure: String,
    set: String,
    queries: usize,
    mean: f64,
    low: f64,
    high: f64,
    /// The p-value of a paired randomization test, corrected by Holm's method for the number of runs.
    p: f64,
}

/// What two runs have in common if their values can be compared: the command, the set of queries and the convention,
/// the number of validation queries, the queries in ascending order, each with its place among queries of the same
/// name, and the labels of their documents.
type Queries = ([String; 3], usize, Vec<(String, usize)>, String);

impl Runs {
    /// Makes the table. Runs are compared by `measure`, or by the measure that selected their rounds.
    pub(crate) fn new(found: Vec<FinishedRun>, measure: Option<Measure>) -> Self {
        let mut runs: Vec<RunRow> = found.into_iter().map(|run| RunRow::new(run, measure)).collect();
        let keys: BTreeSet<&String> = runs.iter().flat_map(|run| run.config.keys()).collect();
        let apart: Vec<String> = keys.into_iter().filter(|key| tells_apart(key, &runs)).cloned().collect();
        for run in &mut runs {
            run.settings = apart.iter().filter_map(|key| Some((key.clone(), run.config.get(key)?.clone()))).collect();
        }
        let merit = |run: &RunRow| run.validation().unwrap_or(f64::NEG_INFINITY);
        runs.sort_by(|a, b| merit(b).total_cmp(&merit(a)).then_with(|| a.folder.cmp(&b.folder)));
        runs.sort_by(|a, b| a.queries.cmp(&b.queries));
        let mut notes = Vec::new();
        runs.chunk_by_mut(|a, b| a.queries == b.queries).for_each(|group| compare_with_best(group, &mut notes));
        let groups = runs.chunk_by(|a, b| a.queries == b.queries).count();
        if groups > 1 {
            notes.push(format!(
                "The runs were measured on {groups} different sets of queries. Only runs on the same queries are compared."
            ));
        }
        Self { runs, notes }
    }

    /// Returns the runs that have a key in common, group by group.
    fn grouped<'a, K: Ord>(&'a self, key: impl Fn(&'a RunRow) -> K) -> Vec<Vec<&'a RunRow>> {
        let mut groups: BTreeMap<K, Vec<&RunRow>> = BTreeMap::new();
        self.runs.iter().for_each(|run| groups.entry(key(run)).or_default().push(run));
        groups.into_values().collect()
    }

    /// Returns the names by which [`sort`](Self::sort) can order the runs.
    pub(crate) fn columns(&self) -> Vec<String> {
        let settings = self.runs.iter().flat_map(|run| run.settings.keys().cloned());
        let measures = self.runs.iter().flat_map(|run| run.measures.values().flat_map(|of| of.keys().cloned()));
        let own = ["folder", "name", "seconds", "validation"].map(String::from);
        let names: BTreeSet<String> = settings.chain(measures).collect();
        own.into_iter().chain(names).collect()
    }

    /// Sorts the runs by a column: measures from the highest value, everything else from the lowest.
    pub(crate) fn sort(&mut self, column: &str) {
        let is_setting = self.runs.iter().any(|run| run.settings.contains_key(column));
        let descending = |value: Option<f64>| -value.unwrap_or(f64::NEG_INFINITY);
        let by = |a: &RunRow, b: &RunRow, of: &dyn Fn(&RunRow) -> f64| of(a).total_cmp(&of(b));
        self.runs.sort_by(|a, b| match column {
            "folder" => a.folder.cmp(&b.folder),
            "name" => a.name.cmp(&b.name),
            "seconds" => by(a, b, &|run| run.seconds.unwrap_or(f64::INFINITY)),
            "validation" => by(a, b, &|run| descending(run.validation())),
            setting if is_setting => in_order(a.settings.get(setting), b.settings.get(setting)),
            name => by(a, b, &|run| descending(run.mean(&run.set, name).mean)),
        });
    }

    /// Returns the settings that differ. A setting that more runs have comes first.
    fn setting_columns(&self) -> Vec<&String> {
        let keys: BTreeSet<&String> = self.runs.iter().flat_map(|run| run.settings.keys()).collect();
        let runs = |key: &&String| self.runs.iter().filter(|run| run.settings.contains_key(*key)).count();
        let mut keys: Vec<&String> = keys.into_iter().collect();
        keys.sort_by_key(|key| std::cmp::Reverse(runs(key)));
        keys
    }

    /// Says for each set of queries which run is the best, and how many others differ from it.
    pub(crate) fn verdicts(&self) -> Vec<String> {
        self.grouped(|run| &run.queries).iter().filter_map(|group| verdict(group)).collect()
    }

    /// Builds the table. The page shows standard errors next to the means.
    pub(crate) fn table(&self) -> Table {
        let keys = self.setting_columns();
        let mut seen = BTreeSet::new();
        let columns = self.runs.iter().flat_map(|run| {
            let names = run.measures.get(&run.set).into_iter().flat_map(BTreeMap::keys);
            names.map(move |name| (run.set.as_str(), name.as_str()))
        });
        let names: Vec<(&str, &str)> = columns.filter(|column| seen.insert(*column)).collect();
        let selections: BTreeSet<&str> = self.runs.iter().map(|run| run.selection.as_str()).collect();
        // What decides stands first: many settings make a table wider than the window.
        let (mut of_selection, others): (Vec<_>, Vec<_>) =
            names.into_iter().partition(|(_, name)| selections.contains(name));
        of_selection.retain(|(set, _)| *set != "validation");
        let validation: Vec<(&str, &str)> = selections.iter().map(|name| ("validation", *name)).collect();
        let title = |(set, name): &(&str, &str)| format!("{set} {name}");
        let deciding = validation.iter().chain(&of_selection).map(title);
        let last = ["difference", "p", "time"].map(String::from);
        let settings = keys.iter().map(|key| key.to_string());
        let mut table = Table::new("run", deciding.chain(last).chain(settings).chain(others.iter().map(title)));
        for run in &self.runs {
            let settings = keys.iter().map(|key| Cell::from(run.settings.get(*key).map_or_else(String::new, in_words)));
            let cell = |&(set, name): &(&str, &str)| {
                let is_shown = run.set == set || (set == "validation" && run.selection == name);
                let mean = if is_shown { run.mean(set, name) } else { Mean::default() };
                with_error(mean.mean, mean.standard_error)
            };
            let deciding = validation.iter().chain(&of_selection).map(cell);
            let cells = deciding.chain(run.last_cells()).chain(settings).chain(others.iter().map(cell));
            table.marked_row(if run.best { "selected" } else { "" }, run.folder.as_str(), cells);
        }
        table
    }
}

impl RunRow {
    fn new(run: FinishedRun, measure: Option<Measure>) -> Self {
        let row = match &run.report {
            Report::Train(report) => Self::of_train(report),
            Report::Cv(report) => Self::of_cross_validation(report),
        };
        // The rounds have the measure that selected them, and no other.
        let (config, selection) = run.setup();
        let curve = if measure.is_none_or(|measure| measure == selection) { row.curve } else { Vec::new() };
        Self {
            round: round_word(config),
            selection: measure.unwrap_or(selection).to_string(),
            config: run.settings(),
            folder: run.folder,
            seconds: run.record.map(|record| record.total_seconds),
            curve,
            ..row
        }
    }

    fn of_train(report: &TrainReport) -> Self {
        let measures = report.measures.iter();
        let measures = measures.map(|(set, of)| (set.to_string(), means(&of.measures, &of.standard_errors))).collect();
        let points = report.fit.history.iter().filter_map(|round| Some((round.round as f64, round.validation?)));
        let (ids, values) = by_query(&[&report.per_query]);
        let validation = report.measures.validation.as_ref().map_or(0, |set| set.queries);
        let set = report.per_query.set.clone();
        let sets = report.data.iter().filter(|(name, _)| *name == set || *name == "validation");
        let told = data::told_by(sets.map(|(_, set)| set));
        Self {
            name: report.name.clone(),
            command: "train",
            measures,
            curve: points.collect(),
            queries: (common("train", &set, &report.convention), validation, ids, told),
            set,
            values,
            ..Self::default()
        }
    }

    fn of_cross_validation(report: &CrossValidationReport) -> Self {
        let result = &report.result;
        let mut measures = BTreeMap::from([("test".to_string(), means(&result.measures, &result.standard_errors))]);
        if result.selected_on == "validation" {
            let mean = mean_of(result.folds.iter().map(|fold| fold.validation));
            let of = BTreeMap::from([(report.selection.to_string(), Mean { mean, standard_error: None })]);
            measures.insert("validation".to_string(), of);
        }
        let histories: Vec<_> = report.details.iter().flat_map(|fold| &fold.fits).map(|fit| &fit.history).collect();
        let rounds = histories.iter().map(|history| history.len()).min().unwrap_or(0);
        let at = |round: usize| histories.iter().map(|history| history[round].validation).collect::<Option<Vec<_>>>();
        let points = (0..rounds).filter_map(|round| Some(((round + 1) as f64, mean_of(at(round)?)?)));
        let (ids, values) = by_query(&report.details.iter().map(|fold| &fold.per_query).collect::<Vec<_>>());
        let told = data::told_by(report.details.iter().filter_map(|fold| fold.data.test.as_ref()));
        Self {
            name: result.name.clone(),
            command: "cv",
            measures,
            curve: points.collect(),
            queries: (common("cv", "test", &result.convention), 0, ids, told),
            set: "test".to_string(),
            values,
            ..Self::default()
        }
    }

    fn mean(&self, set: &str, name: &str) -> Mean {
        self.measures.get(set).and_then(|of| of.get(name)).copied().unwrap_or_default()
    }

    /// Returns the measure by which the runs are ordered, on validation queries.
    fn validation(&self) -> Option<f64> {
        self.mean("validation", &self.selection).mean
    }

    fn last_cells(&self) -> [Cell; 3] {
        let difference = match &self.difference {
            Some(of) => {
                let ends = [of.low, of.high].map(number::difference);
                Cell::number(number::difference(of.mean)).remark(format!(" {} to {}", ends[0], ends[1]))
            }
            None => Cell::from(if self.best { "best" } else { "" }),
        };
        let p = self.difference.as_ref().map(|of| Cell::number(number::p_value(of.p))).unwrap_or_default();
        [difference, p, self.seconds.map(number::seconds).unwrap_or_default().into()]
    }
}

/// Returns the command, the set of queries and the convention by which two runs can be compared.
fn common(command: &str, set: &str, convention: &Convention) -> [String; 3] {
    [command.to_string(), set.to_string(), serde_json::to_string(convention).unwrap_or_default()]
}

fn means(values: &Measures, errors: &Measures) -> BTreeMap<String, Mean> {
    let of = |name: &String| Mean { mean: number::named(values, name), standard_error: number::named(errors, name) };
    values.keys().map(|name| (name.clone(), of(name))).collect()
}

/// The queries in ascending order, and the values of each measure in that order.
type ByQuery = (Vec<(String, usize)>, BTreeMap<String, Vec<Option<f64>>>);

/// Puts the queries of all sets into one order, whatever their order in the data.
fn by_query(sets: &[&PerQuery]) -> ByQuery {
    let mut seen: BTreeMap<&str, usize> = BTreeMap::new();
    let mut places: Vec<((String, usize), usize)> = Vec::new();
    for id in sets.iter().flat_map(|set| &set.queries) {
        let times = seen.entry(id).or_default();
        places.push(((id.clone(), *times), places.len()));
        *times += 1;
    }
    places.sort();
    let names: BTreeSet<&String> = sets.iter().flat_map(|set| set.values.keys()).collect();
    let of = |name: &String| {
        let all: Vec<Option<f64>> = sets.iter().filter_map(|set| set.values.get(name)).flatten().copied().collect();
        places.iter().map(|(_, place)| all.get(*place).copied().flatten()).collect()
    };
    let values = names.into_iter().map(|name| (name.clone(), of(name))).collect();
    (places.into_iter().map(|(id, _)| id).collect(), values)
}

/// Collects every value of a configuration under its dotted key. The name and the description of a run tell nothing
/// about its ranker.
fn leaves(prefix: &str, value: &Value, into: &mut BTreeMap<String, Value>) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                let key = if prefix.is_empty() { name.clone() } else { format!("{prefix}.{name}") };
                leaves(&key, value, into);
            }
        }
        value if value.is_null() || matches!(prefix, "name" | "description") => {}
        value => {
            into.insert(prefix.to_string(), value.clone());
        }
    }
}

/// Returns whether runs differ by a setting. A setting that some runs lack does not count if it belongs to a kind of
/// learner, loss or scorer that these runs do not have.
fn tells_apart(key: &str, runs: &[RunRow]) -> bool {
    let (with, without): (Vec<&RunRow>, Vec<&RunRow>) = runs.iter().partition(|run| run.config.contains_key(key));
    if with.windows(2).any(|pair| pair[0].config[key] != pair[1].config[key]) {
        return true;
    }
    let tables = key.match_indices('.').map(|(end, _)| &key[..end]);
    let kinds: Vec<String> = tables
        .flat_map(|table| [format!("{table}.kind"), format!("{table}.name")])
        .filter(|kind| kind != key)
        .collect();
    let belongs_to_another_kind = |lacking: &&RunRow| {
        kinds.iter().any(|kind| with.iter().all(|run| run.config.get(kind) != lacking.config.get(kind)))
    };
    // The points of a grid complete their defaults, each for itself.
    let tries = |run: &&RunRow| run.config.keys().any(|key| key.starts_with("grid.") || key.starts_with("search."));
    !without.iter().all(|run| belongs_to_another_kind(run) || tries(run))
}

/// Marks the best of the runs on the same queries, which come in the order of their validation measures, and compares
/// the others with it.
fn compare_with_best(group: &mut [RunRow], notes: &mut Vec<String>) {
    let [best, others @ ..] = group else { return };
    let name = best.selection.clone();
    if others.iter().any(|run| run.selection != name) {
        notes.push("Runs that were selected by different measures are not compared: choose one with --measure.".into());
        return;
    }
    if best.validation().is_none() {
        let runs = counted(others.len() + 1, "run");
        notes.push(format!("{runs} have no {name} on validation queries, so none of them is called the best."));
        return;
    }
    best.best = true;
    let config = ComparisonConfig { resamples: RESAMPLES, ..ComparisonConfig::default() };
    let Some(values) = best.values.get(&name) else { return };
    for run in others.iter_mut() {
        let compared = run.values.get(&name).and_then(|of_run| compare(values, of_run, &config).ok());
        run.difference = compared.map(|found| Difference {
            measure: name.clone(),
            set: run.set.clone(),
            queries: found.queries,
            mean: found.mean_difference,
            low: found.bootstrap.low,
            high: found.bootstrap.high,
            p: found.randomization.p_value,
        });
    }
    correct(others.iter_mut().filter_map(|run| run.difference.as_mut()).collect());
    if best.set != "test" && !others.is_empty() {
        notes.push(format!(
            "There are no test queries, so the {} queries that chose the best run also test it, and its lead is \
             overestimated.",
            best.set
        ));
    }
}

/// Corrects p-values for their number by Holm's method.
fn correct(mut differences: Vec<&mut Difference>) {
    differences.sort_by(|a, b| a.p.total_cmp(&b.p));
    let mut largest: f64 = 0.0;
    let number = differences.len();
    for (before, difference) in differences.into_iter().enumerate() {
        largest = largest.max((difference.p * (number - before) as f64).min(1.0));
        difference.p = largest;
    }
}

fn verdict(group: &[&RunRow]) -> Option<String> {
    let best = group.iter().find(|run| run.best)?;
    let name = &best.selection;
    let value = number::measure(best.validation());
    let mut words = match group.len() {
        1 => format!("{} has {name} {value} on validation queries.", best.folder),
        runs => format!("{} has the highest {name} of {runs} runs on validation queries, {value}.", best.folder),
    };
    let differences: Vec<&Difference> = group.iter().filter_map(|run| run.difference.as_ref()).collect();
    if let Some(first) = differences.first() {
        let shown = |sign: f64| differences.iter().filter(|of| of.p < LEVEL && of.mean * sign > 0.0).count();
        let (lower, higher) = (shown(-1.0), shown(1.0));
        let open = differences.len() - lower - higher;
        let (queries, set) = (number::count(first.queries), &first.set);
        let [are_lower, are_open] = [lower, open].map(|number| if number == 1 { "is" } else { "are" });
        words += &format!(
            " On {queries} {set} queries, {lower} of the others {are_lower} shown to be lower, {higher} to be higher; \
             {open} {are_open} not shown to differ (level {LEVEL})."
        );
    }
    Some(words)
}

/// Orders numbers by value and everything else by its text. Runs without the setting come last.
fn in_order(a: Option<&Value>, b: Option<&Value>) -> std::cmp::Ordering {
    match (a, b) {
        (Some(a), Some(b)) => match (a.as_f64(), b.as_f64()) {
            (Some(a), Some(b)) => a.total_cmp(&b),
            _ => in_words(a).cmp(&in_words(b)),
        },
        (a, b) => b.is_some().cmp(&a.is_some()),
    }
}

/// Returns a setting as `--set` takes it, shortened if it is long.
pub(crate) fn in_words(value: &Value) -> String {
    shown(&value.as_str().map_or_else(|| value.to_string(), str::to_string))
}

/// Builds the page.
pub(crate) fn page(runs: &Runs) -> String {
    let groups = runs.grouped(|run| &run.queries);
    let conclusions = runs.verdicts().iter().map(|words| conclusion(words, true)).collect();
    let notes: Html = runs.notes.iter().map(|words| note(words.as_str())).collect();
    let seconds: f64 = runs.runs.iter().filter_map(|run| run.seconds).sum();
    let facts = [
        fact("runs", number::count(runs.runs.len()), format!("on {}", counted(groups.len(), "set of queries"))),
        fact("total time", number::seconds(seconds), "all runs together"),
    ];
    let words = "\u{b1} is the standard error of the mean over queries. The difference from the best run by validation \
        has a 95% bootstrap interval and covers the queries that both runs measured. p comes from the paired \
        randomization test and is corrected for the number of runs by Holm's method.";
    let table = runs.table().html("runs").then(note(words));
    // Values of different measures have no axis in common.
    let plotted = runs.grouped(|run| (&run.queries, &run.selection));
    let sections = [
        section("results", "Results", notes.then(figures(plotted.iter().map(|group| dots(group)))).then(table)),
        section("curves", "Learning curves", figures(plotted.iter().filter_map(|group| curves(group)))),
    ];
    let name = counted(runs.runs.len(), "run");
    about::page("report", &name, conclusions, "", facts, sections)
}

/// Draws the selection measure of each run with its standard error.
fn dots(group: &[&RunRow]) -> Figure {
    let row = |run: &&RunRow| {
        let Mean { mean, standard_error } = run.mean(&run.set, &run.selection);
        let ink = if run.best { Ink::Test } else { Ink::Mark };
        let dot = Dot::new(mean.unwrap_or(f64::NAN), ink).with_error(standard_error);
        Row { name: run.folder.clone(), dots: vec![dot] }
    };
    let title = format!("{} on {} queries, with standard errors", group[0].selection, group[0].set);
    let legend = [(Ink::Test, "the best by validation".to_string()), (Ink::Mark, "the other runs".to_string())];
    Figure::new(title, Rows { rows: group.iter().map(row).collect(), zero: false }, legend)
}

/// Draws the validation measure of all runs, round by round; `None` if no run has one.
fn curves(group: &[&RunRow]) -> Option<Figure> {
    let line = |run: &&&RunRow| Line {
        name: run.folder.clone(),
        ink: if run.best { Ink::Validation } else { Ink::Mark },
        points: run.curve.clone(),
    };
    // The best run is drawn over the others.
    let mut shown: Vec<&&RunRow> = group.iter().filter(|run| run.curve.len() > 1).collect();
    shown.sort_by_key(|run| run.best);
    let first = shown.first()?;
    let x_name = if shown.iter().all(|run| run.round == first.round) { first.round } else { "round" }.to_string();
    let best = shown.iter().find(|run| run.best).map(|run| (Ink::Validation, run.folder.clone()));
    let legend: Vec<(Ink, String)> = best.into_iter().chain([(Ink::Mark, "the other runs".to_string())]).collect();
    let plot = Lines { x_name, lines: shown.iter().map(line).collect(), ..Lines::default() };
    Some(Figure::new(format!("{} on validation queries", first.selection), plot, legend))
}

#[cfg(test)]
mod tests {
    use burn_rank::json::to_value;
    use serde_json::json;

    use super::*;

    fn row(folder: &str, config: Value, validation: f64, values: &[f64]) -> RunRow {
        let queries = (0..values.len()).map(|query| format!("q{query}")).collect();
        let per_query = PerQuery {
            set: "test".into(),
            queries,
            values: BTreeMap::from([("ndcg@10".to_string(), values.iter().copied().map(Some).collect())]),
        };
        let of = ["train", "test", "standard"].map(String::from);
        let mean = |mean| BTreeMap::from([("ndcg@10".to_string(), Mean { mean, standard_error: None })]);
        let mut settings = BTreeMap::new();
        leaves("", &config, &mut settings);
        let (ids, values) = by_query(&[&per_query]);
        RunRow {
            folder: folder.to_string(),
            config: settings,
            measures: BTreeMap::from([("validation".to_string(), mean(Some(validation)))]),
            set: "test".to_string(),
            selection: "ndcg@10".to_string(),
            queries: (of, 5, ids, String::new()),
            values,
            ..RunRow::default()
        }
    }

    #[test]
    fn a_setting_of_another_kind_of_learner_tells_nothing() {
        let network =
            |rate: f64| json!({ "name": "a", "learner": { "kind": "gradient", "learning_rate": rate, "epochs": 9 } });
        let trees = json!({ "name": "b", "learner": { "kind": "boosted_trees", "leaves": 7 } });
        let runs = [network(0.1), network(0.2), trees].map(|config| row("", config, 0.5, &[0.0]));
        let keys: BTreeSet<&String> = runs.iter().flat_map(|run| run.config.keys()).collect();
        let apart: Vec<&String> = keys.into_iter().filter(|key| tells_apart(key, &runs)).collect();
        assert_eq!(apart, ["learner.kind", "learner.learning_rate"]);
        let bare = [json!({ "loss": { "name": "x", "k": 5 } }), json!({ "loss": { "name": "x" } })];
        let runs = bare.map(|config| row("", config, 0.5, &[0.0]));
        assert!(tells_apart("loss.k", &runs), "the same loss without a cut-off");
    }

    #[test]
    fn p_values_are_corrected_by_holms_method() {
        let of = |p| Difference {
            measure: String::new(),
            set: String::new(),
            queries: 1,
            mean: 0.0,
            low: 0.0,
            high: 0.0,
            p,
        };
        let mut differences = [0.04, 0.01, 0.03].map(of);
        correct(differences.iter_mut().collect());
        // 0.01 x 3, 0.03 x 2, and 0.04 x 1, which is not below the one before.
        assert_eq!(differences.map(|of| of.p), [0.06, 0.03, 0.06]);
    }

    #[test]
    fn the_best_by_validation_is_compared_on_test_queries() {
        let low: Vec<f64> = (0..40).map(|query| 0.3 + f64::from(query) / 100.0).collect();
        let high: Vec<f64> = low.iter().map(|value| value + 0.1).collect();
        let mut runs = vec![row("low", json!({}), 0.4, &low), row("high", json!({}), 0.6, &high)];
        runs.reverse();
        let mut notes = Vec::new();
        compare_with_best(&mut runs, &mut notes);
        assert!(runs[0].best && runs[0].difference.is_none() && notes.is_empty());
        let found = runs[1].difference.as_ref().unwrap();
        assert!((found.mean + 0.1).abs() < 1e-12 && found.p < 0.001 && found.queries == 40, "{found:?}");
        assert!(to_value(&runs[1]).unwrap()["difference"]["p"].is_f64());
    }

    #[test]
    fn values_of_different_measures_share_no_plot() {
        let mut runs = ["a", "b"].map(|folder| row(folder, json!({}), 0.5, &[0.1, 0.2]));
        for run in &mut runs {
            let of = |name: &str| (name.to_string(), Mean { mean: Some(0.25), standard_error: None });
            run.measures.insert("test".to_string(), BTreeMap::from([of("ndcg@10"), of("map")]));
            run.curve = vec![(1.0, 0.4), (2.0, 0.5)];
        }
        runs[1].selection = "map".to_string();
        let page = page(&Runs { runs: runs.into(), notes: Vec::new() });
        for part in ["ndcg@10 on test queries", "map on test queries", "ndcg@10 on validation", "map on validation"] {
            assert!(page.contains(part), "{part}");
        }
    }

    #[test]
    fn without_test_queries_every_validation_measure_is_shown() {
        let mut run = row("a", json!({}), 0.5, &[0.1]);
        run.set = "validation".to_string();
        let of = run.measures.get_mut("validation").unwrap();
        of.insert("map".to_string(), Mean { mean: Some(0.125), standard_error: None });
        let table = Runs { runs: vec![run], notes: Vec::new() }.table().text();
        assert!(table.contains("0.5000") && table.contains("0.1250"), "{table}");
    }

    #[test]
    fn a_grid_lacks_no_setting_that_its_points_complete() {
        let grid = json!({ "learner": { "kind": "gradient" }, "grid": { "learner.epochs": [1, 2] } });
        let alone = json!({ "learner": { "kind": "gradient", "learning_rate": 0.001 } });
        let runs = [grid, alone].map(|config| row("", config, 0.5, &[0.0]));
        assert!(!tells_apart("learner.learning_rate", &runs) && tells_apart("grid.learner.epochs", &runs));
    }

    #[test]
    fn queries_of_folds_are_put_into_one_order() {
        let fold = |ids: [&str; 2], values: [f64; 2]| PerQuery {
            set: "test".into(),
            queries: ids.map(String::from).to_vec(),
            values: BTreeMap::from([("map".to_string(), values.map(Some).to_vec())]),
        };
        let (ids, values) = by_query(&[&fold(["b", "a"], [0.1, 0.2]), &fold(["a", "c"], [0.3, 0.4])]);
        assert_eq!(ids, [("a", 0), ("a", 1), ("b", 0), ("c", 0)].map(|(id, time)| (id.to_string(), time)));
        assert_eq!(values["map"], [Some(0.2), Some(0.3), Some(0.1), Some(0.4)]);
    }
}
