//! Checks at a constant rate, and calls as fast as they are answered.

use crate::{Failure, open_loop::open_loop, users::LoadUser};
use envoy_types::pb::envoy::service::auth::v3::{
    AttributeContext, CheckRequest,
    attribute_context::{HttpRequest, Request},
    authorization_client::AuthorizationClient,
};
use rolegate_proto::auth_v1::{
    AnyAuthenticated, AuthorizeRequest, auth_service_client::AuthServiceClient,
    authorize_request::Requirement,
};
use std::{
    sync::Arc,
    time::{Duration, Instant},
};
use tokio::task::JoinSet;
use tonic::transport::Channel;

/// Checks per second on all connections.
pub(super) const RATE: f64 = 5000.0;
/// Of the closed loop.
pub(super) const CALLERS: usize = 128;

/// The time from when each check was due until its answer.
pub(super) async fn constant_rate(
    channels: &[Channel],
    users: &[LoadUser],
    seconds: u64,
) -> Result<Vec<Duration>, Failure> {
    let one = |number: usize| {
        let user = &users[number * 7919 % users.len()];
        check(channels[number % channels.len()].clone(), check_of(user))
    };
    let completed = open_loop(RATE, Duration::from_secs(seconds), one).await?;
    completed.into_iter().map(|check| check.outcome.map(|()| check.latency)).collect()
}

/// What a caller calls.
#[derive(Clone, Copy)]
pub(super) enum Call {
    Check,
    Authorize,
}

/// Calls per second of callers that wait for each answer.
pub(super) async fn closed_loop(
    channels: &[Channel],
    users: &Arc<[LoadUser]>,
    time: Duration,
    call: Call,
) -> Result<f64, Failure> {
    let start = Instant::now();
    let mut callers = JoinSet::new();
    for caller in 0..CALLERS {
        let (channel, users) = (channels[caller % channels.len()].clone(), Arc::clone(users));
        callers.spawn(async move {
            let (mut count, mut next) = (0_u32, caller * users.len() / CALLERS);
            while start.elapsed() < time {
                next = (next + 7919) % users.len();
                match call {
                    Call::Check => check(channel.clone(), check_of(&users[next])).await?,
                    Call::Authorize => authorize(channel.clone(), &users[next]).await?,
                }
                count += 1;
            }
            Ok::<_, Failure>(count)
        });
    }
    let counts = callers.join_all().await.into_iter().sum::<Result<u32, Failure>>()?;
    Ok(f64::from(counts) / start.elapsed().as_secs_f64())
}

/// What Envoy sends with `allowed_headers` as in `deploy/proxies`.
fn check_of(user: &LoadUser) -> CheckRequest {
    let http = HttpRequest {
        method: "GET".to_owned(),
        host: "app.example".to_owned(),
        path: "/reports/2026?month=5".to_owned(),
        headers: [("authorization".to_owned(), user.bearer())].into(),
        ..HttpRequest::default()
    };
    let attributes = AttributeContext {
        request: Some(Request { http: Some(http), ..Request::default() }),
        context_extensions: [("roles".to_owned(), "*".to_owned())].into(),
        ..AttributeContext::default()
    };
    CheckRequest { attributes: Some(attributes) }
}

async fn check(channel: Channel, request: CheckRequest) -> Result<(), Failure> {
    let response = AuthorizationClient::new(channel).check(request).await?.into_inner();
    match response.status {
        Some(status) if status.code == 0 => Ok(()),
        status => Err(format!("a check was refused: {status:?}").into()),
    }
}

async fn authorize(channel: Channel, user: &LoadUser) -> Result<(), Failure> {
    let requirement = Some(Requirement::AnyAuthenticated(AnyAuthenticated {}));
    let request = AuthorizeRequest { access_token: user.token.clone(), requirement };
    AuthServiceClient::new(channel).authorize(request).await?;
    Ok(())
}
