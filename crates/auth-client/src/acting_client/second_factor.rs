//! The second factor of the bearer, and its removal by an admin.

use super::ActingClient;
use crate::batchers::Client;
use rolegate_grpc_client::CallError;
use rolegate_proto::auth_v1::{
    DisableSecondFactorRequest, EnableSecondFactorRequest, EnrolSecondFactorRequest,
    GetSecondFactorRequest,
};
use secrecy::{ExposeSecret, SecretString};

/// What a user keeps of a second factor, which no later call returns.
#[derive(Clone, Debug)]
pub struct SecondFactorEnrolment {
    /// 20 bytes in base32.
    pub secret: SecretString,
    /// The same for authenticator applications: `otpauth://totp/…`.
    pub otpauth_url: SecretString,
    /// Ten, each good once in place of a code.
    pub recovery_codes: Vec<SecretString>,
}

/// The second factor of a user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SecondFactor {
    /// Whether sign-ins need a code.
    pub enabled: bool,
    /// The recovery codes that are left.
    pub recovery_codes: i64,
}

impl ActingClient {
    /// Begins to turn on the second factor of the bearer, who presented no API key, given the current password.
    /// `username` is the bearer's; it only chooses the replica. Authenticator applications show `issuer`, which has no
    /// colon, or `Rolegate`.
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
        let client = self.auth.checks_of(username);
        let made = self
            .call_hashing(&client, request, Client::enrol_second_factor)
            .await?;
        Ok(SecondFactorEnrolment {
            secret: made.secret.into(),
            otpauth_url: made.otpauth_url.into(),
            recovery_codes: made.recovery_codes.into_iter().map(Into::into).collect(),
        })
    }

    /// Turns it on, given a code, and ends every access token and session of the bearer but a session that acts.
    pub async fn enable_second_factor(&self, otp: &SecretString) -> Result<(), CallError> {
        let otp = otp.expose_secret().to_owned();
        let request = EnableSecondFactorRequest { otp };
        self.call(request, Client::enable_second_factor).await?;
        Ok(())
    }

    /// Turns it off, given a code or a recovery code.
    pub async fn disable_second_factor(&self, otp: &SecretString) -> Result<(), CallError> {
        self.disable(None, otp.expose_secret().to_owned()).await
    }

    /// Turns off that of another user, for an admin who presented no API key.
    pub async fn remove_second_factor(&self, user_id: i64) -> Result<(), CallError> {
        self.disable(Some(user_id), String::new()).await
    }

    async fn disable(&self, user_id: Option<i64>, otp: String) -> Result<(), CallError> {
        let request = DisableSecondFactorRequest { user_id, otp };
        self.call(request, Client::disable_second_factor).await?;
        Ok(())
    }

    /// That of the bearer.
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
