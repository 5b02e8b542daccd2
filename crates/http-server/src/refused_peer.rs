//! Log lines about connections that were refused before their first request.

use crate::{clients::client_key, ignored_address::is_private};
use rolegate_grpc_tls::server_problem;
use std::{
    collections::HashMap,
    io,
    net::{IpAddr, SocketAddr},
    sync::{LazyLock, Mutex, PoisonError},
    time::{Duration, Instant},
};

/// A client that tries again and again gets one line in this time.
const REPEAT: Duration = Duration::from_hours(1);

/// Lines about strangers, who could fill the memory and the log, and as many about private addresses,
/// which are probably the operator's.
const MAX_LINES: usize = 128;

/// When which problem of which client was logged.
type Logged = HashMap<(IpAddr, String), Instant>;

static LOGGED: LazyLock<Mutex<Logged>> = LazyLock::new(Mutex::default);

/// Logs why a connection of `peer` was refused, once for each client and reason within `REPEAT`.
pub fn log(peer: IpAddr, problem: &str) {
    let mut logged = LOGGED.lock().unwrap_or_else(PoisonError::into_inner);
    if is_news(&mut logged, peer, problem, Instant::now()) {
        let peer = peer.to_canonical();
        tracing::warn!(%peer, problem, "refused a connection");
    }
}

/// Logs why TLS failed. A client that just left, such as a port scan, is of no interest.
pub fn log_handshake_error(peer: SocketAddr, error: &io::Error) {
    if let Some(problem) = server_problem(error) {
        log(peer.ip(), &problem);
    } else {
        tracing::debug!(%peer, %error, "the TLS handshake failed");
    }
}

fn is_news(logged: &mut Logged, peer: IpAddr, problem: &str, now: Instant) -> bool {
    logged.retain(|_, at| now.duration_since(*at) < REPEAT);
    let is_own = is_private(peer);
    let client = if is_own { peer.to_canonical() } else { client_key(Some(peer)) };
    let key = (client, problem.to_owned());
    let lines = logged.keys().filter(|(client, _)| is_private(*client) == is_own).count();
    if lines >= MAX_LINES || logged.contains_key(&key) {
        return false;
    }
    logged.insert(key, now);
    true
}

#[cfg(test)]
mod tests {
    use super::{Logged, MAX_LINES, REPEAT, is_news};
    use std::{
        net::{IpAddr, Ipv4Addr},
        time::{Duration, Instant},
    };

    #[test]
    fn each_problem_of_each_client_is_news_once_an_hour_and_strangers_silence_only_strangers() {
        let (mut logged, now) = (Logged::new(), Instant::now());
        let peer = |number: u32| IpAddr::V4(Ipv4Addr::from_bits((8 << 24) + number));
        assert!(is_news(&mut logged, peer(1), "plain text", now));
        assert!(!is_news(&mut logged, peer(1), "plain text", now));
        assert!(is_news(&mut logged, peer(1), "expired", now));
        let others = (2..10_000).filter(|number| is_news(&mut logged, peer(*number), "", now));
        assert_eq!(others.count(), MAX_LINES - 2);
        let own = IpAddr::from([10, 0, 0, 1]);
        assert!(is_news(&mut logged, own, "plain text", now), "strangers silenced it");
        let almost = now + Duration::from_mins(59);
        assert!(!is_news(&mut logged, peer(1), "plain text", almost));
        assert!(is_news(&mut logged, peer(1), "plain text", now + REPEAT));
    }
}
