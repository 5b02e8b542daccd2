//! A stored second factor, and the limits of wrong codes.

use std::collections::BTreeMap;

/// The maximum number of wrong one-time codes in a window. After them, no one-time code is accepted until the window
/// ends.
const MAX_WRONG_ONE_TIME_CODES: i64 = 10;
/// The maximum number of wrong recovery codes in a window. After them, no recovery code is accepted until the window
/// ends. A code of 128 bits cannot be guessed, so the limit only bounds the work that a caller can cause, and leaves
/// room for typing errors.
const MAX_WRONG_RECOVERY_CODES: i64 = 100;
/// The length of a window, in seconds from its first wrong code.
pub(crate) const WRONG_CODES_WINDOW: i64 = 3600;

/// The purpose for which a code is presented.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum CodePurpose {
    /// The second step of a sign-in, after the right password.
    SignIn,
    /// The confirmation of a change by a signed-in user, whose session may be stolen.
    Confirmation,
}

/// A limit on wrong codes. For each user, each limit has a count of its own. So wrong codes from a stolen session do
/// not block the codes of a sign-in, and wrong one-time codes do not block recovery codes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum CodeLimit {
    /// Limits wrong one-time codes. Codes without a valid form count as such.
    OneTime(CodePurpose),
    /// Limits wrong codes that have the form of a recovery code.
    Recovery(CodePurpose),
}

/// The wrong codes of a user that count towards one limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct WrongCodes {
    pub(crate) count: i64,
    /// The time of the first wrong code, with which the window began, in Unix seconds.
    pub(crate) since: i64,
}

/// A second factor, which is on or still being enrolled.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct StoredSecondFactor {
    /// The secret, as [`SecondFactorKeys`](crate::second_factor::SecondFactorKeys) has encrypted it.
    pub(crate) secret: String,
    /// The latest time step whose code was used. Codes of this step and of earlier steps are refused.
    pub(crate) last_step: i64,
    /// The wrong codes by their limit; a limit without an entry has none. Programs of the previous release count every
    /// wrong code as a one-time code of a sign-in.
    pub(crate) wrong_codes: BTreeMap<CodeLimit, WrongCodes>,
    /// The number of recovery codes that are left.
    pub(crate) recovery_codes: i64,
}

impl CodeLimit {
    pub(crate) const ALL: [Self; 4] = [
        Self::OneTime(CodePurpose::SignIn),
        Self::OneTime(CodePurpose::Confirmation),
        Self::Recovery(CodePurpose::SignIn),
        Self::Recovery(CodePurpose::Confirmation),
    ];

    /// Returns the maximum number of wrong codes in a window.
    pub(crate) fn max(self) -> i64 {
        match self {
            Self::OneTime(_) => MAX_WRONG_ONE_TIME_CODES,
            Self::Recovery(_) => MAX_WRONG_RECOVERY_CODES,
        }
    }
}

impl StoredSecondFactor {
    /// Returns the id of the key that encrypted the secret.
    pub(crate) fn key_id(&self) -> &str {
        self.secret.split_once('.').unwrap_or_default().0
    }

    /// Returns the wrong codes that count towards this limit.
    pub(crate) fn wrong_codes(&self, limit: CodeLimit) -> WrongCodes {
        self.wrong_codes.get(&limit).copied().unwrap_or_default()
    }

    /// Returns the seconds from `at` (in Unix seconds) until codes of this limit are accepted again; `None` if they are
    /// accepted at that time. A window that began an hour or more after `at` is ignored, because it comes from a clock
    /// that was ahead.
    pub(crate) fn refused_for(&self, limit: CodeLimit, at: u64) -> Option<u64> {
        let wrong = self.wrong_codes(limit);
        let age = i64::try_from(at).unwrap_or(i64::MAX) - wrong.since;
        let is_over = age.abs() >= WRONG_CODES_WINDOW;
        let is_full = wrong.count >= limit.max() && !is_over;
        is_full.then(|| (WRONG_CODES_WINDOW - age).unsigned_abs())
    }
}

/// A verified one-time code, and what its use changes in the stored second factor.
#[derive(Debug)]
pub(crate) struct OneTimeCodeUse {
    /// The time step of the code.
    pub(crate) step: i64,
    /// The encrypted secret with which the code was checked.
    pub(crate) secret: String,
    /// The secret that replaces `secret`: the same secret, perhaps encrypted with a newer key.
    pub(crate) new_secret: String,
}

#[cfg(test)]
mod tests {
    use super::{CodeLimit, CodePurpose, StoredSecondFactor, WrongCodes};
    use std::collections::BTreeMap;

    fn factor_with(limit: CodeLimit, count: i64) -> StoredSecondFactor {
        let since = 10_000;
        StoredSecondFactor {
            wrong_codes: BTreeMap::from([(limit, WrongCodes { count, since })]),
            ..StoredSecondFactor::default()
        }
    }

    #[test]
    fn ten_wrong_codes_refuse_for_an_hour_and_a_window_of_a_wrong_clock_does_not_count() {
        let refused_for = |count, at| {
            let limit = CodeLimit::OneTime(CodePurpose::SignIn);
            factor_with(limit, count).refused_for(limit, at)
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
        for full in CodeLimit::ALL {
            let factor = factor_with(full, 100);
            for asked in CodeLimit::ALL {
                assert_eq!(
                    factor.refused_for(asked, 10_000).is_some(),
                    full == asked,
                    "{factor:?} {asked:?}"
                );
            }
        }
    }
}
