//! Sends checks as Envoy does, and reads from the answers what Envoy reads.

use crate::grpc::channel;
use prost_types::{Value, value::Kind};
use rolegate_proto::envoy_auth_v3::{
    Address, AttributeContext, CheckRequest, CheckResponse, SocketAddress,
    attribute_context::{HttpRequest, Peer, Request},
    authorization_client::AuthorizationClient,
    check_response::HttpResponse,
};
use std::collections::BTreeMap;
use tonic::transport::Channel;

/// A client of Envoy's authorization service.
pub type Client = AuthorizationClient<Channel>;

/// The decision that Envoy reads from a response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    /// The code of `google.rpc.Status`; 0 lets the request pass.
    pub code: i32,
    /// The HTTP status for the client; 0 if the request passes.
    pub http_status: i32,
    /// Headers that Envoy adds: to the request to the application, or to the response to the
    /// client.
    pub headers: Vec<(String, String)>,
    /// The body for the client.
    pub body: String,
}

/// Connects to the service at this address.
pub async fn client(address: &str) -> Client {
    AuthorizationClient::new(channel(address).await)
}

/// Builds the check of `GET https://app.example/reports?month=5` with this `authorization`, on a
/// route with these `roles`.
#[must_use]
pub fn check(roles: Option<&str>, authorization: Option<&str>) -> CheckRequest {
    let header = |value: &str| ("authorization".to_owned(), value.to_owned());
    let http = HttpRequest {
        method: "GET".to_owned(),
        host: "app.example".to_owned(),
        path: "/reports?month=5".to_owned(),
        headers: authorization.map(header).into_iter().collect(),
        ..HttpRequest::default()
    };
    let roles = roles.map(|roles| ("roles".to_owned(), roles.to_owned()));
    let attributes = AttributeContext {
        request: Some(Request { http: Some(http) }),
        context_extensions: roles.into_iter().collect(),
        ..AttributeContext::default()
    };
    CheckRequest {
        attributes: Some(attributes),
    }
}

/// Returns the same check, as if the client at this address had sent the request.
///
/// # Panics
///
/// Panics if the check has no attributes.
#[must_use]
pub fn from(client: &str, mut check: CheckRequest) -> CheckRequest {
    let socket_address = Some(SocketAddress {
        address: client.to_owned(),
    });
    let peer = Peer {
        address: Some(Address { socket_address }),
    };
    check.attributes.as_mut().expect("attributes").source = Some(peer);
    check
}

/// Sends a check and reads the answer.
///
/// # Panics
///
/// Panics on a gRPC error, on which Envoy may let the request pass, and on a header that Envoy
/// would append.
pub async fn decide(client: &Client, check: CheckRequest) -> Decision {
    let response = client
        .clone()
        .check(check)
        .await
        .expect("an answer")
        .into_inner();
    decision(response)
}

/// Reads an answer.
///
/// # Panics
///
/// Panics on an answer without a status, or with a header that Envoy would append.
#[must_use]
pub fn decision(response: CheckResponse) -> Decision {
    let code = response.status.expect("a status").code;
    let (http_status, options, body) = match response.http_response.expect("an HTTP response") {
        HttpResponse::OkResponse(ok) => (0, ok.headers, String::new()),
        HttpResponse::DeniedResponse(denied) => (
            denied.status.expect("a status").code,
            denied.headers,
            denied.body,
        ),
    };
    let headers = options
        .into_iter()
        .map(|option| {
            assert_eq!(option.append, Some(false), "{option:?}");
            let header = option.header.expect("a header");
            (header.key, header.value)
        })
        .collect::<Vec<_>>();
    if let Some(metadata) = response.dynamic_metadata {
        let metadata: BTreeMap<_, _> = metadata
            .fields
            .into_iter()
            .map(|(name, value)| (name, text(value)))
            .collect();
        assert_eq!(
            metadata,
            headers.iter().cloned().collect(),
            "the metadata differs"
        );
    }
    Decision {
        code,
        http_status,
        headers,
        body,
    }
}

fn text(value: Value) -> String {
    match value.kind {
        Some(Kind::StringValue(text)) => text,
        other => panic!("no text: {other:?}"),
    }
}

impl Decision {
    /// Returns all values of a header.
    #[must_use]
    pub fn values(&self, name: &str) -> Vec<&str> {
        let values = self.headers.iter().filter(|(key, _)| key == name);
        values.map(|(_, value)| value.as_str()).collect()
    }

    /// Asserts that the request passes as this user.
    #[track_caller]
    pub fn expect_passed(&self, id: i64, username: &str, role: &str) {
        let email = username.contains('@').then_some(("remote-email", username));
        let headers = [
            ("rolegate-user-id", &*id.to_string()),
            ("rolegate-username", username),
            ("rolegate-role", role),
            ("remote-user", username),
            ("rolegate-groups", ""),
            ("remote-groups", ""),
        ];
        let headers = headers.into_iter().chain(email);
        let headers = headers
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect();
        let passed = Self {
            code: 0,
            http_status: 0,
            headers,
            body: String::new(),
        };
        assert_eq!(*self, passed);
    }

    /// Asserts a refusal with this code, this HTTP status, and the body `{"detail": …}`.
    #[track_caller]
    pub fn expect_refused(&self, code: i32, http_status: i32, detail: &str) {
        let body = serde_json::json!({ "detail": detail }).to_string();
        assert_eq!(
            (self.code, self.http_status, &self.body),
            (code, http_status, &body)
        );
        assert_eq!(self.values("content-type"), ["application/json"]);
        assert_eq!(self.values("rolegate-reason").len(), 1, "{self:?}");
        let challenges = if http_status == 401 { 2 } else { 0 };
        assert_eq!(
            self.values("www-authenticate").len(),
            challenges,
            "{self:?}"
        );
        let is_temporary = [429, 503].contains(&http_status);
        assert_eq!(
            self.values("retry-after").len(),
            usize::from(is_temporary),
            "{self:?}"
        );
    }
}
