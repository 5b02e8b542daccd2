//! What an import tells the operator.

use indicatif::{ProgressBar, ProgressStyle};
use std::io::{self, Write};

/// Counts, bad lines on stderr, and progress there if it is a terminal.
pub(super) struct Report {
    pub(super) imported: u64,
    /// Users that exist.
    pub(super) skipped: u64,
    pub(super) bad: u64,
    bar: ProgressBar,
}

impl Report {
    /// `length` is that of the input in bytes, if it is known.
    pub(super) fn new(step: &'static str, length: Option<u64>) -> Self {
        let (bar, form) = match length {
            Some(length) => (ProgressBar::new(length), "{msg} {wide_bar} {percent}% {eta}"),
            None => (ProgressBar::no_length(), "{msg} {bytes}"),
        };
        let style = ProgressStyle::with_template(form);
        let bar = bar.with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        Self { imported: 0, skipped: 0, bad: 0, bar: bar.with_message(step) }
    }

    /// The reason must not quote the hash.
    pub(super) fn bad_line(&mut self, number: u64, reason: &str) {
        self.bad += 1;
        self.bar.suspend(|| {
            let _ = writeln!(io::stderr(), "line {number}: {reason}");
        });
    }

    pub(super) fn read_to(&self, position: u64) {
        self.bar.set_position(position);
    }

    /// The counts as a sentence.
    pub(super) fn counts(&self) -> String {
        let Self { imported, skipped, bad, .. } = self;
        format!("{imported} imported, {skipped} skipped because they exist, {bad} bad lines")
    }
}

impl Drop for Report {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
