//! A service that protects its endpoints with auth-service.
//!
//! Start auth-service or `rolegate` on this machine, then:
//!
//! ```sh
//! cargo run -p rolegate-auth-client --features axum --example protected_service
//! curl -i http://127.0.0.1:3000/reports -H "Authorization: Bearer $TOKEN"
//! ```

use axum::{Router, routing::get};
use rolegate_auth_client::{
    AuthClient, Role,
    axum::{CurrentUser, RequireRole},
};
use std::error::Error;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let address = std::env::var("AUTH_SERVICE_URL");
    let auth = AuthClient::connect_lazy(address.as_deref().unwrap_or("http://127.0.0.1:50051"))?;
    let editors = RequireRole::any_of(auth.clone(), [Role::AUTHOR, Role::ADMIN]);
    let routes = Router::new()
        .route("/hello", get(hello))
        .route("/reports", get(reports).route_layer(editors))
        .with_state(auth);
    let listener = tokio::net::TcpListener::bind("127.0.0.1:3000").await?;
    axum::serve(listener, routes).await?;
    Ok(())
}

/// Greets any user with a valid token. Other requests get 401.
async fn hello(CurrentUser(user): CurrentUser) -> String {
    format!(
        "Hello {}, you are {} {}.\n",
        user.username, user.role, user.id
    )
}

/// Answers authors and admins, according to the role that is stored now. Other users get 403.
async fn reports(CurrentUser(user): CurrentUser) -> String {
    format!("Reports for {}.\n", user.username)
}
