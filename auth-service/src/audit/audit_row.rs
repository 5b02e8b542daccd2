//! A row of the record, and the digest that represents the row in its seal.
//!
//! The digest contains names and addresses only as salted digests. An erasure removes a name and its salt, and leaves
//! the salted digest. So the seals still match, but without the salt, nobody can check a guessed name against the
//! digest.

use super::USER_RENAMED;
use crate::former_username::{FORMER_DIGEST, FormerUsername, generate_salt, salted_digest};
use rolegate_program::request_context::RequestContext;
use rolegate_sql_store::row;
use serde::Serialize;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use std::io;

/// The events whose rows may follow a gap in the revisions: those of [`BulkChange::Restore`](super::BulkChange::Restore)
/// and [`BulkChange::EndAll`](super::BulkChange::EndAll).
const GAP_EVENTS: [&str; 2] = ["restored", "all_ended"];

row! {
    /// A row of the record, with all columns of the table `audit`.
    ///
    /// The values that are not assigned before the row is sealed are left out of the JSON of an unsealed row, because
    /// an import inserts many of these rows.
    #[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
    pub(crate) struct AuditRow {
        /// The position of the row in the order of sealing. For the rows of one user, this is the order of the commits.
        /// Revisions have gaps only before a row whose event is `restored` or `all_ended`.
        #[serde(skip_serializing_if = "is_unassigned")]
        pub(crate) revision: i64,
        /// The position of the row in the order of the inserts. Ids have gaps.
        #[serde(skip_serializing_if = "is_unassigned")]
        pub(crate) id: i64,
        /// The time at which the row was written, in Unix seconds.
        pub(crate) at: i64,
        pub(crate) event: String,
        pub(crate) user_id: Option<i64>,
        pub(crate) username: Option<String>,
        pub(crate) actor_id: Option<i64>,
        pub(crate) actor: Option<String>,
        pub(crate) actor_key: Option<i64>,
        pub(crate) actor_session: Option<i64>,
        pub(crate) client_address: Option<String>,
        pub(crate) request_id: Option<String>,
        /// The details of the event, as a JSON object.
        pub(crate) details: String,
        /// The [`UserState`](super::UserState) of the user after a change that other services follow; `None` for all
        /// other events.
        pub(crate) state: Option<String>,
        /// The former name of a renamed user, as [`FormerUsername::to_stored`] encodes it.
        pub(crate) former_username: Option<String>,
        /// Two commitments with a space between them: one to the username, and one to the actor's name and address.
        /// Each is a salt in hex. An erasure replaces the salt by the digests of the erased values, each after a `=`.
        #[serde(skip_serializing_if = "String::is_empty")]
        pub(crate) commitments: String,
    }
}

/// Evidence that a row was changed or removed after it was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("revision {revision}: {problem}")]
pub(crate) struct Tampering {
    pub(crate) revision: i64,
    pub(crate) problem: &'static str,
}

/// The salted digests of the values that an erasure can remove from a row.
struct CommittedDigests {
    username: String,
    actor: String,
    client_address: String,
}

impl AuditRow {
    /// Returns an empty row with the client address and the id of the request that the current task serves, if it
    /// serves one.
    pub(super) fn of_current_request() -> Self {
        let row = RequestContext::with_current(|current| Self {
            client_address: current.client_address.map(|address| address.to_string()),
            request_id: current.request_id.to_str().ok().map(str::to_owned),
            ..Self::default()
        });
        row.unwrap_or_default()
    }

    /// Returns whether the row declares a gap in the record between `revision` and its own revision. Such a row records
    /// that all credentials were ended, and its details name the last revision before the gap.
    pub(crate) fn follows_gap_after(&self, revision: i64) -> bool {
        if !GAP_EVENTS.contains(&&*self.event) || self.revision <= revision {
            return false;
        }
        parse_details(&self.details)["after_revision"] == revision
    }

    /// Checks that the former name of a renamed user matches the digest in the details, because the seal covers only
    /// that digest. In a row from which the name was erased, the former name must be missing.
    pub(crate) fn check_former_username(&self) -> Result<(), Tampering> {
        let details = parse_details(&self.details);
        let recorded = details[FORMER_DIGEST].as_str();
        let [erased_user_id, _] = self.erased_ids();
        let is_erased = erased_user_id.is_some();
        let problem = match &self.former_username {
            None if recorded.is_none() || is_erased => return Ok(()),
            None => {
                "the former name is missing: it was removed, or a replica of the previous release sealed the row"
            }
            Some(_) if is_erased => "an erased value is there again",
            Some(stored) => {
                let digest = FormerUsername::from_stored(stored).map(|former| former.digest());
                if digest.is_some() && digest.as_deref() == recorded {
                    return Ok(());
                }
                "the former name was changed"
            }
        };
        Err(self.tampering(problem))
    }

    /// Returns the details as readers of the record see them. In a row about a renaming, the former and the new name
    /// replace the digest of the former name. A name that was erased is left out.
    pub(crate) fn readable_details(&self) -> String {
        if self.event != USER_RENAMED {
            return self.details.clone();
        }
        let Ok(Value::Object(mut details)) = serde_json::from_str(&self.details) else {
            return self.details.clone();
        };
        details.remove(FORMER_DIGEST);
        let stored = self.former_username.as_deref();
        if let Some(former) = stored.and_then(FormerUsername::from_stored) {
            details.insert("from".to_owned(), former.name.into());
        }
        if let Some(username) = self.username.clone() {
            details.insert("to".to_owned(), username.into());
        }
        Value::Object(details).to_string()
    }

    /// Gives the row two new random salts, before it is sealed. Fails if the system provides no random bytes.
    pub(crate) fn generate_salts(&mut self) -> io::Result<()> {
        self.commitments = format!("{} {}", generate_salt()?, generate_salt()?);
        Ok(())
    }

    /// Returns the digest by which the seal covers the row. Fails if the commitments of the row are malformed, or if a
    /// value is present that an erasure had removed.
    pub(crate) fn digest(&self) -> Result<[u8; 32], Tampering> {
        let committed = self.committed_digests()?;
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
            [
                committed.username,
                committed.actor,
                committed.client_address
            ],
        ]);
        Ok(Sha256::digest(row.to_string()).into())
    }

    fn committed_digests(&self) -> Result<CommittedDigests, Tampering> {
        let (user_commitment, actor_commitment) = self
            .commitments
            .split_once(' ')
            .ok_or(self.tampering("the salts are malformed"))?;
        let digest = |commitment, value, erased_digest| {
            committed_digest(commitment, value, erased_digest)
                .map_err(|problem| self.tampering(problem))
        };
        Ok(CommittedDigests {
            username: digest(user_commitment, self.username.as_deref(), |digests| {
                (!digests.contains('=')).then_some(digests)
            })?,
            actor: digest(actor_commitment, self.actor.as_deref(), |digests| {
                digests.split_once('=').map(|(actor, _)| actor)
            })?,
            client_address: digest(
                actor_commitment,
                self.client_address.as_deref(),
                |digests| digests.split_once('=').map(|(_, address)| address),
            )?,
        })
    }

    /// Returns the ids of the users whose names were erased from this row: first that of the user whom the row is
    /// about, then that of the actor. An id is `None` if that name was not erased, and 0 if the row has no id. In a row
    /// without an actor, the second id is also that of the user.
    pub(crate) fn erased_ids(&self) -> [Option<i64>; 2] {
        let (user_commitment, actor_commitment) =
            self.commitments.split_once(' ').unwrap_or_default();
        let actor_id = self.actor_id.or(self.user_id);
        [
            (user_commitment, self.user_id),
            (actor_commitment, actor_id),
        ]
        .map(|(commitment, id)| commitment.starts_with('=').then(|| id.unwrap_or_default()))
    }

    /// Removes the name of this user from the row, and stores its salted digest instead of the salt. Also removes the
    /// client address in this way if this user acted, or if an unknown client acted on this user. Fails if the row was
    /// tampered with, and then leaves the row as it is.
    pub(crate) fn erase(&mut self, user_id: i64) -> Result<(), Tampering> {
        let digests = self.committed_digests()?;
        let (user_commitment, actor_commitment) =
            self.commitments.split_once(' ').unwrap_or_default();
        let mut user_commitment = user_commitment.to_owned();
        let mut actor_commitment = actor_commitment.to_owned();
        if self.user_id == Some(user_id) {
            user_commitment = format!("={}", digests.username);
            self.username = None;
            self.former_username = None;
        }
        if self.actor_id.or(self.user_id) == Some(user_id) {
            actor_commitment = format!("={}={}", digests.actor, digests.client_address);
            self.actor = None;
            self.client_address = None;
        }
        self.commitments = format!("{user_commitment} {actor_commitment}");
        Ok(())
    }

    fn tampering(&self, problem: &'static str) -> Tampering {
        Tampering {
            revision: self.revision,
            problem,
        }
    }
}

/// Parses the details of a row. Details that are not JSON, because the row was tampered with, become `null`.
pub(crate) fn parse_details(details: &str) -> Value {
    serde_json::from_str(details).unwrap_or_default()
}

/// Returns whether a revision or an id is not assigned yet. Both begin with 1.
#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes a reference"
)]
fn is_unassigned(number: &i64) -> bool {
    *number == 0
}

/// Returns the digest of a value with the salt in its commitment, or the digest that an erasure has left in the
/// commitment. `erased_digest` selects the digest of this value from those that the erasure has left. Fails if an
/// erased value is present, or if its digest is missing.
fn committed_digest(
    commitment: &str,
    value: Option<&str>,
    erased_digest: fn(&str) -> Option<&str>,
) -> Result<String, &'static str> {
    let Some(digests) = commitment.strip_prefix('=') else {
        return Ok(salted_digest(commitment, &value));
    };
    if value.is_some() {
        return Err("an erased value is there again");
    }
    erased_digest(digests)
        .map(str::to_owned)
        .ok_or("the digests of the erased values are malformed")
}
