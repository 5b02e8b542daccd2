//! What an import tells the operator.

use crate::password::HashCounts;
use indicatif::{ProgressBar, ProgressStyle};
use rolegate_program::program::print;
use std::io::{self, Write};

/// Lines with the same reason or warning that are printed, where only their number is of use.
const MAX_ALIKE: u64 = 20;

/// Counts, bad lines on stderr, and progress there if it is a terminal.
pub(super) struct Report {
    pub(super) imported: u64,
    /// Users that exist.
    pub(super) skipped: u64,
    pub(super) bad: u64,
    /// Of the users that are imported, or would be.
    pub(super) hashes: HashCounts,
    /// Bad lines whose users exist.
    existing: u64,
    /// Users whose names differ from those of earlier lines in case only.
    similar: u64,
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
        let (imported, skipped, bad, existing, similar) = (0, 0, 0, 0, 0);
        let (hashes, bar) = (HashCounts::default(), bar.with_message(step));
        Self { imported, skipped, bad, hashes, existing, similar, bar }
    }

    /// The reason must not quote the hash.
    pub(super) fn bad_line(&mut self, number: u64, reason: &str) {
        self.bad += 1;
        self.print(&format!("line {number}: {reason}"));
    }

    /// A bad line, because the user exists. An import that is repeated has nothing but those.
    pub(super) fn existing_user(&mut self, number: u64, username: &str) {
        self.existing += 1;
        if self.existing <= MAX_ALIKE {
            self.bad_line(number, &format!("the user {username:?} exists already"));
        } else {
            self.bad += 1;
        }
    }

    /// Not a bad line: names are case-sensitive here. They may not be where the user comes from.
    pub(super) fn similar_username(&mut self, number: u64, username: &str) {
        self.similar += 1;
        if self.similar <= MAX_ALIKE {
            self.print(&format!("line {number}: warning: {username:?} differs in case only"));
        }
    }

    /// What was not printed for each line.
    pub(super) fn print_rest(&self) {
        if self.existing > 0 {
            let existing = self.existing;
            self.print(&format!("{existing} users exist already; --skip-existing skips them"));
        }
        if self.similar > 0 {
            self.print(&format!(
                "warning: {} usernames differ from those of earlier lines in case only; they are \
                 different users",
                self.similar
            ));
        }
    }

    fn print(&self, text: &str) {
        self.bar.suspend(|| {
            let _ = writeln!(io::stderr(), "{text}");
        });
    }

    pub(super) fn read_to(&self, position: u64) {
        self.bar.set_position(position);
    }

    /// Prints `first`, and what the operator should know of the hashes.
    pub(super) fn print_counts(&self, first: String) {
        let lines: Vec<_> = [first].into_iter().chain(self.hashes.sentences()).collect();
        print(&lines.join("\n"));
    }
}

impl Drop for Report {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
