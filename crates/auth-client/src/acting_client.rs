//! The typed calls on behalf of a user.

mod password_link;
mod second_factor;

pub use password_link::PasswordLink;
pub use second_factor::{SecondFactor, SecondFactorEnrolment};

use crate::{
    api_key::{ApiKey, ApiKeyInput},
    audit::{AuditPage, AuditQuery},
    batchers::Client,
    client::AuthClient,
    session::{Bearer, Session},
    user::{User, UserPage, UserQuery, UserTimes, UserUpdate},
};
use rolegate_grpc_client::{
    CallContext, CallError, PASSWORD_TIMEOUT, READ_TIMEOUT, authenticated_request, call, read,
};
use rolegate_proto::{
    Reason, Role,
    auth_v1::{
        AllApiKeys, AllSessions, ChangePasswordRequest, CreateApiKeyRequest, CreateUserRequest,
        DeleteApiKeysRequest, DeleteSessionsRequest, DeleteUserRequest, GetCurrentUserRequest,
        GetUserRequest, ListApiKeysRequest, ListAuditRequest, ListRolesRequest,
        ListSessionsRequest, ListUsersRequest, RevokeTokensRequest, RevokeTokensResponse,
        SetPasswordRequest, SetUserDisabledRequest, SetUserRoleRequest, UpdateUserRequest,
        delete_api_keys_request::Keys, delete_sessions_request::Sessions,
    },
    authorization::is_api_key,
};
use secrecy::{ExposeSecret, SecretString};
use tonic::{Request, Response, Status};

/// Calls on behalf of the bearer of an access token, session or API key. Those about another user need an admin;
/// where a user is optional, `None` is the bearer.
#[derive(Clone, Debug)]
pub struct ActingClient {
    auth: AuthClient,
    token: SecretString,
    context: CallContext,
}

impl AuthClient {
    /// A client for calls on behalf of the bearer of `token`.
    #[must_use]
    pub fn acting_for(self, token: SecretString, context: CallContext) -> ActingClient {
        ActingClient {
            auth: self,
            token,
            context,
        }
    }
}

impl AuthClient {
    /// Ends all sessions in the cookies that a browser sent to the sign-in page, whoever they are of. What is no
    /// session, or has ended, is passed over. After an error, some of them may be good.
    ///
    /// `with_pairs` also ends the other session of each sign-in that made two of them.
    pub async fn end_cookie_sessions(
        &self,
        sessions: &[SecretString],
        with_pairs: bool,
        context: CallContext,
    ) -> Result<(), CallError> {
        let Some(first) = sessions.first() else {
            return Ok(());
        };
        let acting_for = |session: &SecretString| self.clone().acting_for(session.clone(), context);
        let message = RevokeTokensRequest {
            user_id: None,
            with_pairs,
            from_cookie: true,
            cookie_sessions: sessions
                .iter()
                .map(|session| session.expose_secret().to_owned())
                .collect(),
        };
        match acting_for(first).call(message, Client::revoke_tokens).await {
            Ok(response) if response.cookie_sessions_ended => return Ok(()),
            outcome => pass_over_ended(outcome)?,
        }
        // An auth-service of the version before has read the first only.
        for session in &sessions[1..] {
            let message = RevokeTokensRequest {
                from_cookie: true,
                ..RevokeTokensRequest::default()
            };
            pass_over_ended(
                acting_for(session)
                    .call(message, Client::revoke_tokens)
                    .await,
            )?;
        }
        Ok(())
    }
}

/// The outcome of the end of a session. One that is not good has ended, or never was.
fn pass_over_ended(outcome: Result<RevokeTokensResponse, CallError>) -> Result<(), CallError> {
    match outcome {
        Err(error) if error.reason() == Some(Reason::TokenInvalid) => Ok(()),
        Err(error) => Err(error),
        Ok(_) => Ok(()),
    }
}

/// The name and the number of a role in a request. Those of `None`, a malformed name, are of no role, which
/// auth-service rejects after its earlier checks.
fn role_fields(role: Option<Role>) -> (String, i32) {
    role.map_or_else(Default::default, |role| {
        (role.to_string(), role.request_number())
    })
}

/// The items of a response.
fn converted<M, T: TryFrom<M, Error = CallError>>(messages: Vec<M>) -> Result<Vec<T>, CallError> {
    messages.into_iter().map(T::try_from).collect()
}

impl ActingClient {
    /// The request that the calls serve.
    #[must_use]
    pub fn context(&self) -> CallContext {
        self.context
    }

    /// Whether the bearer presented an API key rather than an access token or session, good or not.
    #[must_use]
    pub fn has_api_key(&self) -> bool {
        is_api_key(self.token.expose_secret())
    }

    /// Calls a method that may change something.
    async fn call<M, A>(
        &self,
        message: M,
        method: impl AsyncFnOnce(&mut Client, Request<M>) -> Result<Response<A>, Status>,
    ) -> Result<A, CallError> {
        let request = self.request(message)?;
        call(READ_TIMEOUT, self.auth.client(), request, method).await
    }

    /// Calls a method that changes nothing.
    async fn read<M, A>(
        &self,
        message: M,
        method: impl AsyncFnOnce(&mut Client, Request<M>) -> Result<Response<A>, Status>,
    ) -> Result<A, CallError> {
        let request = self.request(message)?;
        read(READ_TIMEOUT, self.auth.client(), request, method).await
    }

    /// Calls a method that hashes a password, by a client for such calls.
    async fn call_hashing<M, A>(
        &self,
        client: &Client,
        message: M,
        method: impl AsyncFnOnce(&mut Client, Request<M>) -> Result<Response<A>, Status>,
    ) -> Result<A, CallError> {
        let request = self.request(message)?;
        call(PASSWORD_TIMEOUT, client, request, method).await
    }

    fn request<M>(&self, message: M) -> Result<Request<M>, CallError> {
        authenticated_request(message, &self.token, self.context)
    }

    /// Replaces the password of the bearer, who presented no API key, given the current one; revokes all of
    /// the user's tokens, and sessions but that of the bearer. `username` is the bearer's; it only chooses the replica.
    pub async fn change_password(
        &self,
        username: &str,
        current: &SecretString,
        new: &SecretString,
    ) -> Result<User, CallError> {
        let request = ChangePasswordRequest {
            current_password: current.expose_secret().to_owned(),
            new_password: new.expose_secret().to_owned(),
        };
        let client = self.auth.checks_of(username);
        let response = self
            .call_hashing(&client, request, Client::change_password)
            .await?;
        User::try_from_response(response.user)
    }

    /// Ends every access token and session of a user, and for a bearer by a session only that session.
    /// Logins after the response are good.
    pub async fn revoke_tokens(&self, user_id: Option<i64>) -> Result<User, CallError> {
        let request = RevokeTokensRequest {
            user_id,
            ..RevokeTokensRequest::default()
        };
        let response = self.call(request, Client::revoke_tokens).await?;
        User::try_from_response(response.user)
    }

    /// Creates a user, also while registration is disabled. Without a password, the response has a link by which
    /// the user chooses one. `role`: `None` stands for a malformed name.
    pub async fn create_user(
        &self,
        username: &str,
        password: Option<&SecretString>,
        role: Option<Role>,
    ) -> Result<(User, Option<PasswordLink>), CallError> {
        let (role_name, role) = role_fields(role);
        let request = CreateUserRequest {
            username: username.to_owned(),
            password: password.map_or_else(String::new, |it| it.expose_secret().to_owned()),
            role: Some(role),
            role_name: Some(role_name),
            password_link: password.is_none(),
        };
        let client = self.auth.passwords();
        let response = self
            .call_hashing(&client, request, Client::create_user)
            .await?;
        let link = response
            .password_link
            .map(PasswordLink::try_from)
            .transpose()?;
        // Without either, nobody could sign in. The version before refuses to create such a user.
        if link.is_none() && password.is_none() {
            return Err(CallError::Malformed);
        }
        Ok((User::try_from_response(response.user)?, link))
    }

    /// Disables or enables a user. Every credential of a disabled user is refused.
    pub async fn set_user_disabled(&self, user_id: i64, disabled: bool) -> Result<User, CallError> {
        let request = SetUserDisabledRequest { user_id, disabled };
        let response = self.call(request, Client::set_user_disabled).await?;
        User::try_from_response(response.user)
    }

    /// Renames a user, disables or enables the user, or both at once. A new name revokes the user's access tokens;
    /// sessions and API keys stay.
    pub async fn update_user(&self, user_id: i64, update: UserUpdate) -> Result<User, CallError> {
        let UserUpdate { username, disabled } = update;
        // The version before has only this call.
        if let (None, Some(disabled)) = (&username, disabled) {
            return self.set_user_disabled(user_id, disabled).await;
        }
        let request = UpdateUserRequest {
            user_id,
            username,
            disabled,
        };
        let response = self.call(request, Client::update_user).await?;
        User::try_from_response(response.user)
    }

    /// Replaces the role of a user. `None` stands for a malformed name.
    pub async fn set_user_role(&self, user_id: i64, role: Option<Role>) -> Result<User, CallError> {
        let (role_name, role) = role_fields(role);
        let request = SetUserRoleRequest {
            user_id,
            role,
            role_name,
        };
        let response = self.call(request, Client::set_user_role).await?;
        User::try_from_response(response.user)
    }

    /// Replaces the password of a user and revokes the user's tokens and sessions.
    pub async fn set_password(
        &self,
        user_id: i64,
        password: &SecretString,
    ) -> Result<User, CallError> {
        let password = password.expose_secret().to_owned();
        let request = SetPasswordRequest { user_id, password };
        let client = self.auth.passwords();
        let response = self
            .call_hashing(&client, request, Client::set_password)
            .await?;
        User::try_from_response(response.user)
    }

    /// Deletes a user and returns it.
    pub async fn delete_user(&self, user_id: i64) -> Result<User, CallError> {
        let response = self
            .call(DeleteUserRequest { user_id }, Client::delete_user)
            .await?;
        User::try_from_response(response.user)
    }

    /// Returns a user.
    pub async fn get_user(&self, user_id: i64) -> Result<User, CallError> {
        let response = self
            .read(GetUserRequest { user_id }, Client::get_user)
            .await?;
        User::try_from_response(response.user)
    }

    /// Lists users by ascending id.
    pub async fn list_users(&self, query: UserQuery) -> Result<UserPage, CallError> {
        let (is_search, is_timed) = (!query.search.is_empty(), query.with_times);
        // The version before ignores them, and sends no times.
        let with_times = is_timed || is_search || query.disabled.is_some();
        let request = ListUsersRequest {
            page_size: query.limit.map_or(0, i32::from),
            after: query.after.unwrap_or(0),
            username_prefix: query.username_prefix,
            role: query.role.map(Role::request_number),
            role_name: query.role.map(|role| role.to_string()),
            search: query.search,
            disabled: query.disabled,
            with_times,
        };
        let response = if is_search {
            // Not sent to two replicas, which would each read all users.
            self.call(request, Client::list_users).await?
        } else {
            self.read(request, Client::list_users).await?
        };
        if with_times && response.times.len() != response.users.len() {
            return Err(CallError::Malformed);
        }
        let users = converted(response.users)?;
        let times = response
            .times
            .into_iter()
            .filter(|_| is_timed)
            .map(UserTimes::from_message);
        Ok(UserPage {
            users,
            times: times.collect::<Result<_, _>>()?,
            next: response.next_after,
        })
    }

    /// Creates an API key of a user; the bearer presented none. Returns the key, which auth-service does not
    /// keep, and what it keeps.
    pub async fn create_api_key(
        &self,
        user_id: Option<i64>,
        input: ApiKeyInput,
    ) -> Result<(SecretString, ApiKey), CallError> {
        let (role_name, role) = input.role.map(role_fields).unzip();
        let request = CreateApiKeyRequest {
            name: input.name,
            role,
            expires_at: input.expires_at.map(Into::into),
            role_name,
            user_id,
        };
        let response = self.call(request, Client::create_api_key).await?;
        let api_key: ApiKey = response.api_key.ok_or(CallError::Malformed)?.try_into()?;
        // The version before ignores the user, so the key would be one of the bearer, who is an admin.
        if user_id.is_some_and(|id| id != api_key.user_id) {
            return Err(CallError::Malformed);
        }
        Ok((response.key.into(), api_key))
    }

    /// Lists the API keys of a user by ascending id.
    pub async fn list_api_keys(&self, user_id: Option<i64>) -> Result<Vec<ApiKey>, CallError> {
        let response = self
            .read(ListApiKeysRequest { user_id }, Client::list_api_keys)
            .await?;
        converted(response.api_keys)
    }

    /// Deletes the API key of a user with this id, or without an id all of them; returns what it deleted.
    pub async fn delete_api_keys(
        &self,
        user_id: Option<i64>,
        key_id: Option<i64>,
    ) -> Result<Vec<ApiKey>, CallError> {
        let keys = Some(key_id.map_or(Keys::All(AllApiKeys {}), Keys::KeyId));
        let request = DeleteApiKeysRequest { user_id, keys };
        let response = self.call(request, Client::delete_api_keys).await?;
        converted(response.api_keys)
    }

    /// Lists the sessions of a user by ascending id.
    pub async fn list_sessions(&self, user_id: Option<i64>) -> Result<Vec<Session>, CallError> {
        let response = self
            .read(ListSessionsRequest { user_id }, Client::list_sessions)
            .await?;
        converted(response.sessions)
    }

    /// Ends the session of a user with this id, or without an id all but that of the call; returns what it
    /// ended.
    pub async fn delete_sessions(
        &self,
        user_id: Option<i64>,
        session_id: Option<i64>,
    ) -> Result<Vec<Session>, CallError> {
        let sessions = session_id.map_or(Sessions::All(AllSessions {}), Sessions::SessionId);
        let sessions = Some(sessions);
        let request = DeleteSessionsRequest { user_id, sessions };
        let response = self.call(request, Client::delete_sessions).await?;
        converted(response.sessions)
    }

    /// The bearer, and what credential it is.
    pub async fn current_user(&self) -> Result<Bearer, CallError> {
        self.read(GetCurrentUserRequest {}, Client::get_current_user)
            .await?
            .try_into()
    }

    /// A page of what happened, for an admin, or with [`AuditQuery::own`] to the bearer.
    pub async fn list_audit(&self, query: AuditQuery) -> Result<AuditPage, CallError> {
        let AuditQuery {
            user_id,
            actor_id,
            event,
            after,
            limit,
            own,
        } = query;
        let page_size = limit.map_or(0, i32::from);
        let message = ListAuditRequest {
            user_id,
            actor_id,
            event,
            after,
            page_size,
            own,
        };
        let response = self.read(message, Client::list_audit).await?;
        Ok(AuditPage {
            entries: response.entries,
            next: response.next_after,
            incomplete: response.incomplete,
        })
    }

    /// The roles of the service: `user`, `author`, `admin`, then the others. Needs an admin.
    pub async fn list_roles(&self) -> Result<Vec<Role>, CallError> {
        let response = self.read(ListRolesRequest {}, Client::list_roles).await?;
        let roles = response.role_names.iter().map(|name| name.parse());
        roles
            .collect::<Result<_, _>>()
            .map_err(|_| CallError::Malformed)
    }
}
