//! Makes random changes to the tables of the record, with or without new seals, and describes each.

use crate::stored_record::{ROW, Row, SEAL, StoredRecord, erase, number, text};
use e2e::token::now;
use serde_json::Value;
use std::env;

const REQUIRED: [&str; 7] = [
    "revision",
    "id",
    "at",
    "event",
    "details",
    "commitments",
    "digest",
];

/// The random numbers of a run, by `SplitMix64`.
pub(super) struct Dice(u64);

impl Dice {
    /// Takes the seed from `AUDIT_SEED` or the clock, and prints it so that a failed run can be repeated.
    #[expect(clippy::print_stdout, reason = "shown when the test fails")]
    pub(super) fn from_environment() -> Self {
        let seed = env::var("AUDIT_SEED").ok();
        let seed = seed.map_or_else(now, |text| text.parse().expect("a number"));
        println!("AUDIT_SEED={seed}");
        Self(seed)
    }

    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        let number = (mixed ^ (mixed >> 31)) % u64::try_from(end).expect("64 bits");
        usize::try_from(number).expect("below end")
    }

    fn one<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())]
    }

    /// Returns two different numbers below `end`.
    fn two(&mut self, end: usize) -> (usize, usize) {
        let first = self.below(end);
        (first, (first + 1 + self.below(end - 1)) % end)
    }
}

/// Changes the tables without computing new seals, and returns what was changed.
pub(super) fn tamper(record: &mut StoredRecord, dice: &mut Dice) -> String {
    let (rows, seals) = (record.rows.len(), record.seals.len());
    let last = record.last();
    match dice.below(16) {
        0..=4 => {
            let (index, column) = (dice.below(rows), dice.one(&ROW));
            change_column(&mut record.rows, index, column, dice)
        }
        5 => {
            let (index, column) = (dice.below(seals), dice.one(&SEAL));
            format!(
                "in seals, {}",
                change_column(&mut record.seals, index, column, dice)
            )
        }
        6 => format!("deleted row {:?}", record.rows.remove(dice.below(rows))),
        7 => {
            let (one, other) = dice.two(rows);
            swap(&mut record.rows, one, other);
            format!("swapped the rows {one} and {other}")
        }
        8 => {
            let (one, other) = dice.two(seals);
            swap(&mut record.seals, one, other);
            format!("swapped the seals {one} and {other}")
        }
        9 => {
            let (from, to) = dice.two(rows);
            let row = record.rows.remove(from);
            record.rows.insert(to, row);
            record.renumber();
            format!("moved row {from} to {to} and those between")
        }
        10 => {
            let mut row = record.rows[dice.below(rows)].clone();
            let revision = last + 1 + i64::from(dice.below(3) == 0);
            row.insert("revision".to_owned(), revision.into());
            record.rows.push(row);
            format!("a copy at {revision}, after the last seal")
        }
        11 => {
            let (from, to) = dice.two(rows);
            record.rows.insert(to, record.rows[from].clone());
            record.renumber();
            format!("a copy of row {from} at {to} and the others behind it")
        }
        12 => {
            let index = dice.below(rows);
            record.rows.remove(index);
            record.renumber();
            format!("removed row {index} and moved the others into the gap")
        }
        13 => format!("deleted seal {:?}", record.seals.remove(dice.below(seals))),
        14 => {
            let revisions: Vec<_> = record
                .seals
                .iter()
                .map(|it| number(it, "revision"))
                .collect();
            let mut seal = record.seals[dice.below(seals)].clone();
            let inner: Vec<_> = (1..last).filter(|it| !revisions.contains(it)).collect();
            let revision = dice.one(&inner);
            seal.insert("revision".to_owned(), revision.into());
            record.seals.push(seal);
            format!("another seal at {revision}")
        }
        _ => loop {
            let (index, of_user) = (dice.below(rows), dice.below(2) == 0);
            let row = &mut record.rows[index];
            let id = if of_user || row["actor_id"].is_null() {
                "user_id"
            } else {
                "actor_id"
            };
            let id = row[id].as_i64();
            if id.is_none_or(|id| !has_erased(record, id)) {
                erase(&mut record.rows[index], of_user);
                break format!("erased row {index} by hand, the name of the user: {of_user}");
            }
        },
    }
}

/// Changes a row, or removes the newest batches, computes all seals anew, and returns what was changed.
pub(super) fn tamper_and_seal(record: &mut StoredRecord, dice: &mut Dice) -> String {
    let rows = record.rows.len();
    let what = match dice.below(5) {
        0 | 1 => {
            // The column of the former name is left out, because the seal covers only the digest in the details.
            let (index, column) = (dice.below(rows), dice.one(&ROW[1..ROW.len() - 2]));
            let what = change_column(&mut record.rows, index, column, dice);
            let row = &mut record.rows[index];
            if row["former_username"].is_null() {
                // Verification finds the digest of a former name that is not there even without the held seal.
                let details = text(row, "details").replace("from_sha256", "digest");
                row.insert("details".to_owned(), details.into());
            }
            what
        }
        2 => {
            let index = dice.below(rows);
            record.rows.remove(index);
            record.renumber();
            // The last batch has several rows, so it still has one after the removal.
            let last = record.last() - 1;
            let seal = record.seals.last_mut().expect("a seal");
            seal.insert("revision".to_owned(), last.into());
            format!("removed row {index}")
        }
        3 => {
            let (one, other) = dice.two(rows);
            swap(&mut record.rows, one, other);
            format!("swapped the rows {one} and {other}")
        }
        _ => {
            // The seal of a new record and at least one batch stay, because verification finds a record without any row
            // even without the given seal.
            let kept = 2 + dice.below(record.seals.len() - 2);
            record.seals.truncate(kept);
            let last = record.last();
            record.rows.retain(|row| number(row, "revision") <= last);
            format!("removed everything behind the seal of {last}")
        }
    };
    record.seal();
    what
}

/// Swaps two rows or seals, but leaves the revisions in their places.
fn swap(rows: &mut [Row], one: usize, other: usize) {
    rows.swap(one, other);
    let [revision, other_revision] = [one, other].map(|it| rows[it]["revision"].clone());
    rows[one].insert("revision".to_owned(), other_revision);
    rows[other].insert("revision".to_owned(), revision);
}

/// Gives the column another value that it can hold: null, the value of another row, or a similar one.
fn change_column(rows: &mut [Row], index: usize, column: &str, dice: &mut Dice) -> String {
    let old = rows[index][column].clone();
    let new = loop {
        let new = match (dice.below(3), &old) {
            (0, _) if !REQUIRED.contains(&column) => Value::Null,
            (1, _) => rows[dice.below(rows.len())][column].clone(),
            (2, Value::Number(_)) => {
                let distance = i64::try_from(1 + dice.below(1000)).expect("small");
                let distance = if dice.below(2) == 0 {
                    distance
                } else {
                    -distance
                };
                (number(&rows[index], column) + distance).into()
            }
            (2, Value::String(_)) => similar(text(&rows[index], column), dice).into(),
            _ => continue,
        };
        let is_free = || rows.iter().all(|row| row[column] != new);
        if new != old && (column != "revision" || is_free()) {
            break new;
        }
        // If the column is null in all rows, the loop finds no other value, so it ends with a value of the right type.
        if old.is_null() && dice.below(50) == 0 {
            break if column.starts_with("actor_") {
                7.into()
            } else {
                "7".into()
            };
        }
    };
    let what = format!("{column} of {index}: {old} is {new}");
    rows[index].insert(column.to_owned(), new);
    what
}

fn similar(old: &str, dice: &mut Dice) -> String {
    let mut new: Vec<_> = old.chars().collect();
    let place = dice.below(new.len() + 1);
    match dice.below(3) {
        0 if place < new.len() => drop(new.remove(place)),
        1 if place < new.len() => new[place] = dice.one(&['0', 'f', '=', ' ', 'x']),
        _ => new.insert(place, dice.one(&['0', 'f', '=', ' ', 'x'])),
    }
    new.into_iter().collect()
}

pub(super) fn has_erased(record: &StoredRecord, id: i64) -> bool {
    record
        .rows
        .iter()
        .any(|row| is_of_erasure(row) && row["user_id"] == id)
}

fn is_of_erasure(row: &Row) -> bool {
    row["event"] == "audit_erased"
}
