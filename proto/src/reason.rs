//! Error reasons: the `reason` of `google.rpc.ErrorInfo` in the domain [`ERROR_DOMAIN`].

use tonic::Code;

/// The `domain` of every `google.rpc.ErrorInfo` that our services send.
pub const ERROR_DOMAIN: &str = "rolegate";

macro_rules! reasons {
    ($($(#[$doc:meta])+ $variant:ident = $name:literal, $code:ident;)+) => {
        /// Why a service rejected a call. Stable: callers decide by it, never by text.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Reason {
            $($(#[$doc])+ $variant,)+
        }

        impl Reason {
            /// Every reason.
            pub const ALL: &[Self] = &[$(Self::$variant),+];

            /// The name on the wire, `UPPER_SNAKE_CASE`.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $name),+ }
            }

            /// Its gRPC status code.
            #[must_use]
            pub const fn code(self) -> Code {
                match self { $(Self::$variant => Code::$code),+ }
            }

            /// The reason with this name; `None` for one of a later version.
            #[must_use]
            pub fn from_name(name: &str) -> Option<Self> {
                match name { $($name => Some(Self::$variant),)+ _ => None }
            }
        }
    };
}

reasons! {
    /// The username is taken.
    UsernameTaken = "USERNAME_TAKEN", AlreadyExists;
    /// The username breaks a rule; the status message names the rule.
    UsernameInvalid = "USERNAME_INVALID", InvalidArgument;
    /// The password breaks a rule; the status message names the rule.
    PasswordInvalid = "PASSWORD_INVALID", InvalidArgument;
    /// Unknown username or wrong password; which one is not disclosed.
    CredentialsInvalid = "CREDENTIALS_INVALID", Unauthenticated;
    /// The access token is malformed, forged, ended or expired, or the API key is not one.
    TokenInvalid = "TOKEN_INVALID", Unauthenticated;
    /// The access token is valid, but its user does not exist.
    TokenUserNotFound = "TOKEN_USER_NOT_FOUND", Unauthenticated;
    /// The user's stored role is not among the allowed ones, or an API key stands where only an access
    /// token may.
    RoleInsufficient = "ROLE_INSUFFICIENT", PermissionDenied;
    /// No user has this id.
    UserNotFound = "USER_NOT_FOUND", NotFound;
    /// The role is none of `user`, `author`, `admin`.
    RoleInvalid = "ROLE_INVALID", InvalidArgument;
    /// The user is the actor, or the one named `admin`.
    UserNotDeletable = "USER_NOT_DELETABLE", FailedPrecondition;
    /// Without this user, no admin would be left.
    LastAdmin = "LAST_ADMIN", FailedPrecondition;
    /// The user is the actor, whose password change needs the current one.
    OwnPassword = "OWN_PASSWORD", FailedPrecondition;
    /// The given current password is wrong.
    CurrentPasswordWrong = "CURRENT_PASSWORD_WRONG", FailedPrecondition;
    /// No post has this id.
    PostNotFound = "POST_NOT_FOUND", NotFound;
    /// The title or the content of a post breaks a rule; the status message names the rule.
    PostInvalid = "POST_INVALID", InvalidArgument;
    /// A new API key breaks a rule; the status message names the rule.
    ApiKeyInvalid = "API_KEY_INVALID", InvalidArgument;
    /// The user has as many API keys as a user may have.
    ApiKeyLimit = "API_KEY_LIMIT", FailedPrecondition;
    /// The user has no API key with this id.
    ApiKeyNotFound = "API_KEY_NOT_FOUND", NotFound;
    /// The request is invalid: a bug of the calling program.
    RequestInvalid = "REQUEST_INVALID", InvalidArgument;
    /// Registration is disabled.
    RegistrationClosed = "REGISTRATION_CLOSED", PermissionDenied;
    /// Too many failed attempts; `google.rpc.RetryInfo` says when to try again.
    TooManyAttempts = "TOO_MANY_ATTEMPTS", ResourceExhausted;
    /// No capacity within the deadline; `google.rpc.RetryInfo` says when to try again.
    Overloaded = "OVERLOADED", ResourceExhausted;
    /// The clock is behind the time of the user's last revocation of tokens; `google.rpc.RetryInfo` says
    /// how far.
    ClockBehind = "CLOCK_BEHIND", FailedPrecondition;
    /// The service cannot reach auth-service.
    AuthUnavailable = "AUTH_UNAVAILABLE", Unavailable;
    /// The database is unavailable.
    StoreUnavailable = "STORE_UNAVAILABLE", Unavailable;
    /// The database cannot write now: its disk is full, or its commits get no answer. Nothing was done.
    StoreReadOnly = "STORE_READ_ONLY", Unavailable;
    /// The database did not answer a commit in time. The change may be done, also later.
    OutcomeUnknown = "OUTCOME_UNKNOWN", DeadlineExceeded;
    /// An internal error; the cause is only in the log of the service.
    Internal = "INTERNAL", Internal;
}

#[cfg(test)]
mod tests {
    use super::Reason;
    use std::collections::BTreeSet;

    #[test]
    fn every_reason_is_found_by_its_own_name() {
        for &reason in Reason::ALL {
            assert_eq!(Reason::from_name(reason.as_str()), Some(reason));
        }
        assert_eq!(Reason::from_name("username_taken"), None);
    }

    /// Rows such as `//   USERNAME_TAKEN   ALREADY_EXISTS   the username …`.
    fn documented(contract: &str) -> BTreeSet<(String, String)> {
        let rows = contract.lines().filter_map(|line| line.strip_prefix("//   "));
        let words = rows.map(|row| row.split_whitespace().take(2).map(str::to_owned));
        let pairs = words.filter_map(|mut words| Some((words.next()?, words.next()?)));
        let is_constant = |word: &str| word.bytes().all(|b| b.is_ascii_uppercase() || b == b'_');
        pairs.filter(|(reason, code)| is_constant(reason) && is_constant(code)).collect()
    }

    #[test]
    fn tables_of_the_contracts_match_the_reasons() {
        let mut tables = documented(include_str!("../rolegate/auth/v1/auth.proto"));
        tables.extend(documented(include_str!("../rolegate/posts/v1/posts.proto")));
        let named = |reason: Reason| {
            let words = format!("{:?}", reason.code());
            let word = |(at, letter): (usize, char)| match letter {
                'A'..='Z' if at > 0 => format!("_{letter}"),
                _ => letter.to_ascii_uppercase().to_string(),
            };
            (reason.as_str().to_owned(), words.char_indices().map(word).collect())
        };
        let ours: BTreeSet<(String, String)> = Reason::ALL.iter().copied().map(named).collect();
        assert_eq!(tables, ours);
    }
}
