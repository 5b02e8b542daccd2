//! Structured logs on stderr. Stdout is left to what a program prints for its user.
//!
//! `layers` builds two layers, and `format.rs` writes the lines of both. The first layer writes the lines that
//! pass [`LogFilter`], which is the setting `RUST_LOG`. The second one writes the lines of the target `audit`,
//! whatever `RUST_LOG` is.

mod format;

pub use format::LogFormat;

use format::LineFormatter;
use std::{
    env,
    error::Error,
    ffi::OsString,
    io::{self, IsTerminal as _},
    str::FromStr,
};
use tracing::{Subscriber, level_filters::LevelFilter};
use tracing_subscriber::{
    Layer,
    filter::{FilterExt as _, ParseError, Targets, filter_fn},
    registry::LookupSpan,
};

/// The target of the events that form the audit log.
pub const AUDIT: &str = "audit";

/// The prefix of the targets of this project, to which a bare level in `RUST_LOG` applies.
const OWN_TARGETS: &str = "rolegate";

/// Describes an error and its sources, separated by colons.
pub fn error_chain(error: &dyn Error) -> String {
    match error.source() {
        Some(source) => format!("{error}: {}", error_chain(source)),
        None => error.to_string(),
    }
}

/// The filter of a valid `RUST_LOG`.
///
/// A bare level such as `trace` applies only to the targets of this project. Libraries log request headers and
/// query arguments at trace, so they stay at info unless `RUST_LOG` names them.
#[derive(Clone, Debug, Default)]
pub struct LogFilter {
    text: String,
}

impl FromStr for LogFilter {
    type Err = String;

    /// Parses the setting. A word without `=` must be a level: tracing would read `warning` as the name of a
    /// target, log everything of that target, and nothing else.
    fn from_str(text: &str) -> Result<Self, String> {
        let filter = Self {
            text: text.to_owned(),
        };
        let problem = "must be a level or targets with levels, such as debug or info,h2=debug; \
                       levels are off, error, warn, info, debug and trace";
        // An empty target must be refused, because `=trace` would apply to every crate.
        let is_target = |target: &str| {
            let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b"_-:".contains(&byte);
            !target.is_empty() && target.bytes().all(is_part)
        };
        let is_known = |word: &str| match word.split_once('=') {
            Some((target, level)) => is_target(target) && !level.is_empty(),
            None => word.is_empty() || word.parse::<LevelFilter>().is_ok(),
        };
        let is_valid = text.split(',').map(str::trim).all(is_known) && filter.directives().is_ok();
        if is_valid {
            Ok(filter)
        } else {
            Err(problem.to_owned())
        }
    }
}

/// Builds one layer for the lines that pass the filter, and one for the audit log.
pub(crate) fn layers<S>(
    format: LogFormat,
    filter: &LogFilter,
) -> Vec<Box<dyn Layer<S> + Send + Sync>>
where
    S: Subscriber + for<'span> LookupSpan<'span>,
{
    let writer = || {
        let is_coloured =
            format == LogFormat::Pretty && io::stderr().is_terminal() && takes_colours(env::var_os);
        tracing_subscriber::fmt::layer()
            .with_ansi(is_coloured)
            .with_writer(io::stderr)
            .event_format(LineFormatter { format })
    };
    // With these hints, tracing disables other levels at their call sites. This saves time, because libraries
    // trace every frame.
    let not_audit = filter_fn(|item| item.is_event() && item.target() != AUDIT)
        .with_max_level_hint(LevelFilter::TRACE);
    let ordinary = filter.directives().unwrap_or_default().and(not_audit);
    let audit = filter_fn(|item| item.is_event() && item.target() == AUDIT)
        .with_max_level_hint(LevelFilter::INFO);
    vec![
        writer().with_filter(ordinary).boxed(),
        writer().with_filter(audit).boxed(),
    ]
}

/// Returns whether the environment allows colors. The variables of <https://no-color.org> and
/// <https://bixense.com/clicolors> can forbid them, and a terminal with `TERM=dumb` cannot show them.
fn takes_colours(variable: impl Fn(&'static str) -> Option<OsString>) -> bool {
    let is = |name, text: &str| variable(name).is_some_and(|value| value == text);
    let is_forbidden = variable("NO_COLOR").is_some_and(|value| !value.is_empty());
    !is_forbidden && !is("CLICOLOR", "0") && !is("TERM", "dumb")
}

impl LogFilter {
    fn directives(&self) -> Result<Targets, ParseError> {
        let text = self.text.trim();
        // Libraries log at info unless `RUST_LOG` says otherwise: with an empty list, tracing would silence
        // even errors. Of the notices of PostgreSQL only warnings are logged, because the others are about its
        // own bookkeeping, such as a table that exists already.
        let base = if text == "off" {
            "off"
        } else {
            "info,sqlx::postgres::notice=warn"
        };
        let mut directives = vec![base.to_owned()];
        for directive in text.split(',').map(str::trim) {
            if directive.parse::<tracing::Level>().is_ok() {
                directives.push(format!("{OWN_TARGETS}={directive}"));
            } else if !directive.is_empty() {
                directives.push(directive.to_owned());
            }
        }
        directives.join(",").parse()
    }
}

#[cfg(test)]
mod tests {
    use super::{LogFilter, takes_colours};

    fn filter(text: &str) -> String {
        let filter: LogFilter = text.parse().expect(text);
        filter.directives().expect(text).to_string()
    }

    #[test]
    fn the_environment_can_forbid_colours() {
        for (name, value, expected) in [
            ("NO_COLOR", "", true),
            ("NO_COLOR", "0", false),
            ("NO_COLOR", "1", false),
            ("CLICOLOR", "", true),
            ("CLICOLOR", "0", false),
            ("CLICOLOR", "1", true),
            ("TERM", "dumb", false),
            ("TERM", "xterm-256color", true),
            ("TERM", "", true),
        ] {
            let variable = |asked| (asked == name).then(|| value.into());
            assert_eq!(takes_colours(variable), expected, "{name}={value}");
        }
        assert!(takes_colours(|_| None));
    }

    #[test]
    fn a_bare_level_applies_to_our_targets_only() {
        let filter = filter("trace");
        assert!(filter.contains("rolegate=trace"), "{filter}");
        assert!(filter.contains("info"), "{filter}");
        assert!(
            !filter.split(',').any(|directive| directive == "trace"),
            "{filter}"
        );
    }

    #[test]
    fn a_named_target_keeps_its_level() {
        assert!(filter("h2=debug").contains("h2=debug"));
        assert!(filter(" warn , h2=debug,").contains("rolegate=warn"));
    }

    #[test]
    fn empty_text_means_info() {
        assert!(filter("").contains("info"));
    }

    #[test]
    fn invalid_directives_are_rejected() {
        for text in [
            "a=b=c",
            "info,h2=loud",
            "[",
            "warn,auth_service=9x",
            "warning",
            "info,h2",
        ]
        .into_iter()
        .chain(["=trace", "h2=", "*=debug", "a[=debug", "a[x]=debug"])
        {
            assert!(text.parse::<LogFilter>().is_err(), "{text}");
        }
    }
}
