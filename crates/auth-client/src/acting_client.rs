//! Calls auth-service on behalf of a user.
//!
//! Most requests are messages of the contract, which [`ActingClient::send`] takes as they are (`calls`). The others have
//! a method, because they have a secret, or because their responses need a check.
//!
//! - `users` and `passwords`: users, their roles, passwords and password links.
//! - `api_keys`, `cookie_sessions` and `second_factor`: the credentials of a user.
//!
//! Every call goes through `call`, `read` or `call_hashing` of this file, which choose its deadline and
//! whether it may be repeated. auth-service checks every permission; this client checks none.

mod api_keys;
mod calls;
mod cookie_sessions;
mod passwords;
mod second_factor;
mod users;

pub use calls::ActingRequest;
pub use passwords::PasswordLink;
pub use second_factor::SecondFactorEnrolment;

use crate::connections::Connections;
use rolegate_grpc_client::{Call, CallContext, CallError, Client};
use rolegate_proto::{authorization::is_api_key, methods::UnaryRequest};
use secrecy::{ExposeSecret, SecretString};
use std::sync::Arc;

/// A client for calls on behalf of the bearer of an access token, session or API key. The bearer must be an
/// admin to make calls about another user. Where a user id is optional, `None` stands for the bearer.
#[derive(Clone, Debug)]
pub struct ActingClient {
    pub(crate) connections: Arc<Connections>,
    pub(crate) token: SecretString,
    pub(crate) context: CallContext,
}

impl ActingClient {
    /// Returns the context of the request that the calls serve.
    #[must_use]
    pub fn context(&self) -> CallContext {
        self.context
    }

    /// Returns whether the credential is an API key, valid or not, rather than an access token or session.
    #[must_use]
    pub fn has_api_key(&self) -> bool {
        is_api_key(self.token.expose_secret())
    }

    /// Calls a method once, because it may change something, or because repeating it would cost too much.
    async fn call<R: UnaryRequest + Clone>(&self, message: R) -> Result<R::Response, CallError> {
        Call::change(self.context)
            .authenticated(&self.token)?
            .send(&self.connections.client, message)
            .await
    }

    /// Calls a method that changes nothing, so the call may be repeated, also at another replica.
    async fn read<R: UnaryRequest + Clone>(&self, message: R) -> Result<R::Response, CallError> {
        Call::read(self.context)
            .authenticated(&self.token)?
            .send(&self.connections.client, message)
            .await
    }

    /// Calls a method that hashes a password, with the longer deadline of such methods. `client` comes from
    /// `Connections::password_client` or `Connections::password_client_for`.
    async fn call_hashing<R: UnaryRequest + Clone>(
        &self,
        client: Client,
        message: R,
    ) -> Result<R::Response, CallError> {
        Call::hashing(self.context)
            .authenticated(&self.token)?
            .send(&client, message)
            .await
    }
}
