//! Logs connections that were refused before their first request.

use crate::{clients::client_key, ignored_address::is_private};
use rolegate_grpc_tls::tls_problem;
use rolegate_program::log_limiter::LogLimiter;
use std::{
    io,
    net::{IpAddr, SocketAddr},
    time::Duration,
};

/// The time in which a client gets at most one line for each reason, however often it tries.
const REPEAT_INTERVAL: Duration = Duration::from_hours(1);

/// Bounds the lines about public addresses, because their peers could fill the memory and the log. Private addresses,
/// which are probably the operator's, have as many lines of their own.
const MAX_LINES: usize = 128;

static PUBLIC: LogLimiter<(IpAddr, String)> =
    LogLimiter::silent_when_full(MAX_LINES, REPEAT_INTERVAL);
static PRIVATE: LogLimiter<(IpAddr, String)> =
    LogLimiter::silent_when_full(MAX_LINES, REPEAT_INTERVAL);

/// Logs why a connection of `peer` was refused, once for each client and reason within `REPEAT_INTERVAL`.
pub fn log(peer: IpAddr, problem: &str) {
    if claim_line(peer, problem) {
        let peer = peer.to_canonical();
        tracing::warn!(%peer, problem, "refused a connection");
    }
}

/// Logs why a TLS handshake failed. If the connection failed without an error of TLS, for example because a port
/// scanner closed it, the line has the level `debug`.
pub fn log_handshake_error(peer: SocketAddr, error: &io::Error) {
    if let Some(problem) = tls_problem(error) {
        log(peer.ip(), &problem);
    } else {
        tracing::debug!(%peer, %error, "the TLS handshake failed");
    }
}

/// Claims the line about this client and problem. Returns `false` if this line was written recently, or if too many
/// lines were written.
fn claim_line(peer: IpAddr, problem: &str) -> bool {
    let (limiter, client) = if is_private(peer) {
        (&PRIVATE, peer.to_canonical())
    } else {
        (&PUBLIC, client_key(Some(peer)))
    };
    limiter.claim((client, problem.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::{MAX_LINES, REPEAT_INTERVAL, claim_line};
    use std::{
        net::{IpAddr, Ipv4Addr},
        time::Duration,
    };
    use tokio::time::advance;

    #[tokio::test(start_paused = true)]
    async fn each_problem_of_each_client_is_logged_once_an_hour_and_strangers_silence_only_strangers()
     {
        let peer = |number: u32| IpAddr::V4(Ipv4Addr::from_bits((8 << 24) + number));
        assert!(claim_line(peer(1), "plain text") && !claim_line(peer(1), "plain text"));
        assert!(claim_line(peer(1), "expired"));
        let others = (2..10_000).filter(|number| claim_line(peer(*number), ""));
        assert_eq!(others.count(), MAX_LINES - 2);
        assert!(
            claim_line(IpAddr::from([10, 0, 0, 1]), "plain text"),
            "strangers silenced it"
        );
        advance(Duration::from_mins(59)).await;
        assert!(!claim_line(peer(1), "plain text"));
        advance(REPEAT_INTERVAL).await;
        assert!(claim_line(peer(1), "plain text"));
    }
}
