//! `audit verify`.

mod beginning;

use crate::{
    commands::{terminal::print_note, timestamp::rfc3339},
    store::{AuditRow, RecordContents, Seal, SealReference, SealedRecord, StoreError},
};
use beginning::Beginning;
use rolegate_program::{failure::Failure, output::print};
use std::collections::{BTreeMap, BTreeSet};

/// Verifies the record. `seal` is one that the operator has from the log.
pub(super) async fn run(
    mut record: SealedRecord,
    seal: Option<SealReference>,
) -> Result<(), Failure> {
    let contents = record.contents().await?;
    let Some(oldest) = record.oldest_seal().await? else {
        drop(record);
        return Err(report_missing_seals(contents));
    };
    let uncovered = record.uncovered_rows().await?;
    let beginning = Beginning::read(&mut record, &oldest).await?;
    let begins_at = record.begins_at().await?;
    let mut verification = Verification {
        seal_to_find: seal,
        ..Verification::default()
    };
    verification.check_beginning(&beginning, &oldest);
    if uncovered > 0 {
        verification
            .problems
            .push(format!("{uncovered} rows are outside of all seals"));
    }
    verification.check_reach(&oldest);
    let last = verification.check_seals(&mut record, &oldest).await?;
    verification.check_seal_was_found();
    verification.check_erasures();
    // A slow reader of the output must not keep the snapshot of the database open.
    drop(record);
    if contents.rows == 0 {
        // This comes after the problems of the parts, which say how it can be seen.
        verification.check_emptied(contents, &oldest, &last);
    }
    let Verification { problems, rows, .. } = verification;
    for problem in &problems {
        print(problem);
    }
    // Notes go to stderr: scripts read the one line of an intact record on stdout.
    let is_new = oldest.is_first() && begins_at.is_none();
    if !problems.is_empty() {
        print(&beginning.describe(&oldest, begins_at));
    } else if is_new {
        print_note("the record is new: nothing was recorded yet");
    } else {
        print_note(&beginning.describe(&oldest, begins_at));
    }
    print(&format!(
        "{rows} rows, sealed by {}:{}",
        last.revision, last.digest
    ));
    match problems.len() {
        0 => Ok(()),
        count => Err(tampered(count)),
    }
}

fn tampered(problems: usize) -> Failure {
    format!("the record was tampered with: {problems} problems").into()
}

/// Prints what is left of a record without any seal. The migration makes the first seal, so a new record has one.
fn report_missing_seals(contents: RecordContents) -> Failure {
    let RecordContents { rows, users, .. } = contents;
    if rows == 0 {
        print(&format!(
            "the record was emptied: it has neither rows nor seals, although a new record has a seal; there are {users} \
             users"
        ));
    } else {
        print(&format!(
            "all seals are missing: nothing shows whether the {rows} rows were changed"
        ));
    }
    print(&format!("{rows} rows, sealed by nothing"));
    tampered(1)
}

/// The problems and the erasures that were found so far.
#[derive(Default)]
struct Verification {
    problems: Vec<String>,
    rows: usize,
    /// The users whose names are erased, with the last such row.
    erasures: BTreeMap<i64, i64>,
    /// The users whose erasure is recorded.
    recorded_erasures: BTreeSet<i64>,
    /// The operator's seal, which is taken out when the record turns out to begin later, or when the seal of the same
    /// revision is compared with it. What is left in the end was not found.
    seal_to_find: Option<SealReference>,
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

    /// Checks that the record reaches back to the operator's seal.
    fn check_reach(&mut self, oldest: &Seal) {
        if let Some(too_old) = self
            .seal_to_find
            .take_if(|held| held.revision < oldest.revision)
        {
            self.problems.push(format!(
                "the seal {} cannot be compared: the record begins behind revision {}",
                too_old.revision, oldest.revision
            ));
        }
    }

    /// Computes each seal anew from the one before and from its rows. Returns the last one.
    async fn check_seals(
        &mut self,
        record: &mut SealedRecord,
        oldest: &Seal,
    ) -> Result<Seal, StoreError> {
        let mut seal = oldest.clone();
        self.match_seal(&seal);
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
                self.match_seal(&next);
                seal = next;
            }
        }
    }

    /// Checks the rows between two seals, and the second one.
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
        for id in row.erased_ids().into_iter().flatten() {
            self.erasures.insert(id, row.revision);
        }
        if row.event == "audit_erased" {
            self.recorded_erasures.extend(row.user_id);
        }
    }

    /// Compares a seal with the operator's, if it has the same revision.
    fn match_seal(&mut self, seal: &Seal) {
        if let Some(found) = self
            .seal_to_find
            .take_if(|held| held.revision == seal.revision)
            && found.digest != seal.digest
        {
            self.problems.push(format!(
                "the seal of revision {} is not the held one",
                seal.revision
            ));
        }
    }

    /// Checks that the record has a seal with the revision of the operator's.
    fn check_seal_was_found(&mut self) {
        if let Some(missing) = &self.seal_to_find {
            self.problems.push(format!(
                "there is no seal at revision {} any more",
                missing.revision
            ));
        }
    }

    /// Checks that each erased name has a row which records the erasure.
    fn check_erasures(&mut self) {
        for (&id, &revision) in &self.erasures {
            if !self.recorded_erasures.contains(&id) {
                self.problems.push(format!(
                    "revision {revision}: the erasure of user {id} is not recorded"
                ));
            }
        }
    }

    /// Checks that a record without rows is a new one. It is not if its seals cover rows, or if users exist, whose
    /// creation it would have.
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
        // The record of a database that had users before begins behind revision 1.
        let is_from_the_beginning = oldest.revision == 0;
        if is_from_the_beginning && pending == 0 && users > 0 {
            self.problems.push(format!(
                "the record was emptied: it has no rows, although there are {users} users, whose creation it would have"
            ));
        }
    }
}
