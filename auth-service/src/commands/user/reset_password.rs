//! `auth-service user reset-password`.

use super::{
    operator::{Operator, audit, not_found},
    password_input,
};
use crate::{
    accounts::{ADMIN_USERNAME, InitialPassword},
    clock::SystemClock,
    host::failed,
    password::{Hasher, Password},
    request_origin::RequestOrigin,
    settings::Settings,
    store::{NewPassword, PasswordWriter},
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

/// Time for one hash at the highest cost on a slow machine.
const HASH_TIMEOUT: Duration = Duration::from_mins(2);

pub(super) async fn run(
    operator: &Operator,
    username: &str,
    file: Option<&Path>,
    settings: &Settings,
) -> Result<(), Failure> {
    let user = operator.find(username).await?;
    let text = password_input::read(file).await?;
    let password = Password::new(text, settings.service.password_min_length)
        .map_err(|error| SettingError::new("new password", error.to_string()))?;
    let hasher = Hasher::start(settings.service.bcrypt_cost, settings.service.engine());
    let deadline = Instant::now() + HASH_TIMEOUT;
    let origin = RequestOrigin { client_address: None, deadline };
    let hash = hasher.map_err(failed)?.hash(&password, origin).await.map_err(failed)?;
    let new = NewPassword { hash, tokens_not_before: revocation_time(&SystemClock) };
    let changed = operator
        .store
        .set_password(user.id, new, PasswordWriter::Operator)
        .await
        .map_err(failed)?;
    let user = changed.ok_or_else(|| not_found(username))?;
    audit("password_reset", &user);
    print(&format!("User {} ({:?}) has the new password now.", user.id, user.username));
    if user.username == ADMIN_USERNAME
        && let Some(file) = initial_password(settings.host.database()?.target())
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
