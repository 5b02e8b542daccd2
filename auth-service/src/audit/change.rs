//! Names the changes of users and their opaque tokens, and lists all events that the record can have.

use super::FormerUsername;
use rolegate_proto::Role;

/// The event of a renaming. Its entry has two usernames, the old one and the new one.
pub(crate) const USER_RENAMED: &str = "user_renamed";

/// The event of an erasure: the usernames and addresses of a deleted user were removed from the record.
pub(crate) const AUDIT_ERASED: &str = "audit_erased";

/// All events that a row of the record can have. The command `audit list` refuses any other name as a filter.
pub(crate) const EVENTS: [&str; 32] = [
    "registered",
    "user_created",
    "user_imported",
    "role_changed",
    "password_changed",
    "password_set",
    "password_link_created",
    "password_set_by_link",
    "second_factor_begun",
    "second_factor_enabled",
    "second_factor_disabled",
    "second_factor_removed",
    "recovery_code_used",
    USER_RENAMED,
    "user_disabled",
    "user_enabled",
    "user_deleted",
    "tokens_revoked",
    "api_key_created",
    "api_key_deleted",
    "session_created",
    "session_ended",
    "login_ok",
    "login_failed",
    "api_key_refused",
    "password_link_refused",
    "refusals_not_recorded",
    AUDIT_ERASED,
    "audit_pruned",
    "audit_begins",
    "all_ended",
    "restored",
];

/// A change of a user or of an opaque token, which is written to the log and to the record.
#[derive(Clone, Debug)]
pub(crate) enum Change {
    Registered,
    UserCreated,
    UserImported,
    RoleChanged {
        /// The role before the change. Two concurrent changes may both record the role that was there before
        /// either of them.
        from: Role,
    },
    /// A user changed their own password, and gave the current one.
    PasswordChanged,
    PasswordSet,
    PasswordLinkCreated,
    PasswordSetByLink,
    SecondFactorBegun,
    SecondFactorEnabled,
    /// A user turned off their own second factor.
    SecondFactorDisabled,
    /// An admin or the operator turned off the second factor of a user.
    SecondFactorRemoved,
    RecoveryCodeUsed,
    UserRenamed {
        from: FormerUsername,
    },
    UserDisabled,
    UserEnabled,
    UserDeleted,
    TokensRevoked,
    ApiKeyCreated,
    ApiKeyDeleted,
    SessionCreated,
    SessionEnded,
    /// The usernames and addresses of a deleted user were erased from the record.
    AuditErased,
    /// All sessions, password links, access tokens and unfinished second-factor enrollments of all users were
    /// ended by `user end-all`, and with `--keys` also all API keys.
    AllEnded,
    /// The same credentials as for `AllEnded`, but no API keys, were ended in a database that was restored from
    /// a backup.
    Restored,
}

impl Change {
    pub(crate) fn set_disabled(disabled: bool) -> Self {
        if disabled {
            Self::UserDisabled
        } else {
            Self::UserEnabled
        }
    }

    /// Returns the name of the event in the log and in the record.
    pub(super) fn event(&self) -> &'static str {
        match self {
            Self::Registered => "registered",
            Self::UserCreated => "user_created",
            Self::UserImported => "user_imported",
            Self::RoleChanged { .. } => "role_changed",
            Self::PasswordChanged => "password_changed",
            Self::PasswordSet => "password_set",
            Self::PasswordLinkCreated => "password_link_created",
            Self::PasswordSetByLink => "password_set_by_link",
            Self::SecondFactorBegun => "second_factor_begun",
            Self::SecondFactorEnabled => "second_factor_enabled",
            Self::SecondFactorDisabled => "second_factor_disabled",
            Self::SecondFactorRemoved => "second_factor_removed",
            Self::RecoveryCodeUsed => "recovery_code_used",
            Self::UserRenamed { .. } => USER_RENAMED,
            Self::UserDisabled => "user_disabled",
            Self::UserEnabled => "user_enabled",
            Self::UserDeleted => "user_deleted",
            Self::TokensRevoked => "tokens_revoked",
            Self::ApiKeyCreated => "api_key_created",
            Self::ApiKeyDeleted => "api_key_deleted",
            Self::SessionCreated => "session_created",
            Self::SessionEnded => "session_ended",
            Self::AuditErased => AUDIT_ERASED,
            Self::AllEnded => "all_ended",
            Self::Restored => "restored",
        }
    }

    /// Returns whether the change is sent to the services that follow the changes of users. These services
    /// store only the name, the role and the state of a user, so other changes are not sent.
    pub(super) fn is_published(&self) -> bool {
        match self {
            Self::Registered
            | Self::UserCreated
            | Self::UserImported
            | Self::RoleChanged { .. }
            | Self::UserRenamed { .. }
            | Self::UserDisabled
            | Self::UserEnabled
            | Self::UserDeleted => true,
            Self::PasswordChanged
            | Self::PasswordSet
            | Self::PasswordLinkCreated
            | Self::PasswordSetByLink
            | Self::SecondFactorBegun
            | Self::SecondFactorEnabled
            | Self::SecondFactorDisabled
            | Self::SecondFactorRemoved
            | Self::RecoveryCodeUsed
            | Self::TokensRevoked
            | Self::ApiKeyCreated
            | Self::ApiKeyDeleted
            | Self::SessionCreated
            | Self::SessionEnded
            | Self::AuditErased
            | Self::AllEnded
            | Self::Restored => false,
        }
    }
}
