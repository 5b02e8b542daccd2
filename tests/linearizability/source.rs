//! Where a reader learns the role of a user.

use crate::history::ENDED;
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
    /// Returns the role that `credential` grants, or [`ENDED`].
    pub(crate) async fn role(&self, credential: &str) -> String {
        match self {
            Self::Profile(api) => {
                let response = api.with_token(credential).get("/profile").await;
                if response.status == 401 {
                    return ENDED.to_owned();
                }
                response.expect(200).json()["role"]
                    .as_str()
                    .expect("a role")
                    .to_owned()
            }
            Self::Application(api) => {
                let response = api.with_token(credential).get("/x").await;
                if response.status == 401 {
                    return ENDED.to_owned();
                }
                response.expect(200).body.clone()
            }
            Self::ExtAuthz(client) => {
                let authorization = format!("Bearer {credential}");
                let check = ext_authz::check(Some("*"), Some(&authorization));
                let decision = ext_authz::decide(client, check).await;
                if decision.http_status == 401 {
                    return ENDED.to_owned();
                }
                decision.values("rolegate-role").concat()
            }
        }
    }
}
