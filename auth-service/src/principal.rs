//! Defines who makes a change. The condition under which the store makes the change follows from it, and so do the
//! names in the log and in the record.

use crate::{actor::Actor, user::User};
use secrecy::SecretString;

/// The person or program that makes a change.
#[derive(Clone, Debug)]
pub(crate) enum Principal {
    /// An admin, who must still be enabled and have the role when the change is written. The credential is not checked
    /// again.
    Admin(Actor),
    /// A user who acts on their own account. The password and the tokens must not have changed since the user was read,
    /// and the session by which the user acts must not have ended.
    ///
    /// Two changes have no such condition, because their use case has already decided: a deletion of tokens, and turning
    /// off a second factor after its code was checked. An enrollment does not depend on the session, because it only
    /// takes effect when the second factor is turned on.
    Owner(Actor),
    /// A person who has no credential yet and proves by the change itself to be its user: by registering, or by a
    /// recovery code.
    Claimant,
    /// A user who has signed in with the password. The user must not be disabled, and must still have the credentials
    /// that were verified.
    Login {
        /// The `tokens_not_before` of the user when the password was verified.
        tokens_not_before: u64,
        /// The stored hash with which the password was verified.
        password_hash: SecretString,
    },
    /// A user who has presented the code of a pending sign-in. The user must not be disabled. The change uses up the
    /// pending sign-in.
    PendingSignIn {
        /// The `tokens_not_before` of the user when the pending sign-in was found.
        tokens_not_before: u64,
        /// The digest of the pending sign-in.
        digest: String,
    },
    /// A user who has opened the password link with this digest. The user must not be disabled. The change uses up the
    /// link.
    Link { digest: String },
    /// The users of sessions that a request revokes by presenting the tokens of these sessions.
    Sessions(Vec<User>),
    /// A person who has access to the database, and no account.
    Operator,
}

impl Principal {
    /// Returns the principal of a change that an admin makes to the user with this id. Without an id, users make the
    /// change to themselves.
    pub(crate) fn acting_on(user_id: Option<i64>, actor: Actor) -> Self {
        match user_id {
            Some(_) => Self::Admin(actor),
            None => Self::Owner(actor),
        }
    }

    pub(crate) fn admin_id(&self) -> Option<i64> {
        match self {
            Self::Admin(actor) => Some(actor.user.id),
            _ => None,
        }
    }

    /// Returns the session by which the owner acts. A change that revokes the sessions of the owner keeps it.
    pub(crate) fn session_id(&self) -> Option<i64> {
        match self {
            Self::Owner(actor) => actor.session_id(),
            _ => None,
        }
    }

    /// Returns the `tokens_not_before` that the user must still have; `None` if the change does not depend on it.
    pub(crate) fn expected_tokens_not_before(&self) -> Option<u64> {
        match self {
            Self::Owner(actor) => Some(actor.user.tokens_not_before),
            Self::Login {
                tokens_not_before, ..
            }
            | Self::PendingSignIn {
                tokens_not_before, ..
            } => Some(*tokens_not_before),
            Self::Admin(_)
            | Self::Claimant
            | Self::Link { .. }
            | Self::Sessions(_)
            | Self::Operator => None,
        }
    }
}
