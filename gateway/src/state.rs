//! What handlers share.

use crate::refusals::Refusals;
use axum::extract::FromRef;
use rolegate_auth_client::AuthClient;
use rolegate_sign_in::settings::SignIn;
use std::sync::Arc;

/// The client of auth-service, the refusals of password checks, and how people sign in, if they can.
#[derive(Clone)]
pub(crate) struct GatewayState {
    pub(crate) auth: AuthClient,
    pub(crate) refusals: Refusals,
    pub(crate) sign_in: Option<Arc<SignIn>>,
}

impl GatewayState {
    pub(crate) fn new(auth: AuthClient, sign_in: Option<SignIn>) -> Self {
        Self { auth, refusals: Refusals::new(), sign_in: sign_in.map(Arc::new) }
    }
}

impl FromRef<GatewayState> for AuthClient {
    fn from_ref(state: &GatewayState) -> Self {
        state.auth.clone()
    }
}
