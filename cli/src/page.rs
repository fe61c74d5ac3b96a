//! What terminals and pages show. A [`Table`] is described once as plain values, and written as text or as HTML; notes,
//! figures and sections are HTML.

use std::fmt::{self, Display};

use burn_rank::workbench::text::{escape_markup, harmless};

use crate::number;
use crate::plot::{Ink, Plot, WHOLE_WIDTH, WIDTH};

/// The number of terminal columns to which printed text is wrapped.
pub(crate) const COLUMNS: usize = 80;

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

impl<T: AsRef<str>> From<T> for Html {
    fn from(text: T) -> Self {
        Self::text(text.as_ref())
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

    /// Builds the figure. The only plot of its place has the whole width of the page; where the screen is narrow, the
    /// page shows it as it is drawn for one column.
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

/// A cell of a table: its text for terminals, and its HTML for pages.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Cell {
    text: String,
    html: Html,
}

impl Cell {
    /// Creates a cell of a number that is formatted for pages. Terminals show it in ASCII.
    pub(crate) fn number(number: impl AsRef<str>) -> Self {
        Self { text: number::ascii(number.as_ref()), html: number.as_ref().into() }
    }

    /// Creates a cell that terminals show in another form than pages, such as with other digits.
    pub(crate) fn of(text: impl Into<String>, html: impl Into<Html>) -> Self {
        Self { text: text.into(), html: html.into() }
    }

    /// Adds a remark in small letters, which only pages show.
    pub(crate) fn remark(mut self, remark: String) -> Self {
        self.html = self.html.then(element("small", remark));
        self
    }
}

impl<T: AsRef<str>> From<T> for Cell {
    fn from(text: T) -> Self {
        Self { text: text.as_ref().to_string(), html: text.into() }
    }
}

/// Markup is only for pages.
impl From<Html> for Cell {
    fn from(html: Html) -> Self {
        Self { text: String::new(), html }
    }
}

impl From<Cell> for Html {
    fn from(cell: Cell) -> Self {
        cell.html
    }
}

/// Formats a measure with four decimals, or as a dash if it has no value.
pub(crate) fn measured(value: Option<f64>) -> Cell {
    Cell::number(number::measure(value))
}

/// Formats a measure; pages also show its standard error.
pub(crate) fn with_error(value: Option<f64>, error: Option<f64>) -> Cell {
    let value = measured(value);
    let error = number::plus_minus(error);
    if error.is_empty() { value } else { value.remark(error) }
}

/// A table whose first column holds names and whose other columns hold numbers.
#[derive(Debug, Default)]
pub(crate) struct Table {
    /// The names of the columns; a table of names and values has none.
    columns: Vec<String>,
    /// The rows, each with the class by which the style sheet highlights it, `selected` or `total`.
    rows: Vec<(&'static str, Vec<Cell>)>,
}

impl Table {
    /// Creates a table with the column `first` of names and with `others`.
    pub(crate) fn new<S: Into<String>>(first: impl Into<String>, others: impl IntoIterator<Item = S>) -> Self {
        let others = others.into_iter().map(Into::into);
        Self { columns: [first.into()].into_iter().chain(others).collect(), rows: Vec::new() }
    }

    /// Adds a row.
    pub(crate) fn row<C: Into<Cell>>(&mut self, name: impl Into<Cell>, cells: impl IntoIterator<Item = C>) {
        self.marked_row("", name, cells);
    }

    /// Adds rows, each a name with its cells.
    pub(crate) fn with<N: Into<Cell>, C: Into<Cell>, R: IntoIterator<Item = C>>(
        mut self,
        rows: impl IntoIterator<Item = (N, R)>,
    ) -> Self {
        rows.into_iter().for_each(|(name, cells)| self.row(name, cells));
        self
    }

    /// Adds a row of this class.
    pub(crate) fn marked_row<C: Into<Cell>>(
        &mut self,
        class: &'static str,
        name: impl Into<Cell>,
        cells: impl IntoIterator<Item = C>,
    ) {
        self.rows.push((class, [name.into()].into_iter().chain(cells.into_iter().map(Into::into)).collect()));
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Returns the table as text. The first column is left-aligned, and the others are right-aligned. Every line ends
    /// with a newline.
    pub(crate) fn text(&self) -> String {
        self.within(usize::MAX)
    }

    /// Returns the table as text of at most `width` characters a line, where the columns allow it. Columns that do not
    /// fit follow below, after the first column again.
    pub(crate) fn within(&self, width: usize) -> String {
        self.aligned(width, false)
    }

    /// Returns a table of words as text, with all columns left-aligned. Every line ends with a newline.
    pub(crate) fn words(&self) -> String {
        self.aligned(usize::MAX, true)
    }

    /// Special characters are escaped, so that they cannot break a line or change its width.
    fn aligned(&self, most: usize, are_words: bool) -> String {
        let escaped = |text: &String| harmless(text).into_owned();
        let head = (!self.columns.is_empty()).then(|| self.columns.iter().map(escaped).collect());
        let rows = self.rows.iter().map(|(_, cells)| cells.iter().map(|cell| escaped(&cell.text)).collect());
        let rows: Vec<Vec<String>> = head.into_iter().chain(rows).collect();
        let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
        let cells = |c: usize| rows.iter().filter_map(move |row| row.get(c));
        let widths: Vec<usize> =
            (0..columns).map(|c| cells(c).map(|cell| cell.chars().count()).max().unwrap_or(0)).collect();
        let line = |row: &Vec<String>, shown: &[usize]| {
            let align = |column: usize, cell: &String| match widths[column] {
                width if are_words || column == 0 => format!("{cell:width$}"),
                width => format!("{cell:>width$}"),
            };
            let cells = shown.iter().filter_map(|&c| Some(align(c, row.get(c)?)));
            format!("{}\n", cells.collect::<Vec<_>>().join("  ").trim_end())
        };
        let mut blocks: Vec<Vec<usize>> = vec![vec![0]];
        for column in 1..columns {
            let block = blocks.last_mut().expect("begins with one block");
            let width: usize = block.iter().chain([&column]).map(|&c| widths[c] + 2).sum();
            match block.len() > 1 && width > most.saturating_add(2) {
                true => blocks.push(vec![0, column]),
                false => block.push(column),
            }
        }
        let text = |shown: &Vec<usize>| rows.iter().map(|row| line(row, shown)).collect::<String>();
        blocks.iter().map(text).collect::<Vec<_>>().join("\n")
    }

    /// Returns the HTML of the table; `label` describes it to readers who cannot see it. A table that is too wide for
    /// the page scrolls, for keyboard users, too.
    pub(crate) fn html(self, label: impl AsRef<str>) -> Html {
        let column = |name: String| Html::from(name).within("th", &[("scope", "col")]);
        let has_head = !self.columns.is_empty();
        let head = element("tr", self.columns.into_iter().map(column).collect::<Html>());
        let head = if has_head { element("thead", head) } else { Html::default() };
        let class = if has_head { "scroll" } else { "scroll pairs" };
        let row = |(class, cells): (&str, Vec<Cell>)| {
            let cell = |(at, cell): (usize, Cell)| match at {
                0 => cell.html.within("th", &[("scope", "row")]),
                _ => element("td", cell),
            };
            let attributes: &[(&str, &str)] = if class.is_empty() { &[] } else { &[("class", class)] };
            cells.into_iter().enumerate().map(cell).collect::<Html>().within("tr", attributes)
        };
        let table = head.then(element("tbody", self.rows.into_iter().map(row).collect::<Html>()));
        let region = [("class", class), ("role", "region"), ("aria-label", label.as_ref()), ("tabindex", "0")];
        element("table", table).within("div", &region)
    }
}

/// Breaks a text between words into lines of at most `width` characters. A longer word gets its own line.
pub(crate) fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split(' ') {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= width => *line += &format!(" {word}"),
            _ => lines.push(word.to_string()),
        }
    }
    lines
}

/// Breaks a text between words into the lines of a terminal. Every line ends with a newline.
pub(crate) fn paragraph(text: &str) -> String {
    indented(text, 0) + "\n"
}

/// Formats a sentence after its mark, such as `verdict` or `note`, wrapped to a terminal.
pub(crate) fn marked(mark: &str, sentence: &str) -> String {
    const MARK: usize = "verdict".len();
    format!("{mark:MARK$}  {}\n", indented(sentence, MARK + 2))
}

/// Wraps a text that begins after `indent` columns to a terminal. The lines after the first are indented.
pub(crate) fn indented(text: &str, indent: usize) -> String {
    wrapped(text, COLUMNS - indent).join(&format!("\n{:indent$}", ""))
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
    fn lines_after_the_first_are_indented() {
        let words = ["word"; 16].join(" ");
        let lines = format!("{}\n  word", ["word"; 15].join(" "));
        assert_eq!((indented(&words, 2), indented("a b", 2)), (lines, "a b".to_string()));
    }

    #[test]
    fn lines_break_between_words() {
        assert_eq!(wrapped("one two three", 7), ["one two", "three"]);
        assert_eq!(wrapped("extraordinary a", 5), ["extraordinary", "a"]);
        assert_eq!(wrapped("", 5), [""]);
    }

    #[test]
    fn columns_are_aligned() {
        let mut table = Table::new("name", ["value"]);
        table.row("a", ["1"]);
        table.row("long name", ["0.25"]);
        assert_eq!(table.text(), "name       value\na              1\nlong name   0.25\n");
        assert_eq!(table.words(), "name       value\na          1\nlong name  0.25\n");
    }

    #[test]
    fn columns_that_do_not_fit_follow_below() {
        let mut table = Table::new("", ["one", "two", "three"]);
        table.row("a", ["1", "2", "3"]);
        assert_eq!(table.within(11), "   one  two\na    1    2\n\n   three\na      3\n");
        assert_eq!(table.within(1), "   one\na    1\n\n   two\na    2\n\n   three\na      3\n");
    }

    #[test]
    fn a_name_breaks_no_line() {
        let mut table = Table::new("query", ["value"]);
        table.row("a\nb\u{1b}[31m", ["1"]);
        assert_eq!(table.text(), "query           value\na\\nb\\u{1b}[31m      1\n");
    }

    #[test]
    fn a_terminal_shows_numbers_in_ascii_and_names_as_they_are() {
        let mut table = Table::new("pair", ["difference", "mean"]);
        let cells = [Cell::number(number::difference(-0.25)), with_error(Some(0.5), Some(0.01))];
        table.row("a \u{2013} b", cells);
        assert_eq!(table.text(), "pair   difference    mean\na \u{2013} b     -0.2500  0.5000\n");
        let row = "<td>\u{2212}0.2500</td><td>0.5000<small> \u{b1} 0.0100</small></td>";
        assert!(table.html("").to_string().contains(row));
    }

    #[test]
    fn an_error_that_is_unknown_is_left_out() {
        assert_eq!(Html::from(with_error(Some(0.5), Some(f64::NAN))).to_string(), "0.5000");
    }

    #[test]
    fn a_table_names_rows_and_columns() {
        let mut table = Table::new("set", ["queries"]);
        table.row("train", ["3"]);
        let html = table.html("sets").to_string();
        assert!(html.contains("<th scope=\"col\">queries</th>"), "{html}");
        assert!(html.contains("<tr><th scope=\"row\">train</th><td>3</td></tr>"), "{html}");
    }
}
