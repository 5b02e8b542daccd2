//! Manages the second factor of the bearer, and lets an admin turn off the second factor of another user.

use super::ActingClient;
use crate::connections::Client;
use rolegate_grpc_client::CallError;
use rolegate_proto::auth_v1::{
    DisableSecondFactorRequest, EnableSecondFactorRequest, EnrolSecondFactorRequest,
    GetSecondFactorRequest,
};
use secrecy::{ExposeSecret as _, SecretString};

/// The secrets of a new second factor. The user must keep them, because no later call returns them.
#[derive(Clone, Debug)]
pub struct SecondFactorEnrolment {
    /// The secret: 20 bytes in base32.
    pub secret: SecretString,
    /// The secret as a URL for authenticator applications: `otpauth://totp/…`.
    pub otpauth_url: SecretString,
    /// Ten recovery codes, each of which replaces a one-time code once.
    pub recovery_codes: Vec<SecretString>,
}

/// The state of a user's second factor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SecondFactor {
    /// True if the second factor is on, so that sign-ins need a code.
    pub enabled: bool,
    /// The number of recovery codes that are left.
    pub recovery_codes: i64,
}

impl ActingClient {
    /// Starts enrolling a second factor for the bearer, given the current password. The bearer's credential
    /// must not be an API key. `username` is the name of the bearer, and serves only to choose the replica.
    /// Authenticator applications show `issuer`, which must not contain a colon; `None` stands for `Rolegate`.
    pub async fn enrol_second_factor(
        &self,
        username: &str,
        current: &SecretString,
        issuer: Option<&str>,
    ) -> Result<SecondFactorEnrolment, CallError> {
        let request = EnrolSecondFactorRequest {
            current_password: current.expose_secret().to_owned(),
            issuer: issuer.map(str::to_owned),
        };
        let client = self.connections.password_client_for(username);
        let response = self
            .call_hashing(client, request, Client::enrol_second_factor)
            .await?;
        let recovery_codes = response.recovery_codes.into_iter();
        Ok(SecondFactorEnrolment {
            secret: response.secret.into(),
            otpauth_url: response.otpauth_url.into(),
            recovery_codes: recovery_codes.map(SecretString::from).collect(),
        })
    }

    /// Turns on the second factor, given a code, and revokes every access token and session of the bearer. If
    /// the bearer's credential is a session, that session stays valid.
    pub async fn enable_second_factor(&self, otp: &SecretString) -> Result<(), CallError> {
        let request = EnableSecondFactorRequest {
            otp: otp.expose_secret().to_owned(),
        };
        self.call(request, Client::enable_second_factor).await?;
        Ok(())
    }

    /// Turns off the second factor of the bearer, given a one-time code or a recovery code.
    pub async fn disable_second_factor(&self, otp: &SecretString) -> Result<(), CallError> {
        let request = DisableSecondFactorRequest {
            user_id: None,
            otp: otp.expose_secret().to_owned(),
        };
        self.call(request, Client::disable_second_factor).await?;
        Ok(())
    }

    /// Turns off the second factor of another user. The bearer must be an admin whose credential is not an API
    /// key.
    pub async fn remove_second_factor(&self, user_id: i64) -> Result<(), CallError> {
        let request = DisableSecondFactorRequest {
            user_id: Some(user_id),
            otp: String::new(),
        };
        self.call(request, Client::disable_second_factor).await?;
        Ok(())
    }

    /// Returns the state of the bearer's second factor.
    pub async fn second_factor(&self) -> Result<SecondFactor, CallError> {
        let response = self
            .read(GetSecondFactorRequest {}, Client::get_second_factor)
            .await?;
        Ok(SecondFactor {
            enabled: response.enabled,
            recovery_codes: response.recovery_codes,
        })
    }
}
