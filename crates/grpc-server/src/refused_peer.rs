//! Log lines about connections that were refused before their first call.

use std::{
    collections::HashMap,
    net::IpAddr,
    sync::{LazyLock, Mutex, PoisonError},
    time::{Duration, Instant},
};

/// A client that tries again and again gets one line in this time.
const REPEAT: Duration = Duration::from_hours(1);

/// Strangers could fill the memory and the log.
const MAX_LINES: usize = 256;

/// When which problem of which client was logged.
type Logged = HashMap<(IpAddr, String), Instant>;

static LOGGED: LazyLock<Mutex<Logged>> = LazyLock::new(Mutex::default);

/// Logs why a connection of `peer` was refused, once for each client and reason within [`REPEAT`].
pub(crate) fn log(peer: IpAddr, problem: &str) {
    let peer = peer.to_canonical();
    let mut logged = LOGGED.lock().unwrap_or_else(PoisonError::into_inner);
    if is_news(&mut logged, peer, problem, Instant::now()) {
        tracing::warn!(%peer, problem, "refused a gRPC connection");
    }
}

fn is_news(logged: &mut Logged, peer: IpAddr, problem: &str, now: Instant) -> bool {
    logged.retain(|_, at| now.duration_since(*at) < REPEAT);
    let key = (peer, problem.to_owned());
    if logged.len() >= MAX_LINES || logged.contains_key(&key) {
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
    fn each_problem_of_each_client_is_news_once_an_hour_and_strangers_are_bounded() {
        let (mut logged, now) = (Logged::new(), Instant::now());
        let peer = |number: u32| IpAddr::V4(Ipv4Addr::from_bits(number));
        assert!(is_news(&mut logged, peer(1), "plain text", now));
        assert!(!is_news(&mut logged, peer(1), "plain text", now));
        assert!(is_news(&mut logged, peer(1), "expired", now));
        let others = (2..10_000).filter(|number| is_news(&mut logged, peer(*number), "", now));
        assert_eq!(others.count(), MAX_LINES - 2);
        let almost = now + REPEAT - Duration::from_secs(1);
        assert!(!is_news(&mut logged, peer(1), "plain text", almost));
        assert!(is_news(&mut logged, peer(1), "plain text", now + REPEAT));
    }
}
