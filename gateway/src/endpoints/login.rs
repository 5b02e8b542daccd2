//! `POST /login`.

use crate::json_body::JsonBody;
use auth_client::{AuthClient, CallContext, axum::Problem};
use axum::{Extension, Json, extract::State};
use secrecy::ExposeSecret;
use serde::Serialize;

/// The access token and how to present it (RFC 6750).
#[derive(Serialize)]
pub(crate) struct Login {
    access_token: String,
    token_type: &'static str,
}

/// `{username, password}`.
pub(crate) async fn login(
    State(auth): State<AuthClient>,
    Extension(context): Extension<CallContext>,
    mut body: JsonBody,
) -> Result<Json<Login>, Problem> {
    let username = body.text("username")?;
    let password = body.secret("password")?;
    let (access_token, _) = auth.login(&username, &password, context).await?;
    Ok(Json(Login { access_token: access_token.expose_secret().to_owned(), token_type: "bearer" }))
}
