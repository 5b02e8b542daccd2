//! The audit: who did what, told alike by every service that keeps something.

pub use crate::logs::AUDIT;

#[doc(hidden)]
pub use tracing;

/// Writes a line of the audit: the event, its own fields, and the end user's address where it is known.
/// It is written whatever `RUST_LOG` says, and the log adds the request's id. Fields that are `None`
/// are left out.
///
/// ```
/// let (user_id, username) = (1, "ann");
/// rolegate_telemetry::audit_line!("registered", user_id, username);
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
