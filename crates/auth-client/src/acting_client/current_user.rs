//! Returns the bearer of a credential, and the kind of the credential.

use super::ActingClient;
use crate::{connections::Client, response_time::optional_time, user::User};
use rolegate_grpc_client::CallError;
use rolegate_proto::auth_v1::{self, GetCurrentUserRequest};
use std::time::SystemTime;

pub use auth_v1::CredentialKind;

/// The bearer of a credential, and the properties of the credential.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bearer {
    /// The user, with the role that counts in decisions.
    pub user: User,
    /// The kind of the credential.
    pub kind: CredentialKind,
    /// The time at which the credential expires at the latest; `None` if it never expires.
    pub expires_at: Option<SystemTime>,
}

impl TryFrom<auth_v1::GetCurrentUserResponse> for Bearer {
    type Error = CallError;

    /// Converts a response. A kind that only a later version knows is an error, because it has no name here.
    fn try_from(response: auth_v1::GetCurrentUserResponse) -> Result<Self, CallError> {
        let credential = response.credential.ok_or(CallError::Malformed)?;
        let kind = CredentialKind::try_from(credential.kind).unwrap_or_default();
        if kind == CredentialKind::Unspecified {
            return Err(CallError::Malformed);
        }
        Ok(Self {
            user: User::try_from_response(response.user)?,
            kind,
            expires_at: optional_time(credential.expires_at)?,
        })
    }
}

impl ActingClient {
    /// Returns the bearer and the kind of the credential.
    pub async fn current_user(&self) -> Result<Bearer, CallError> {
        self.read(GetCurrentUserRequest {}, Client::get_current_user)
            .await?
            .try_into()
    }
}

#[cfg(test)]
mod tests {
    use super::{Bearer, CredentialKind, auth_v1};
    use prost_types::Timestamp;
    use rolegate_grpc_client::CallError;

    const BEFORE_1970: Option<Timestamp> = Some(Timestamp {
        seconds: -1,
        nanos: 0,
    });

    #[test]
    fn bearers_without_a_user_or_a_known_kind_are_errors() {
        let response = |kind: i32, role_name: &str| auth_v1::GetCurrentUserResponse {
            user: Some(auth_v1::User {
                role_name: role_name.to_owned(),
                ..auth_v1::User::default()
            }),
            credential: Some(auth_v1::Credential {
                kind,
                expires_at: None,
            }),
        };
        let bearer = Bearer::try_from(response(3, "editor")).expect("a bearer");
        assert_eq!(
            (bearer.kind, bearer.expires_at),
            (CredentialKind::ApiKey, None)
        );
        assert_eq!(bearer.user.role.as_str(), "editor");
        let late = auth_v1::Credential {
            kind: 1,
            expires_at: BEFORE_1970,
        };
        for bad in [
            response(0, "user"),
            response(4, "user"),
            response(-1, "user"),
            response(1, ""),
            response(1, "Editor"),
            auth_v1::GetCurrentUserResponse {
                user: None,
                ..response(1, "user")
            },
            auth_v1::GetCurrentUserResponse {
                credential: None,
                ..response(1, "user")
            },
            auth_v1::GetCurrentUserResponse {
                credential: Some(late),
                ..response(1, "user")
            },
        ] {
            assert_eq!(Bearer::try_from(bad), Err(CallError::Malformed));
        }
    }
}
