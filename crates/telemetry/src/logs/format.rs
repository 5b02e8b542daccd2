//! One log line per event.

use crate::request_context::RequestContext;
use clap::ValueEnum;
use opentelemetry::{Context, trace::TraceContextExt as _};
use serde_json::Value;
use std::fmt::{self, Write as _};
use tracing::{
    Event, Level, Subscriber,
    field::{Field, Visit},
};
use tracing_subscriber::{
    fmt::{
        FmtContext, FormatEvent, FormatFields,
        format::Writer,
        time::{FormatTime as _, SystemTime},
    },
    registry::LookupSpan,
};

/// The format of log lines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    /// For a terminal.
    #[default]
    Pretty,
    /// One JSON object per line.
    Json,
}

/// Writes time, level, target, message and fields of an event, then request and trace.
pub(super) struct LineFormatter(pub(super) LogFormat);

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
        match self.0 {
            LogFormat::Pretty => {
                pretty_head(&mut writer, event)?;
                context.field_format().format_fields(writer.by_ref(), event)?;
                for (name, value) in request_fields() {
                    write!(writer, " {name}={value}")?;
                }
            }
            LogFormat::Json => writer.write_str(&json(event))?,
        }
        writeln!(writer)
    }
}

fn pretty_head(writer: &mut Writer<'_>, event: &Event<'_>) -> fmt::Result {
    SystemTime.format_time(writer)?;
    let (level, target) = (event.metadata().level(), event.metadata().target());
    if !writer.has_ansi_escapes() {
        return write!(writer, " {level:>5} {target}: ");
    }
    let color = match *level {
        Level::ERROR => 31,
        Level::WARN => 33,
        Level::INFO => 32,
        Level::DEBUG => 34,
        Level::TRACE => 35,
    };
    write!(writer, " \x1b[{color}m{level:>5}\x1b[0m \x1b[2m{target}:\x1b[0m ")
}

/// The ids of the current request and trace.
fn request_fields() -> Vec<(&'static str, String)> {
    let id = RequestContext::with_current(|current| {
        String::from_utf8_lossy(current.request_id.as_bytes()).into_owned()
    });
    let context = Context::current();
    let span = context.span();
    let trace = span.span_context();
    let trace_id = trace.is_valid().then(|| trace.trace_id().to_string());
    [("request_id", id), ("trace_id", trace_id)]
        .into_iter()
        .filter_map(|(name, value)| Some((name, value?)))
        .collect()
}

/// `{"timestamp", "level", "target", "message", …fields, "request_id", "trace_id"}`, the last two
/// if there is a request and a trace.
fn json(event: &Event<'_>) -> String {
    let mut timestamp = String::new();
    let _ = SystemTime.format_time(&mut Writer::new(&mut timestamp));
    let mut object = Object(String::with_capacity(256));
    object.add("timestamp", timestamp);
    object.add("level", event.metadata().level().as_str());
    object.add("target", event.metadata().target());
    event.record(&mut object);
    for (name, value) in request_fields() {
        object.add(name, value);
    }
    object.end()
}

/// A JSON object that keeps the order of its fields.
struct Object(String);

impl Object {
    fn add(&mut self, name: &str, value: impl Into<Value>) {
        self.0.push(if self.0.is_empty() { '{' } else { ',' });
        let _ = write!(self.0, "{}:{}", Value::from(name), value.into());
    }

    fn end(mut self) -> String {
        self.0.push('}');
        self.0
    }
}

impl Visit for Object {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.add(field.name(), format!("{value:?}"));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.add(field.name(), value);
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.add(field.name(), value);
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.add(field.name(), value);
    }

    fn record_f64(&mut self, field: &Field, value: f64) {
        self.add(field.name(), value);
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.add(field.name(), value);
    }
}

#[cfg(test)]
mod tests;
