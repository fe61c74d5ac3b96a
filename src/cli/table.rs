//! Plain tables for a terminal: first column left, the others right.

use std::fmt::Write;

/// Rows under a header.
#[derive(Debug, Default)]
pub struct Table {
    rows: Vec<Vec<String>>,
}

impl Table {
    /// A table with these column names.
    pub fn new<S: Into<String>>(header: impl IntoIterator<Item = S>) -> Self {
        Self { rows: vec![header.into_iter().map(Into::into).collect()] }
    }

    /// Adds a row.
    pub fn row<S: Into<String>>(&mut self, cells: impl IntoIterator<Item = S>) {
        self.rows.push(cells.into_iter().map(Into::into).collect());
    }

    /// The text, every line ended.
    pub fn render(&self) -> String {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let width = |c: usize| {
            self.rows.iter().filter_map(|row| row.get(c)).map(|cell| cell.chars().count()).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..columns).map(width).collect();
        let mut text = String::new();
        for row in &self.rows {
            let mut line = String::new();
            for (c, cell) in row.iter().enumerate() {
                let padding = " ".repeat(widths[c] - cell.chars().count());
                let gap = if c == 0 { "" } else { "  " };
                // Writing to a string cannot fail.
                let _ = if c == 0 { write!(line, "{cell}{padding}") } else { write!(line, "{gap}{padding}{cell}") };
            }
            text.push_str(line.trim_end());
            text.push('\n');
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::Table;

    #[test]
    fn columns_are_aligned() {
        let mut table = Table::new(["name", "value"]);
        table.row(["a", "1"]);
        table.row(["long name", "0.25"]);
        assert_eq!(table.render(), "name       value\na              1\nlong name   0.25\n");
    }
}
