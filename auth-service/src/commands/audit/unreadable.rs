//! Reports rows of the record that cannot be read. Their revisions and problems go to stderr, and
//! the command continues with the other rows.

use crate::commands::{terminal::print_note, terminal_text::escape};
use rolegate_program::failure::Failure;
use std::fmt::Display;

/// Counts the rows that could not be read.
#[derive(Default)]
pub(super) struct UnreadableRows {
    count: usize,
}

impl UnreadableRows {
    /// Prints the revision of a row and the problem with it, and counts the row.
    pub(super) fn name(&mut self, revision: i64, problem: &impl Display) {
        self.count += 1;
        warn(&format!("revision {revision}: {problem}"));
    }

    /// Fails if any rows could not be read, and reports their number.
    pub(super) fn finish(&self) -> Result<(), Failure> {
        match self.count {
            0 => Ok(()),
            1 => Err("1 row could not be read".into()),
            count => Err(format!("{count} rows could not be read").into()),
        }
    }
}

/// Writes a line to stderr, and escapes characters that could forge another line.
pub(super) fn warn(text: &str) {
    print_note(&escape(text));
}
