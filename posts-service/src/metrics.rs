//! What this service counts, beside its calls.

use crate::store::{self, PostStore};
use rolegate_auth_client::{
    AuthClient,
    metrics::{count_decisions, count_usernames},
};
use std::sync::Arc;

/// Counts what this client asks from now on, and looks at the store at each scrape.
pub(crate) fn begin(auth: &AuthClient, store: &Arc<dyn PostStore>) {
    count_decisions(auth);
    count_usernames(auth);
    rolegate_sql_store::register_pool_metrics(store::NAME, store, PostStore::pools);
}
