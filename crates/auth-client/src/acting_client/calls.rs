//! The calls that need neither a conversion nor a check, and whose requests [`ActingClient::send`] takes as they are.

use super::ActingClient;
use rolegate_grpc_client::CallError;
use rolegate_proto::{
    auth_v1::{
        CreateGroupRequest, DeleteApiKeysRequest, DeleteGroupRequest, DeleteMembershipRequest,
        DeleteSessionsRequest, DeleteUserRequest, DisableSecondFactorRequest,
        EnableSecondFactorRequest, GetCurrentUserRequest, GetGroupRequest, GetSecondFactorRequest,
        GetUserRequest, ListApiKeysRequest, ListAuditRequest, ListGroupsRequest,
        ListMembersRequest, ListRolesRequest, ListSessionsRequest, ListUserGroupsRequest,
        RevokeTokensRequest, SetMembershipRequest, SetUserDisabledRequest,
    },
    methods::UnaryRequest,
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
    ($($send:ident $Request:ident;)+) => {
        $(impl ActingRequest for $Request {
            type Response = <Self as UnaryRequest>::Response;

            async fn send(self, client: &ActingClient) -> Result<<Self as UnaryRequest>::Response, CallError> {
                client.$send(self).await
            }
        })+
    };
}

requests! {
    read GetUserRequest;
    call DeleteUserRequest;
    call SetUserDisabledRequest;
    read ListRolesRequest;
    read GetCurrentUserRequest;
    read ListSessionsRequest;
    call DeleteSessionsRequest;
    call RevokeTokensRequest;
    read ListApiKeysRequest;
    call DeleteApiKeysRequest;
    read GetSecondFactorRequest;
    call EnableSecondFactorRequest;
    call DisableSecondFactorRequest;
    read ListAuditRequest;
    call CreateGroupRequest;
    read ListGroupsRequest;
    read GetGroupRequest;
    call DeleteGroupRequest;
    read ListMembersRequest;
    call SetMembershipRequest;
    call DeleteMembershipRequest;
    read ListUserGroupsRequest;
}

impl ActingClient {
    /// Sends a request on behalf of the bearer. A request with an optional user id means the bearer if it has none.
    pub async fn send<R: ActingRequest>(&self, request: R) -> Result<R::Response, CallError> {
        request.send(self).await
    }
}
