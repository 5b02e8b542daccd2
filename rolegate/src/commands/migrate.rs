//! `migrate`.

use crate::{data_dir::DataDir, databases::Databases, settings::Settings};
use rolegate_program::program::Failure;

/// Creates the folder of the databases, as `serve` does.
pub(super) async fn run(settings: &Settings) -> Result<(), Failure> {
    let databases = Databases::from_settings(settings)?;
    DataDir::open(&settings.data_dir)?;
    rolegate_auth_service::commands::migrate(&databases.users).await?;
    match &databases.posts {
        Some(posts) => rolegate_posts_service::commands::migrate(posts).await,
        None => Ok(()),
    }
}
