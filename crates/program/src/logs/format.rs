//! Writes one log line for each event.

use crate::request_context::RequestContext;
use clap::ValueEnum;
use opentelemetry::{Context, trace::TraceContextExt as _};
use serde_json::Value;
use std::fmt;
use tracing::{Event, Subscriber};
use tracing_subscriber::{
    fmt::{
        FmtContext, FormatEvent, FormatFields,
        format::{Format, Writer},
    },
    registry::LookupSpan,
};

/// The format of log lines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    /// Text for people.
    #[default]
    Pretty,
    /// One JSON object per line.
    Json,
}

/// Writes a line like tracing-subscriber does, followed by the ids of the request and the trace, if there are
/// any.
pub(super) struct LineFormatter {
    pub(super) format: LogFormat,
}

impl<S, N> FormatEvent<S, N> for LineFormatter
where
    S: Subscriber + for<'span> LookupSpan<'span>,
    N: for<'writer> FormatFields<'writer> + 'static,
{
    fn format_event(
        &self,
        context: &FmtContext<'_, S, N>,
        mut writer: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        let mut line = String::with_capacity(256);
        let buffer = Writer::new(&mut line);
        let end = match self.format {
            LogFormat::Pretty => {
                let format = Format::default().with_ansi(writer.has_ansi_escapes());
                format.format_event(context, buffer, event)?;
                "\n"
            }
            LogFormat::Json => {
                let format = Format::default()
                    .json()
                    .flatten_event(true)
                    .with_current_span(false)
                    .with_span_list(false);
                format.format_event(context, buffer, event)?;
                "}\n"
            }
        };
        writer.write_str(line.strip_suffix(end).unwrap_or(&line))?;
        let request_id = RequestContext::with_current(|current| {
            String::from_utf8_lossy(current.request_id.as_bytes()).into_owned()
        });
        let context = Context::current();
        let trace = context.span().span_context().clone();
        let trace_id = trace.is_valid().then(|| trace.trace_id().to_string());
        for (name, value) in [("request_id", request_id), ("trace_id", trace_id)] {
            let Some(value) = value else { continue };
            match self.format {
                LogFormat::Pretty => write!(writer, " {name}={value}")?,
                LogFormat::Json => write!(writer, r#","{name}":{}"#, Value::from(value))?,
            }
        }
        writer.write_str(end)
    }
}

#[cfg(test)]
mod tests;
