//! Metrics of batch sizes. They are shared by all clients of a process.

use crate::AuthClient;
use rolegate_telemetry::metrics::{Histogram, SIZE_BUCKETS, histogram, observe_size};
use std::sync::LazyLock;

static DECISIONS: LazyLock<Histogram> = LazyLock::new(|| {
    let help = "Role decisions in one call to auth-service.";
    histogram("rolegate_client_batch_size_decisions", help, SIZE_BUCKETS)
});

static USERNAMES: LazyLock<Histogram> = LazyLock::new(|| {
    let help = "Lookups of one username each in one call to auth-service.";
    histogram("rolegate_client_batch_size_usernames", help, SIZE_BUCKETS)
});

/// Counts the decisions in each call of this client.
pub fn count_decisions(auth: &AuthClient) {
    LazyLock::force(&DECISIONS);
    auth.observe_decisions(|size| observe_size(&DECISIONS, size));
}

/// Counts the lookups of one username in each call of this client.
pub fn count_usernames(auth: &AuthClient) {
    LazyLock::force(&USERNAMES);
    auth.observe_usernames(|size| observe_size(&USERNAMES, size));
}
