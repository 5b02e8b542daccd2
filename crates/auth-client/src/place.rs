//! Where replicas are, and how they are reached.

use crate::replica::Dial;
use grpc_tls::ClientTls;
use http::Uri;
use std::{future::Future, io, net::SocketAddr, sync::Arc};
use tokio::net::{TcpStream, lookup_host};

/// Where replicas are.
pub(crate) trait Place: Send + 'static {
    /// One address for each replica of this moment.
    fn addresses(&self) -> impl Future<Output = io::Result<Vec<SocketAddr>>> + Send;

    /// The way to one of them.
    fn dial(&self, address: SocketAddr) -> Dial;

    /// The URL that requests name.
    fn origin(&self) -> Uri;
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
