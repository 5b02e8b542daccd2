//! The gRPC transport: converts messages, calls the use cases, converts results and errors.
//!
//! One file per call; `ext_authz` is the call of Envoy; `message` and `status` convert results and errors, `request_origin` reads the
//! client address and the deadline.

mod authorize;
mod batch_authorize;
mod batch_get_users;
mod change_password;
mod create_api_key;
mod create_user;
mod delete_api_keys;
mod delete_user;
mod ext_authz;
mod get_user;
mod list_api_keys;
mod list_users;
mod login;
mod message;
mod register;
mod request_origin;
mod revoke_tokens;
mod set_password;
mod set_user_disabled;
mod set_user_role;
mod status;
mod verify_credentials;

pub use ext_authz::ExtAuthz;

use crate::accounts::Accounts;
use rolegate_grpc_server::is_trusted_caller;
use rolegate_program::cidr_set::CidrSet;
use rolegate_proto::auth_v1::{self, AuthorizeRequest, auth_service_server::AuthService};
use std::{net::IpAddr, sync::Arc};
use tonic::{Extensions, Request, Response, Status};

/// `rolegate.auth.v1.AuthService`.
#[derive(Clone)]
pub struct AuthGrpc {
    accounts: Accounts,
    /// Callers that may report the client address of a decision.
    trusted: Arc<CidrSet>,
}

impl AuthGrpc {
    /// The calls of these accounts.
    #[must_use]
    pub fn new(accounts: Accounts, trusted: CidrSet) -> Self {
        Self { accounts, trusted: Arc::new(trusted) }
    }

    /// The client address that a trusted caller reports with this item.
    fn reported_address(&self, item: &AuthorizeRequest, call: &Extensions) -> Option<IpAddr> {
        let address = item.client_address.as_ref()?.parse().ok()?;
        is_trusted_caller(call, &self.trusted).then_some(address)
    }
}

type RpcResult<M> = Result<Response<M>, Status>;

/// Delegates each call to `call` in the module of its name.
macro_rules! delegate {
    ($($call:ident($request:ident) -> $response:ident;)+) => {
        #[tonic::async_trait]
        impl AuthService for AuthGrpc {
            $(async fn $call(
                &self,
                request: Request<auth_v1::$request>,
            ) -> RpcResult<auth_v1::$response> {
                $call::call(self, request).await
            })+
        }
    };
}

delegate! {
    register(RegisterRequest) -> RegisterResponse;
    login(LoginRequest) -> LoginResponse;
    verify_credentials(VerifyCredentialsRequest) -> VerifyCredentialsResponse;
    authorize(AuthorizeRequest) -> AuthorizeResponse;
    batch_authorize(BatchAuthorizeRequest) -> BatchAuthorizeResponse;
    create_user(CreateUserRequest) -> CreateUserResponse;
    set_user_disabled(SetUserDisabledRequest) -> SetUserDisabledResponse;
    set_user_role(SetUserRoleRequest) -> SetUserRoleResponse;
    list_users(ListUsersRequest) -> ListUsersResponse;
    get_user(GetUserRequest) -> GetUserResponse;
    delete_user(DeleteUserRequest) -> DeleteUserResponse;
    set_password(SetPasswordRequest) -> SetPasswordResponse;
    change_password(ChangePasswordRequest) -> ChangePasswordResponse;
    revoke_tokens(RevokeTokensRequest) -> RevokeTokensResponse;
    create_api_key(CreateApiKeyRequest) -> CreateApiKeyResponse;
    list_api_keys(ListApiKeysRequest) -> ListApiKeysResponse;
    delete_api_keys(DeleteApiKeysRequest) -> DeleteApiKeysResponse;
    batch_get_users(BatchGetUsersRequest) -> BatchGetUsersResponse;
}
