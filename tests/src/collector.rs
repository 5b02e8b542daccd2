//! A minimal collector of OpenTelemetry traces, which stores what it receives.

use crate::eventually;
use opentelemetry_proto::tonic::{
    collector::trace::v1::{
        ExportTraceServiceRequest, ExportTraceServiceResponse,
        trace_service_server::{TraceService, TraceServiceServer},
    },
    common::v1::{AnyValue, KeyValue, any_value::Value},
    trace::v1::Span,
};
use std::{
    collections::BTreeMap,
    net::SocketAddr,
    sync::{Arc, Mutex},
};
use tokio_stream::wrappers::TcpListenerStream;
use tonic::{Request, Response, Status, transport::Server};

/// A collector, which stores the spans that it receives.
#[derive(Clone, Debug)]
pub struct Collector {
    address: SocketAddr,
    spans: Arc<Mutex<Vec<CollectedSpan>>>,
}

/// A span whose values are all text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CollectedSpan {
    /// The `service.name` of the program.
    pub service: String,
    /// All resource attributes of the program.
    pub resource: BTreeMap<String, String>,
    /// The name of the span.
    pub name: String,
    /// The trace id, in hexadecimal digits.
    pub trace_id: String,
    /// The span id, in hexadecimal digits.
    pub span_id: String,
    /// The span id of the parent; empty at the root.
    pub parent_id: String,
    /// The `tracestate` that the request brought.
    pub trace_state: String,
    /// The span ids of the links.
    pub links: Vec<String>,
    /// The attributes of the span.
    pub attributes: BTreeMap<String, String>,
    /// Whether the status of the span is an error.
    pub is_error: bool,
}

impl Collector {
    /// Starts to listen.
    ///
    /// # Panics
    ///
    /// Panics if no port is free.
    pub async fn start() -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0")
            .await
            .expect("a free port");
        let address = listener.local_addr().expect("bound");
        let spans = Arc::default();
        let collector = Self { address, spans };
        let service = TraceServiceServer::new(collector.clone());
        let incoming = TcpListenerStream::new(listener);
        tokio::spawn(
            Server::builder()
                .add_service(service)
                .serve_with_incoming(incoming),
        );
        collector
    }

    /// Returns the value for `OTEL_EXPORTER_OTLP_ENDPOINT`.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Returns all spans that have arrived so far.
    ///
    /// # Panics
    ///
    /// Never panics: no thread panics while it holds the lock.
    #[must_use]
    pub fn spans(&self) -> Vec<CollectedSpan> {
        self.spans.lock().expect("no panic").clone()
    }

    /// Waits for a span that satisfies `is_match`. `what` describes it in the error.
    pub async fn span(
        &self,
        what: &str,
        is_match: impl Fn(&CollectedSpan) -> bool,
    ) -> CollectedSpan {
        eventually(what, async || {
            self.spans().into_iter().find(|span| is_match(span))
        })
        .await
    }
}

#[tonic::async_trait]
impl TraceService for Collector {
    async fn export(
        &self,
        request: Request<ExportTraceServiceRequest>,
    ) -> Result<Response<ExportTraceServiceResponse>, Status> {
        for resource_spans in request.into_inner().resource_spans {
            let resource = resource_spans.resource.unwrap_or_default();
            let resource = texts(resource.attributes);
            let spans = resource_spans
                .scope_spans
                .into_iter()
                .flat_map(|scope| scope.spans);
            let spans = spans.map(|span| collected(&resource, span));
            self.spans.lock().expect("no panic").extend(spans);
        }
        Ok(Response::new(ExportTraceServiceResponse::default()))
    }
}

fn collected(resource: &BTreeMap<String, String>, span: Span) -> CollectedSpan {
    CollectedSpan {
        service: resource.get("service.name").cloned().unwrap_or_default(),
        resource: resource.clone(),
        name: span.name,
        trace_id: hex(&span.trace_id),
        span_id: hex(&span.span_id),
        parent_id: hex(&span.parent_span_id),
        trace_state: span.trace_state,
        links: span.links.iter().map(|link| hex(&link.span_id)).collect(),
        attributes: texts(span.attributes),
        is_error: span.status.is_some_and(|status| status.code == 2),
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes
        .iter()
        .fold(String::new(), |text, byte| text + &format!("{byte:02x}"))
}

fn texts(attributes: Vec<KeyValue>) -> BTreeMap<String, String> {
    attributes
        .into_iter()
        .map(|attribute| (attribute.key, text(attribute.value)))
        .collect()
}

fn text(value: Option<AnyValue>) -> String {
    match value.and_then(|value| value.value) {
        Some(Value::StringValue(text)) => text,
        Some(Value::IntValue(number)) => number.to_string(),
        Some(Value::BoolValue(response)) => response.to_string(),
        other => format!("{other:?}"),
    }
}
