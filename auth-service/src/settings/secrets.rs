//! Reads the secrets of the service from environment variables, flags or files.

use super::ServiceSettings;
use crate::{
    accounts::AdminPassword,
    password::{Password, Peppers},
    second_factor::{Mode, SecondFactorKeys, SecondFactorPolicy},
    tokens::KeySource,
};
use rolegate_program::{
    secret::{self, SecretSource},
    settings::SettingError,
};
use std::sync::Arc;

impl ServiceSettings {
    /// Returns the sources of the keys of access tokens. `default` supplies the signing key if
    /// `SIGNING_SECRET` is not set.
    pub fn key_source(
        &self,
        default: impl FnOnce() -> Result<SecretSource, SettingError>,
    ) -> Result<KeySource, SettingError> {
        let file = self.signing_secret_file.as_deref();
        let key = SecretSource::from_setting("SIGNING_SECRET", self.signing_secret.clone(), file)?;
        let accepted = SecretSource::from_setting(
            "SIGNING_SECRETS_ACCEPTED",
            self.signing_secrets_accepted.clone(),
            self.signing_secrets_accepted_file.as_deref(),
        )?;
        let signing = match key {
            Some(key) => key,
            None => default()?,
        };
        Ok(KeySource { signing, accepted })
    }

    /// Reads the policy of second factors, with the keys that encrypt their secrets in the
    /// database. Fails if a key is required and not set.
    pub(crate) fn second_factors(&self) -> Result<SecondFactorPolicy, SettingError> {
        const NAME: &str = "SECOND_FACTOR_KEY";
        let file = self.second_factor_key_file.as_deref();
        let key = SecretSource::from_setting(NAME, self.second_factor_key.clone(), file)?;
        let accepted = SecretSource::from_setting(
            "SECOND_FACTOR_KEYS_ACCEPTED",
            self.second_factor_keys_accepted.clone(),
            self.second_factor_keys_accepted_file.as_deref(),
        )?;
        let mode = self.second_factor;
        let Some(key) = key else {
            if mode == Mode::Admins || accepted.is_some() {
                let problem =
                    "is required by SECOND_FACTOR=admins and by SECOND_FACTOR_KEYS_ACCEPTED";
                return Err(SettingError::new(NAME, problem));
            }
            return Ok(SecondFactorPolicy { mode, keys: None });
        };
        let keys = SecondFactorKeys::read(&key, accepted.as_ref())?;
        Ok(SecondFactorPolicy {
            mode,
            keys: Some(Arc::new(keys)),
        })
    }

    /// Reads the peppers, which are secrets that go into password hashes. There are none if
    /// `PASSWORD_PEPPER` is not set.
    pub(crate) fn peppers(&self) -> Result<Peppers, SettingError> {
        let file = self.password_pepper_file.as_deref();
        let source =
            SecretSource::from_setting("PASSWORD_PEPPER", self.password_pepper.clone(), file)?;
        match &source {
            Some(source) => Peppers::read(source),
            None => Ok(Peppers::default()),
        }
    }

    /// Returns the password for the user `admin`, in case that user has to be created. Returns
    /// `AdminPassword::Missing` if no password is set.
    ///
    /// The rules are checked even if `admin` exists, because a password that breaks them could
    /// never be used and is a mistake.
    pub fn admin_password(&self) -> Result<AdminPassword, SettingError> {
        const NAME: &str = "DEFAULT_ADMIN_PASSWORD";
        let file = self.default_admin_password_file.as_deref();
        let Some(text) = secret::read(NAME, self.default_admin_password.clone(), file)? else {
            return Ok(AdminPassword::Missing);
        };
        Password::new(text.clone(), self.password_min_length)
            .map_err(|error| SettingError::new(NAME, error))?;
        Ok(AdminPassword::Given(text))
    }
}

#[cfg(test)]
mod tests {
    use super::{Mode, ServiceSettings};
    use clap::Parser;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        service: ServiceSettings,
    }

    /// Reads the policy from these flags. Returns its mode, and true if there are keys.
    fn second_factors(flags: &[&str]) -> Result<(Mode, bool), String> {
        let line = Line::try_parse_from([&["test"], flags].concat()).expect("valid flags");
        let policy = line
            .service
            .second_factors()
            .map_err(|error| error.to_string())?;
        Ok((policy.mode, policy.keys.is_some()))
    }

    #[test]
    fn second_factors_need_no_key_unless_admins_need_them() {
        let key = "--second-factor-key=32 bytes, which are the shortest";
        assert_eq!(second_factors(&[]), Ok((Mode::Optional, false)));
        assert_eq!(second_factors(&[key]), Ok((Mode::Optional, true)));
        assert_eq!(
            second_factors(&["--second-factor=off"]),
            Ok((Mode::Off, false))
        );
        let admins = "--second-factor=admins";
        assert_eq!(second_factors(&[admins, key]), Ok((Mode::Admins, true)));
        for needs in [
            admins,
            "--second-factor-keys-accepted=32 bytes, which are the shortest",
        ] {
            let error = second_factors(&[needs]).expect_err(needs);
            assert!(
                error.starts_with("SECOND_FACTOR_KEY: is required by "),
                "{error}"
            );
        }
    }
}
