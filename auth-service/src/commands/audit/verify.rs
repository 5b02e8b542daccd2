//! `audit verify`.

use crate::store::{AuditRow, Seal, SealReference, SealedRecord};
use rolegate_program::program::{Failure, print};
use std::collections::{BTreeMap, BTreeSet};

/// What was found so far.
#[derive(Default)]
struct Findings {
    problems: usize,
    rows: usize,
    /// Users whose names are erased, with the last such row, and those whose erasure is recorded.
    erased: BTreeMap<i64, i64>,
    recorded: BTreeSet<i64>,
}

impl Findings {
    fn problem(&mut self, text: &str) {
        self.problems += 1;
        print(text);
    }

    fn note(&mut self, row: &AuditRow) {
        self.rows += 1;
        for id in row.erased().into_iter().flatten() {
            self.erased.insert(id, row.revision);
        }
        if row.event == "audit_erased" {
            self.recorded.extend(row.user_id);
        }
    }
}

pub(super) async fn run(
    mut record: SealedRecord,
    held: Option<SealReference>,
) -> Result<(), Failure> {
    let (mut seal, uncovered) = record.oldest_seal().await?;
    let mut findings = Findings::default();
    if uncovered > 0 {
        findings.problem(&format!("{uncovered} rows are outside of all seals"));
    }
    if let Some(held) = held.as_ref().filter(|held| held.revision < seal.revision) {
        findings.problem(&format!(
            "the seal {} cannot be compared: the record begins behind revision {}",
            held.revision, seal.revision
        ));
    }
    let mut found = held
        .as_ref()
        .is_none_or(|held| held.revision < seal.revision);
    found |= compare(&seal, held.as_ref(), &mut findings);
    loop {
        let (seals, rows) = record.next(seal.revision).await?;
        if seals.is_empty() {
            break;
        }
        let mut rows = rows.as_slice();
        for next in seals {
            let (batch, rest) =
                rows.split_at(rows.partition_point(|it| it.revision <= next.revision));
            rows = rest;
            for row in batch {
                findings.note(row);
            }
            match seal.next(batch) {
                Ok(computed) if computed == next => {}
                Ok(_) => findings.problem(&format!(
                    "revisions {} to {}: a row or the seal was changed",
                    seal.revision + 1,
                    next.revision
                )),
                Err(broken) => findings.problem(&broken.to_string()),
            }
            seal = next;
            found |= compare(&seal, held.as_ref(), &mut findings);
        }
    }
    if let Some(held) = held.filter(|_| !found) {
        findings.problem(&format!(
            "there is no seal at revision {} any more",
            held.revision
        ));
    }
    for (id, revision) in findings.erased.clone() {
        if !findings.recorded.contains(&id) {
            findings.problem(&format!(
                "revision {revision}: the erasure of user {id} is not recorded"
            ));
        }
    }
    print(&format!(
        "{} rows, sealed by {}:{}",
        findings.rows, seal.revision, seal.digest
    ));
    match findings.problems {
        0 => Ok(()),
        problems => Err(format!("the record was tampered with: {problems} problems").into()),
    }
}

/// Whether the seal is the held one, or was.
fn compare(seal: &Seal, held: Option<&SealReference>, findings: &mut Findings) -> bool {
    let Some(held) = held.filter(|held| held.revision == seal.revision) else {
        return false;
    };
    if held.digest != seal.digest {
        findings.problem(&format!(
            "the seal of revision {} is not the held one",
            seal.revision
        ));
    }
    true
}
