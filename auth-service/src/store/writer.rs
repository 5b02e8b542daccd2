//! Who writes, and the condition under which they may.

use super::{
    admin_check::{AdminCount, require_admin},
    write_error::WriteError,
};
use crate::user::{Credentials, User};
use rolegate_proto::Role;
use secrecy::{ExposeSecret as _, SecretString};

/// Who changes a password, ends tokens or makes one, and the condition that the write checks.
#[derive(Clone, Debug)]
pub enum Writer {
    /// The user with this id, who is an admin.
    Admin(i64),
    /// The user themselves, whose password and tokens have not changed since they were verified.
    Owner {
        /// As it was at the time of the verification.
        tokens_not_before: u64,
        /// The session by which they act, which must not have ended. A new password does not end it.
        session_id: Option<i64>,
    },
    /// The user, who is not disabled and has these credentials, as they were verified.
    Login {
        /// As it was at that time.
        tokens_not_before: u64,
        /// The stored hash.
        password_hash: SecretString,
    },
    /// The user, who is not disabled and has the password link with this digest, which is used then.
    Link(String),
    /// The user, who is not disabled and has shown the code of a pending sign-in, which is used then.
    PendingSignIn {
        /// As it was when the sign-in was found.
        tokens_not_before: u64,
        /// The digest of the pending sign-in.
        digest: String,
    },
    /// A person with access to the database; no condition.
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

    /// The `tokens_not_before` that the user must still have.
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

    /// Checks the condition of an insert of a token of this user, whose row is among the locked ones.
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
            // Admins make no keys of admins.
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
