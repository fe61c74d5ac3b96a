//! Exports trees in RankLib's XML format for LambdaMART, which the plug-ins of OpenSearch and Elasticsearch read as
//! `model/ranklib`. After comment lines, the file has an `ensemble` element that contains a `tree` element for each
//! tree. Each `tree` element consists of nested `split` elements.
//!
//! A split compares values in single precision and sends a document left if `x <= threshold`. It cannot treat missing
//! values separately. RankLib stores and adds leaf values in single precision. RankLib numbers features from 1, just
//! like the data.

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

/// Returns the splits of a tree as XML, with each split on its own lines.
fn nodes(tree: &RawTree) -> String {
    // A node's text opens before its side is named, so the surrounding text names the side.
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
