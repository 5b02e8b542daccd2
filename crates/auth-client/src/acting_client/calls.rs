//! The calls that need neither a conversion nor a check, and whose requests [`ActingClient::send`] takes as they are.

use super::ActingClient;
use crate::connections::Client;
use rolegate_grpc_client::CallError;
use rolegate_proto::auth_v1::{
    DeleteApiKeysRequest, DeleteApiKeysResponse, DeleteSessionsRequest, DeleteSessionsResponse,
    DeleteUserRequest, DeleteUserResponse, DisableSecondFactorRequest, DisableSecondFactorResponse,
    EnableSecondFactorRequest, EnableSecondFactorResponse, GetCurrentUserRequest,
    GetCurrentUserResponse, GetSecondFactorRequest, GetSecondFactorResponse, GetUserRequest,
    GetUserResponse, ListApiKeysRequest, ListApiKeysResponse, ListAuditRequest, ListAuditResponse,
    ListRolesRequest, ListRolesResponse, ListSessionsRequest, ListSessionsResponse,
    RevokeTokensRequest, RevokeTokensResponse, SetUserDisabledRequest, SetUserDisabledResponse,
};

/// A request that [`ActingClient::send`] takes.
pub trait ActingRequest {
    /// The response to the request.
    type Response;

    /// Sends the request, and repeats it only if it changes nothing.
    fn send(
        self,
        client: &ActingClient,
    ) -> impl Future<Output = Result<Self::Response, CallError>> + Send;
}

/// Sends each request with `ActingClient::read` if it changes nothing, and with `ActingClient::call` if it may change
/// something.
macro_rules! requests {
    ($($send:ident $method:ident($Request:ident) -> $Response:ident;)+) => {
        $(impl ActingRequest for $Request {
            type Response = $Response;

            async fn send(self, client: &ActingClient) -> Result<$Response, CallError> {
                client.$send(self, Client::$method).await
            }
        })+
    };
}

requests! {
    read get_user(GetUserRequest) -> GetUserResponse;
    call delete_user(DeleteUserRequest) -> DeleteUserResponse;
    call set_user_disabled(SetUserDisabledRequest) -> SetUserDisabledResponse;
    read list_roles(ListRolesRequest) -> ListRolesResponse;
    read get_current_user(GetCurrentUserRequest) -> GetCurrentUserResponse;
    read list_sessions(ListSessionsRequest) -> ListSessionsResponse;
    call delete_sessions(DeleteSessionsRequest) -> DeleteSessionsResponse;
    call revoke_tokens(RevokeTokensRequest) -> RevokeTokensResponse;
    read list_api_keys(ListApiKeysRequest) -> ListApiKeysResponse;
    call delete_api_keys(DeleteApiKeysRequest) -> DeleteApiKeysResponse;
    read get_second_factor(GetSecondFactorRequest) -> GetSecondFactorResponse;
    call enable_second_factor(EnableSecondFactorRequest) -> EnableSecondFactorResponse;
    call disable_second_factor(DisableSecondFactorRequest) -> DisableSecondFactorResponse;
    read list_audit(ListAuditRequest) -> ListAuditResponse;
}

impl ActingClient {
    /// Sends a request on behalf of the bearer. A request with an optional user id means the bearer if it has none.
    pub async fn send<R: ActingRequest>(&self, request: R) -> Result<R::Response, CallError> {
        request.send(self).await
    }
}
