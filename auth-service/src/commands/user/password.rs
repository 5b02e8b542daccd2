//! `user create` and `user reset-password`.

use super::{operator::Operator, password_input};
use crate::{
    accounts::{ADMIN_USERNAME, InitialPassword, check_new_username, set_password},
    audit::{Change, Write},
    call_origin::CallOrigin,
    host::failed,
    password::Hasher,
    settings::ServiceSettings,
    store::{NewUser, WriteError, Writer},
};
use rolegate_program::{
    program::{Failure, print},
    settings::SettingError,
};
use rolegate_proto::Role;
use rolegate_sql_store::DatabaseTarget;
use secrecy::SecretString;
use std::{
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

/// Time for one hash at the highest cost on a slow machine.
const HASH_TIMEOUT: Duration = Duration::from_mins(2);

pub(super) async fn create(
    operator: &Operator,
    username: &str,
    role: Role,
    file: Option<&Path>,
    settings: &ServiceSettings,
) -> Result<(), Failure> {
    check_new_username(username)
        .map_err(|error| SettingError::new("USERNAME", error.to_string()))?;
    let taken = || Failure::Other(format!("the user {username:?} exists already").into());
    // Before the password is asked for; the insert decides.
    if operator.find(username).await.is_ok() {
        return Err(taken());
    }
    let password_hash = hash(file, settings).await?;
    let new = NewUser { username: username.to_owned(), password_hash, role };
    let store = operator.store();
    let insert = async move { store.insert(None, new).await };
    let write = Write::by_operator(Change::UserCreated, None);
    let user = write.run(insert, Write::record_user).await.map_err(|error| match error {
        WriteError::UsernameTaken => taken(),
        error => failed(error),
    })?;
    print(&format!("User {} ({username:?}) has the role {role}.", user.id));
    Ok(())
}

pub(super) async fn reset(
    operator: &Operator,
    username: &str,
    file: Option<&Path>,
    settings: &ServiceSettings,
) -> Result<(), Failure> {
    let user = operator.find(username).await?;
    let hash = hash(file, settings).await?;
    let (store, id) = (operator.store(), user.id);
    let set = async move { set_password(&*store, id, hash, Writer::Operator).await };
    operator.change(&user, Change::PasswordSet, set).await?;
    print(&format!("User {id} ({username:?}) has the new password now."));
    if username == ADMIN_USERNAME
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

/// The hash of the password that is typed, piped or in this file.
async fn hash(file: Option<&Path>, settings: &ServiceSettings) -> Result<SecretString, Failure> {
    let text = password_input::read(file).await?;
    let password = settings
        .password_rules()?
        .check(text)
        .map_err(|error| SettingError::new("new password", error.to_string()))?;
    let hasher = Hasher::start(settings.bcrypt_cost, settings.engine(), settings.peppers()?);
    let deadline = Instant::now() + HASH_TIMEOUT;
    let origin = CallOrigin { client_address: None, deadline };
    hasher.map_err(failed)?.hash(&password, origin).await.map_err(failed)
}
