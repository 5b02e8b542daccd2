//! The client address and the deadline of a call.

use rolegate_http_server::clients::client_key;
use std::{
    net::IpAddr,
    time::{Duration, Instant},
};

#[derive(Clone, Copy)]
pub(crate) struct CallOrigin {
    /// The address of the end user, if known.
    pub(crate) client_address: Option<IpAddr>,
    /// When the caller stops waiting.
    pub(crate) deadline: Instant,
}

impl CallOrigin {
    /// The origin of work that this process does for itself, such as hashing the password of the first admin.
    pub(crate) fn internal(timeout: Duration) -> Self {
        Self {
            client_address: None,
            deadline: Instant::now() + timeout,
        }
    }

    /// Identifies the client to rate limits and the fairness of the password engine, as
    /// [`client_key`] does.
    pub(crate) fn client_key(&self) -> IpAddr {
        client_key(self.client_address)
    }
}
