//! An HTML type that escapes all text from outside, so that names cannot break the page.

use std::fmt::{self, Display};

use burn_rank::workbench::text::escape_markup;

use crate::number;
use crate::plot::Ink;

/// HTML in which all elements are closed and all text is escaped.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Html(String);

impl Html {
    /// Turns a value into text, and escapes it.
    pub(super) fn text(value: impl Display) -> Self {
        Self(escape_markup(&value.to_string()))
    }

    /// Accepts a plot as it is, because SVG is already markup.
    pub(super) fn svg(svg: String) -> Self {
        Self(svg)
    }

    /// Puts the HTML into an element with attributes.
    pub(super) fn within(self, tag: &str, attributes: &[(&str, &str)]) -> Self {
        let attributes: String =
            attributes.iter().map(|(name, value)| format!(" {name}=\"{}\"", escape_markup(value))).collect();
        Self(format!("<{tag}{attributes}>{}</{tag}>", self.0))
    }

    /// Appends `other`.
    pub(super) fn then(mut self, other: Self) -> Self {
        self.0 += &other.0;
        self
    }

    pub(super) fn is_empty(&self) -> bool {
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
pub(super) fn element(tag: &str, content: impl Into<Html>) -> Html {
    content.into().within(tag, &[])
}

/// Formats a measure with its standard error.
pub(super) fn with_error(value: Option<f64>, error: Option<f64>) -> Html {
    let value = Html::text(number::measure(value));
    match error.filter(|error| error.is_finite()) {
        Some(error) => value.then(element("small", format!(" \u{b1} {error:.4}"))),
        None => value,
    }
}

/// Builds a section with its heading.
pub(super) fn section(id: &str, title: &str, content: Html) -> Html {
    element("h2", title).then(content).within("section", &[("id", id)])
}

/// Builds a paragraph that explains a plot or a table.
pub(super) fn note(content: impl Into<Html>) -> Html {
    content.into().within("p", &[("class", "note")])
}

/// Builds a part that stays folded until the reader opens it.
pub(super) fn details(summary: &str, content: Html) -> Html {
    element("details", element("summary", summary).then(content))
}

/// Builds a figure: a title, a legend and a plot.
pub(super) fn figure(title: impl Into<Html>, svg: String, legend: &[(Ink, String)]) -> Html {
    let entry = |(ink, name): &(Ink, String)| {
        let swatch = Html::default().within("i", &[("class", &format!("swatch {}", ink.name()))]);
        element("li", swatch.then(Html::text(name)))
    };
    let legend: Html = legend.iter().map(entry).collect();
    let legend = if legend.is_empty() { legend } else { legend.within("ul", &[("class", "legend")]) };
    let caption = element("figcaption", element("strong", title).then(legend));
    element("figure", caption.then(Html::svg(svg)))
}

/// Places figures side by side if the page is wide enough.
pub(super) fn figures(figures: impl IntoIterator<Item = Html>) -> Html {
    figures.into_iter().collect::<Html>().within("div", &[("class", "figures")])
}

/// A table whose first column holds names and whose other columns hold numbers. A table that is too wide for the page
/// scrolls.
pub(super) struct Table {
    label: String,
    head: Html,
    body: Html,
}

impl Table {
    /// Creates a table with these columns; `label` describes it to readers who cannot see it.
    pub(super) fn new<H: Into<Html>>(label: impl Into<String>, columns: impl IntoIterator<Item = H>) -> Self {
        let head = columns.into_iter().map(|column| column.into().within("th", &[("scope", "col")])).collect();
        Self { label: label.into(), head, body: Html::default() }
    }

    /// Creates a table with a name and a value in each row, without a header.
    pub(super) fn pairs(label: &str) -> Self {
        Self { label: label.to_string(), head: Html::default(), body: Html::default() }
    }

    /// Adds a row.
    pub(super) fn row<C: Into<Html>>(&mut self, name: impl Into<Html>, cells: impl IntoIterator<Item = C>) {
        self.marked_row("", name, cells);
    }

    /// Adds a row that the style sheet highlights by its class, `selected` or `total`.
    pub(super) fn marked_row<C: Into<Html>>(
        &mut self,
        class: &str,
        name: impl Into<Html>,
        cells: impl IntoIterator<Item = C>,
    ) {
        let name = name.into().within("th", &[("scope", "row")]);
        let row = name.then(cells.into_iter().map(|cell| element("td", cell)).collect());
        let attributes: &[(&str, &str)] = if class.is_empty() { &[] } else { &[("class", class)] };
        let body = std::mem::take(&mut self.body);
        self.body = body.then(row.within("tr", attributes));
    }

    /// Returns the HTML of the table; keyboard users can scroll it, too.
    pub(super) fn html(self) -> Html {
        let (head, class) = match self.head.is_empty() {
            true => (Html::default(), "scroll pairs"),
            false => (element("thead", element("tr", self.head)), "scroll"),
        };
        let table = head.then(element("tbody", self.body));
        let region = [("class", class), ("role", "region"), ("aria-label", self.label.as_str()), ("tabindex", "0")];
        element("table", table).within("div", &region)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_escaped_once_and_markup_is_not() {
        let html = element("b", "<script>").then(Html::text('&')).within("p", &[("title", "a\"b")]);
        assert_eq!(html.to_string(), "<p title=\"a&quot;b\"><b>&lt;script&gt;</b>&amp;</p>");
    }

    #[test]
    fn an_error_that_is_unknown_is_left_out() {
        assert_eq!(with_error(Some(0.5), Some(f64::NAN)).to_string(), "0.5000");
        assert_eq!(with_error(Some(0.5), Some(0.01)).to_string(), "0.5000<small> \u{b1} 0.0100</small>");
    }

    #[test]
    fn a_table_names_rows_and_columns() {
        let mut table = Table::new("sets", ["set", "queries"]);
        table.row("train", ["3"]);
        let html = table.html().to_string();
        assert!(html.contains("<th scope=\"col\">queries</th>"), "{html}");
        assert!(html.contains("<tr><th scope=\"row\">train</th><td>3</td></tr>"), "{html}");
    }
}
