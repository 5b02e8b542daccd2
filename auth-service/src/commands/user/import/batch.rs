//! The next users of the input, those of them that can be inserted, and why the others cannot.

use super::{super::user_line::LineReader, lines::Lines, report::Report};
use crate::{
    host::failed,
    store::{UserRecord, UserStore},
};
use rolegate_service_runtime::program::Failure;
use std::{
    collections::{HashMap, HashSet},
    hash::{BuildHasher, RandomState},
};

/// Lines in one statement and, with `--continue`, in one transaction.
const MAX_LINES: usize = 1000;

/// Reads users and refuses those that an earlier line names. Remembers 8 bytes of each.
pub(super) struct BatchReader<'s> {
    pub(super) reader: LineReader<'s>,
    names: HashSet<u64>,
    ids: HashSet<i64>,
    digest: RandomState,
}

/// Users with the numbers of their lines.
pub(super) type Batch = Vec<(u64, UserRecord)>;

impl<'s> BatchReader<'s> {
    pub(super) fn new(reader: LineReader<'s>) -> Self {
        let (names, ids) = (HashSet::new(), HashSet::new());
        Self { reader, names, ids, digest: RandomState::new() }
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
                Ok(user) => batch.push((number, user)),
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

/// Keeps the users whose names and ids are free.
pub(super) async fn keep_free(
    batch: &mut Batch,
    store: &dyn UserStore,
    skip_existing: bool,
    report: &mut Report,
) -> Result<(), Failure> {
    let names: Vec<_> = batch.iter().map(|(_, user)| user.username.clone()).collect();
    let existing = store.credentials_by_username(&names).await.map_err(failed)?;
    let names: HashSet<_> = existing.value.into_iter().map(|found| found.user.username).collect();
    let ids: Vec<_> = batch.iter().filter_map(|(_, user)| user.id).collect();
    let with_ids = if ids.is_empty() {
        Vec::new()
    } else {
        store.users_by_id(&ids).await.map_err(failed)?.value
    };
    let ids: HashMap<_, _> = with_ids.into_iter().map(|user| (user.id, user.username)).collect();
    batch.retain(|(number, user)| {
        if names.contains(&user.username) {
            if skip_existing {
                report.skipped += 1;
            } else {
                report.bad_line(*number, &format!("the user {:?} exists already", user.username));
            }
            return false;
        }
        let owner = user.id.and_then(|id| ids.get(&id));
        if let Some(owner) = owner {
            report.bad_line(*number, &format!("the id is that of the user {owner:?}"));
        }
        owner.is_none()
    });
    Ok(())
}
