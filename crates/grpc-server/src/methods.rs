//! The methods of a server: which handler serves the calls of a method, and how they are counted.
//!
//! A service lists its handlers with [`Methods`]. The message that a handler takes says which method it serves: the
//! generated code of the contract implements [`UnaryRequest`] for it, with the path and the type of the response. So
//! neither can be mixed up. [`MethodTable`] has the handlers of an instance of the
//! service, and those of health and reflection.

use crate::call::{Call, Caller};
use futures_util::{FutureExt as _, Stream, future::BoxFuture};
use http::{Request, Response};
use rolegate_program::metrics::{
    Histogram, HistogramVec, IntCounter, IntCounterVec, LATENCY_BUCKETS, counter_vec, histogram_vec,
};
use rolegate_proto::methods::{StreamRequest, UnaryRequest};
use std::{
    collections::HashMap,
    convert::Infallible,
    future::ready,
    sync::{Arc, LazyLock, OnceLock},
    time::Duration,
};
use tonic::{Code, Status, body::Body, server::Grpc};
use tonic_prost::ProstCodec;
use tower::{Service, service_fn};

/// The maximum size of a message in bytes, unless its method needs more. It is enough for the longest body of
/// an HTTP request, and for what the headers of that request add.
pub(crate) const MAX_MESSAGE: usize = 66 * 1024;

/// The maximum size of a long message in bytes. It is enough for a batch of the longest tokens with the
/// longest lists of roles and groups, and for the longest HTTP body with a post.
pub const MAX_LONG_MESSAGE: usize = 2200 * 1024;

static CALLS: LazyLock<IntCounterVec> = LazyLock::new(|| {
    let help = "gRPC calls by method and status code; CANCELLED also if the caller left.";
    counter_vec(
        "rolegate_grpc_requests_total",
        help,
        &["service", "method", "code"],
    )
});

static DURATIONS: LazyLock<HistogramVec> = LazyLock::new(|| {
    let help = "Time from the head of a gRPC request to the head of its response.";
    let labels = &["service", "method"];
    histogram_vec(
        "rolegate_grpc_request_duration_seconds",
        help,
        labels,
        LATENCY_BUCKETS,
    )
});

pub(crate) fn register_metrics() {
    LazyLock::force(&CALLS);
    LazyLock::force(&DURATIONS);
}

/// The future of a response.
pub type ResponseFuture = BoxFuture<'static, Response<Body>>;

/// Serves a call after the middleware of [`GrpcServer::wrap_methods`](crate::GrpcServer::wrap_methods).
pub type Next = Box<dyn FnOnce(Request<Body>) -> ResponseFuture + Send>;

type Handler = Box<dyn Fn(Caller, Request<Body>) -> ResponseFuture + Send + Sync>;
type ServiceHandler<S> =
    Box<dyn Fn(&Arc<S>, Caller, Request<Body>) -> ResponseFuture + Send + Sync>;

/// The methods of a service of the type `S`, by path.
pub struct Methods<S> {
    handlers: HashMap<&'static str, ServiceHandler<S>>,
}

impl<S> Default for Methods<S> {
    fn default() -> Self {
        Self {
            handlers: HashMap::new(),
        }
    }
}

impl<S: Send + Sync + 'static> Methods<S> {
    /// Adds a method. Its handler gets the service, the call, and the message.
    #[must_use]
    pub fn unary<R, A, E, F>(self, handler: fn(Arc<S>, Call, R) -> F) -> Self
    where
        R: UnaryRequest,
        A: Into<tonic::Response<R::Response>>,
        E: Into<Status>,
        F: Future<Output = Result<A, E>> + Send + 'static,
    {
        self.unary_with_limit(MAX_MESSAGE, handler)
    }

    /// Adds a method whose messages may have `max_message` bytes.
    #[must_use]
    pub fn unary_with_limit<R, A, E, F>(
        mut self,
        max_message: usize,
        handler: fn(Arc<S>, Call, R) -> F,
    ) -> Self
    where
        R: UnaryRequest,
        A: Into<tonic::Response<R::Response>>,
        E: Into<Status>,
        F: Future<Output = Result<A, E>> + Send + 'static,
    {
        self.handlers.insert(
            R::PATH,
            Box::new(move |service, caller, request| {
                let service = Arc::clone(service);
                let answer = service_fn(move |request| {
                    let (call, message) = Call::split(caller, request);
                    let outcome = handler(Arc::clone(&service), call, message);
                    outcome.map(|it| it.map(A::into).map_err(E::into))
                });
                let codec = ProstCodec::<R::Response, R>::default();
                let mut grpc = Grpc::new(codec).max_decoding_message_size(max_message);
                Box::pin(async move { grpc.unary(answer, request).await })
            }),
        );
        self
    }

    /// Adds a method that answers with a stream of messages.
    #[must_use]
    pub fn stream<R, A, E, F>(mut self, handler: fn(Arc<S>, Call, R) -> F) -> Self
    where
        R: StreamRequest,
        A: Stream<Item = Result<R::Response, Status>> + Send + 'static,
        E: Into<Status>,
        F: Future<Output = Result<A, E>> + Send + 'static,
    {
        self.handlers.insert(
            R::PATH,
            Box::new(move |service, caller, request| {
                let service = Arc::clone(service);
                let answer = service_fn(move |request| {
                    let (call, message) = Call::split(caller, request);
                    let outcome = handler(Arc::clone(&service), call, message);
                    outcome.map(|it| it.map(tonic::Response::new).map_err(E::into))
                });
                let codec = ProstCodec::<R::Response, R>::default();
                let mut grpc = Grpc::new(codec).max_decoding_message_size(MAX_MESSAGE);
                Box::pin(async move { grpc.server_streaming(answer, request).await })
            }),
        );
        self
    }

    /// Returns the paths of the methods.
    pub fn paths(&self) -> impl Iterator<Item = &'static str> {
        self.handlers.keys().copied()
    }

    /// Returns the methods of this instance of the service.
    pub fn bind(self, service: S) -> MethodTable {
        let service = Arc::new(service);
        let mut table = MethodTable::default();
        for (path, serve) in self.handlers {
            let service = Arc::clone(&service);
            let handler = move |caller, request| serve(&service, caller, request);
            table.insert(path, Box::new(handler));
        }
        table
    }
}

/// The methods of a server, by path.
pub struct MethodTable {
    methods: HashMap<&'static str, Arc<Method>>,
    /// Serves the calls of all other methods. They share their labels, because clients could create any number of
    /// others.
    pub(crate) unknown: Arc<Method>,
}

impl Default for MethodTable {
    fn default() -> Self {
        let unimplemented: Handler =
            Box::new(|_, _| Box::pin(ready(Status::unimplemented("").into_http())));
        Self {
            methods: HashMap::new(),
            unknown: Arc::new(Method::new("_OTHER", "_OTHER", unimplemented)),
        }
    }
}

impl MethodTable {
    /// Returns the method that a path names.
    pub(crate) fn find(&self, path: &str) -> &Arc<Method> {
        self.methods.get(path).unwrap_or(&self.unknown)
    }

    /// Adds these methods of a service that tonic's generator made.
    pub(crate) fn add_service<T>(&mut self, service: &T, paths: &[&'static str])
    where
        T: Service<Request<Body>, Response = Response<Body>, Error = Infallible>
            + Clone
            + Send
            + Sync
            + 'static,
        T::Future: Send + 'static,
    {
        for path in paths {
            let service = service.clone();
            let handler = move |_, request| -> ResponseFuture {
                let response = service.clone().call(request);
                Box::pin(response.map(|Ok(response)| response))
            };
            self.insert(path, Box::new(handler));
        }
    }

    /// Returns these methods, with `middleware` in front of each.
    pub(crate) fn wrap(
        &self,
        middleware: impl Fn(Request<Body>, Next) -> ResponseFuture + Clone + Send + Sync + 'static,
    ) -> Self {
        let mut wrapped = Self::default();
        for (path, method) in &self.methods {
            let method = Arc::clone(method);
            let middleware = middleware.clone();
            let handler = move |caller, request| {
                let method = Arc::clone(&method);
                let next = Box::new(move |request| method.serve(caller, request));
                middleware(request, next)
            };
            wrapped.insert(path, Box::new(handler));
        }
        wrapped
    }

    fn insert(&mut self, path: &'static str, handler: Handler) {
        let (service, name) = split_path(path).unwrap_or_default();
        let method = Arc::new(Method::new(service, name, handler));
        self.methods.insert(path, method);
    }
}

/// Returns the service and the method of a path such as `/service/method`.
pub(crate) fn split_path(path: &str) -> Option<(&str, &str)> {
    path.strip_prefix('/')?.split_once('/')
}

/// A method of a server, with its metrics. Each series appears with the first call that counts for it.
pub(crate) struct Method {
    service: &'static str,
    name: &'static str,
    handler: Handler,
    /// The number of calls by status code.
    calls: [OnceLock<IntCounter>; 17],
    durations: OnceLock<Histogram>,
}

impl Method {
    fn new(service: &'static str, name: &'static str, handler: Handler) -> Self {
        Self {
            service,
            name,
            handler,
            calls: [const { OnceLock::new() }; 17],
            durations: OnceLock::new(),
        }
    }

    /// Returns the response to a call. Nothing happens before it is polled.
    pub(crate) fn serve(&self, caller: Caller, request: Request<Body>) -> ResponseFuture {
        (self.handler)(caller, request)
    }

    /// Counts a call that has ended with this code.
    pub(crate) fn count(&self, code: Code) {
        self.calls[code as usize]
            .get_or_init(|| CALLS.with_label_values(&[self.service, self.name, code_name(code)]))
            .inc();
    }

    /// Adds the time from the head of a call to the head of its response.
    pub(crate) fn observe(&self, duration: Duration) {
        self.durations
            .get_or_init(|| DURATIONS.with_label_values(&[self.service, self.name]))
            .observe(duration.as_secs_f64());
    }
}

/// Returns the name of a code in the gRPC specification.
fn code_name(code: Code) -> &'static str {
    const NAMES: &str = "OK CANCELLED UNKNOWN INVALID_ARGUMENT DEADLINE_EXCEEDED NOT_FOUND \
        ALREADY_EXISTS PERMISSION_DENIED RESOURCE_EXHAUSTED FAILED_PRECONDITION ABORTED \
        OUT_OF_RANGE UNIMPLEMENTED INTERNAL UNAVAILABLE DATA_LOSS UNAUTHENTICATED";
    NAMES.split(' ').nth(code as usize).unwrap_or("UNKNOWN")
}

#[cfg(test)]
mod tests {
    use super::code_name;
    use tonic::Code;

    #[test]
    fn codes_have_the_names_of_the_specification() {
        for (code, name) in [(0, "OK"), (3, "INVALID_ARGUMENT"), (16, "UNAUTHENTICATED")] {
            assert_eq!(code_name(Code::from_i32(code)), name);
        }
    }
}
