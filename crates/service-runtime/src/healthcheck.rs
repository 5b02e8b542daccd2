//! Asking a program's own `/readyz`, for containers that have neither a shell nor curl.

use crate::{
    program::{Failure, print},
    settings::SettingError,
};
use http::{Request, header::HOST};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use std::{
    error::Error,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    time::Duration,
};
use tokio::net::TcpStream;

/// The answer comes from memory; a program that takes longer is not well.
const PATIENCE: Duration = Duration::from_secs(3);

/// Nobody told what `/readyz` says.
#[derive(Debug, thiserror::Error)]
#[error("http://{address}/readyz does not answer")]
pub struct Unreachable {
    /// Where it was asked for.
    address: SocketAddr,
    source: Box<dyn Error + Send + Sync>,
}

/// Succeeds when the program whose `OPS_LISTEN_ADDR` this is says that it is ready.
pub async fn run(ops: SocketAddr) -> Result<(), Failure> {
    if ops.port() == 0 {
        let problem = "is port 0, which is another one at every start; a program with a port of \
                       its own choice cannot be asked";
        return Err(SettingError::new("OPS_LISTEN_ADDR", problem).into());
    }
    match is_ready(ops).await {
        Ok(true) => {
            print("ready");
            Ok(())
        }
        Ok(false) => Err(Failure::Other("not ready".into())),
        Err(error) => Err(Failure::Other(Box::new(error))),
    }
}

/// What `/readyz` says on a program's `OPS_LISTEN_ADDR`.
pub async fn is_ready(ops: SocketAddr) -> Result<bool, Unreachable> {
    let mut outcome = None;
    for address in probe_addresses(ops) {
        let asked = tokio::time::timeout(PATIENCE, ask(address)).await;
        let asked = asked.unwrap_or_else(|_elapsed| Err("no answer in time".into()));
        match asked {
            Ok(ready) => return Ok(ready),
            Err(source) => outcome.get_or_insert(Unreachable { address, source }),
        };
    }
    // There is always one way at least.
    Err(outcome.unwrap_or_else(|| Unreachable { address: ops, source: "no way there".into() }))
}

/// How to reach who listens there from this machine: every address of it means loopback. A socket
/// on `::` may be reached by IPv4 alone, where IPv6 is switched off.
fn probe_addresses(listen: SocketAddr) -> Vec<SocketAddr> {
    let at = |address: IpAddr| SocketAddr::new(address, listen.port());
    let (v4, v6) = (at(Ipv4Addr::LOCALHOST.into()), at(Ipv6Addr::LOCALHOST.into()));
    match listen.ip() {
        address if !address.is_unspecified() => vec![listen],
        IpAddr::V4(_) => vec![v4],
        IpAddr::V6(_) => vec![v6, v4],
    }
}

async fn ask(address: SocketAddr) -> Result<bool, Box<dyn Error + Send + Sync>> {
    let stream = TcpStream::connect(address).await?;
    let (mut requests, connection) = http1::handshake(TokioIo::new(stream)).await?;
    tokio::spawn(connection);
    let request = Request::get("/readyz").header(HOST, address.to_string()).body(String::new())?;
    Ok(requests.send_request(request).await?.status().is_success())
}

#[cfg(test)]
mod tests {
    use super::{is_ready, probe_addresses, run};
    use crate::{
        admin_server, http_server::HttpListener, program::Failure, readiness::Readiness,
        shutdown::Shutdown,
    };
    use std::net::SocketAddr;

    fn address(text: &str) -> SocketAddr {
        text.parse().expect("an address")
    }

    #[test]
    fn a_program_that_listens_everywhere_is_asked_on_loopback() {
        assert_eq!(probe_addresses(address("0.0.0.0:9000")), [address("127.0.0.1:9000")]);
        assert_eq!(
            probe_addresses(address("[::]:9")),
            [address("[::1]:9"), address("127.0.0.1:9")]
        );
        assert_eq!(probe_addresses(address("10.1.2.3:9000")), [address("10.1.2.3:9000")]);
    }

    #[tokio::test]
    async fn it_tells_ready_from_not_ready_and_from_nobody() {
        let listener = HttpListener::bind("OPS_LISTEN_ADDR", address("127.0.0.1:0")).await;
        let listener = listener.expect("bound");
        let (ops, life) = (listener.address(), Shutdown::new());
        let readiness = Readiness::new(&Shutdown::new());
        let router = admin_server::router(readiness.clone());
        let serving = tokio::spawn(listener.serve(router, life.clone()));
        assert!(!is_ready(ops).await.expect("it answers"));
        readiness.set_healthy(true);
        assert!(is_ready(ops).await.expect("it answers"));
        life.stop_now();
        serving.await.expect("it ends");
        let silent = is_ready(ops).await.expect_err("nobody is there");
        assert_eq!(silent.to_string(), format!("http://{ops}/readyz does not answer"));
    }

    #[tokio::test]
    async fn port_0_cannot_be_asked() {
        let failure = run(address("127.0.0.1:0")).await.expect_err("which port?");
        let Failure::Setting(error) = failure else { panic!("not a setting: {failure:?}") };
        assert!(error.to_string().starts_with("OPS_LISTEN_ADDR: is port 0"), "{error}");
    }
}
