//! Formats plain tables for a terminal.

use burn_rank::workbench::text::harmless;

/// A plain-text table with a header row.
#[derive(Debug, Default)]
pub struct Table {
    rows: Vec<Vec<String>>,
}

impl Table {
    /// Creates a table with the given column names.
    pub fn new<S: Into<String>>(header: impl IntoIterator<Item = S>) -> Self {
        let mut table = Self::default();
        table.row(header);
        table
    }

    /// Adds a row. Special characters in cells are escaped, so they cannot break a line or change its width.
    pub fn row<S: Into<String>>(&mut self, cells: impl IntoIterator<Item = S>) {
        self.rows.push(cells.into_iter().map(|cell| harmless(&cell.into()).into_owned()).collect());
    }

    /// Renders the table for numbers: the first column is left-aligned, and the others are right-aligned. Every line
    /// ends with a newline.
    pub fn render(&self) -> String {
        self.aligned(
            |column, cell, width| if column == 0 { format!("{cell:width$}") } else { format!("{cell:>width$}") },
        )
    }

    /// Renders columns of words, left-aligned. Every line ends with a newline.
    pub fn render_left(&self) -> String {
        self.aligned(|_, cell, width| format!("{cell:width$}"))
    }

    fn aligned(&self, align: impl Fn(usize, &str, usize) -> String) -> String {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let cells = |c: usize| self.rows.iter().filter_map(move |row| row.get(c));
        let widths: Vec<usize> =
            (0..columns).map(|c| cells(c).map(|cell| cell.chars().count()).max().unwrap_or(0)).collect();
        let line = |row: &Vec<String>| {
            let cells: Vec<String> = row.iter().enumerate().map(|(c, cell)| align(c, cell, widths[c])).collect();
            format!("{}\n", cells.join("  ").trim_end())
        };
        self.rows.iter().map(line).collect()
    }
}

/// Breaks a text between words into lines of at most `width` characters. A longer word gets its own line.
pub fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split(' ') {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_string()),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::{Table, wrapped};

    #[test]
    fn lines_break_between_words() {
        assert_eq!(wrapped("one two three", 7), ["one two", "three"]);
        assert_eq!(wrapped("extraordinary a", 5), ["extraordinary", "a"]);
        assert_eq!(wrapped("", 5), [""]);
    }

    #[test]
    fn columns_are_aligned() {
        let mut table = Table::new(["name", "value"]);
        table.row(["a", "1"]);
        table.row(["long name", "0.25"]);
        assert_eq!(table.render(), "name       value\na              1\nlong name   0.25\n");
    }

    #[test]
    fn a_name_breaks_no_line() {
        let mut table = Table::new(["query", "value"]);
        table.row(["a\nb\u{1b}[31m", "1"]);
        assert_eq!(table.render(), "query           value\na\\nb\\u{1b}[31m      1\n");
    }
}
