//! Logs, audit log, metrics and traces of a process.
//!
//! - [`logs`]: structured lines on stderr.
//! - [`audit`]: the audit log, which no log level silences.
//! - [`event_log`]: lines that would repeat, counted once a second.
//! - [`log_limiter`]: lines that would repeat, written once for each key and period.
//! - [`metrics`]: metrics in Prometheus' text format.
//! - [`traces`]: spans for an OpenTelemetry collector.
//! - [`request_context`]: the request that log lines belong to.
//!
//! [`Telemetry`] starts and ends logs and traces. Metrics are scraped and need neither.

pub mod audit;
pub mod event_log;
pub mod log_limiter;
pub mod logs;
pub mod metrics;
pub mod request_context;
pub mod traces;

use logs::{LogFilter, LogFormat};
use opentelemetry_sdk::trace::SdkTracerProvider;
use std::time::Duration;
use traces::{Endpoint, StartError};
use tracing_subscriber::{layer::SubscriberExt as _, util::SubscriberInitExt as _};

/// How long the export of the last spans may take. A collector that hangs delays the exit by no more.
const EXPORT_TIMEOUT: Duration = Duration::from_secs(2);

/// Settings of logs and traces; every program has them.
#[derive(Clone, Debug, Default, clap::Args)]
#[command(next_help_heading = "Logs and shutdown")]
pub struct TelemetrySettings {
    /// Format of log lines on stderr
    #[arg(long, env = "LOG_FORMAT", value_enum, default_value_t)]
    pub log_format: LogFormat,

    /// Log level, or targets with levels, such as `debug` or `info,h2=debug`
    #[arg(long, env = "RUST_LOG", default_value = "info")]
    pub rust_log: LogFilter,

    /// URL of an OpenTelemetry collector that accepts traces over gRPC, such as
    /// `http://127.0.0.1:4317`; without it no traces are exported
    #[arg(long, env = "OTEL_EXPORTER_OTLP_ENDPOINT")]
    pub otel_exporter_otlp_endpoint: Option<Endpoint>,
}

/// The running logs and traces of a program.
#[derive(Debug)]
pub struct Telemetry {
    traces: Option<SdkTracerProvider>,
}

impl Telemetry {
    /// Starts logs and, if a collector is set, traces. The service name is `rolegate-` and `program` unless
    /// `OTEL_SERVICE_NAME` or `OTEL_RESOURCE_ATTRIBUTES` has another.
    ///
    /// # Panics
    ///
    /// With a collector, outside a tokio runtime.
    pub fn start(
        program: &'static str,
        version: &'static str,
        settings: &TelemetrySettings,
    ) -> Result<Self, StartError> {
        let endpoint = settings.otel_exporter_otlp_endpoint.as_ref();
        let traces = match traces::collector(endpoint)? {
            Some(url) => Some(traces::otlp_provider(&url, program, version)?),
            None => None,
        };
        let mut layers = logs::layers(settings.log_format, &settings.rust_log);
        layers.extend(traces.as_ref().map(traces::layer));
        // A second start in one process (tests) keeps the first subscriber.
        let _ = tracing_subscriber::registry().with(layers).try_init();
        Ok(Self { traces })
    }

    /// Exports the remaining spans, within 2 s. Blocks; the runtime must still run, on other threads.
    pub fn shutdown(self) {
        if let Some(traces) = self.traces
            && let Err(error) = traces.shutdown_with_timeout(EXPORT_TIMEOUT)
        {
            tracing::warn!(%error, "the last spans were not exported");
        }
    }
}
