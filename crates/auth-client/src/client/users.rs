//! Calls about other users: administration, and usernames for display.

use super::AuthClient;
use crate::{Client, Role, User, username_batcher::get_usernames};
use rolegate_grpc_client::{
    CallContext, CallError, PASSWORD_TIMEOUT, READ_TIMEOUT, authenticated_request, call, read,
};
use rolegate_proto::auth_v1::{
    self, CreateUserRequest, DeleteUserRequest, GetUserRequest, ListUsersRequest,
    SetPasswordRequest, SetUserDisabledRequest, SetUserRoleRequest,
};
use secrecy::{ExposeSecret, SecretString};
use std::collections::HashMap;

/// Which users [`AuthClient::list_users`] returns.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UserQuery {
    /// The size of the page, 1 to 200; `None` for 50.
    pub limit: Option<u16>,
    /// Only greater ids; `None` for the first page.
    pub after: Option<i64>,
    /// Only usernames with this literal prefix; empty for all.
    pub username_prefix: String,
    /// Only this role; `None` for all.
    pub role: Option<Role>,
}

/// A page of users.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UserPage {
    /// By ascending id.
    pub users: Vec<User>,
    /// The `after` of the next page; `None` on the last.
    pub next: Option<i64>,
}

/// In every call that takes `actor`, it is the access token of an admin.
impl AuthClient {
    /// Creates a user, also while registration is disabled. `role`: `None` stands for an unknown role
    /// name, which auth-service rejects after its earlier checks.
    pub async fn create_user(
        &self,
        actor: &SecretString,
        username: &str,
        password: &SecretString,
        role: Option<Role>,
        context: CallContext,
    ) -> Result<User, CallError> {
        let (username, password) = (username.to_owned(), password.expose_secret().to_owned());
        let role = Some(role.map_or(auth_v1::Role::Unspecified.into(), i32::from));
        let message = CreateUserRequest { username, password, role };
        let request = authenticated_request(message, actor, context)?;
        let response =
            call(PASSWORD_TIMEOUT, &self.passwords(), request, Client::create_user).await?;
        User::try_from_response(response.user)
    }

    /// Disables or enables a user. Every credential of a disabled user is refused.
    pub async fn set_user_disabled(
        &self,
        actor: &SecretString,
        user_id: i64,
        disabled: bool,
        context: CallContext,
    ) -> Result<User, CallError> {
        let message = SetUserDisabledRequest { user_id, disabled };
        let request = authenticated_request(message, actor, context)?;
        let response =
            call(READ_TIMEOUT, &self.0.client, request, Client::set_user_disabled).await?;
        User::try_from_response(response.user)
    }

    /// Replaces the role of a user. `None` stands for an unknown role name, which auth-service rejects
    /// after its earlier checks.
    pub async fn set_user_role(
        &self,
        actor: &SecretString,
        user_id: i64,
        role: Option<Role>,
        context: CallContext,
    ) -> Result<User, CallError> {
        let role = role.map_or(auth_v1::Role::Unspecified.into(), i32::from);
        let message = SetUserRoleRequest { user_id, role };
        let request = authenticated_request(message, actor, context)?;
        let response = call(READ_TIMEOUT, &self.0.client, request, Client::set_user_role).await?;
        User::try_from_response(response.user)
    }

    /// Lists users by ascending id.
    pub async fn list_users(
        &self,
        actor: &SecretString,
        query: UserQuery,
        context: CallContext,
    ) -> Result<UserPage, CallError> {
        let message = ListUsersRequest {
            page_size: query.limit.map_or(0, i32::from),
            after: query.after.unwrap_or(0),
            username_prefix: query.username_prefix,
            role: query.role.map(i32::from),
        };
        let request = authenticated_request(message, actor, context)?;
        let response = read(READ_TIMEOUT, &self.0.client, request, Client::list_users).await?;
        let users = response.users.into_iter().map(User::try_from).collect::<Result<_, _>>()?;
        Ok(UserPage { users, next: response.next_after })
    }

    /// Returns a user.
    pub async fn get_user(
        &self,
        actor: &SecretString,
        user_id: i64,
        context: CallContext,
    ) -> Result<User, CallError> {
        let request = authenticated_request(GetUserRequest { user_id }, actor, context)?;
        let response = read(READ_TIMEOUT, &self.0.client, request, Client::get_user).await?;
        User::try_from_response(response.user)
    }

    /// Deletes a user and returns it.
    pub async fn delete_user(
        &self,
        actor: &SecretString,
        user_id: i64,
        context: CallContext,
    ) -> Result<User, CallError> {
        let request = authenticated_request(DeleteUserRequest { user_id }, actor, context)?;
        let response = call(READ_TIMEOUT, &self.0.client, request, Client::delete_user).await?;
        User::try_from_response(response.user)
    }

    /// Replaces the password of a user and revokes the user's tokens.
    pub async fn set_password(
        &self,
        actor: &SecretString,
        user_id: i64,
        password: &SecretString,
        context: CallContext,
    ) -> Result<User, CallError> {
        let password = password.expose_secret().to_owned();
        let message = SetPasswordRequest { user_id, password };
        let request = authenticated_request(message, actor, context)?;
        let response =
            call(PASSWORD_TIMEOUT, &self.passwords(), request, Client::set_password).await?;
        User::try_from_response(response.user)
    }

    /// The usernames by id, without ids that do not exist. Needs no actor, because services show
    /// usernames to everybody. Concurrent lookups of one id share calls;
    /// several ids are a batch already.
    pub async fn get_usernames(
        &self,
        ids: &[i64],
        context: CallContext,
    ) -> Result<HashMap<i64, String>, CallError> {
        if let &[id] = ids {
            let username = self.0.usernames.submit(id, context.request_id).await?;
            return Ok(username.into_iter().map(|username| (id, username)).collect());
        }
        get_usernames(&self.0.client, ids, context.request_id).await
    }
}
