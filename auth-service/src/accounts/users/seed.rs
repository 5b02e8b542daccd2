//! Creates the user `admin` when the service starts, unless that user exists.

use super::Users;
use crate::{
    accounts::{error::AccountError, username::ADMIN_USERNAME},
    audit::Requested,
    call_origin::CallOrigin,
    change::{Change, NewUser},
    password::PresentedPassword,
    principal::Principal,
    secret_generation,
    store::{RoleFilter, StoreError, UserFilter, WriteError},
};
use rolegate_program::{logs::error_chain, secret};
use rolegate_proto::Role;
use secrecy::SecretString;
use std::{error::Error, io, path::PathBuf, sync::Arc, time::Duration};

/// The deadline for hashing the password, which is enough for the highest cost on a slow machine.
const SEED_TIMEOUT: Duration = Duration::from_mins(2);
/// The deadline for checking at the start whether the file with the initial password is outdated.
const CHECK_TIMEOUT: Duration = Duration::from_secs(10);

/// The source of the password for the first admin.
#[derive(Clone, Debug)]
pub enum AdminPassword {
    /// A setting contains the password.
    Given(SecretString),
    /// The password is generated if the admin has to be created, and is written to this file for
    /// the operator.
    GeneratedInto(PathBuf),
    /// There is no password, which is an error if the admin has to be created.
    Missing,
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum SeedError {
    /// The password is missing or breaks a rule, which the text names.
    #[error("{0}")]
    Password(String),
    #[error("the generated admin password cannot be written to {}", path.display())]
    File { path: PathBuf, source: io::Error },
    #[error("the user admin cannot be created")]
    Account(#[from] AccountError),
}

impl Users {
    /// Creates the user `admin` with the role `admin`, unless that user exists. Several replicas
    /// may do so at the same time. It also removes the file with the initial password if an
    /// existing `admin` has another password, and warns if no enabled user is an admin.
    pub(crate) async fn seed_admin(&self, password: &AdminPassword) -> Result<(), SeedError> {
        let found = self.reads.credentials.get(ADMIN_USERNAME.to_owned()).await;
        let exists = found.map_err(AccountError::from)?.value.is_some();
        if exists || !self.insert_admin(password).await? {
            self.remove_outdated_password_file().await;
        }
        Ok(self
            .warn_without_admin()
            .await
            .map_err(AccountError::from)?)
    }

    /// Warns the operator if no enabled user has the role `admin`, because then no user can manage
    /// others.
    async fn warn_without_admin(&self) -> Result<(), StoreError> {
        let admin = UserFilter {
            limit: 1,
            role: Some(RoleFilter::User(Role::ADMIN)),
            disabled: Some(false),
            ..UserFilter::default()
        };
        if self.store.list(&admin).await?.is_empty() {
            tracing::warn!(
                "no enabled user has the role admin; run auth-service (or rolegate) user set-role \
                 NAME admin, and user enable NAME for a disabled user"
            );
        }
        Ok(())
    }

    /// Creates the admin and returns true. Returns false if another process has created the admin
    /// first.
    pub(crate) async fn insert_admin(&self, password: &AdminPassword) -> Result<bool, SeedError> {
        let password = self
            .policy
            .passwords
            .check(self.read_or_generate(password)?)
            .map_err(|rule| SeedError::Password(rule.to_string()))?;
        let password_hash = self
            .hasher
            .hash(&password, CallOrigin::internal(SEED_TIMEOUT))
            .await
            .map_err(AccountError::from)?;
        let admin = NewUser {
            username: ADMIN_USERNAME.to_owned(),
            password_hash,
            role: Role::ADMIN,
            link: None,
        };
        let request = Requested::new(Principal::Operator, Change::CreateUser(admin));
        match self.store.change_user(Arc::new(request)).await {
            Ok(_) => {
                tracing::info!(username = ADMIN_USERNAME, "created the first admin");
                Ok(true)
            }
            // Another replica has created the admin first, with a password from the same file or
            // from another one.
            Err(WriteError::UsernameTaken) => Ok(false),
            Err(error) => Err(AccountError::from(error).into()),
        }
    }

    /// Returns the password from the setting or from the file. If the file does not exist, creates
    /// it with a generated password. Fails if there is neither a setting nor a file.
    fn read_or_generate(&self, password: &AdminPassword) -> Result<SecretString, SeedError> {
        match password {
            AdminPassword::Missing => {
                let missing = "is required, because the user admin does not exist yet";
                Err(SeedError::Password(missing.to_owned()))
            }
            AdminPassword::Given(password) => Ok(password.clone()),
            AdminPassword::GeneratedInto(path) => {
                let min_length = self.policy.passwords.min_length;
                let generate = || secret_generation::generate_password(min_length);
                match secret::read_or_create(path, generate) {
                    Ok(read) => Ok(read.secret),
                    Err(source) => Err(SeedError::File {
                        path: path.clone(),
                        source,
                    }),
                }
            }
        }
    }

    /// Removes the file with the initial password if `admin` has another password.
    ///
    /// Another process may have set the password, or a process may have been killed between setting
    /// the password and removing the file. The password is compared with the stored hash;
    /// `tokens_not_before` does not show a new password, because a logout also moves it. A failure
    /// is only logged, and the file stays.
    async fn remove_outdated_password_file(&self) {
        match self.is_password_file_outdated().await {
            Ok(true) => self.changes.initial_password.remove(),
            Ok(false) => {}
            Err(error) => {
                tracing::warn!(
                    error = error_chain(&*error),
                    "cannot check the file with the initial admin password"
                );
            }
        }
    }

    async fn is_password_file_outdated(&self) -> Result<bool, Box<dyn Error + Send + Sync>> {
        let Some(text) = self.changes.initial_password.read().transpose()? else {
            return Ok(false);
        };
        let admin = ADMIN_USERNAME.to_owned();
        let stored = self.reads.credentials.get(admin).await?.value;
        let hash = stored.as_ref().map(|stored| &stored.password_hash);
        let presented = PresentedPassword::new(text).ok();
        let origin = CallOrigin::internal(CHECK_TIMEOUT);
        let checked = self.hasher.verify(presented.as_ref(), hash, origin).await?;
        Ok(!checked.is_match)
    }
}
