//! `POST /introspect`: what an access token is worth now (RFC 7662).

use crate::{
    extract::{
        credentials::{authenticate, unverified_claims},
        json_body::{MAX_BODY, content_type, invalid, read},
        parameters::QueryParams,
    },
    state::GatewayState,
};
use axum::{
    Extension, Json,
    extract::{Request, State},
    response::{IntoResponse as _, Response},
};
use http::StatusCode;
use rolegate_auth_client::{CallContext, CallError, Reason, Requirement, User, axum::ApiError};
use rolegate_proto::http::HttpReason;
use secrecy::SecretString;
use serde::{Deserialize, Serialize};
use serde_json::json;

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
    role: String,
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
) -> Result<Json<Introspection>, Response> {
    let any = Requirement::AnyAuthenticated;
    authenticate(&state, request.headers(), context, any).await?;
    let token = token_of(request).await.map_err(invalid_request)?;
    let exp = unverified_claims(&token).map(|Expiry { exp }| exp);
    match state.auth.authorize(&SecretString::from(token), any, context).await {
        Ok(User { id, username, role, .. }) => {
            let (sub, role) = (id.to_string(), role.to_string());
            let token = ActiveToken { sub, username, role, token_type: "bearer", exp };
            Ok(Json(Introspection { active: true, token: Some(token) }))
        }
        Err(CallError::Refused(error))
            if matches!(error.reason, Reason::TokenInvalid | Reason::TokenUserNotFound) =>
        {
            Ok(Json(Introspection::default()))
        }
        Err(error) => Err(ApiError::from(error).into_response()),
    }
}

/// The token of the form, of at most 64 KiB. Its hint is one that a server may ignore, but no parameter
/// may be repeated. Rejects, in this order, with 413, 503 (too many bodies are being read), 408, 415 and
/// 400.
async fn token_of(request: Request) -> Result<String, ApiError> {
    let (head, body) = request.into_parts();
    let bytes = read(body, MAX_BODY, head.extensions.get()).await?;
    if content_type(&head.headers).as_deref() != Some("application/x-www-form-urlencoded") {
        let detail = "Content-Type must be application/x-www-form-urlencoded.";
        return Err(ApiError::http(HttpReason::MediaTypeUnsupported, detail));
    }
    let form = String::from_utf8(bytes).ok().and_then(|text| QueryParams::parse(&text).ok());
    let form = form.ok_or_else(|| invalid("Request body is not valid UTF-8."))?;
    let field = |detail| ApiError::http(HttpReason::FieldInvalid, detail);
    let repeated = |_| field("Field \"token_type_hint\" is given more than once.");
    form.get("token_type_hint").map_err(repeated)?;
    let token = form.get("token").ok().flatten().map(str::to_owned);
    token.ok_or_else(|| field("Field \"token\" must be given exactly once."))
}

/// Clients that speak OAuth expect a code beside 400 (RFC 6749, section 5.2).
fn invalid_request(error: ApiError) -> Response {
    if error.status() != StatusCode::BAD_REQUEST {
        return error.into_response();
    }
    let body = json!({ "detail": error.detail(), "error": "invalid_request" });
    let (head, _) = error.into_response().into_parts();
    Response::from_parts(head, body.to_string().into())
}

/// The claim `exp`, which counts only if auth-service has verified the token.
#[derive(Deserialize)]
struct Expiry {
    exp: u64,
}
