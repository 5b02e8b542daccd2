//! Converts a reason of the contract into a gRPC status, and logs errors.

use rolegate_program::{event_log::EventLog, logs::error_chain};
use rolegate_proto::{ERROR_DOMAIN, Reason};
use std::{collections::HashMap, error::Error, time::Duration};
use tonic::Status;
use tonic_types::{ErrorDetails, StatusExt};

/// Returns the status for `reason`, with the text of `error` and `google.rpc.ErrorInfo`, and logs the error.
/// The status has a fixed text for an internal error, and never the sources of an error. `retry_after` becomes
/// `google.rpc.RetryInfo`.
pub fn error_status(
    reason: Reason,
    error: &(dyn Error + 'static),
    retry_after: Option<Duration>,
) -> Status {
    log_error(reason, error);
    let text = match reason {
        Reason::Internal => "internal error".to_owned(),
        _ => error.to_string(),
    };
    let mut details = ErrorDetails::with_error_info(reason.as_str(), ERROR_DOMAIN, HashMap::new());
    if let Some(delay) = retry_after {
        details.set_retry_info(Some(delay));
    }
    Status::with_error_details(reason.code(), text, details)
}

static FAILED: EventLog =
    EventLog::new(|failed| tracing::error!(failed, "calls failed in the last second"));

/// Logs a server error with its cause. If the error is repeated, only the first occurrence gets its own line,
/// and the log counts the others each second. Other errors are logged only at debug.
pub fn log_error(reason: Reason, error: &(dyn Error + 'static)) {
    match reason {
        Reason::Internal
        | Reason::AuthUnavailable
        | Reason::StoreUnavailable
        | Reason::OutcomeUnknown => {
            let cause = error_chain(error);
            // The cause is part of the key, because one of several causes must not hide the others.
            if FAILED.is_first(format!("{} ({cause})", reason.as_str())) {
                tracing::error!(cause, "call failed");
            } else {
                tracing::debug!(cause, "call failed");
            }
        }
        // The store logs the cause of STORE_READ_ONLY once.
        _ => tracing::debug!(reason = reason.as_str(), "call rejected"),
    }
}

#[cfg(test)]
mod tests {
    use super::log_error;
    use rolegate_proto::Reason;
    use std::{io, sync::Arc, time::Duration};

    #[tokio::test(start_paused = true)]
    async fn each_cause_of_failures_has_its_own_line_and_count() {
        let (reader, writer) = io::pipe().expect("a pipe");
        let subscriber = tracing_subscriber::fmt().with_ansi(false).without_time();
        let subscriber = subscriber.with_target(false).with_writer(Arc::new(writer));
        let guard = tracing::subscriber::set_default(subscriber.finish());
        let fail = |reason, cause: &str| log_error(reason, &io::Error::other(cause.to_owned()));
        for _ in 0..3 {
            fail(Reason::StoreUnavailable, "no connection");
            fail(Reason::StoreUnavailable, "no answer");
            fail(Reason::Internal, "an odd row");
            fail(Reason::TokenInvalid, "of no interest");
        }
        tokio::time::sleep(Duration::from_secs(3)).await;
        fail(Reason::StoreUnavailable, "no answer");
        drop(guard);
        let log = io::read_to_string(reader).expect("text");
        let lines: Vec<_> = log.lines().map(str::trim).collect();
        assert_eq!(
            lines,
            [
                r#"ERROR call failed cause="no connection""#,
                r#"ERROR call failed cause="no answer""#,
                r#"ERROR call failed cause="an odd row""#,
                "ERROR calls failed in the last second failed=\"INTERNAL (an odd row) 2, \
                    STORE_UNAVAILABLE (no answer) 2, STORE_UNAVAILABLE (no connection) 2\"",
                r#"ERROR call failed cause="no answer""#,
            ]
        );
    }
}
