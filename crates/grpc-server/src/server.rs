//! A gRPC server: one service, `grpc.health.v1` and reflection, under limits.

use crate::{
    call_layer::{self, CallLayer},
    caller::IGNORED,
    incoming::{self, PREFACE_TIMEOUT},
    listener::{Connections, GrpcListener},
    message_limits::MAX_MESSAGE,
};
use rolegate_program::{
    cidr_set::CidrSet,
    program::Failure,
    shutdown::{DRAIN_TIMEOUT, Shutdown},
};
use std::{future::ready, sync::Arc, time::Duration};
use tokio_stream::wrappers::ReceiverStream;
use tonic::{service::Routes, transport::Server};
use tonic_health::{ServingStatus, server::HealthReporter};

/// For every call; a client may set a shorter one.
const MAX_CALL_TIMEOUT: Duration = Duration::from_secs(30);

/// Calls of a connection at a time; clients hold others back.
const MAX_STREAMS: u32 = 256;

/// The gRPC services of a program.
#[derive(Debug)]
pub struct GrpcServer {
    routes: Routes,
    health: HealthReporter,
    /// The server as a whole, and the service by name (grpc.health.v1).
    health_names: [&'static str; 2],
    /// Callers in these networks are trusted.
    trusted: Arc<CidrSet>,
}

impl GrpcServer {
    /// Serves the service `name` of these `descriptors`, with health and reflection. Its health is
    /// `NOT_SERVING` until [`Self::set_serving`].
    ///
    /// Accepts request ids, client addresses and traces from callers in the networks `trusted`. Callers
    /// in this process and callers with a verified certificate are always trusted.
    pub async fn new(
        service: Routes,
        name: &'static str,
        descriptors: &'static [u8],
        trusted: CidrSet,
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
        let trusted = Arc::new(trusted);
        let server = Self { routes, health: reporter, health_names: ["", name], trusted };
        server.set_serving(false).await;
        server
    }

    /// Sets the status in `grpc.health.v1`.
    pub async fn set_serving(&self, serving: bool) {
        let status = if serving { ServingStatus::Serving } else { ServingStatus::NotServing };
        for name in self.health_names {
            self.health.set_service_status(name, status).await;
        }
    }

    /// Removes the status from `grpc.health.v1`, which ends the streams of its watchers.
    pub async fn clear_health(&self) {
        let mut health = self.health.clone();
        for name in self.health_names {
            health.clear_service_status(name).await;
        }
    }

    /// Serves calls until `shutdown` stops the server, then finishes open calls within
    /// [`DRAIN_TIMEOUT`].
    pub async fn serve(&self, connections: Connections, shutdown: Shutdown) -> Result<(), Failure> {
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
