use super::{ADDITION_SECONDS, MemoryStore, Users};
use crate::{
    audit::{AuditRow, Entry, UserState},
    store::{
        AuditFilter, AuditStore, CheckedChange, CheckedRow, Seal, SealReference, Snapshot,
        StoreError, UnreadableColumn, UserChange, seal::SealRange,
    },
    user::User,
};
use async_trait::async_trait;
use futures_util::{StreamExt as _, stream::iter};
use serde_json::Value;
use std::{future::pending, time::Duration};

/// The maximum number of changes that one call returns. A statement of the SQL store has the same limit.
const MAX_CHANGES: usize = 500;

/// Returns the revision of the row at this index.
fn revision(index: usize) -> i64 {
    i64::try_from(index + 1).expect("few rows")
}

/// Returns the seal of a revision. Here, every revision ends a batch.
fn seal(revision: i64) -> Seal {
    let digest = if revision == 0 {
        String::new()
    } else {
        format!("{revision:064x}")
    };
    Seal {
        revision,
        at: 0,
        digest,
    }
}

fn row(index: usize, entry: &Entry) -> AuditRow {
    AuditRow {
        revision: revision(index),
        id: revision(index),
        ..entry.row.clone()
    }
}

/// Returns the reason why the row of this revision cannot be read; `None` if it can be read.
fn unreadable(users: &Users, revision: i64) -> Option<UnreadableColumn> {
    (users.unreadable == Some(revision)).then(|| UnreadableColumn {
        column: "details".to_owned(),
        problem: "a test wants it".to_owned(),
    })
}

#[async_trait]
impl AuditStore for MemoryStore {
    fn enqueue_event(&self, entry: Entry) {
        self.users()
            .into_iter()
            .for_each(|mut users| users.record.push(entry.clone()));
    }

    async fn seal(&self) -> Result<bool, StoreError> {
        let mut users = self.users_unless_failing("seal")?;
        users.sealed = users.record.len();
        Ok(false)
    }

    async fn newest_change(&self) -> Result<i64, StoreError> {
        let last = self.changes_after(0).await?.pop();
        Ok(last.map_or(0, |change| change.revision))
    }

    async fn seals(&self) -> Result<SealRange, StoreError> {
        let users = self.users()?;
        let newest = i64::try_from(users.sealed).expect("few rows");
        Ok(SealRange {
            oldest: seal(users.removed),
            newest: seal(newest),
        })
    }

    async fn seal_at(&self, revision: i64) -> Result<Option<Seal>, StoreError> {
        let newest = i64::try_from(self.users()?.sealed).expect("few rows");
        Ok((0..=newest).contains(&revision).then(|| seal(revision)))
    }

    async fn has_revision(&self, revision: i64) -> Result<bool, StoreError> {
        Ok(self.seal_at(revision).await?.is_some())
    }

    async fn audit(&self, filter: &AuditFilter) -> Result<Vec<CheckedRow>, StoreError> {
        let users = self.users()?;
        let rows = users.record[..users.sealed].iter().enumerate().rev();
        let rows = rows.map(|(index, entry)| row(index, entry)).filter(|row| {
            filter.before.is_none_or(|before| row.revision < before)
                && filter.user_id.is_none_or(|id| row.user_id == Some(id))
                && filter.actor_id.is_none_or(|id| row.actor_id == Some(id))
                && (filter.event.is_empty() || row.event == filter.event)
        });
        let rows = rows.map(|row| match unreadable(&users, row.revision) {
            Some(problem) => CheckedRow {
                revision: row.revision,
                at: Some(row.at),
                content: Err(problem),
            },
            None => row.into(),
        });
        Ok(rows
            .take(usize::try_from(filter.limit).unwrap_or(0))
            .collect())
    }

    async fn changes_after(&self, after: i64) -> Result<Vec<CheckedChange>, StoreError> {
        let users = self.users()?;
        let changes =
            users.record[..users.sealed]
                .iter()
                .enumerate()
                .filter_map(|(index, entry)| {
                    let it = &entry.row;
                    let state: UserState = it.state.as_deref()?.parse().ok()?;
                    let details: Value = serde_json::from_str(&it.details).ok()?;
                    Some(UserChange {
                        revision: revision(index),
                        seal: SealReference::new(&seal(revision(index))),
                        user_id: it.user_id?,
                        username: it.username.clone()?,
                        role: state.role,
                        disabled: state.disabled,
                        deleted: it.event == "user_deleted",
                        created_at: details["user_created_at"].as_u64(),
                    })
                });
        let first = after.max(users.removed);
        Ok(changes
            .filter(|change| change.revision > first)
            .take(MAX_CHANGES)
            .map(|change| CheckedChange {
                revision: change.revision,
                content: match unreadable(&users, change.revision) {
                    Some(problem) => Err(problem),
                    None => Ok(change),
                },
            })
            .collect())
    }

    async fn snapshot(&self) -> Result<Snapshot, StoreError> {
        if self.users()?.stalled == Some("snapshot") {
            return pending().await;
        }
        let mut users = self.users()?;
        users.sealed = users.record.len();
        let all: Vec<User> = users.by_id.values().map(|row| row.user.clone()).collect();
        let revision = i64::try_from(users.sealed).expect("few rows");
        Ok(Snapshot {
            revision,
            seal: SealReference::new(&seal(revision)),
            users: iter([Ok(all)]).boxed(),
        })
    }

    async fn oldest_unsealed(&self) -> Result<Option<Duration>, StoreError> {
        self.users().map(|_| None)
    }

    async fn remove_old_rows(&self, _days: u32) -> Result<(), StoreError> {
        self.users_unless_failing("remove_old_rows")?.removals += 1;
        Ok(())
    }

    async fn forget_additions(&self) -> Result<(), StoreError> {
        let mut users = self.users_unless_failing("forget_additions")?;
        let now = users.now;
        let seconds = ADDITION_SECONDS.unsigned_abs();
        users.additions.retain(|(_, at)| at + seconds > now);
        Ok(())
    }
}
