//! Where a reader learns what a credential grants.

use crate::{
    history::ENDED,
    subject::{Credential, Kind, MEMBER, STRANGER, UNKNOWN_GROUP},
};
use e2e::{Api, TestResponse, ext_authz};
use rolegate_proto::auth_v1::{VerifyCredentialsRequest, auth_service_client::AuthServiceClient};
use tonic::{Code, transport::Channel};

/// One of the ways to ask for the same decision. The first three tell the role of a user, and the
/// others whether the user is in the group that has the user's name.
#[derive(Clone)]
pub(crate) enum Source {
    /// Requests `GET /profile` at a gateway.
    Profile(Api),
    /// Sends a check to an auth-service, as Envoy does.
    ExtAuthz(ext_authz::Client),
    /// Requests an application behind a proxy, which answers with the role that the proxy passes
    /// on.
    Application(Api),
    /// Requests `GET /authorize` at a gateway, as a proxy does.
    Authorize(Api),
    /// Calls `VerifyCredentials` of an auth-service, as the gateway does for HTTP Basic.
    VerifyCredentials(AuthServiceClient<Channel>),
}

impl Source {
    /// Returns whether a credential of this kind can be presented.
    pub(crate) fn accepts(&self, kind: Kind) -> bool {
        match self {
            Self::VerifyCredentials(_) => matches!(kind, Kind::ApiKey | Kind::Password),
            Self::Authorize(_) => true,
            Self::Profile(_) | Self::ExtAuthz(_) | Self::Application(_) => kind != Kind::Password,
        }
    }

    /// Returns what the credential grants: a role, whether its user is in the group, or [`ENDED`].
    pub(crate) async fn read(&self, credential: &Credential) -> String {
        let secret = &*credential.secret;
        match self {
            Self::Profile(api) => {
                let response = api.with_token(secret).get("/profile").await;
                if response.status == 401 {
                    return ENDED.to_owned();
                }
                response.expect(200).json()["role"]
                    .as_str()
                    .expect("a role")
                    .to_owned()
            }
            Self::Application(api) => {
                let response = api.with_token(secret).get("/x").await;
                if response.status == 401 {
                    return ENDED.to_owned();
                }
                response.expect(200).body.clone()
            }
            Self::ExtAuthz(client) => role_by_check(client, secret).await,
            Self::Authorize(api) => {
                let username = &credential.username;
                let api = match credential.kind {
                    Kind::Password => api.with_basic(username, secret),
                    _ => api.with_token(secret),
                };
                let response = api.get(&format!("/authorize?groups={username}")).await;
                membership(&response).to_owned()
            }
            Self::VerifyCredentials(client) => verified_membership(client, credential).await,
        }
    }
}

/// Returns the role that an auth-service tells Envoy, or [`ENDED`].
pub(crate) async fn role_by_check(client: &ext_authz::Client, token: &str) -> String {
    let authorization = format!("Bearer {token}");
    let check = ext_authz::check(Some("*"), Some(&authorization));
    let decision = ext_authz::decide(client, check).await;
    if decision.http_status == 401 {
        return ENDED.to_owned();
    }
    decision.values("rolegate-role").concat()
}

/// Returns what a response to `GET /authorize?groups=…` says.
///
/// # Panics
///
/// Panics if the response is no decision.
pub(crate) fn membership(response: &TestResponse) -> &'static str {
    match response.status {
        200 => MEMBER,
        403 => STRANGER,
        401 => ENDED,
        400 => UNKNOWN_GROUP,
        _ => panic!("no decision: {response}"),
    }
}

async fn verified_membership(
    client: &AuthServiceClient<Channel>,
    credential: &Credential,
) -> String {
    let group = &credential.username;
    let request = VerifyCredentialsRequest {
        username: credential.username.clone(),
        password: credential.secret.clone(),
        accept_api_keys: true,
        group_names: vec![group.clone()],
        ..VerifyCredentialsRequest::default()
    };
    let state = match client.clone().verify_credentials(request).await {
        Ok(verified) => {
            let user = verified.into_inner().user.expect("a user");
            if user.group_names.contains(group) {
                MEMBER
            } else {
                STRANGER
            }
        }
        Err(status) if status.code() == Code::Unauthenticated => ENDED,
        Err(status) if status.code() == Code::InvalidArgument => UNKNOWN_GROUP,
        Err(status) => panic!("no decision: {status:?}"),
    };
    state.to_owned()
}
