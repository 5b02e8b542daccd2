//! gRPC over HTTP/2: the service itself, `grpc.health.v1` and reflection, under limits.

use crate::{
    call_layer::CallLayer,
    guests::{self, Limits},
    in_process::InProcess,
};
use rolegate_grpc_tls::ServerTls;
use rolegate_service_runtime::{
    cidr_set::CidrSet,
    program::Failure,
    program::{encrypted_listener_line, listener_line},
    settings::SettingError,
    shutdown::{DRAIN_TIMEOUT, Shutdown},
};
use std::{io, net::SocketAddr, sync::Arc, time::Duration};
use tokio::{io::DuplexStream, net::TcpListener, sync::mpsc};
use tokio_stream::{StreamExt as _, wrappers::ReceiverStream};
use tonic::{service::Routes, transport::Server};
use tonic_health::{ServingStatus, server::HealthReporter};

/// Longest time for one call, whatever its caller allows.
const LONGEST_CALL: Duration = Duration::from_secs(30);

/// Where calls come from.
#[derive(Debug)]
pub enum Connections {
    /// A TCP socket.
    Tcp(GrpcListener),
    /// Streams within this process: the other ends are held by whoever calls.
    InMemory(mpsc::Receiver<io::Result<DuplexStream>>),
}

/// A bound gRPC socket that does not accept yet.
#[derive(Debug)]
pub struct GrpcListener {
    listener: TcpListener,
    address: SocketAddr,
    tls: Option<Arc<ServerTls>>,
}

impl GrpcListener {
    /// Binds the address that the setting `variable` gave.
    pub async fn bind(variable: &str, address: SocketAddr) -> Result<Self, SettingError> {
        let bound = async {
            let listener = TcpListener::bind(address).await?;
            let address = listener.local_addr()?;
            io::Result::Ok(Self { listener, address, tls: None })
        };
        bound.await.map_err(|error| {
            SettingError::new(variable, format!("cannot listen on {address}: {error}"))
        })
    }

    /// The same, encrypted if there is something to encrypt with.
    #[must_use]
    pub fn with_tls(self, tls: Option<Arc<ServerTls>>) -> Self {
        Self { tls, ..self }
    }

    /// The bound address; its port is the real one where the setting said 0.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The line that tells people where `what` is, under this name.
    #[must_use]
    pub fn banner_line(&self, name: &str, what: &str) -> String {
        match self.tls {
            Some(_) => encrypted_listener_line(name, self.address, what),
            None => listener_line(name, Some(self.address), what),
        }
    }
}

/// Every gRPC service of this program, and the hand on what the health service says.
pub struct GrpcServer {
    routes: Routes,
    health: HealthReporter,
    /// The server as a whole, and the service by name (grpc.health.v1).
    health_names: [&'static str; 2],
    calls: CallLayer,
}

impl GrpcServer {
    /// Serves the service of this `name` and `descriptors`, its health (not serving, until
    /// [`Self::report`] says otherwise) and reflection.
    pub async fn new(service: Routes, name: &'static str, descriptors: &'static [u8]) -> Self {
        let (reporter, health) = tonic_health::server::health_reporter();
        let reflection = || {
            tonic_reflection::server::Builder::configure()
                .register_encoded_file_descriptor_set(descriptors)
                .register_encoded_file_descriptor_set(tonic_health::pb::FILE_DESCRIPTOR_SET)
        };
        let mut routes = service.add_service(health);
        // Both versions: generic clients ask for the one that was current when they were built.
        if let (Ok(v1), Ok(v1alpha)) = (reflection().build_v1(), reflection().build_v1alpha()) {
            routes = routes.add_service(v1).add_service(v1alpha);
        } else {
            tracing::error!("reflection is off: the descriptors of the contract are malformed");
        }
        let calls = CallLayer::new(descriptors);
        let server = Self { routes, health: reporter, health_names: ["", name], calls };
        server.set_serving(false).await;
        server
    }

    /// Believes these callers when they name the requests that they call for, and those requests'
    /// clients and traces. Without this nobody is believed who is not in this process.
    #[must_use]
    pub fn trusting(mut self, trusted: &CidrSet) -> Self {
        self.calls.trust(trusted.clone());
        self
    }

    /// Tells the health service whether we serve.
    pub async fn set_serving(&self, serving: bool) {
        let status = if serving { ServingStatus::Serving } else { ServingStatus::NotServing };
        for name in self.health_names {
            self.health.set_service_status(name, status).await;
        }
    }

    /// Says no more about anything; whoever watches learns that nothing will follow.
    pub async fn clear_health(&self) {
        let mut health = self.health.clone();
        for name in self.health_names {
            health.clear_service_status(name).await;
        }
    }

    /// Serves one kind of connections until `shutdown` says stop; then finishes what is in flight,
    /// for [`DRAIN_TIMEOUT`] at the most.
    pub async fn serve(&self, connections: Connections, shutdown: Shutdown) -> Result<(), Failure> {
        let server = limited_server().layer(self.calls.clone()).add_routes(self.routes.clone());
        let stopping = shutdown.stopping();
        let serving = async {
            match connections {
                Connections::Tcp(GrpcListener { listener, address, tls }) => {
                    let (limits, until) = (Limits::default(), shutdown.stopping());
                    if let Some(tls) = tls {
                        let guests = guests::encrypted(listener, tls, limits, until);
                        return server.serve_with_incoming_shutdown(guests, stopping).await;
                    }
                    if !address.ip().to_canonical().is_loopback() {
                        tracing::warn!(
                            %address,
                            "gRPC is not encrypted here: passwords and tokens can be read on the way"
                        );
                    }
                    let guests = guests::plain(listener, limits, until);
                    server.serve_with_incoming_shutdown(guests, stopping).await
                }
                Connections::InMemory(streams) => {
                    let incoming = ReceiverStream::new(streams);
                    let incoming = incoming.map(|stream| stream.map(InProcess));
                    server.serve_with_incoming_shutdown(incoming, stopping).await
                }
            }
        };
        let drained = async {
            shutdown.stopping().await;
            tokio::time::sleep(DRAIN_TIMEOUT).await;
        };
        tokio::select! {
            outcome = serving => outcome.map_err(|error| Failure::Other(Box::new(error))),
            () = drained => {
                tracing::warn!("calls were cut at the end of the drain time");
                Ok(())
            }
        }
    }
}

fn limited_server() -> Server {
    Server::builder()
        .timeout(LONGEST_CALL)
        .max_concurrent_streams(1024)
        .http2_keepalive_interval(Some(Duration::from_secs(20)))
        .http2_keepalive_timeout(Some(Duration::from_secs(10)))
        .http2_max_header_list_size(16 * 1024)
        // A peer that opens and resets streams to keep us busy (CVE-2023-44487) is cut off.
        .http2_max_pending_accept_reset_streams(Some(64))
}

impl std::fmt::Debug for GrpcServer {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("GrpcServer").finish_non_exhaustive()
    }
}
