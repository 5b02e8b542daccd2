//! Converts domain values to messages, and errors of the use cases to statuses.

use crate::{accounts::AccountError, api_key::ApiKey, user::User};
use prost_types::Timestamp;
use rolegate_grpc_server::error_status;
use rolegate_proto::{Role, auth_v1};
use tonic::Status;

impl From<User> for auth_v1::User {
    fn from(user: User) -> Self {
        let User { id, username, role, disabled, .. } = user;
        let (role, role_name) = (role.response_number(), role.to_string());
        Self { id, username, role, disabled, role_name, unknown_role_name: String::new() }
    }
}

impl From<User> for auth_v1::UserName {
    fn from(user: User) -> Self {
        Self { id: user.id, username: user.username }
    }
}

impl From<ApiKey> for auth_v1::ApiKey {
    fn from(key: ApiKey) -> Self {
        let ApiKey { id, user_id, name, prefix, role, created_at, expires_at, last_used_at } = key;
        Self {
            id,
            user_id,
            name,
            prefix,
            role: role.map(Role::response_number),
            role_name: role.map(|role| role.to_string()),
            created_by: None,
            created_at: Some(timestamp(created_at)),
            expires_at: expires_at.map(timestamp),
            last_used_at: last_used_at.map(timestamp),
        }
    }
}

fn timestamp(unix_seconds: u64) -> Timestamp {
    Timestamp { seconds: unix_seconds.try_into().unwrap_or(i64::MAX), nanos: 0 }
}

impl From<AccountError> for Status {
    fn from(error: AccountError) -> Self {
        let (retry_after, scope) = error.retry().unzip();
        error_status(error.reason(), &error, retry_after, scope.flatten())
    }
}
