//! The gRPC transport: converts messages, calls the use cases, converts results and errors.

mod audit;
mod authorize;
mod call_origin;
mod ext_authz;
mod message;
mod opaque_tokens;

use crate::{
    accounts::{AccountError, Accounts, Bearer, Requirement},
    metrics,
    opaque_token::TokenKind,
};
use audit::UserChanges;
use authorize::roles;
use call_origin::origin_of;
use message::optional_role;
use rolegate_grpc_server::actor;
use rolegate_program::cidr_set::CidrSet;
use rolegate_proto::{
    Role,
    auth_v1::{self as wire, auth_service_server::AuthService},
};
use rolegate_sign_in::settings::SignIn;
use rolegate_telemetry::request_context::RequestContext;
use secrecy::ExposeSecret as _;
use std::sync::Arc;
use tonic::{Request, Response, Status};

/// `rolegate.auth.v1.AuthService`, and the authorization service of Envoy.
#[derive(Clone)]
pub(crate) struct AuthGrpc {
    accounts: Accounts,
    /// Callers that may report a client address.
    trusted: Arc<CidrSet>,
    /// For checks of Envoy.
    sign_in: Option<Arc<SignIn>>,
    /// Names in certificates of services that may follow the changes of users.
    watchers: Arc<[String]>,
}

impl AuthGrpc {
    pub(crate) fn new(
        accounts: Accounts,
        trusted: CidrSet,
        sign_in: Option<SignIn>,
        watchers: Vec<String>,
    ) -> Self {
        let (trusted, sign_in) = (Arc::new(trusted), sign_in.map(Arc::new));
        Self { accounts, trusted, sign_in, watchers: watchers.into() }
    }
}

type RpcResult<M> = Result<Response<M>, Status>;

#[tonic::async_trait]
impl AuthService for AuthGrpc {
    async fn register(
        &self,
        request: Request<wire::RegisterRequest>,
    ) -> RpcResult<wire::RegisterResponse> {
        let origin = origin_of(&request);
        let wire::RegisterRequest { username, password } = request.into_inner();
        let user = self.accounts.register(&username, password.into(), origin).await?;
        Ok(Response::new(wire::RegisterResponse { user: Some(user.into()) }))
    }

    async fn login(&self, request: Request<wire::LoginRequest>) -> RpcResult<wire::LoginResponse> {
        let origin = origin_of(&request);
        let wire::LoginRequest { username, password } = request.into_inner();
        let outcome = self.accounts.login(&username, password.into(), origin).await;
        metrics::login("login", outcome.as_ref().err().map(AccountError::reason));
        let (token, user) = outcome?;
        let access_token = token.expose_secret().to_owned();
        Ok(Response::new(wire::LoginResponse { access_token, user: Some(user.into()) }))
    }

    async fn verify_credentials(
        &self,
        request: Request<wire::VerifyCredentialsRequest>,
    ) -> RpcResult<wire::VerifyCredentialsResponse> {
        let origin = origin_of(&request);
        let wire::VerifyCredentialsRequest { username, password, role_names, .. } =
            request.into_inner();
        let outcome = self.accounts.verify_credentials(&username, password.into(), origin).await;
        metrics::login("basic", outcome.as_ref().err().map(AccountError::reason));
        let (user, unknown_role) = outcome?;
        self.accounts.expect_known(&roles(&role_names)?)?;
        let user = Some(message::decided(user, unknown_role));
        Ok(Response::new(wire::VerifyCredentialsResponse { user }))
    }

    async fn batch_verify_credentials(
        &self,
        request: Request<wire::BatchVerifyCredentialsRequest>,
    ) -> RpcResult<wire::BatchVerifyCredentialsResponse> {
        let origin = origin_of(&request);
        let (_, call, wire::BatchVerifyCredentialsRequest { items }) = request.into_parts();
        Ok(Response::new(self.recall(items, &call, origin).await?))
    }

    async fn authorize(
        &self,
        request: Request<wire::AuthorizeRequest>,
    ) -> RpcResult<wire::AuthorizeResponse> {
        let (_, call, item) = request.into_parts();
        let bearer = self.bearer(item, &call)?;
        let Bearer { access_token, requirement, client_address, from_cookie } = &bearer;
        let authorize = || self.accounts.authorize_from(*from_cookie, access_token, requirement);
        let outcome = match *client_address {
            // Boxed, so that decisions about tokens are no larger.
            address @ Some(_) => {
                Box::pin(RequestContext::with_client_address(address, authorize())).await
            }
            None => authorize().await,
        };
        metrics::authorization(outcome.as_ref().err().map(AccountError::reason));
        Ok(Response::new(wire::AuthorizeResponse { user: Some(outcome?.into()) }))
    }

    async fn batch_authorize(
        &self,
        request: Request<wire::BatchAuthorizeRequest>,
    ) -> RpcResult<wire::BatchAuthorizeResponse> {
        let (_, call, wire::BatchAuthorizeRequest { items }) = request.into_parts();
        Ok(Response::new(self.decide_all(items, &call).await?))
    }

    async fn create_user(
        &self,
        request: Request<wire::CreateUserRequest>,
    ) -> RpcResult<wire::CreateUserResponse> {
        let origin = origin_of(&request);
        let (metadata, _, message) = request.into_parts();
        let wire::CreateUserRequest { username, password, role, role_name } = message;
        let role = optional_role(role_name, role).unwrap_or(Some(Role::USER));
        let (actor, password) = (actor::token(&metadata), password.into());
        let user = self.accounts.create_user(actor, &username, password, role, origin).await?;
        Ok(Response::new(wire::CreateUserResponse { user: Some(user.into()) }))
    }

    async fn get_user(
        &self,
        request: Request<wire::GetUserRequest>,
    ) -> RpcResult<wire::GetUserResponse> {
        let actor = actor::token(request.metadata());
        let user = self.accounts.get_user(actor, request.get_ref().user_id).await?;
        Ok(Response::new(wire::GetUserResponse { user: Some(user.into()) }))
    }

    async fn list_users(
        &self,
        request: Request<wire::ListUsersRequest>,
    ) -> RpcResult<wire::ListUsersResponse> {
        let (metadata, _, message) = request.into_parts();
        let with_times = message.with_times;
        let page = self.accounts.list_users(actor::token(&metadata), message.into()).await?;
        Ok(Response::new(message::page(page, with_times)))
    }

    async fn batch_get_users(
        &self,
        request: Request<wire::BatchGetUsersRequest>,
    ) -> RpcResult<wire::BatchGetUsersResponse> {
        let (metadata, _, wire::BatchGetUsersRequest { ids }) = request.into_parts();
        let users = self.accounts.usernames(actor::optional_token(&metadata), ids).await?;
        let users = users.into_iter().map(Into::into).collect();
        Ok(Response::new(wire::BatchGetUsersResponse { users }))
    }

    async fn set_user_role(
        &self,
        request: Request<wire::SetUserRoleRequest>,
    ) -> RpcResult<wire::SetUserRoleResponse> {
        let wire::SetUserRoleRequest { user_id, role, role_name } = request.get_ref();
        let role = Role::from_message(role_name, *role).ok();
        let (actor, user_id) = (actor::token(request.metadata()), *user_id);
        let user = self.accounts.set_user_role(actor, user_id, role).await?;
        Ok(Response::new(wire::SetUserRoleResponse { user: Some(user.into()) }))
    }

    async fn set_user_disabled(
        &self,
        request: Request<wire::SetUserDisabledRequest>,
    ) -> RpcResult<wire::SetUserDisabledResponse> {
        let wire::SetUserDisabledRequest { user_id, disabled } = *request.get_ref();
        let actor = actor::token(request.metadata());
        let user = self.accounts.set_user_disabled(actor, user_id, disabled).await?;
        Ok(Response::new(wire::SetUserDisabledResponse { user: Some(user.into()) }))
    }

    async fn delete_user(
        &self,
        request: Request<wire::DeleteUserRequest>,
    ) -> RpcResult<wire::DeleteUserResponse> {
        let actor = actor::token(request.metadata());
        let user = self.accounts.delete_user(actor, request.get_ref().user_id).await?;
        Ok(Response::new(wire::DeleteUserResponse { user: Some(user.into()) }))
    }

    async fn set_password(
        &self,
        request: Request<wire::SetPasswordRequest>,
    ) -> RpcResult<wire::SetPasswordResponse> {
        let origin = origin_of(&request);
        let (metadata, _, message) = request.into_parts();
        let wire::SetPasswordRequest { user_id, password } = message;
        let (actor, password) = (actor::token(&metadata), password.into());
        let user = self.accounts.set_password(actor, user_id, password, origin).await?;
        Ok(Response::new(wire::SetPasswordResponse { user: Some(user.into()) }))
    }

    async fn change_password(
        &self,
        request: Request<wire::ChangePasswordRequest>,
    ) -> RpcResult<wire::ChangePasswordResponse> {
        let origin = origin_of(&request);
        let (metadata, _, message) = request.into_parts();
        let (current, new) = (message.current_password.into(), message.new_password.into());
        let actor = actor::token(&metadata);
        let user = self.accounts.change_password(actor, current, new, origin).await?;
        Ok(Response::new(wire::ChangePasswordResponse { user: Some(user.into()) }))
    }

    async fn revoke_tokens(
        &self,
        request: Request<wire::RevokeTokensRequest>,
    ) -> RpcResult<wire::RevokeTokensResponse> {
        Ok(Response::new(self.revoked(actor::token(request.metadata()), *request.get_ref()).await?))
    }

    async fn create_api_key(
        &self,
        request: Request<wire::CreateApiKeyRequest>,
    ) -> RpcResult<wire::CreateApiKeyResponse> {
        let (metadata, _, message) = request.into_parts();
        Ok(Response::new(self.new_api_key(actor::token(&metadata), message).await?))
    }

    async fn list_api_keys(
        &self,
        request: Request<wire::ListApiKeysRequest>,
    ) -> RpcResult<wire::ListApiKeysResponse> {
        let (user_id, actor) = (request.get_ref().user_id, actor::token(request.metadata()));
        let (.., keys) = self.accounts.list_tokens(TokenKind::ApiKey, actor, user_id).await?;
        let api_keys = keys.value.into_iter().map(Into::into).collect();
        Ok(Response::new(wire::ListApiKeysResponse { api_keys }))
    }

    async fn delete_api_keys(
        &self,
        request: Request<wire::DeleteApiKeysRequest>,
    ) -> RpcResult<wire::DeleteApiKeysResponse> {
        let actor = actor::token(request.metadata());
        Ok(Response::new(self.deleted_keys(actor, *request.get_ref()).await?))
    }

    async fn create_session(
        &self,
        request: Request<wire::CreateSessionRequest>,
    ) -> RpcResult<wire::CreateSessionResponse> {
        let origin = origin_of(&request);
        let outcome = self.new_session(request.into_inner(), origin).await;
        metrics::login("session", outcome.as_ref().err().map(AccountError::reason));
        Ok(Response::new(outcome?))
    }

    async fn list_sessions(
        &self,
        request: Request<wire::ListSessionsRequest>,
    ) -> RpcResult<wire::ListSessionsResponse> {
        let (user_id, actor) = (request.get_ref().user_id, actor::token(request.metadata()));
        let (actor, sessions) = self.accounts.list_sessions(actor, user_id).await?;
        let sessions = sessions.into_iter().map(|it| self.session(it, actor.session_id()));
        Ok(Response::new(wire::ListSessionsResponse { sessions: sessions.collect() }))
    }

    async fn delete_sessions(
        &self,
        request: Request<wire::DeleteSessionsRequest>,
    ) -> RpcResult<wire::DeleteSessionsResponse> {
        let actor = actor::token(request.metadata());
        Ok(Response::new(self.ended_sessions(actor, *request.get_ref()).await?))
    }

    async fn get_current_user(
        &self,
        request: Request<wire::GetCurrentUserRequest>,
    ) -> RpcResult<wire::GetCurrentUserResponse> {
        let (token, any) = (actor::token(request.metadata()), Requirement::AnyAuthenticated);
        let actor = self.accounts.authorize(token, &any).await?;
        Ok(Response::new(actor.into()))
    }

    async fn list_roles(
        &self,
        request: Request<wire::ListRolesRequest>,
    ) -> RpcResult<wire::ListRolesResponse> {
        let roles = self.accounts.list_roles(actor::token(request.metadata())).await?;
        let role_names = roles.into_iter().map(|role| role.to_string()).collect();
        Ok(Response::new(wire::ListRolesResponse { role_names }))
    }

    async fn list_audit(
        &self,
        request: Request<wire::ListAuditRequest>,
    ) -> RpcResult<wire::ListAuditResponse> {
        let (metadata, _, message) = request.into_parts();
        let page = self.accounts.list_audit(actor::token(&metadata), message.into()).await?;
        Ok(Response::new(audit::page(page)))
    }

    type WatchUsersStream = UserChanges;

    async fn watch_users(
        &self,
        request: Request<wire::WatchUsersRequest>,
    ) -> RpcResult<Self::WatchUsersStream> {
        let watcher = self.watcher(&request);
        let items = self.accounts.watch_users(watcher, request.get_ref().from_revision).await?;
        Ok(Response::new(UserChanges::new(items)))
    }
}
