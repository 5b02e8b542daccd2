//! `init-secrets --rotate`: replaces the signing secret in three steps, so that no token is refused
//! meanwhile.
//!
//! Every replica must accept the next secret before one signs with it, and must accept the previous
//! one until its tokens have expired. `docs/key-rotation.md` explains what to do between the steps.
//! The step `replace` alone changes the secret at once and so revokes all access tokens; it is for
//! a secret that leaked.

use super::secret_folder::{SecretFile, SecretFolder};
use crate::{
    secret_generation,
    tokens::{Keyring, TOKEN_TTL_SECONDS},
};
use rolegate_program::settings::SettingError;
use secrecy::{ExposeSecret, SecretString};
use std::time::Duration;

const SIGNING: &str = "signing-secret";
/// The file of `SIGNING_SECRETS_ACCEPTED`: the secrets that every auth-service accepts.
const ACCEPTED: &str = "signing-secrets-accepted";
const NEXT: &str = "next-signing-secret";
const PREVIOUS: &str = "previous-signing-secret";

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
pub(crate) enum Rotation {
    /// Create the next signing secret and accept it too
    Accept,
    /// Sign with the next secret; the previous one is still accepted
    Sign,
    /// Sign with the previous secret again
    Back,
    /// Accept nothing but the secret that signs
    Drop,
    /// Sign with a new secret and accept nothing else, at once: for a secret that leaked
    Replace,
}

/// The files of the secrets that a rotation replaces.
struct RotationFiles {
    signing: SecretFile,
    accepted: SecretFile,
    next: SecretFile,
    previous: SecretFile,
}

/// Creates the file of accepted secrets with only the signing secret, or checks the file if it
/// exists.
pub(super) fn create_accepted(
    folder: &SecretFolder<'_>,
    signing: &SecretString,
) -> Result<(), SettingError> {
    let file = folder.file(ACCEPTED);
    let accepted = file.read_or_create(|| Ok(signing.clone()))?;
    let accepted: Vec<_> = split(&accepted).map(SecretString::from).collect();
    Keyring::new(signing, &accepted).map_err(|error| file.invalid(error))?;
    Ok(())
}

/// Executes one step of the rotation, on secrets that exist. `ends_tokens` is the flag `--now`,
/// with which a drop may end valid access tokens.
pub(super) fn run(
    folder: &SecretFolder<'_>,
    rotation: Rotation,
    ends_tokens: bool,
) -> Result<(), SettingError> {
    if ends_tokens && !matches!(rotation, Rotation::Drop) {
        return Err(SettingError::new("--now", "is only for --rotate drop"));
    }
    let files = RotationFiles {
        signing: folder.file(SIGNING),
        accepted: folder.file(ACCEPTED),
        next: folder.file(NEXT),
        previous: folder.file(PREVIOUS),
    };
    let signing = files.signing.read()?;
    let accepted = files.accepted.read()?;
    if signing.expose_secret().contains([',', '\n']) {
        return Err(files
            .signing
            .invalid("contains a comma or a line break, so it cannot be in a list"));
    }
    match rotation {
        Rotation::Accept => files.accept_next(&signing),
        Rotation::Sign => files.sign_with_next(&signing, &accepted),
        Rotation::Back => {
            let previous = read_accepted(&files.previous, "sign", &accepted)?;
            files.signing.replace(&previous)
        }
        Rotation::Drop => {
            if !ends_tokens {
                files.require_expired()?;
            }
            files.accepted.replace(&signing)?;
            files.remove_others()
        }
        Rotation::Replace => {
            let secret = secret_generation::generate_signing_secret()
                .map_err(|error| files.signing.invalid(error))?;
            files.accepted.replace(&secret)?;
            files.signing.replace(&secret)?;
            files.remove_others()
        }
    }
}

impl RotationFiles {
    fn accept_next(&self, signing: &SecretString) -> Result<(), SettingError> {
        let next = self
            .next
            .read_or_create(secret_generation::generate_signing_secret)?;
        // If the next secret signs already, the last rotation was not finished. This step would
        // then stop accepting the previous secret, and the steps after it would rotate nothing.
        if next.expose_secret() == signing.expose_secret() {
            let problem = "signs already: end that rotation first, with --rotate drop or back";
            return Err(self.next.invalid(problem));
        }
        let both = format!("{}\n{}", signing.expose_secret(), next.expose_secret());
        self.accepted.replace(&both.into())
    }

    fn sign_with_next(
        &self,
        signing: &SecretString,
        accepted: &SecretString,
    ) -> Result<(), SettingError> {
        let next = read_accepted(&self.next, "accept", accepted)?;
        if signing.expose_secret() == next.expose_secret() {
            // This step was executed before. Repeating it would overwrite the previous secret.
            return Ok(());
        }
        self.previous.replace(signing)?;
        self.signing.replace(&next)
    }

    /// Refuses a drop while access tokens of the dropped secret may be valid. If there is no
    /// previous secret, no other secret has signed tokens.
    fn require_expired(&self) -> Result<(), SettingError> {
        let lifetime = Duration::from_secs(TOKEN_TTL_SECONDS);
        let remaining = lifetime.saturating_sub(self.signing.age()?);
        if !self.previous.exists() || remaining.is_zero() {
            return Ok(());
        }
        let minutes = remaining.as_secs().div_ceil(60);
        let problem = format!(
            "was written less than 30 minutes ago, and access tokens of the secret before it are valid as long; drop \
             that in {minutes} minutes, or end them with --now"
        );
        Err(self.signing.invalid(problem))
    }

    /// Removes the secrets that do not sign.
    fn remove_others(&self) -> Result<(), SettingError> {
        self.next.remove()?;
        self.previous.remove()
    }
}

/// Reads a secret that the step `creator` creates. Fails if the secret does not exist or is not
/// accepted yet, because every auth-service must accept it before one signs with it.
fn read_accepted(
    file: &SecretFile,
    creator: &str,
    accepted: &SecretString,
) -> Result<SecretString, SettingError> {
    if !file.exists() {
        let problem = format!("does not exist; use --rotate {creator}, and reload, first");
        return Err(file.invalid(problem));
    }
    let secret = file.read()?;
    if split(accepted).all(|it| it != secret.expose_secret()) {
        let problem = format!("is not in {ACCEPTED}; use --rotate accept, and reload, first");
        return Err(file.invalid(problem));
    }
    Ok(secret)
}

/// Splits a file of accepted secrets at commas and line ends, as auth-service does, and skips empty
/// entries.
fn split(accepted: &SecretString) -> impl Iterator<Item = &str> {
    accepted
        .expose_secret()
        .split([',', '\n'])
        .filter(|secret| !secret.is_empty())
}
