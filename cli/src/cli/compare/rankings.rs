//! The documents and scores that the HTML page of `compare` shows for single queries.

use std::collections::HashMap;

use burn_rank::data::RankingDataset;
use burn_rank::measure::trec_eval::TrecDocuments;
use burn_rank::workbench::dataset::document_name;

use crate::report::ScoredDocument;

/// The documents of the compared queries, with the score of every system for each document, if the scores are known.
pub(super) enum SystemRankings {
    /// The scores are unknown, because reports hold only the values of measures.
    Unknown,
    /// Several sets of queries, each with one score per document for every system.
    Scored(Vec<(RankingDataset, Vec<Vec<f32>>)>),
    /// The TREC run of each system, as a map from queries to documents.
    Runs(Vec<HashMap<String, TrecDocuments>>),
}

impl SystemRankings {
    /// Returns the documents of a query, which is found by its number among all sets or, in TREC runs, by its name.
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
