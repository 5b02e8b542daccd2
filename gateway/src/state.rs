//! What handlers share.

use crate::refusals::Refusals;
use axum::extract::FromRef;
use rolegate_auth_client::AuthClient;
use rolegate_sign_in::settings::SignIn;
use std::sync::Arc;

/// The client of auth-service, the refusals of password checks, how people sign in, if they can, and `SIGN_IN_URL`
/// for password links, also if they cannot.
#[derive(Clone)]
pub(crate) struct GatewayState {
    pub(crate) auth: AuthClient,
    pub(crate) refusals: Refusals,
    pub(crate) sign_in: Option<Arc<SignIn>>,
    pub(crate) sign_in_url: Arc<str>,
}

impl GatewayState {
    pub(crate) fn new(auth: AuthClient, sign_in: Option<SignIn>) -> Self {
        let (refusals, sign_in) = (Refusals::new(), sign_in.map(Arc::new));
        Self {
            auth,
            refusals,
            sign_in,
            sign_in_url: "".into(),
        }
    }

    /// Password links are at the origin of this URL instead of being paths.
    pub(crate) fn with_links_at(self, sign_in_url: &str) -> Self {
        Self {
            sign_in_url: sign_in_url.into(),
            ..self
        }
    }
}

impl FromRef<GatewayState> for AuthClient {
    fn from_ref(state: &GatewayState) -> Self {
        state.auth.clone()
    }
}
