//! Gets and lists users.

use super::{authorize::Requirement, error::AccountError, service::Accounts, username};
use crate::{
    store::{UsageKind, UserFilter},
    user::{ListedUser, User},
};
use parking_lot::Mutex;
use rolegate_proto::{
    Reason, Role,
    limits::{MAX_USERNAME_BATCH, page_size},
};
use std::{
    collections::HashMap,
    sync::{Arc, Weak},
    time::Duration,
};

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct PageRequest {
    /// The `page_size` of the contract.
    pub(crate) size: i32,
    /// Only greater ids; 0 for the first page.
    pub(crate) after: i64,
    /// Only usernames that start with this, taken literally.
    pub(crate) username_prefix: String,
    /// Only this role; `Some(None)` for an unknown one.
    #[expect(
        clippy::option_option,
        reason = "absent and malformed are not the same"
    )]
    pub(crate) role: Option<Option<Role>>,
    /// Only users who are, or are not, disabled.
    pub(crate) disabled: Option<bool>,
    /// Only usernames that contain this, whatever the case of its letters.
    pub(crate) search: String,
}

/// The last search of each admin, by id: alive while it runs.
pub(super) type Searches = Arc<Mutex<HashMap<i64, Weak<()>>>>;

impl Accounts {
    /// The roles of this service; the actor must be an admin.
    pub(crate) async fn list_roles(&self, actor: &str) -> Result<Vec<Role>, AccountError> {
        self.authorize_admin(actor).await?;
        Ok(self.policy.roles.iter().collect())
    }

    /// The user with this id; the actor must be an admin.
    pub(crate) async fn get_user(&self, actor: &str, user_id: i64) -> Result<User, AccountError> {
        self.authorize_admin(actor).await?;
        self.find(user_id).await
    }

    pub(super) async fn find(&self, user_id: i64) -> Result<User, AccountError> {
        Ok(self
            .reads
            .users
            .get(user_id)
            .await?
            .value
            .ok_or(Reason::UserNotFound)?)
    }

    /// Lists users by ascending id; the actor must be an admin. Also returns the `after` of the next page;
    /// `None` on the last page.
    pub(crate) async fn list_users(
        &self,
        actor: &str,
        request: PageRequest,
    ) -> Result<(Vec<ListedUser>, Option<i64>), AccountError> {
        let admin = self.authorize_admin(actor).await?.user.id;
        let filter = self.filter(request)?;
        let is_search = !filter.search.is_empty();
        let _running = is_search.then(|| self.begin_search(admin)).transpose()?;
        let size = filter.limit;
        // One more than the page reveals whether there is a next one.
        let mut users = self
            .store
            .list(&UserFilter {
                limit: size + 1,
                ..filter
            })
            .await?;
        let has_next = end_page(&mut users, size);
        for ListedUser {
            user,
            last_login_at,
            ..
        } in &mut users
        {
            *last_login_at =
                (*last_login_at).max(self.store.unwritten_use(UsageKind::Password, user.id));
        }
        let next_after = users
            .last()
            .filter(|_| has_next)
            .map(|listed| listed.user.id);
        Ok((users, next_after))
    }

    /// Refuses a second search of an admin while one runs, because it reads all users.
    pub(super) fn begin_search(&self, admin: i64) -> Result<Arc<()>, AccountError> {
        let mut searches = self.searches.lock();
        let (search, last) = (Arc::new(()), searches.entry(admin).or_default());
        if last.strong_count() > 0 {
            return Err(AccountError::overloaded(Duration::from_secs(1)));
        }
        *last = Arc::downgrade(&search);
        Ok(search)
    }

    /// The users with these ids, by ascending id, without duplicates and unknown ids. Needs no actor,
    /// because callers see only usernames; an actor that is sent must be valid.
    pub(crate) async fn usernames(
        &self,
        actor: Option<&str>,
        mut ids: Vec<i64>,
    ) -> Result<Vec<User>, AccountError> {
        if let Some(actor) = actor {
            self.authorize(actor, &Requirement::AnyAuthenticated)
                .await?;
        }
        if ids.len() > MAX_USERNAME_BATCH {
            return Err(AccountError::request("ids must be at most 256"));
        }
        ids.sort_unstable();
        ids.dedup();
        match ids[..] {
            [] => Ok(Vec::new()),
            // A single lookup shares its statement with others.
            [id] => Ok(self.reads.users.get(id).await?.value.into_iter().collect()),
            _ => {
                let mut users = self.store.users_by_id(&ids).await?.value;
                users.sort_unstable_by_key(|user| user.id);
                Ok(users)
            }
        }
    }

    fn filter(&self, request: PageRequest) -> Result<UserFilter, AccountError> {
        let invalid_size = AccountError::request("page_size must be 0 to 200");
        let size = page_size(request.size).ok_or(invalid_size)?;
        if request.after < 0 {
            return Err(AccountError::request("after must not be negative"));
        }
        let PageRequest {
            after,
            username_prefix,
            disabled,
            search,
            ..
        } = request;
        for text in [&username_prefix, &search] {
            if text.len() > username::MAX_LENGTH {
                return Err(username::LENGTH);
            }
            if text.chars().any(char::is_control) {
                return Err(username::CONTROL);
            }
        }
        let role = request.role.map(|role| self.known(role)).transpose()?;
        let limit = size.into();
        Ok(UserFilter {
            after,
            limit,
            username_prefix,
            role,
            disabled,
            search,
        })
    }
}

/// Ends a page of which one row more than its size was read; whether there is a next one.
pub(super) fn end_page<R>(rows: &mut Vec<R>, size: i64) -> bool {
    let has_next = i64::try_from(rows.len()).is_ok_and(|found| found > size);
    if has_next {
        rows.pop();
    }
    has_next
}
