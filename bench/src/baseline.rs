//! The baseline: one process that verifies tokens and reads PostgreSQL directly.
//!
//! It is a well-written service on axum and sqlx, but serves only `GET /profile`, with the same responses as the
//! services.

mod reads;

use crate::{Failure, console};
use axum::{
    Json, Router,
    extract::State,
    http::{HeaderMap, StatusCode, header::AUTHORIZATION},
    response::{IntoResponse, Response},
    routing::get,
    serve::ListenerExt as _,
};
use jsonwebtoken::{Algorithm, DecodingKey, Validation};
pub(crate) use reads::Reading;
use reads::Reads;
use serde::{Deserialize, Serialize};
use std::{net::Ipv4Addr, sync::Arc};
use tokio::net::TcpListener;

/// The options of the baseline's process, which this program sets.
#[derive(Debug, clap::Args)]
pub(crate) struct BaselineOptions {
    /// How to read users
    #[arg(long)]
    reading: Reading,
    /// Database URL
    #[arg(long, env = "DATABASE_URL", hide_env_values = true)]
    database_url: String,
    /// HS256 secret of the tokens
    #[arg(long, env = "SIGNING_SECRET", hide_env_values = true)]
    signing_secret: String,
}

#[derive(Clone)]
struct Monolith {
    reads: Reads,
    key: Arc<DecodingKey>,
    validation: Arc<Validation>,
}

#[derive(Deserialize)]
struct Claims {
    sub: String,
}

#[derive(Serialize)]
struct Profile {
    message: String,
    role: String,
}

/// Serves until it is killed. Prints its address on stdout.
pub(crate) async fn serve(options: BaselineOptions) -> Result<(), Failure> {
    // The provider may be installed already. Installing it twice is harmless.
    let _ = rolegate_auth_service::tokens::PROVIDER.install_default();
    let mut validation = Validation::new(Algorithm::HS256);
    validation.leeway = 0;
    let monolith = Monolith {
        reads: Reads::open(options.reading, &options.database_url).await?,
        key: Arc::new(DecodingKey::from_secret(options.signing_secret.as_bytes())),
        validation: Arc::new(validation),
    };
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
    console::print(&format!("  bearer http://{}", listener.local_addr()?));
    let listener = listener.tap_io(|stream| {
        let _ = stream.set_nodelay(true);
    });
    let routes = Router::new()
        .route("/profile", get(profile))
        .with_state(monolith);
    Ok(axum::serve(listener, routes).await?)
}

async fn profile(
    State(monolith): State<Monolith>,
    headers: HeaderMap,
) -> Result<Json<Profile>, Refusal> {
    let token = headers
        .get(AUTHORIZATION)
        .and_then(|value| value.to_str().ok()?.strip_prefix("Bearer "))
        .ok_or(Refusal(StatusCode::UNAUTHORIZED, "Not authenticated."))?;
    let invalid = Refusal(StatusCode::UNAUTHORIZED, "Invalid or expired token.");
    let judged = jsonwebtoken::decode::<Claims>(token, &monolith.key, &monolith.validation);
    let id = judged
        .ok()
        .and_then(|token| token.claims.sub.parse().ok())
        .ok_or(invalid)?;
    let user = monolith.reads.user(id).await.map_err(|_| FAULT)?;
    let user = user.ok_or(Refusal(StatusCode::UNAUTHORIZED, "User not found."))?;
    Ok(Json(Profile {
        message: format!("Welcome {}!", user.username),
        role: user.role,
    }))
}

struct Refusal(StatusCode, &'static str);

const FAULT: Refusal = Refusal(StatusCode::INTERNAL_SERVER_ERROR, "Internal server error.");

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        (self.0, Json(serde_json::json!({ "detail": self.1 }))).into_response()
    }
}
