//! Writes model cards, which describe a ranker in Markdown.

use std::fmt::Write;

use super::artifact::{Estimate, Ranker};
use super::model::Model;
use crate::scorer::{AttentionScorerConfig, LatentCrossScorerConfig, Scorer};
use crate::text::{acts_on_terminal, counted, escape_markdown, markdown_code};

/// The fixed text that follows the table of a model card and precedes the features.
const BETWEEN: &str = "\n\nScores order the documents of one query; they are not comparable between queries, nor \
    probabilities. Values of features are raw, in the scale of the training data: the ranker normalizes them.\n\n\
    ## Features\n\n";

/// How data give the features to a ranker with names, and to one without.
const BY_NAME: &str = "A table has a column for each name, in any order, and may have other columns, which are not read. \
    Arrays, LETOR text and ONNX have the features in this order:\n\n| number | feature |\n|--:|---|\n";
const BY_NUMBER: &str = "The features have numbers and no names. Arrays, LETOR text and ONNX have them in the order of their \
    numbers. A table has a column `features` of lists, or the columns `feature_1`, `feature_2` and so on, or `1`, `2` \
    and so on.\n";

impl Ranker {
    /// Returns a model card in Markdown. The card describes the model, its training, its measures, the software
    /// versions and the model's limits.
    pub fn card(&self, name: &str) -> String {
        let metadata = self.metadata();
        let mut card = format!("# {}\n\n{}\n", escape_markdown(name), describe(self.model()));
        let mut row = |key: &str, value: String| {
            let _ = write!(card, "\n| {key} | {value} |");
        };
        row("property", "value".into());
        row("---", "---".into());
        if let Model::Members(members) = self.model() {
            for (member, share, deviation) in members.shares() {
                let fixed = deviation.map(|deviation| format!(", divided by {deviation:.4}")).unwrap_or_default();
                let value = format!("{} Weight {share:.4}{fixed}.", describe(member.ranker.model()));
                row(&format!("member {}", markdown_code(&member.name)), value);
            }
        }
        row("features", self.features().to_string());
        let dropped = self.columns().drop;
        if !dropped.is_empty() {
            row("columns that are not read", listed(&dropped));
        }
        row("normalizer", markdown_code(&word(&self.normalizer().kind())));
        if self.normalizer().fills_missing() {
            row("missing values", missing_values(self.normalizer().indicated(), &self.column_names()));
        }
        row("convention of the measures", markdown_code(&metadata.convention.name));
        let mut measures: Vec<(&String, &f64)> = metadata.measures.iter().collect();
        // Training, then validation, then test queries: in the order of their use.
        measures.sort_by_key(|(name, _)| {
            ["validation ", "test "].iter().position(|set| name.starts_with(set)).map_or(0, |at| at + 1)
        });
        for (measure, value) in measures {
            row(&escape_markdown(measure), format!("{value:.4}"));
        }
        if let Some(estimate) = &metadata.estimate {
            for (measure, value) in &estimate.measures {
                let error = estimate.standard_errors.get(measure).map(|error| format!(" ± {error:.4}"));
                row(
                    &escape_markdown(&format!("cross-validated {measure}")),
                    format!("{value:.4}{}", error.unwrap_or_default()),
                );
            }
        }
        row("training data (SHA-256)", markdown_code(&metadata.data_hash));
        row("seed", metadata.seed.to_string());
        let versions = &metadata.versions;
        let [burn_rank, burn] = [&versions.burn_rank, &versions.burn].map(|version| escape_markdown(version));
        row("made with", format!("burn-rank {burn_rank}, burn {burn}, file format {}", versions.format));
        if let Some(estimate) = &metadata.estimate {
            card.push_str(&about(estimate));
        }
        card.push_str(BETWEEN);
        match &metadata.feature_names {
            None => card.push_str(BY_NUMBER),
            Some(names) => {
                card.push_str(BY_NAME);
                for (number, name) in (1..).zip(names) {
                    let _ = writeln!(card, "| {number} | {} |", markdown_code(name));
                }
            }
        }
        card.push_str("\n## Configuration\n\n```json\n");
        // JSON does not escape some characters that control a terminal.
        for c in serde_json::to_string_pretty(&metadata.config).unwrap_or_default().chars() {
            match c {
                c if c != '\n' && acts_on_terminal(c) => card.push_str(&format!("\\u{:04x}", u32::from(c))),
                c => card.push(c),
            }
        }
        card.push_str("\n```\n");
        card
    }
}

/// Lists names of columns.
fn listed(names: &[String]) -> String {
    names.iter().map(|name| markdown_code(name)).collect::<Vec<_>>().join(", ")
}

/// Describes how the ranker treats missing values, and which features have a column that marks them.
fn missing_values(indicated: &[usize], names: &[String]) -> String {
    let columns: Vec<String> = indicated.iter().map(|&feature| names[feature - 1].clone()).collect();
    match &columns[..] {
        [] => "the mean of training; no feature has a column for them".to_string(),
        columns => format!("the mean of training, and a column each for {}", listed(columns)),
    }
}

/// Explains in the card that the measures come from other rankers, trained on the folds of a cross-validation.
fn about(estimate: &Estimate) -> String {
    let Estimate { queries, folds, seeds, report, .. } = estimate;
    let place = match report {
        Some(report) => format!(" They are in {}.", markdown_code(report)),
        None => " The cross-validation kept no report.".to_string(),
    };
    format!(
        "\n\nThis ranker was trained on all queries and has no test value. The cross-validated figures are means over \
         {} in {} with {}, of rankers that were chosen and trained in the same way, each on a part of the queries.{place}",
        counted(*queries, "test query"),
        counted(*folds, "fold"),
        counted(*seeds, "seed")
    )
}

fn describe(model: &Model) -> String {
    match model {
        Model::Scorer(Scorer::Linear(_)) => "A linear ranker.".into(),
        Model::Scorer(Scorer::Mlp(scorer)) => format!("{}.", perceptron(&scorer.config().hidden)),
        Model::Scorer(Scorer::Attention(scorer)) => {
            let AttentionScorerConfig { blocks, width, .. } = scorer.config();
            format!("Self-attention over the list: {blocks} blocks of width {width}.")
        }
        Model::Scorer(Scorer::LatentCross(scorer)) => {
            let LatentCrossScorerConfig { hidden, blocks, width, .. } = scorer.config();
            let perceptron = perceptron(hidden);
            format!("{perceptron}, crossed with self-attention over the list: {blocks} blocks of width {width}.")
        }
        Model::Trees(trees) => format!("A sum of {} regression trees.", trees.trees()),
        Model::Ensemble(members) => format!("A weighted sum of {} scorers.", members.len()),
        Model::Kernel(expansion) => format!("A sum of {} Gaussian kernels.", expansion.coefficients.len()),
        Model::Members(members) => {
            let standardized = match members.fixed_deviations() {
                Some(_) => "",
                None => {
                    ", whose scores are standardized over the documents of a query. Another document can change the order \
                     of two others"
                }
            };
            format!("A weighted mean of {} rankers{standardized}.", members.members().len())
        }
    }
}

fn perceptron(hidden: &[usize]) -> String {
    format!("A multi-layer perceptron with hidden layers of {hidden:?} neurons")
}

/// Returns the name by which configuration files refer to an enum variant that has no fields.
pub(super) fn word(value: &impl serde::Serialize) -> String {
    match crate::json::to_value(value) {
        Ok(crate::json::Value::String(word)) => word,
        other => format!("{other:?}"),
    }
}
