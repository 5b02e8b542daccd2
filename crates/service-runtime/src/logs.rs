//! Structured logs on stderr; stdout is left to what a program has to say to a person.

use std::io;
use tracing_subscriber::EnvFilter;

/// Our own crates; `RUST_LOG` without targets means these.
const OUR_TARGETS: [&str; 8] = [
    "all_in_one",
    "auth_client",
    "auth_service",
    "bcrypt_lanes",
    "gateway",
    "grpc_server",
    "service_runtime",
    "sql_store",
];

/// Starts logging at the level of `RUST_LOG` (default `info`). A bare level such as `trace` is
/// meant for our own targets: libraries below us print request headers and query arguments at
/// trace, so they stay at info unless they are named.
pub fn start() {
    let wanted = std::env::var("RUST_LOG").unwrap_or_default();
    // A second start in one process (tests) keeps the first subscriber.
    let _ = tracing_subscriber::fmt()
        .with_env_filter(filter(&wanted))
        .with_writer(io::stderr)
        .with_ansi(io::IsTerminal::is_terminal(&io::stderr()))
        .try_init();
}

fn filter(wanted: &str) -> EnvFilter {
    let directives: Vec<String> = wanted
        .split(',')
        .map(str::trim)
        .filter(|directive| !directive.is_empty())
        .flat_map(|directive| {
            if directive.parse::<tracing::Level>().is_ok() {
                OUR_TARGETS.map(|target| format!("{target}={directive}")).to_vec()
            } else {
                vec![directive.to_owned()]
            }
        })
        .collect();
    // An empty list of directives would silence everything, errors included.
    // PostgreSQL's notices are about its own bookkeeping, such as a table that exists already.
    let base = if wanted.trim() == "off" { "off" } else { "info,sqlx::postgres::notice=warn" };
    EnvFilter::try_new(format!("{base},{}", directives.join(",")))
        .unwrap_or_else(|_| EnvFilter::new("info"))
}

#[cfg(test)]
mod tests {
    use super::filter;

    #[test]
    fn a_bare_level_is_for_our_own_targets_and_libraries_stay_at_info() {
        let filter = filter("trace").to_string();
        assert!(filter.contains("auth_service=trace"), "{filter}");
        assert!(filter.contains("info"), "{filter}");
        assert!(!filter.split(',').any(|directive| directive == "trace"), "{filter}");
    }

    #[test]
    fn a_named_target_is_taken_as_it_is() {
        assert!(filter("h2=debug").to_string().contains("h2=debug"));
    }

    #[test]
    fn nonsense_still_logs_at_info() {
        assert_eq!(filter("a=b=c").to_string(), "info");
    }
}
