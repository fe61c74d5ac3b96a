//! Reads and writes TREC judgments and runs. A line of judgments, also called `qrels`, is
//! `query iteration document relevance`. A line of a run is `query Q0 document rank score tag`.
//!
//! Fields are separated by blanks. Blank lines and lines that begin with `#` are skipped. The iteration, `Q0`, the rank
//! and any text after the run's tag are ignored, because scores determine the order of a run. Scores are held as `f32`,
//! as in trec_eval. Files may be gzip-compressed.
//!
//! * [`Qrels::read`] reads all judgments of a file.
//! * [`read_run`] passes a run to a function query by query, in parallel. Memory holds only the longest query and a few
//!   blocks of text, whatever the length of the run. The lines of a query should be consecutive. If lines of a query
//!   are not consecutive, the run is read again and its text is held in memory.
//! * [`read_judged`] passes only the queries of a run that have judgments.
//! * [`read_run_scores`] reads the scores of a dataset's documents from a run.
//! * [`Qrels::read_from`], [`read_run_from`] and [`read_judged_from`] read any [`Input`](super::Input).
//! * [`write_run`] and [`write_qrels`] write runs and judgments; [`check_names`] and [`check_tag`] find errors in
//!   advance.
//!
//! ```no_run
//! use burn_rank::data::trec::{Qrels, read_judged};
//! use burn_rank::measure::trec_eval::{TrecEvaluator, TrecMeasure};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
//! let qrels = Qrels::read("qrels.txt".as_ref())?;
//! let evaluator = TrecEvaluator::new(&TrecMeasure::official(), 1, None)?;
//! let run = read_judged("run.txt".as_ref(), &qrels, false, |_, query| {
//!     Ok::<_, Box<dyn std::error::Error + Send + Sync>>(evaluator.query(query)?)
//! })?;
//! let means = evaluator.summary(run.queries.iter().map(|(_, values)| values.as_slice()));
//! for (measure, mean) in evaluator.measures().iter().zip(means) {
//!     println!("{measure} {mean:.4}");
//! }
//! # Ok(())
//! # }
//! ```

mod judged;
mod line;
mod qrels;
mod run;
pub(crate) mod write;

pub use judged::{read_judged, read_judged_from, read_run_scores, read_run_scores_from};
pub use qrels::Qrels;
pub use run::{Run, read_run, read_run_from};
pub use write::{check_names, check_tag, write_qrels, write_run};
