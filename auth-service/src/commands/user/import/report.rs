//! Reports the progress and the result of an import to the operator.

use crate::{commands::terminal::print_note, password::HashCounts};
use rolegate_program::{audit_line, output::print};

/// The maximum number of lines printed about existing users, and of warnings printed about similar
/// names. Further ones are only counted.
const MAX_ALIKE: u64 = 20;

/// Counts lines and users, and prints bad lines on stderr.
#[derive(Default)]
pub(super) struct Report {
    pub(super) imported: u64,
    /// The number of users that were skipped because they exist already.
    pub(super) skipped: u64,
    pub(super) bad: u64,
    /// The hashes of the imported users; in a dry run, of the users that would be imported.
    pub(super) hashes: HashCounts,
    /// The number of lines that are bad because their users exist.
    existing: u64,
    /// The number of users whose names differ from that of an earlier line only in case.
    similar: u64,
}

impl Report {
    /// Counts and prints a bad line. The reason must not quote the hash.
    pub(super) fn add_bad_line(&mut self, number: u64, reason: &str) {
        self.bad += 1;
        print_note(&format!("line {number}: {reason}"));
    }

    /// Counts a line that is bad because the user exists. Only the first [`MAX_ALIKE`] are printed,
    /// because in a repeated import every user exists.
    pub(super) fn add_existing_user(&mut self, number: u64, username: &str) {
        self.existing += 1;
        if self.existing <= MAX_ALIKE {
            self.add_bad_line(number, &format!("the user {username:?} exists already"));
        } else {
            self.bad += 1;
        }
    }

    /// Counts a name that differs from an earlier one only in case, and prints a warning for the
    /// first [`MAX_ALIKE`]. The line is not bad, because names are case-sensitive here. But in the
    /// system that the users come from, both names may belong to one user.
    pub(super) fn add_similar_username(&mut self, number: u64, username: &str) {
        self.similar += 1;
        if self.similar <= MAX_ALIKE {
            print_note(&format!(
                "line {number}: warning: {username:?} differs in case only"
            ));
        }
    }

    /// Prints the total numbers of existing users and of similar names, because only the first
    /// [`MAX_ALIKE`] lines of each kind are printed.
    pub(super) fn print_totals(&self) {
        if self.existing > 0 {
            print_note(&format!(
                "{} users exist already; --skip-existing skips them",
                self.existing
            ));
        }
        if self.similar > 0 {
            print_note(&format!(
                "warning: {} usernames differ from those of earlier lines in case only; they are \
                 different users",
                self.similar
            ));
        }
    }

    pub(super) fn finish_dry_run(&self, importable: usize) {
        let skipped = self.skipped;
        self.print_counts(format!(
            "{importable} users can be imported, {skipped} are skipped because they exist."
        ));
    }

    /// Writes the result to the audit log, and prints it for the operator.
    pub(super) fn finish(&self) {
        let Self {
            imported,
            skipped,
            bad,
            ..
        } = self;
        audit_line!(
            "users_imported",
            count = imported,
            skipped,
            bad_lines = bad,
            by = "operator"
        );
        self.print_counts(format!(
            "{imported} imported, {skipped} skipped because they exist, {bad} bad lines."
        ));
    }

    /// Prints `first`, followed by sentences about users with weak or missing password hashes.
    fn print_counts(&self, first: String) {
        let mut lines = vec![first];
        lines.extend(self.hashes.sentences());
        print(&lines.join("\n"));
    }
}
