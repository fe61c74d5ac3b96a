//! An HTML type that escapes all text from outside, so that names cannot break the page.

use std::fmt::{self, Display};

use burn_rank::workbench::text::escape_markup;

use crate::plot::{Ink, Plot};

/// HTML in which all elements are closed and all text is escaped.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Html(String);

impl Html {
    /// Turns a value into text, and escapes it.
    pub(crate) fn text(value: impl Display) -> Self {
        Self(escape_markup(&value.to_string()))
    }

    /// Accepts a plot as it is, because SVG is already markup.
    fn svg(svg: String) -> Self {
        Self(svg)
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

/// Builds a figure: a title, a legend and a plot.
pub(crate) fn figure(title: &str, plot: &dyn Plot, legend: &[(Ink, String)]) -> Html {
    element("figure", caption(title, legend).then(Html::svg(plot.svg())))
}

/// Builds a figure that has the whole width of the page. The page shows its plot as it is drawn for one column where
/// the screen is narrow.
pub(crate) fn wide_figure(title: &str, plot: &dyn Plot, legend: &[(Ink, String)]) -> Html {
    let both = [("narrow", plot.svg()), ("wide", plot.wide_svg())];
    let plots = both.into_iter().map(|(class, svg)| Html::svg(svg).within("div", &[("class", class)])).collect();
    caption(title, legend).then(plots).within("figure", &[("class", "whole")])
}

/// A function that draws a figure.
pub(crate) type Draw = fn(&str, &dyn Plot, &[(Ink, String)]) -> Html;

/// Returns the function for one of `count` figures. A single figure has the whole width of the page.
pub(crate) fn figure_of(count: usize) -> Draw {
    if count == 1 { wide_figure } else { figure }
}

fn caption(title: &str, legend: &[(Ink, String)]) -> Html {
    let entry = |(ink, name): &(Ink, String)| {
        let swatch = Html::default().within("i", &[("class", &format!("swatch {}", ink.name()))]);
        element("li", swatch.then(Html::text(name)))
    };
    let legend: Html = legend.iter().map(entry).collect();
    let legend = if legend.is_empty() { legend } else { legend.within("ul", &[("class", "legend")]) };
    element("figcaption", element("strong", title).then(legend))
}

/// Places figures side by side if the page is wide enough.
pub(crate) fn figures(figures: impl IntoIterator<Item = Html>) -> Html {
    figures.into_iter().collect::<Html>().within("div", &[("class", "figures")])
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
