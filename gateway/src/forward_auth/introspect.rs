//! Serves `POST /introspect`, which tells whether an access token is valid now, and for whom (RFC 7662).

use crate::{
    extract::{
        credentials::{authenticate_header, unverified_claims},
        form::Form,
    },
    state::GatewayState,
};
use axum::{
    Extension, Json,
    extract::{Request, State},
    response::{IntoResponse as _, Response},
};
use http::StatusCode;
use rolegate_auth_client::{CallContext, CallError, Reason, Requirement, axum::ApiError};
use secrecy::SecretString;
use serde::{Deserialize, Serialize};
use serde_json::json;

/// The response (RFC 7662, section 2.2). For an inactive token, it has only the member `active`.
#[derive(Default, Serialize)]
pub(super) struct Introspection {
    active: bool,
    #[serde(flatten)]
    token: Option<ActiveToken>,
}

#[derive(Serialize)]
struct ActiveToken {
    sub: String,
    username: String,
    /// The user's role as it is stored now, not as it was at the login.
    role: String,
    /// The names of the groups that the token has now, in ascending order.
    groups: Vec<String>,
    token_type: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    exp: Option<u64>,
}

/// Returns whether the token in the form is valid now, and for whom. The caller must authenticate as any user before
/// the body is read. An outage is an error, and never makes a token inactive.
pub(super) async fn introspect(
    State(state): State<GatewayState>,
    Extension(context): Extension<CallContext>,
    request: Request,
) -> Result<Json<Introspection>, Response> {
    let any = Requirement::AnyAuthenticated;
    authenticate_header(&state, request.headers(), context, any).await?;
    let token = read_token(request).await.map_err(invalid_request)?;
    let exp = unverified_claims(&token).map(|Expiry { exp }| exp);
    let token = SecretString::from(token);
    match state.auth.authorize(&token, any, context).await {
        Ok(user) => Ok(Json(Introspection {
            active: true,
            token: Some(ActiveToken {
                sub: user.id.to_string(),
                username: user.username,
                role: user.role.to_string(),
                groups: user.groups,
                token_type: "bearer",
                exp,
            }),
        })),
        Err(CallError::Refused(error))
            if matches!(
                error.reason,
                Reason::TokenInvalid | Reason::TokenUserNotFound
            ) =>
        {
            Ok(Json(Introspection::default()))
        }
        Err(error) => Err(ApiError::from(error).into_response()),
    }
}

/// Returns the token in the form. A server may ignore `token_type_hint` (RFC 7662, section 2.1), but no parameter may
/// be repeated.
pub(crate) async fn read_token(request: Request) -> Result<String, ApiError> {
    let form = Form::read(request).await?;
    form.optional("token_type_hint")?;
    form.required("token")
}

/// Returns the response for an error. The body of a 400 also has the error code that OAuth clients expect (RFC 6749,
/// section 5.2).
fn invalid_request(error: ApiError) -> Response {
    if error.status() != StatusCode::BAD_REQUEST {
        return error.into_response();
    }
    let body = json!({ "detail": error.detail(), "error": "invalid_request" });
    error.into_response().map(|_json| body.to_string().into())
}

/// The claim `exp`. It may be used only after auth-service has verified the token.
#[derive(Deserialize)]
struct Expiry {
    exp: u64,
}
