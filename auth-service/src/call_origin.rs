//! The client of a call, and the deadline of the response.

use rolegate_http_server::clients::client_key;
use std::{
    net::IpAddr,
    time::{Duration, Instant},
};

#[derive(Clone, Copy)]
pub(crate) struct CallOrigin {
    /// The address of the end user; `None` if the caller did not report one.
    pub(crate) client_address: Option<IpAddr>,
    /// The time by which the result must be ready. For a call, this is a little before the caller
    /// stops waiting.
    pub(crate) deadline: Instant,
}

impl CallOrigin {
    /// Returns the origin for work that this process does for itself, such as hashing the password
    /// of the first admin.
    pub(crate) fn internal(timeout: Duration) -> Self {
        Self {
            client_address: None,
            deadline: Instant::now() + timeout,
        }
    }

    /// Returns the key that identifies the client for rate limits, and for sharing the password
    /// engine fairly. See [`client_key`].
    pub(crate) fn client_key(&self) -> IpAddr {
        client_key(self.client_address)
    }
}
