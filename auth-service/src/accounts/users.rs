//! Gets and lists users.

use super::{authorize::Requirement, error::AccountError, service::Accounts, username};
use crate::{store::UserFilter, user::User};
use rolegate_proto::{
    Reason, Role,
    limits::{MAX_USERNAME_BATCH, page_size},
};

/// A request for a page of users.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PageRequest {
    /// The `page_size` of the contract.
    pub size: i32,
    /// Only greater ids; 0 for the first page.
    pub after: i64,
    /// Only usernames that start with this, taken literally.
    pub username_prefix: String,
    /// Only this role; `Some(None)` for an unknown one.
    pub role: Option<Option<Role>>,
}

/// A page of users.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UserPage {
    /// By ascending id.
    pub users: Vec<User>,
    /// The `after` of the next page; `None` on the last.
    pub next_after: Option<i64>,
}

impl Accounts {
    /// The roles of this service; the actor must be an admin.
    pub async fn list_roles(&self, actor: &str) -> Result<Vec<Role>, AccountError> {
        self.authorize_admin(actor).await?;
        Ok(self.policy.roles.iter().collect())
    }

    /// The user with this id; the actor must be an admin.
    pub async fn get_user(&self, actor: &str, user_id: i64) -> Result<User, AccountError> {
        self.authorize_admin(actor).await?;
        self.find(user_id).await
    }

    pub(super) async fn find(&self, user_id: i64) -> Result<User, AccountError> {
        Ok(self.reads.users.get(user_id).await?.value.ok_or(Reason::UserNotFound)?)
    }

    /// Lists users by ascending id; the actor must be an admin.
    pub async fn list_users(
        &self,
        actor: &str,
        request: PageRequest,
    ) -> Result<UserPage, AccountError> {
        self.authorize_admin(actor).await?;
        let filter = self.filter(request)?;
        let size = filter.limit;
        // One more than the page reveals whether there is a next one.
        let mut users = self.store.list(&UserFilter { limit: size + 1, ..filter }).await?;
        let has_next = i64::try_from(users.len()).is_ok_and(|found| found > size);
        if has_next {
            users.pop();
        }
        let next_after = users.last().filter(|_| has_next).map(|user| user.id);
        Ok(UserPage { users, next_after })
    }

    /// The users with these ids, by ascending id, without duplicates and unknown ids. Needs no actor,
    /// because callers see only usernames; an actor that is sent must be valid.
    pub async fn usernames(
        &self,
        actor: Option<&str>,
        mut ids: Vec<i64>,
    ) -> Result<Vec<User>, AccountError> {
        if let Some(actor) = actor {
            self.authorize(actor, &Requirement::AnyAuthenticated).await?;
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
        let prefix = request.username_prefix;
        if prefix.len() > username::MAX_LENGTH {
            return Err(username::LENGTH);
        }
        if prefix.chars().any(char::is_control) {
            return Err(username::CONTROL);
        }
        let role = request.role.map(|role| self.known(role)).transpose()?;
        let (after, limit) = (request.after, size.into());
        Ok(UserFilter { after, limit, username_prefix: prefix, role, ..UserFilter::default() })
    }
}
