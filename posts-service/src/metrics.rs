//! Metrics of the calls to auth-service and of the connection pools.

use crate::store::{self, PostStore};
use rolegate_auth_client::{
    AuthClient,
    metrics::{count_decisions, count_usernames},
};
use std::sync::Arc;

/// Registers the metrics of this client and this store.
pub(crate) fn register(auth: &AuthClient, store: &Arc<dyn PostStore>) {
    count_decisions(auth);
    count_usernames(auth);
    rolegate_sql_store::register_pool_metrics(store::NAME, store, PostStore::pools);
}
