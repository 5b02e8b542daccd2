//! `user reset-password`.

use super::{
    new_password,
    operator::{Operator, audit, not_found},
};
use crate::{
    accounts::{ADMIN_USERNAME, InitialPassword},
    host::failed,
    settings::ServiceSettings,
    store::PasswordWriter,
};
use rolegate_program::program::{Failure, print};
use rolegate_sql_store::DatabaseTarget;
use std::path::{Path, PathBuf};

pub(super) async fn run(
    operator: &Operator,
    username: &str,
    file: Option<&Path>,
    settings: &ServiceSettings,
) -> Result<(), Failure> {
    let user = operator.find(username).await?;
    let hash = new_password::hash(file, settings).await?;
    let changed = operator
        .store
        .set_password(user.id, hash, PasswordWriter::Operator)
        .await
        .map_err(failed)?;
    let user = changed.ok_or_else(|| not_found(username))?;
    audit("password_reset", &user);
    print(&format!("User {} ({:?}) has the new password now.", user.id, user.username));
    if user.username == ADMIN_USERNAME
        && let Some(file) = initial_password(operator.database.target())
    {
        let file = file.display();
        print(&format!(
            "{file} holds an older one; delete it, or rolegate deletes it at its next start."
        ));
    }
    Ok(())
}

/// The file of rolegate's generated password beside this database. It is not deleted here: nothing
/// proves that it belongs to this database.
fn initial_password(target: &DatabaseTarget) -> Option<PathBuf> {
    let DatabaseTarget::Sqlite(database) = target else { return None };
    let file = database.with_file_name(InitialPassword::NAME);
    file.is_file().then_some(file)
}
