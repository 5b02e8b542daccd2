//! Holds the connections to auth-service, which all clients that were made from one
//! [`AuthClient`](crate::AuthClient) share.

use rolegate_grpc_client::{BalancedChannel, Client};

#[derive(Debug)]
pub(crate) struct Connections {
    /// The client for calls that hash no password.
    pub(crate) client: Client,
    /// The channel for calls that hash a password. It has its own connections, because a flood of logins
    /// delays all other calls on the same connection.
    pub(crate) passwords: BalancedChannel,
}

impl Connections {
    /// Returns a client for calls that check the password of this username. All clients send these calls to
    /// the same replica, because each replica counts attempts and caches verified passwords for itself.
    pub(crate) fn password_client_for(&self, username: &str) -> Client {
        Client::new(self.passwords.for_key(username))
    }

    /// Returns a client for all other calls that hash a password.
    pub(crate) fn password_client(&self) -> Client {
        Client::new(self.passwords.clone())
    }
}
