//! Text files of any format: the options of their readers, and their text in blocks of whole lines.

pub(crate) mod options;
pub(crate) mod source;
