//! Finds the replicas of a service, and opens streams to them.

use crate::connection::Stream;
#[cfg(simulation)]
use crate::test_support::{TcpStream, lookup_host};
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

/// The facts about a service that a channel to it needs.
#[derive(Clone, Copy, Debug)]
pub struct ServiceInfo {
    /// The name of the program that runs the service, for log lines and errors.
    pub program: &'static str,
    /// The usual port of the service, for errors.
    pub default_port: u16,
    /// The name of the service in `grpc.health.v1`.
    pub health_name: &'static str,
}

/// Finds the replicas of a service and connects to them.
#[async_trait]
pub(crate) trait Discover: Send + Sync + 'static {
    /// Returns the current addresses, one for each replica.
    async fn addresses(&self) -> io::Result<Vec<SocketAddr>>;

    async fn connect(&self, address: SocketAddr) -> io::Result<Box<dyn Stream>>;

    /// Returns the scheme and the authority that requests carry.
    fn origin(&self) -> Uri;
}

/// A service with a single replica, to which `connector` opens streams.
pub(crate) struct SingleReplica<C> {
    pub(crate) connector: C,
}

#[async_trait]
impl<C, F> Discover for SingleReplica<C>
where
    C: Fn() -> F + Send + Sync + 'static,
    F: Future<Output = io::Result<Box<dyn Stream>>> + Send + 'static,
{
    /// Returns a placeholder, because the replica has no address.
    async fn addresses(&self) -> io::Result<Vec<SocketAddr>> {
        Ok(vec![SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0))])
    }

    async fn connect(&self, _: SocketAddr) -> io::Result<Box<dyn Stream>> {
        (self.connector)().await
    }

    fn origin(&self) -> Uri {
        Uri::from_static("http://in-memory")
    }
}

/// The error for a service address that is not a URL of the required scheme with a host and a port.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("must be {scheme}://, a host and a port, such as {scheme}://{program}:{port}")]
pub struct InvalidAddress {
    scheme: &'static str,
    program: &'static str,
    port: u16,
}

/// The URL of a service, which has a scheme, a host and a port.
#[derive(Debug)]
struct ServiceUrl {
    /// A host name or an IP address, without the brackets that URLs have around IPv6 addresses.
    host: String,
    port: u16,
    origin: Uri,
}

impl ServiceUrl {
    fn parse(text: &str, scheme: &str) -> Option<Self> {
        let origin: Uri = text.parse().ok()?;
        let has_user = origin.authority()?.as_str().contains('@');
        let has_path = origin.path_and_query().is_some_and(|path| path != "/");
        if origin.scheme_str() != Some(scheme) || has_user || has_path {
            return None;
        }
        let host = origin
            .host()?
            .trim_start_matches('[')
            .trim_end_matches(']')
            .to_owned();
        let port = origin.port_u16()?;
        // Port 0 is valid only for listeners.
        if host.is_empty() || port == 0 {
            return None;
        }
        Some(Self { host, port, origin })
    }
}

/// The host name or IP address of a service URL. The name is resolved again whenever the addresses are
/// requested.
#[derive(Debug)]
pub(crate) struct DnsTarget {
    url: ServiceUrl,
    /// The TLS configuration, with which every replica must prove that it is the host of the URL; `None` for
    /// plain text.
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
        match ServiceUrl::parse(address, scheme) {
            Some(url) => Ok(Self { url, tls }),
            None => Err(InvalidAddress {
                scheme,
                program: service.program,
                port: service.default_port,
            }),
        }
    }
}

#[async_trait]
impl Discover for DnsTarget {
    async fn addresses(&self) -> io::Result<Vec<SocketAddr>> {
        Ok(lookup_host((&*self.url.host, self.url.port))
            .await?
            .collect())
    }

    async fn connect(&self, address: SocketAddr) -> io::Result<Box<dyn Stream>> {
        let stream = TcpStream::connect(address).await?;
        // Without this option, small messages would wait for the acknowledgement of earlier ones.
        stream.set_nodelay(true)?;
        Ok(match &self.tls {
            Some(tls) => Box::new(tls.connect(&self.url.host, stream).await?),
            None => Box::new(stream),
        })
    }

    fn origin(&self) -> Uri {
        self.url.origin.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::{InvalidAddress, ServiceUrl};

    #[test]
    fn address_is_a_plain_url_with_host_and_port() {
        for (scheme, other) in [("http", "https"), ("https", "http")] {
            for (good, host) in [("auth-service:50051", "auth-service"), ("[::1]:1", "::1")] {
                let url = ServiceUrl::parse(&format!("{scheme}://{good}"), scheme).expect(good);
                assert_eq!(url.host, host);
            }
            for wrong in ["auth", "", "auth:0", "auth:1/path", "me:secret@auth:1"] {
                assert!(
                    ServiceUrl::parse(&format!("{scheme}://{wrong}"), scheme).is_none(),
                    "{wrong}"
                );
            }
            for wrong in ["", "auth:1", "ftp://auth:1", &format!("{other}://auth:1")] {
                assert!(ServiceUrl::parse(wrong, scheme).is_none(), "{wrong}");
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
