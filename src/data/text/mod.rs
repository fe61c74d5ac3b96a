//! The options of readers of text, and text in blocks of whole lines.

pub(crate) mod options;
pub(crate) mod source;
