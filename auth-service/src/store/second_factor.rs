//! The part of the store about password links and second factors.

use super::{StoreError, WriteError};
use crate::{audit::Write, user::User};
use async_trait::async_trait;
use rolegate_sql_store::{Store, Timed};

/// How long a password link is good, in seconds.
pub(crate) const PASSWORD_LINK_SECONDS: u64 = 86_400;
/// How long the code of a pending sign-in may be presented, in seconds.
pub(crate) const PENDING_SIGN_IN_SECONDS: u64 = 300;
/// Pending sign-ins of a user. A new one ends the oldest.
pub(crate) const MAX_PENDING_SIGN_INS: i64 = 10;
/// Wrong one-time codes in a window, after which none is accepted until it ends.
const MAX_WRONG_ONE_TIME_CODES: i64 = 10;
/// Wrong recovery codes in a window, after which none is accepted until it ends. Nobody guesses 128 bits: the limit only
/// bounds the work of a caller, so there is room for errors in typing.
const MAX_WRONG_RECOVERY_CODES: i64 = 100;
/// The window, in seconds from its first wrong code.
pub(crate) const WRONG_CODES_WINDOW: i64 = 3600;

/// What a code is presented for.
#[derive(Clone, Copy, Debug)]
pub(crate) enum CodePurpose {
    /// The second step of a sign-in, after the right password.
    SignIn,
    /// A change by somebody who is signed in, perhaps with a stolen session.
    Confirmation,
}

/// A limit of wrong codes. Each counts apart for each user: a stolen session blocks no code at sign-in, and wrong one-time
/// codes block no recovery code.
#[derive(Clone, Copy, Debug)]
pub(crate) enum CodeLimit {
    /// Counts one-time codes and malformed ones.
    OneTime(CodePurpose),
    /// Counts codes of the form of a recovery code.
    Recovery(CodePurpose),
}

/// The wrong codes that count towards one limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct WrongCodes {
    pub(crate) count: i64,
    /// When their window began, in Unix seconds.
    pub(crate) since: i64,
}

/// A second factor, on or not yet.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct StoredSecondFactor {
    /// As [`SecondFactorKeys`](crate::second_factor::SecondFactorKeys) sealed it.
    pub(crate) secret: String,
    /// The last step of which a code was used.
    pub(crate) last_step: i64,
    /// The wrong one-time codes of sign-ins. Programs of the previous release count every wrong code here.
    pub(crate) at_sign_in: WrongCodes,
    pub(crate) recovery_at_sign_in: WrongCodes,
    pub(crate) at_confirmation: WrongCodes,
    pub(crate) recovery_at_confirmation: WrongCodes,
    /// How many are left.
    pub(crate) recovery_codes: i64,
}

impl CodeLimit {
    /// How many wrong codes are tried in a window.
    pub(crate) fn max(self) -> i64 {
        match self {
            Self::OneTime(_) => MAX_WRONG_ONE_TIME_CODES,
            Self::Recovery(_) => MAX_WRONG_RECOVERY_CODES,
        }
    }
}

impl StoredSecondFactor {
    /// The id of the key that sealed the secret.
    pub(crate) fn key_id(&self) -> &str {
        self.secret.split_once('.').unwrap_or_default().0
    }

    /// The wrong codes that count towards this limit.
    pub(crate) fn wrong_codes(&self, limit: CodeLimit) -> WrongCodes {
        match limit {
            CodeLimit::OneTime(CodePurpose::SignIn) => self.at_sign_in,
            CodeLimit::OneTime(CodePurpose::Confirmation) => self.at_confirmation,
            CodeLimit::Recovery(CodePurpose::SignIn) => self.recovery_at_sign_in,
            CodeLimit::Recovery(CodePurpose::Confirmation) => self.recovery_at_confirmation,
        }
    }

    /// Seconds until a code of this limit is accepted again; `None` if it is now. A window too far in the future is one
    /// of a clock that was ahead.
    pub(crate) fn refused_for(&self, limit: CodeLimit, at: u64) -> Option<u64> {
        let wrong = self.wrong_codes(limit);
        let age = i64::try_from(at).unwrap_or(i64::MAX) - wrong.since;
        let is_over = age.abs() >= WRONG_CODES_WINDOW;
        let is_full = wrong.count >= limit.max() && !is_over;
        is_full.then(|| (WRONG_CODES_WINDOW - age).unsigned_abs())
    }
}

/// The use of a one-time code.
#[derive(Debug)]
pub(crate) struct OneTimeCodeUse {
    /// The time step of the code.
    pub(crate) step: i64,
    /// The sealed secret with which the code was checked.
    pub(crate) secret: String,
    /// Replaces the secret: the same one, perhaps sealed with a newer key.
    pub(crate) new_secret: String,
}

/// A password link that was neither used nor replaced.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StoredPasswordLink {
    pub(crate) user: User,
    /// Unix seconds.
    pub(crate) expires_at: u64,
}

impl StoredPasswordLink {
    /// Why it sets no password at this time, in Unix seconds, as the record names it; `None` if it does.
    pub(crate) fn refusal(&self, at: u64) -> Option<&'static str> {
        if self.user.disabled {
            return Some("disabled");
        }
        (at >= self.expires_at).then_some("expired")
    }
}

/// A database of second factors and password links, each of one user. A code or a link counts once, for the write that
/// comes first.
#[async_trait]
pub(crate) trait SecondFactorStore: Store {
    /// Begins a sign-in of this user, whose password was verified at this time, if `tokens_not_before` is still the one
    /// that was read and the second factor is on.
    async fn insert_pending_sign_in(
        &self,
        user: &Timed<User>,
        digest: String,
    ) -> Result<(), WriteError>;

    /// The user of the pending sign-in with this digest. It is good for [`PENDING_SIGN_IN_SECONDS`], until it is used,
    /// the tokens of the user are revoked, or the second factor is off or turned on anew.
    async fn pending_sign_in(&self, digest: &str) -> Result<Timed<Option<User>>, StoreError>;

    /// Replaces the password link of a user by the one with this digest, if `actor` is an admin, or without an
    /// actor, for the operator. Returns when it ends, in Unix seconds.
    async fn insert_password_link(
        &self,
        actor: Option<i64>,
        user_id: i64,
        digest: String,
        write: Write,
    ) -> Result<u64, WriteError>;

    /// The link with this digest, also if it has ended or its user is disabled.
    async fn password_link(
        &self,
        digest: &str,
    ) -> Result<Timed<Option<StoredPasswordLink>>, StoreError>;

    async fn second_factor(
        &self,
        user_id: i64,
    ) -> Result<Timed<Option<StoredSecondFactor>>, StoreError>;

    /// Begins a second factor: a secret and digests of recovery codes, in place of those before, if the tokens of
    /// `user` are those that were seen and it is not on. At most
    /// [`MAX_ADDITIONS`](super::additions::MAX_ADDITIONS) in a minute.
    async fn begin_second_factor(
        &self,
        user: &User,
        secret: String,
        recovery_codes: Vec<String>,
        write: Write,
    ) -> Result<User, WriteError>;

    /// Turns it on by a code of this step, under the same conditions and if this is still the secret, and ends
    /// tokens and sessions. The session by which the user acts must not have ended, and stays.
    async fn turn_on_second_factor(
        &self,
        user: &User,
        session: Option<i64>,
        secret: String,
        step: i64,
        write: Write,
    ) -> Result<User, WriteError>;

    /// Turns it off and forgets it, if `actor` is an admin, or without an actor: for the user, and the operator.
    async fn turn_off_second_factor(
        &self,
        actor: Option<i64>,
        user_id: i64,
        write: Write,
    ) -> Result<User, WriteError>;

    /// Stores that a one-time code was used. Returns false if the step of the code or a later one was used before, the
    /// secret was replaced meanwhile, or there were too many wrong one-time codes of this purpose.
    async fn use_one_time_code(
        &self,
        user_id: i64,
        purpose: CodePurpose,
        code: OneTimeCodeUse,
    ) -> Result<bool, StoreError>;

    /// Removes a recovery code and returns true, unless it is not there or there were too many wrong recovery codes of
    /// this purpose.
    async fn use_recovery_code(
        &self,
        user: &User,
        purpose: CodePurpose,
        digest: String,
        write: Write,
    ) -> Result<bool, StoreError>;

    /// Counts a wrong code towards this limit; false if there were too many before.
    async fn count_wrong_code(&self, user_id: i64, limit: CodeLimit) -> Result<bool, StoreError>;

    /// The ids of the keys with which the secrets of those that are on are sealed.
    async fn second_factor_key_ids(&self) -> Result<Vec<String>, StoreError>;
}

#[cfg(test)]
mod tests {
    use super::{CodeLimit, CodePurpose, StoredPasswordLink, StoredSecondFactor, WrongCodes};
    use crate::user::User;
    use rolegate_proto::Role;

    #[test]
    fn ten_wrong_codes_refuse_for_an_hour_and_a_window_of_a_wrong_clock_does_not_count() {
        let refused_for = |count, at| {
            let factor = StoredSecondFactor {
                at_sign_in: WrongCodes {
                    count,
                    since: 10_000,
                },
                ..StoredSecondFactor::default()
            };
            factor.refused_for(CodeLimit::OneTime(CodePurpose::SignIn), at)
        };
        assert_eq!(refused_for(9, 10_000), None);
        assert_eq!(refused_for(10, 10_000), Some(3600));
        assert_eq!(refused_for(10, 13_599), Some(1));
        assert_eq!(refused_for(10, 13_600), None);
        assert_eq!(
            refused_for(10, 9_990),
            Some(3610),
            "the clock was set back a little"
        );
        assert_eq!(refused_for(10, 6_400), None, "it was an hour ahead");
    }

    #[test]
    fn wrong_codes_refuse_only_codes_of_their_own_limit() {
        let full = WrongCodes {
            count: 100,
            since: 10_000,
        };
        let none = StoredSecondFactor::default;
        let limits = [
            CodeLimit::OneTime(CodePurpose::SignIn),
            CodeLimit::OneTime(CodePurpose::Confirmation),
            CodeLimit::Recovery(CodePurpose::SignIn),
            CodeLimit::Recovery(CodePurpose::Confirmation),
        ];
        let factors = [
            StoredSecondFactor {
                at_sign_in: full,
                ..none()
            },
            StoredSecondFactor {
                at_confirmation: full,
                ..none()
            },
            StoredSecondFactor {
                recovery_at_sign_in: full,
                ..none()
            },
            StoredSecondFactor {
                recovery_at_confirmation: full,
                ..none()
            },
        ];
        for (full, factor) in factors.iter().enumerate() {
            for (asked, limit) in limits.into_iter().enumerate() {
                assert_eq!(
                    factor.refused_for(limit, 10_000).is_some(),
                    full == asked,
                    "{factor:?} {limit:?}"
                );
            }
        }
    }

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
            },
            expires_at: 100,
        };
        assert_eq!(link(false).refusal(99), None);
        assert_eq!(link(false).refusal(100), Some("expired"));
        assert_eq!(link(true).refusal(99), Some("disabled"));
        assert_eq!(link(true).refusal(100), Some("disabled"));
    }
}
