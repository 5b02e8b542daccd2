//! A change with the principal who makes it and the request that caused it. The entries of the log and the record are
//! made from all three. The store inserts the rows in the transaction of the change.

mod groups;

use super::{
    AUDIT_ERASED, AuditRow, EndedCredentials, Entry, USER_RENAMED, UserState,
    events::{MEMBERSHIP_REMOVED, MEMBERSHIP_SET, PUBLISHED, USER_END_SET},
};
use crate::{
    change::{Change, TokenChange, UserUpdate},
    former_username::FORMER_DIGEST,
    group::{Membership, format_end},
    principal::Principal,
    tokens::{OpaqueToken, TokenKind},
    user::User,
};
use rolegate_program::audit_line;
use rolegate_proto::Role;
use serde_json::{Value, json};

/// A change, who makes it and which request caused it. The store records it in the transaction of the change.
#[derive(Debug)]
pub(crate) struct Requested<C> {
    pub(crate) by: Principal,
    pub(crate) change: C,
    /// A row with the columns that say which request it is, and otherwise empty.
    origin: AuditRow,
}

/// A change by the operator that is not about one user.
#[derive(Clone, Copy, Debug)]
pub(crate) enum BulkChange {
    /// Inserts users from a file.
    Import,
    /// Erases the usernames and addresses of a deleted user from the record.
    Erase,
    /// Ends all sessions, password links and tokens of all users, in a database that is in use.
    EndAll,
    /// Ends the same in a database that was restored from a backup.
    Restore,
}

/// The use of a recovery code by this user.
pub(crate) struct RecoveryCodeUse {
    pub(crate) user: User,
}

impl<C> Requested<C> {
    pub(crate) fn new(by: Principal, change: C) -> Self {
        Self {
            by,
            change,
            origin: AuditRow::of_current_request(),
        }
    }

    /// Returns another change by the same principal in the same request.
    pub(crate) fn followed_by(&self, change: C) -> Self {
        Self {
            by: self.by.clone(),
            change,
            origin: self.origin.clone(),
        }
    }

    /// Returns the entry of an event of this user, who is given as the change left the user.
    fn entry_for_user(&self, event: &str, user: &User, details: Value) -> Entry {
        let mut entry = self.entry(event, Some(user.id), Some(&user.username), details);
        if PUBLISHED.contains(&event) {
            let state = UserState {
                role: user.role,
                disabled: user.disabled,
            };
            entry.row.state = Some(state.to_string());
        }
        entry
    }

    fn entry(
        &self,
        event: &str,
        user_id: Option<i64>,
        username: Option<&str>,
        mut details: Value,
    ) -> Entry {
        if let Principal::Operator = self.by {
            details["by"] = "operator".into();
        }
        let row = AuditRow {
            event: event.to_owned(),
            user_id,
            username: username.map(str::to_owned),
            ..self.origin.clone()
        };
        let mut entry = Entry::new(row, details);
        match &self.by {
            Principal::Admin(actor) => {
                entry.set_actor(&actor.user);
                entry.set_credential(actor);
            }
            Principal::Owner(actor) => {
                entry.set_owner_as_actor();
                entry.set_credential(actor);
            }
            Principal::Claimant
            | Principal::Login { .. }
            | Principal::PendingSignIn { .. }
            | Principal::Link { .. } => entry.set_owner_as_actor(),
            Principal::Sessions(users) => {
                if let Some(user) = users.iter().find(|user| Some(user.id) == user_id) {
                    entry.set_actor(user);
                }
                entry.row.actor_session = entry.details["session_id"].as_i64();
            }
            Principal::Operator => {}
        }
        entry
    }

    /// Logs that the outcome of the change is unknown, because the database has not answered its commit. The change may
    /// be made now, later or never.
    fn log_unknown_outcome(&self, change: &'static str, user_id: Option<i64>) {
        // The entry only says who acts: it is neither logged nor stored.
        let entry = self.entry(change, user_id, None, json!({}));
        let actor_id = entry.row.actor_id;
        let by = entry.details["by"].as_str();
        audit_line!("outcome_unknown", change, user_id, actor_id, by);
    }
}

impl Requested<Change> {
    /// Returns the event of the change, or the first one if it has several.
    fn event(&self) -> &'static str {
        match &self.change {
            Change::CreateUser(_) => match self.by {
                Principal::Claimant => "registered",
                _ => "user_created",
            },
            Change::SetRole { .. } => "role_changed",
            Change::Update { update, .. } => match (&update.rename, update.disabled) {
                (Some(_), _) => USER_RENAMED,
                (None, Some(disabled)) => state_event(disabled),
                (None, None) => USER_END_SET,
            },
            Change::SetMembership { to, .. } => match to {
                Some(_) => MEMBERSHIP_SET,
                None => MEMBERSHIP_REMOVED,
            },
            Change::RevokeTokens { .. } | Change::RevokeTokensAgain { .. } => "tokens_revoked",
            Change::DeleteUser { .. } => "user_deleted",
            Change::SetPassword { .. } => match self.by {
                Principal::Owner(_) => "password_changed",
                Principal::Link { .. } => "password_set_by_link",
                _ => "password_set",
            },
            Change::CreatePasswordLink { .. } => "password_link_created",
            Change::BeginSecondFactor { .. } => "second_factor_begun",
            Change::TurnOnSecondFactor { .. } => "second_factor_enabled",
            Change::TurnOffSecondFactor { .. } => match self.by {
                Principal::Owner(_) => "second_factor_disabled",
                _ => "second_factor_removed",
            },
        }
    }

    /// Returns the entries of the change of `user`, who is given as the change left the user. All lines of the log are
    /// made from them, and all rows except that of a role change on PostgreSQL: see [`Self::entry_for_role`].
    pub(crate) fn entries(&self, user: &User) -> Vec<Entry> {
        if let Change::Update { update, .. } = &self.change {
            return self.update_entries(update, user);
        }
        let event = self.event();
        let role = user.role.as_str();
        let details = match &self.change {
            Change::SetRole { from, to, .. } => role_details(*from, *to),
            Change::SetMembership {
                group, from, to, ..
            } => json!({ "group": group.as_str(), "from": end_of(*from), "to": end_of(*to) }),
            Change::DeleteUser { .. } => {
                json!({ "role": role, "user_created_at": user.created_at.unwrap_or_default() })
            }
            Change::CreateUser(_)
            | Change::RevokeTokens { .. }
            | Change::RevokeTokensAgain { .. }
                if event != "registered" =>
            {
                json!({ "role": role })
            }
            _ => json!({}),
        };
        let mut entries = vec![self.entry_for_user(event, user, details)];
        // A logout names its actor even if users log themselves out.
        if let (Change::RevokeTokens { .. }, Principal::Owner(actor)) = (&self.change, &self.by) {
            entries[0].set_actor(&actor.user);
        }
        entries
    }

    /// Returns an entry for each part of an update of `user`.
    fn update_entries(&self, update: &UserUpdate, user: &User) -> Vec<Entry> {
        let mut entries = Vec::new();
        if let Some(rename) = &update.rename {
            let details = json!({ FORMER_DIGEST: rename.from.digest() });
            let mut entry = self.entry_for_user(USER_RENAMED, user, details);
            entry.row.former_username = Some(rename.from.to_stored());
            entries.push(entry);
        }
        if let Some(disabled) = update.disabled {
            let details = json!({ "role": user.role.as_str() });
            entries.push(self.entry_for_user(state_event(disabled), user, details));
        }
        if let Some(end) = update.end {
            let details = json!({ "from": format_end(end.from), "to": format_end(end.to) });
            entries.push(self.entry_for_user(USER_END_SET, user, details));
        }
        entries
    }

    /// Returns the entry of a role change for a statement that changes the role and inserts the row at once, before the
    /// store knows the changed user. The entry says that the user is enabled, and the statement adds the real state.
    pub(crate) fn entry_for_role(&self, user_id: i64, from: Role, to: Role) -> Entry {
        let details = role_details(from, to);
        let mut entry = self.entry(self.event(), Some(user_id), None, details);
        let state = UserState {
            role: to,
            disabled: false,
        };
        entry.row.state = Some(state.to_string());
        entry
    }

    pub(crate) fn log(&self, user: &User) {
        for entry in self.entries(user) {
            entry.log();
        }
    }

    pub(crate) fn log_outcome_unknown(&self) {
        self.log_unknown_outcome(self.event(), self.change.user_id());
    }
}

impl Requested<TokenChange> {
    fn event(&self) -> &'static str {
        match &self.change {
            TokenChange::Create(new) => match new.kind {
                TokenKind::ApiKey => "api_key_created",
                TokenKind::Session => "session_created",
            },
            TokenChange::Delete { kind, .. } if *kind == TokenKind::ApiKey => "api_key_deleted",
            TokenChange::Delete { .. } | TokenChange::EndSessions { .. } => "session_ended",
        }
    }

    /// Returns the entry of the change of `token`. The username is only needed for the line of the log: the store looks
    /// up the name for the row.
    pub(crate) fn entry_for_token(&self, token: &OpaqueToken, username: Option<&str>) -> Entry {
        let details = match token.kind() {
            TokenKind::ApiKey => json!({ "key_id": token.id }),
            TokenKind::Session => json!({ "session_id": token.id, "session": token.prefix }),
        };
        let mut entry = self.entry(self.event(), Some(token.user_id), username, details);
        // A deletion names its actor even if users delete their own tokens.
        if let (TokenChange::Delete { .. }, Principal::Owner(actor)) = (&self.change, &self.by) {
            entry.set_actor(&actor.user);
        }
        entry
    }

    /// Writes a log line for each of these changed tokens.
    pub(crate) fn log(&self, tokens: &[OpaqueToken], username: Option<&str>) {
        for token in tokens {
            self.entry_for_token(token, username).log();
        }
    }

    pub(crate) fn log_outcome_unknown(&self) {
        let user_id = match &self.change {
            TokenChange::Create(new) => Some(new.user_id),
            TokenChange::Delete { user_id, .. } => Some(*user_id),
            TokenChange::EndSessions { .. } => None,
        };
        self.log_unknown_outcome(self.event(), user_id);
    }
}

impl Requested<RecoveryCodeUse> {
    const EVENT: &'static str = "recovery_code_used";

    pub(crate) fn entry_for_use(&self) -> Entry {
        self.entry_for_user(Self::EVENT, &self.change.user, json!({}))
    }

    pub(crate) fn log_outcome_unknown(&self) {
        self.log_unknown_outcome(Self::EVENT, Some(self.change.user.id));
    }
}

impl Requested<BulkChange> {
    fn event(&self) -> &'static str {
        match self.change {
            BulkChange::Import => "user_imported",
            BulkChange::Erase => AUDIT_ERASED,
            BulkChange::EndAll => "all_ended",
            BulkChange::Restore => "restored",
        }
    }

    /// Returns the entry of an imported user.
    pub(crate) fn entry_for_import(&self, user: &User) -> Entry {
        let mut details = json!({ "role": user.role.as_str() });
        if !user.memberships.is_empty() {
            details["groups"] = user.group_names().into();
        }
        self.entry_for_user(self.event(), user, details)
    }

    /// Returns the entry that says that `rows` rows about a deleted user were erased.
    pub(crate) fn entry_for_erasure(&self, user_id: i64, rows: usize) -> Entry {
        self.entry(self.event(), Some(user_id), None, json!({ "rows": rows }))
    }

    /// Returns the entry of the end of all credentials, which is about no single user.
    pub(crate) fn entry_for_end(&self, ended: EndedCredentials) -> Entry {
        self.entry(self.event(), None, None, json!(ended))
    }

    pub(crate) fn log_outcome_unknown(&self) {
        self.log_unknown_outcome(self.event(), None);
    }
}

/// Returns the end of a membership for the record; `None` if there is no membership.
fn end_of(membership: Option<Membership>) -> Option<String> {
    membership.map(|membership| format_end(membership.until))
}

fn role_details(from: Role, to: Role) -> Value {
    json!({ "from": from.as_str(), "to": to.as_str() })
}

fn state_event(is_disabled: bool) -> &'static str {
    if is_disabled {
        "user_disabled"
    } else {
        "user_enabled"
    }
}
