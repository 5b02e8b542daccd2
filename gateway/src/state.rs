//! The state of the routers.

use crate::{logo::Logo, refusals::Refusals};
use axum::extract::FromRef;
use rolegate_auth_client::AuthClient;
use rolegate_sign_in::{settings::SignInSettings, sign_in::SignIn};
use std::sync::Arc;

/// The clients and settings that handlers share.
#[derive(Clone)]
pub(crate) struct GatewayState {
    /// The client of auth-service.
    pub(crate) auth: AuthClient,
    /// The refusals of password checks.
    pub(crate) refusals: Refusals,
    /// How people sign in; `None` if they cannot.
    pub(crate) sign_in: Option<Arc<SignIn>>,
    /// `SIGN_IN_URL`, at whose origin password links lead, also with `SIGN_IN=off`.
    pub(crate) sign_in_url: Arc<str>,
    /// `SIGN_IN_TITLE`, the issuer of one-time codes, also with `SIGN_IN=off`.
    pub(crate) sign_in_title: Option<Arc<str>>,
    /// The picture of the pages.
    pub(crate) logo: Arc<Logo>,
}

impl GatewayState {
    pub(crate) fn new(auth: AuthClient, sign_in: Option<SignIn>) -> Self {
        Self {
            auth,
            refusals: Refusals::new(),
            sign_in: sign_in.map(Arc::new),
            sign_in_url: "".into(),
            sign_in_title: None,
            logo: Arc::default(),
        }
    }

    /// The state with the settings that count even if nobody can sign in at a page.
    pub(crate) fn with_sign_in_settings(self, settings: &SignInSettings) -> Self {
        Self {
            sign_in_url: settings.sign_in_url.as_str().into(),
            sign_in_title: settings.brand.sign_in_title.as_deref().map(Into::into),
            ..self
        }
    }
}

impl FromRef<GatewayState> for AuthClient {
    fn from_ref(state: &GatewayState) -> Self {
        state.auth.clone()
    }
}
