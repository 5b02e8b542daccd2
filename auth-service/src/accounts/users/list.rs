//! Lists users in pages, for admins.

use super::Users;
use crate::{
    accounts::{
        error::AccountError,
        paging::{PageRequest, cut_page},
        username,
    },
    search_key::search_words,
    store::{
        MalformedCursor, RoleFilter, StoreError, UsageKind, UserCursor, UserFilter, UserOrder,
        UserStore,
    },
    user::ListedUser,
};
use rolegate_program::request_context::RequestContext;
use rolegate_proto::{GroupName, Reason, Role, UnknownRole};
use std::{sync::Arc, time::Duration};
use tokio::time::timeout;

/// The maximum number of searches for users that an admin may run at the same time on each replica. A search reads the
/// names of all users.
pub(in crate::accounts) const MAX_SEARCHES: u32 = 1;
/// The maximum number of lists that may read all users at the same time on each replica. SQLite has few connections for
/// reading, which logins need, too.
pub(in crate::accounts) const MAX_LIST_READS: usize = 2;
/// The maximum time that a list waits until others have been read.
const PERMIT_TIMEOUT: Duration = Duration::from_secs(2);
/// The time after which an admin may retry a search that was refused because another one was running, or because not
/// all users have search keys yet.
const SEARCH_RETRY: Duration = Duration::from_secs(1);

/// A request for a page of users.
#[derive(Default)]
pub(crate) struct UserPageRequest {
    /// The `page_size` of the request, as the contract defines it.
    pub(crate) size: i32,
    /// Restricts a page in the order of ids to users after this id; 0 for the first page.
    pub(crate) after: i64,
    /// The position after which a page in another order begins; empty for the first page.
    pub(crate) cursor: String,
    pub(crate) order: UserOrder,
    /// Whether the request has an order that this release does not know.
    pub(crate) has_unknown_order: bool,
    pub(crate) descending: bool,
    /// Restricts the page to usernames that start with this text, taken literally.
    pub(crate) username_prefix: String,
    /// Restricts the page to users with this role; an error stands for a malformed role.
    pub(crate) role: Option<Result<Role, UnknownRole>>,
    /// Restricts the page to users who are disabled (true) or are not (false).
    pub(crate) disabled: Option<bool>,
    /// Restricts the page to usernames that contain each word of this text.
    pub(crate) search: String,
    /// Restricts the page to users whose second factor is on (true) or off (false).
    pub(crate) second_factor: Option<bool>,
    /// Restricts the page to users who have a password (true) or have none (false).
    pub(crate) has_password: Option<bool>,
    /// Restricts the page to users in this group; empty selects all users.
    pub(crate) group: String,
    /// Restricts the page to users who have not logged in since this time, in Unix seconds.
    pub(crate) not_since: Option<i64>,
    /// Restricts the page to users whose account ends before this time, in Unix seconds.
    pub(crate) ends_before: Option<i64>,
    pub(crate) with_total: bool,
}

/// A page of users.
pub(crate) struct UserPage {
    pub(crate) users: Vec<ListedUser>,
    /// The position after which the next page begins; `None` on the last page.
    pub(crate) next: Option<UserCursor>,
    /// The number of users on all pages, if the request asks for it.
    pub(crate) total: Option<i64>,
}

impl Users {
    /// Lists users; the actor must be an admin. A request with a search fails while another search of this admin is
    /// running.
    pub(crate) async fn list_users(
        &self,
        credential: &str,
        request: UserPageRequest,
    ) -> Result<UserPage, AccountError> {
        let admin_id = self.authorizer.authorize_admin(credential).await?.user.id;
        let with_total = request.with_total;
        let filter = self.user_filter(request).await?;
        let _running_search = if filter.search.is_empty() {
            None
        } else {
            let slot = self.searches.acquire(admin_id);
            Some(slot.ok_or_else(|| AccountError::overloaded(SEARCH_RETRY))?)
        };
        // A user without a key would be missing from a search.
        if filter.reads_search_keys() && !self.store.write_search_keys().await? {
            return Err(AccountError::overloaded(SEARCH_RETRY));
        }
        let mut page = self.read_page(filter, with_total).await?;
        for listed in &mut page.users {
            let noted = self
                .store
                .unwritten_use(UsageKind::Password, listed.user.id);
            listed.last_login_at = listed.last_login_at.max(noted);
        }
        Ok(page)
    }

    /// Reads a page, and the total if it is wanted. Waits for a permit if this may read all users, and fails with
    /// [`Reason::Overloaded`] if none is free in time.
    async fn read_page(
        &self,
        filter: UserFilter,
        with_total: bool,
    ) -> Result<UserPage, AccountError> {
        if !with_total && !filter.reads_all_users() {
            return Ok(UserPage::read(&self.store, &filter, with_total).await?);
        }
        let permits = Arc::clone(&self.list_reads);
        let Ok(Ok(permit)) = timeout(PERMIT_TIMEOUT, permits.acquire_owned()).await else {
            return Err(AccountError::overloaded(PERMIT_TIMEOUT));
        };
        let store = Arc::clone(&self.store);
        // SQLite runs a statement to its end even if the client is gone. Until then, the permit is not free.
        let page = RequestContext::run_to_completion(async move {
            let page = UserPage::read(&store, &filter, with_total).await;
            drop(permit);
            page
        })
        .await?;
        Ok(page)
    }

    /// Checks a request for a page, in the order that the contract fixes, and returns the filter for the store, which
    /// selects one user more than the page holds.
    async fn user_filter(&self, request: UserPageRequest) -> Result<UserFilter, AccountError> {
        let after = request.position()?;
        let limit = PageRequest {
            size: request.size,
            after: request.after,
        }
        .limit()?;
        username::check_part(&request.username_prefix)?;
        username::check_part(&request.search)?;
        let role = request
            .role
            .map(|role| self.policy.require_known_role(role))
            .transpose()?;
        let group = match &*request.group {
            "" => None,
            name => Some(self.require_group(name).await?),
        };
        Ok(UserFilter {
            order: request.order,
            descending: request.descending,
            after,
            limit,
            username_prefix: request.username_prefix,
            role: role.map(RoleFilter::User),
            disabled: request.disabled,
            search: search_words(&request.search),
            second_factor: request.second_factor,
            has_password: request.has_password,
            group,
            not_since: request.not_since,
            ends_before: request.ends_before,
        })
    }

    /// Returns the group with this name. Fails if there is none, because an empty list would hide a mistyped name.
    async fn require_group(&self, name: &str) -> Result<GroupName, AccountError> {
        let unknown = || {
            let rule = "Group name must be that of an existing group.";
            AccountError::invalid(Reason::GroupInvalid, rule)
        };
        let group = name.parse().map_err(|_| unknown())?;
        let existing = self.store.existing_groups(&[name.to_owned()]).await?;
        if existing.is_empty() {
            return Err(unknown());
        }
        Ok(group)
    }
}

impl UserPage {
    /// Reads a page, and the total if it is wanted. The filter selects one user more than the page holds.
    async fn read(
        store: &UserStore,
        filter: &UserFilter,
        with_total: bool,
    ) -> Result<Self, StoreError> {
        let total = if with_total {
            Some(store.count(filter).await?)
        } else {
            None
        };
        let mut users = store.list(filter).await?;
        let next = cut_page(&mut users, filter.limit, |last| {
            UserCursor::of_user(last, filter.order)
        });
        Ok(Self { users, next, total })
    }
}

impl UserPageRequest {
    /// Returns the position after which the page begins; `None` for the first page.
    fn position(&self) -> Result<Option<UserCursor>, AccountError> {
        if self.has_unknown_order {
            return Err(AccountError::invalid_request("order is unknown"));
        }
        let malformed = |_: MalformedCursor| {
            AccountError::invalid_request("cursor must be the next_cursor of the same order")
        };
        if self.order == UserOrder::Id && self.cursor.is_empty() {
            return Ok((self.after > 0).then(|| UserCursor::at_id(self.after)));
        }
        if self.after != 0 {
            return Err(malformed(MalformedCursor));
        }
        if self.cursor.is_empty() {
            return Ok(None);
        }
        UserCursor::parse(&self.cursor, self.order)
            .map(Some)
            .map_err(malformed)
    }
}
