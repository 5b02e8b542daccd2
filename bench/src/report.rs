//! Formats reports as plain text for the terminal, and as Markdown for `docs/`.

use std::{iter::repeat_n, path::Path};

/// A block of a report.
#[derive(Debug)]
pub(crate) enum Block {
    /// A heading.
    Heading(String),
    /// A paragraph.
    Paragraph(String),
    /// A list.
    List(Vec<String>),
    /// A table.
    Table(Table),
}

/// A table. The first column holds text, and the others hold numbers.
#[derive(Debug)]
pub(crate) struct Table {
    pub(crate) head: Vec<&'static str>,
    pub(crate) rows: Vec<Vec<String>>,
}

/// Formats blocks as plain text.
pub(crate) fn plain(blocks: &[Block]) -> String {
    let blocks = blocks.iter().map(|block| match block {
        Block::Heading(text) => format!("{text}\n{}", "=".repeat(text.chars().count())),
        Block::Paragraph(text) => text.clone(),
        Block::List(items) => items.join("\n"),
        Block::Table(table) => table.plain(),
    });
    blocks.collect::<Vec<_>>().join("\n\n") + "\n"
}

/// Formats blocks as Markdown.
pub(crate) fn markdown(blocks: &[Block]) -> String {
    let blocks = blocks.iter().map(|block| match block {
        Block::Heading(text) => format!("## {text}"),
        Block::Paragraph(text) => text.clone(),
        Block::List(items) => format!("- {}", items.join("\n- ")),
        Block::Table(table) => table.markdown(),
    });
    blocks.collect::<Vec<_>>().join("\n\n") + "\n"
}

/// Writes a file, and creates its folder if it is missing.
pub(crate) fn write(path: &Path, text: &str) -> std::io::Result<()> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    std::fs::write(path, text)
}

impl Table {
    fn plain(&self) -> String {
        let width = |column: usize| {
            let cells = self.rows.iter().filter_map(|row| row.get(column));
            let longest = cells.map(|cell| cell.chars().count()).max().unwrap_or(0);
            longest.max(self.head.get(column).map_or(0, |name| name.chars().count()))
        };
        let widths: Vec<usize> = (0..self.head.len()).map(width).collect();
        let line = |cells: Vec<&str>| {
            let cells = cells
                .iter()
                .zip(&widths)
                .enumerate()
                .map(|(column, (cell, width))| {
                    if column == 0 {
                        format!("{cell:<width$}")
                    } else {
                        format!("{cell:>width$}")
                    }
                });
            cells.collect::<Vec<_>>().join("  ").trim_end().to_owned()
        };
        let head = line(self.head.clone());
        let rule = "-".repeat(head.chars().count());
        let rows = self
            .rows
            .iter()
            .map(|row| line(row.iter().map(String::as_str).collect()));
        [head, rule]
            .into_iter()
            .chain(rows)
            .collect::<Vec<_>>()
            .join("\n")
    }

    fn markdown(&self) -> String {
        let line = |cells: Vec<&str>| format!("| {} |", cells.join(" | "));
        let right = repeat_n("---:", self.head.len().saturating_sub(1));
        let rule = line(std::iter::once("---").chain(right).collect());
        let rows = self
            .rows
            .iter()
            .map(|row| line(row.iter().map(String::as_str).collect()));
        [line(self.head.clone()), rule]
            .into_iter()
            .chain(rows)
            .collect::<Vec<_>>()
            .join("\n")
    }
}

/// Rounds a number, and adds thousands separators.
pub(crate) fn thousands(number: f64) -> String {
    let digits = format!("{number:.0}");
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index) % 3 == 0 {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::{Block, Table, markdown, plain, thousands};

    #[test]
    fn thousands_are_separated() {
        for (number, text) in [
            (0.4, "0"),
            (999.0, "999"),
            (1000.0, "1,000"),
            (1e6, "1,000,000"),
        ] {
            assert_eq!(thousands(number), text);
        }
    }

    #[test]
    fn a_table_is_aligned_in_both_formats() {
        let rows = vec![
            vec!["µ".to_owned(), "1".to_owned()],
            vec!["long".into(), "22".into()],
        ];
        let blocks = [Block::Table(Table {
            head: vec!["a", "b"],
            rows,
        })];
        assert_eq!(plain(&blocks), "a      b\n--------\nµ      1\nlong  22\n");
        assert_eq!(
            markdown(&blocks),
            "| a | b |\n| --- | ---: |\n| µ | 1 |\n| long | 22 |\n"
        );
    }
}
