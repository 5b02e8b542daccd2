//! Where users and posts are kept.

use crate::{data_dir, settings::Settings};
use rolegate_service_runtime::settings::SettingError;
use rolegate_sql_store::{DatabaseTarget, DatabaseUrl};

/// Two stores, which are not one file.
#[derive(Debug)]
pub(crate) struct Stores {
    pub(crate) users: DatabaseUrl,
    pub(crate) posts: DatabaseUrl,
}

impl Stores {
    /// What the settings say. Makes nothing.
    ///
    /// PostgreSQL has room for both, in a schema for each; an SQLite file has one owner.
    pub(crate) fn of(settings: &Settings) -> Result<Self, SettingError> {
        let file = settings.database_url_file.as_deref();
        let users = DatabaseUrl::from_setting("DATABASE_URL", settings.database_url.clone(), file)?;
        let file = settings.posts_database_url_file.as_deref();
        let value = settings.posts_database_url.clone();
        let posts = DatabaseUrl::from_setting("POSTS_DATABASE_URL", value, file)?;
        let in_data_dir = |name| DatabaseUrl::from_file("DATA_DIR", settings.data_dir.join(name));
        let posts_are_given = posts.is_some();
        let users = users.unwrap_or_else(|| in_data_dir(data_dir::USERS));
        let posts = posts.unwrap_or_else(|| match users.target() {
            DatabaseTarget::Postgres(_) => users.clone(),
            DatabaseTarget::Sqlite(_) => in_data_dir(data_dir::POSTS),
        });
        if !users.is_same_file_as(&posts) {
            return Ok(Self { users, posts });
        }
        Err(if posts_are_given {
            posts.invalid(format!("users are in {posts}; name another file for posts"))
        } else {
            users.invalid(format!("posts are in {users}; name another file for users"))
        })
    }
}
