//! Requests `/readyz` from the running program, for probes in containers without a shell or curl.

use crate::{failure::Failure, output::print, settings::SettingError};
use std::{
    io,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    time::Duration,
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    time::timeout,
};

/// The maximum time for a response. `/readyz` needs no I/O, so a program that takes longer is unhealthy.
const PROBE_TIMEOUT: Duration = Duration::from_secs(3);

/// The answer of a program to `GET /readyz`.
pub(crate) enum ProbeOutcome {
    Ready,
    NotReady { reason: String },
}

/// Runs the command `healthcheck`, which succeeds if the program with this `OPS_LISTEN_ADDR` is ready.
pub async fn run(ops: SocketAddr) -> Result<(), Failure> {
    if ops.port() == 0 {
        let problem = "is port 0, which is a different port at every start; set a fixed port";
        return Err(SettingError::new("OPS_LISTEN_ADDR", problem).into());
    }
    let problem = match probe(ops).await {
        Ok(ProbeOutcome::Ready) => {
            print("ready");
            return Ok(());
        }
        Ok(ProbeOutcome::NotReady { reason }) => format!("not ready: {reason}"),
        Err(error) => format!("http://{ops}/readyz does not answer: {error}"),
    };
    Err(problem.into())
}

/// Returns whether the program with this `OPS_LISTEN_ADDR` is ready. Fails if the program gives no valid answer.
pub(crate) async fn probe(ops: SocketAddr) -> io::Result<ProbeOutcome> {
    let response = get(ops, "/readyz").await?;
    let body = response
        .split_once("\r\n\r\n")
        .map_or("", |(_, body)| body.trim());
    match response.get(..12) {
        Some("HTTP/1.1 200") => Ok(ProbeOutcome::Ready),
        Some("HTTP/1.1 503") => Ok(ProbeOutcome::NotReady {
            reason: body.to_owned(),
        }),
        _ => Err(io::Error::other("not a response of /readyz")),
    }
}

/// Returns the addresses at which this host may reach a listener.
///
/// A wildcard listener is reached on loopback. A listener on `::` may be reachable by IPv4 only, if IPv6 is disabled.
fn probe_addresses(listen: SocketAddr) -> Vec<SocketAddr> {
    let at = |address: IpAddr| SocketAddr::new(address, listen.port());
    let v4 = at(Ipv4Addr::LOCALHOST.into());
    let v6 = at(Ipv6Addr::LOCALHOST.into());
    match listen.ip() {
        address if !address.is_unspecified() => vec![listen],
        IpAddr::V4(_) => vec![v4],
        IpAddr::V6(_) => vec![v6, v4],
    }
}

/// Sends `GET path` to the program with this `OPS_LISTEN_ADDR`, and returns the head and body of the response.
///
/// Bytes beyond 1 MiB are left out. Fails if the response is not complete within three seconds.
pub async fn get(ops: SocketAddr, path: &str) -> io::Result<String> {
    const MAX_RESPONSE: u64 = 1024 * 1024;
    let read = async {
        // `connect` tries the addresses in turn, until one accepts.
        let mut stream = TcpStream::connect(&*probe_addresses(ops)).await?;
        let request =
            format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).await?;
        let mut response = String::new();
        stream
            .take(MAX_RESPONSE)
            .read_to_string(&mut response)
            .await?;
        Ok(response)
    };
    timeout(PROBE_TIMEOUT, read).await?
}

#[cfg(test)]
mod tests {
    use super::{probe_addresses, run};
    use crate::settings::SettingError;
    use std::net::SocketAddr;

    fn address(text: &str) -> SocketAddr {
        text.parse().expect("an address")
    }

    #[test]
    fn a_wildcard_listener_is_probed_on_loopback() {
        assert_eq!(
            probe_addresses(address("0.0.0.0:9000")),
            [address("127.0.0.1:9000")]
        );
        assert_eq!(
            probe_addresses(address("[::]:9")),
            [address("[::1]:9"), address("127.0.0.1:9")]
        );
        assert_eq!(
            probe_addresses(address("10.1.2.3:9000")),
            [address("10.1.2.3:9000")]
        );
    }

    #[tokio::test]
    async fn port_0_is_rejected() {
        let failure = run(address("127.0.0.1:0")).await.expect_err("port 0");
        let error = failure.downcast_ref::<SettingError>().expect("a setting");
        assert!(
            error.to_string().starts_with("OPS_LISTEN_ADDR: is port 0"),
            "{error}"
        );
    }
}
