//! `Proposal`, the commented configuration that `burn-rank init` writes for given data.
//!
//! Networks are tried first. With the normalizer `gauss`, dropout and early stopping, networks match or beat tuned
//! trees on most data. The trees' results are in benchmarks/trees.md. If values are missing, trees are tried first. If
//! too few queries have documents with different labels, a linear scorer is tried first. A network replaces a missing
//! value with the feature's mean, and marks it in an additional column. A single run of `cv` compares the first choice
//! with the alternatives.

use std::fmt::Write;
use std::path::PathBuf;

use burn_rank::data::{RankingDataset, Statistics};
use burn_rank::json::{Map, Value};
use burn_rank::loss::MAX_EXPONENTIAL_LABEL;
use burn_rank::workbench::check::no_feature_varies;
use burn_rank::workbench::folds::split_by;
use burn_rank::workbench::text::counted;
use serde::Serialize;

/// If fewer than this number of training queries have at least two different labels, a linear scorer is tried first.
const FEW: usize = 20;
/// With more than `MANY` training queries, a training step takes 32 of them. It takes only 8 if a list is longer than
/// `LONG`.
const MANY: usize = 1000;
const LONG: usize = 400;
/// The default for the smallest number of documents that a leaf may hold.
const MIN_DOCUMENTS: usize = 20;
/// The number of documents up to which all features may have one value in the training queries of a fold.
const SMALL: usize = 1000;
/// The seed of the proposed configuration.
const SEED: u64 = 1;
/// The largest and the smallest number of folds into which the queries of a single set are divided.
const FOLDS: [usize; 2] = [5, 3];

/// Where the queries come from.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Source {
    /// A folder that contains the given number of folds.
    Folds(PathBuf, usize),
    /// Separate files for each set.
    Files { train: Vec<PathBuf>, validation: Vec<PathBuf>, test: Vec<PathBuf> },
}

/// The facts about the data that the proposal depends on.
#[derive(Debug)]
pub(crate) struct Seen {
    pub source: Source,
    /// Statistics of the training queries. If there are folds, they are computed on the first fold.
    pub train: Statistics,
    /// The number of training documents with a label of at least 1.
    pub relevant: usize,
    /// The labels that occur in any set, in ascending order.
    pub labels: Vec<f32>,
    /// The number of folds into which the queries of a single set can be divided.
    pub folds: Option<usize>,
    /// The number of missing values in all sets.
    pub missing: usize,
    /// The largest number of features in any set. This is `None` if all sets have the same number.
    pub features: Option<usize>,
    /// The `[data.read]` and `[data.columns]` keys with which the data were read.
    pub read: Map,
}

/// The scorer or learner to try first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Choice {
    Network,
    Trees,
    Linear,
}

/// The kind of the labels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Labels {
    /// Grades, which are whole numbers.
    Grades,
    /// Two distinct values, one of which is 0.
    Binary,
    /// Two distinct values, one of which is 0. No query has more than one document with the nonzero value.
    OnePositive,
    /// Numbers that are not grades.
    Values,
}

impl Seen {
    /// Returns the kind of labels that the documents have.
    pub fn labels(&self) -> Labels {
        if are_values(&self.labels) {
            return Labels::Values;
        }
        let labels: Vec<f32> = self.train.labels.iter().map(|(label, _)| *label).collect();
        let with = self.train.queries - self.train.empty_queries;
        match labels.len() {
            2 if labels[0] == 0.0 && self.relevant == with => Labels::OnePositive,
            2 if labels[0] == 0.0 => Labels::Binary,
            _ => Labels::Grades,
        }
    }

    /// Returns the number of training queries with at least two different labels. A ranker can learn from these
    /// queries.
    pub fn teaching(&self) -> usize {
        self.train.queries - self.train.single_label_queries
    }

    /// Returns the scorer or learner to try first, with the reason.
    pub fn choice(&self) -> (Choice, String) {
        let teaching = self.teaching();
        if self.missing > 0 {
            return (Choice::Trees, "values are missing, and trees take them as they are".to_string());
        }
        if teaching < FEW {
            let found = counted(teaching, "training query");
            let are = if teaching == 1 { "is" } else { "are" };
            return (
                Choice::Linear,
                format!("{found} with two labels {are} too few for more than a weight per feature"),
            );
        }
        let why = "a small one with dropout is level with tuned trees or above them on most data";
        (Choice::Network, why.to_string())
    }

    /// Returns whether `cv` can run. `cv` needs folds, a test set, or enough queries to divide into folds.
    pub fn cross_validates(&self) -> bool {
        match &self.source {
            Source::Folds(..) => true,
            Source::Files { test, .. } => !test.is_empty() || self.folds.is_some(),
        }
    }

    /// Returns whether there are validation queries by which to choose among grid points.
    fn selects(&self) -> bool {
        match &self.source {
            Source::Folds(..) => true,
            Source::Files { validation, .. } => !validation.is_empty() || self.folds.is_some(),
        }
    }

    /// Returns the number of queries per training step.
    fn batch(&self) -> usize {
        match () {
            _ if self.train.length_range.1 > LONG => 8,
            _ if self.train.queries > MANY => 32,
            _ => 16,
        }
    }

    /// Describes the sets of queries in a phrase for the configuration's comment.
    pub fn sets(&self) -> String {
        match &self.source {
            Source::Folds(_, count) => counted(*count, "fold"),
            Source::Files { validation, test, .. } => match (validation.is_empty(), test.is_empty(), self.folds) {
                (.., Some(folds)) => format!("one, which cv cuts into {folds} folds by query"),
                (true, true, None) => "one, too small for folds: rounds are chosen on the training queries".to_string(),
                (false, true, _) => {
                    "training and validation queries; without a test set, cv has nothing to test on".into()
                }
                (true, false, _) => "training and test queries; rounds are chosen on the training queries".to_string(),
                (false, false, _) => "training, validation and test queries".to_string(),
            },
        }
    }

    /// Returns the text of the configuration file; its comment shows `command`, which runs it.
    pub fn configuration(&self, command: &str) -> String {
        let (choice, why) = self.choice();
        let labels = self.labels();
        let gain = if labels == Labels::Values { ", gain = \"linear\"" } else { "" };
        let mut text = format!(
            "# A first configuration by `burn-rank init`. `burn-rank help config` lists every key.\n#   {command}\nseed = {SEED}\n\
             # Features by their ranks among the training values, or z-scores, as the data ask for.\nnormalizer = \"auto\"\n"
        );
        text += &self.data();
        let scorer_of = match choice {
            Choice::Linear => Some("linear scorer"),
            Choice::Network => Some("perceptron"),
            // The network has its scorer in the grid.
            Choice::Trees => None,
        };
        if let Some(name) = scorer_of {
            text +=
                &format!("\n# Read by the learner `gradient`. A {name}: {why}.\n{}", table("scorer", &scorer(choice)));
        }
        let why_loss = match labels {
            Labels::Values => "The gain is the label itself, as the labels are no grades from 0 to 4.",
            _ => "LambdaRank for the scorer, LambdaMART for trees.",
        };
        text += &format!("\n# {why_loss}\n[loss]\nname = \"lambda_ndcg\"\n");
        if !gain.is_empty() {
            text += "gain = \"linear\"\n";
        }
        if choice == Choice::Trees {
            text += &format!("\n# Boosted trees: {why}.\n");
        } else {
            text += "\n# Adam at a constant rate, until 20 epochs bring nothing better.\n";
        }
        text += &table("learner", &self.learner(choice));
        let (select, report) = match labels {
            Labels::OnePositive => ("mrr", r#"["mrr", "success@1", "success@10", "ndcg@10"]"#),
            // MAP needs a label from which documents are relevant.
            Labels::Values => ("ndcg@10", r#"["ndcg@1", "ndcg@5", "ndcg@10"]"#),
            Labels::Grades | Labels::Binary => ("ndcg@10", r#"["ndcg@1", "ndcg@5", "ndcg@10", "map"]"#),
        };
        let convention = match (labels, relevant_from(&self.labels)) {
            (Labels::Values, 1.0) => r#"{ preset = "standard", gain = "linear" }"#.to_string(),
            (Labels::Values, from) => {
                format!(r#"{{ preset = "standard", gain = "linear", relevant_from = {} }}"#, from as f32)
            }
            _ => r#""standard""#.to_string(),
        };
        let about = match labels {
            Labels::OnePositive => "# One document of a query is relevant: what counts is its rank.\n",
            _ => "",
        };
        text += &format!("\n{about}[measure]\nconvention = {convention}\nselect = \"{select}\"\nreport = {report}\n");
        if let Some(folds) = self.folds {
            text += &format!(
                "\n# `cv` tests on each fold once. Cut by query: rows of one query are never on both sides.\n[cv]\nsplit = \
                 {folds}\n"
            );
        }
        text += &self.others(choice);
        text
    }

    fn data(&self) -> String {
        let path = |path: &PathBuf| toml::Value::from(path.display().to_string()).to_string();
        let list = |paths: &[PathBuf]| format!("[{}]", paths.iter().map(path).collect::<Vec<_>>().join(", "));
        let mut text = String::from("\n[data]\n");
        match &self.source {
            Source::Folds(folder, _) => {
                let _ = writeln!(text, "folds = {}", path(folder));
            }
            Source::Files { train, validation, test } => {
                for (key, files) in [("train", train), ("validation", validation), ("test", test)] {
                    if !files.is_empty() {
                        let _ = writeln!(text, "{key} = {}", list(files));
                    }
                }
            }
        }
        let mut read = self.read.clone();
        let mut columns = Map::new();
        for key in read.keys().filter(|key| key.starts_with("columns.")).cloned().collect::<Vec<_>>() {
            if let Some(value) = read.swap_remove(&key) {
                columns.insert(key["columns.".len()..].to_string(), value);
            }
        }
        if self.missing > 0 && read.get("missing").is_none() {
            read.insert("missing".to_string(), Value::from("indicator"));
        }
        if let Some(features) = self.features
            && read.get("features").is_none()
        {
            read.insert("features".to_string(), Value::from(features));
        }
        for (section, keys) in [("data.columns", columns), ("data.read", read)] {
            if !keys.is_empty() {
                let _ = write!(text, "\n{}", table(section, &lines(&keys)));
            }
        }
        text
    }

    fn learner(&self, choice: Choice) -> Vec<(&'static str, String)> {
        match choice {
            Choice::Trees => self.trees(31),
            _ => vec![
                ("kind", "\"gradient\"".to_string()),
                ("epochs", "100".to_string()),
                ("batch_queries", self.batch().to_string()),
                ("learning_rate", if choice == Choice::Linear { "0.01" } else { "0.001" }.to_string()),
                ("optimizer", "{ kind = \"adam\" }".to_string()),
                ("patience", "20".to_string()),
            ],
        }
    }

    fn trees(&self, leaves: usize) -> Vec<(&'static str, String)> {
        trees(leaves, self.train.documents)
    }

    /// Returns a `[grid]` section in which the first choice competes with the alternatives.
    fn others(&self, choice: Choice) -> String {
        if !self.cross_validates() {
            return String::new();
        }
        if !self.selects() {
            return "\n# With validation queries, a [grid] compares learners: see `burn-rank help config grid`.\n"
                .to_string();
        }
        let inline = |keys: &[(&str, String)]| {
            let keys: Vec<String> = keys.iter().map(|(key, value)| format!("{key} = {value}")).collect();
            format!("{{ {} }}", keys.join(", "))
        };
        let decided = "Then write the winner into the sections above, and remove this one.";
        match choice {
            Choice::Network => format!(
                "\n# One `cv` says what is better on these data: the network or trees, with 31 leaves or 7. {decided}\n[grid]\n\
                 learner = [\n    {},\n    {},\n    {},\n]\n",
                inline(&self.learner(choice)),
                inline(&self.trees(31)),
                inline(&self.trees(7)),
            ),
            Choice::Linear => format!(
                "\n# One `cv` says what is better on these data: a line, a perceptron, or trees. {decided}\n[grid]\n\
                 scorer = [\n    {},\n    {},\n]\n# For trees, in the place of the scorers:\n# learner = [{}]\n",
                inline(&scorer(Choice::Linear)),
                inline(&scorer(Choice::Network)),
                inline(&self.trees(7)),
            ),
            Choice::Trees => format!(
                "\n# One `cv` says what is better on these data: trees, with 31 leaves or 7, or a network. {decided}\n[grid]\n\
                 learner = [\n    {},\n    {},\n    {},\n]\n# Only the network reads it.\nscorer = [{}]\n",
                inline(&self.trees(31)),
                inline(&self.trees(7)),
                inline(&self.learner(Choice::Network)),
                inline(&scorer(Choice::Network)),
            ),
        }
    }
}

/// Returns whether labels are numbers that are not grades. Losses with the gain 2^y - 1 refuse such labels.
fn are_values(labels: &[f32]) -> bool {
    labels.iter().any(|&label| label.fract() != 0.0 || f64::from(label) > MAX_EXPONENTIAL_LABEL)
}

/// Returns the lowest label of a relevant document in the proposed convention. Labels below 1 that are not grades are
/// relevant too, since a query without a relevant document would be left out of the means.
fn relevant_from(labels: &[f32]) -> f64 {
    let lowest = labels.iter().copied().find(|label| *label > 0.0);
    // Half of the label is surely below it, also as a number of 64 bits.
    lowest.filter(|lowest| *lowest < 1.0 && are_values(labels)).map_or(1.0, |lowest| f64::from(lowest / 2.0))
}

/// Returns the largest number of folds, up to 5, that leave queries to learn from and to measure in each set of a fold.
/// `labels` are the labels that occur. Of a large set, a fold without a feature that varies is not expected.
pub(crate) fn folds(data: &RankingDataset, labels: &[f32]) -> Option<usize> {
    let from = relevant_from(labels);
    let labels_of = |query: usize| &data.labels[data.offsets[query]..data.offsets[query + 1]];
    let teaches = |query: &usize| labels_of(*query).windows(2).any(|pair| pair[0] != pair[1]);
    let counts = |query: &usize| labels_of(*query).iter().any(|label| f64::from(*label) >= from);
    let [most, least] = FOLDS;
    (least..=most).rev().find(|count| {
        split_by(data, None, *count, SEED).is_ok_and(|folds| {
            folds.iter().all(|fold| {
                fold.train.iter().any(teaches)
                    && (data.documents() > SMALL || !no_feature_varies(&data.select(&fold.train)))
                    && [&fold.validation, &fold.test].iter().all(|set| set.iter().any(counts))
            })
        })
    })
}

fn scorer(choice: Choice) -> Vec<(&'static str, String)> {
    match choice {
        Choice::Linear => vec![("kind", "\"linear\"".to_string())],
        _ => vec![("kind", "\"mlp\"".to_string()), ("hidden", "[64]".to_string()), ("dropout", "0.3".to_string())],
    }
}

/// Returns the configuration keys of a tree learner with the given number of leaves. If there are few training
/// documents, a leaf may hold fewer documents than the default minimum.
fn trees(leaves: usize, documents: usize) -> Vec<(&'static str, String)> {
    let fewest = (documents / 50).max(1);
    let mut keys = vec![
        ("kind", "\"boosted_trees\"".to_string()),
        ("rounds", "300".to_string()),
        ("leaves", leaves.to_string()),
        ("learning_rate", "0.1".to_string()),
        ("patience", "50".to_string()),
    ];
    if fewest < MIN_DOCUMENTS {
        keys.push(("min_documents", fewest.to_string()));
    }
    keys
}

fn table<K: AsRef<str>>(section: &str, keys: &[(K, String)]) -> String {
    let lines: String = keys.iter().map(|(key, value)| format!("{} = {value}\n", key.as_ref())).collect();
    format!("[{section}]\n{lines}")
}

/// Formats the entries of a table as TOML. Lists and strings look the same as in JSON.
fn lines(keys: &Map) -> Vec<(String, String)> {
    keys.iter().map(|(key, value)| (key.clone(), value.to_string())).collect()
}
