//! Tables of aligned plain text.

use std::fmt::{self, Write as _};

use crate::output::on_one_line;

/// Rows of cells. Every column is as wide as its widest cell. Two spaces separate the columns.
#[derive(Debug, Default)]
pub struct Table {
    rows: Vec<Vec<String>>,
    indent: usize,
}

impl Table {
    /// Makes a table whose first row is its heading.
    pub fn headed<const N: usize>(heading: [&str; N]) -> Self {
        Self::of(vec![heading.map(str::to_owned)])
    }

    /// Makes a table of these rows, the first its heading.
    pub fn of<const N: usize>(rows: Vec<[String; N]>) -> Self {
        let mut table = Self::default();
        for row in rows {
            table.row(row);
        }
        table
    }

    /// Indents the whole table.
    pub fn indented(mut self, spaces: usize) -> Self {
        self.indent = spaces;
        self
    }

    /// Adds a row.
    pub fn row<const N: usize>(&mut self, cells: [String; N]) {
        // A line break in a cell could look like another row, so it is escaped. The width is that of the escaped
        // text.
        self.rows
            .push(cells.map(|cell| on_one_line(&cell).into_owned()).into());
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut widths: Vec<usize> = Vec::new();
        for row in &self.rows {
            for (column, cell) in row.iter().enumerate() {
                let width = cell.chars().count();
                match widths.get_mut(column) {
                    Some(widest) => *widest = width.max(*widest),
                    None => widths.push(width),
                }
            }
        }
        for (index, row) in self.rows.iter().enumerate() {
            let mut line = " ".repeat(self.indent);
            for (column, (cell, width)) in row.iter().zip(&widths).enumerate() {
                let gap = if column == 0 { "" } else { "  " };
                let _ = write!(line, "{gap}{cell:<width$}");
            }
            let end = if index == 0 { "" } else { "\n" };
            write!(f, "{end}{}", line.trim_end())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_is_one_cell() {
        let mut table = Table::headed(["key", "n"]);
        table.row(["a\nforged  1\u{9b}".to_owned(), "2".to_owned()]);
        insta::assert_snapshot!(table, @r"
        key                 n
        a\nforged  1\u{9b}  2
        ");
    }

    #[test]
    fn columns_are_aligned_and_lines_end_without_spaces() {
        let mut table = Table::headed(["name", "n", "doc"]).indented(2);
        table.row(["é".to_owned(), "1000".to_owned(), String::new()]);
        table.row([
            "priority".to_owned(),
            "7".to_owned(),
            "How urgent.".to_owned(),
        ]);
        insta::assert_snapshot!(format!("{table}."), @r"
        name      n     doc
        é         1000
        priority  7     How urgent..
        ");
    }
}
