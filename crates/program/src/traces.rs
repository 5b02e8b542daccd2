//! Exports spans to an OpenTelemetry collector, and reads the trace context that other programs send.
//!
//! `environment.rs` decides from the settings whether spans are exported and where to; `endpoint.rs` parses the
//! URL of the collector. Of the spans of `tracing`, only those with the field `otel.kind` are exported. Logs
//! ignore spans. Without a collector such spans are disabled, and creating one costs only the check of a flag.

mod endpoint;
mod environment;

pub use endpoint::{Endpoint, StartError};
pub(crate) use environment::collector;

use http::HeaderMap;
use opentelemetry::{
    KeyValue, global,
    propagation::TextMapPropagator as _,
    trace::{Span as _, SpanBuilder, TraceContextExt as _, TracerProvider as _},
};
use opentelemetry_otlp::{SpanExporter, WithExportConfig as _};
use opentelemetry_sdk::{
    Resource,
    propagation::TraceContextPropagator,
    resource::{EnvResourceDetector, TelemetryResourceDetector},
    trace::SdkTracerProvider,
};
use std::{
    collections::HashMap,
    env,
    time::{Duration, SystemTime},
};
use tracing::{Span, Subscriber, level_filters::LevelFilter};
use tracing_opentelemetry::OpenTelemetrySpanExt as _;
use tracing_subscriber::{Layer, filter::filter_fn, registry::LookupSpan};
use uuid::Uuid;

/// The name of the tracer in exported spans, and the prefix of service names.
const TRACER: &str = "rolegate";

const ENDPOINT: &str = "OTEL_EXPORTER_OTLP_ENDPOINT";

/// Builds the provider that exports spans in batches, on a thread of its own, and makes it the provider of this
/// process. Also makes W3C Trace Context the format in which this process passes traces on. Spans that the
/// collector does not accept are lost, and the loss is logged. Requests never wait for the export.
pub(crate) fn otlp_provider(
    url: &str,
    program: &'static str,
    version: &'static str,
) -> Result<SdkTracerProvider, StartError> {
    let exporter = SpanExporter::builder()
        .with_tonic()
        .with_endpoint(url)
        .build()
        .map_err(|error| StartError {
            variable: ENDPOINT,
            problem: error.to_string(),
        })?;
    global::set_text_map_propagator(TraceContextPropagator::new());
    let provider = SdkTracerProvider::builder()
        .with_batch_exporter(exporter)
        .with_resource(resource(program, version))
        .build();
    global::set_tracer_provider(provider.clone());
    Ok(provider)
}

/// Renames a span that was already entered. Recording `otel.name` would have no effect any more.
pub fn rename(span: &Span, name: String) {
    span.context().span().update_name(name);
}

/// Records phases of work that another thread did and measured, as children of `span`. The phases must have run
/// one after the other and must have ended just now.
#[expect(
    clippy::disallowed_methods,
    reason = "spans have the time of the machine, as others do"
)]
pub fn record_phases<const N: usize>(span: &Span, phases: [(&'static str, Duration); N]) {
    let tracer = global::tracer(TRACER);
    let parent = span.context();
    let total: Duration = phases.iter().map(|(_, duration)| *duration).sum();
    let mut time = SystemTime::now() - total;
    for (name, duration) in phases {
        let phase = SpanBuilder::from_name(name).with_start_time(time);
        time += duration;
        phase
            .start_with_context(&tracer, &parent)
            .end_with_timestamp(time);
    }
}

/// Builds the resource that describes this process to the collector. The environment may set its attributes;
/// otherwise the name, the version and the instance of the service are set here.
fn resource(program: &'static str, version: &'static str) -> Resource {
    // The collector may also receive spans of other products, so names begin with `rolegate`.
    let name = if program.starts_with(TRACER) {
        program.to_owned()
    } else {
        format!("{TRACER}-{program}")
    };
    let resource = Resource::builder_empty()
        .with_service_name(name)
        .with_attribute(KeyValue::new("service.version", version))
        .with_attribute(KeyValue::new(
            "service.instance.id",
            Uuid::new_v4().to_string(),
        ))
        .with_detector(Box::new(TelemetryResourceDetector))
        .with_detector(Box::new(EnvResourceDetector::new()));
    match env::var("OTEL_SERVICE_NAME") {
        Ok(name) if !name.is_empty() => resource.with_service_name(name).build(),
        _ => resource.build(),
    }
}

pub(crate) fn layer<S>(provider: &SdkTracerProvider) -> Box<dyn Layer<S> + Send + Sync>
where
    S: Subscriber + for<'span> LookupSpan<'span> + Send + Sync,
{
    let exported = filter_fn(|item| item.is_span() && item.fields().field("otel.kind").is_some())
        .with_max_level_hint(LevelFilter::INFO);
    tracing_opentelemetry::layer()
        .with_tracer(provider.tracer(TRACER))
        .with_location(false)
        .with_threads(false)
        .with_tracked_inactivity(false)
        .with_level(false)
        .with_target(false)
        .with_filter(exported)
        .boxed()
}

/// Makes `span` a child of the span in `headers` (W3C Trace Context). Call it only with headers of trusted
/// callers, and before the span is first entered.
pub fn set_remote_parent(span: &Span, headers: &HeaderMap) {
    if span.is_disabled() {
        return;
    }
    let parent = TraceContextPropagator::new().extract(&trace_headers(headers));
    // An enabled span implies a collector, and with it the layer that this call needs, so the call cannot fail.
    let _ = span.set_parent(parent);
}

/// Returns the headers of the trace context by name, each with a single value.
///
/// Several `tracestate` headers form one list (W3C Trace Context, section 3.3.1.5). Two `traceparent` headers
/// are invalid (section 3.2). Joining them yields a value that is invalid as well.
fn trace_headers(headers: &HeaderMap) -> HashMap<String, String> {
    let list = |name: &str| {
        let values = headers
            .get_all(name)
            .iter()
            .filter_map(|value| value.to_str().ok());
        (name.to_owned(), values.collect::<Vec<_>>().join(","))
    };
    ["traceparent", "tracestate"].map(list).into()
}

#[cfg(test)]
mod tests {
    use super::trace_headers;
    use http::{HeaderMap, HeaderValue};
    use opentelemetry::{propagation::TextMapPropagator as _, trace::TraceContextExt as _};
    use opentelemetry_sdk::propagation::TraceContextPropagator;

    const GOOD: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

    fn trace(headers: &[(&'static str, &'static str)]) -> Option<(String, String)> {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.append(*name, HeaderValue::from_static(value));
        }
        let context = TraceContextPropagator::new().extract(&trace_headers(&map));
        let span = context.span();
        let found = span.span_context();
        found
            .is_valid()
            .then(|| (found.trace_id().to_string(), found.trace_state().header()))
    }

    #[test]
    fn only_a_single_valid_traceparent_is_accepted() {
        let id = "4bf92f3577b34da6a3ce929d0e0e4736".to_owned();
        assert_eq!(
            trace(&[("traceparent", GOOD)]),
            Some((id.clone(), String::new()))
        );
        let two = [
            ("traceparent", GOOD),
            ("tracestate", "a=1"),
            ("tracestate", "b=2"),
        ];
        assert_eq!(trace(&two), Some((id, "a=1,b=2".to_owned())));
        assert_eq!(trace(&[("traceparent", GOOD), ("traceparent", GOOD)]), None);
        for bad in [
            "",
            "00",
            "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
            "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
            "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
        ] {
            assert_eq!(trace(&[("traceparent", bad)]), None, "{bad}");
        }
    }
}
