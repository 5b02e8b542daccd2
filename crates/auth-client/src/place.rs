//! Where replicas are, and how they are reached.

use crate::replica::{Dial, ServiceClient};
use http::Uri;
use rolegate_grpc_tls::ClientTls;
use std::{future::Future, io, net::SocketAddr, sync::Arc};
use tokio::net::{TcpStream, lookup_host};

/// Where replicas are.
pub(crate) trait Place: Send + Sync + 'static {
    /// One address for each replica of this moment.
    fn addresses(&self) -> impl Future<Output = io::Result<Vec<SocketAddr>>> + Send;

    /// The way to one of them.
    fn dial(&self, address: SocketAddr) -> Dial;

    /// The URL that requests name.
    fn origin(&self) -> Uri;
}

/// The address of a service is not a URL that gRPC can use.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("must be {scheme}://, a host and a port, such as {scheme}://{program}:{port}")]
pub struct InvalidAddress {
    scheme: &'static str,
    program: &'static str,
    port: u16,
}

/// A name or an address, as in a URL.
#[derive(Clone, Debug)]
pub(crate) struct Named {
    /// Without brackets.
    pub(crate) host: Arc<str>,
    pub(crate) port: u16,
    pub(crate) origin: Uri,
    /// How connections are encrypted, if they are: each replica must prove to be `host`.
    pub(crate) tls: Option<ClientTls>,
}

impl Named {
    /// From a URL of this scheme, of the service that `C` calls; not encrypted.
    pub(crate) fn parse<C: ServiceClient>(
        address: &str,
        scheme: &'static str,
    ) -> Result<Self, InvalidAddress> {
        let invalid = || InvalidAddress { scheme, program: C::PROGRAM, port: C::PORT };
        let origin: Uri = address.parse().map_err(|_| invalid())?;
        let host = origin.host().filter(|host| !host.is_empty()).ok_or_else(invalid)?;
        let has_user = origin.authority().is_some_and(|authority| authority.as_str().contains('@'));
        let has_path = origin.path_and_query().is_some_and(|path| path != "/");
        if origin.scheme_str() != Some(scheme) || has_user || has_path {
            return Err(invalid());
        }
        // An IPv6 address stands in brackets in a URL, and without them everywhere else.
        let host = host.trim_start_matches('[').trim_end_matches(']').into();
        // Port 0 is any port to whoever listens, and none to whoever calls.
        let port = origin.port_u16().filter(|port| *port != 0).ok_or_else(invalid)?;
        Ok(Self { host, port, origin, tls: None })
    }
}

impl Place for Named {
    async fn addresses(&self) -> io::Result<Vec<SocketAddr>> {
        Ok(lookup_host((&*self.host, self.port)).await?.collect())
    }

    fn dial(&self, address: SocketAddr) -> Dial {
        let (host, tls) = (Arc::clone(&self.host), self.tls.clone());
        Arc::new(move || {
            let (host, tls) = (Arc::clone(&host), tls.clone());
            Box::pin(async move {
                let stream = TcpStream::connect(address).await?;
                // Small messages must not wait for the acknowledgement of the one before.
                stream.set_nodelay(true)?;
                Ok(match tls {
                    Some(tls) => Box::new(tls.connect(&host, stream).await?) as _,
                    None => Box::new(stream) as _,
                })
            })
        })
    }

    fn origin(&self) -> Uri {
        self.origin.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::{InvalidAddress, Named};
    use crate::service_client::Connection;
    use rolegate_proto::auth_v1::auth_service_client::AuthServiceClient;

    fn parse(address: &str, scheme: &'static str) -> Result<Named, InvalidAddress> {
        Named::parse::<AuthServiceClient<Connection>>(address, scheme)
    }

    #[test]
    fn an_address_is_a_plain_url_with_a_host() {
        for (scheme, other) in [("http", "https"), ("https", "http")] {
            for (good, host) in [("auth-service:50051", "auth-service"), ("[::1]:1", "::1")] {
                let place = parse(&format!("{scheme}://{good}"), scheme).expect(good);
                assert_eq!(&*place.host, host);
            }
            for wrong in ["auth", "", "auth:0", "auth:1/path", "me:secret@auth:1"] {
                let error = parse(&format!("{scheme}://{wrong}"), scheme).expect_err(wrong);
                assert!(
                    error.to_string().ends_with(&format!("such as {scheme}://auth-service:50051")),
                    "{error}"
                );
            }
            for wrong in ["", "auth:1", "ftp://auth:1", &format!("{other}://auth:1")] {
                assert!(parse(wrong, scheme).is_err(), "{wrong}");
            }
        }
    }
}
