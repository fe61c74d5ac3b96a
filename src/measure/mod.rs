//! Exact measures of a ranked list, and the conventions that define their values. The measures do not use burn.
//!
//! The value of a measure depends on its [`Convention`]: different tools report different NDCGs for the same ranking.
//! In this crate, the convention is a single value that is chosen by name ([`Convention::PRESETS`]) and reported with
//! every result.
//!
//! ```
//! use burn_rank::measure::{Convention, Rankings, evaluate};
//!
//! // Two queries of three and two documents.
//! let rankings = Rankings {
//!     scores: &[0.3, 0.2, 0.1, 1.5, 1.5],
//!     labels: &[0.0, 2.0, 1.0, 0.0, 1.0],
//!     offsets: &[0, 3, 5],
//!     document_ids: &[],
//! };
//! let measures = ["ndcg@10".parse()?, "map".parse()?];
//! let evaluation = evaluate(&rankings, &measures, &Convention::preset("standard")?)?;
//! let (_, map) = evaluation.means[1];
//! // The tied query is worth the mean of its two orders, 1 and 1/2.
//! assert!((map - ((1.0 / 2.0 + 2.0 / 3.0) / 2.0 + 3.0 / 4.0) / 2.0).abs() < 1e-12);
//! # Ok::<(), burn_rank::measure::MeasureError>(())
//! ```
//!
//! # One ranking, six NDCGs
//! The example measures two queries, one with tied scores and graded labels, and one without a relevant document.
//!
//! ```
//! use burn_rank::measure::{Convention, Measure, Rankings};
//!
//! let document_ids = ["d1", "d2", "d3", "d4", "d5", "d6"].map(String::from);
//! let rankings = Rankings {
//!     scores: &[0.9, 0.9, 0.5, 0.5, 0.1, 0.3],
//!     labels: &[0.0, 1.0, 3.0, 0.0, 2.0, 0.0],
//!     offsets: &[0, 5, 6],
//!     document_ids: &document_ids,
//! };
//! let mut table = String::new();
//! for preset in Convention::PRESETS {
//!     let ndcg = Measure::Ndcg(Some(3)).mean(&rankings, &preset.convention())?;
//!     table += &format!("{} {ndcg:.4}\n", preset.name);
//! }
//! assert_eq!(
//!     table,
//!     "standard 0.2731\nletor 0.2548\ntrec_eval 0.1050\nsklearn 0.1644\n\
//!      lightgbm 0.7199\nxgboost 0.7199\nrax 0.2199\ntfranking 0.2199\n"
//! );
//! # Ok::<(), burn_rank::measure::MeasureError>(())
//! ```
//!
//! `standard` averages over the orders of tied documents and leaves out the query without a relevant document. `letor`
//! does not discount rank 2, and counts a query without a relevant document as 0. `trec_eval` and `sklearn` use the
//! label itself as gain. `trec_eval` breaks ties by identifier, and `sklearn` averages over the orders of tied
//! documents. The presets of LightGBM and XGBoost count a query without a relevant document as 1. The presets of Rax
//! and TensorFlow Ranking count it as 0.
//!
//! To add a measure, implement [`ListMeasure`] and turn it into a [`Measure`] with [`Measure::own`].

mod average_precision;
pub(crate) mod convention;
mod dcg;
mod discount;
mod error;
mod evaluate;
mod expected_reciprocal_rank;
mod first_relevant;
mod gain;
pub(crate) mod mean;
pub(crate) mod name;
mod orders;
mod own;
mod pairs;
mod precision;
mod preset;
mod rank_biased_precision;
mod ranking;
#[cfg(feature = "significance")]
#[cfg_attr(docsrs, doc(cfg(feature = "significance")))]
pub mod significance;
#[cfg(test)]
mod testing;
pub mod trec_eval;

pub use convention::{Convention, EmptyQuery, Ties};
pub use discount::Discount;
pub(crate) use discount::{DISCOUNTS, is_discount};
pub use error::MeasureError;
pub use evaluate::{Evaluation, Evaluator, QueryValues, Rankings, evaluate};
pub use gain::Gain;
pub use mean::mean;
pub(crate) use mean::{deviation_of, mean_of};
pub use own::{ListMeasure, RankedDocuments};
pub use preset::Preset;
pub use ranking::Ranking;

use ranking::RankedList;

/// A measure of one ranked list, with its cut-off or persistence if it has one.
///
/// A measure is written `NAME`, `NAME@CUTOFF` or `NAME@p=PERSISTENCE`, such as `map`, `ndcg@10` or `rbp@p=0.8`. The
/// command `burn-rank models --measures` lists the names. Without a cut-off, all retrieved documents count.
///
/// ```
/// use burn_rank::prelude::*;
///
/// assert_eq!("ndcg@10".parse::<Measure>()?, Measure::Ndcg(Some(10)));
/// assert_eq!(Measure::Ap(None).to_string(), "map");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Measure {
    /// Normalized discounted cumulative gain.
    Ndcg(Option<usize>),
    /// Discounted cumulative gain.
    Dcg(Option<usize>),
    /// Average precision.
    #[doc(alias = "MAP")]
    Ap(Option<usize>),
    /// Precision.
    Precision(Option<usize>),
    /// Recall.
    Recall(Option<usize>),
    /// Reciprocal rank of the first relevant document.
    #[doc(alias = "MRR")]
    ReciprocalRank(Option<usize>),
    /// Winner takes all: whether the first document is relevant.
    Wta,
    /// Whether a relevant document is retrieved within the cut-off.
    Success(Option<usize>),
    /// Precision at rank R, where R is the number of relevant documents.
    RPrecision,
    /// Expected reciprocal rank.
    Err(Option<usize>),
    /// Rank-biased precision.
    Rbp {
        /// The probability that the user continues to the next document, in 0..1.
        persistence: f64,
    },
    /// Kendall's rank correlation between scores and labels.
    KendallTau,
    /// Ordered pair accuracy.
    PairAccuracy,
    /// A user-defined measure, created with [`Measure::own`]. The measure is written as its name and cannot be read
    /// back.
    Own(&'static dyn ListMeasure),
}

impl Measure {
    /// Makes a [`Measure`] from a [`ListMeasure`]. The measure is kept until the program ends, so it can be copied
    /// freely. Create the measure once rather than for every evaluation, or keep a `static` and use
    /// [`Measure::Own`].
    pub fn own(measure: impl ListMeasure + 'static) -> Self {
        Self::Own(Box::leak(Box::new(measure)))
    }

    /// Returns whether the measure depends on the grades of labels, not only on relevance. A user-defined measure
    /// counts as graded.
    pub(crate) fn is_graded(&self) -> bool {
        matches!(
            self,
            Measure::Ndcg(_)
                | Measure::Dcg(_)
                | Measure::Err(_)
                | Measure::KendallTau
                | Measure::PairAccuracy
                | Measure::Own(_)
        )
    }
}

/// Computes a measure of one ranked list. Returns `None` if the convention excludes the query. Error messages contain
/// `query`, the query's number counted from 1.
fn value(
    measure: &Measure,
    list: &RankedList,
    convention: &Convention,
    query: usize,
) -> Result<Option<f64>, MeasureError> {
    let value = match *measure {
        Measure::Ndcg(k) => dcg::ndcg(list, k, convention),
        Measure::Dcg(k) => Some(dcg::dcg(list, k, convention)),
        Measure::Ap(k) => average_precision::average_precision(list, k, convention),
        Measure::Precision(k) => precision::precision(list, k, convention),
        Measure::Recall(k) => precision::recall(list, k),
        Measure::RPrecision => precision::r_precision(list),
        Measure::ReciprocalRank(k) => Some(first_relevant::reciprocal_rank(list, k)),
        Measure::Success(k) => Some(first_relevant::success(list, k)),
        Measure::Wta => Some(first_relevant::success(list, Some(1))),
        Measure::Err(k) => {
            expected_reciprocal_rank::check_grades(list, convention, query)?;
            Some(expected_reciprocal_rank::expected_reciprocal_rank(list, k, convention))
        }
        Measure::Rbp { persistence } => Some(rank_biased_precision::rank_biased_precision(list, persistence)),
        Measure::KendallTau => pairs::kendall_tau(list, convention),
        Measure::PairAccuracy => pairs::pair_accuracy(list, convention),
        Measure::Own(own) => own.value(&RankedDocuments::new(list, convention)),
    };
    let nothing_to_find = match measure {
        // It has no value then.
        Measure::Own(_) => false,
        _ if measure.is_graded() => !list.any_positive,
        _ => list.relevant == 0,
    };
    Ok(match convention.empty {
        EmptyQuery::Exclude => value.filter(|_| !nothing_to_find),
        EmptyQuery::Value(empty) => Some(value.unwrap_or(empty)),
    })
}
