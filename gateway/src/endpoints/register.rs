//! `POST /register` of both variants.

use crate::{
    json_body::JsonBody,
    message::{Message, message},
};
use auth_client::{AuthClient, CallContext, axum::Problem};
use axum::{Extension, Json, extract::State};

/// `{username, password}`; whatever else the body says, such as a role, has no effect.
pub(crate) async fn register(
    State(auth): State<AuthClient>,
    Extension(context): Extension<CallContext>,
    mut body: JsonBody,
) -> Result<Json<Message>, Problem> {
    let username = body.text("username")?;
    let password = body.secret("password")?;
    auth.register(&username, &password, context).await?;
    Ok(message("User registered successfully."))
}
