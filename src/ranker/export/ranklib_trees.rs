//! Export as RankLib's XML of LambdaMART, which the plug-ins of OpenSearch and Elasticsearch read as `model/ranklib`.
//! Comment lines precede an `ensemble` of `tree`s of `split`s.
//!
//! A split sends `x <= threshold` left, in single precision, and cannot send a missing value anywhere else. RankLib
//! stores and adds leaf values in single precision. Like the data, it numbers features from 1.

use super::raw_trees::{RawTree, raw_trees};
use super::{ExportError, ExportFormat};
use crate::ranker::artifact::Ranker;

pub(super) fn encode(ranker: &Ranker) -> Result<Vec<u8>, ExportError> {
    let trees = raw_trees(ranker, ExportFormat::RankLibTrees)?;
    let leaves: usize = trees.iter().map(|tree| tree.nodes.len() / 2 + 1).max().unwrap_or(1);
    let mut text = format!(
        "## LambdaMART\n## Written by burn-rank; takes raw features\n## No. of trees = {}\n## No. of leaves = {leaves}\n\n\
         <ensemble>\n",
        trees.len()
    );
    for (number, tree) in trees.iter().enumerate() {
        tree.check_missing(ExportFormat::RankLibTrees)?;
        text += &format!("\t<tree id=\"{}\" weight=\"1.0\">\n{}\t</tree>\n", number + 1, nodes(tree));
    }
    text += "</ensemble>\n";
    Ok(text.into_bytes())
}

/// Returns the splits of a tree as XML, each split on its own lines.
fn nodes(tree: &RawTree) -> String {
    // A node opens before its parent names its side, so that the side stands in the text around it.
    let inner = tree.nested(
        |_, split, _| {
            let before = format!(
                "<feature> {} </feature>\n<threshold> {:?} </threshold>\n<split pos=\"left\">\n",
                split.feature + 1,
                split.at_most
            );
            [before, "</split>\n<split pos=\"right\">\n".into(), "</split>\n".into()]
        },
        |_, value, _| format!("<output> {:?} </output>\n", value as f32),
    );
    format!("<split>\n{inner}</split>\n")
}
