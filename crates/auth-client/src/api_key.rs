//! API keys as auth-service returns them, and the arguments of the calls about them.

use crate::session::{optional_time, time};
use rolegate_grpc_client::CallError;
use rolegate_proto::{Role, auth_v1};
use std::time::SystemTime;

/// An API key, without the key itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApiKey {
    /// At least 1; never reused.
    pub id: i64,
    /// The user who acts by it.
    pub user_id: i64,
    /// As its user named it; not unique.
    pub name: String,
    /// The first 8 characters of the key.
    pub prefix: String,
    /// The highest role that it grants; `None` for the user's.
    pub role: Option<Role>,
    /// To the second, as the times below.
    pub created_at: SystemTime,
    /// When it ends; `None` for never.
    pub expires_at: Option<SystemTime>,
    /// When it was last good for a decision, up to a minute late; `None` for never.
    pub last_used_at: Option<SystemTime>,
    /// The username of the admin who created it for the user.
    pub created_by: Option<String>,
}

/// A key to create, which auth-service validates.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ApiKeyInput {
    /// 1 to 100 characters.
    pub name: String,
    /// The highest role that it grants: `None` for the user's, `Some(None)` for a malformed name, which
    /// auth-service rejects.
    pub role: Option<Option<Role>>,
    /// When it ends; `None` for never.
    pub expires_at: Option<SystemTime>,
}

impl TryFrom<auth_v1::ApiKey> for ApiKey {
    type Error = CallError;

    /// An unreadable role is an error: without it the key would seem to grant more.
    fn try_from(key: auth_v1::ApiKey) -> Result<Self, CallError> {
        let role = (key.role.is_some() || key.role_name.is_some()).then(|| {
            Role::from_message(
                &key.role_name.unwrap_or_default(),
                key.role.unwrap_or_default(),
            )
        });
        let role = role.transpose().map_err(|_| CallError::Malformed)?;
        Ok(Self {
            id: key.id,
            user_id: key.user_id,
            name: key.name,
            prefix: key.prefix,
            role,
            created_at: time(key.created_at)?,
            expires_at: optional_time(key.expires_at)?,
            last_used_at: optional_time(key.last_used_at)?,
            created_by: key.created_by,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{ApiKey, auth_v1};
    use prost_types::Timestamp;
    use rolegate_grpc_client::CallError;

    #[test]
    fn responses_that_cannot_be_shown_are_errors() {
        let created_at = Some(Timestamp {
            seconds: 1,
            nanos: 0,
        });
        let good = auth_v1::ApiKey {
            created_at,
            ..auth_v1::ApiKey::default()
        };
        assert!(ApiKey::try_from(good.clone()).is_ok());
        for bad in [
            auth_v1::ApiKey {
                created_at: None,
                ..good.clone()
            },
            auth_v1::ApiKey {
                role: Some(0),
                ..good.clone()
            },
            auth_v1::ApiKey {
                role: Some(4),
                ..good.clone()
            },
            auth_v1::ApiKey {
                expires_at: Some(Timestamp {
                    seconds: -1,
                    nanos: 0,
                }),
                ..good
            },
        ] {
            assert!(matches!(ApiKey::try_from(bad), Err(CallError::Malformed)));
        }
    }
}
