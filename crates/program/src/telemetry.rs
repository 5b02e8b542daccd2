//! Starts the logs and the traces of a process, and exports the last spans at its end.
//!
//! [`Telemetry::start`] turns the settings of a program into log layers ([`logs`]) and, if a collector is set, a layer
//! that exports spans ([`traces`]). These modules of the crate belong to the same subject:
//!
//! - [`logs`] writes structured lines to stderr. `logs/format.rs` adds the ids of the request and the trace to each
//!   line.
//! - [`audit`](crate::audit) writes the lines of the audit log, which no log level silences.
//! - [`request_context`](crate::request_context) holds the request that a task works on, so that its log lines carry
//!   the request id.
//! - [`event_log`](crate::event_log) counts events that would otherwise repeat a log line, and logs the counts once a
//!   second.
//! - [`log_limiter`](crate::log_limiter) allows a line to be repeated only after a period, separately for each key.
//! - [`metrics`](crate::metrics) registers metrics and writes them in Prometheus' text format. Metrics are scraped, so
//!   nothing has to be started.
//!
//! The record of changes in the database is not here: auth-service writes it.

use crate::{
    logs::{self, LogFilter, LogFormat},
    traces::{self, Endpoint, StartError},
};
use opentelemetry_sdk::trace::SdkTracerProvider;
use std::time::Duration;
use tracing_subscriber::{layer::SubscriberExt as _, util::SubscriberInitExt as _};

/// The time that the export of the last spans may take. A collector that hangs delays the exit of the program
/// by no more than this.
const EXPORT_TIMEOUT: Duration = Duration::from_secs(2);

/// The settings of logs and traces, which every program has.
#[derive(Clone, Debug, Default, clap::Args)]
#[command(next_help_heading = "Logs and shutdown")]
pub struct TelemetrySettings {
    /// Format of log lines on stderr
    #[arg(long, env, value_enum, default_value_t)]
    pub log_format: LogFormat,

    /// Log level, or targets with levels, such as `debug` or `info,h2=debug`
    #[arg(long, env, default_value = "info")]
    pub rust_log: LogFilter,

    /// URL of an OpenTelemetry collector that accepts traces over gRPC, such as
    /// `http://127.0.0.1:4317`; without it no traces are exported
    #[arg(long, env)]
    pub otel_exporter_otlp_endpoint: Option<Endpoint>,
}

/// The running logs and traces of a program.
#[derive(Debug)]
pub struct Telemetry {
    traces: Option<SdkTracerProvider>,
}

impl Telemetry {
    /// Starts logs and, if a collector is set, traces.
    ///
    /// The service name in traces is `program`, with the prefix `rolegate-` unless `program` already begins
    /// with `rolegate`. `OTEL_SERVICE_NAME` or `OTEL_RESOURCE_ATTRIBUTES` may set another name. Fails if a
    /// variable of OpenTelemetry has an invalid value.
    ///
    /// # Panics
    ///
    /// Panics if a collector is set and the caller is outside a tokio runtime.
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
        // Tests start a program several times in one process; the first subscriber then stays.
        let _ = tracing_subscriber::registry().with(layers).try_init();
        Ok(Self { traces })
    }

    /// Exports the remaining spans, within 2 s. A failure is only logged. The call blocks its thread, and the
    /// runtime must still run on other threads.
    pub fn shutdown(self) {
        if let Some(traces) = self.traces
            && let Err(error) = traces.shutdown_with_timeout(EXPORT_TIMEOUT)
        {
            tracing::warn!(%error, "the last spans were not exported");
        }
    }
}
