//! Where a reader learns the role of a user.

use e2e::{Api, ext_authz};

/// One of the ways to the same decision.
#[derive(Clone)]
pub(crate) enum Source {
    /// `GET /profile` of a gateway.
    Profile(Api),
    /// The check of Envoy at an auth-service.
    ExtAuthz(ext_authz::Client),
    /// An application behind a proxy, which answers with the role that the proxy passes on.
    Application(Api),
}

impl Source {
    /// The role of the bearer of `token`.
    pub(crate) async fn role(&self, token: &str) -> String {
        match self {
            Self::Profile(api) => {
                let response = api.with_token(token).get("/profile").await;
                response.expect(200).json()["role"].as_str().expect("a role").to_owned()
            }
            Self::Application(api) => {
                api.with_token(token).get("/x").await.expect(200).body.clone()
            }
            Self::ExtAuthz(client) => {
                let authorization = format!("Bearer {token}");
                let check = ext_authz::check(Some("*"), Some(&authorization));
                let decision = ext_authz::decide(client, check).await;
                decision.values("rolegate-role").concat()
            }
        }
    }
}
