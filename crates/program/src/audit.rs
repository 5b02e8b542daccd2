//! The audit log, which says which actor did what. [`audit_line!`](crate::audit_line) writes a line of it.

pub use crate::logs::AUDIT;

#[doc(hidden)]
pub use tracing;

/// Writes an audit line: the event, its fields, and the client address if it is known.
///
/// `RUST_LOG` does not filter the line, and the log adds the request id. Fields that are `None` are omitted.
///
/// ```
/// let (user_id, username) = (1, "ann");
/// rolegate_program::audit_line!("registered", user_id, username);
/// ```
#[macro_export]
macro_rules! audit_line {
    ($event:expr, $($field:tt)+) => {
        $crate::audit::tracing::info!(
            target: $crate::audit::AUDIT,
            event = $event,
            client_address = $crate::request_context::RequestContext::client_address()
                .map($crate::audit::tracing::field::display),
            $($field)+
        )
    };
}
