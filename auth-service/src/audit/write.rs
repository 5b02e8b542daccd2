//! Describes a change with its initiator and its request, and makes the entries for the log and the record. The
//! store receives a [`Write`] with each change, and inserts the rows of the record in the same transaction.

use super::{
    Change, Details, EndedCredentials, Entry,
    entry::{EntryActor, EventOrigin, UserState},
};
use crate::{
    actor::Actor,
    opaque_token::{OpaqueToken, TokenKind},
    user::User,
};
use rolegate_proto::Role;
use rolegate_telemetry::audit_line;

/// The value of the detail `by` for changes that the operator makes.
const OPERATOR: &str = "operator";

/// The person or credential that makes a change.
#[derive(Clone, Debug)]
pub(crate) enum Initiator {
    Actor(Actor),
    /// The changed user acts on their own account, so the line names the user only once.
    Owner {
        /// The id of the session by which the user acts; `None` if the user acts by no session.
        session: Option<i64>,
    },
    /// The users of sessions that a request revokes by presenting the tokens of these sessions.
    Sessions(Vec<User>),
    /// A person who has access to the database, and no account.
    Operator,
}

/// A change, its initiator and the request that caused it. The store records all three in the transaction of
/// the change.
#[derive(Clone, Debug)]
pub(crate) struct Write {
    change: Change,
    /// A second change in the same transaction, which gets an entry of its own.
    second: Option<Change>,
    initiator: Initiator,
    /// The id of the changed user; `None` for a new user, and for a change of several users.
    user_id: Option<i64>,
    origin: EventOrigin,
}

impl Write {
    pub(crate) fn new(change: Change, initiator: Initiator, user_id: Option<i64>) -> Self {
        Self {
            change,
            second: None,
            initiator,
            user_id,
            origin: EventOrigin::current(),
        }
    }

    /// Adds a second change to the same transaction; `None` adds nothing.
    pub(crate) fn with_second(self, second: Option<Change>) -> Self {
        Self { second, ..self }
    }

    /// Returns the write of another change by the same initiator in the same request.
    pub(crate) fn followed_by(self, change: Change) -> Self {
        Self {
            change,
            second: None,
            ..self
        }
    }

    /// Returns the entries of all changes of `user`, in the state after these changes.
    pub(crate) fn entries_for_user(&self, user: &User) -> Vec<Entry> {
        let mut entries = vec![self.entry_for_user(user)];
        if let Some(second) = self.second.clone() {
            entries.push(self.clone().followed_by(second).entry_for_user(user));
        }
        entries
    }

    /// Returns the entry of the change of `user`, in the state after this change.
    pub(crate) fn entry_for_user(&self, user: &User) -> Entry {
        let mut details = Details::default();
        match &self.change {
            Change::RoleChanged { from } => {
                details.from = Some(*from);
                details.to = Some(user.role);
            }
            Change::UserRenamed { from } => details.former_username = Some(from.clone()),
            Change::UserDeleted => {
                details.role = Some(user.role);
                details.user_created_at = Some(user.created_at.unwrap_or_default());
            }
            Change::UserCreated
            | Change::UserImported
            | Change::UserDisabled
            | Change::UserEnabled
            | Change::TokensRevoked => details.role = Some(user.role),
            _ => {}
        }
        let mut entry = self.entry(Some(user.id), Some(&user.username), details);
        if self.change.is_published() {
            entry.state = Some(UserState {
                role: user.role,
                disabled: user.disabled,
            });
        }
        entry
    }

    /// Returns the entry of a role change, for a store that changes the role without reading the user first.
    /// The state in the entry says that the user is enabled. The statement of the store corrects this if the
    /// user is disabled.
    pub(crate) fn entry_for_role(&self, user_id: i64, role: Role) -> Entry {
        let mut details = Details {
            to: Some(role),
            ..Details::default()
        };
        if let Change::RoleChanged { from } = self.change {
            details.from = Some(from);
        }
        let mut entry = self.entry(Some(user_id), None, details);
        entry.state = Some(UserState {
            role,
            disabled: false,
        });
        entry
    }

    /// Returns the entry of a change of `token`. `username` is needed only for the line of the log, because the
    /// store looks up the name for the row.
    pub(crate) fn entry_for_token(&self, token: &OpaqueToken, username: Option<&str>) -> Entry {
        let mut details = Details::default();
        match token.kind() {
            TokenKind::ApiKey => details.key_id = Some(token.id),
            TokenKind::Session => {
                details.session_id = Some(token.id);
                details.session = Some(token.prefix.clone());
            }
        }
        self.entry(Some(token.user_id), username, details)
    }

    /// Returns the entry of an erasure. `rows` is the number of rows from which the name or the addresses of
    /// the deleted user are erased.
    pub(crate) fn entry_for_erasure(&self, user_id: i64, rows: usize) -> Entry {
        let details = Details {
            rows: Some(rows),
            ..Details::default()
        };
        self.entry(Some(user_id), None, details)
    }

    /// Returns the entry that says that the credentials of all users were revoked. It names no user.
    pub(crate) fn entry_for_end(&self, ended: EndedCredentials) -> Entry {
        let details = Details {
            ended: Some(ended),
            ..Details::default()
        };
        self.entry(None, None, details)
    }

    fn entry(&self, user_id: Option<i64>, username: Option<&str>, details: Details) -> Entry {
        let mut entry = Entry {
            event: self.change.event(),
            user_id,
            username: username.map(str::to_owned),
            client_address: self.origin.client_address,
            request_id: self.origin.request_id.clone(),
            details,
            ..Entry::default()
        };
        match &self.initiator {
            Initiator::Actor(actor) => {
                entry.actor = Some(EntryActor::from(&actor.user));
                entry.actor_key = actor.key_id();
                entry.actor_session = actor.session_id();
            }
            Initiator::Owner { session } => {
                entry.by_owner = true;
                entry.actor_session = *session;
            }
            Initiator::Sessions(users) => {
                let user = users.iter().find(|user| Some(user.id) == user_id);
                entry.actor = user.map(EntryActor::from);
                entry.actor_session = entry.details.session_id;
            }
            Initiator::Operator => entry.details.by = Some(OPERATOR),
        }
        entry
    }

    /// Writes a log line for each change of `user`.
    pub(crate) fn log_user(&self, user: &User) {
        for entry in self.entries_for_user(user) {
            entry.log();
        }
    }

    /// Writes a log line for each of these changed tokens.
    pub(crate) fn log_tokens(&self, tokens: &[OpaqueToken], username: Option<&str>) {
        for token in tokens {
            self.entry_for_token(token, username).log();
        }
    }

    /// Logs that the database has not answered the commit. The change may have been made, may still be made, or
    /// may be lost.
    pub(crate) fn log_unknown_outcome(&self) {
        let mut actor_id = None;
        let mut by = None;
        match &self.initiator {
            Initiator::Actor(actor) => actor_id = Some(actor.user.id),
            Initiator::Owner { .. } => actor_id = self.user_id,
            Initiator::Sessions(_) => {}
            Initiator::Operator => by = Some(OPERATOR),
        }
        let change = self.change.event();
        audit_line!(
            "outcome_unknown",
            change,
            user_id = self.user_id,
            actor_id,
            by
        );
    }
}
