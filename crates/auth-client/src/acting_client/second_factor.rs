//! Starts enrolling a second factor.

use super::ActingClient;
use rolegate_grpc_client::CallError;
use rolegate_proto::auth_v1::EnrolSecondFactorRequest;
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
        let response = self.call_hashing(client, request).await?;
        let recovery_codes = response.recovery_codes.into_iter();
        Ok(SecondFactorEnrolment {
            secret: response.secret.into(),
            otpauth_url: response.otpauth_url.into(),
            recovery_codes: recovery_codes.map(SecretString::from).collect(),
        })
    }
}
