//! A fake auth-service in memory, with a few fixed users.
//!
//! The access tokens `user`, `author` and `admin` belong to users of that role with the ids 1, 2 and
//! 3; `deleted` belongs to a deleted user. Every password is `right`. User 3 cannot be deleted.

mod api_keys;
mod users;

use rolegate_auth_client::{AuthClient, BalancedChannel, Reason, Stream};
use rolegate_proto::{
    Role,
    auth_v1::{
        self, AuthorizeOutcome, AuthorizeRequest, AuthorizeResponse, BatchAuthorizeRequest,
        BatchAuthorizeResponse, BatchGetUsersRequest, BatchGetUsersResponse, ChangePasswordRequest,
        ChangePasswordResponse, CreateUserRequest, CreateUserResponse, DeleteUserRequest,
        DeleteUserResponse, GetUserRequest, GetUserResponse, ListUsersRequest, ListUsersResponse,
        LoginRequest, LoginResponse, RegisterRequest, RegisterResponse, SetPasswordRequest,
        SetPasswordResponse, SetUserDisabledRequest, SetUserDisabledResponse, SetUserRoleRequest,
        SetUserRoleResponse, User, UserName, VerifyCredentialsRequest, VerifyCredentialsResponse,
        auth_service_server::{AuthService, AuthServiceServer},
        authorize_outcome::Outcome,
    },
    metadata,
};
use std::{
    io,
    sync::{Arc, Mutex},
};
use tonic::{Request, Response, Status, transport::Server};
use users::{authorize, error, user, user_of_id};

/// The calls that the fake received: name, arguments and client address.
pub(crate) type Calls = Arc<Mutex<Vec<String>>>;

struct FakeAuth {
    calls: Calls,
}

/// A client of a new fake, and the calls that the fake receives.
pub(crate) fn fake_auth() -> (AuthClient, Calls) {
    let calls = Calls::default();
    let service = AuthServiceServer::new(FakeAuth { calls: Arc::clone(&calls) });
    let (client_end, server_end) = tokio::io::duplex(64 * 1024);
    let connection = tokio_stream::once(io::Result::Ok(server_end));
    let (health, health_service) = tonic_health::server::health_reporter();
    tokio::spawn(async move {
        health.set_serving::<AuthServiceServer<FakeAuth>>().await;
        let server = Server::builder().add_service(service).add_service(health_service);
        server.serve_with_incoming(connection).await
    });
    let client_end = Mutex::new(Some(client_end));
    let channel = BalancedChannel::with_connector(AuthClient::SERVICE, move || {
        let client_end = client_end.lock().expect("no panic").take();
        async move {
            client_end
                .map(|client_end| Box::new(client_end) as Box<dyn Stream>)
                .ok_or(io::ErrorKind::ConnectionRefused.into())
        }
    });
    (AuthClient::new(channel.clone(), channel), calls)
}

impl FakeAuth {
    fn record<M>(&self, request: &Request<M>, what: &str) {
        let address = request.metadata().get(metadata::CLIENT_ADDRESS);
        let address = address.map_or("unknown", |value| value.to_str().expect("ASCII"));
        self.calls.lock().expect("no panic").push(format!("{what} from {address}"));
    }
}

fn require_admin<M>(request: &Request<M>) -> Result<(), Status> {
    let header = request.metadata().get(metadata::AUTHORIZATION);
    match header.and_then(|header| header.to_str().ok()) {
        Some("Bearer admin") => Ok(()),
        _ => Err(error(Reason::RoleInsufficient, "")),
    }
}

fn verify(username: &str, password: &str) -> Result<User, Status> {
    match (username, password) {
        ("down", _) => Err(Status::unavailable("down")),
        ("flood", _) => Err(error(Reason::TooManyAttempts, "")),
        ("", _) => Err(error(Reason::CredentialsInvalid, "")),
        (_, "right" | "ri:ght:") => Ok(user(1, username, Role::USER)),
        _ => Err(error(Reason::CredentialsInvalid, "")),
    }
}

#[tonic::async_trait]
impl AuthService for FakeAuth {
    async fn register(
        &self,
        request: Request<RegisterRequest>,
    ) -> Result<Response<RegisterResponse>, Status> {
        self.record(&request, "register");
        match request.into_inner().username.as_str() {
            "taken" => Err(error(Reason::UsernameTaken, "")),
            "a:b" => Err(error(Reason::UsernameInvalid, "Username must not contain ':'.")),
            name => Ok(Response::new(RegisterResponse { user: Some(user(4, name, Role::USER)) })),
        }
    }

    async fn login(
        &self,
        request: Request<LoginRequest>,
    ) -> Result<Response<LoginResponse>, Status> {
        self.record(&request, "login");
        let LoginRequest { username, password } = request.into_inner();
        let user = Some(verify(&username, &password)?);
        Ok(Response::new(LoginResponse { access_token: "a.b.c".to_owned(), user }))
    }

    async fn verify_credentials(
        &self,
        request: Request<VerifyCredentialsRequest>,
    ) -> Result<Response<VerifyCredentialsResponse>, Status> {
        self.record(&request, "verify_credentials");
        let VerifyCredentialsRequest { username, password, .. } = request.into_inner();
        let user = Some(verify(&username, &password)?);
        Ok(Response::new(VerifyCredentialsResponse { user }))
    }

    async fn authorize(
        &self,
        request: Request<AuthorizeRequest>,
    ) -> Result<Response<AuthorizeResponse>, Status> {
        self.record(&request, "authorize");
        let user = authorize(request.into_inner()).map_err(|reason| error(reason, ""))?;
        Ok(Response::new(AuthorizeResponse { user: Some(user) }))
    }

    async fn batch_authorize(
        &self,
        request: Request<BatchAuthorizeRequest>,
    ) -> Result<Response<BatchAuthorizeResponse>, Status> {
        self.record(&request, "batch_authorize");
        let outcome = |item| match authorize(item) {
            Ok(user) => Outcome::User(user),
            Err(reason) => Outcome::RefusalReason(reason.as_str().to_owned()),
        };
        let items = request.into_inner().items.into_iter();
        let outcomes = items.map(|item| AuthorizeOutcome { outcome: Some(outcome(item)) });
        Ok(Response::new(BatchAuthorizeResponse { outcomes: outcomes.collect() }))
    }

    async fn set_user_role(
        &self,
        request: Request<SetUserRoleRequest>,
    ) -> Result<Response<SetUserRoleResponse>, Status> {
        require_admin(&request)?;
        let SetUserRoleRequest { user_id, ref role_name, .. } = *request.get_ref();
        self.record(&request, &format!("set_user_role {user_id} {role_name}"));
        if !(1..=3).contains(&user_id) {
            return Err(error(Reason::UserNotFound, ""));
        }
        match role_name.parse() {
            Err(_) => Err(error(Reason::RoleInvalid, "")),
            Ok(role) => {
                let user = Some(user(user_id, "somebody", role));
                Ok(Response::new(SetUserRoleResponse { user }))
            }
        }
    }

    async fn list_users(
        &self,
        request: Request<ListUsersRequest>,
    ) -> Result<Response<ListUsersResponse>, Status> {
        require_admin(&request)?;
        let ListUsersRequest { page_size, after, username_prefix, role_name, .. } =
            request.get_ref();
        let call = format!("list_users {page_size} {after} {username_prefix:?} {role_name:?}");
        self.record(&request, &call);
        let users = vec![user(1, "user", Role::USER), user(2, "author", Role::AUTHOR)];
        let next_after = (*page_size == 2).then_some(2);
        Ok(Response::new(ListUsersResponse { users, next_after }))
    }

    async fn get_user(
        &self,
        request: Request<GetUserRequest>,
    ) -> Result<Response<GetUserResponse>, Status> {
        require_admin(&request)?;
        let user_id = request.get_ref().user_id;
        self.record(&request, &format!("get_user {user_id}"));
        Ok(Response::new(GetUserResponse { user: Some(user_of_id(user_id)?) }))
    }

    async fn delete_user(
        &self,
        request: Request<DeleteUserRequest>,
    ) -> Result<Response<DeleteUserResponse>, Status> {
        require_admin(&request)?;
        let user_id = request.get_ref().user_id;
        self.record(&request, &format!("delete_user {user_id}"));
        match user_of_id(user_id)? {
            User { id: 3, .. } => Err(error(Reason::UserNotDeletable, "")),
            user => Ok(Response::new(DeleteUserResponse { user: Some(user) })),
        }
    }

    async fn create_user(
        &self,
        request: Request<CreateUserRequest>,
    ) -> Result<Response<CreateUserResponse>, Status> {
        require_admin(&request)?;
        self.record(&request, "create_user");
        let CreateUserRequest { username, role_name, .. } = request.into_inner();
        let role = role_name.map_or(Ok(Role::USER), |role| role.parse());
        match (username.as_str(), role) {
            ("taken", _) => Err(error(Reason::UsernameTaken, "")),
            (_, Err(_)) => Err(error(Reason::RoleInvalid, "")),
            (_, Ok(role)) => {
                Ok(Response::new(CreateUserResponse { user: Some(user(4, &username, role)) }))
            }
        }
    }

    async fn set_user_disabled(
        &self,
        request: Request<SetUserDisabledRequest>,
    ) -> Result<Response<SetUserDisabledResponse>, Status> {
        require_admin(&request)?;
        let SetUserDisabledRequest { user_id, disabled } = *request.get_ref();
        self.record(&request, &format!("set_user_disabled {user_id} {disabled}"));
        match user_of_id(user_id)? {
            User { id: 3, .. } if disabled => Err(error(Reason::LastAdmin, "")),
            user => {
                Ok(Response::new(SetUserDisabledResponse { user: Some(User { disabled, ..user }) }))
            }
        }
    }

    async fn set_password(
        &self,
        request: Request<SetPasswordRequest>,
    ) -> Result<Response<SetPasswordResponse>, Status> {
        require_admin(&request)?;
        let SetPasswordRequest { user_id, password } = request.get_ref();
        self.record(&request, &format!("set_password {user_id}"));
        let user = user_of_id(*user_id)?;
        if password.is_empty() {
            return Err(error(Reason::PasswordInvalid, "Password must be longer."));
        }
        Ok(Response::new(SetPasswordResponse { user: Some(user) }))
    }

    async fn change_password(
        &self,
        request: Request<ChangePasswordRequest>,
    ) -> Result<Response<ChangePasswordResponse>, Status> {
        self.record(&request, "change_password");
        let ChangePasswordRequest { current_password, new_password } = request.get_ref();
        match (current_password.as_str(), new_password.as_str()) {
            (_, "") => Err(error(Reason::PasswordInvalid, "Password must be longer.")),
            ("right", _) => {
                Ok(Response::new(ChangePasswordResponse { user: Some(user_of_id(1)?) }))
            }
            ("flood", _) => Err(error(Reason::TooManyAttempts, "")),
            _ => Err(error(Reason::CurrentPasswordWrong, "")),
        }
    }

    async fn revoke_tokens(
        &self,
        request: Request<auth_v1::RevokeTokensRequest>,
    ) -> Result<Response<auth_v1::RevokeTokensResponse>, Status> {
        self.record(&request, &format!("revoke_tokens {:?}", request.get_ref().user_id));
        api_keys::revoke_tokens(&request).map(Response::new)
    }

    async fn create_api_key(
        &self,
        request: Request<auth_v1::CreateApiKeyRequest>,
    ) -> Result<Response<auth_v1::CreateApiKeyResponse>, Status> {
        self.record(&request, "create_api_key");
        api_keys::create(request.get_ref()).map(Response::new)
    }

    async fn list_api_keys(
        &self,
        request: Request<auth_v1::ListApiKeysRequest>,
    ) -> Result<Response<auth_v1::ListApiKeysResponse>, Status> {
        self.record(&request, &format!("list_api_keys {:?}", request.get_ref().user_id));
        api_keys::list(&request).map(Response::new)
    }

    async fn delete_api_keys(
        &self,
        request: Request<auth_v1::DeleteApiKeysRequest>,
    ) -> Result<Response<auth_v1::DeleteApiKeysResponse>, Status> {
        self.record(&request, &format!("delete_api_keys {:?}", request.get_ref()));
        api_keys::delete(&request).map(Response::new)
    }

    async fn create_session(
        &self,
        _: Request<auth_v1::CreateSessionRequest>,
    ) -> Result<Response<auth_v1::CreateSessionResponse>, Status> {
        Err(Status::unimplemented("not yet"))
    }

    async fn list_sessions(
        &self,
        _: Request<auth_v1::ListSessionsRequest>,
    ) -> Result<Response<auth_v1::ListSessionsResponse>, Status> {
        Err(Status::unimplemented("not yet"))
    }

    async fn delete_sessions(
        &self,
        _: Request<auth_v1::DeleteSessionsRequest>,
    ) -> Result<Response<auth_v1::DeleteSessionsResponse>, Status> {
        Err(Status::unimplemented("not yet"))
    }

    async fn get_current_user(
        &self,
        _: Request<auth_v1::GetCurrentUserRequest>,
    ) -> Result<Response<auth_v1::GetCurrentUserResponse>, Status> {
        Err(Status::unimplemented("not yet"))
    }

    async fn list_roles(
        &self,
        _: Request<auth_v1::ListRolesRequest>,
    ) -> Result<Response<auth_v1::ListRolesResponse>, Status> {
        Err(Status::unimplemented("not yet"))
    }

    async fn batch_get_users(
        &self,
        request: Request<BatchGetUsersRequest>,
    ) -> Result<Response<BatchGetUsersResponse>, Status> {
        let known = request.get_ref().ids.iter().filter_map(|id| user_of_id(*id).ok());
        let users = known.map(|user| UserName { id: user.id, username: user.username });
        Ok(Response::new(BatchGetUsersResponse { users: users.collect() }))
    }
}
