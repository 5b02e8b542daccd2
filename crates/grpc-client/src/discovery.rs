//! Where the replicas of a service are, and how to connect to them.

use crate::connection::Stream;
use async_trait::async_trait;
use http::Uri;
use rolegate_grpc_tls::ClientTls;
use std::{
    future::Future,
    io,
    net::{Ipv4Addr, SocketAddr},
};
#[cfg(not(simulation))]
use tokio::net::{TcpStream, lookup_host};
#[cfg(simulation)]
use turmoil::net::TcpStream;

/// The simulated hosts `auth-1`, `auth-2` and so on are the replicas of `auth`.
#[cfg(simulation)]
#[expect(clippy::unused_async, reason = "it stands in for that of tokio")]
async fn lookup_host((host, port): (&str, u16)) -> io::Result<impl Iterator<Item = SocketAddr>> {
    let name = regex::Regex::new(&format!("^{host}(-[0-9]+)?$")).map_err(io::Error::other)?;
    let addresses = turmoil::lookup_many(name);
    Ok(addresses
        .into_iter()
        .map(move |address| SocketAddr::new(address, port)))
}

/// What clients must know about a service.
#[derive(Clone, Copy, Debug)]
pub struct ServiceInfo {
    /// The program that runs it, for log lines and errors.
    pub program: &'static str,
    /// Its usual port, for errors.
    pub default_port: u16,
    /// Its name in `grpc.health.v1`.
    pub health_name: &'static str,
}

pub(crate) type Connected = io::Result<Box<dyn Stream>>;

#[async_trait]
pub(crate) trait Discover: Send + Sync + 'static {
    /// The current addresses, one for each replica.
    async fn addresses(&self) -> io::Result<Vec<SocketAddr>>;

    async fn connect(&self, address: SocketAddr) -> Connected;

    /// The scheme and authority of requests.
    fn origin(&self) -> Uri;
}

/// A single replica, whose streams this function opens.
pub(crate) struct Single<C>(pub(crate) C);

#[async_trait]
impl<C, F> Discover for Single<C>
where
    C: Fn() -> F + Send + Sync + 'static,
    F: Future<Output = Connected> + Send + 'static,
{
    /// Stands for an address.
    async fn addresses(&self) -> io::Result<Vec<SocketAddr>> {
        Ok(vec![SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0))])
    }

    async fn connect(&self, _: SocketAddr) -> Connected {
        (self.0)().await
    }

    fn origin(&self) -> Uri {
        Uri::from_static("http://in-memory")
    }
}

/// The address of a service is not a URL that gRPC can use.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("must be {scheme}://, a host and a port, such as {scheme}://{program}:{port}")]
pub struct InvalidAddress {
    scheme: &'static str,
    program: &'static str,
    port: u16,
}

/// A host name or IP address, resolved anew for each list of addresses.
#[derive(Debug)]
pub(crate) struct DnsTarget {
    /// Without the brackets of IPv6 addresses in URLs.
    host: String,
    port: u16,
    origin: Uri,
    /// Every replica must prove to be `host`; `None` for plain text.
    tls: Option<ClientTls>,
}

impl DnsTarget {
    /// Parses an `http` URL or, with `tls`, an `https` URL.
    pub(crate) fn parse(
        service: ServiceInfo,
        address: &str,
        tls: Option<ClientTls>,
    ) -> Result<Self, InvalidAddress> {
        let scheme = if tls.is_some() { "https" } else { "http" };
        let (program, port) = (service.program, service.default_port);
        let parsed = parse(address, scheme).ok_or(InvalidAddress {
            scheme,
            program,
            port,
        });
        parsed.map(|(host, port, origin)| Self {
            host,
            port,
            origin,
            tls,
        })
    }
}

fn parse(address: &str, scheme: &str) -> Option<(String, u16, Uri)> {
    let origin: Uri = address.parse().ok()?;
    let host = origin.host().filter(|host| !host.is_empty())?;
    let has_user = origin.authority()?.as_str().contains('@');
    let has_path = origin.path_and_query().is_some_and(|path| path != "/");
    if origin.scheme_str() != Some(scheme) || has_user || has_path {
        return None;
    }
    let host = host
        .trim_start_matches('[')
        .trim_end_matches(']')
        .to_owned();
    // Port 0 is valid for listeners only.
    let port = origin.port_u16().filter(|port| *port != 0)?;
    Some((host, port, origin))
}

#[async_trait]
impl Discover for DnsTarget {
    async fn addresses(&self) -> io::Result<Vec<SocketAddr>> {
        Ok(lookup_host((&*self.host, self.port)).await?.collect())
    }

    async fn connect(&self, address: SocketAddr) -> Connected {
        let stream = TcpStream::connect(address).await?;
        // Small messages must not wait for the acknowledgement of earlier ones.
        stream.set_nodelay(true)?;
        Ok(match &self.tls {
            Some(tls) => Box::new(tls.connect(&self.host, stream).await?),
            None => Box::new(stream),
        })
    }

    fn origin(&self) -> Uri {
        self.origin.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::{InvalidAddress, parse};

    #[test]
    fn address_is_a_plain_url_with_host_and_port() {
        for (scheme, other) in [("http", "https"), ("https", "http")] {
            for (good, host) in [("auth-service:50051", "auth-service"), ("[::1]:1", "::1")] {
                let target = parse(&format!("{scheme}://{good}"), scheme).expect(good);
                assert_eq!(target.0, host);
            }
            for wrong in ["auth", "", "auth:0", "auth:1/path", "me:secret@auth:1"] {
                assert!(
                    parse(&format!("{scheme}://{wrong}"), scheme).is_none(),
                    "{wrong}"
                );
            }
            for wrong in ["", "auth:1", "ftp://auth:1", &format!("{other}://auth:1")] {
                assert!(parse(wrong, scheme).is_none(), "{wrong}");
            }
        }
    }

    #[test]
    fn error_shows_a_valid_address() {
        let error = InvalidAddress {
            scheme: "https",
            program: "auth-service",
            port: 50051,
        };
        let expected = "must be https://, a host and a port, such as https://auth-service:50051";
        assert_eq!(error.to_string(), expected);
    }
}
