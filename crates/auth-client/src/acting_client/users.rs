//! Manages users and their roles.

use super::{ActingClient, passwords::PasswordLink};
use rolegate_grpc_client::CallError;
use rolegate_proto::{
    Role,
    auth_v1::{
        CreateUserRequest, ListUsersRequest, ListUsersResponse, SetUserDisabledRequest,
        SetUserRoleRequest, UpdateUserRequest, User, update_user_request::End,
    },
};
use secrecy::{ExposeSecret as _, SecretString};

/// Returns the number of a role, which is in requests for an auth-service of the previous release. For a malformed
/// name, it is a number that such a service refuses.
pub(super) fn role_number(name: &str) -> i32 {
    name.parse().map(Role::request_number).unwrap_or_default()
}

impl ActingClient {
    /// Creates a user, even while registration is disabled. Without a password, the response has a link by
    /// which the user chooses one. auth-service rejects an unknown role after its earlier checks.
    pub async fn create_user(
        &self,
        username: &str,
        password: Option<&SecretString>,
        role: String,
    ) -> Result<(User, Option<PasswordLink>), CallError> {
        let request = CreateUserRequest {
            username: username.to_owned(),
            password: password
                .map(|password| password.expose_secret().to_owned())
                .unwrap_or_default(),
            role: Some(role_number(&role)),
            role_name: Some(role),
            password_link: password.is_none(),
        };
        let client = self.connections.password_client();
        let response = self.call_hashing(client, request).await?;
        let link = response
            .password_link
            .map(PasswordLink::try_from)
            .transpose()?;
        // A user without a password and without a link could never sign in. An auth-service of the previous
        // release refuses to create such a user.
        if link.is_none() && password.is_none() {
            return Err(CallError::Malformed);
        }
        let user = response.user.ok_or(CallError::Malformed)?;
        Ok((user, link))
    }

    /// Renames a user, disables or enables the user, sets the end of the account, or does several of these at once. A
    /// new name revokes the user's access tokens; sessions and API keys stay.
    pub async fn update_user(&self, request: UpdateUserRequest) -> Result<User, CallError> {
        // An auth-service of the previous release has no `UpdateUser`, but it has `SetUserDisabled`.
        if let UpdateUserRequest {
            user_id,
            username: None,
            disabled: Some(disabled),
            end: None,
        } = request
        {
            let request = SetUserDisabledRequest { user_id, disabled };
            return self.send(request).await?.user.ok_or(CallError::Malformed);
        }
        let end = request.end;
        let user = self.call(request).await?.user.ok_or(CallError::Malformed)?;
        // An auth-service of the previous release ignores the end, and the account would stay open.
        match end {
            Some(End::Until(time)) if user.until != Some(time.seconds) => Err(CallError::Malformed),
            _ => Ok(user),
        }
    }

    /// Replaces the role of a user. auth-service rejects an unknown role after its earlier checks.
    pub async fn set_user_role(&self, user_id: i64, role: String) -> Result<(), CallError> {
        let request = SetUserRoleRequest {
            user_id,
            role: role_number(&role),
            role_name: role,
        };
        self.call(request).await.map(drop)
    }

    /// Returns a page of users. A bearer can run one search at a time.
    pub async fn list_users(
        &self,
        mut request: ListUsersRequest,
    ) -> Result<ListUsersResponse, CallError> {
        let is_search = !request.search.is_empty();
        let wants_times = request.with_times;
        let needs_new_fields = uses_new_fields(&request);
        // An auth-service that is older still ignores `search` and `disabled`, and sends no times. Its page
        // could contain users that the request does not select. For such a request, this call therefore requests
        // times, and refuses a page that has none.
        let with_times = wants_times || is_search || request.disabled.is_some();
        request.with_times = with_times;
        let mut page = if is_search {
            // A search is not repeated at a second replica, because each replica would read the names of all users.
            self.call(request).await?
        } else {
            self.read(request).await?
        };
        let lacks_times = with_times && page.times.len() != page.users.len();
        if lacks_times || (needs_new_fields && !page.follows_request) {
            return Err(CallError::Malformed);
        }
        if !wants_times {
            page.times.clear();
        }
        Ok(page)
    }
}

/// Returns whether the request has a field that an auth-service of the previous release ignores.
fn uses_new_fields(request: &ListUsersRequest) -> bool {
    let known = ListUsersRequest {
        page_size: request.page_size,
        after: request.after,
        username_prefix: request.username_prefix.clone(),
        role: request.role,
        role_name: request.role_name.clone(),
        search: request.search.clone(),
        disabled: request.disabled,
        with_times: request.with_times,
        ..ListUsersRequest::default()
    };
    *request != known
}
