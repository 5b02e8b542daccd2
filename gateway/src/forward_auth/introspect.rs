//! `POST /introspect`: what an access token is worth now (RFC 7662).

use crate::{
    extract::{credentials::authenticate, form_body::FormBody},
    state::GatewayState,
};
use axum::{
    Extension, Json,
    extract::{FromRequest as _, Request, State},
};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use rolegate_auth_client::{CallContext, CallError, Reason, Requirement, User, axum::ApiError};
use secrecy::SecretString;
use serde::{Deserialize, Serialize};

/// The members of RFC 7662, section 2.2; of an inactive token only `active`.
#[derive(Debug, Default, Serialize)]
pub(super) struct Introspection {
    active: bool,
    #[serde(flatten)]
    token: Option<ActiveToken>,
}

#[derive(Debug, Serialize)]
struct ActiveToken {
    sub: String,
    username: String,
    /// The role stored now, not that of the login.
    role: &'static str,
    token_type: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    exp: Option<u64>,
}

/// The caller authenticates as any user, before the body is read. An outage is an error, and never
/// an inactive token.
pub(super) async fn introspect(
    State(state): State<GatewayState>,
    Extension(context): Extension<CallContext>,
    request: Request,
) -> Result<Json<Introspection>, ApiError> {
    let any = Requirement::AnyAuthenticated;
    authenticate(&state, request.headers(), context, any).await?;
    let form = FormBody::from_request(request, &()).await?;
    let token = form.get("token")?;
    let exp = expiry(token);
    match state.auth.authorize(&SecretString::from(token), any, context).await {
        Ok(user) => Ok(Json(Introspection { active: true, token: Some(active(user, exp)) })),
        Err(CallError::Refused(error))
            if matches!(error.reason, Reason::TokenInvalid | Reason::TokenUserNotFound) =>
        {
            Ok(Json(Introspection::default()))
        }
        Err(error) => Err(error.into()),
    }
}

fn active(user: User, exp: Option<u64>) -> ActiveToken {
    let User { id, username, role, .. } = user;
    ActiveToken { sub: id.to_string(), username, role: role.as_str(), token_type: "bearer", exp }
}

/// The `exp` claim, which counts only if auth-service has verified the token.
fn expiry(token: &str) -> Option<u64> {
    #[derive(Deserialize)]
    struct Claims {
        exp: u64,
    }
    let claims = token.split('.').nth(1)?;
    let claims: Claims = serde_json::from_slice(&URL_SAFE_NO_PAD.decode(claims).ok()?).ok()?;
    Some(claims.exp)
}
