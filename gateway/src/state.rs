//! What handlers share.

use crate::refusals::Refusals;
use axum::extract::FromRef;
use rolegate_auth_client::AuthClient;

/// The client of auth-service, and the refusals of password checks.
#[derive(Clone)]
pub(crate) struct GatewayState {
    pub(crate) auth: AuthClient,
    pub(crate) refusals: Refusals,
}

impl GatewayState {
    pub(crate) fn new(auth: AuthClient) -> Self {
        Self { auth, refusals: Refusals::new() }
    }
}

impl FromRef<GatewayState> for AuthClient {
    fn from_ref(state: &GatewayState) -> Self {
        state.auth.clone()
    }
}
