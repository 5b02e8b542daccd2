//! Client addresses that are ignored, because the peer that reports them is not trusted.
//!
//! One forgotten network in a setting makes all users behind a gateway or a proxy one client, with one
//! rate limit: one attacker locks everybody out, and nothing fails.

use rolegate_program::{doctor::Doctor, healthcheck};
use rolegate_telemetry::{
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
    let help = "Requests whose peer reports a client address and is not in this setting.";
    counter_vec(METRIC, help, &["setting"])
});

/// A header that reports the address of a client, and the setting of the peers that may.
#[derive(Debug)]
pub struct AddressHeader {
    /// Its name in lower case.
    pub name: &'static str,
    /// The setting with the networks of trusted peers.
    pub setting: &'static str,
    /// The kind of program that has a reason to send the header, such as `gateway`.
    pub sender: &'static str,
    /// Allows one line about each kind of peer.
    lines: LogLimiter<PeerKind>,
}

/// Who can connect to a listener.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exposure {
    /// Anybody on the Internet, who can send any header.
    Public,
    /// Programs of the operator, and nobody else.
    Internal,
}

/// Whose address a peer has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum PeerKind {
    /// A private address, which is probably one of the operator.
    Private,
    /// Any other, or none.
    Public,
}

impl AddressHeader {
    /// Describes a header.
    pub const fn new(name: &'static str, setting: &'static str, sender: &'static str) -> Self {
        Self {
            name,
            setting,
            sender,
            lines: LogLimiter::silent_when_full(2, Duration::MAX),
        }
    }

    /// Registers the metric.
    pub fn register_metric(&self) {
        IGNORED.with_label_values(&[self.setting]);
    }

    /// Counts a request of an untrusted peer with this header. The log gets one line about a peer with a
    /// private address, which is probably the operator's, and one about others: strangers can send any
    /// number, and must neither use up the operator's line nor be recommended.
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

    /// Reports to `doctor` whether untrusted peers send the header to the server with this
    /// `OPS_LISTEN_ADDR`. That is a failure only if its listener is internal.
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
            "{count} calls with {name} came from addresses outside of {setting}, and it was \
             ignored: if a {sender} is one of them, add it; its users share one rate limit"
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

    /// How many requests the server with this `OPS_LISTEN_ADDR` counted.
    async fn count_at(&self, ops: SocketAddr) -> io::Result<u64> {
        let metrics = healthcheck::get(ops, "/metrics").await?;
        let series = format!("{METRIC}{{setting=\"{}\"}} ", self.setting);
        let count = metrics
            .lines()
            .find_map(|line| line.strip_prefix(&series)?.parse().ok());
        Ok(count.unwrap_or_default())
    }
}

/// Whether strangers on the Internet cannot have this address.
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
