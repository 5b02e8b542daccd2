//! `audit verify`.

use super::rfc3339;
use crate::store::{
    AuditRow, DAY_SECONDS, RecordContents, RecordedRemoval, Seal, SealReference, SealedRecord,
    StoreError,
};
use rolegate_program::program::{Failure, print};
use std::{
    collections::{BTreeMap, BTreeSet},
    io::{self, Write as _},
    mem,
};

/// What was found so far.
#[derive(Default)]
struct Findings {
    problems: Vec<String>,
    rows: usize,
    /// Users whose names are erased, with the last such row, and those whose erasure is recorded.
    erased: BTreeMap<i64, i64>,
    recorded: BTreeSet<i64>,
}

impl Findings {
    fn problem(&mut self, text: &str) {
        self.problems.push(text.to_owned());
    }

    fn note(&mut self, row: &AuditRow) {
        self.rows += 1;
        if let Err(broken) = row.check_former_username() {
            self.problem(&broken.to_string());
        }
        for id in row.erased().into_iter().flatten() {
            self.erased.insert(id, row.revision);
        }
        if row.event == "audit_erased" {
            self.recorded.extend(row.user_id);
        }
    }
}

/// How far back a record reaches, and why not further.
enum Beginning {
    /// Nothing was removed.
    Complete,
    Removed(RecordedRemoval),
    /// Rows are missing, and the record does not say why.
    Unexplained,
}

pub(super) async fn run(
    mut record: SealedRecord,
    held: Option<SealReference>,
) -> Result<(), Failure> {
    let contents = record.contents().await?;
    let Some(oldest) = record.oldest_seal().await? else {
        drop(record);
        return Err(report_missing_seals(contents));
    };
    let uncovered = record.uncovered_rows().await?;
    let beginning = beginning(&mut record, &oldest).await?;
    let begins_at = record.begins_at().await?;
    let mut seal = oldest.clone();
    let mut findings = Findings::default();
    if let Beginning::Unexplained = beginning {
        findings.problem(&format!(
            "the rows up to revision {}, of {} and before, are missing, and the record does not say that retention \
             has removed them",
            oldest.revision,
            rfc3339(oldest.at)
        ));
    }
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
    // Whoever reads the output may be slow, and must not keep the state of the database.
    drop(record);
    let mut problems = mem::take(&mut findings.problems);
    if contents.rows == 0 {
        // Behind what is wrong with the parts, which says how it can be seen.
        problems.extend(describe_emptied(contents, &oldest, &seal, &problems));
    }
    for problem in &problems {
        print(problem);
    }
    let description = describe(&beginning, &oldest, begins_at, problems.is_empty());
    if problems.is_empty() {
        // Scripts read the one line of a good record on stdout.
        let _ = writeln!(io::stderr(), "{description}");
    } else {
        print(&description);
    }
    print(&format!(
        "{} rows, sealed by {}:{}",
        findings.rows, seal.revision, seal.digest
    ));
    match problems.len() {
        0 => Ok(()),
        count => Err(tampered(count)),
    }
}

fn tampered(problems: usize) -> Failure {
    format!("the record was tampered with: {problems} problems").into()
}

/// Prints what a record without any seal has. The migration makes the first seal, so a new record has one.
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

/// Says that a record without rows is not a new one: its seals cover rows, or users exist whose creation it would have.
fn describe_emptied(
    contents: RecordContents,
    oldest: &Seal,
    last: &Seal,
    problems: &[String],
) -> Option<String> {
    let RecordContents { pending, users, .. } = contents;
    if !last.is_first() {
        // What retention has removed is no problem.
        return (!problems.is_empty()).then(|| {
            format!(
                "the record was emptied: it has no rows, although its seals reach to revision {}",
                last.revision
            )
        });
    }
    // The record of a database that had users before begins behind revision 1.
    let is_from_the_beginning = oldest.revision == 0;
    (is_from_the_beginning && pending == 0 && users > 0).then(|| {
        format!(
            "the record was emptied: it has no rows, although there are {users} users, whose creation it would have"
        )
    })
}

/// Compares what is missing before the oldest seal with what the record says of it.
async fn beginning(record: &mut SealedRecord, oldest: &Seal) -> Result<Beginning, StoreError> {
    if oldest.is_first() {
        return Ok(Beginning::Complete);
    }
    let removals = record.removals(oldest.revision).await?;
    Ok(removals
        .into_iter()
        .find(is_plausible)
        .map_or(Beginning::Unexplained, Beginning::Removed))
}

/// Whether the seals agree that the rows were as old as it is said: the last of them is from before that time, or a
/// later row is older than its seal, which a clock that was ahead has dated.
fn is_plausible(removal: &RecordedRemoval) -> bool {
    let Some(sealed_at) = removal.sealed_at else {
        return false;
    };
    let Some(retention) = removal.retention else {
        return true;
    };
    let age = retention.days.saturating_mul(DAY_SECONDS);
    if retention.days < 1 || retention.removed_before.saturating_add(age) > removal.at {
        return false;
    }
    sealed_at < retention.removed_before
        || removal.next_at.is_some_and(|next_at| next_at < sealed_at)
}

/// From when the record reaches, and why not from earlier.
fn describe(beginning: &Beginning, oldest: &Seal, begins_at: Option<i64>, is_good: bool) -> String {
    if is_good && oldest.is_first() && begins_at.is_none() {
        return "the record is new: nothing was recorded yet".to_owned();
    }
    let from = begins_at.map_or_else(
        || "the record has no rows".to_owned(),
        |at| format!("the record reaches back to {}", rfc3339(at)),
    );
    let revision = oldest.revision;
    match beginning {
        Beginning::Complete if begins_at.is_none() => format!("{from}; they are missing"),
        Beginning::Complete => format!("{from}; nothing was removed from it"),
        Beginning::Unexplained => format!("{from}; what was before is missing"),
        Beginning::Removed(removal) => {
            let removed_at = rfc3339(removal.at);
            match removal.retention {
                Some(retention) => format!(
                    "{from}; on {removed_at} a retention of {} days removed the rows up to revision {revision}, \
                     which were from before {}",
                    retention.days,
                    rfc3339(retention.removed_before)
                ),
                None => format!(
                    "{from}; the rows up to revision {revision} were removed before the upgrade on {removed_at}, when \
                     removals began to be recorded"
                ),
            }
        }
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
