//! Reads, checks and hashes a new password.

use super::password_input;
use crate::{
    host::failed, password::Hasher, request_origin::RequestOrigin, settings::ServiceSettings,
};
use rolegate_program::{program::Failure, settings::SettingError};
use secrecy::SecretString;
use std::{
    path::Path,
    time::{Duration, Instant},
};

/// Time for one hash at the highest cost on a slow machine.
const HASH_TIMEOUT: Duration = Duration::from_mins(2);

/// The hash of the password that is typed, piped or in this file.
pub(super) async fn hash(
    file: Option<&Path>,
    settings: &ServiceSettings,
) -> Result<SecretString, Failure> {
    let text = password_input::read(file).await?;
    let password = settings
        .password_rules()?
        .check(text)
        .map_err(|error| SettingError::new("new password", error.to_string()))?;
    let hasher = Hasher::start(settings.bcrypt_cost, settings.engine(), settings.peppers()?);
    let deadline = Instant::now() + HASH_TIMEOUT;
    let origin = RequestOrigin { client_address: None, deadline };
    hasher.map_err(failed)?.hash(&password, origin).await.map_err(failed)
}
