//! Rerankers of texts: BERT as a cross-encoder or as two towers, loaded from the folders that Hugging Face's tools
//! write, trained on the ranking losses of [burn-rank](burn_rank), and saved so that those tools read it.
//!
//! The command `burn-rank-text` is [`run`]. A program that trains by itself opens a folder, joins its texts with their
//! tokens and calls [`train()`](train::train), or takes a model and writes its own loop:
//!
//! ```no_run
//! use burn::tensor::Device;
//! use burn_rank_text::{ModelFolder, Reranker, TextDocument, TextList};
//!
//! let device = Device::flex();
//! let folder = ModelFolder::open("minilm")?;
//! let towers = folder.towers(None, &device)?.model;
//! let reranker = Reranker::new(&folder, towers, None, 4096, device)?;
//! let document = |id: &str, text: &str| {
//!     TextDocument { id: id.into(), text: text.into(), relevance: 0.0, score: None }
//! };
//! let list = TextList {
//!     id: "1".into(),
//!     query: "how do plants eat".into(),
//!     documents: vec![document("a", "Photosynthesis makes sugar of light."), document("b", "Plants are sold here.")],
//! };
//! println!("{:?}", reranker.scores(&[list], |_| {})?);
//! # Ok::<(), burn_rank_text::TextError>(())
//! ```

#![warn(missing_docs)]

mod bert;
mod cli;
pub mod data;
mod error;
mod folder;
mod learner;
mod lists;
pub mod mine;
mod names;
mod rerank;
mod run;
mod scorer;
mod settings;
mod tokens;
pub mod train;
mod weights;

pub use bert::{Bert, BertConfig};
pub use cli::run;
pub use data::{TextDocument, TextList};
pub use error::TextError;
pub use folder::{Loaded, ModelFolder, WEIGHTS};
pub use learner::{LearnerConfig, LoraConfig};
pub use lists::{Step, TokenLists, score_lists};
pub use rerank::{Reranker, below, in_first_order, truncate};
pub use run::{FinishedText, RunError, TextRun};
pub use scorer::{CrossEncoder, Kind, Rows, SCALE, TextScorer, Towers};
pub use settings::{DataConfig, TextConfig};
pub use tokens::{Chunk, TextTokenizer, Tokens};
