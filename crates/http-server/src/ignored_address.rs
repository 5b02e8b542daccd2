//! Reports client addresses that are ignored, because the peer that sends them is not trusted.
//!
//! If a setting lacks the network of a gateway or proxy, all users behind it are one client with one rate
//! limit. A single attacker then locks all of them out, although nothing seems to be broken.

use rolegate_program::{
    doctor::Doctor,
    healthcheck,
    log_limiter::LogLimiter,
    metrics::{IntCounterVec, counter_vec},
};
use std::{
    io,
    net::{IpAddr, SocketAddr},
    sync::LazyLock,
    time::Duration,
};

const METRIC: &str = "rolegate_ignored_client_addresses_total";

static IGNORED: LazyLock<IntCounterVec> = LazyLock::new(|| {
    let help = "Requests whose client address was ignored: their peer is not in this setting.";
    counter_vec(METRIC, help, &["setting"])
});

/// A header that carries the address of a client, and the setting that names the peers trusted to send it.
#[derive(Debug)]
pub struct AddressHeader {
    /// The name of the header in lower case.
    pub name: &'static str,
    /// The name of the setting with the networks of trusted peers.
    pub setting: &'static str,
    /// The kind of program that has a reason to send the header, such as `gateway`.
    pub sender: &'static str,
    /// Allows one log line about each kind of peer.
    lines: LogLimiter<PeerKind>,
}

/// Tells which peers can connect to a listener.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exposure {
    /// Any client on the Internet can connect, and can send any header.
    Public,
    /// Programs of the operator can connect, and no others.
    Internal,
}

/// The two kinds of peers, which have separate log lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum PeerKind {
    /// The peer has a private address, so it is probably the operator's.
    Private,
    /// The peer has another address, or an unknown one.
    Public,
}

impl AddressHeader {
    /// Describes a header by its name, the setting of trusted peers, and the kind of program that sends it.
    pub const fn new(name: &'static str, setting: &'static str, sender: &'static str) -> Self {
        Self {
            name,
            setting,
            sender,
            lines: LogLimiter::silent_when_full(2, Duration::MAX),
        }
    }

    /// Registers the metric, so that it is 0 before the first ignored address.
    pub fn register_metric(&self) {
        IGNORED.with_label_values(&[self.setting]);
    }

    /// Counts a request of an untrusted peer with this header, and logs it.
    ///
    /// The log gets one line about a peer with a private address, which is probably the operator's, and one about
    /// any other peer. Strangers can send any number of requests, so they must not use up the operator's line. The
    /// line about a stranger must not recommend to trust it.
    pub fn ignore(&self, peer: Option<IpAddr>) {
        IGNORED.with_label_values(&[self.setting]).inc();
        let kind = match peer {
            Some(address) if is_private(address) => PeerKind::Private,
            _ => PeerKind::Public,
        };
        if !self.lines.claim(kind) {
            return;
        }
        let Self {
            name,
            setting,
            sender,
            ..
        } = self;
        let peer = match peer {
            Some(address) => address.to_string(),
            None => "a peer without address".to_owned(),
        };
        match kind {
            PeerKind::Private => tracing::warn!(
                "{peer} sends {name}, which is ignored: if it is a {sender}, add it to {setting}; \
                 until then all its users are one client and share one rate limit"
            ),
            PeerKind::Public => {
                tracing::warn!("{peer}, which is not in {setting}, sends {name}, which is ignored");
            }
        }
    }

    /// Reports to `doctor` whether untrusted peers send the header to the server with this `OPS_LISTEN_ADDR`. This is a
    /// failure only if the server's listener is internal. Reports nothing if the server does not run.
    pub async fn check(&self, doctor: &mut Doctor, exposure: Exposure, ops: SocketAddr) {
        const STEP: &str = "trust";
        let Ok(count) = self.count_at(ops).await else {
            return;
        };
        let Self {
            name,
            setting,
            sender,
            ..
        } = self;
        let problem = format!(
            "{count} calls with {name} came from addresses outside of {setting}, so {name} was \
             ignored: if one of them is a {sender}, add it; until then its users share one rate limit"
        );
        match exposure {
            _ if count == 0 => doctor.ok(
                STEP,
                format!("every caller that sends {name} is in {setting}"),
            ),
            Exposure::Public => doctor.note(STEP, problem),
            Exposure::Internal => doctor.fail(STEP, problem),
        }
    }

    /// Returns the number of ignored addresses that the server with this `OPS_LISTEN_ADDR` has counted.
    async fn count_at(&self, ops: SocketAddr) -> io::Result<u64> {
        let metrics = healthcheck::get(ops, "/metrics").await?;
        let series = format!("{METRIC}{{setting=\"{}\"}} ", self.setting);
        let count = metrics
            .lines()
            .find_map(|line| line.strip_prefix(&series)?.parse().ok());
        Ok(count.unwrap_or_default())
    }
}

/// Returns `true` for a private, loopback or link-local address, which no stranger on the Internet can have.
pub fn is_private(address: IpAddr) -> bool {
    match address.to_canonical() {
        IpAddr::V4(v4) => v4.is_private() || v4.is_loopback() || v4.is_link_local(),
        IpAddr::V6(v6) => v6.is_unique_local() || v6.is_loopback() || v6.is_unicast_link_local(),
    }
}

#[cfg(test)]
mod tests {
    use super::{AddressHeader, PeerKind, is_private};
    use crate::{admin_server, http_server, readiness::Readiness};
    use rolegate_program::shutdown::Shutdown;

    #[test]
    fn stranger_uses_up_no_line_about_a_private_address() {
        for private in [
            "127.0.0.1",
            "10.1.2.3",
            "192.168.0.1",
            "::ffff:172.16.0.1",
            "::1",
            "fd00::1",
        ] {
            assert!(
                is_private(private.parse().expect("an address")),
                "{private}"
            );
        }
        let header = AddressHeader::new("x-test-address", "TEST_NETWORKS", "proxy");
        for peer in [Some("198.51.100.7"), Some("2001:db8::1"), None] {
            header.ignore(peer.map(|peer| peer.parse().expect("an address")));
            assert!(!header.lines.claim(PeerKind::Public));
        }
        assert!(header.lines.claim(PeerKind::Private));
    }

    #[tokio::test]
    async fn requests_are_counted_for_each_setting() {
        let header = AddressHeader::new("x-test-address", "TEST_GATEWAYS", "gateway");
        let other = AddressHeader::new("x-test-address", "TEST_PROXIES", "proxy");
        other.register_metric();
        (0..3).for_each(|_| header.ignore(None));
        let listener = http_server::bind("OPS", "127.0.0.1:0".parse().expect("an address")).await;
        let listener = listener.expect("a free port");
        let (address, shutdown) = (listener.address(), Shutdown::new());
        let serving = http_server::serve(
            listener,
            admin_server::router(Readiness::new(&shutdown)),
            shutdown.clone(),
        );
        let server = tokio::spawn(serving);
        assert_eq!(header.count_at(address).await.expect("metrics"), 3);
        assert_eq!(other.count_at(address).await.expect("metrics"), 0);
        shutdown.stop_now();
        server.await.expect("no panic");
        header.count_at(address).await.expect_err("nothing listens");
    }
}
