//! Holds the state that the routers share.

use crate::{refusals::Refusals, static_file::StaticFile};
use axum::extract::FromRef;
use rolegate_auth_client::AuthClient;
use rolegate_sign_in::{settings::SignInSettings, sign_in::SignIn};
use std::sync::Arc;

/// The clients and settings that handlers share.
#[derive(Clone)]
pub(crate) struct GatewayState {
    /// The client of auth-service.
    pub(crate) auth: AuthClient,
    /// Limits refused password checks.
    pub(crate) refusals: Refusals,
    /// The pages and cookies with which people sign in. `None` with `SIGN_IN=off`.
    pub(crate) sign_in: Option<Arc<SignIn>>,
    /// The setting `SIGN_IN_URL`. Password links are at its origin, even with `SIGN_IN=off`.
    pub(crate) sign_in_url: Arc<str>,
    /// The setting `SIGN_IN_TITLE`. Authenticator applications show it as the issuer, even with `SIGN_IN=off`.
    pub(crate) sign_in_title: Option<Arc<str>>,
    /// The picture at the top of the pages.
    pub(crate) logo: Arc<StaticFile>,
}

impl GatewayState {
    pub(crate) fn new(
        auth: AuthClient,
        sign_in: Option<SignIn>,
        settings: SignInSettings,
        logo: StaticFile,
    ) -> Self {
        Self {
            auth,
            refusals: Refusals::new(),
            sign_in: sign_in.map(Arc::new),
            sign_in_url: settings.sign_in_url.into(),
            sign_in_title: settings.brand.sign_in_title.map(Into::into),
            logo: logo.into(),
        }
    }
}

impl FromRef<GatewayState> for AuthClient {
    fn from_ref(state: &GatewayState) -> Self {
        state.auth.clone()
    }
}
