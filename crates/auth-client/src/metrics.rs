//! Metrics of batch sizes. All clients of a process share them.

use rolegate_telemetry::metrics::{Histogram, SIZE_BUCKETS, histogram};
use std::sync::LazyLock;

/// Role decisions in each call.
pub static DECISIONS: LazyLock<Histogram> = LazyLock::new(|| {
    let help = "Role decisions in one call to auth-service.";
    histogram("rolegate_client_batch_size_decisions", help, SIZE_BUCKETS)
});

/// Lookups of one username each in a call. Lookups of several are not batched further and not counted.
pub static USERNAMES: LazyLock<Histogram> = LazyLock::new(|| {
    let help = "Lookups of one username each in one call to auth-service.";
    histogram("rolegate_client_batch_size_usernames", help, SIZE_BUCKETS)
});
