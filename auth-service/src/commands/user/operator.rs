//! Access to the store without a token.

use crate::{
    audit::{Change, Write},
    roles::Roles,
    store::{self, FileClock, Transfer, UserStore, WriteError},
    user::{Credentials, User},
};
use rolegate_program::program::Failure;
use rolegate_sql_store::{DatabaseTarget, DatabaseUrl, Schema};
use std::sync::Arc;

pub(in crate::commands) type Store = Arc<dyn UserStore>;

pub(in crate::commands) struct Operator {
    pub(in crate::commands) store: Store,
    pub(in crate::commands) transfer: Transfer,
    pub(super) database: DatabaseUrl,
    pub(super) roles: Roles,
}

impl Operator {
    /// Opens the existing store. Neither waits for a database nor creates or migrates one: a
    /// mistyped URL must not create an empty database, and a server may be using an old schema.
    pub(in crate::commands) async fn connect(
        url: DatabaseUrl,
        roles: Roles,
        clock: FileClock,
    ) -> Result<Self, Failure> {
        // An error otherwise, if its folder is missing too.
        if let DatabaseTarget::Sqlite(file) = &url.target
            && file.try_exists().is_ok_and(|exists| !exists)
        {
            url.require_current(&Schema::Missing { can_create: true })?;
        }
        url.require_current(&store::inspect(&url).await?.schema)?;
        let (store, transfer) = store::open_beside(&url, clock).await?;
        Ok(Self {
            store,
            transfer,
            database: url,
            roles,
        })
    }

    pub(super) async fn find(&self, username: &str) -> Result<User, Failure> {
        self.credentials(username)
            .await
            .map(|credentials| credentials.user)
    }

    pub(super) async fn credentials(&self, username: &str) -> Result<Credentials, Failure> {
        let found = self
            .store
            .credentials_by_username(&[username.to_owned()])
            .await;
        found?.value.pop().ok_or_else(|| not_found(username))
    }

    /// The time of the database in Unix seconds.
    pub(super) async fn now(&self) -> Result<u64, Failure> {
        Ok(self.store.users_by_id(&[]).await?.at)
    }

    /// Makes a change of this user, of which `write` is the statement.
    pub(super) async fn change<W>(
        &self,
        user: &User,
        change: Change,
        write: impl FnOnce(Store, i64, Write) -> W + Send + 'static,
    ) -> Result<(), Failure>
    where
        W: Future<Output = Result<User, WriteError>> + Send + 'static,
    {
        let (store, id) = (Arc::clone(&self.store), user.id);
        let write = move |recorded| write(store, id, recorded);
        let changed = Write::by_operator(change, Some(id)).run(write, Write::log_user);
        changed.await.map(drop).map_err(|error| match error {
            WriteError::UserNotFound => not_found(&user.username),
            error => error.into(),
        })
    }
}

pub(super) fn not_found(username: &str) -> Failure {
    format!("there is no user {username:?}").into()
}
