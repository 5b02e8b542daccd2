//! Password links: a person who has the link of a user can set the user's password once.

use super::secret::{GeneratedToken, SecretKind};
use crate::user::User;
use secrecy::SecretString;
use std::io;

/// The time for which a password link is valid, in seconds.
pub(crate) const PASSWORD_LINK_SECONDS: u64 = 86_400;

/// A password link to insert, with its user or for an existing one.
#[derive(Clone, Debug)]
pub(crate) struct NewPasswordLink {
    /// The token in the link, which is shown once and not stored.
    pub(crate) token: SecretString,
    /// The digest of the token, in hex.
    pub(crate) digest: String,
    /// The time at which the link expires, in Unix seconds.
    pub(crate) expires_at: u64,
}

/// A password link that was neither used nor replaced. It may have expired.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct StoredPasswordLink {
    pub(crate) user: User,
    /// The time at which the link expires, in Unix seconds.
    pub(crate) expires_at: u64,
}

impl NewPasswordLink {
    /// Generates a link that is valid from `now`, in Unix seconds. Fails only if the system provides no random bytes.
    pub(crate) fn generate(now: u64) -> io::Result<Self> {
        let GeneratedToken { token, digest } = SecretKind::PasswordLink.generate()?;
        Ok(Self {
            token,
            digest,
            expires_at: now.saturating_add(PASSWORD_LINK_SECONDS),
        })
    }
}

impl StoredPasswordLink {
    /// Returns the reason why the link cannot set a password at this time, in Unix seconds; `None` if it can. The
    /// record uses the same names for the reasons.
    pub(crate) fn refusal(&self, at: u64) -> Option<&'static str> {
        if self.user.disabled {
            return Some("disabled");
        }
        (at >= self.expires_at).then_some("expired")
    }
}

#[cfg(test)]
mod tests {
    use super::StoredPasswordLink;
    use crate::user::User;
    use rolegate_proto::Role;

    #[test]
    fn a_link_is_refused_from_its_end_and_while_its_user_is_disabled() {
        let link = |disabled| StoredPasswordLink {
            user: User {
                id: 2,
                username: "ann".to_owned(),
                role: Role::USER,
                tokens_not_before: 0,
                disabled,
                tokens_marked_until: 0,
                second_factor: false,
                created_at: None,
                until: None,
                memberships: Vec::new(),
                found_groups: Vec::new(),
            },
            expires_at: 100,
        };
        assert_eq!(link(false).refusal(99), None);
        assert_eq!(link(false).refusal(100), Some("expired"));
        assert_eq!(link(true).refusal(99), Some("disabled"));
        assert_eq!(link(true).refusal(100), Some("disabled"));
    }
}
