//! Text files of any format: what a reader of them is told, and their text in blocks of whole lines.

pub(crate) mod options;
pub(crate) mod source;
