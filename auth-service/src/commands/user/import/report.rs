//! The report of an import for the operator.

use crate::{commands::terminal::print_note, password::HashCounts};
use rolegate_program::output::print;
use rolegate_telemetry::audit_line;

/// The most lines with the same reason or warning that are printed; the others are only counted.
const MAX_ALIKE: u64 = 20;

/// Counts lines and users, and prints bad lines on stderr.
#[derive(Default)]
pub(super) struct Report {
    pub(super) imported: u64,
    /// Users that exist already.
    pub(super) skipped: u64,
    pub(super) bad: u64,
    /// The hashes of the users that are imported, or would be.
    pub(super) hashes: HashCounts,
    /// Bad lines whose users exist.
    existing: u64,
    /// Users whose names differ from those of earlier lines in case only.
    similar: u64,
}

impl Report {
    /// Counts and prints a bad line. The reason must not quote the hash.
    pub(super) fn add_bad_line(&mut self, number: u64, reason: &str) {
        self.bad += 1;
        print_note(&format!("line {number}: {reason}"));
    }

    /// Counts a line that is bad because the user exists. An import that is repeated has nothing but those.
    pub(super) fn add_existing_user(&mut self, number: u64, username: &str) {
        self.existing += 1;
        if self.existing <= MAX_ALIKE {
            self.add_bad_line(number, &format!("the user {username:?} exists already"));
        } else {
            self.bad += 1;
        }
    }

    /// Counts a name that differs in case only. The line is not bad: names are case-sensitive here. They may not be
    /// where the user comes from.
    pub(super) fn add_similar_username(&mut self, number: u64, username: &str) {
        self.similar += 1;
        if self.similar <= MAX_ALIKE {
            print_note(&format!(
                "line {number}: warning: {username:?} differs in case only"
            ));
        }
    }

    /// Prints the numbers of the lines that were not all printed.
    pub(super) fn print_totals(&self) {
        let Self {
            existing, similar, ..
        } = self;
        if *existing > 0 {
            print_note(&format!(
                "{existing} users exist already; --skip-existing skips them"
            ));
        }
        if *similar > 0 {
            print_note(&format!(
                "warning: {similar} usernames differ from those of earlier lines in case only; they \
                 are different users"
            ));
        }
    }

    pub(super) fn finish_dry_run(&self, importable: usize) {
        let skipped = self.skipped;
        self.print_counts(format!(
            "{importable} users can be imported, {skipped} are skipped because they exist."
        ));
    }

    /// Says what was done, also in the audit log.
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

    /// Prints `first`, and what the operator should know of the hashes.
    fn print_counts(&self, first: String) {
        let mut lines = vec![first];
        lines.extend(self.hashes.sentences());
        print(&lines.join("\n"));
    }
}
