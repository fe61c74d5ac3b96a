//! What terminals and pages show. A [`Table`] is described once as plain values, and written as text or as HTML; notes,
//! figures and sections are HTML.

mod html;
mod table;

pub(crate) use html::{Figure, Html, details, element, figures, note, section};
pub(crate) use table::{Cell, Table, indented, measured, with_error, wrapped};
