//! The next users of the input, and what is wrong with the other lines.

use super::{super::user_line::LineReader, lines::Lines, report::Report};
use crate::{host::failed, store::UserRecord};
use rolegate_program::program::Failure;
use std::{
    collections::HashSet,
    hash::{BuildHasher, RandomState},
};

/// Lines in one statement and, with `--continue`, in one transaction.
const MAX_LINES: usize = 1000;

/// Reads users and refuses those that an earlier line names. Remembers 16 bytes of each.
pub(super) struct BatchReader<'s> {
    pub(super) reader: LineReader<'s>,
    names: HashSet<u64>,
    /// `None` in the second reading, which repeats no warning.
    names_in_lower_case: Option<HashSet<u64>>,
    ids: HashSet<i64>,
    digest: RandomState,
}

/// Users with the numbers of their lines.
pub(super) type Batch = Vec<(u64, UserRecord)>;

impl<'s> BatchReader<'s> {
    pub(super) fn new(reader: LineReader<'s>, warns: bool) -> Self {
        let (names, ids) = (HashSet::new(), HashSet::new());
        let names_in_lower_case = warns.then(HashSet::new);
        Self { reader, names, names_in_lower_case, ids, digest: RandomState::new() }
    }

    /// The next users; `None` at the end.
    pub(super) async fn next(
        &mut self,
        lines: &mut Lines,
        report: &mut Report,
    ) -> Result<Option<Batch>, Failure> {
        let mut batch = Vec::new();
        for count in 0..MAX_LINES {
            let Some(line) = lines.next().await.map_err(failed)? else {
                return Ok((count > 0).then_some(batch));
            };
            let number = line.number;
            let user = line.text.ok_or_else(|| "has more than 16 KiB".to_owned());
            match user.and_then(|text| self.read(text)) {
                Ok(user) => {
                    if let Some(names) = &mut self.names_in_lower_case
                        && !names.insert(self.digest.hash_one(user.username.to_lowercase()))
                    {
                        report.similar_username(number, &user.username);
                    }
                    batch.push((number, user));
                }
                Err(reason) => report.bad_line(number, &reason),
            }
        }
        report.read_to(lines.position);
        Ok(Some(batch))
    }

    fn read(&mut self, line: &[u8]) -> Result<UserRecord, String> {
        let user = self.reader.read(line)?;
        if !self.names.insert(self.digest.hash_one(&user.username)) {
            return Err("has the username of an earlier line".to_owned());
        }
        if user.id.is_some_and(|id| !self.ids.insert(id)) {
            return Err("has the id of an earlier line".to_owned());
        }
        Ok(user)
    }
}
