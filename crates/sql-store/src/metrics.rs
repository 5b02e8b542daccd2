//! Metrics of stores. A process may have several stores, each with a name of its own.

use crate::Store;
use rolegate_program::metrics::{
    HistogramVec, IntGaugeVec, SIZE_BUCKETS, before_scrape, gauge_vec, histogram_vec, set_count,
};
use std::sync::{Arc, LazyLock};

pub(crate) static READ_BATCHES: LazyLock<HistogramVec> = LazyLock::new(|| {
    let help = "Keys per statement of batched reads, by store and kind of key.";
    histogram_vec(
        "rolegate_read_batch_size_keys",
        help,
        &["store", "key"],
        SIZE_BUCKETS,
    )
});

static POOL: LazyLock<IntGaugeVec> = LazyLock::new(|| {
    let help = "Open connections to a store, by pool and state (in_use, idle).";
    gauge_vec(
        "rolegate_store_connections",
        help,
        &["store", "pool", "state"],
    )
});

static POOL_LIMIT: LazyLock<IntGaugeVec> = LazyLock::new(|| {
    let help = "Maximum number of connections to a store, by pool.";
    gauge_vec("rolegate_store_connections_limit", help, &["store", "pool"])
});

static WRITABLE: LazyLock<IntGaugeVec> = LazyLock::new(|| {
    let help =
        "Whether a store accepts writes: 0 while writes fail or commits get no answer, else 1.";
    gauge_vec("rolegate_store_writable", help, &["store"])
});

/// Exports the status of the store `name` at each scrape, until the store is dropped.
pub fn register_metrics<S: Store + ?Sized>(name: &'static str, store: &Arc<S>) {
    let store = Arc::downgrade(store);
    before_scrape(format!("store {name}"), move || {
        let Some(status) = store.upgrade().map(|store| store.status()) else {
            return;
        };
        WRITABLE
            .with_label_values(&[name])
            .set(i64::from(status.write_problem.is_none()));
        for pool in status.pools {
            let state = |state| POOL.with_label_values(&[name, pool.name, state]);
            set_count(&state("idle"), pool.idle);
            set_count(&state("in_use"), pool.open - pool.idle);
            set_count(
                &POOL_LIMIT.with_label_values(&[name, pool.name]),
                pool.limit,
            );
        }
    });
}
