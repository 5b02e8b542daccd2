//! Holds the state that the routers share.

use crate::{refusals::Refusals, static_file::StaticFile};
use axum::extract::FromRef;
use rolegate_auth_client::AuthClient;
use rolegate_sign_in::{settings::SignInSettings, sign_in::SignIn};
use std::{ops::Deref, sync::Arc};

/// The clients and settings that handlers share. Clones share one allocation, because axum clones the state of a router
/// several times for each request.
#[derive(Clone)]
pub(crate) struct GatewayState {
    shared: Arc<SharedState>,
}

/// The fields of [`GatewayState`].
pub(crate) struct SharedState {
    /// The client of auth-service.
    pub(crate) auth: AuthClient,
    /// Limits refused password checks.
    pub(crate) refusals: Refusals,
    /// The pages and cookies with which people sign in. `None` with `SIGN_IN=off`.
    pub(crate) sign_in: Option<Arc<SignIn>>,
    /// The settings of signing in, two of which count even with `SIGN_IN=off`: password links are at the origin of
    /// `SIGN_IN_URL`, and authenticator applications show `SIGN_IN_TITLE` as the issuer.
    pub(crate) sign_in_settings: SignInSettings,
    /// The picture at the top of the pages.
    pub(crate) logo: StaticFile,
}

impl GatewayState {
    pub(crate) fn new(
        auth: AuthClient,
        sign_in: Option<SignIn>,
        sign_in_settings: SignInSettings,
        logo: StaticFile,
    ) -> Self {
        let shared = SharedState {
            auth,
            refusals: Refusals::new(),
            sign_in: sign_in.map(Arc::new),
            sign_in_settings,
            logo,
        };
        Self {
            shared: Arc::new(shared),
        }
    }
}

impl Deref for GatewayState {
    type Target = SharedState;

    fn deref(&self) -> &SharedState {
        &self.shared
    }
}

impl FromRef<GatewayState> for AuthClient {
    fn from_ref(state: &GatewayState) -> Self {
        state.auth.clone()
    }
}
