//! The operator's access to the database, which needs no credential.

use crate::{
    accounts::{Changes, InitialPassword},
    change::Change,
    principal::Principal,
    roles::Roles,
    store::{self, FileClock, OperatorDatabase, UserStore, WriteError},
    user::User,
};
use rolegate_program::{failure::Failure, output::print};
use rolegate_sql_store::{DatabaseUrl, Schema};
use std::sync::Arc;

/// An operator, who is authorized by access to the database.
pub(crate) struct Operator {
    pub(crate) store: Arc<UserStore>,
    pub(crate) changes: Changes,
    pub(crate) database: OperatorDatabase,
    pub(super) database_url: DatabaseUrl,
    pub(in crate::commands) roles: Roles,
}

impl Operator {
    /// Opens an existing database. It neither waits for the database nor creates or migrates it. A
    /// mistyped URL must not create an empty database, and a running service may use an older
    /// schema.
    pub(crate) async fn connect(
        url: DatabaseUrl,
        roles: Roles,
        clock: FileClock,
    ) -> Result<Self, Failure> {
        // A missing file is reported before the inspection, because inspecting a file in a missing
        // folder fails with a less clear error.
        if let Some(file) = url.sqlite_file()
            && file.try_exists().is_ok_and(|exists| !exists)
        {
            url.require_current(&Schema::Missing { can_create: true })?;
        }
        url.require_current(&store::inspect(&url).await?.schema)?;
        let (store, database) = store::open_beside(&url, clock).await?;
        Ok(Self {
            changes: Changes::new(Arc::clone(&store), InitialPassword::default()),
            store,
            database,
            database_url: url,
            roles,
        })
    }

    pub(in crate::commands) async fn find(&self, username: &str) -> Result<User, Failure> {
        let mut found = self
            .store
            .credentials_by_username(&[username.to_owned()], &[])
            .await?;
        let found = found.value.pop().ok_or_else(|| not_found(username))?;
        Ok(found.user)
    }

    /// Reads the time of the database, in Unix seconds.
    pub(in crate::commands) async fn now(&self) -> Result<u64, Failure> {
        Ok(self.store.users_by_id(&[], &[]).await?.at)
    }

    /// Makes a change of the user with this name, who was found before, and logs it.
    pub(super) async fn apply(&self, username: &str, change: Change) -> Result<User, Failure> {
        let changed = self.changes.apply(Principal::Operator, change).await;
        changed.map_err(|error| match error {
            WriteError::UserNotFound => {
                format!("the user {username:?} was changed or deleted meanwhile; try again").into()
            }
            WriteError::UsernameTaken => username_taken(username),
            error => error.into(),
        })
    }

    /// Makes a change of a user, and prints the outcome, which follows the name of the user.
    pub(super) async fn change(
        &self,
        user: &User,
        change: Change,
        outcome: &str,
    ) -> Result<(), Failure> {
        let User { id, username, .. } = user;
        self.apply(username, change).await?;
        print(&format!("User {id} ({username:?}) {outcome}."));
        Ok(())
    }
}

pub(super) fn not_found(username: &str) -> Failure {
    format!("there is no user {username:?}").into()
}

pub(super) fn username_taken(username: &str) -> Failure {
    format!("the user {username:?} exists already").into()
}
