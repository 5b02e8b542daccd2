//! The first admin.

use super::{AccountError, Accounts};
use crate::{
    password::{Password, PasswordError},
    request_origin::RequestOrigin,
    secret_generation,
    store::{InsertError, NewUser},
};
use rolegate_proto::Role;
use rolegate_service_runtime::secret;
use secrecy::SecretString;
use std::{
    io,
    path::PathBuf,
    time::{Duration, Instant},
};

/// The name of the seeded admin.
pub const ADMIN_USERNAME: &str = "admin";

/// One hash on an engine that nobody else uses yet, at the highest cost and on a slow machine.
const SEED_TIME: Duration = Duration::from_mins(2);

/// Where the password of the seeded admin comes from.
#[derive(Clone, Debug)]
pub enum AdminPassword {
    /// From the settings.
    Given(SecretString),
    /// Made when it is needed, and left in this file for the operator.
    GeneratedInto(PathBuf),
    /// From nowhere: fine as long as the admin exists.
    Missing,
}

/// The admin could not be seeded.
#[derive(Debug, thiserror::Error)]
pub enum SeedError {
    /// The admin does not exist and there is no password to create it with.
    #[error("is required, because the user admin does not exist yet")]
    PasswordMissing,
    /// The given password breaks this rule.
    #[error("{0}")]
    PasswordInvalid(PasswordError),
    /// The generated password could not be left for the operator.
    #[error("the generated admin password cannot be written to {}", path.display())]
    File {
        /// Where it should have gone.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// The store or the hasher failed.
    #[error("the user admin cannot be created")]
    Account(#[source] AccountError),
}

impl Accounts {
    /// Creates the user `admin` with the role `admin` if nobody has that name; else changes
    /// nothing. Safe when several instances start at once.
    pub async fn seed_admin(&self, password: &AdminPassword) -> Result<(), SeedError> {
        let account = |error: AccountError| SeedError::Account(error);
        let username = ADMIN_USERNAME.to_owned();
        let found = self.reads.credentials(username.clone()).await;
        if let Some(admin) = found.map_err(|error| account(error.into()))? {
            // Another process may have changed the password, or this one was killed in between.
            if admin.user.tokens_not_before > 0 {
                self.initial_password.remove();
            }
            return Ok(());
        }
        let (text, file) = match password {
            AdminPassword::Missing => return Err(SeedError::PasswordMissing),
            AdminPassword::Given(text) => (text.clone(), None),
            AdminPassword::GeneratedInto(path) => {
                let source = |source| SeedError::File { path: path.clone(), source };
                let generate = || secret_generation::password(self.policy.password_min_length);
                let (text, made) = secret::read_or_create(path, generate).map_err(source)?;
                (text, made.then_some(path))
            }
        };
        let password = Password::new(text, self.policy.password_min_length)
            .map_err(SeedError::PasswordInvalid)?;
        let deadline = Instant::now() + SEED_TIME;
        let origin = RequestOrigin { client_address: None, deadline };
        let password_hash =
            self.hasher.hash(&password, origin).await.map_err(|e| account(e.into()))?;
        match self.store.insert(NewUser { username, password_hash, role: Role::Admin }).await {
            Ok(_) => {
                tracing::info!(username = ADMIN_USERNAME, "created the first admin");
                Ok(())
            }
            // Another instance was faster. With a password of its own, ours would only mislead; but
            // it may have read the very one that we left.
            Err(InsertError::UsernameTaken) => {
                let Some(path) = file else { return Ok(()) };
                let stored = self.reads.credentials(ADMIN_USERNAME.to_owned()).await;
                let stored = stored.map_err(|error| account(error.into()))?;
                let hash = stored.as_ref().map(|stored| &stored.password_hash);
                let checked = self.hasher.verify(Some(&password), hash, origin).await;
                if !checked.map_err(|error| account(error.into()))?.is_match {
                    let source = |source| SeedError::File { path: path.clone(), source };
                    std::fs::remove_file(path).map_err(source)?;
                }
                Ok(())
            }
            Err(InsertError::Store(error)) => Err(account(error.into())),
        }
    }
}
