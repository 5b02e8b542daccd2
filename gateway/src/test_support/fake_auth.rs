//! Provides a fake auth-service in memory, with a few fixed users.
//!
//! The access tokens `user`, `author` and `admin` belong to users of that role with the ids 1, 2 and 3, and `deleted`
//! belongs to a deleted user. There is one more role, `editor`. Every password is `right`. User 3 cannot be deleted.

mod api_keys;
mod audit;
mod second_factor;
mod sessions;
mod users;

use rolegate_auth_client::{AuthClient, BalancedChannel, Reason, Stream};
use rolegate_proto::{
    Role,
    auth_v1::{
        self as v1,
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
use users::{authorize, error, expect_roles, require_admin, role, user, user_of_id, verify};

/// The calls that the fake received, each with its name, arguments and client address.
pub(crate) type Calls = Arc<Mutex<Vec<String>>>;

type Answer<M> = Result<Response<M>, Status>;

struct FakeAuth {
    calls: Calls,
}

/// Returns a client of a new fake, and the calls that the fake receives.
pub(crate) fn fake_auth() -> (AuthClient, Calls) {
    let calls = Calls::default();
    let service = AuthServiceServer::new(FakeAuth {
        calls: Arc::clone(&calls),
    });
    let (client_end, server_end) = tokio::io::duplex(64 * 1024);
    let connection = tokio_stream::once(io::Result::Ok(server_end));
    let (health, health_service) = tonic_health::server::health_reporter();
    tokio::spawn(async move {
        health.set_serving::<AuthServiceServer<FakeAuth>>().await;
        let server = Server::builder()
            .add_service(service)
            .add_service(health_service);
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
        self.calls
            .lock()
            .expect("no panic")
            .push(format!("{what} from {address}"));
    }
}

#[tonic::async_trait]
impl AuthService for FakeAuth {
    async fn register(
        &self,
        request: Request<v1::RegisterRequest>,
    ) -> Answer<v1::RegisterResponse> {
        self.record(&request, "register");
        match request.into_inner().username.as_str() {
            "taken" => Err(error(Reason::UsernameTaken, "")),
            "a:b" => Err(error(
                Reason::UsernameInvalid,
                "Username must not contain ':'.",
            )),
            name => Ok(Response::new(v1::RegisterResponse {
                user: Some(user(4, name, Role::USER)),
            })),
        }
    }

    async fn login(&self, request: Request<v1::LoginRequest>) -> Answer<v1::LoginResponse> {
        self.record(&request, "login");
        let v1::LoginRequest {
            username,
            password,
            otp,
        } = request.into_inner();
        let user = verify(&username, &password)?;
        second_factor::check_code(&user, otp.as_deref())?;
        Ok(Response::new(v1::LoginResponse {
            access_token: "a.b.c".to_owned(),
            user: Some(user),
        }))
    }

    async fn verify_credentials(
        &self,
        request: Request<v1::VerifyCredentialsRequest>,
    ) -> Answer<v1::VerifyCredentialsResponse> {
        self.record(&request, "verify_credentials");
        let v1::VerifyCredentialsRequest {
            username,
            password,
            role_names,
            ..
        } = request.into_inner();
        let user = verify(&username, &password)?;
        second_factor::check_code(&user, None)?;
        expect_roles(&role_names).map_err(|reason| error(reason, ""))?;
        Ok(Response::new(v1::VerifyCredentialsResponse {
            user: Some(user),
        }))
    }

    async fn batch_verify_credentials(
        &self,
        request: Request<v1::BatchVerifyCredentialsRequest>,
    ) -> Answer<v1::BatchVerifyCredentialsResponse> {
        self.record(&request, "batch_verify_credentials");
        // The fake's cache of verified passwords is always empty.
        let outcomes =
            vec![v1::VerifyCredentialsResponse::default(); request.get_ref().items.len()];
        Ok(Response::new(v1::BatchVerifyCredentialsResponse {
            outcomes,
        }))
    }

    async fn authorize(
        &self,
        request: Request<v1::AuthorizeRequest>,
    ) -> Answer<v1::AuthorizeResponse> {
        self.record(&request, "authorize");
        let user = authorize(request.into_inner()).map_err(|reason| error(reason, ""))?;
        Ok(Response::new(v1::AuthorizeResponse { user: Some(user) }))
    }

    async fn batch_authorize(
        &self,
        request: Request<v1::BatchAuthorizeRequest>,
    ) -> Answer<v1::BatchAuthorizeResponse> {
        self.record(&request, "batch_authorize");
        let outcome = |item| match authorize(item) {
            Ok(user) => Outcome::User(user),
            Err(reason) => Outcome::RefusalReason(reason.as_str().to_owned()),
        };
        let items = request.into_inner().items.into_iter();
        let outcomes = items.map(|item| v1::AuthorizeOutcome {
            outcome: Some(outcome(item)),
        });
        Ok(Response::new(v1::BatchAuthorizeResponse {
            outcomes: outcomes.collect(),
        }))
    }

    async fn set_user_role(
        &self,
        request: Request<v1::SetUserRoleRequest>,
    ) -> Answer<v1::SetUserRoleResponse> {
        require_admin(&request)?;
        let v1::SetUserRoleRequest {
            user_id,
            ref role_name,
            ..
        } = *request.get_ref();
        self.record(&request, &format!("set_user_role {user_id} {role_name}"));
        if !(1..=3).contains(&user_id) {
            return Err(error(Reason::UserNotFound, ""));
        }
        let user = Some(user(user_id, "somebody", role(role_name)?));
        Ok(Response::new(v1::SetUserRoleResponse { user }))
    }

    async fn list_users(
        &self,
        request: Request<v1::ListUsersRequest>,
    ) -> Answer<v1::ListUsersResponse> {
        require_admin(&request)?;
        let v1::ListUsersRequest {
            page_size,
            after,
            username_prefix,
            role_name,
            ..
        } = request.get_ref();
        let v1::ListUsersRequest {
            search,
            disabled,
            with_times,
            ..
        } = request.get_ref();
        let new = if *with_times {
            format!(" {search:?} {disabled:?}")
        } else {
            String::new()
        };
        let call = format!("list_users {page_size} {after} {username_prefix:?} {role_name:?}{new}");
        self.record(&request, &call);
        role_name.as_deref().map_or(Ok(Role::USER), role)?;
        let users = vec![user(1, "user", Role::USER), user(2, "author", Role::AUTHOR)];
        let next_after = (*page_size == 2).then_some(2);
        // The fake answers a search for this text like a replica of the previous release.
        let is_of_now = *with_times && search != "old";
        let time = |seconds| Some(prost_types::Timestamp { seconds, nanos: 0 });
        let first = v1::UserTimes {
            created_at: time(1),
            last_login_at: time(1_769_817_600),
        };
        let times = if is_of_now {
            vec![first, v1::UserTimes::default()]
        } else {
            Vec::new()
        };
        Ok(Response::new(v1::ListUsersResponse {
            times,
            users,
            next_after,
        }))
    }

    async fn get_user(&self, request: Request<v1::GetUserRequest>) -> Answer<v1::GetUserResponse> {
        require_admin(&request)?;
        let user_id = request.get_ref().user_id;
        self.record(&request, &format!("get_user {user_id}"));
        Ok(Response::new(v1::GetUserResponse {
            user: Some(user_of_id(user_id)?),
        }))
    }

    async fn delete_user(
        &self,
        request: Request<v1::DeleteUserRequest>,
    ) -> Answer<v1::DeleteUserResponse> {
        require_admin(&request)?;
        let user_id = request.get_ref().user_id;
        self.record(&request, &format!("delete_user {user_id}"));
        match user_of_id(user_id)? {
            v1::User { id: 3, .. } => Err(error(Reason::UserNotDeletable, "")),
            user => Ok(Response::new(v1::DeleteUserResponse { user: Some(user) })),
        }
    }

    async fn create_user(
        &self,
        request: Request<v1::CreateUserRequest>,
    ) -> Answer<v1::CreateUserResponse> {
        require_admin(&request)?;
        self.record(&request, "create_user");
        let v1::CreateUserRequest {
            username,
            password,
            role_name,
            password_link,
            ..
        } = request.into_inner();
        match (username.as_str(), password.as_str()) {
            ("taken", _) => return Err(error(Reason::UsernameTaken, "")),
            (_, "known") => return Err(error(Reason::PasswordLinkRequired, "")),
            _ => {}
        }
        let role = role_name.as_deref().map_or(Ok(Role::USER), role)?;
        let has_link = password_link && username != "without link";
        Ok(Response::new(v1::CreateUserResponse {
            user: Some(user(4, &username, role)),
            password_link: has_link.then(second_factor::link),
        }))
    }

    async fn set_user_disabled(
        &self,
        request: Request<v1::SetUserDisabledRequest>,
    ) -> Answer<v1::SetUserDisabledResponse> {
        require_admin(&request)?;
        let v1::SetUserDisabledRequest { user_id, disabled } = *request.get_ref();
        self.record(&request, &format!("set_user_disabled {user_id} {disabled}"));
        match user_of_id(user_id)? {
            v1::User { id: 3, .. } if disabled => Err(error(Reason::LastAdmin, "")),
            user => Ok(Response::new(v1::SetUserDisabledResponse {
                user: Some(v1::User { disabled, ..user }),
            })),
        }
    }

    async fn update_user(
        &self,
        request: Request<v1::UpdateUserRequest>,
    ) -> Answer<v1::UpdateUserResponse> {
        require_admin(&request)?;
        let v1::UpdateUserRequest {
            user_id,
            username,
            disabled,
        } = request.get_ref();
        self.record(
            &request,
            &format!("update_user {user_id} {username:?} {disabled:?}"),
        );
        let user = user_of_id(*user_id)?;
        let name = username.clone().unwrap_or_default();
        match (&*name, user.id) {
            ("taken", _) => Err(error(Reason::UsernameTaken, "")),
            ("", _) => Err(error(
                Reason::UsernameInvalid,
                "Username must have 1 to 255 bytes.",
            )),
            (_, 3) => Err(error(Reason::UserNotRenamable, "")),
            _ => Ok(Response::new(v1::UpdateUserResponse {
                user: Some(v1::User {
                    username: name,
                    disabled: disabled.unwrap_or(user.disabled),
                    ..user
                }),
            })),
        }
    }

    async fn set_password(
        &self,
        request: Request<v1::SetPasswordRequest>,
    ) -> Answer<v1::SetPasswordResponse> {
        require_admin(&request)?;
        let v1::SetPasswordRequest { user_id, password } = request.get_ref();
        self.record(&request, &format!("set_password {user_id}"));
        let user = user_of_id(*user_id)?;
        if password.is_empty() {
            return Err(error(Reason::PasswordInvalid, "Password must be longer."));
        }
        Ok(Response::new(v1::SetPasswordResponse { user: Some(user) }))
    }

    async fn change_password(
        &self,
        request: Request<v1::ChangePasswordRequest>,
    ) -> Answer<v1::ChangePasswordResponse> {
        self.record(&request, "change_password");
        let v1::ChangePasswordRequest {
            current_password,
            new_password,
        } = request.get_ref();
        match (current_password.as_str(), new_password.as_str()) {
            (_, "") => Err(error(Reason::PasswordInvalid, "Password must be longer.")),
            ("right", _) => Ok(Response::new(v1::ChangePasswordResponse {
                user: Some(user_of_id(1)?),
            })),
            ("flood", _) => Err(error(Reason::TooManyAttempts, "")),
            _ => Err(error(Reason::CurrentPasswordWrong, "")),
        }
    }

    async fn create_password_link(
        &self,
        request: Request<v1::CreatePasswordLinkRequest>,
    ) -> Answer<v1::CreatePasswordLinkResponse> {
        self.record(
            &request,
            &format!("create_password_link {}", request.get_ref().user_id),
        );
        let link = Some(second_factor::create_link(&request)?);
        Ok(Response::new(v1::CreatePasswordLinkResponse { link }))
    }

    async fn redeem_password_link(
        &self,
        request: Request<v1::RedeemPasswordLinkRequest>,
    ) -> Answer<v1::RedeemPasswordLinkResponse> {
        self.record(&request, "redeem_password_link");
        second_factor::redeem_link(request.get_ref())?;
        Ok(Response::new(v1::RedeemPasswordLinkResponse {}))
    }

    async fn get_password_link(
        &self,
        request: Request<v1::GetPasswordLinkRequest>,
    ) -> Answer<v1::GetPasswordLinkResponse> {
        self.record(&request, "get_password_link");
        second_factor::find_link(request.get_ref()).map(Response::new)
    }

    async fn get_password_policy(
        &self,
        request: Request<v1::GetPasswordPolicyRequest>,
    ) -> Answer<v1::GetPasswordPolicyResponse> {
        self.record(&request, "get_password_policy");
        Ok(Response::new(v1::GetPasswordPolicyResponse {
            min_length: 8,
            max_length: 72,
        }))
    }

    async fn enrol_second_factor(
        &self,
        request: Request<v1::EnrolSecondFactorRequest>,
    ) -> Answer<v1::EnrolSecondFactorResponse> {
        self.record(&request, "enrol_second_factor");
        second_factor::enrol(&request).map(Response::new)
    }

    async fn enable_second_factor(
        &self,
        request: Request<v1::EnableSecondFactorRequest>,
    ) -> Answer<v1::EnableSecondFactorResponse> {
        self.record(
            &request,
            &format!("enable_second_factor {:?}", request.get_ref().otp),
        );
        second_factor::enable(&request)?;
        Ok(Response::new(v1::EnableSecondFactorResponse {}))
    }

    async fn disable_second_factor(
        &self,
        request: Request<v1::DisableSecondFactorRequest>,
    ) -> Answer<v1::DisableSecondFactorResponse> {
        let v1::DisableSecondFactorRequest { user_id, otp } = request.get_ref();
        self.record(
            &request,
            &format!("disable_second_factor {user_id:?} {otp:?}"),
        );
        second_factor::disable(&request)?;
        Ok(Response::new(v1::DisableSecondFactorResponse {}))
    }

    async fn get_second_factor(
        &self,
        request: Request<v1::GetSecondFactorRequest>,
    ) -> Answer<v1::GetSecondFactorResponse> {
        self.record(&request, "get_second_factor");
        second_factor::get(&request).map(Response::new)
    }

    async fn revoke_tokens(
        &self,
        request: Request<v1::RevokeTokensRequest>,
    ) -> Answer<v1::RevokeTokensResponse> {
        let v1::RevokeTokensRequest {
            user_id,
            cookie_sessions,
            with_pairs,
            ..
        } = request.get_ref();
        let mut cookies = cookie_sessions.join(" ");
        if !cookies.is_empty() && !with_pairs {
            cookies += " alone";
        }
        self.record(
            &request,
            format!("revoke_tokens {user_id:?} {cookies}").trim_end(),
        );
        api_keys::revoke_tokens(&request).map(Response::new)
    }

    async fn create_api_key(
        &self,
        request: Request<v1::CreateApiKeyRequest>,
    ) -> Answer<v1::CreateApiKeyResponse> {
        self.record(&request, "create_api_key");
        api_keys::create(&request).map(Response::new)
    }

    async fn list_api_keys(
        &self,
        request: Request<v1::ListApiKeysRequest>,
    ) -> Answer<v1::ListApiKeysResponse> {
        self.record(
            &request,
            &format!("list_api_keys {:?}", request.get_ref().user_id),
        );
        api_keys::list(&request).map(Response::new)
    }

    async fn delete_api_keys(
        &self,
        request: Request<v1::DeleteApiKeysRequest>,
    ) -> Answer<v1::DeleteApiKeysResponse> {
        self.record(
            &request,
            &format!("delete_api_keys {:?}", request.get_ref()),
        );
        api_keys::delete(&request).map(Response::new)
    }

    async fn create_session(
        &self,
        request: Request<v1::CreateSessionRequest>,
    ) -> Answer<v1::CreateSessionResponse> {
        let v1::CreateSessionRequest {
            name,
            user_agent,
            for_domain,
            for_application,
            with_application,
            ..
        } = request.get_ref();
        let uses = [
            (*for_domain, "for_domain"),
            (*for_application, "for_application"),
            (*with_application, "with_application"),
        ];
        let mut call = format!("create_session {name:?} {user_agent:?}");
        for (_, name) in uses.into_iter().filter(|(is_used, _)| *is_used) {
            call.push(' ');
            call.push_str(name);
        }
        self.record(&request, &call);
        sessions::create(request.get_ref()).map(Response::new)
    }

    async fn list_sessions(
        &self,
        request: Request<v1::ListSessionsRequest>,
    ) -> Answer<v1::ListSessionsResponse> {
        self.record(&request, &format!("list_sessions {:?}", request.get_ref()));
        sessions::list(&request).map(Response::new)
    }

    async fn delete_sessions(
        &self,
        request: Request<v1::DeleteSessionsRequest>,
    ) -> Answer<v1::DeleteSessionsResponse> {
        self.record(
            &request,
            &format!("delete_sessions {:?}", request.get_ref()),
        );
        sessions::delete(&request).map(Response::new)
    }

    async fn get_current_user(
        &self,
        request: Request<v1::GetCurrentUserRequest>,
    ) -> Answer<v1::GetCurrentUserResponse> {
        self.record(&request, "get_current_user");
        sessions::current_user(&request).map(Response::new)
    }

    async fn list_roles(
        &self,
        request: Request<v1::ListRolesRequest>,
    ) -> Answer<v1::ListRolesResponse> {
        require_admin(&request)?;
        let role_names = ["user", "author", "admin", "editor"]
            .map(str::to_owned)
            .to_vec();
        Ok(Response::new(v1::ListRolesResponse { role_names }))
    }

    async fn list_audit(
        &self,
        request: Request<v1::ListAuditRequest>,
    ) -> Answer<v1::ListAuditResponse> {
        self.record(&request, &format!("list_audit {:?}", request.get_ref()));
        audit::list(&request).map(Response::new)
    }

    type WatchUsersStream = tokio_stream::Empty<Result<v1::WatchUsersResponse, Status>>;

    async fn watch_users(
        &self,
        _: Request<v1::WatchUsersRequest>,
    ) -> Answer<Self::WatchUsersStream> {
        Err(Status::unimplemented("no gateway watches"))
    }

    async fn batch_get_users(
        &self,
        request: Request<v1::BatchGetUsersRequest>,
    ) -> Answer<v1::BatchGetUsersResponse> {
        let known = request
            .get_ref()
            .ids
            .iter()
            .filter_map(|id| user_of_id(*id).ok());
        let users = known.map(|user| v1::UserName {
            id: user.id,
            username: user.username,
        });
        Ok(Response::new(v1::BatchGetUsersResponse {
            users: users.collect(),
        }))
    }
}
