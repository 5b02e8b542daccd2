//! Converts domain values into messages, errors of the use cases into gRPC statuses, and what a call says about its
//! origin into the type of the use cases.

use crate::{
    accounts::{AccountError, AuthenticatedUser},
    actor::{Actor, PresentedCredential},
    call_origin::CallOrigin,
    group::to_names,
    tokens::{NewPasswordLink, OpaqueToken},
    user::User,
};
use prost_types::Timestamp;
use rolegate_grpc_server::{Call, error_status};
use rolegate_proto::{Role, UnknownRole, auth_v1};
use secrecy::ExposeSecret as _;
use tonic::Status;

impl From<User> for auth_v1::User {
    fn from(user: User) -> Self {
        Self {
            group_names: user.group_names(),
            until: user.until.map(seconds),
            id: user.id,
            username: user.username,
            role: user.role.response_number(),
            disabled: user.disabled,
            role_name: user.role.to_string(),
            unknown_role_name: String::new(),
            created_at: user.created_at.map(seconds),
        }
    }
}

/// Converts a user into each of the responses that have only a user.
macro_rules! user_responses {
    ($($response:ident,)+) => {
        $(impl From<User> for auth_v1::$response {
            fn from(user: User) -> Self {
                Self {
                    user: Some(user.into()),
                }
            }
        })+
    };
}

user_responses! {
    RegisterResponse,
    GetUserResponse,
    SetUserRoleResponse,
    SetUserDisabledResponse,
    UpdateUserResponse,
    DeleteUserResponse,
    SetPasswordResponse,
    ChangePasswordResponse,
}

/// Converts Unix seconds into the signed integer that messages have. A time that does not fit becomes the
/// latest possible time.
pub(super) fn seconds(unix_seconds: u64) -> i64 {
    unix_seconds.try_into().unwrap_or(i64::MAX)
}

impl From<AuthenticatedUser> for auth_v1::User {
    fn from(authenticated: AuthenticatedUser) -> Self {
        // The contract has a single field for a role without effect, so the message does not say why the role
        // has none.
        let unknown_role_name = authenticated
            .ineffective_role
            .map(|role| role.to_string())
            .unwrap_or_default();
        Self {
            unknown_role_name,
            ..authenticated.user.into()
        }
    }
}

impl From<Actor> for auth_v1::User {
    fn from(actor: Actor) -> Self {
        let authenticated = AuthenticatedUser {
            user: actor.user,
            ineffective_role: actor.ineffective_role,
        };
        authenticated.into()
    }
}

impl From<Actor> for auth_v1::GetCurrentUserResponse {
    fn from(actor: Actor) -> Self {
        let kind = match actor.presented {
            PresentedCredential::AccessToken => auth_v1::CredentialKind::AccessToken,
            PresentedCredential::Session(_) => auth_v1::CredentialKind::Session,
            PresentedCredential::ApiKey(_) => auth_v1::CredentialKind::ApiKey,
        };
        let credential = auth_v1::Credential {
            kind: kind.into(),
            expires_at: actor.expires_at.map(timestamp),
        };
        Self {
            user: Some(actor.into()),
            credential: Some(credential),
        }
    }
}

/// Reads an optional role, by its name or, from older clients, by its number. Returns `None` if both are
/// missing, and an error inside `Some` if the name or the number is invalid.
pub(super) fn optional_role(
    name: Option<String>,
    number: Option<i32>,
) -> Option<Result<Role, UnknownRole>> {
    if name.is_none() && number.is_none() {
        return None;
    }
    Some(Role::from_message(
        &name.unwrap_or_default(),
        number.unwrap_or_default(),
    ))
}

impl From<OpaqueToken> for auth_v1::ApiKey {
    fn from(key: OpaqueToken) -> Self {
        let role = key.role();
        let created_by = key.created_by().map(str::to_owned);
        let groups = key.groups().map(|groups| auth_v1::GroupNames {
            names: to_names(groups),
        });
        Self {
            id: key.id,
            user_id: key.user_id,
            name: key.name,
            prefix: key.prefix,
            role: role.map(Role::response_number),
            role_name: role.map(|role| role.to_string()),
            created_at: Some(timestamp(key.created_at)),
            expires_at: key.expires_at.map(timestamp),
            last_used_at: key.last_used_at.map(timestamp),
            created_by,
            groups,
        }
    }
}

impl From<NewPasswordLink> for auth_v1::PasswordLink {
    fn from(link: NewPasswordLink) -> Self {
        Self {
            token: link.token.expose_secret().to_owned(),
            expires_at: Some(timestamp(link.expires_at)),
        }
    }
}

pub(super) fn timestamp(unix_seconds: u64) -> Timestamp {
    Timestamp {
        seconds: seconds(unix_seconds),
        nanos: 0,
    }
}

impl From<AccountError> for Status {
    fn from(error: AccountError) -> Self {
        error_status(error.reason(), &error, error.retry_after())
    }
}

impl From<&Call> for CallOrigin {
    fn from(call: &Call) -> Self {
        Self {
            client_address: call.client_address(),
            deadline: call.deadline(),
        }
    }
}
