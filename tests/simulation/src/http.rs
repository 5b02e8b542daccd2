//! The HTTP client by which the clients of a run call the gateway's API.

use crate::outcome::Outcome;
use base64::{Engine as _, engine::general_purpose::STANDARD};
use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::{Request, client::conn::http1};
use hyper_util::rt::TokioIo;
use serde_json::Value;
use std::{error::Error, time::Duration};
use tokio::time::timeout;
use turmoil::net::TcpStream;

/// How long a client waits for a connection before it gives the gateway up as down. A working link of a client is never
/// as slow.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(1);

/// The credentials of a call. Calls with a password go to the Basic address.
#[derive(Clone, Copy)]
pub(crate) enum Credentials<'a> {
    Nothing,
    Token(&'a str),
    Password(&'a str, &'a str),
}

/// The answer to a call.
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    /// The HTTP status, or 0 if the connection was refused or ended without an answer.
    pub(crate) status: u16,
    pub(crate) body: Value,
}

impl Answer {
    pub(crate) fn is_ok(&self) -> bool {
        (200..300).contains(&self.status)
    }

    /// Returns the outcome of the requested change. A client error means that nothing was changed.
    pub(crate) fn outcome(&self) -> Outcome {
        match self.status {
            200..300 => Outcome::Done,
            400..500 => Outcome::Refused,
            _ => Outcome::Unknown,
        }
    }

    pub(crate) fn text(&self, field: &str) -> String {
        self.body[field].as_str().unwrap_or_default().to_owned()
    }
}

/// Returns how long a call may take. Each decision, read or change may take five seconds, and a password ten
/// (`docs/http-api.md`, 504). One more second is for the network, the ticks, and a refusal that waits for its turn.
pub(crate) fn bound(method: &str, path: &str) -> Duration {
    let resource = path.split(['/', '?']).nth(1);
    let seconds = match (method, resource) {
        ("GET", Some("profile" | "author" | "posts")) => 5,
        // Either a password is checked, or the gateway makes a decision before the call.
        _ => 10,
    };
    Duration::from_secs(seconds + 1)
}

/// Calls the gateway on a new connection.
pub(crate) async fn call(
    method: &str,
    path: &str,
    credentials: Credentials<'_>,
    body: Option<Value>,
) -> Answer {
    match send(method, path, credentials, body).await {
        Ok(answer) => answer,
        Err(error) => Answer {
            status: 0,
            body: Value::String(error.to_string()),
        },
    }
}

async fn send(
    method: &str,
    path: &str,
    credentials: Credentials<'_>,
    body: Option<Value>,
) -> Result<Answer, Box<dyn Error>> {
    let (port, authorization) = match credentials {
        Credentials::Nothing => (8000, None),
        Credentials::Token(token) => (8000, Some(format!("Bearer {token}"))),
        Credentials::Password(username, password) => {
            let pair = STANDARD.encode(format!("{username}:{password}"));
            (8001, Some(format!("Basic {pair}")))
        }
    };
    // A host that is down answers nothing, so only the timeout ends the attempt.
    let stream = timeout(CONNECT_TIMEOUT, TcpStream::connect(("gateway", port))).await??;
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
    tokio::spawn(connection);
    let mut request = Request::builder()
        .method(method)
        .uri(path)
        .header("host", "gateway");
    if let Some(authorization) = authorization {
        request = request.header("authorization", authorization);
    }
    if body.is_some() {
        request = request.header("content-type", "application/json");
    }
    let body = body
        .map(|body| Bytes::from(body.to_string()))
        .unwrap_or_default();
    let response = sender.send_request(request.body(Full::new(body))?).await?;
    let status = response.status().as_u16();
    let body = response.into_body().collect().await?.to_bytes();
    Ok(Answer {
        status,
        body: serde_json::from_slice(&body).unwrap_or(Value::Null),
    })
}
