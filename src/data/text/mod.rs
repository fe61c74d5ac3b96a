//! Options for reading text, and a reader that returns text in blocks of whole lines.

pub(crate) mod options;
pub(crate) mod source;
