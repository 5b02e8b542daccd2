//! Serves the address where tests move the clock, cause failures and revoke tokens, with `POST /` and a [`Control`] in
//! JSON.

use axum::{Json, Router, body::Bytes, extract::State, routing::post};
use http::{HeaderMap, Request, Response, StatusCode, header};
use parking_lot::Mutex;
use rolegate_auth_client::{
    ActingClient, AuthClient, CallContext, CallError, auth_v1::RevokeTokensRequest,
    testing::Control,
};
use rolegate_grpc_server::{GrpcServer, Next};
use rolegate_program::failure::Failure;
use rolegate_sql_store::advance_clock;
use secrecy::SecretString;
use serde_json::{Value, json};
use std::{collections::HashMap, sync::Arc, time::Duration};
use tonic::{Status, body::Body};

/// The message of the gRPC status that calls get during an outage.
pub(crate) const OUTAGE: &str = "rolegate-test-outage";

/// The last [`Control`] that began or ended a failure, which [`inject_failures`] applies to calls.
pub(crate) type Failures = Arc<Mutex<Option<Control>>>;

/// Lets calls of `server` fail. Health calls never fail, so that clients notice at once when a failure has ended.
pub(crate) fn inject_failures(failures: &Failures, server: &mut GrpcServer) {
    let failures = failures.clone();
    server.wrap_methods(move |call, next| {
        let failure = failures.lock().clone();
        Box::pin(fail_call(failure, call, next))
    });
}

async fn fail_call(failure: Option<Control>, call: Request<Body>, next: Next) -> Response<Body> {
    if call.uri().path().starts_with("/grpc.") {
        return next(call).await;
    }
    match failure {
        // Like a lost connection, this status is neither a permission nor a denial.
        Some(Control::Outage {}) => return Status::unavailable(OUTAGE).into_http(),
        Some(Control::Slow { milliseconds }) => {
            tokio::time::sleep(Duration::from_millis(milliseconds.into())).await;
        }
        _ => {}
    }
    next(call).await
}

/// The parts of the server that a [`Control`] changes.
pub(crate) struct ControlState {
    pub(crate) auth: AuthClient,
    pub(crate) admin_password: SecretString,
    pub(crate) failures: Failures,
    /// The ids of the users that the flags name, by username.
    pub(crate) users: HashMap<String, i64>,
    /// The address of the control listener, which requests must have as `Host`.
    pub(crate) host: String,
}

async fn apply(state: &ControlState, body: &[u8]) -> Result<(), Failure> {
    match serde_json::from_slice(body)? {
        #[expect(
            clippy::disallowed_methods,
            reason = "tests of applications move the clock to see tokens expire"
        )]
        Control::Clock { advance_seconds } => advance_clock(advance_seconds),
        Control::Revoked { username } => {
            let Some(id) = state.users.get(&username) else {
                return Err(format!("no --user is {username:?}").into());
            };
            let admin = admin(&state.auth, &state.admin_password).await?;
            let request = RevokeTokensRequest {
                user_id: Some(*id),
                ..RevokeTokensRequest::default()
            };
            admin.send(request).await?;
        }
        failure => *state.failures.lock() = Some(failure),
    }
    Ok(())
}

/// Signs in as the user `admin`, and returns a client. Each call gets a new token, because the clock may have been
/// moved beyond the expiry of an earlier one.
pub(crate) async fn admin(
    auth: &AuthClient,
    password: &SecretString,
) -> Result<ActingClient, CallError> {
    let (token, _) = auth
        .login("admin", password, None, CallContext::default())
        .await?;
    Ok(auth.clone().acting_for(token, CallContext::default()))
}

pub(crate) fn router(state: ControlState) -> Router {
    Router::new()
        .route("/", post(answer))
        .with_state(Arc::new(state))
}

/// Applies the [`Control`] of a request. Requests with an `Origin` or for another host are refused, because a page in a
/// browser could have sent them.
async fn answer(
    State(state): State<Arc<ControlState>>,
    headers: HeaderMap,
    body: Bytes,
) -> (StatusCode, Json<Value>) {
    let is_for_this_host = headers
        .get(header::HOST)
        .is_some_and(|host| *host == state.host);
    let outcome = if is_for_this_host && !headers.contains_key(header::ORIGIN) {
        apply(&state, &body).await
    } else {
        Err("only for programs on this machine".into())
    };
    match outcome {
        Ok(()) => (StatusCode::OK, Json(json!({}))),
        Err(error) => (
            StatusCode::BAD_REQUEST,
            Json(json!({ "detail": error.to_string() })),
        ),
    }
}
