//! Metrics of batch sizes. All clients of a process share them.

use rolegate_telemetry::metrics::{Histogram, SIZE_BUCKETS, histogram};
use std::sync::LazyLock;

/// Reads of posts in each call.
pub static READS: LazyLock<Histogram> = LazyLock::new(|| {
    let help = "Reads of posts in one call to posts-service.";
    histogram("rolegate_client_batch_size_posts", help, SIZE_BUCKETS)
});
