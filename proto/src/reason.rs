//! Defines the stable reasons of errors: the `reason` of `google.rpc.ErrorInfo` in the domain
//! [`ERROR_DOMAIN`].
//!
//! The macro `reasons!` holds one table of all reasons, with their gRPC code, HTTP status and text over HTTP. A
//! test compares the table with the tables at the top of the `.proto` files. A test in the module `http`
//! compares it with `docs/http-api.md`.

use tonic::Code;

/// The `domain` of every `google.rpc.ErrorInfo` that Rolegate's services send.
pub const ERROR_DOMAIN: &str = "rolegate";

macro_rules! reasons {
    ($($(#[$doc:meta])+ $variant:ident = $name:literal, $code:ident, $status:literal, $detail:expr;)+) => {
        /// The reason why a service refused a call. The names are stable, because programs compare them instead
        /// of the texts.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Reason {
            $($(#[$doc])+ $variant,)+
        }

        impl Reason {
            /// Every reason.
            pub const ALL: &[Self] = &[$(Self::$variant),+];

            /// Returns the name on the wire, in `UPPER_SNAKE_CASE`.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $name),+ }
            }

            /// Returns the gRPC status code.
            #[must_use]
            pub const fn code(self) -> Code {
                match self { $(Self::$variant => Code::$code),+ }
            }

            /// Returns the HTTP status.
            #[must_use]
            pub const fn http_status(self) -> u16 {
                match self { $(Self::$variant => $status),+ }
            }

            /// Returns the text of `{"detail": …}` over HTTP. `None` means that the message of the error is
            /// used, because it names the broken rule.
            #[must_use]
            pub const fn http_detail(self) -> Option<&'static str> {
                match self { $(Self::$variant => $detail),+ }
            }

            /// Returns the HTTP status, and the text of `{"detail": …}`.
            #[deprecated(note = "use `http_status` and `http_detail`")]
            #[must_use]
            pub const fn http(self) -> (u16, Option<&'static str>) {
                (self.http_status(), self.http_detail())
            }

            /// Returns the reason with this name, or `None` for a reason that only a later version knows.
            #[must_use]
            pub fn from_name(name: &str) -> Option<Self> {
                match name { $($name => Some(Self::$variant),)+ _ => None }
            }
        }
    };
}

reasons! {
    /// The username is taken.
    UsernameTaken = "USERNAME_TAKEN", AlreadyExists, 400, Some("Username already exists.");
    /// The username breaks a rule; the status message names the rule.
    UsernameInvalid = "USERNAME_INVALID", InvalidArgument, 400, None;
    /// The password breaks a rule; the status message names the rule.
    PasswordInvalid = "PASSWORD_INVALID", InvalidArgument, 400, None;
    /// The username is unknown or the password is wrong; which of the two is not disclosed.
    CredentialsInvalid = "CREDENTIALS_INVALID", Unauthenticated, 401,
        Some("Invalid username or password.");
    /// The password is right, and the user's second factor requires a one-time code.
    OtpRequired = "OTP_REQUIRED", Unauthenticated, 401, Some("One-time code required.");
    /// The password is right, but the one-time code is wrong or was used before.
    OtpInvalid = "OTP_INVALID", Unauthenticated, 401, Some("Invalid one-time code.");
    /// The access token is malformed, forged, revoked or expired, or the session or API key is unknown,
    /// expired or revoked.
    TokenInvalid = "TOKEN_INVALID", Unauthenticated, 401, Some("Invalid or expired token.");
    /// The access token is valid, but its user does not exist.
    TokenUserNotFound = "TOKEN_USER_NOT_FOUND", Unauthenticated, 401, Some("User not found.");
    /// Neither the user's stored role nor a group of the user is among the allowed ones, or the call does not accept
    /// API keys.
    RoleInsufficient = "ROLE_INSUFFICIENT", PermissionDenied, 403, Some("Insufficient privileges.");
    /// No user has this id.
    UserNotFound = "USER_NOT_FOUND", NotFound, 404, Some("User not found.");
    /// The service has no such role, or does not allow it here.
    RoleInvalid = "ROLE_INVALID", InvalidArgument, 400, Some("Invalid role.");
    /// The user is the actor, or the user named `admin`.
    UserNotDeletable = "USER_NOT_DELETABLE", FailedPrecondition, 400,
        Some("This user cannot be deleted.");
    /// The user is the one named `admin`, who cannot be renamed.
    UserNotRenamable = "USER_NOT_RENAMABLE", FailedPrecondition, 400,
        Some("This user cannot be renamed.");
    /// The change would leave no admin, because this user is the last one.
    LastAdmin = "LAST_ADMIN", FailedPrecondition, 400, Some("The last admin cannot be removed.");
    /// The user is the actor, who can change the password only by giving the current one.
    OwnPassword = "OWN_PASSWORD", FailedPrecondition, 400,
        Some("Use /profile/password to change your own password.");
    /// The given current password is wrong.
    CurrentPasswordWrong = "CURRENT_PASSWORD_WRONG", FailedPrecondition, 400,
        Some("Current password is incorrect.");
    /// The password link is unknown, used, replaced or expired.
    LinkInvalid = "LINK_INVALID", InvalidArgument, 400, Some("Invalid or expired link.");
    /// Admins of this service create password links instead of passwords.
    PasswordLinkRequired = "PASSWORD_LINK_REQUIRED", PermissionDenied, 403,
        Some("Users choose their passwords by a link.");
    /// The one-time code for a change of the second factor is wrong or was used before.
    OtpWrong = "OTP_WRONG", FailedPrecondition, 400, Some("One-time code is incorrect.");
    /// The service does not have second factors, or lacks the key for them.
    SecondFactorUnavailable = "SECOND_FACTOR_UNAVAILABLE", FailedPrecondition, 400,
        Some("Second factors are not available.");
    /// The second factor is already on, or is not on; the status message says which.
    SecondFactorState = "SECOND_FACTOR_STATE", FailedPrecondition, 400, None;
    /// The user is an admin whose second factor is off, and admins need one in this service.
    SecondFactorRequired = "SECOND_FACTOR_REQUIRED", PermissionDenied, 403,
        Some("Second factor required.");
    /// The user is the actor, who needs a code to turn off the second factor.
    OwnSecondFactor = "OWN_SECOND_FACTOR", FailedPrecondition, 400,
        Some("Use /profile/second-factor to turn off your own second factor.");
    /// No post has this id.
    PostNotFound = "POST_NOT_FOUND", NotFound, 404, Some("Post not found.");
    /// The title or the content of a post breaks a rule; the status message names the rule.
    PostInvalid = "POST_INVALID", InvalidArgument, 400, None;
    /// A new API key breaks a rule; the status message names the rule.
    ApiKeyInvalid = "API_KEY_INVALID", InvalidArgument, 400, None;
    /// The user already has the maximum number of API keys.
    ApiKeyLimit = "API_KEY_LIMIT", FailedPrecondition, 400,
        Some("A user can have at most 50 API keys.");
    /// The user has no API key with this id.
    ApiKeyNotFound = "API_KEY_NOT_FOUND", NotFound, 404, Some("API key not found.");
    /// A new session breaks a rule; the status message names the rule.
    SessionInvalid = "SESSION_INVALID", InvalidArgument, 400, None;
    /// The user has no session with this id.
    SessionNotFound = "SESSION_NOT_FOUND", NotFound, 404, Some("Session not found.");
    /// No group has this id.
    GroupNotFound = "GROUP_NOT_FOUND", NotFound, 404, Some("Group not found.");
    /// The user is not in the group.
    MembershipNotFound = "MEMBERSHIP_NOT_FOUND", NotFound, 404, Some("Membership not found.");
    /// Another group has the name.
    GroupTaken = "GROUP_TAKEN", AlreadyExists, 400, Some("Group already exists.");
    /// The name of a new group breaks a rule; the status message names the rule.
    GroupInvalid = "GROUP_INVALID", InvalidArgument, 400, None;
    /// The user is already in the maximum number of groups.
    GroupLimit = "GROUP_LIMIT", FailedPrecondition, 400,
        Some("A user can be in at most 100 groups.");
    /// API keys name the group; the status message says which.
    GroupInUse = "GROUP_IN_USE", FailedPrecondition, 400, None;
    /// The end of a membership or of an account breaks a rule; the status message names the rule.
    EndInvalid = "END_INVALID", InvalidArgument, 400, None;
    /// The request is invalid. This is a bug in the calling program, not an error of that program's client.
    RequestInvalid = "REQUEST_INVALID", InvalidArgument, 500, Some("Internal server error.");
    /// The record of changes lacks the changes after the given revision. Only streams fail for this reason, so it
    /// never reaches HTTP.
    SnapshotRequired = "SNAPSHOT_REQUIRED", OutOfRange, 500, Some("Internal server error.");
    /// The record of changes lacks the seal that the caller has seen. Only streams fail for this reason, so it
    /// never reaches HTTP.
    HistoryUnknown = "HISTORY_UNKNOWN", FailedPrecondition, 500, Some("Internal server error.");
    /// Registration is disabled.
    RegistrationClosed = "REGISTRATION_CLOSED", PermissionDenied, 403,
        Some("Registration is closed.");
    /// Too many attempts failed, or too many credentials were created; `google.rpc.RetryInfo` says when to
    /// try again.
    TooManyAttempts = "TOO_MANY_ATTEMPTS", ResourceExhausted, 429,
        Some("Too many attempts, try again later.");
    /// There is no capacity before the deadline; `google.rpc.RetryInfo` says when to try again.
    Overloaded = "OVERLOADED", ResourceExhausted, 503, Some("Service is busy, try again.");
    /// The clock is behind the user's last revocation of tokens; `google.rpc.RetryInfo` says how far.
    ClockBehind = "CLOCK_BEHIND", FailedPrecondition, 503,
        Some("The clock is behind the time of the user's last revocation.");
    /// The service cannot reach auth-service.
    AuthUnavailable = "AUTH_UNAVAILABLE", Unavailable, 503,
        Some("Service temporarily unavailable.");
    /// The database is unavailable.
    StoreUnavailable = "STORE_UNAVAILABLE", Unavailable, 503,
        Some("Service temporarily unavailable.");
    /// The database cannot write now, because its disk is full or its commits get no response. Nothing was
    /// changed.
    StoreReadOnly = "STORE_READ_ONLY", Unavailable, 503, Some("Service is temporarily read-only.");
    /// The database did not answer a commit in time, or the connection or the disk failed. The change may
    /// have been made, or may still be made.
    OutcomeUnknown = "OUTCOME_UNKNOWN", DeadlineExceeded, 504, Some("Upstream timed out.");
    /// An internal error occurred. Its cause is only in the log of the service.
    Internal = "INTERNAL", Internal, 500, Some("Internal server error.");
}

impl Reason {
    /// Returns whether the user is known but not permitted, because the role is not sufficient or does not
    /// count without a second factor.
    #[must_use]
    pub const fn is_denial(self) -> bool {
        matches!(self, Self::RoleInsufficient | Self::SecondFactorRequired)
    }
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

    /// Returns reason and code of rows such as `//   USERNAME_TAKEN   ALREADY_EXISTS   the username …`.
    fn documented(contract: &str) -> BTreeSet<(String, String)> {
        let rows = contract
            .lines()
            .filter_map(|line| line.strip_prefix("//   "));
        let words = rows.map(|row| row.split_whitespace().take(2).map(str::to_owned));
        let pairs = words.filter_map(|mut words| Some((words.next()?, words.next()?)));
        let is_constant = |word: &str| word.bytes().all(|b| b.is_ascii_uppercase() || b == b'_');
        pairs
            .filter(|(reason, code)| is_constant(reason) && is_constant(code))
            .collect()
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
            (
                reason.as_str().to_owned(),
                words.char_indices().map(word).collect(),
            )
        };
        let ours: BTreeSet<(String, String)> = Reason::ALL.iter().copied().map(named).collect();
        assert_eq!(tables, ours);
    }
}
