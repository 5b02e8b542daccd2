//! `audit verify`: looks for rows of the record that were changed, removed or moved.
//!
//! It computes every seal again from the rows and the previous seal, in one snapshot of the
//! database. It also checks that every erased name has a recorded erasure, that a seal of the
//! operator is in the record, and that nobody has emptied the record. `beginning` explains how far
//! back the record reaches.

mod beginning;

use crate::{
    audit::{AUDIT_ERASED, AuditRow},
    commands::{terminal::print_note, timestamp::rfc3339},
    store::{RecordContents, Seal, SealReference, SealedRecord, StoreError},
};
use beginning::Beginning;
use rolegate_program::{failure::Failure, output::print};
use std::collections::{BTreeMap, BTreeSet};

/// Verifies the record, prints a report and fails if it contains problems. `operator_seal` is a
/// seal that the operator has kept from the log.
pub(super) async fn run(
    record: SealedRecord,
    operator_seal: Option<SealReference>,
) -> Result<(), Failure> {
    let report = verify(record, operator_seal).await?;
    report.print();
    report.into_result()
}

/// The result of a verification.
struct Report {
    problems: Vec<String>,
    /// How far back the record reaches, and why it does not reach further; `None` if it has no
    /// seal.
    reach: Option<String>,
    /// The number of rows and the last seal.
    summary: String,
}

impl Report {
    /// Prints the report. If the record is intact, stdout has only the summary, which scripts read.
    fn print(&self) {
        for problem in &self.problems {
            print(problem);
        }
        match &self.reach {
            Some(reach) if self.problems.is_empty() => print_note(reach),
            Some(reach) => print(reach),
            None => {}
        }
        print(&self.summary);
    }

    fn into_result(self) -> Result<(), Failure> {
        match self.problems.len() {
            0 => Ok(()),
            count => Err(format!("the record was tampered with: {count} problems").into()),
        }
    }
}

/// Checks the record, and returns the report. It consumes the record, so that the snapshot of the
/// database is closed before the report is printed, perhaps to a slow reader.
async fn verify(
    mut record: SealedRecord,
    operator_seal: Option<SealReference>,
) -> Result<Report, StoreError> {
    let contents = record.contents().await?;
    let Some(oldest) = record.oldest_seal().await? else {
        return Ok(report_missing_seals(contents));
    };
    let uncovered = record.uncovered_rows().await?;
    let beginning = Beginning::read(&mut record, &oldest).await?;
    let begins_at = record.begins_at().await?;
    let mut verification = Verification {
        operator_seal,
        ..Verification::default()
    };
    verification.check_beginning(&beginning, &oldest);
    if uncovered > 0 {
        verification
            .problems
            .push(format!("{uncovered} rows are not covered by any seal"));
    }
    verification.reject_older_operator_seal(&oldest);
    let last = verification.check_seals(&mut record, &oldest).await?;
    verification.check_operator_seal_was_found();
    verification.check_erasures();
    if contents.rows == 0 {
        // This check comes last, because it depends on whether the other checks found a problem. If
        // they found none, retention may have removed all rows.
        verification.check_emptied(contents, &oldest, &last);
    }
    let Verification { problems, rows, .. } = verification;
    let is_new = oldest.is_first() && begins_at.is_none();
    let reach = if is_new && problems.is_empty() {
        "the record is new: nothing was recorded yet".to_owned()
    } else {
        beginning.describe(&oldest, begins_at)
    };
    Ok(Report {
        problems,
        reach: Some(reach),
        summary: format!("{rows} rows, sealed by {}:{}", last.revision, last.digest),
    })
}

/// Reports a record without any seal. The migration creates the first seal, so even a new record
/// has one.
fn report_missing_seals(contents: RecordContents) -> Report {
    let RecordContents { rows, users, .. } = contents;
    let problem = if rows == 0 {
        format!(
            "the record was emptied: it has neither rows nor seals, although a new record has a seal; there are {users} \
             users"
        )
    } else {
        format!("all seals are missing: nothing shows whether the {rows} rows were changed")
    };
    Report {
        problems: vec![problem],
        reach: None,
        summary: format!("{rows} rows, sealed by nothing"),
    }
}

/// The problems and the erasures that were found so far.
#[derive(Default)]
struct Verification {
    problems: Vec<String>,
    rows: usize,
    /// The users whose names are erased, each with the revision of the last row that contained the
    /// name.
    erasures: BTreeMap<i64, i64>,
    /// The users whose erasure is recorded.
    recorded_erasures: BTreeSet<i64>,
    /// The operator's seal, until it is either compared with the seal of the same revision or found
    /// to be older than the record. If it is still here at the end, the record has no seal at its
    /// revision.
    operator_seal: Option<SealReference>,
}

impl Verification {
    fn check_beginning(&mut self, beginning: &Beginning, oldest: &Seal) {
        if let Beginning::Unexplained = beginning {
            self.problems.push(format!(
                "the rows up to revision {}, of {} and before, are missing, and the record does not say that retention \
                 has removed them",
                oldest.revision,
                rfc3339(oldest.at)
            ));
        }
    }

    /// Reports an operator's seal that is older than the beginning of the record.
    fn reject_older_operator_seal(&mut self, oldest: &Seal) {
        if let Some(too_old) = self
            .operator_seal
            .take_if(|seal| seal.revision < oldest.revision)
        {
            self.problems.push(format!(
                "the seal {} cannot be compared: the record begins after revision {}",
                too_old.revision, oldest.revision
            ));
        }
    }

    /// Computes each seal again from the previous seal and the rows between, and compares it with
    /// the stored seal. Returns the last seal.
    async fn check_seals(
        &mut self,
        record: &mut SealedRecord,
        oldest: &Seal,
    ) -> Result<Seal, StoreError> {
        let mut seal = oldest.clone();
        self.compare_with_operator_seal(&seal);
        loop {
            let page = record.next_page(seal.revision).await?;
            if page.seals.is_empty() {
                return Ok(seal);
            }
            let mut rows = page.rows.as_slice();
            for next in page.seals {
                let count = rows.partition_point(|row| row.revision <= next.revision);
                let (batch, rest) = rows.split_at(count);
                rows = rest;
                self.check_batch(&seal, batch, &next);
                self.compare_with_operator_seal(&next);
                seal = next;
            }
        }
    }

    /// Checks the rows between two seals, and that the second seal follows from the first seal and
    /// these rows.
    fn check_batch(&mut self, seal: &Seal, rows: &[AuditRow], next: &Seal) {
        for row in rows {
            self.check_row(row);
        }
        match seal.next(rows) {
            Ok(computed) if computed == *next => {}
            Ok(_) => self.problems.push(format!(
                "revisions {} to {}: a row or the seal was changed",
                seal.revision + 1,
                next.revision
            )),
            Err(tampering) => self.problems.push(tampering.to_string()),
        }
    }

    fn check_row(&mut self, row: &AuditRow) {
        self.rows += 1;
        if let Err(tampering) = row.check_former_username() {
            self.problems.push(tampering.to_string());
        }
        // A row names a user and an actor; either name may be erased.
        let [erased_user_id, erased_actor_id] = row.erased_ids();
        for id in [erased_user_id, erased_actor_id].into_iter().flatten() {
            self.erasures.insert(id, row.revision);
        }
        if row.event == AUDIT_ERASED {
            self.recorded_erasures.extend(row.user_id);
        }
    }

    /// Compares a seal with the operator's seal, if both have the same revision.
    fn compare_with_operator_seal(&mut self, seal: &Seal) {
        if let Some(operator_seal) = self
            .operator_seal
            .take_if(|operator_seal| operator_seal.revision == seal.revision)
            && operator_seal.digest != seal.digest
        {
            self.problems.push(format!(
                "the seal of revision {} differs from the given one",
                seal.revision
            ));
        }
    }

    /// Reports the operator's seal if the record has no seal at its revision.
    fn check_operator_seal_was_found(&mut self) {
        if let Some(missing) = &self.operator_seal {
            self.problems.push(format!(
                "there is no seal at revision {} any more",
                missing.revision
            ));
        }
    }

    /// Checks that the record contains the erasure of each erased name.
    fn check_erasures(&mut self) {
        for (&id, &revision) in &self.erasures {
            if !self.recorded_erasures.contains(&id) {
                self.problems.push(format!(
                    "revision {revision}: the erasure of user {id} is not recorded"
                ));
            }
        }
    }

    /// Reports a record without rows as emptied, unless it is new or retention may have removed all
    /// rows.
    ///
    /// If the seals cover rows, the record counts as emptied only if there are other problems. A
    /// record whose seals cover no row is new, unless there are users: it would contain their
    /// creation.
    fn check_emptied(&mut self, contents: RecordContents, oldest: &Seal, last: &Seal) {
        let RecordContents { pending, users, .. } = contents;
        if !last.is_first() {
            // Retention may have removed all rows, which is no problem by itself.
            if !self.problems.is_empty() {
                self.problems.push(format!(
                    "the record was emptied: it has no rows, although its seals reach to revision {}",
                    last.revision
                ));
            }
            return;
        }
        // If the database had users before it had a record, the record begins after revision 1.
        let is_from_the_beginning = oldest.revision == 0;
        if is_from_the_beginning && pending == 0 && users > 0 {
            self.problems.push(format!(
                "the record was emptied: it has no rows, although there are {users} users, whose creation it would have"
            ));
        }
    }
}
