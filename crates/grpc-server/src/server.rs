//! A gRPC server: one service on its store, `grpc.health.v1` and reflection, under limits.

use crate::{
    call_head::MAX_METADATA,
    call_layer::{self, Observed},
    caller::IGNORED,
    connection::{self, Connection, MAX_CONNECTIONS, PREFACE_TIMEOUT},
    message_limits::MAX_MESSAGE,
};
use futures_util::future::BoxFuture;
use rolegate_http_server::{listener::Listener, readiness::Readiness};
use rolegate_program::{
    cidr_set::CidrSet,
    descriptors,
    program::Failure,
    settings::SettingError,
    shutdown::{DRAIN_TIMEOUT, Shutdown},
};
use rolegate_sql_store::Store;
use std::{io, net::SocketAddr, pin::Pin, sync::Arc, time::Duration};
use tokio::{io::DuplexStream, sync::mpsc};
use tokio_stream::{Stream, StreamExt as _, wrappers::ReceiverStream};
use tonic::{service::Routes, transport::Server};
use tonic_health::server::HealthReporter;
use tower::layer::layer_fn;

/// For every call; a client may set a shorter one.
const MAX_CALL_TIMEOUT: Duration = Duration::from_secs(30);

/// Calls of a connection at a time; clients hold others back.
const MAX_STREAMS: u32 = 256;

/// Streams whose other ends are in this process.
pub type InMemoryStreams = mpsc::Receiver<io::Result<DuplexStream>>;

/// Binds the address of the setting `variable`.
pub async fn bind(variable: &str, address: SocketAddr) -> Result<Listener, SettingError> {
    Listener::bind(
        variable,
        address,
        MAX_CONNECTIONS.min(descriptors::per_listener()),
    )
    .await
}

/// A gRPC service on an open store.
pub struct GrpcServer {
    /// What it serves.
    pub routes: Routes,
    pub(crate) health: HealthReporter,
    /// The server as a whole, and the service by name (grpc.health.v1).
    pub(crate) health_names: [&'static str; 2],
    trusted: Arc<CidrSet>,
    pub(crate) store: Arc<dyn Store>,
    /// Stops when the server does: for streams that would not end by themselves.
    pub end_of_streams: Shutdown,
    /// Called after the last call, before the store is closed: for what is still to be written.
    pub before_close: Box<dyn Fn() + Send + Sync>,
}

impl GrpcServer {
    /// Serves the service `name` of these `descriptors`, with health and reflection.
    ///
    /// Accepts request ids, client addresses and traces from callers in the networks `trusted`. Callers
    /// in this process and callers with a verified certificate are always trusted.
    #[must_use]
    pub fn new(
        service: Routes,
        name: &'static str,
        descriptors: &'static [u8],
        trusted: CidrSet,
        store: Arc<dyn Store>,
    ) -> BoxFuture<'static, Self> {
        Box::pin(async move {
            let (reporter, health) = tonic_health::server::health_reporter();
            let health = health.max_decoding_message_size(MAX_MESSAGE);
            let reflection = || {
                tonic_reflection::server::Builder::configure()
                    .register_encoded_file_descriptor_set(descriptors)
                    .register_encoded_file_descriptor_set(tonic_health::pb::FILE_DESCRIPTOR_SET)
                    // The details of every error: google.rpc.ErrorInfo and RetryInfo.
                    .register_encoded_file_descriptor_set(tonic_types::pb::FILE_DESCRIPTOR_SET)
            };
            let mut routes = service.add_service(health);
            // Clients ask for the version that was current when they were built.
            if let (Ok(v1), Ok(v1alpha)) = (reflection().build_v1(), reflection().build_v1alpha()) {
                routes = routes
                    .add_service(v1.max_decoding_message_size(MAX_MESSAGE))
                    .add_service(v1alpha.max_decoding_message_size(MAX_MESSAGE));
            } else {
                tracing::error!("reflection is off: the descriptors are malformed");
            }
            call_layer::register_metrics();
            IGNORED.register_metric();
            let (health_names, trusted) = (["", name], Arc::new(trusted));
            let end_of_streams = Shutdown::new();
            let server = Self {
                routes,
                health: reporter,
                health_names,
                trusted,
                store,
                end_of_streams,
                before_close: Box::new(|| {}),
            };
            server.set_serving(false).await;
            server
        })
    }

    /// Serves `tcp` until `shutdown` and `in_memory` until its own shutdown, which must not come
    /// earlier; then closes the store. Until then `readiness` and `grpc.health.v1` follow the store.
    #[must_use]
    pub fn serve<'a>(
        &'a self,
        tcp: Option<Listener>,
        in_memory: Option<(InMemoryStreams, Shutdown)>,
        readiness: Readiness,
        shutdown: &'a Shutdown,
    ) -> BoxFuture<'a, Result<(), Failure>> {
        // Boxed: each crate that awaits an `async fn` compiles it anew, with all of tonic and hyper.
        Box::pin(async move {
            let last = in_memory
                .as_ref()
                .map_or(shutdown, |(_, last)| last)
                .clone();
            let over_tcp = async {
                let Some(listener) = tcp else { return Ok(()) };
                let address = listener.address();
                if !listener.has_tls() && !address.ip().to_canonical().is_loopback() {
                    tracing::warn!(
                        %address,
                        "gRPC is not encrypted here: the network can read passwords and tokens"
                    );
                }
                let accepted = connection::accept(listener, PREFACE_TIMEOUT, shutdown.stopping());
                self.serve_connections(Box::pin(accepted), shutdown).await
            };
            let over_memory = async {
                let Some((streams, shutdown)) = in_memory else {
                    return Ok(());
                };
                let streams = ReceiverStream::new(streams);
                let connections = streams.map(|stream| stream.map(Connection::in_memory));
                self.serve_connections(Box::pin(connections), &shutdown)
                    .await
            };
            let end_streams = async {
                shutdown.stopping().await;
                self.end_of_streams.stop_now();
            };
            let monitor = self.monitor_store(readiness, shutdown, &last);
            let (tcp, memory, (), ()) = tokio::join!(over_tcp, over_memory, monitor, end_streams);
            (self.before_close)();
            self.store.close().await;
            tcp.and(memory)
        })
    }

    /// Serves calls until `shutdown` stops the server, then finishes open calls within
    /// [`DRAIN_TIMEOUT`].
    async fn serve_connections(
        &self,
        connections: Pin<Box<dyn Stream<Item = io::Result<Connection>> + Send>>,
        shutdown: &Shutdown,
    ) -> Result<(), Failure> {
        let trusted = Arc::clone(&self.trusted);
        let observe = layer_fn(move |services| Observed {
            services,
            trusted: trusted.clone(),
        });
        let server = limited_server()
            .layer(observe)
            .add_routes(self.routes.clone());
        let serving = server.serve_with_incoming_shutdown(connections, shutdown.stopping());
        let drained = async {
            shutdown.stopping().await;
            tokio::time::sleep(DRAIN_TIMEOUT).await;
        };
        tokio::select! {
            outcome = serving => outcome.map_err(Failure::from),
            () = drained => {
                tracing::warn!("drain timeout: open calls were cancelled");
                Ok(())
            }
        }
    }
}

fn limited_server() -> Server {
    Server::builder()
        .timeout(MAX_CALL_TIMEOUT)
        .max_concurrent_streams(MAX_STREAMS)
        .http2_keepalive_interval(Some(Duration::from_secs(20)))
        .http2_keepalive_timeout(Some(Duration::from_secs(10)))
        // More than metadata may have: above this, HTTP/2 itself answers 431, which gRPC clients take for UNKNOWN.
        .http2_max_header_list_size(4 * u32::from(MAX_METADATA))
        // Closes connections that open and reset streams to cause load (CVE-2023-44487).
        .http2_max_pending_accept_reset_streams(Some(64))
        // Likewise for streams that they make this server reset (CVE-2025-8671): tonic has no limit.
        .http2_max_local_error_reset_streams(Some(64))
}
