//! Creates, lists and deletes API keys.

use super::{ActingClient, convert_all, users::RoleFields};
use crate::{
    connections::Client,
    response_time::{optional_time, required_time},
};
use rolegate_grpc_client::CallError;
use rolegate_proto::{
    Role,
    auth_v1::{
        self, AllApiKeys, CreateApiKeyRequest, DeleteApiKeysRequest, ListApiKeysRequest,
        delete_api_keys_request::Keys,
    },
};
use secrecy::SecretString;
use std::time::SystemTime;

/// An API key, without the key itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApiKey {
    /// The id, which is at least 1 and never reused.
    pub id: i64,
    /// The id of the user as whom the key acts.
    pub user_id: i64,
    /// The name that the creator of the key chose. It need not be unique.
    pub name: String,
    /// The first 8 characters of the key.
    pub prefix: String,
    /// The highest role that the key grants; `None` for the role of its user.
    pub role: Option<Role>,
    /// The time at which the key was created, in whole seconds like the times below.
    pub created_at: SystemTime,
    /// The time at which the key expires; `None` if it never expires.
    pub expires_at: Option<SystemTime>,
    /// The time at which a decision last accepted the key; `None` if none has. It is stored with a delay of up
    /// to a minute.
    pub last_used_at: Option<SystemTime>,
    /// The username of the admin who created the key for the user; `None` if the user or an operator created
    /// it.
    pub created_by: Option<String>,
}

/// The properties of a key to create, which auth-service validates.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ApiKeyInput {
    /// The name, of 1 to 100 characters.
    pub name: String,
    /// The highest role that the key grants; `None` for the role of its user. `Some(None)` stands for a
    /// malformed name, which auth-service rejects.
    pub role: Option<Option<Role>>,
    /// The time at which the key expires; `None` if it never expires.
    pub expires_at: Option<SystemTime>,
}

impl TryFrom<auth_v1::ApiKey> for ApiKey {
    type Error = CallError;

    /// Converts a key. An unreadable role is an error, because without a role the key would seem to grant
    /// more.
    fn try_from(key: auth_v1::ApiKey) -> Result<Self, CallError> {
        let role = match (key.role_name, key.role) {
            (None, None) => None,
            (name, number) => {
                let role =
                    Role::from_message(&name.unwrap_or_default(), number.unwrap_or_default());
                Some(role.map_err(|_| CallError::Malformed)?)
            }
        };
        Ok(Self {
            id: key.id,
            user_id: key.user_id,
            name: key.name,
            prefix: key.prefix,
            role,
            created_at: required_time(key.created_at)?,
            expires_at: optional_time(key.expires_at)?,
            last_used_at: optional_time(key.last_used_at)?,
            created_by: key.created_by,
        })
    }
}

impl ActingClient {
    /// Creates an API key for a user. The bearer's own credential must not be an API key. Returns the key,
    /// which auth-service does not store, and its stored properties.
    pub async fn create_api_key(
        &self,
        user_id: Option<i64>,
        input: ApiKeyInput,
    ) -> Result<(SecretString, ApiKey), CallError> {
        let role = input.role.map(RoleFields::new);
        let request = CreateApiKeyRequest {
            name: input.name,
            role: role.as_ref().map(|role| role.number),
            expires_at: input.expires_at.map(Into::into),
            role_name: role.map(|role| role.name),
            user_id,
        };
        let response = self.call(request, Client::create_api_key).await?;
        let api_key: ApiKey = response.api_key.ok_or(CallError::Malformed)?.try_into()?;
        // An auth-service of the previous release ignores the user id. The key would then belong to the
        // bearer, who is an admin.
        if user_id.is_some_and(|id| id != api_key.user_id) {
            return Err(CallError::Malformed);
        }
        Ok((response.key.into(), api_key))
    }

    /// Lists the API keys of a user by ascending id.
    pub async fn list_api_keys(&self, user_id: Option<i64>) -> Result<Vec<ApiKey>, CallError> {
        let request = ListApiKeysRequest { user_id };
        let response = self.read(request, Client::list_api_keys).await?;
        convert_all(response.api_keys)
    }

    /// Deletes the API key with this id or, without an id, all keys of the user. Returns the deleted keys.
    pub async fn delete_api_keys(
        &self,
        user_id: Option<i64>,
        key_id: Option<i64>,
    ) -> Result<Vec<ApiKey>, CallError> {
        let keys = match key_id {
            Some(id) => Keys::KeyId(id),
            None => Keys::All(AllApiKeys {}),
        };
        let request = DeleteApiKeysRequest {
            user_id,
            keys: Some(keys),
        };
        let response = self.call(request, Client::delete_api_keys).await?;
        convert_all(response.api_keys)
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
