//! A change with the principal who makes it and the request that caused it. The entries of the log and the record are
//! made from all three. The store inserts the rows in the transaction of the change.

use super::{
    AUDIT_ERASED, Details, EndedCredentials, Entry, USER_RENAMED,
    entry::{EntryActor, EventOrigin, UserState},
    events::is_published,
};
use crate::{
    change::{Change, TokenChange},
    opaque_token::{OpaqueToken, TokenKind},
    principal::Principal,
    user::User,
};
use rolegate_proto::Role;
use rolegate_telemetry::audit_line;

/// The value of the detail `by` for changes that the operator makes.
const OPERATOR: &str = "operator";

/// A change, who makes it and which request caused it. The store records it in the transaction of the change.
#[derive(Clone, Debug)]
pub(crate) struct Requested<C> {
    pub(crate) by: Principal,
    pub(crate) change: C,
    origin: EventOrigin,
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
            origin: EventOrigin::current(),
        }
    }

    /// Returns another change by the same principal in the same request.
    pub(crate) fn followed_by<D>(&self, change: D) -> Requested<D> {
        Requested {
            by: self.by.clone(),
            change,
            origin: self.origin.clone(),
        }
    }

    /// Returns the entry of an event of this user, who is given as the change left the user.
    fn entry_for_user(&self, event: &'static str, user: &User, details: Details) -> Entry {
        let mut entry = self.entry(event, Some(user.id), Some(&user.username), details);
        if is_published(event) {
            entry.state = Some(UserState {
                role: user.role,
                disabled: user.disabled,
            });
        }
        entry
    }

    fn entry(
        &self,
        event: &'static str,
        user_id: Option<i64>,
        username: Option<&str>,
        details: Details,
    ) -> Entry {
        let mut entry = Entry {
            event,
            user_id,
            username: username.map(str::to_owned),
            client_address: self.origin.client_address,
            request_id: self.origin.request_id.clone(),
            details,
            ..Entry::default()
        };
        match &self.by {
            Principal::Admin(actor) => {
                entry.actor = Some(EntryActor::from(&actor.user));
                entry.actor_key = actor.key_id();
                entry.actor_session = actor.session_id();
            }
            Principal::Owner(actor) => {
                entry.by_owner = true;
                entry.actor_key = actor.key_id();
                entry.actor_session = actor.session_id();
            }
            Principal::Claimant
            | Principal::Login { .. }
            | Principal::PendingSignIn { .. }
            | Principal::Link { .. } => entry.by_owner = true,
            Principal::Sessions(users) => {
                let user = users.iter().find(|user| Some(user.id) == user_id);
                entry.actor = user.map(EntryActor::from);
                entry.actor_session = entry.details.session_id;
            }
            Principal::Operator => entry.details.by = Some(OPERATOR),
        }
        entry
    }

    /// Logs that the database has not answered the commit. The change may be made now, later or never.
    fn log_unknown_outcome(&self, change: &'static str, user_id: Option<i64>) {
        let mut actor_id = None;
        let mut by = None;
        match &self.by {
            Principal::Admin(actor) => actor_id = Some(actor.user.id),
            Principal::Sessions(_) => {}
            Principal::Operator => by = Some(OPERATOR),
            Principal::Owner(_)
            | Principal::Claimant
            | Principal::Login { .. }
            | Principal::PendingSignIn { .. }
            | Principal::Link { .. } => actor_id = user_id,
        }
        audit_line!("outcome_unknown", change, user_id, actor_id, by);
    }
}

impl Requested<Change> {
    /// Returns the event of the change, or the first one if it has two.
    fn event(&self) -> &'static str {
        match &self.change {
            Change::CreateUser(_) => match self.by {
                Principal::Claimant => "registered",
                _ => "user_created",
            },
            Change::SetRole { .. } => "role_changed",
            Change::Rename { .. } => USER_RENAMED,
            Change::SetDisabled { disabled, .. } => state_event(*disabled),
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

    /// Returns the entries of the change of `user`, who is given as the change left the user.
    pub(crate) fn entries(&self, user: &User) -> Vec<Entry> {
        let event = self.event();
        let role = Some(user.role);
        let details = match &self.change {
            Change::SetRole { from, .. } => Details {
                from: Some(*from),
                to: role,
                ..Details::default()
            },
            Change::Rename { rename, .. } => Details {
                former_username: Some(rename.from.clone()),
                ..Details::default()
            },
            Change::DeleteUser { .. } => Details {
                role,
                user_created_at: Some(user.created_at.unwrap_or_default()),
                ..Details::default()
            },
            Change::CreateUser(_) if event == "registered" => Details::default(),
            Change::CreateUser(_)
            | Change::SetDisabled { .. }
            | Change::RevokeTokens { .. }
            | Change::RevokeTokensAgain { .. } => Details::of_role(user.role),
            _ => Details::default(),
        };
        let mut entries = vec![self.entry_for_user(event, user, details)];
        if let Change::Rename { rename, .. } = &self.change
            && let Some(disabled) = rename.disabled
        {
            let details = Details::of_role(user.role);
            entries.push(self.entry_for_user(state_event(disabled), user, details));
        }
        // A logout names its actor even if users log themselves out.
        if let (Change::RevokeTokens { .. }, Principal::Owner(actor)) = (&self.change, &self.by) {
            entries[0].name_actor(&actor.user);
        }
        entries
    }

    /// Returns the entry of a role change, for a store that changes the role without reading the user first. The entry
    /// says that the user is enabled, and the statement of the store adds the real state.
    pub(crate) fn entry_for_role(&self, user_id: i64, from: Role, to: Role) -> Entry {
        let details = Details {
            from: Some(from),
            to: Some(to),
            ..Details::default()
        };
        let mut entry = self.entry(self.event(), Some(user_id), None, details);
        entry.state = Some(UserState {
            role: to,
            disabled: false,
        });
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
            TokenChange::Create(tokens) => match tokens.first().map(|token| token.stored.kind()) {
                Some(TokenKind::Session) => "session_created",
                _ => "api_key_created",
            },
            TokenChange::Delete {
                kind: TokenKind::ApiKey,
                ..
            } => "api_key_deleted",
            TokenChange::Delete { .. } | TokenChange::EndSessions { .. } => "session_ended",
        }
    }

    /// Returns the entry of the change of `token`. The username is only needed for the line of the log: the store looks
    /// up the name for the row.
    pub(crate) fn entry_for_token(&self, token: &OpaqueToken, username: Option<&str>) -> Entry {
        let mut details = Details::default();
        match token.kind() {
            TokenKind::ApiKey => details.key_id = Some(token.id),
            TokenKind::Session => {
                details.session_id = Some(token.id);
                details.session = Some(token.prefix.clone());
            }
        }
        let mut entry = self.entry(self.event(), Some(token.user_id), username, details);
        // A deletion names its actor even if users delete their own tokens.
        if let (TokenChange::Delete { .. }, Principal::Owner(actor)) = (&self.change, &self.by) {
            entry.name_actor(&actor.user);
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
            TokenChange::Create(tokens) => tokens.first().map(|token| token.stored.user_id),
            TokenChange::Delete { user_id, .. } => Some(*user_id),
            TokenChange::EndSessions { .. } => None,
        };
        self.log_unknown_outcome(self.event(), user_id);
    }
}

impl Requested<RecoveryCodeUse> {
    const EVENT: &'static str = "recovery_code_used";

    pub(crate) fn entry_for_use(&self) -> Entry {
        self.entry_for_user(Self::EVENT, &self.change.user, Details::default())
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
        self.entry_for_user(self.event(), user, Details::of_role(user.role))
    }

    /// Returns the entry that says that `rows` rows about a deleted user were erased.
    pub(crate) fn entry_for_erasure(&self, user_id: i64, rows: usize) -> Entry {
        let details = Details {
            rows: Some(rows),
            ..Details::default()
        };
        self.entry(self.event(), Some(user_id), None, details)
    }

    /// Returns the entry of the end of all credentials, which is about no single user.
    pub(crate) fn entry_for_end(&self, ended: EndedCredentials) -> Entry {
        let details = Details {
            ended: Some(ended),
            ..Details::default()
        };
        self.entry(self.event(), None, None, details)
    }

    pub(crate) fn log_outcome_unknown(&self, user_id: Option<i64>) {
        self.log_unknown_outcome(self.event(), user_id);
    }
}

fn state_event(is_disabled: bool) -> &'static str {
    if is_disabled {
        "user_disabled"
    } else {
        "user_enabled"
    }
}
