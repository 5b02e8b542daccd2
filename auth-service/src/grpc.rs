//! Serves the contract `rolegate.auth.v1` and Envoy's `ext_authz` over gRPC, on top of the use cases in
//! `accounts`.
//!
//! Each call is a method of [`AuthGrpc`] in the module of its topic: `logins`, `authorize`, `users`,
//! `passwords`, `second_factor`, `api_keys`, `sessions` and `audit` (the record, and the changes of users). The
//! method gets the message and the [`Call`], which has the credential of the actor, the client address and the
//! deadline (`call_origin`). It calls a use case, and returns the response or a value of the use case that
//! `message` converts into the response. `message` also turns the errors of the use cases into gRPC statuses.
//!
//! `user_changes` is the stream of `WatchUsers`. `ext_authz` is the service that Envoy asks whether a request
//! may pass.
//!
//! Nothing is decided here: the rules are in `accounts`. Connections, TLS, the request context and the metrics
//! of calls are in `rolegate_grpc_server`.

mod api_keys;
mod audit;
mod authorize;
mod call_origin;
pub(crate) mod ext_authz;
mod logins;
mod message;
mod passwords;
mod second_factor;
mod sessions;
mod user_changes;
mod users;

use crate::accounts::{AccountError, Services};
use call_origin::Call;
use rolegate_program::cidr_set::CidrSet;
use rolegate_proto::auth_v1::{self as wire, auth_service_server::AuthService};
use rolegate_sign_in::sign_in::SignIn;
use std::sync::Arc;
use tonic::{Request, Response, Status};
use user_changes::UserChanges;

/// Implements `rolegate.auth.v1.AuthService`, and the authorization service of Envoy.
#[derive(Clone)]
pub(crate) struct AuthGrpc {
    services: Services,
    /// The networks of callers that may report the address of their client.
    trusted: Arc<CidrSet>,
    /// The settings of the sign-in page, for requests that Envoy asks about; `None` if there is no such page.
    sign_in: Option<Arc<SignIn>>,
    /// The DNS names in certificates of services that may follow the changes of users.
    watchers: Arc<[String]>,
}

impl AuthGrpc {
    pub(crate) fn new(
        services: Services,
        trusted: CidrSet,
        sign_in: Option<SignIn>,
        watchers: Vec<String>,
    ) -> Self {
        Self {
            services,
            trusted: Arc::new(trusted),
            sign_in: sign_in.map(Arc::new),
            watchers: watchers.into(),
        }
    }
}

/// The outcome of a call: its response or a value that is converted into the response, or the error of the use case.
type RpcResult<T> = Result<T, AccountError>;

/// Implements each call of the contract with the method of [`AuthGrpc`] that has the same name.
macro_rules! calls {
    ($($call:ident($request:ident) -> $response:ident;)+) => {
        #[tonic::async_trait]
        impl AuthService for AuthGrpc {
            $(async fn $call(
                &self,
                request: Request<wire::$request>,
            ) -> Result<Response<wire::$response>, Status> {
                let (call, message) = Call::split(request);
                let answer = AuthGrpc::$call(self, &call, message).await?;
                Ok(Response::new(answer.into()))
            })+

            type WatchUsersStream = UserChanges;

            async fn watch_users(
                &self,
                request: Request<wire::WatchUsersRequest>,
            ) -> Result<Response<UserChanges>, Status> {
                Ok(Response::new(AuthGrpc::watch_users(self, request).await?))
            }
        }
    };
}

calls! {
    register(RegisterRequest) -> RegisterResponse;
    login(LoginRequest) -> LoginResponse;
    create_session(CreateSessionRequest) -> CreateSessionResponse;
    verify_credentials(VerifyCredentialsRequest) -> VerifyCredentialsResponse;
    batch_verify_credentials(BatchVerifyCredentialsRequest) -> BatchVerifyCredentialsResponse;
    authorize(AuthorizeRequest) -> AuthorizeResponse;
    batch_authorize(BatchAuthorizeRequest) -> BatchAuthorizeResponse;
    create_user(CreateUserRequest) -> CreateUserResponse;
    set_user_disabled(SetUserDisabledRequest) -> SetUserDisabledResponse;
    update_user(UpdateUserRequest) -> UpdateUserResponse;
    set_user_role(SetUserRoleRequest) -> SetUserRoleResponse;
    list_users(ListUsersRequest) -> ListUsersResponse;
    get_user(GetUserRequest) -> GetUserResponse;
    delete_user(DeleteUserRequest) -> DeleteUserResponse;
    set_password(SetPasswordRequest) -> SetPasswordResponse;
    change_password(ChangePasswordRequest) -> ChangePasswordResponse;
    create_password_link(CreatePasswordLinkRequest) -> CreatePasswordLinkResponse;
    redeem_password_link(RedeemPasswordLinkRequest) -> RedeemPasswordLinkResponse;
    get_password_link(GetPasswordLinkRequest) -> GetPasswordLinkResponse;
    get_password_policy(GetPasswordPolicyRequest) -> GetPasswordPolicyResponse;
    enrol_second_factor(EnrolSecondFactorRequest) -> EnrolSecondFactorResponse;
    enable_second_factor(EnableSecondFactorRequest) -> EnableSecondFactorResponse;
    disable_second_factor(DisableSecondFactorRequest) -> DisableSecondFactorResponse;
    get_second_factor(GetSecondFactorRequest) -> GetSecondFactorResponse;
    revoke_tokens(RevokeTokensRequest) -> RevokeTokensResponse;
    create_api_key(CreateApiKeyRequest) -> CreateApiKeyResponse;
    list_api_keys(ListApiKeysRequest) -> ListApiKeysResponse;
    delete_api_keys(DeleteApiKeysRequest) -> DeleteApiKeysResponse;
    list_sessions(ListSessionsRequest) -> ListSessionsResponse;
    delete_sessions(DeleteSessionsRequest) -> DeleteSessionsResponse;
    get_current_user(GetCurrentUserRequest) -> GetCurrentUserResponse;
    list_roles(ListRolesRequest) -> ListRolesResponse;
    batch_get_users(BatchGetUsersRequest) -> BatchGetUsersResponse;
    list_audit(ListAuditRequest) -> ListAuditResponse;
}
