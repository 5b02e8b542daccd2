//! `user create`.

use super::{
    new_password,
    operator::{Operator, audit},
};
use crate::{
    accounts::Username,
    host::failed,
    settings::ServiceSettings,
    store::{InsertError, NewUser},
};
use rolegate_program::{
    program::{Failure, print},
    settings::SettingError,
};
use rolegate_proto::Role;
use std::path::Path;

pub(super) async fn run(
    operator: &Operator,
    username: &str,
    role: Role,
    file: Option<&Path>,
    settings: &ServiceSettings,
) -> Result<(), Failure> {
    let username = Username::of_new_user(username)
        .map_err(|error| SettingError::new("USERNAME", error.to_string()))?;
    let taken =
        || Failure::Other(format!("the user {:?} exists already", username.as_str()).into());
    // Before the password is asked for; the insert decides.
    if operator.find(username.as_str()).await.is_ok() {
        return Err(taken());
    }
    let password_hash = new_password::hash(file, settings).await?;
    let new = NewUser { username: username.as_str().to_owned(), password_hash, role };
    let user = match operator.store.insert(None, new).await {
        Ok(user) => user,
        Err(InsertError::UsernameTaken) => return Err(taken()),
        Err(error) => return Err(failed(error)),
    };
    audit("user_created", &user);
    print(&format!("User {} ({:?}) has the role {}.", user.id, user.username, user.role));
    Ok(())
}
