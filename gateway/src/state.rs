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
    /// `SIGN_IN_URL` for password links, also if nobody can sign in at a page.
    pub(crate) sign_in_url: Arc<str>,
    /// The issuer of one-time codes, also if nobody can sign in at a page.
    pub(crate) title: Option<Arc<str>>,
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
            title: None,
            logo: Arc::default(),
        }
    }

    /// Takes over where password links lead, and the issuer of one-time codes.
    pub(crate) fn with_sign_in_settings(self, settings: &SignInSettings) -> Self {
        Self {
            sign_in_url: settings.sign_in_url.as_str().into(),
            title: settings.brand.sign_in_title.as_deref().map(Into::into),
            ..self
        }
    }
}

impl FromRef<GatewayState> for AuthClient {
    fn from_ref(state: &GatewayState) -> Self {
        state.auth.clone()
    }
}
