//! Decides which databases hold the users and the posts.

use crate::{data_dir, settings::Settings};
use rolegate_program::settings::SettingError;
use rolegate_sql_store::DatabaseUrl;
use std::iter;

#[derive(Debug)]
pub(crate) struct Databases {
    pub(crate) users: DatabaseUrl,
    /// The database of posts; `None` if `POSTS` is off.
    pub(crate) posts: Option<DatabaseUrl>,
}

impl Databases {
    /// Returns `true` if at least one database is an SQLite file, which replicas cannot share.
    pub(crate) fn is_embedded(&self) -> bool {
        let mut databases = iter::once(&self.users).chain(&self.posts);
        databases.any(|database| database.sqlite_file().is_some())
    }

    /// Returns the databases that the settings name. Users and posts can share a PostgreSQL database, in separate
    /// schemas. They cannot share an SQLite file, which is refused.
    pub(crate) fn from_settings(settings: &Settings) -> Result<Self, SettingError> {
        let users_setting = DatabaseUrl::from_setting(
            "DATABASE_URL",
            settings.database_url.clone(),
            settings.database_url_file.as_deref(),
        )?;
        let posts_setting = DatabaseUrl::from_setting(
            "POSTS_DATABASE_URL",
            settings.posts_database_url.clone(),
            settings.posts_database_url_file.as_deref(),
        )?;
        let users = users_setting
            .unwrap_or_else(|| in_data_dir(settings, data_dir::USERS))
            .with_sharing(settings.share_database)?;
        if !settings.posts {
            return Ok(Self { users, posts: None });
        }
        let has_posts_setting = posts_setting.is_some();
        let mut posts = posts_setting.unwrap_or_else(|| match users.sqlite_file() {
            Some(_) => in_data_dir(settings, data_dir::POSTS),
            None => users.clone(),
        });
        if posts.sqlite_file().is_none() {
            posts = posts.with_sharing(settings.share_database)?;
        }
        if users.is_same_file_as(&posts) {
            return Err(if has_posts_setting {
                posts.invalid(format!("users are in {posts}; name another file for posts"))
            } else {
                users.invalid(format!("posts are in {users}; name another file for users"))
            });
        }
        Ok(Self {
            users,
            posts: Some(posts),
        })
    }
}

fn in_data_dir(settings: &Settings, name: &str) -> DatabaseUrl {
    DatabaseUrl::from_file("DATA_DIR", settings.data_dir.join(name))
}
