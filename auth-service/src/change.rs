//! Defines the changes of users and of their tokens. A change names its user and contains the new values.
//!
//! A use case builds a change and passes it on with the [`Principal`](crate::principal::Principal) who makes it. The
//! store derives the statements from both, and `audit` the entries of the log and the record.

use crate::{
    former_username::FormerUsername,
    group::Membership,
    password::NO_PASSWORD,
    principal::Principal,
    tokens::{NewPasswordLink, NewToken, TokenKind},
};
use rolegate_proto::{GroupName, Role};
use secrecy::SecretString;
use std::collections::BTreeSet;

/// A user to insert. The database assigns the id.
#[derive(Debug)]
pub(crate) struct NewUser {
    /// The username, which is already validated.
    pub(crate) username: String,
    /// The bcrypt hash of the password.
    pub(crate) password_hash: SecretString,
    /// The role of the user from the beginning.
    pub(crate) role: Role,
    /// The link by which the user sets the first password; `None` to make no link.
    pub(crate) link: Option<NewPasswordLink>,
}

/// The changes of one user that are made together. A write of a new name or a new end finds no such user if the old one
/// has changed since the user was read.
#[derive(Debug, Default)]
pub(crate) struct UserUpdate {
    /// The new name; `None` to keep the name.
    pub(crate) rename: Option<Rename>,
    /// Disables the user if true, and enables the user if false; `None` keeps the stored value.
    pub(crate) disabled: Option<bool>,
    /// The new end of the account; `None` to keep the end.
    pub(crate) end: Option<NewEnd>,
}

impl UserUpdate {
    /// Tells whether nothing would be changed.
    pub(crate) fn is_empty(&self) -> bool {
        self.rename.is_none() && self.disabled.is_none() && self.end.is_none()
    }
}

/// A new end of an account, in Unix seconds; `None` stands for no end.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NewEnd {
    /// The end when the user was read.
    pub(crate) from: Option<u64>,
    /// True if `from` had passed when the user was read. The change then revokes the tokens and sessions, because they
    /// must not become valid again.
    pub(crate) has_passed: bool,
    pub(crate) to: Option<u64>,
}

/// A new name for a user who has not changed since they were read.
#[derive(Debug)]
pub(crate) struct Rename {
    /// The name of the user when they were read.
    pub(crate) from: FormerUsername,
    /// The new name, which is already validated.
    pub(crate) to: String,
    /// The `tokens_not_before` of the user when they were read.
    pub(crate) tokens_not_before: u64,
}

/// A change of one user.
#[derive(Debug)]
pub(crate) enum Change {
    /// Creates a user. Fails with `UsernameTaken` if another user has the name.
    CreateUser(NewUser),
    /// Sets the role of a user. It revokes nothing, because every request reads the role. A role that stays the same is
    /// written and recorded, too.
    SetRole {
        user_id: i64,
        /// The role before the change, as the use case has read it. Two concurrent changes may both record the role that
        /// was there before either of them.
        from: Role,
        to: Role,
    },
    /// Renames, disables or enables a user, or moves the end of the account.
    ///
    /// A new name revokes access tokens, because they contain the old name, whereas sessions and API keys stay valid.
    /// Disabling a user, and moving an end that has passed, also revokes the user's tokens and ends the sessions, as
    /// [`Self::RevokeTokens`] by an admin does.
    Update { user_id: i64, update: UserUpdate },
    /// Adds a user to a group, changes the end of the membership or, if `to` is `None`, removes the user from the group.
    /// Fails with `GroupLimit` if the user is in too many groups. Memberships of the user that have ended are deleted.
    SetMembership {
        user_id: i64,
        group: GroupName,
        /// The membership before the change, as the use case has read it; `None` if there was none.
        from: Option<Membership>,
        to: Option<Membership>,
    },
    /// Revokes the access tokens of a user, and deletes the user's sessions except the one by which the owner acts.
    ///
    /// `tokens_not_before` becomes a time shortly after the present. If it is not earlier than that already, it grows
    /// by one. A value so late that no token can have been issued at it is an exception:
    ///
    /// - An admin leaves such a value as it is, and the operator lowers it.
    /// - A user's own logout always increases the value. A second logout by the same token then fails, so only the
    ///   first of them can move the user's next login into the future.
    RevokeTokens { user_id: i64 },
    /// Revokes the access tokens of a user a second time, after a write that was slow. For every principal, it fails with
    /// `UserNotFound` if `tokens_not_before` has changed since that write.
    RevokeTokensAgain {
        user_id: i64,
        tokens_not_before: u64,
    },
    /// Deletes a user with the API keys and sessions. The database never assigns the id again.
    DeleteUser { user_id: i64 },
    /// Stores the hash of a new password, revokes the access tokens, and deletes the password link and the sessions
    /// except the one by which the owner acts. `tokens_not_before` always grows, because it also identifies the
    /// version of the password.
    SetPassword { user_id: i64, hash: SecretString },
    /// Creates a password link, which replaces an earlier link of the user.
    CreatePasswordLink { user_id: i64, link: NewPasswordLink },
    /// Stores the encrypted secret of a second factor and the digests of its recovery codes. Logins do not require a
    /// code yet. Replaces an enrollment that was not finished.
    BeginSecondFactor {
        user_id: i64,
        secret: String,
        recovery_codes: Vec<String>,
    },
    /// Turns on the second factor with this secret, and revokes the user's tokens and sessions except the session by
    /// which the owner acts. `step` is the time step of the code that was presented.
    TurnOnSecondFactor {
        user_id: i64,
        secret: String,
        step: i64,
    },
    /// Turns off the second factor. Fails with `SecondFactorOff` if it is not on.
    TurnOffSecondFactor { user_id: i64 },
}

/// A change of a group by an admin or the operator.
#[derive(Debug)]
pub(crate) enum GroupChange {
    /// Creates a group. Fails with `GroupTaken` if another group has the name.
    Create { name: GroupName },
    /// Deletes a group and its memberships. Fails with `GroupInUse` if API keys name the group.
    Delete { group_id: i64 },
}

/// A change of the API keys or sessions of users.
#[derive(Debug)]
pub(crate) enum TokenChange {
    /// Inserts all of these tokens or none.
    ///
    /// A user has at most [`MAX_API_KEYS`](rolegate_proto::limits::MAX_API_KEYS) keys; another one fails with
    /// `ApiKeyLimit`. A user has at most [`MAX_SESSIONS`](rolegate_proto::limits::MAX_SESSIONS) sessions; another one
    /// ends the session that has been idle longest. Unless the operator inserts the tokens, the additions of the user
    /// in a minute are limited.
    Create(NewTokens),
    /// Deletes tokens of a user.
    Delete {
        kind: TokenKind,
        user_id: i64,
        selection: TokenSelection,
    },
    /// Deletes the sessions with these digests, whichever users they belong to, and the other sessions that `extent`
    /// selects.
    EndSessions {
        digests: Vec<String>,
        extent: SessionEnd,
    },
}

/// New tokens, all of one kind and one user.
#[derive(Debug)]
pub(crate) struct NewTokens {
    pub(crate) user_id: i64,
    pub(crate) kind: TokenKind,
    /// The time at which the tokens were created, in Unix seconds.
    pub(crate) created_at: u64,
    pub(crate) tokens: Vec<NewToken>,
}

impl NewTokens {
    /// Returns the groups that the tokens name, each once.
    pub(crate) fn groups(&self) -> Vec<GroupName> {
        let named = self.tokens.iter().filter_map(|token| token.stored.groups());
        let groups: BTreeSet<GroupName> = named.flatten().copied().collect();
        groups.into_iter().collect()
    }
}

/// Says whether the other session of a sign-in ends with the session in a cookie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SessionEnd {
    /// Only the session in the cookie ends.
    Alone,
    /// If the sign-in created two sessions, the other one ends as well.
    WithPairs,
}

/// Selects tokens of one kind and user. Two sessions that one sign-in created are a pair. They have the same `pair_id`,
/// and are always selected together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TokenSelection {
    /// Selects the token with this id.
    One(i64),
    All,
    /// Selects all tokens but the one with this id.
    AllBut(i64),
}

impl NewUser {
    /// Returns a user without a password, who sets the first one by this link.
    pub(crate) fn with_link(username: String, role: Role, link: NewPasswordLink) -> Self {
        Self {
            username,
            password_hash: NO_PASSWORD.into(),
            role,
            link: Some(link),
        }
    }
}

impl Change {
    /// Returns whether this principal can make the change at all. The conditions of the store come in addition.
    ///
    /// Without this rule, a principal that has no condition could make any change, like the operator. An owner can
    /// change only their own account.
    pub(crate) fn is_allowed_by(&self, by: &Principal) -> bool {
        match by {
            Principal::Admin(_) | Principal::Operator => true,
            Principal::Owner(actor) => {
                let is_for_owners = matches!(
                    self,
                    Self::RevokeTokens { .. }
                        | Self::RevokeTokensAgain { .. }
                        | Self::SetPassword { .. }
                        | Self::BeginSecondFactor { .. }
                        | Self::TurnOnSecondFactor { .. }
                        | Self::TurnOffSecondFactor { .. }
                );
                is_for_owners && self.user_id() == Some(actor.user.id)
            }
            Principal::Link { .. } => matches!(
                self,
                Self::SetPassword { .. } | Self::RevokeTokensAgain { .. }
            ),
            Principal::Claimant => matches!(self, Self::CreateUser(_)),
            Principal::Login { .. } | Principal::PendingSignIn { .. } | Principal::Sessions(_) => {
                false
            }
        }
    }

    /// Returns the id of the changed user; `None` for a new user.
    pub(crate) fn user_id(&self) -> Option<i64> {
        match self {
            Self::CreateUser(_) => None,
            Self::SetRole { user_id, .. }
            | Self::Update { user_id, .. }
            | Self::SetMembership { user_id, .. }
            | Self::RevokeTokens { user_id }
            | Self::RevokeTokensAgain { user_id, .. }
            | Self::DeleteUser { user_id }
            | Self::SetPassword { user_id, .. }
            | Self::CreatePasswordLink { user_id, .. }
            | Self::BeginSecondFactor { user_id, .. }
            | Self::TurnOnSecondFactor { user_id, .. }
            | Self::TurnOffSecondFactor { user_id } => Some(*user_id),
        }
    }
}
