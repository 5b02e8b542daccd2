//! Where a reader learns what a credential grants.

use crate::{history::ENDED, subject::Credential};
use e2e::{Api, ext_authz};

/// One of the ways to ask for the same decision.
#[derive(Clone)]
pub(crate) enum Source {
    /// Requests `GET /profile` at a gateway.
    Profile(Api),
    /// Sends a check to an auth-service, as Envoy does.
    ExtAuthz(ext_authz::Client),
    /// Requests an application behind a proxy, which answers with the role that the proxy passes
    /// on.
    Application(Api),
}

impl Source {
    /// Returns what the credential grants: a role, or [`ENDED`].
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
