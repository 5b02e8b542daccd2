//! Sends checks at a constant rate, and calls as fast as they are answered.

use super::encoded::call;
use crate::{
    Failure,
    open_loop::open_loop,
    users::{self, LoadUser},
};
use prost::{Message as _, bytes::Bytes};
use rolegate_proto::{
    auth_v1::{AnyAuthenticated, AuthorizeRequest, authorize_request::Requirement},
    envoy_auth_v3::{
        AttributeContext, CheckRequest, CheckResponse,
        attribute_context::{HttpRequest, Request},
    },
};
use std::{
    sync::Arc,
    time::{Duration, Instant},
};
use tokio::task::JoinSet;
use tonic::transport::Channel;

/// The number of checks per second on all connections.
pub(super) const RATE: f64 = 5000.0;
/// The number of callers in the closed loop.
pub(super) const CALLERS: usize = 128;

/// The method that a caller calls, with the encoded messages of all users.
#[derive(Clone)]
pub(super) enum Calls {
    Check(Arc<[Bytes]>),
    Authorize(Arc<[Bytes]>),
}

impl Calls {
    pub(super) fn checks(users: &[LoadUser]) -> Self {
        Self::Check(
            users
                .iter()
                .map(|user| check_of(user).encode_to_vec().into())
                .collect(),
        )
    }

    pub(super) fn authorizations(users: &[LoadUser]) -> Self {
        Self::Authorize(
            users
                .iter()
                .map(|user| decision_of(user).encode_to_vec().into())
                .collect(),
        )
    }

    /// Makes a call about one of the users. Returns an error unless the user is admitted.
    async fn send(self, channel: Channel, number: usize) -> Result<(), Failure> {
        // The step is coprime to the number of users, so all of them are reached.
        let of_user = |messages: &[Bytes]| messages[number * 7919 % messages.len()].clone();
        match self {
            Self::Check(messages) => {
                let method = "/envoy.service.auth.v3.Authorization/Check";
                let response = call(channel, method, of_user(&messages)).await?;
                // The response begins with field 1, the status. An empty status has code 0; a refusal has another code.
                if response.starts_with(&[0x0a, 0]) {
                    return Ok(());
                }
                Err(format!(
                    "a check was refused: {:?}",
                    CheckResponse::decode(response)?
                )
                .into())
            }
            Self::Authorize(messages) => {
                let method = "/rolegate.auth.v1.AuthService/Authorize";
                call(channel, method, of_user(&messages)).await.map(drop)
            }
        }
    }
}

/// Makes calls at a constant rate. Returns, for each call, the time from when it was due until its answer.
pub(super) async fn constant_rate(
    channels: &[Channel],
    calls: &Calls,
    seconds: u64,
) -> Result<Vec<Duration>, Failure> {
    let send = |number: usize| {
        calls
            .clone()
            .send(channels[number % channels.len()].clone(), number)
    };
    let completed = open_loop(RATE, Duration::from_secs(seconds), send).await?;
    completed
        .into_iter()
        .map(|call| call.outcome.map(|()| call.latency))
        .collect()
}

/// Returns the calls per second of callers that wait for each answer.
pub(super) async fn closed_loop(
    channels: &[Channel],
    calls: &Calls,
    time: Duration,
) -> Result<f64, Failure> {
    let start = Instant::now();
    let mut callers = JoinSet::new();
    for caller in 0..CALLERS {
        let (channel, calls) = (channels[caller % channels.len()].clone(), calls.clone());
        callers.spawn(async move {
            let mut count = 0_u32;
            // Callers are far apart, so that they ask about different users.
            for number in caller * (users::COUNT / CALLERS).. {
                if start.elapsed() >= time {
                    break;
                }
                calls.clone().send(channel.clone(), number).await?;
                count += 1;
            }
            Ok::<_, Failure>(count)
        });
    }
    let counts = callers
        .join_all()
        .await
        .into_iter()
        .sum::<Result<u32, Failure>>()?;
    Ok(f64::from(counts) / start.elapsed().as_secs_f64())
}

/// Returns the check that Envoy sends with `allowed_headers` as in `deploy/proxies`.
fn check_of(user: &LoadUser) -> CheckRequest {
    let http = HttpRequest {
        method: "GET".to_owned(),
        host: "app.example".to_owned(),
        path: "/reports/2026?month=5".to_owned(),
        headers: [("authorization".to_owned(), user.bearer())].into(),
        ..HttpRequest::default()
    };
    let attributes = AttributeContext {
        request: Some(Request { http: Some(http) }),
        context_extensions: [("roles".to_owned(), "*".to_owned())].into(),
        ..AttributeContext::default()
    };
    CheckRequest {
        attributes: Some(attributes),
    }
}

fn decision_of(user: &LoadUser) -> AuthorizeRequest {
    let requirement = Some(Requirement::AnyAuthenticated(AnyAuthenticated {}));
    AuthorizeRequest {
        access_token: user.token.clone(),
        requirement,
        client_address: None,
        from_cookie: false,
    }
}
