//! Where calls come from: a TCP listener, or streams within this process.

use crate::incoming::MAX_CONNECTIONS;
use rolegate_grpc_tls::ServerTls;
use rolegate_http_server::incoming::Incoming;
use rolegate_program::{descriptors, settings::SettingError};
use std::{io, net::SocketAddr, sync::Arc};
use tokio::{io::DuplexStream, sync::mpsc};

/// Where calls come from.
#[derive(Debug)]
pub enum Connections {
    /// A TCP socket.
    Tcp(GrpcListener),
    /// Streams whose other ends are in this process.
    InMemory(mpsc::Receiver<io::Result<DuplexStream>>),
}

/// A bound gRPC socket that does not accept yet.
#[derive(Debug)]
pub struct GrpcListener {
    pub(crate) incoming: Incoming,
    pub(crate) tls: Option<Arc<ServerTls>>,
}

impl GrpcListener {
    /// Binds the address of the setting `variable`.
    pub async fn bind(variable: &str, address: SocketAddr) -> Result<Self, SettingError> {
        let limit = MAX_CONNECTIONS.min(descriptors::per_listener());
        let incoming = Incoming::bind(variable, address, limit).await?;
        Ok(Self { incoming, tls: None })
    }

    /// Requires TLS, if `tls` is given.
    #[must_use]
    pub fn with_tls(self, tls: Option<Arc<ServerTls>>) -> Self {
        Self { tls, ..self }
    }

    /// The bound address, with the real port if the setting has port 0.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.incoming.address()
    }

    /// Its URL.
    #[must_use]
    pub fn url(&self) -> String {
        let scheme = if self.tls.is_some() { "https" } else { "http" };
        format!("{scheme}://{}", self.address())
    }
}
