//! Generated gRPC clients, without Rolegate's own client crates.

use rolegate_proto::auth_v1::auth_service_client::AuthServiceClient;
use tonic::{
    Code, Request, Response, Status,
    transport::{Channel, Endpoint},
};
use tonic_types::StatusExt as _;

/// Connects to this address.
///
/// # Panics
///
/// Panics if nothing listens there.
pub async fn channel(address: &str) -> Channel {
    let endpoint = Endpoint::from_shared(address.to_owned()).expect("a URL");
    endpoint.connect().await.expect("the gRPC port answers")
}

/// Returns a client of auth-service at this address.
pub async fn client(address: &str) -> AuthServiceClient<Channel> {
    AuthServiceClient::new(channel(address).await)
}

/// Returns a request that names this token as the actor's.
///
/// # Panics
///
/// Panics if the token is not valid as metadata.
#[must_use]
pub fn authenticated<M>(message: M, token: &str) -> Request<M> {
    let mut request = Request::new(message);
    let value = format!("Bearer {token}")
        .parse()
        .expect("text for metadata");
    request.metadata_mut().insert("authorization", value);
    request
}

/// Asserts an error with this code, and with this reason in its `google.rpc.ErrorInfo`.
///
/// # Panics
///
/// Panics on any other outcome.
#[track_caller]
pub fn expect_error<M: std::fmt::Debug>(
    outcome: Result<Response<M>, Status>,
    code: Code,
    reason: &str,
) -> Status {
    let status = outcome.expect_err("an error");
    let info = status
        .get_details_error_info()
        .map(|info| (info.reason, info.domain));
    let info = info.unwrap_or_else(|| panic!("no ErrorInfo in: {status:?}"));
    assert_eq!(
        (status.code(), info.0.as_str()),
        (code, reason),
        "{status:?}"
    );
    assert_eq!(info.1, "rolegate", "{status:?}");
    status
}

/// Returns the services that reflection (v1) lists.
///
/// # Panics
///
/// Panics if there is no response.
pub async fn services(channel: Channel) -> Vec<String> {
    use tonic_reflection::pb::v1::{
        ServerReflectionRequest, server_reflection_client::ServerReflectionClient,
        server_reflection_request::MessageRequest,
        server_reflection_response::MessageResponse::ListServicesResponse,
    };
    let question = MessageRequest::ListServices(String::new());
    let request = ServerReflectionRequest {
        host: String::new(),
        message_request: Some(question),
    };
    let stream = ServerReflectionClient::new(channel)
        .server_reflection_info(tokio_stream::once(request))
        .await;
    let response = stream.expect("a response").into_inner().message().await;
    match response.expect("a message").expect("one").message_response {
        Some(ListServicesResponse(list)) => list
            .service
            .into_iter()
            .map(|service| service.name)
            .collect(),
        other => panic!("not a list of services: {other:?}"),
    }
}
