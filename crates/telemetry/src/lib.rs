//! Logs, audit log, metrics and traces of a process. [`Telemetry`] starts and ends logs and traces;
//! metrics are pulled.
//!
//! - [`logs`]: structured lines on stderr.
//! - [`audit`]: the audit log, which no log level silences.
//! - [`metrics`]: the registry of this process, in Prometheus' text format.
//! - [`traces`]: spans for an OpenTelemetry collector.
//! - [`request_context`]: the request that log lines are about.

pub mod audit;
pub mod logs;
pub mod metrics;
pub mod request_context;
pub mod traces;

use logs::{LogFilter, LogFormat};
use opentelemetry_sdk::trace::SdkTracerProvider;
use std::time::Duration;
use traces::Endpoint;
use tracing_subscriber::{layer::SubscriberExt as _, util::SubscriberInitExt as _};

/// Longest time for the last spans to leave. A collector that hangs holds no exit up for longer.
const LAST_EXPORT: Duration = Duration::from_secs(2);

/// Settings of logs and traces; every program has them.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct TelemetrySettings {
    /// How log lines on stderr look
    #[arg(long, env = "LOG_FORMAT", value_enum, default_value_t)]
    pub log_format: LogFormat,

    /// Which lines: a level, and targets with levels, such as `debug` or `info,h2=debug`
    #[arg(long, env = "RUST_LOG", default_value = "info")]
    pub rust_log: LogFilter,

    /// URL of a collector that takes OpenTelemetry traces over gRPC, such as `http://127.0.0.1:4317`;
    /// none: no traces
    #[arg(long, env = "OTEL_EXPORTER_OTLP_ENDPOINT")]
    pub otel_exporter_otlp_endpoint: Option<Endpoint>,
}

/// A setting that traces cannot start with.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{variable}: {problem}")]
pub struct StartError {
    /// The environment variable, such as `OTEL_EXPORTER_OTLP_ENDPOINT`.
    pub variable: &'static str,
    /// What is wrong with its value.
    pub problem: String,
}

/// Logs and traces of a running program.
#[derive(Debug)]
pub struct Telemetry {
    traces: Option<SdkTracerProvider>,
}

impl Telemetry {
    /// Starts logs and, where a collector is named, traces. `program` is the name of the service
    /// unless `OTEL_SERVICE_NAME` or `OTEL_RESOURCE_ATTRIBUTES` says otherwise.
    ///
    /// # Panics
    ///
    /// With a collector, outside a tokio runtime.
    pub fn start(
        program: &'static str,
        version: &'static str,
        settings: &TelemetrySettings,
    ) -> Result<Self, StartError> {
        let endpoint = settings.otel_exporter_otlp_endpoint.as_ref().and_then(Endpoint::url);
        let traces = endpoint.map(|url| traces::exporting(url, program, version)).transpose()?;
        let mut layers = logs::layers(settings.log_format, &settings.rust_log);
        layers.extend(traces.as_ref().map(traces::layer));
        // A second start in one process (tests) keeps the first subscriber.
        let _ = tracing_subscriber::registry().with(layers).try_init();
        Ok(Self { traces })
    }

    /// Sends the spans that are left, within bounds. Blocks; the runtime must still be there, but not
    /// be the one that this thread works for.
    pub fn shutdown(self) {
        if let Some(traces) = self.traces
            && let Err(error) = traces.shutdown_with_timeout(LAST_EXPORT)
        {
            tracing::warn!(%error, "the last spans did not reach the collector");
        }
    }
}
