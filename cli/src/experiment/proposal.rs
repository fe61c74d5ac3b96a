//! `Proposal`, the commented configuration that `burn-rank init` writes for given data.
//!
//! Networks are tried first. With the normalizer `gauss`, dropout and early stopping, networks match or beat tuned
//! trees on most data. The trees' results are in benchmarks/trees.md. If values are missing, trees are tried first. If
//! too few queries have documents with different labels, a linear scorer is tried first. A network replaces a missing
//! value with the feature's mean, and marks it in an additional column. A single run of `cv` compares the first choice
//! with the alternatives.

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
/// With more than `MANY` training queries, a training step takes 32 of them. It takes only 8 if lists are longer than
/// `LONG` on average.
const MANY: usize = 1000;
const LONG: usize = 400;
/// The default for the smallest number of documents that a leaf may hold.
const MIN_DOCUMENTS: usize = 20;
/// The number of documents up to which all features may have one value in the training queries of a fold.
const SMALL: usize = 1000;
/// The time of the members that are suggested as one ranker (configs/recommended/best.toml), in fits of one network.
const MEMBERS: f64 = 9.0;
/// The time that a fit of one network takes for each training document with 50 features, in seconds of one processor
/// (docs/start/how_long.md).
const SECONDS: f64 = 1.4e-4;
/// The seed of the proposed configuration.
const SEED: u64 = 1;
/// The largest and the smallest number of folds into which the queries of a single set are divided.
const FOLDS: [usize; 2] = [5, 3];

/// Where the queries come from.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Source {
    /// A folder that contains the given number of folds.
    Folds(PathBuf, usize),
    /// Separate files for training, validation and test queries.
    Files([Vec<PathBuf>; 3]),
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
    /// Whether the files can be read as one set, on which `cv --refit` trains.
    pub joins: bool,
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
        let (choice, why) = match self.teaching() {
            _ if self.missing > 0 => (Choice::Trees, "values are missing, and trees accept them"),
            FEW.. => (Choice::Network, "on most data, a small one with dropout is as good as tuned trees or better"),
            few => {
                let (found, are) = (counted(few, "training query"), if few == 1 { "is" } else { "are" });
                let why = format!("{found} with two labels {are} too few for more than a weight per feature");
                return (Choice::Linear, why);
            }
        };
        (choice, why.to_string())
    }

    /// Returns whether `cv` can run. `cv` needs folds, a test set, or enough queries to divide into folds.
    pub fn cross_validates(&self) -> bool {
        self.has_files(2) || self.folds.is_some()
    }

    /// Returns whether there are validation queries by which to choose among grid points.
    fn selects(&self) -> bool {
        self.has_files(1) || self.folds.is_some()
    }

    /// Returns whether there are files of the given set, counted from 0. Folds have files of all sets.
    fn has_files(&self, set: usize) -> bool {
        !matches!(&self.source, Source::Files(sets) if sets[set].is_empty())
    }

    /// Returns the number of queries per training step.
    fn batch(&self) -> usize {
        match () {
            _ if self.train.documents > LONG * self.train.queries => 8,
            _ if self.train.queries > MANY => 32,
            _ => 16,
        }
    }

    /// Describes the sets of queries in a phrase for the configuration's comment.
    pub fn sets(&self) -> String {
        if let Source::Folds(_, count) = &self.source {
            return counted(*count, "fold");
        }
        let sets = match (self.has_files(1), self.has_files(2), self.folds) {
            (.., Some(folds)) => return format!("one, which cv splits into {folds} folds by query"),
            (false, false, None) => "one, too small for folds; rounds are chosen on the training queries",
            (true, false, _) => "training and validation queries; without a test set, cv has nothing to test on",
            (false, true, _) => "training and test queries; rounds are chosen on the training queries",
            (true, true, _) => "training, validation and test queries",
        };
        sets.to_string()
    }

    /// Returns the text of the configuration file; its comment shows `command`, which runs it.
    pub fn configuration(&self, command: &str) -> String {
        let (choice, why) = self.choice();
        let own = table("scorer", scorer(choice));
        let scorer = match choice {
            Choice::Linear => format!("\n# Read by the learner `gradient`. A linear scorer: {why}.\n{own}"),
            Choice::Network => format!("\n# Read by the learner `gradient`. A perceptron: {why}.\n{own}"),
            // The network has its scorer in the grid.
            Choice::Trees => String::new(),
        };
        let (why_loss, gain) = match self.labels() {
            Labels::Values => {
                ("The gain is the label itself, because the labels are not grades from 0 to 4.", "gain = \"linear\"\n")
            }
            _ => ("LambdaRank for the scorer, LambdaMART for trees.", ""),
        };
        let why_learner = match choice {
            Choice::Trees => format!("Boosted trees: {why}."),
            _ => "Adam at a constant rate, until 20 epochs bring no improvement.".to_string(),
        };
        let (data, learner) = (self.data(), table("learner", &self.learner(choice)));
        let why_folds = "`cv` tests on each fold once. Folds are split by query: all rows of a query are in one fold.";
        let folds = self.folds.map(|folds| format!("\n# {why_folds}\n[cv]\nsplit = {folds}\n")).unwrap_or_default();
        let (measure, others) = (self.measure(), self.others(choice));
        format!(
            "# A first configuration, written by `burn-rank init`. `burn-rank help config` lists all keys.\n#   \
             {command}\nseed = {SEED}\n\
             # Maps features to ranks among the training values or to z-scores, depending on the data.\nnormalizer = \"auto\"\n\
             {data}{scorer}\n# {why_loss}\n[loss]\nname = \"lambda_ndcg\"\n{gain}\n# {why_learner}\n{learner}{measure}{folds}{others}"
        )
    }

    fn measure(&self) -> String {
        let labels = self.labels();
        let (about, select, report) = match labels {
            Labels::OnePositive => (
                "# One document of each query is relevant, so only its rank counts.\n",
                "mrr",
                r#"["mrr", "success@1", "success@10", "ndcg@10"]"#,
            ),
            // MAP needs a label from which documents are relevant.
            Labels::Values => ("", "ndcg@10", r#"["ndcg@1", "ndcg@5", "ndcg@10"]"#),
            Labels::Grades | Labels::Binary => ("", "ndcg@10", r#"["ndcg@1", "ndcg@5", "ndcg@10", "map"]"#),
        };
        let convention = match (labels, relevant_from(&self.labels)) {
            (Labels::Values, 1.0) => r#"{ preset = "standard", gain = "linear" }"#.to_string(),
            (Labels::Values, from) => {
                format!(r#"{{ preset = "standard", gain = "linear", relevant_from = {} }}"#, from as f32)
            }
            _ => r#""standard""#.to_string(),
        };
        format!("\n{about}[measure]\nconvention = {convention}\nselect = \"{select}\"\nreport = {report}\n")
    }

    fn data(&self) -> String {
        let path = |path: &PathBuf| toml::Value::from(path.display().to_string()).to_string();
        let list = |paths: &[PathBuf]| format!("[{}]", paths.iter().map(path).collect::<Vec<_>>().join(", "));
        let mut text = String::from("\n[data]\n");
        match &self.source {
            Source::Folds(folder, _) => text += &format!("folds = {}\n", path(folder)),
            Source::Files(sets) => {
                let sets = ["train", "validation", "test"].into_iter().zip(sets);
                for (key, files) in sets.filter(|(_, files)| !files.is_empty()) {
                    text += &format!("{key} = {}\n", list(files));
                }
            }
        }
        let of_columns = |(key, _): &(String, Value)| key.starts_with("columns.");
        let (columns, mut read): (Map, Map) = self.read.clone().into_iter().partition(of_columns);
        // That missing values are kept is the default of `init`, and not what every learner takes.
        read.retain(|key, value| key != "missing" || *value != "keep");
        if self.missing > 0 {
            read.entry("missing".to_string()).or_insert(Value::from("indicator"));
        }
        if let Some(features) = self.features {
            read.entry("features".to_string()).or_insert(Value::from(features));
        }
        for (section, keys) in [("data.columns", columns), ("data.read", read)] {
            if !keys.is_empty() {
                // Lists and strings look the same in TOML as in JSON.
                let line =
                    |(key, value): (&String, &Value)| format!("{} = {value}\n", key.trim_start_matches("columns."));
                let lines: String = keys.iter().map(line).collect();
                text += &format!("\n{}", table(section, &lines));
            }
        }
        text
    }

    /// Returns the keys of the learner that is tried first.
    fn learner(&self, choice: Choice) -> String {
        let rate = match choice {
            Choice::Trees => return self.trees(31),
            Choice::Linear => "0.01",
            Choice::Network => "0.001",
        };
        format!(
            "kind = \"gradient\"\nepochs = 100\nbatch_queries = {}\nlearning_rate = {rate}\n\
             optimizer = {{ kind = \"adam\" }}\npatience = 20\n",
            self.batch()
        )
    }

    /// Returns the keys of a tree learner with the given number of leaves. If there are few training documents, a leaf
    /// may hold fewer documents than the default minimum.
    fn trees(&self, leaves: usize) -> String {
        let fewest = (self.train.documents / 50).max(1);
        let fewest = if fewest < MIN_DOCUMENTS { format!("min_documents = {fewest}\n") } else { String::new() };
        format!(
            "kind = \"boosted_trees\"\nrounds = 300\nleaves = {leaves}\nlearning_rate = 0.1\npatience = 50\n{fewest}"
        )
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
        let [network, line] = [Choice::Network, Choice::Linear].map(|choice| inline(scorer(choice)));
        let gradient = inline(&self.learner(Choice::Network));
        let [large, small] = [31, 7].map(|leaves| inline(&self.trees(leaves)));
        let (rivals, key, points, more) = match choice {
            Choice::Network => {
                let rivals = "the network, or trees with 31 or 7 leaves";
                (rivals, "learner", vec![gradient, large, small], self.several_members())
            }
            Choice::Linear => {
                let trees = format!("# To compare trees, replace `scorer` by:\n# learner = [{small}]\n");
                ("a linear scorer, a perceptron, or trees", "scorer", vec![line, network], trees)
            }
            Choice::Trees => {
                let scorer = format!("# Only the network uses it.\nscorer = [{network}]\n");
                ("trees with 31 or 7 leaves, or a network", "learner", vec![large, small, gradient], scorer)
            }
        };
        let points: String = points.iter().map(|point| format!("    {point},\n")).collect();
        format!(
            "\n# One `cv` shows what is best on these data: {rivals}. Then write the winner into the sections \
             above, and remove this one.\n[grid]\n{key} = [\n{points}]\n{more}"
        )
    }

    /// Returns a comment on several members as one ranker, with the time that a fit of them takes.
    fn several_members(&self) -> String {
        let width = 0.5 + self.train.features as f64 / 100.0;
        let seconds = (self.train.documents as f64 * width * MEMBERS * SECONDS).ceil();
        format!(
            "# Three networks with this loss and boosted trees, joined to one ranker, are a little better on most data.\n\
             # A fit takes about {seconds} s of one processor: `burn-rank help config members`.\n"
        )
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

/// Returns the keys of a scorer.
fn scorer(choice: Choice) -> &'static str {
    match choice {
        Choice::Linear => "kind = \"linear\"\n",
        _ => "kind = \"mlp\"\nhidden = [64]\ndropout = 0.3\n",
    }
}

/// Makes a table of lines with keys.
fn table(section: &str, lines: &str) -> String {
    format!("[{section}]\n{lines}")
}

/// Makes an inline table of lines with keys.
fn inline(lines: &str) -> String {
    format!("{{ {} }}", lines.trim_end().replace('\n', ", "))
}
