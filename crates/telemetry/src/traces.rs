//! Export of spans to an OpenTelemetry collector, and trace context between programs.
//!
//! Spans with the field `otel.kind` are exported; logs ignore spans. Without a collector such spans are
//! disabled, and creating one costs the check of a flag.

mod environment;

use http::{HeaderMap, Uri};
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
    str::FromStr,
    time::{Duration, SystemTime},
};
use tracing::{Span, Subscriber, level_filters::LevelFilter};
use tracing_opentelemetry::OpenTelemetrySpanExt as _;
use tracing_subscriber::{Layer, filter::filter_fn, registry::LookupSpan};
use uuid::Uuid;

pub(crate) use environment::collector;

/// The name of the tracer: what made the spans.
const TRACER: &str = "rolegate";

const ENDPOINT: &str = "OTEL_EXPORTER_OTLP_ENDPOINT";

/// A setting that prevents traces: the environment variable and the problem.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{0}: {1}")]
pub struct StartError(pub &'static str, pub String);

/// The URL of a collector; empty text means none, as in the OpenTelemetry specification.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint(pub(crate) Option<String>);

impl FromStr for Endpoint {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        const EXPECTED: &str = "must be the URL of a collector that accepts OTLP over gRPC, \
                                such as http://127.0.0.1:4317";
        if text.is_empty() {
            return Ok(Self(None));
        }
        let url: Uri = text.parse().map_err(|_| EXPECTED)?;
        let has_user = url
            .authority()
            .is_some_and(|authority| authority.as_str().contains('@'));
        let has_path = url.path_and_query().is_some_and(|path| path != "/");
        let has_host = url.host().is_some_and(|host| !host.is_empty());
        match url.scheme_str() {
            Some("https") => {
                Err("https is not supported; use a collector on this host or network over http")
            }
            Some("http") if has_host && !has_user && !has_path && url.port_u16() != Some(0) => {
                Ok(Self(Some(text.to_owned())))
            }
            _ => Err(EXPECTED),
        }
    }
}

/// Exports spans in batches from its own thread. Spans that the collector does not accept are lost,
/// and logged; requests never wait for the export.
pub(crate) fn otlp_provider(
    url: &str,
    program: &'static str,
    version: &'static str,
) -> Result<SdkTracerProvider, StartError> {
    let exporter = SpanExporter::builder()
        .with_tonic()
        .with_endpoint(url)
        .build()
        .map_err(|error| StartError(ENDPOINT, error.to_string()))?;
    global::set_text_map_propagator(TraceContextPropagator::new());
    let provider = SdkTracerProvider::builder()
        .with_batch_exporter(exporter)
        .with_resource(resource(program, version))
        .build();
    global::set_tracer_provider(provider.clone());
    Ok(provider)
}

/// Renames a span that was entered already; recording `otel.name` is too late then.
pub fn rename(span: &Span, name: String) {
    span.context().span().update_name(name);
}

/// Records phases that ended just now, one after the other, as children of the current span: work that
/// another thread did and measured. Without a traced request it does nothing.
#[expect(
    clippy::disallowed_methods,
    reason = "spans have the time of the machine, as others do"
)]
pub fn record_phases<const N: usize>(phases: [(&'static str, Duration); N]) {
    let span = Span::current();
    if span.is_none() {
        return;
    }
    let (tracer, parent) = (global::tracer(TRACER), span.context());
    let mut time = SystemTime::now()
        - phases
            .iter()
            .map(|(_, duration)| *duration)
            .sum::<Duration>();
    for (name, duration) in phases {
        let phase = SpanBuilder::from_name(name).with_start_time(time);
        time += duration;
        phase
            .start_with_context(&tracer, &parent)
            .end_with_timestamp(time);
    }
}

/// The attributes in the environment; the name, version and instance of the service are ours unless they
/// are set there.
fn resource(program: &'static str, version: &'static str) -> Resource {
    // Names are shared with the services of others.
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

/// Makes `span` a child of the span in `headers` (W3C Trace Context). Only for headers of trusted
/// callers, and only before the span is first entered.
pub fn set_remote_parent(span: &Span, headers: &HeaderMap) {
    if span.is_disabled() {
        return;
    }
    let parent = TraceContextPropagator::new().extract(&trace_headers(headers));
    // An enabled span implies a collector, and with it the layer that this call needs.
    let _ = span.set_parent(parent);
}

/// The headers of a trace. Several `tracestate` are one list (W3C Trace Context, section 3.3.1.5).
/// Two `traceparent` are invalid (section 3.2), and so is their list.
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
    use super::{Endpoint, trace_headers};
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

    #[test]
    fn an_endpoint_is_an_http_url_or_empty() {
        let url = |text: &str| text.parse::<Endpoint>().map(|endpoint| endpoint.0);
        assert_eq!(url(""), Ok(None));
        for good in [
            "http://127.0.0.1:4317",
            "http://collector:4317/",
            "http://collector",
        ] {
            assert_eq!(url(good), Ok(Some(good.to_owned())));
        }
        for bad in [
            "collector",
            "collector:4317",
            "grpc://a:1",
            "http://a:1/v1/traces",
            "http://",
        ] {
            assert!(
                url(bad).is_err_and(|error| error.contains("must be the URL")),
                "{bad}"
            );
        }
        assert!(url("http://me:hunter2@a:1").is_err_and(|error| !error.contains("hunter2")));
        assert!(url("https://a:4317").is_err_and(|error| error.contains("https")));
    }
}
