//! Creates the first admin.

use super::{AccountError, Accounts};
use crate::{
    password::{PasswordError, PresentedPassword},
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

/// The username of the first admin.
pub const ADMIN_USERNAME: &str = "admin";

/// Enough for one hash of the highest cost on a slow machine.
const SEED_TIMEOUT: Duration = Duration::from_mins(2);

/// The source of the password of the first admin.
#[derive(Clone, Debug)]
pub enum AdminPassword {
    /// The setting.
    Given(SecretString),
    /// Generated if the admin has to be created, and written to this file for the operator.
    GeneratedInto(PathBuf),
    /// None: an error if the admin has to be created.
    Missing,
}

/// The first admin could not be created.
#[derive(Debug, thiserror::Error)]
pub enum SeedError {
    /// The admin does not exist and no password is set.
    #[error("is required, because the user admin does not exist yet")]
    PasswordMissing,
    /// The given password breaks this rule.
    #[error("{0}")]
    PasswordInvalid(PasswordError),
    /// The generated password cannot be written.
    #[error("the generated admin password cannot be written to {}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// The store or the hasher failed.
    #[error("the user admin cannot be created")]
    Account(#[source] AccountError),
}

impl Accounts {
    /// Creates the user `admin` with the role `admin` unless it exists. Safe when several replicas
    /// start at the same time.
    pub async fn seed_admin(&self, password: &AdminPassword) -> Result<(), SeedError> {
        let account = |error: AccountError| SeedError::Account(error);
        let username = ADMIN_USERNAME.to_owned();
        let found = self.reads.credentials(username.clone()).await;
        if let Some(admin) = found.map_err(|error| account(error.into()))?.value {
            // Changed by another process, or this one was killed before it removed the file.
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
                let generate = || secret_generation::password(self.policy.passwords.min_length);
                let (text, made) = secret::read_or_create(path, generate).map_err(source)?;
                (text, made.then_some(path))
            }
        };
        let password = self.policy.passwords.check(text).map_err(SeedError::PasswordInvalid)?;
        let deadline = Instant::now() + SEED_TIMEOUT;
        let origin = RequestOrigin { client_address: None, deadline };
        let password_hash =
            self.hasher.hash(&password, origin).await.map_err(|e| account(e.into()))?;
        let admin = NewUser { username, password_hash, role: Role::Admin };
        match self.store.insert(None, admin).await {
            Ok(_) => {
                tracing::info!(username = ADMIN_USERNAME, "created the first admin");
                Ok(())
            }
            // Another replica was faster. It may have read the same file; otherwise the file would
            // hold a wrong password.
            Err(InsertError::UsernameTaken) => {
                let Some(path) = file else { return Ok(()) };
                let stored = self.reads.credentials(ADMIN_USERNAME.to_owned()).await;
                let stored = stored.map_err(|error| account(error.into()))?.value;
                let hash = stored.as_ref().map(|stored| &stored.password_hash);
                let presented = PresentedPassword::Valid(password);
                let checked = self.hasher.verify(Some(&presented), hash, origin).await;
                if !checked.map_err(|error| account(error.into()))?.is_match {
                    let source = |source| SeedError::File { path: path.clone(), source };
                    std::fs::remove_file(path).map_err(source)?;
                }
                Ok(())
            }
            Err(error) => Err(account(error.into())),
        }
    }
}
