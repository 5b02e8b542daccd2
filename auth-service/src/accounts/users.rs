//! Reads single users, pages of users, the usernames for many ids, and the roles of this service.
//!
//! `changes` creates and deletes users and sets their roles. `update` renames and disables users.
//! `seed` creates the first admin.

pub(super) mod changes;
pub(super) mod seed;
pub(super) mod update;

use super::{
    authorizer::Authorizer,
    changes::Changes,
    error::AccountError,
    paging::cut_page,
    policy::{Policy, Requirement},
    rate_limit::RateLimiter,
    username,
};
use crate::{
    password::Hasher,
    store::{BatchedReads, UsageKind, UserFilter, UserStore},
    user::{ListedUser, User},
};
use rolegate_http_server::clients::ClientSlots;
use rolegate_proto::{
    Role, UnknownRole,
    limits::{MAX_USERNAME_BATCH, page_size},
};
use std::{sync::Arc, time::Duration};

/// The maximum number of searches for users that an admin may run at the same time on each replica. A search can read
/// all users.
pub(super) const MAX_SEARCHES: u32 = 1;
/// The time after which an admin may retry a search that was refused because another one was running.
const SEARCH_RETRY: Duration = Duration::from_secs(1);

/// A request for a page of users.
#[derive(Default)]
pub(crate) struct UserPageRequest {
    /// The `page_size` of the request, as the contract defines it.
    pub(crate) size: i32,
    /// Restricts the page to ids greater than this; 0 for the first page.
    pub(crate) after: i64,
    /// Restricts the page to usernames that start with this text, taken literally.
    pub(crate) username_prefix: String,
    /// Restricts the page to users with this role; an error stands for a malformed role.
    pub(crate) role: Option<Result<Role, UnknownRole>>,
    /// Restricts the page to users who are disabled (true) or are not (false).
    pub(crate) disabled: Option<bool>,
    /// Restricts the page to usernames that contain this text, in upper or lower case.
    pub(crate) search: String,
}

/// A page of users, by ascending id.
pub(crate) struct UserPage {
    pub(crate) users: Vec<ListedUser>,
    /// The `after` of the request for the next page; `None` on the last page.
    pub(crate) next_after: Option<i64>,
}

/// Reads, creates, changes and deletes users.
pub(crate) struct Users {
    pub(super) store: Arc<UserStore>,
    pub(super) reads: Arc<BatchedReads>,
    pub(super) authorizer: Arc<Authorizer>,
    pub(super) changes: Changes,
    pub(super) hasher: Hasher,
    pub(super) policy: Arc<Policy>,
    pub(super) registration_limiter: Arc<RateLimiter>,
    /// The running searches of each admin, by the admin's id.
    pub(super) searches: ClientSlots<i64>,
}

impl Users {
    /// Lists the roles of this service; the actor must be an admin.
    pub(crate) async fn list_roles(&self, credential: &str) -> Result<Vec<Role>, AccountError> {
        self.authorizer.authorize_admin(credential).await?;
        Ok(self.policy.roles.iter().collect())
    }

    /// Returns the user with this id; the actor must be an admin.
    pub(crate) async fn get_user(
        &self,
        credential: &str,
        user_id: i64,
    ) -> Result<User, AccountError> {
        self.authorizer.authorize_admin(credential).await?;
        self.authorizer.find_user(user_id).await
    }

    /// Lists users by ascending id; the actor must be an admin. A request with a search fails while
    /// another search of this admin is running.
    pub(crate) async fn list_users(
        &self,
        credential: &str,
        request: UserPageRequest,
    ) -> Result<UserPage, AccountError> {
        let admin_id = self.authorizer.authorize_admin(credential).await?.user.id;
        let filter = self.user_filter(request)?;
        let _running_search = if filter.search.is_empty() {
            None
        } else {
            let slot = self.searches.acquire(admin_id);
            Some(slot.ok_or_else(|| AccountError::overloaded(SEARCH_RETRY))?)
        };
        let mut users = self.store.list(&filter).await?;
        let next_after = cut_page(&mut users, filter.limit, |listed| listed.user.id);
        for listed in &mut users {
            let noted = self
                .store
                .unwritten_use(UsageKind::Password, listed.user.id);
            listed.last_login_at = listed.last_login_at.max(noted);
        }
        Ok(UserPage { users, next_after })
    }

    /// Returns the users with these ids, by ascending id. Unknown ids are left out.
    ///
    /// No credential is needed, because callers see only usernames. But a credential that is sent
    /// must be valid.
    pub(crate) async fn usernames(
        &self,
        credential: Option<&str>,
        mut ids: Vec<i64>,
    ) -> Result<Vec<User>, AccountError> {
        if let Some(credential) = credential {
            self.authorizer
                .authorize(credential, &Requirement::AnyAuthenticated)
                .await?;
        }
        if ids.len() > MAX_USERNAME_BATCH {
            return Err(AccountError::invalid_request("ids must be at most 256"));
        }
        ids.sort_unstable();
        ids.dedup();
        match ids[..] {
            [] => Ok(Vec::new()),
            // A lookup of one id shares its statement with other lookups.
            [id] => Ok(self.reads.users.get(id).await?.value.into_iter().collect()),
            _ => {
                let mut users = self.store.users_by_id(&ids).await?.value;
                users.sort_unstable_by_key(|user| user.id);
                Ok(users)
            }
        }
    }

    /// Checks a request for a page, in the order that the contract fixes, and returns the filter
    /// for the store.
    fn user_filter(&self, request: UserPageRequest) -> Result<UserFilter, AccountError> {
        let UserPageRequest {
            size,
            after,
            username_prefix,
            role,
            disabled,
            search,
        } = request;
        let size = page_size(size)
            .ok_or_else(|| AccountError::invalid_request("page_size must be 0 to 200"))?;
        if after < 0 {
            return Err(AccountError::invalid_request("after must not be negative"));
        }
        username::check_part(&username_prefix)?;
        username::check_part(&search)?;
        let role = role
            .map(|role| self.policy.require_known_role(role))
            .transpose()?;
        Ok(UserFilter {
            after,
            // The row that follows the page shows whether there is a next page.
            limit: i64::from(size) + 1,
            username_prefix,
            role,
            disabled,
            search,
        })
    }
}
