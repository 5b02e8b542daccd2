//! Metrics of the calls to auth-service and of the store.

use crate::store::{self, PostStore};
use rolegate_auth_client::{DECISIONS, USERNAMES};
use std::sync::{Arc, LazyLock};

/// Registers the metrics of batched calls, before the first call, and of this store.
pub(crate) fn register(store: &Arc<dyn PostStore>) {
    LazyLock::force(&DECISIONS);
    LazyLock::force(&USERNAMES);
    rolegate_sql_store::register_metrics(store::NAME, store, PostStore::status);
}
