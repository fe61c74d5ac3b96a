//! What terminals and pages show. A [`Table`] is described once as plain values, and written as text or as HTML; notes,
//! figures and sections are HTML.

mod table;

pub(crate) use table::{Cell, Table, indented, measured, with_error, wrapped};

use std::fmt::{self, Display};

use burn_rank::workbench::text::escape_markup;

use crate::plot::{Ink, Plot, WHOLE_WIDTH, WIDTH};

/// HTML in which all elements are closed and all text is escaped.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Html(String);

impl Html {
    /// Turns a value into text, and escapes it.
    pub(crate) fn text(value: impl Display) -> Self {
        Self(escape_markup(&value.to_string()))
    }

    /// Puts the HTML into an element with attributes.
    pub(crate) fn within(self, tag: &str, attributes: &[(&str, &str)]) -> Self {
        let attributes: String =
            attributes.iter().map(|(name, value)| format!(" {name}=\"{}\"", escape_markup(value))).collect();
        Self(format!("<{tag}{attributes}>{}</{tag}>", self.0))
    }

    /// Appends `other`.
    pub(crate) fn then(mut self, other: Self) -> Self {
        self.0 += &other.0;
        self
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl Display for Html {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl FromIterator<Html> for Html {
    fn from_iter<I: IntoIterator<Item = Html>>(pieces: I) -> Self {
        pieces.into_iter().fold(Self::default(), Self::then)
    }
}

impl From<String> for Html {
    fn from(text: String) -> Self {
        Self::text(text)
    }
}

impl From<&str> for Html {
    fn from(text: &str) -> Self {
        Self::text(text)
    }
}

/// Puts text or HTML into an element.
pub(crate) fn element(tag: &str, content: impl Into<Html>) -> Html {
    content.into().within(tag, &[])
}

/// Builds a section with its heading.
pub(crate) fn section(id: &str, title: &str, content: Html) -> Html {
    element("h2", title).then(content).within("section", &[("id", id)])
}

/// Builds a paragraph that explains a plot or a table.
pub(crate) fn note(content: impl Into<Html>) -> Html {
    content.into().within("p", &[("class", "note")])
}

/// Builds a part that stays folded until the reader opens it.
pub(crate) fn details(summary: &str, content: Html) -> Html {
    element("details", element("summary", summary).then(content))
}

/// A plot with its title and its legend, or a table next to plots.
pub(crate) enum Figure {
    Plot { title: String, plot: Box<dyn Plot>, legend: Vec<(Ink, String)> },
    Table(Html),
}

impl Figure {
    pub(crate) fn new(
        title: impl Into<String>,
        plot: impl Plot + 'static,
        legend: impl Into<Vec<(Ink, String)>>,
    ) -> Self {
        Self::Plot { title: title.into(), plot: Box::new(plot), legend: legend.into() }
    }

    /// Builds the figure. The only plot of its place has the whole width of the page; where the screen is narrow, the page
    /// shows it as it is drawn for one column.
    fn html(self, is_only: bool) -> Html {
        let (title, plot, legend) = match self {
            Self::Table(table) => return table,
            Self::Plot { title, plot, legend } => (title, plot, legend),
        };
        let names: Vec<&str> = legend.iter().map(|(_, name)| name.as_str()).collect();
        let label = if names.is_empty() { title.clone() } else { format!("{title}: {}", names.join("; ")) };
        // SVG is markup already.
        let narrow = Html(plot.drawn(WIDTH, &label));
        let entry = |(ink, name): &(Ink, String)| {
            let swatch = Html::default().within("i", &[("class", &format!("swatch {}", ink.name()))]);
            element("li", swatch.then(Html::text(name)))
        };
        let entries: Html = legend.iter().map(entry).collect();
        let entries = if entries.is_empty() { entries } else { entries.within("ul", &[("class", "legend")]) };
        let caption = element("figcaption", element("strong", title).then(entries));
        if !is_only {
            return element("figure", caption.then(narrow));
        }
        let wide = Html(plot.drawn(WHOLE_WIDTH, &label)).within("div", &[("class", "wide")]);
        caption.then(narrow.within("div", &[("class", "narrow")])).then(wide).within("figure", &[("class", "whole")])
    }
}

/// Places figures side by side if the page is wide enough. A plot without others has the whole width of the page.
pub(crate) fn figures(figures: impl IntoIterator<Item = Figure>) -> Html {
    let figures: Vec<Figure> = figures.into_iter().collect();
    let is_only = figures.len() == 1;
    figures.into_iter().map(|figure| figure.html(is_only)).collect::<Html>().within("div", &[("class", "figures")])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_escaped_once_and_markup_is_not() {
        let html = element("b", "<script>").then(Html::text('&')).within("p", &[("title", "a\"b")]);
        assert_eq!(html.to_string(), "<p title=\"a&quot;b\"><b>&lt;script&gt;</b>&amp;</p>");
    }
}
