//! The documents of single queries, with their scores by each system, for the page of a comparison.

use std::collections::HashMap;

use burn_rank::data::RankingDataset;
use burn_rank::measure::trec_eval::TrecDocuments;
use burn_rank::workbench::dataset::document_name;

use crate::report::ScoredDocument;

/// The documents of queries, and their scores by every system if these are known.
pub(super) enum SystemRankings {
    /// No scores, since reports hold only values of measures.
    Unknown,
    /// Several sets of queries, each with one score per document for every system.
    Scored(Vec<(RankingDataset, Vec<Vec<f32>>)>),
    /// The TREC runs of each system, with documents by query.
    Runs(Vec<HashMap<String, TrecDocuments>>),
}

impl SystemRankings {
    /// Returns the documents of a query, found by its number over all sets or by its name.
    pub(super) fn of(&self, query: usize, name: &str, system: usize) -> Option<Vec<ScoredDocument>> {
        match self {
            Self::Unknown => None,
            Self::Scored(parts) => {
                let mut query = query;
                for (data, scores) in parts {
                    if query >= data.queries() {
                        query -= data.queries();
                        continue;
                    }
                    let scored = |(place, document): (usize, usize)| ScoredDocument {
                        document: document_name(data, query, place),
                        label: data.labels[document],
                        score: scores[system][document],
                    };
                    return Some(data.range(query).enumerate().map(scored).collect());
                }
                None
            }
            Self::Runs(systems) => {
                let TrecDocuments { scores, labels, ids } = systems.get(system)?.get(name)?;
                let scored = scores.iter().zip(labels).zip(ids);
                Some(
                    scored
                        .map(|((&score, &label), id)| ScoredDocument { document: id.clone(), label, score })
                        .collect(),
                )
            }
        }
    }
}
