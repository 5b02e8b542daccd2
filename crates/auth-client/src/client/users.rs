//! Calls about users: what admins do with them, and their names.

use super::{AuthClient, with_actor};
use crate::{
    CallContext, CallError, Role, User,
    deadline::{DECISION, PASSWORD, within},
};
use rolegate_proto::auth_v1;
use secrecy::{ExposeSecret, SecretString};
use std::collections::HashMap;

/// Which users [`AuthClient::list_users`] returns.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UserQuery {
    /// At most this many: 1 to 200; `None` for 50.
    pub limit: Option<u16>,
    /// Only greater ids; `None` from the first.
    pub after: Option<i64>,
    /// Only usernames that start with this, taken literally; empty for all.
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

impl AuthClient {
    /// Replaces the role of a user; `actor` is the access token of an admin. `None` stands for a
    /// name that is no role: auth-service refuses it in its turn, after the checks before it.
    pub async fn set_user_role(
        &self,
        actor: &SecretString,
        user_id: i64,
        role: Option<Role>,
        context: CallContext,
    ) -> Result<User, CallError> {
        let role = role.map_or(auth_v1::Role::Unspecified.into(), i32::from);
        let message = auth_v1::SetUserRoleRequest { user_id, role };
        let request = with_actor(message, actor, context)?;
        let answer = within(DECISION, request, |request| async {
            let mut lease = self.0.replicas.lease().await?;
            lease.client.set_user_role(request).await
        })
        .await?;
        User::required(answer.user)
    }

    /// Lists users by ascending id; `actor` is the access token of an admin.
    pub async fn list_users(
        &self,
        actor: &SecretString,
        query: UserQuery,
        context: CallContext,
    ) -> Result<UserPage, CallError> {
        let message = auth_v1::ListUsersRequest {
            page_size: query.limit.map_or(0, i32::from),
            after: query.after.unwrap_or(0),
            username_prefix: query.username_prefix,
            role: query.role.map(i32::from),
        };
        let request = with_actor(message, actor, context)?;
        let answer = within(DECISION, request, |request| async {
            let mut lease = self.0.replicas.lease().await?;
            lease.client.list_users(request).await
        })
        .await?;
        let users = answer.users.into_iter().map(User::try_from).collect::<Result<_, _>>()?;
        Ok(UserPage { users, next: answer.next_after })
    }

    /// The user with this id; `actor` is the access token of an admin.
    pub async fn get_user(
        &self,
        actor: &SecretString,
        user_id: i64,
        context: CallContext,
    ) -> Result<User, CallError> {
        let request = with_actor(auth_v1::GetUserRequest { user_id }, actor, context)?;
        let answer = within(DECISION, request, |request| async {
            let mut lease = self.0.replicas.lease().await?;
            lease.client.get_user(request).await
        })
        .await?;
        User::required(answer.user)
    }

    /// Deletes a user for good and returns who it was; `actor` is the access token of an admin.
    pub async fn delete_user(
        &self,
        actor: &SecretString,
        user_id: i64,
        context: CallContext,
    ) -> Result<User, CallError> {
        let request = with_actor(auth_v1::DeleteUserRequest { user_id }, actor, context)?;
        let answer = within(DECISION, request, |request| async {
            let mut lease = self.0.replicas.lease().await?;
            lease.client.delete_user(request).await
        })
        .await?;
        User::required(answer.user)
    }

    /// Replaces the password of a user and ends the user's tokens; `actor` is the access token of an
    /// admin.
    pub async fn set_password(
        &self,
        actor: &SecretString,
        user_id: i64,
        password: &SecretString,
        context: CallContext,
    ) -> Result<User, CallError> {
        let password = password.expose_secret().to_owned();
        let message = auth_v1::SetPasswordRequest { user_id, password };
        let request = with_actor(message, actor, context)?;
        let answer = within(PASSWORD, request, |request| async {
            let mut lease = self.0.replicas.lease().await?;
            lease.client.set_password(request).await
        })
        .await?;
        User::required(answer.user)
    }

    /// The names of the users with these ids; ids that nobody has are left out. Tells no more than a
    /// service may show to everybody, and so needs no actor. Concurrent look-ups share calls.
    pub async fn get_usernames(
        &self,
        ids: &[i64],
        context: CallContext,
    ) -> Result<HashMap<i64, String>, CallError> {
        self.0.usernames.of(ids, context.request_id).await
    }
}
