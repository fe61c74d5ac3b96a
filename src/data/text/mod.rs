//! Reads text files of any format: the readers' options, and text in blocks of whole lines.

pub(crate) mod options;
pub(crate) mod source;
