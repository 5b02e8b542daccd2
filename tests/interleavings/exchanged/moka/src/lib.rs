//! The cache of moka, with a point before each operation at which shuttle may run another task.

pub use original::ops;

/// Wraps the synchronous cache of moka.
pub mod sync {
    use original::sync as inner;
    use shuttle::thread::yield_now;
    use std::{
        hash::{Hash, RandomState},
        time::Duration,
    };

    /// Wraps a cache of moka.
    #[derive(Clone)]
    pub struct Cache<K, V>(inner::Cache<K, V>);

    /// Wraps the builder of a cache.
    pub struct CacheBuilder<K, V>(inner::CacheBuilder<K, V, inner::Cache<K, V>>);

    impl<K, V> Cache<K, V>
    where
        K: Hash + Eq + Send + Sync + 'static,
        V: Clone + Send + Sync + 'static,
    {
        /// Returns a builder, as moka does.
        pub fn builder() -> CacheBuilder<K, V> {
            CacheBuilder(inner::Cache::builder())
        }

        /// Lets another task run, and then gets the value of a key.
        pub fn get(&self, key: &K) -> Option<V> {
            yield_now();
            self.0.get(key)
        }

        /// Lets another task run, and then gets the value of a key or inserts a new one.
        pub fn get_with(&self, key: K, value: impl FnOnce() -> V) -> V {
            yield_now();
            self.0.get_with(key, value)
        }

        /// Lets another task run, and then looks whether the key is there.
        pub fn contains_key(&self, key: &K) -> bool {
            yield_now();
            self.0.contains_key(key)
        }

        /// Lets another task run, and then inserts a value.
        pub fn insert(&self, key: K, value: V) {
            yield_now();
            self.0.insert(key, value);
        }

        /// Lets another task run, and then selects the entry of a key.
        pub fn entry(&self, key: K) -> inner::OwnedKeyEntrySelector<'_, K, V, RandomState> {
            yield_now();
            self.0.entry(key)
        }

        /// Lets another task run, and then removes a key.
        pub fn invalidate(&self, key: &K) {
            yield_now();
            self.0.invalidate(key);
        }
    }

    impl<K, V> CacheBuilder<K, V>
    where
        K: Hash + Eq + Send + Sync + 'static,
        V: Clone + Send + Sync + 'static,
    {
        /// Sets the maximum capacity, as moka does.
        #[must_use]
        pub fn max_capacity(self, entries: u64) -> Self {
            Self(self.0.max_capacity(entries))
        }

        /// Sets the lifetime of entries, as moka does.
        #[must_use]
        pub fn time_to_live(self, time: Duration) -> Self {
            Self(self.0.time_to_live(time))
        }

        /// Builds the cache.
        pub fn build(self) -> Cache<K, V> {
            Cache(self.0.build())
        }
    }
}
