//! `auth-service user reset-password`.

use super::{audit, failed, new_password, nobody, user_named};
use crate::{
    accounts::{ADMIN_USERNAME, InitialPassword},
    clock::SystemClock,
    password::{Hasher, Password},
    request_origin::RequestOrigin,
    settings::Settings,
    store::{NewPassword, PasswordWriter, UserStore},
    token::revocation_time,
};
use rolegate_service_runtime::{
    program::{Failure, print},
    settings::SettingError,
};
use rolegate_sql_store::DatabaseTarget;
use std::{
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

/// One hash on an engine that nobody else uses, at the highest cost and on a slow machine.
const HASH_TIME: Duration = Duration::from_mins(2);

pub(super) async fn run(
    store: &dyn UserStore,
    username: &str,
    file: Option<&Path>,
    settings: &Settings,
) -> Result<(), Failure> {
    let user = user_named(store, username).await?;
    let text = new_password::read(file).await?;
    let password = Password::new(text, settings.service.password_min_length)
        .map_err(|rule| SettingError::new("new password", rule.to_string()))?;
    let hasher = Hasher::start(settings.service.bcrypt_cost, settings.service.engine());
    let deadline = Instant::now() + HASH_TIME;
    let origin = RequestOrigin { client_address: None, deadline };
    let hash = hasher.map_err(failed)?.hash(&password, origin).await.map_err(failed)?;
    let new = NewPassword { hash, tokens_not_before: revocation_time(&SystemClock) };
    let changed =
        store.set_password(user.id, new, PasswordWriter::Operator).await.map_err(failed)?;
    let user = changed.ok_or_else(|| nobody(username))?;
    audit("password_reset", &user);
    print(&format!("User {} ({:?}) has the new password now.", user.id, user.username));
    if user.username == ADMIN_USERNAME
        && let Some(file) = initial_password(settings.store_url()?.target())
    {
        let file = file.display();
        print(&format!(
            "{file} holds an older one; delete it, or rolegate does at its next start."
        ));
    }
    Ok(())
}

/// Where rolegate leaves the first password, beside its database. Only told: from here it cannot
/// be seen that the file is of this database.
fn initial_password(target: &DatabaseTarget) -> Option<PathBuf> {
    let DatabaseTarget::Sqlite(database) = target else { return None };
    let file = database.with_file_name(InitialPassword::NAME);
    file.is_file().then_some(file)
}
