//! The people: those who are logged in and ask for their profile, and those who log in, each from
//! an address of their own, as a proxy passes it on.

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

/// They share connections of two kinds, so that nobody's profile waits behind a login.
#[derive(Clone, Debug)]
pub(crate) struct Clients {
    users: Arc<[LoadUser]>,
    profiles: Connections,
    logins: Connections,
}

impl Clients {
    /// Clients of the bearer variant at this address.
    pub(crate) fn new(users: Vec<LoadUser>, bearer: SocketAddr) -> Self {
        let (profiles, logins) = (Connections::to(bearer), Connections::to(bearer));
        Self { users: users.into(), profiles, logins }
    }

    /// `GET /profile` by one of the first `among` users.
    pub(crate) async fn profile(self, number: usize, among: usize) -> Result<StatusCode, Failure> {
        // A step that has no factor in common with a round number reaches all of them.
        let authorization = self.users[number * 7919 % among].bearer();
        let answer = self
            .profiles
            .with(async |connection| connection.get("/profile", Some(&authorization)).await);
        Ok(answer.await?.status)
    }

    /// `POST /login` with the right password.
    pub(crate) async fn log_in(self, number: usize) -> Result<StatusCode, Failure> {
        let username = &self.users[number * 7919 % self.users.len()].username;
        let address = client_address(number).to_string();
        let answer = self
            .logins
            .with(async |connection| connection.log_in(username, PASSWORD, &address).await);
        Ok(answer.await?.status)
    }
}

/// One of a thousand addresses: nobody's on this machine, and not one client's flood alone.
pub(crate) fn client_address(number: usize) -> IpAddr {
    let number = u32::try_from(number % 1000).unwrap_or_default();
    Ipv4Addr::from_bits(Ipv4Addr::new(10, 0, 0, 1).to_bits() + number).into()
}
