//! A gRPC server: one service on its store, `grpc.health.v1` and reflection, under limits.

use crate::{
    call_layer::{self, CallLayer},
    caller::IGNORED,
    incoming::{self, PREFACE_TIMEOUT},
    listener::{Connections, GrpcListener},
    message_limits::MAX_MESSAGE,
};
use async_trait::async_trait;
use rolegate_http_server::readiness::Readiness;
use rolegate_program::{
    cidr_set::CidrSet,
    program::Failure,
    shutdown::{DRAIN_TIMEOUT, Shutdown},
};
use std::{error::Error, fmt, future::ready, sync::Arc, time::Duration};
use tokio_stream::wrappers::ReceiverStream;
use tonic::{service::Routes, transport::Server};
use tonic_health::server::HealthReporter;

/// For every call; a client may set a shorter one.
const MAX_CALL_TIMEOUT: Duration = Duration::from_secs(30);

/// Calls of a connection at a time; clients hold others back.
const MAX_STREAMS: u32 = 256;

/// What a server needs of the store of its service.
#[async_trait]
pub trait HostedStore: Send + Sync + 'static {
    /// Fails if the database does not answer. The value is why writes fail; `None` if they succeed, or
    /// none was tried.
    async fn check(&self) -> Result<Option<Arc<str>>, Box<dyn Error + Send + Sync>>;

    /// Finishes pending statements and closes every connection.
    async fn close(&self);
}

/// A gRPC service on an open store.
pub struct GrpcServer<S: ?Sized> {
    routes: Routes,
    pub(crate) health: HealthReporter,
    /// The server as a whole, and the service by name (grpc.health.v1).
    pub(crate) health_names: [&'static str; 2],
    /// Callers in these networks are trusted.
    trusted: Arc<CidrSet>,
    pub(crate) store: Arc<S>,
}

impl<S: HostedStore + ?Sized> GrpcServer<S> {
    /// Serves the service `name` of these `descriptors`, with health and reflection.
    ///
    /// Accepts request ids, client addresses and traces from callers in the networks `trusted`. Callers
    /// in this process and callers with a verified certificate are always trusted.
    pub async fn new(
        service: Routes,
        name: &'static str,
        descriptors: &'static [u8],
        trusted: CidrSet,
        store: Arc<S>,
    ) -> Self {
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
        let server = Self { routes, health: reporter, health_names, trusted, store };
        server.set_serving(false).await;
        server
    }

    /// Serves `tcp` until `shutdown` and `in_memory` until its own shutdown, which must not come
    /// earlier; then closes the store. Until then `readiness` and `grpc.health.v1` follow the store.
    pub async fn serve(
        &self,
        tcp: Option<GrpcListener>,
        in_memory: Option<(Connections, Shutdown)>,
        readiness: Readiness,
        shutdown: &Shutdown,
    ) -> Result<(), Failure> {
        let last = in_memory.as_ref().map_or(shutdown, |(_, last)| last).clone();
        let tcp = tcp.map(|listener| (Connections::Tcp(listener), shutdown.clone()));
        let (tcp, memory, ()) = tokio::join!(
            self.serve_connections(tcp),
            self.serve_connections(in_memory),
            self.monitor_store(readiness, shutdown, &last),
        );
        self.store.close().await;
        tcp.and(memory)
    }

    /// Serves calls until the shutdown stops accepting, then finishes open calls within
    /// [`DRAIN_TIMEOUT`].
    async fn serve_connections(
        &self,
        connections: Option<(Connections, Shutdown)>,
    ) -> Result<(), Failure> {
        let Some((connections, shutdown)) = connections else { return Ok(()) };
        let is_in_process = matches!(connections, Connections::InMemory(_));
        let layer = CallLayer { trusted: Arc::clone(&self.trusted), is_in_process };
        let server = limited_server().layer(layer).add_routes(self.routes.clone());
        let (stopping, until) = (shutdown.stopping(), shutdown.stopping());
        let serving = async {
            match connections {
                Connections::Tcp(GrpcListener { incoming, tls: Some(tls) }) => {
                    let incoming =
                        incoming::accept(incoming, PREFACE_TIMEOUT, until, move |stream| {
                            tls.acceptor().accept(stream)
                        });
                    server.serve_with_incoming_shutdown(incoming, stopping).await
                }
                Connections::Tcp(GrpcListener { incoming, tls: None }) => {
                    let address = incoming.address();
                    if !address.ip().to_canonical().is_loopback() {
                        tracing::warn!(
                            %address,
                            "gRPC is not encrypted here: the network can read passwords and tokens"
                        );
                    }
                    let incoming = incoming::accept(incoming, PREFACE_TIMEOUT, until, |stream| {
                        ready(Ok(stream))
                    });
                    server.serve_with_incoming_shutdown(incoming, stopping).await
                }
                Connections::InMemory(streams) => {
                    let incoming = ReceiverStream::new(streams);
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
                tracing::warn!("drain timeout: open calls were cancelled");
                Ok(())
            }
        }
    }
}

impl<S: ?Sized> fmt::Debug for GrpcServer<S> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("GrpcServer").finish_non_exhaustive()
    }
}

fn limited_server() -> Server {
    Server::builder()
        .timeout(MAX_CALL_TIMEOUT)
        .max_concurrent_streams(MAX_STREAMS)
        .http2_keepalive_interval(Some(Duration::from_secs(20)))
        .http2_keepalive_timeout(Some(Duration::from_secs(10)))
        .http2_max_header_list_size(16 * 1024)
        // Closes connections that open and reset streams to cause load (CVE-2023-44487).
        .http2_max_pending_accept_reset_streams(Some(64))
        // Likewise for streams that they make this server reset (CVE-2025-8671): tonic has no limit.
        .http2_max_local_error_reset_streams(Some(64))
}
