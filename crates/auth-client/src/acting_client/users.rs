//! Manages users and their roles.

use super::{ActingClient, convert_all, passwords::PasswordLink};
use crate::{connections::Client, response_time::optional_time, user::User};
use rolegate_grpc_client::CallError;
use rolegate_proto::{
    Role,
    auth_v1::{
        self, CreateUserRequest, DeleteUserRequest, GetUserRequest, ListRolesRequest,
        ListUsersRequest, SetUserDisabledRequest, SetUserRoleRequest, UpdateUserRequest,
    },
};
use secrecy::{ExposeSecret as _, SecretString};
use std::time::SystemTime;

/// Selects which users [`ActingClient::list_users`](crate::ActingClient::list_users) returns.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UserQuery {
    /// The size of the page, 1 to 200; `None` for 50.
    pub limit: Option<u16>,
    /// Restricts the page to users with greater ids; `None` for the first page.
    pub after: Option<i64>,
    /// Restricts the page to usernames with this literal prefix; empty for all.
    pub username_prefix: String,
    /// Restricts the page to users with this role; `None` for all users.
    pub role: Option<Role>,
    /// Restricts the page to users who are disabled, or to those who are not; `None` for all.
    pub disabled: Option<bool>,
    /// Restricts the page to usernames that contain this text, ignoring case; empty for all. A bearer can run
    /// one search at a time.
    pub search: String,
    /// True to request [`UserPage::times`].
    pub with_times: bool,
}

/// The changes that [`ActingClient::update_user`](crate::ActingClient::update_user) makes. At least one field
/// must be set.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UserUpdate {
    /// The new name; `None` keeps the old one.
    pub username: Option<String>,
    /// True to disable the user, false to enable the user; `None` to leave this state unchanged.
    pub disabled: Option<bool>,
}

/// The times at which a user was created and last logged in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UserTimes {
    /// The time at which the user was created; `None` for users who were created before this time was recorded.
    pub created_at: Option<SystemTime>,
    /// The time at which the user last logged in with a password; `None` if no login was recorded. It is stored
    /// with a delay of up to a minute.
    pub last_login_at: Option<SystemTime>,
}

impl TryFrom<auth_v1::UserTimes> for UserTimes {
    type Error = CallError;

    fn try_from(times: auth_v1::UserTimes) -> Result<Self, CallError> {
        Ok(Self {
            created_at: optional_time(times.created_at)?,
            last_login_at: optional_time(times.last_login_at)?,
        })
    }
}

/// A page of users.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UserPage {
    /// The users by ascending id.
    pub users: Vec<User>,
    /// One entry for each user, in the same order, if the query requested times; otherwise empty.
    pub times: Vec<UserTimes>,
    /// The value of `after` that requests the next page; `None` on the last page.
    pub next: Option<i64>,
}

/// A role in a request: its name, and its number for an auth-service of the previous release.
#[derive(Default)]
pub(super) struct RoleFields {
    pub(super) name: String,
    pub(super) number: i32,
}

impl RoleFields {
    /// Returns the fields of a role. `None` stands for a malformed name: its fields name no role, so that
    /// auth-service rejects the request after its earlier checks.
    pub(super) fn new(role: Option<Role>) -> Self {
        match role {
            Some(role) => Self {
                name: role.to_string(),
                number: role.request_number(),
            },
            None => Self::default(),
        }
    }
}

impl ActingClient {
    /// Creates a user, even while registration is disabled. Without a password, the response has a link by
    /// which the user chooses one. A `role` of `None` stands for a malformed name, which auth-service
    /// rejects.
    pub async fn create_user(
        &self,
        username: &str,
        password: Option<&SecretString>,
        role: Option<Role>,
    ) -> Result<(User, Option<PasswordLink>), CallError> {
        let role = RoleFields::new(role);
        let request = CreateUserRequest {
            username: username.to_owned(),
            password: password
                .map(|password| password.expose_secret().to_owned())
                .unwrap_or_default(),
            role: Some(role.number),
            role_name: Some(role.name),
            password_link: password.is_none(),
        };
        let client = self.connections.password_client();
        let response = self
            .call_hashing(client, request, Client::create_user)
            .await?;
        let link = response
            .password_link
            .map(PasswordLink::try_from)
            .transpose()?;
        // A user without a password and without a link could never sign in. An auth-service of the previous
        // release refuses to create such a user.
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
        // An auth-service of the previous release has no `UpdateUser`, but it has this call.
        if let UserUpdate {
            username: None,
            disabled: Some(disabled),
        } = update
        {
            return self.set_user_disabled(user_id, disabled).await;
        }
        let request = UpdateUserRequest {
            user_id,
            username: update.username,
            disabled: update.disabled,
        };
        let response = self.call(request, Client::update_user).await?;
        User::try_from_response(response.user)
    }

    /// Replaces the role of a user, and returns the changed user. A `role` of `None` stands for a malformed
    /// name, which auth-service rejects.
    pub async fn set_user_role(&self, user_id: i64, role: Option<Role>) -> Result<User, CallError> {
        let role = RoleFields::new(role);
        let request = SetUserRoleRequest {
            user_id,
            role: role.number,
            role_name: role.name,
        };
        let response = self.call(request, Client::set_user_role).await?;
        User::try_from_response(response.user)
    }

    /// Deletes a user and returns it.
    pub async fn delete_user(&self, user_id: i64) -> Result<User, CallError> {
        let request = DeleteUserRequest { user_id };
        let response = self.call(request, Client::delete_user).await?;
        User::try_from_response(response.user)
    }

    /// Returns the user with this id.
    pub async fn get_user(&self, user_id: i64) -> Result<User, CallError> {
        let request = GetUserRequest { user_id };
        let response = self.read(request, Client::get_user).await?;
        User::try_from_response(response.user)
    }

    /// Returns a page of users by ascending id.
    pub async fn list_users(&self, query: UserQuery) -> Result<UserPage, CallError> {
        let is_search = !query.search.is_empty();
        // An auth-service of the previous release ignores `search` and `disabled`, and sends no times. Its page
        // could contain users that the query does not select. For such a query, this call therefore requests
        // times, and refuses a page that has none.
        let with_times = query.with_times || is_search || query.disabled.is_some();
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
            // A search is not repeated at a second replica, because each replica would read all users.
            self.call(request, Client::list_users).await?
        } else {
            self.read(request, Client::list_users).await?
        };
        if with_times && response.times.len() != response.users.len() {
            return Err(CallError::Malformed);
        }
        let times = if query.with_times {
            convert_all(response.times)?
        } else {
            Vec::new()
        };
        Ok(UserPage {
            users: convert_all(response.users)?,
            times,
            next: response.next_after,
        })
    }

    /// Returns the roles of the service: `user`, `author` and `admin`, then the added ones. The bearer must
    /// be an admin.
    pub async fn list_roles(&self) -> Result<Vec<Role>, CallError> {
        let response = self.read(ListRolesRequest {}, Client::list_roles).await?;
        let roles = response.role_names.iter().map(|name| name.parse());
        roles
            .collect::<Result<_, _>>()
            .map_err(|_| CallError::Malformed)
    }
}
