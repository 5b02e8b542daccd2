//! Structured logs on stderr; stdout is left to what a program has to say to a person.
//!
//! Lines of the target `audit` tell who did what. They are always written: `RUST_LOG` has no say.

mod line;

use clap::ValueEnum;
use line::Line;
use std::{
    io::{self, IsTerminal as _},
    str::FromStr,
};
use tracing::{Metadata, Subscriber, level_filters::LevelFilter};
use tracing_subscriber::{
    EnvFilter, Layer,
    filter::{FilterExt as _, FilterFn, ParseError, filter_fn},
    registry::LookupSpan,
};

/// The target of lines that must not be lost.
pub const AUDIT: &str = "audit";

/// The prefix of all targets of this project; a bare level in `RUST_LOG` applies to these.
const OWN_TARGETS: &str = "rolegate";

/// How lines look.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    /// For people.
    #[default]
    Pretty,
    /// One JSON object in a line, for programs.
    Json,
}

/// Which lines are written: what `RUST_LOG` says, and it makes sense. A bare level such as `trace` is
/// meant for our own targets: libraries below us print request headers and query arguments at trace,
/// so they stay at info unless they are named.
#[derive(Clone, Debug, Default)]
pub struct LogFilter(String);

impl FromStr for LogFilter {
    type Err = String;

    fn from_str(wanted: &str) -> Result<Self, String> {
        let filter = Self(wanted.to_owned());
        let right = "must be a level and targets with levels, such as debug or info,h2=debug; \
                     levels are off, error, warn, info, debug and trace";
        filter.directives().map(|_| filter).map_err(|_| right.to_owned())
    }
}

/// Writes the lines that are wanted, and all of the audit.
pub(crate) fn layers<S>(
    format: LogFormat,
    wanted: &LogFilter,
) -> Vec<Box<dyn Layer<S> + Send + Sync>>
where
    S: Subscriber + for<'span> LookupSpan<'span>,
{
    let writer = || {
        let is_terminal = io::stderr().is_terminal();
        tracing_subscriber::fmt::layer()
            .with_ansi(is_terminal && format == LogFormat::Pretty)
            .with_writer(io::stderr)
            .event_format(Line::of(format))
    };
    let not_audit = only(LevelFilter::TRACE, |what| what.is_event() && what.target() != AUDIT);
    // It was parsed before; without settings (tests) it is empty.
    let ordinary = wanted.directives().unwrap_or_else(|_| EnvFilter::new("info"));
    let ordinary = ordinary.and(not_audit);
    let audit = only(LevelFilter::INFO, |what| what.is_event() && what.target() == AUDIT);
    vec![writer().with_filter(ordinary).boxed(), writer().with_filter(audit).boxed()]
}

/// Spans are for the traces: not even their names are looked at here. Nothing below `least` is meant,
/// which spares the libraries below us, who trace every frame, the question.
fn only(
    least: LevelFilter,
    is_it: fn(&Metadata<'_>) -> bool,
) -> FilterFn<fn(&Metadata<'_>) -> bool> {
    filter_fn(is_it).with_max_level_hint(least)
}

impl LogFilter {
    fn directives(&self) -> Result<EnvFilter, ParseError> {
        let Self(wanted) = self;
        let directives: Vec<String> = wanted
            .split(',')
            .map(str::trim)
            .filter(|directive| !directive.is_empty())
            .map(|directive| match directive.parse::<tracing::Level>() {
                Ok(_) => format!("{OWN_TARGETS}={directive}"),
                Err(_) => directive.to_owned(),
            })
            .collect();
        // An empty list of directives would silence everything, errors included.
        // PostgreSQL's notices are about its own bookkeeping, such as a table that exists already.
        let base = if wanted.trim() == "off" { "off" } else { "info,sqlx::postgres::notice=warn" };
        EnvFilter::try_new(format!("{base},{}", directives.join(",")))
    }
}

#[cfg(test)]
mod tests {
    use super::LogFilter;

    fn filter(wanted: &str) -> String {
        let filter: LogFilter = wanted.parse().expect(wanted);
        filter.directives().expect(wanted).to_string()
    }

    #[test]
    fn a_bare_level_is_for_our_own_targets_and_libraries_stay_at_info() {
        let filter = filter("trace");
        assert!(filter.contains("rolegate=trace"), "{filter}");
        assert!(filter.contains("info"), "{filter}");
        assert!(!filter.split(',').any(|directive| directive == "trace"), "{filter}");
    }

    #[test]
    fn a_named_target_is_taken_as_it_is() {
        assert!(filter("h2=debug").contains("h2=debug"));
        assert!(filter(" warn , h2=debug,").contains("rolegate=warn"));
    }

    #[test]
    fn nothing_is_the_default() {
        assert!(filter("").contains("info"));
    }

    #[test]
    fn nonsense_is_refused() {
        for wanted in ["a=b=c", "info,h2=loud", "[", "warn,auth_service=9x"] {
            assert!(wanted.parse::<LogFilter>().is_err(), "{wanted}");
        }
    }
}
