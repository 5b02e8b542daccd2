//! The commands `backup` and `restore`, which copy the embedded databases of users and posts to and from two files.

use crate::{data_dir::DataDir, databases::Databases, settings::Settings};
use clap::Args;
use rolegate_auth_service::{commands::user::end_all_restored, store as users};
use rolegate_posts_service::store as posts;
use rolegate_program::{failure::Failure, output::print, settings::SettingError};
use rolegate_sql_store::{
    DatabaseUrl, Inspection, Schema,
    sqlite::{DatabaseCopy, Replacement, file_exists, with_suffix},
};
use std::{
    iter,
    path::{Path, PathBuf},
};

/// The suffix of the file of posts, whose name otherwise is that of the file of users.
const POSTS_SUFFIX: &str = ".posts";

#[derive(Args, Debug)]
pub struct Backup {
    /// New file for the users; the posts are written to FILE.posts
    file: PathBuf,
}

#[derive(Args, Debug)]
pub struct Restore {
    /// File with the users; the posts are read from FILE.posts
    file: PathBuf,
    /// Replace the databases that exist; no copy of them is kept
    #[arg(long)]
    replace: bool,
}

impl Backup {
    pub(super) async fn run(&self, databases: &Databases) -> Result<(), Failure> {
        let users = sqlite_file(&databases.users)?;
        let posts = databases.posts.as_ref().map(sqlite_file).transpose()?;
        let new_users = &self.file;
        let new_posts = &with_suffix(&self.file, POSTS_SUFFIX);
        for file in [new_users, new_posts] {
            if file_exists(file).map_err(invalid_file)? {
                let problem = format!("{} exists already; name a new file", file.display());
                return Err(invalid_file(problem).into());
            }
        }
        require_database(&databases.users, users::inspect).await?;
        if let Some(posts) = &databases.posts {
            require_database(posts, posts::inspect).await?;
        }
        // The posts are copied first, so that the copy of the users has the authors of all copied posts.
        let posts_copy = match posts {
            Some(posts) => Some(DatabaseCopy::create(posts, new_posts).await?),
            None => None,
        };
        let users_copy = DatabaseCopy::create(users, new_users).await?;
        if let Some(copy) = posts_copy {
            copy.persist_new(new_posts)?;
        }
        if let Err(error) = users_copy.persist_new(new_users) {
            let _ = std::fs::remove_file(new_posts);
            return Err(error);
        }
        print(&describe_result(new_users, posts.map(|_| &**new_posts)));
        Ok(())
    }
}

impl Restore {
    pub(super) async fn run(
        &self,
        settings: &Settings,
        databases: &Databases,
    ) -> Result<(), Failure> {
        let users = sqlite_file(&databases.users)?;
        let posts = databases.posts.as_ref().map(sqlite_file).transpose()?;
        let old_users = &self.file;
        let old_posts = &with_suffix(&self.file, POSTS_SUFFIX);
        let backup = |file: &Path| DatabaseUrl::from_file("FILE", file.to_owned());
        require_database(&backup(old_users), users::inspect).await?;
        if posts.is_some() {
            require_database(&backup(old_posts), posts::inspect).await?;
        }
        DataDir::open(&settings.data_dir)?;
        for url in iter::once(&databases.users).chain(&databases.posts) {
            let file = sqlite_file(url)?;
            let exists = file_exists(file).map_err(|problem| url.invalid(problem))?;
            if exists && !self.replace {
                let problem = format!("{} exists; --replace replaces it", file.display());
                return Err(url.invalid(problem).into());
            }
        }
        let users_replacement = Replacement::begin(users).await?;
        let posts_replacement = match posts {
            Some(posts) => {
                let replacement = Replacement::begin(posts).await?;
                let copy = prepare_posts(&replacement, old_posts).await?;
                Some((replacement, copy))
            }
            None => None,
        };
        let (new_users, ended) = prepare_users(&users_replacement, old_users).await?;
        if let Some((replacement, copy)) = posts_replacement {
            replacement.finish(copy).await?;
        }
        users_replacement.finish(new_users).await?;
        print(&format!("{} {ended}", describe_result(users, posts)));
        Ok(())
    }
}

/// Copies the users of a backup beside the file that they will replace, and ends every credential that may have ended
/// since the backup. Returns the copy, and the report for the operator.
async fn prepare_users(
    replacement: &Replacement,
    backup: &Path,
) -> Result<(DatabaseCopy, String), Failure> {
    let copy = replacement.prepare(backup).await?;
    let replaced = users::HighWaterMarks::in_replaced(replacement).await;
    let ended = end_all_restored(copy.url("FILE"), replaced).await?;
    Ok((copy, ended))
}

/// Copies the posts of a backup beside the file that they will replace, and skips the ids that were given to posts
/// since the backup.
async fn prepare_posts(replacement: &Replacement, backup: &Path) -> Result<DatabaseCopy, Failure> {
    let copy = replacement.prepare(backup).await?;
    let replaced = replacement.read_number(posts::LAST_ID_IN_FILE).await;
    posts::skip_restored_ids(&copy.url("FILE"), replaced).await?;
    Ok(copy)
}

fn describe_result(users: &Path, posts: Option<&Path>) -> String {
    let users = users.display();
    match posts.map(Path::display) {
        Some(posts) => {
            format!("The users are in {users}, the posts in {posts}. Both were checked.")
        }
        None => format!("The users are in {users}, which was checked."),
    }
}

fn sqlite_file(url: &DatabaseUrl) -> Result<&Path, SettingError> {
    url.sqlite_file().ok_or_else(|| {
        url.invalid(format!(
            "{url} is not an SQLite file; back it up with pg_dump; restore it with pg_restore, then run user end-all"
        ))
    })
}

/// Checks that a database exists and belongs to the service that `inspect` belongs to.
async fn require_database<F>(
    url: &DatabaseUrl,
    inspect: impl AsyncFnOnce(&DatabaseUrl) -> Result<Inspection<F>, Failure>,
) -> Result<(), Failure> {
    match inspect(url).await?.schema {
        Schema::Missing { .. } => {
            let problem = format!("{url} does not exist, or is empty");
            Err(url.invalid(problem).into())
        }
        _ => Ok(()),
    }
}

fn invalid_file(problem: String) -> SettingError {
    SettingError::new("FILE", problem)
}
