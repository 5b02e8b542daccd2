//! For programs that tell numbers: how many share a call to auth-service. One process may have several
//! users of one client, as rolegate has; the numbers are those of all of them.

use crate::AuthClient;
use rolegate_telemetry::metrics::{Histogram, SIZE_BUCKETS, histogram, observe_size};
use std::sync::LazyLock;

static DECISIONS: LazyLock<Histogram> = LazyLock::new(|| {
    let help = "Role decisions in one call to auth-service.";
    histogram("rolegate_client_batch_size_decisions", help, SIZE_BUCKETS)
});

static USERNAMES: LazyLock<Histogram> = LazyLock::new(|| {
    let help = "Look-ups of one username each that shared a call to auth-service.";
    histogram("rolegate_client_batch_size_usernames", help, SIZE_BUCKETS)
});

/// Begins to count how many decisions share each call of this client.
pub fn count_decisions(auth: &AuthClient) {
    LazyLock::force(&DECISIONS);
    auth.observe_decisions(|size| observe_size(&DECISIONS, size));
}

/// Begins to count how many look-ups of one name share each call of this client.
pub fn count_usernames(auth: &AuthClient) {
    LazyLock::force(&USERNAMES);
    auth.observe_usernames(|size| observe_size(&USERNAMES, size));
}
