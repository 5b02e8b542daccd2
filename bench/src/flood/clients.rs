//! Clients that request their profile or log in. Each login names a client address in `X-Forwarded-For`.

use super::connections::Connections;
use crate::{
    Failure,
    users::{LoadUser, PASSWORD},
};
use http::StatusCode;
use std::{
    net::{IpAddr, Ipv4Addr, SocketAddr},
    sync::Arc,
};

/// The clients. Profiles and logins use separate connections, so that no profile waits behind a login.
#[derive(Clone, Debug)]
pub(crate) struct Clients {
    users: Arc<[LoadUser]>,
    profiles: Connections,
    logins: Connections,
}

impl Clients {
    /// Makes clients of the bearer variant at this address.
    pub(crate) fn new(users: Vec<LoadUser>, bearer: SocketAddr) -> Self {
        let (profiles, logins) = (Connections::to(bearer), Connections::to(bearer));
        Self {
            users: users.into(),
            profiles,
            logins,
        }
    }

    /// Sends `GET /profile` for one of the first `among` users.
    pub(crate) async fn profile(self, number: usize, among: usize) -> Result<StatusCode, Failure> {
        // The step is coprime to the number of users, so all of them are reached.
        let authorization = self.users[number * 7919 % among].bearer();
        let answer = self
            .profiles
            .with(async |connection| connection.get("/profile", Some(&authorization)).await);
        Ok(answer.await?.status)
    }

    /// Sends `POST /login` with the correct password.
    pub(crate) async fn log_in(self, number: usize) -> Result<StatusCode, Failure> {
        self.log_in_from(number, number).await
    }

    /// Sends `POST /login` with the correct password, from the client address with number `address`.
    pub(crate) async fn log_in_from(
        self,
        address: usize,
        number: usize,
    ) -> Result<StatusCode, Failure> {
        let username = &self.users[number * 7919 % self.users.len()].username;
        let address = client_address(address).to_string();
        let answer = self
            .logins
            .with(async |connection| connection.log_in(username, PASSWORD, &address).await);
        Ok(answer.await?.status)
    }
}

/// Returns one of a thousand client addresses.
pub(crate) fn client_address(number: usize) -> IpAddr {
    let number = u32::try_from(number % 1000).unwrap_or_default();
    Ipv4Addr::from_bits(Ipv4Addr::new(10, 0, 0, 1).to_bits() + number).into()
}
