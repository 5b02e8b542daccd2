//! The person who makes a change, and the condition under which the change is allowed.

use super::{
    admin_check::{AdminCount, require_admin},
    write_error::WriteError,
};
use crate::user::{Credentials, User};
use rolegate_proto::Role;
use secrecy::{ExposeSecret as _, SecretString};

/// The person who changes a password, revokes tokens or creates a token. The write succeeds only if the condition of
/// the variant holds.
#[derive(Clone, Debug)]
pub enum Writer {
    /// The admin with this id, who must still be an admin.
    Admin(i64),
    /// The user, who acts with a credential. Since the credential was verified, the password must not have changed, and
    /// the tokens must not have been revoked.
    Owner {
        /// The `tokens_not_before` of the user when the credential was verified.
        tokens_not_before: u64,
        /// The session with which the user acts; `None` for another kind of credential. It must not have ended, and a
        /// new password does not end it.
        session_id: Option<i64>,
    },
    /// The user, who has logged in with the password. The user must not be disabled, and since the login, the password
    /// must not have changed, and the tokens must not have been revoked.
    Login {
        /// The `tokens_not_before` of the user when the password was verified.
        tokens_not_before: u64,
        /// The stored hash with which the password was verified.
        password_hash: SecretString,
    },
    /// The user, who must not be disabled and must have the password link with this digest. The write uses up the link.
    Link(String),
    /// The user, who must not be disabled and has presented the code of a pending sign-in. The write uses up the
    /// pending sign-in.
    PendingSignIn {
        /// The `tokens_not_before` of the user when the pending sign-in was found.
        tokens_not_before: u64,
        /// The digest of the pending sign-in.
        digest: String,
    },
    /// A person with access to the database, who needs no credential. A new token still requires that its user is not
    /// disabled.
    Operator,
}

impl Writer {
    pub(crate) fn admin_id(&self) -> Option<i64> {
        if let Self::Admin(id) = self {
            Some(*id)
        } else {
            None
        }
    }

    /// Returns the `tokens_not_before` that the user must still have; `None` if the condition of the writer does not
    /// include it.
    pub(super) fn expected_tokens_not_before(&self) -> Option<u64> {
        match self {
            Self::Owner {
                tokens_not_before, ..
            }
            | Self::Login {
                tokens_not_before, ..
            }
            | Self::PendingSignIn {
                tokens_not_before, ..
            } => Some(*tokens_not_before),
            Self::Admin(_) | Self::Link(_) | Self::Operator => None,
        }
    }

    pub(super) fn link_digest(&self) -> Option<&str> {
        if let Self::Link(digest) = self {
            Some(digest)
        } else {
            None
        }
    }

    pub(crate) fn session_id(&self) -> Option<i64> {
        if let Self::Owner { session_id, .. } = self {
            *session_id
        } else {
            None
        }
    }

    /// Checks the condition of the writer before a token of this user is inserted, as far as it depends on the rows of
    /// users. The statement that inserts the token checks the session or the pending sign-in. `locked` contains the row
    /// of the user and, if an admin creates the token, the row of the admin.
    pub(super) fn check_new_token(
        &self,
        locked: &[Credentials],
        user_id: i64,
    ) -> Result<(), WriteError> {
        let row = locked
            .iter()
            .find(|row| row.user.id == user_id)
            .ok_or(WriteError::UserNotFound)?;
        if let Self::Admin(admin_id) = self {
            let users: Vec<User> = locked.iter().map(|row| row.user.clone()).collect();
            require_admin(&users, Some(*admin_id), user_id, AdminCount::Kept)?;
            // Admins cannot create keys for other admins.
            return if row.user.role == Role::ADMIN {
                Err(WriteError::UserIsAdmin)
            } else {
                Ok(())
            };
        }
        let has_changed = self
            .expected_tokens_not_before()
            .is_some_and(|expected| expected != row.user.tokens_not_before);
        let has_new_password = match self {
            Self::Login { password_hash, .. } => {
                password_hash.expose_secret() != row.password_hash.expose_secret()
            }
            _ => false,
        };
        if has_changed || has_new_password || row.user.disabled {
            return Err(WriteError::UserNotFound);
        }
        Ok(())
    }
}
