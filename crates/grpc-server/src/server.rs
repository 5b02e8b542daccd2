//! Serves one gRPC service on its store, with `grpc.health.v1` and reflection, under limits.

use crate::{
    call::{IGNORED_ADDRESSES, MAX_METADATA, MAX_TIMEOUT},
    connection::{self, Connection, MAX_CONNECTIONS, PREFACE_TIMEOUT},
    incoming_calls::IncomingCalls,
    methods::{self, MAX_MESSAGE, MethodTable, Next, ResponseFuture},
    readiness_monitor::{ReadinessMonitor, ServiceHealth},
};
use futures_util::{future::BoxFuture, stream::BoxStream};
use http::Request;
use rolegate_http_server::{listener::Listener, readiness::Readiness};
use rolegate_program::{
    cidr_set::CidrSet,
    descriptors,
    failure::Failure,
    settings::SettingError,
    shutdown::{DRAIN_TIMEOUT, Shutdown},
};
use rolegate_sql_store::Store;
use std::{io, net::SocketAddr, sync::Arc, time::Duration};
use tokio::{io::DuplexStream, sync::mpsc};
use tokio_stream::{StreamExt as _, wrappers::ReceiverStream};
use tonic::{body::Body, transport::Server};

/// The methods of `grpc.health.v1`.
pub(crate) const HEALTH_METHODS: [&str; 2] = [
    "/grpc.health.v1.Health/Check",
    "/grpc.health.v1.Health/Watch",
];

/// The maximum number of concurrent calls on a connection. Clients hold back further calls.
const MAX_STREAMS: u32 = 256;

/// A receiver of streams whose other ends are in this process.
pub type InMemoryStreams = mpsc::Receiver<io::Result<DuplexStream>>;

/// The callers that run in the same process as the server.
#[derive(Debug)]
pub struct InMemoryCallers {
    /// The connections of these callers.
    pub streams: InMemoryStreams,
    /// The shutdown of the server for these callers. It begins after the last of their calls, and not before
    /// the shutdown of the whole server.
    pub shutdown: Shutdown,
}

/// Binds a listener to an address and limits its connections. Errors name the setting `variable`, from which
/// the address comes.
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
    /// The methods of the service, of health and of reflection.
    methods: Arc<MethodTable>,
    health: ServiceHealth,
    trusted: Arc<CidrSet>,
    store: Arc<dyn Store>,
    /// A shutdown that begins when the server stops accepting calls. Handlers use it to end streams that would
    /// not end by themselves.
    pub end_of_streams: Shutdown,
    /// A function that is called after the last call and before the store is closed, to write what is still
    /// pending.
    pub before_close: Box<dyn Fn() + Send + Sync>,
}

impl GrpcServer {
    /// Creates a server for the service `name` of these `descriptors`, with health and reflection. Its health
    /// is `NOT_SERVING` until [`Self::serve`] has reached the store.
    ///
    /// The server accepts request ids, client addresses and traces from callers in the networks `trusted`.
    /// Callers in this process and callers with a verified certificate are always trusted.
    pub async fn new(
        mut methods: MethodTable,
        name: &'static str,
        descriptors: &'static [u8],
        trusted: CidrSet,
        store: Arc<dyn Store>,
    ) -> Self {
        let (reporter, health_service) = tonic_health::server::health_reporter();
        let health_service = health_service.max_decoding_message_size(MAX_MESSAGE);
        methods::register_metrics();
        IGNORED_ADDRESSES.register_metric();
        let health = ServiceHealth::new(reporter, name);
        health.set_serving(false).await;
        methods.add_service(&health_service, &HEALTH_METHODS);
        add_reflection(&mut methods, descriptors);
        Self {
            methods: Arc::new(methods),
            health,
            trusted: Arc::new(trusted),
            store,
            end_of_streams: Shutdown::new(),
            before_close: Box::new(|| {}),
        }
    }

    /// Passes the calls of every method through `middleware`, with which test programs record calls or let them
    /// fail.
    pub fn wrap_methods(
        &mut self,
        middleware: impl Fn(Request<Body>, Next) -> ResponseFuture + Clone + Send + Sync + 'static,
    ) {
        self.methods = Arc::new(self.methods.wrap(middleware));
    }

    /// Serves `tcp` until `shutdown`, and `in_memory` until its own shutdown, which must not come earlier. Then
    /// it calls `before_close` and closes the store. Until the shutdown, `readiness` and `grpc.health.v1`
    /// follow the store.
    #[must_use]
    pub fn serve<'a>(
        &'a self,
        tcp: Option<Listener>,
        in_memory: Option<InMemoryCallers>,
        readiness: Readiness,
        shutdown: &'a Shutdown,
    ) -> BoxFuture<'a, Result<(), Failure>> {
        // The future is boxed because each crate that awaits an `async fn` compiles it again, with all of
        // tonic and hyper.
        Box::pin(async move {
            let last_shutdown = match &in_memory {
                Some(callers) => callers.shutdown.clone(),
                None => shutdown.clone(),
            };
            let monitor = ReadinessMonitor {
                store: &*self.store,
                health: &self.health,
                readiness,
            };
            let end_streams = async {
                shutdown.stopping().await;
                self.end_of_streams.stop_now();
            };
            let (tcp, in_memory, (), ()) = tokio::join!(
                self.serve_tcp(tcp, shutdown),
                self.serve_in_memory(in_memory),
                monitor.run(shutdown, &last_shutdown),
                end_streams
            );
            (self.before_close)();
            self.store.close().await;
            tcp.and(in_memory)
        })
    }

    async fn serve_tcp(
        &self,
        listener: Option<Listener>,
        shutdown: &Shutdown,
    ) -> Result<(), Failure> {
        let Some(listener) = listener else {
            return Ok(());
        };
        let address = listener.address();
        if !listener.has_tls() && !address.ip().to_canonical().is_loopback() {
            tracing::warn!(
                %address,
                "gRPC is not encrypted here: the network can read passwords and tokens"
            );
        }
        let connections = connection::accept(listener, PREFACE_TIMEOUT, shutdown.stopping());
        self.serve_connections(Box::pin(connections), shutdown)
            .await
    }

    async fn serve_in_memory(&self, callers: Option<InMemoryCallers>) -> Result<(), Failure> {
        let Some(callers) = callers else {
            return Ok(());
        };
        let streams = ReceiverStream::new(callers.streams);
        let connections = streams.map(|stream| stream.map(Connection::in_memory));
        self.serve_connections(Box::pin(connections), &callers.shutdown)
            .await
    }

    /// Serves calls until `shutdown` stops the server, then lets open calls finish within [`DRAIN_TIMEOUT`],
    /// and cancels the others with a warning.
    async fn serve_connections(
        &self,
        connections: BoxStream<'static, io::Result<Connection>>,
        shutdown: &Shutdown,
    ) -> Result<(), Failure> {
        let calls = IncomingCalls {
            methods: Arc::clone(&self.methods),
            trusted: Arc::clone(&self.trusted),
        };
        let server = limited_server();
        let serving = server.serve_with_incoming_shutdown(calls, connections, shutdown.stopping());
        let drain_timeout = async {
            shutdown.stopping().await;
            tokio::time::sleep(DRAIN_TIMEOUT).await;
        };
        tokio::select! {
            outcome = serving => outcome.map_err(Failure::from),
            () = drain_timeout => {
                tracing::warn!("drain timeout: open calls were cancelled");
                Ok(())
            }
        }
    }
}

/// Adds reflection of these descriptors. It is served in two versions, because a client requests the version that
/// was current when the client was built. If the descriptors are malformed, logs an error and adds nothing.
fn add_reflection(methods: &mut MethodTable, descriptors: &'static [u8]) {
    let reflection = || {
        tonic_reflection::server::Builder::configure()
            .register_encoded_file_descriptor_set(descriptors)
            .register_encoded_file_descriptor_set(tonic_health::pb::FILE_DESCRIPTOR_SET)
            // Every error has details in these messages: `google.rpc.ErrorInfo` and `RetryInfo`.
            .register_encoded_file_descriptor_set(tonic_types::pb::FILE_DESCRIPTOR_SET)
    };
    let (Ok(v1), Ok(v1alpha)) = (reflection().build_v1(), reflection().build_v1alpha()) else {
        tracing::error!("reflection is off: the descriptors are malformed");
        return;
    };
    methods.add_service(
        &v1.max_decoding_message_size(MAX_MESSAGE),
        &["/grpc.reflection.v1.ServerReflection/ServerReflectionInfo"],
    );
    methods.add_service(
        &v1alpha.max_decoding_message_size(MAX_MESSAGE),
        &["/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo"],
    );
}

fn limited_server() -> Server {
    Server::builder()
        .timeout(MAX_TIMEOUT)
        .max_concurrent_streams(MAX_STREAMS)
        .http2_keepalive_interval(Some(Duration::from_secs(20)))
        .http2_keepalive_timeout(Some(Duration::from_secs(10)))
        // The limit of HTTP/2 is higher than the limit of metadata, because HTTP/2 answers headers over its own
        // limit with 431, which gRPC clients treat as UNKNOWN.
        .http2_max_header_list_size(4 * u32::from(MAX_METADATA))
        // This limit closes connections that open and reset streams to cause load (CVE-2023-44487).
        .http2_max_pending_accept_reset_streams(Some(64))
        // This limit closes connections that make this server reset many streams to cause load (CVE-2025-8671).
        // tonic itself sets no such limit.
        .http2_max_local_error_reset_streams(Some(64))
}
