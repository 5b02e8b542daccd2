//! The digests that seal the record: rows, and the chain of their batches.
//!
//! A row commits to salted digests of names and addresses. Erasing them leaves the digests and removes the
//! salts, so that names cannot be guessed and compared.

use super::AuditRow;
use crate::audit::{FORMER_DIGEST, FormerUsername, USER_RENAMED, salted_digest};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use std::{fmt, str::FromStr};

const SALT_BYTES: usize = 16;

/// How many revisions are skipped when all credentials are ended. After a restore, the lost history may have used the
/// revisions that follow the backup. A watcher that stored one of them finds it missing from the record, and so learns that
/// the history was lost. The number exceeds the rows that any record gets between two backups.
pub(crate) const REVISION_GAP: i64 = 1_000_000_000;

/// The events of rows that may follow a gap: those of [`Change::Restored`](crate::audit::Change::Restored) and
/// [`Change::AllEnded`](crate::audit::Change::AllEnded).
const GAP_EVENTS: [&str; 2] = ["restored", "all_ended"];

/// The events of rows that say which rows are missing before the oldest seal: retention has removed them, or they were
/// removed before such rows were written.
pub(crate) const REMOVAL_EVENTS: [&str; 2] = ["audit_pruned", "audit_begins"];

/// The end of a batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Seal {
    /// Of its last row.
    pub(crate) revision: i64,
    /// When its last row was written, in Unix seconds.
    pub(crate) at: i64,
    /// SHA-256 of the seal before and of the rows since, in hex.
    pub(crate) digest: String,
}

impl Seal {
    /// Whether it is the seal before the first row of a record from which nothing was removed.
    pub(crate) fn is_first(&self) -> bool {
        self.digest.is_empty()
    }

    /// The seal of these rows, which follow this one.
    pub(crate) fn next(&self, rows: &[AuditRow]) -> Result<Self, Broken> {
        let mut chain = Sha256::new_with_prefix(&self.digest).chain_update(self.at.to_be_bytes());
        let mut next = self.clone();
        for row in rows {
            if row.revision != next.revision + 1 && !row.follows_gap_after(next.revision) {
                return Err(Broken {
                    revision: next.revision + 1,
                    what: "the row is missing",
                });
            }
            chain.update(row.digest()?);
            (next.revision, next.at) = (row.revision, row.at.max(next.at));
        }
        chain.update(next.at.to_be_bytes());
        Ok(Self {
            digest: hex::encode(chain.finalize()),
            ..next
        })
    }
}

/// A seal as it is known outside of the database: `revision:digest`, as in a line `audit_sealed` of the log. Whoever
/// keeps the last one that they saw recognizes another record, even one with the same revisions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SealReference {
    pub(crate) revision: i64,
    /// 64 hex digits in lower case.
    pub(crate) digest: String,
}

impl fmt::Display for SealReference {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}:{}", self.revision, self.digest)
    }
}

impl SealReference {
    /// The reference of a seal; `None` for the first one of a record, which every record has.
    pub(crate) fn of(seal: &Seal) -> Option<Self> {
        (!seal.is_first()).then(|| Self {
            revision: seal.revision,
            digest: seal.digest.clone(),
        })
    }

    /// Whether this is the seal that is meant.
    pub(crate) fn is_of(&self, seal: &Seal) -> bool {
        self.revision == seal.revision && self.digest == seal.digest
    }
}

impl FromStr for SealReference {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let malformed = "must be revision:digest, as in a line audit_sealed of the log";
        let (revision, digest) = text.split_once(':').ok_or(malformed)?;
        let revision = revision.parse().map_err(|_| malformed)?;
        let is_digest = digest.len() == 64 && digest.bytes().all(|byte| byte.is_ascii_hexdigit());
        let digest = digest.to_ascii_lowercase();
        if is_digest {
            Ok(Self { revision, digest })
        } else {
            Err(malformed)
        }
    }
}

/// A row that is not as it was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("revision {revision}: {what}")]
pub(crate) struct Broken {
    pub(crate) revision: i64,
    pub(crate) what: &'static str,
}

impl AuditRow {
    /// Whether the row follows a declared gap: it ended all credentials, and its details name this revision as the last one
    /// before it.
    fn follows_gap_after(&self, revision: i64) -> bool {
        let leaves_gap = GAP_EVENTS.contains(&&*self.event) && self.revision > revision;
        leaves_gap
            && serde_json::from_str::<Value>(&self.details)
                .is_ok_and(|details| details["after_revision"] == revision)
    }

    /// Checks the former name of a renaming, which the seal covers by its digest in the details.
    pub(crate) fn check_former_username(&self) -> Result<(), Broken> {
        let details = serde_json::from_str::<Value>(&self.details).unwrap_or_default();
        let recorded = details[FORMER_DIGEST].as_str();
        let [erased, _] = self.erased();
        let what = match &self.former_username {
            None if recorded.is_none() || erased.is_some() => return Ok(()),
            None => {
                "the former name is missing: somebody removed it, or a replica of the version before sealed the row"
            }
            Some(_) if erased.is_some() => "what was erased is there again",
            Some(stored) => {
                let digest = FormerUsername::from_stored(stored).map(|former| former.digest());
                if digest.as_deref() == recorded && recorded.is_some() {
                    return Ok(());
                }
                "the former name was changed"
            }
        };
        Err(Broken {
            revision: self.revision,
            what,
        })
    }

    /// The details for readers: those of a renaming have both names, as far as these are not erased.
    pub(crate) fn readable_details(&self) -> String {
        let details = serde_json::from_str(&self.details);
        let (USER_RENAMED, Ok(Value::Object(mut details))) = (&*self.event, details) else {
            return self.details.clone();
        };
        details.remove(FORMER_DIGEST);
        let former = self.former_username.as_deref();
        let from = former.and_then(FormerUsername::from_stored);
        details.extend(from.map(|from| ("from".to_owned(), from.name.into())));
        let to = self.username.clone();
        details.extend(to.map(|to| ("to".to_owned(), to.into())));
        Value::Object(details).to_string()
    }

    /// Two new salts, before the row is sealed.
    pub(crate) fn salt(&mut self) -> Result<(), getrandom::Error> {
        let mut salts = [[0; SALT_BYTES]; 2];
        for salt in &mut salts {
            getrandom::fill(salt)?;
        }
        self.commitments = salts.map(hex::encode).join(" ");
        Ok(())
    }

    fn digest(&self) -> Result<[u8; 32], Broken> {
        let row = json!([
            self.revision,
            self.id,
            self.at,
            self.event,
            self.user_id,
            self.actor_id,
            self.actor_key,
            self.actor_session,
            self.request_id,
            self.details,
            self.state,
            self.committed()?,
        ]);
        Ok(Sha256::digest(row.to_string()).into())
    }

    /// The salted digests of the user's name, and of the actor's name and address.
    fn committed(&self) -> Result<[String; 3], Broken> {
        let broken = |what| Broken {
            revision: self.revision,
            what,
        };
        let (user, actor) = self
            .commitments
            .split_once(' ')
            .ok_or(broken("the salts are malformed"))?;
        let values = [
            (user, &self.username),
            (actor, &self.actor),
            (actor, &self.client_address),
        ];
        let mut digests = [const { String::new() }; 3];
        for (index, (commitment, value)) in values.into_iter().enumerate() {
            digests[index] = match commitment.strip_prefix('=') {
                None => salted_digest(commitment, value),
                Some(_) if value.is_some() => return Err(broken("what was erased is there again")),
                // The second half is that of the address.
                Some(erased) => match (index, erased.split_once('=')) {
                    (2, Some((_, address))) => address.to_owned(),
                    (1, Some((actor, _))) => actor.to_owned(),
                    (0, None) => erased.to_owned(),
                    _ => return Err(broken("the digests of what was erased are malformed")),
                },
            };
        }
        Ok(digests)
    }

    /// Whose name is erased, as user and as actor; 0 where nobody is named.
    pub(crate) fn erased(&self) -> [Option<i64>; 2] {
        let (user, actor) = self.commitments.split_once(' ').unwrap_or_default();
        let actor_id = self.actor_id.or(self.user_id);
        [(user, self.user_id), (actor, actor_id)]
            .map(|(commitment, id)| commitment.starts_with('=').then(|| id.unwrap_or_default()))
    }

    /// Removes the name of this user, and the address from which they acted or somebody unknown acted on
    /// them; the digests stay.
    pub(crate) fn erase(&mut self, user_id: i64) -> Result<(), Broken> {
        let [user, actor, address] = self.committed()?;
        let (mut of_user, mut of_actor) = {
            let (of_user, of_actor) = self.commitments.split_once(' ').unwrap_or_default();
            (of_user.to_owned(), of_actor.to_owned())
        };
        if self.user_id == Some(user_id) {
            (of_user, self.username) = (format!("={user}"), None);
            self.former_username = None;
        }
        if self.actor_id.or(self.user_id) == Some(user_id) {
            of_actor = format!("={actor}={address}");
            (self.actor, self.client_address) = (None, None);
        }
        self.commitments = format!("{of_user} {of_actor}");
        Ok(())
    }
}

#[cfg(test)]
mod tests;
