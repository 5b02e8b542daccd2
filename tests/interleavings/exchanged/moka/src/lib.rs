//! The cache of moka, with a point before each operation at which shuttle may run another task.

pub use original::ops;

/// As in moka.
pub mod sync {
    use original::sync as inner;
    use shuttle::thread::yield_now;
    use std::{
        hash::{Hash, RandomState},
        time::Duration,
    };

    /// As in moka.
    #[derive(Clone)]
    pub struct Cache<K, V>(inner::Cache<K, V>);

    /// As in moka.
    pub struct CacheBuilder<K, V>(inner::CacheBuilder<K, V, inner::Cache<K, V>>);

    impl<K, V> Cache<K, V>
    where
        K: Hash + Eq + Send + Sync + 'static,
        V: Clone + Send + Sync + 'static,
    {
        /// As in moka.
        pub fn builder() -> CacheBuilder<K, V> {
            CacheBuilder(inner::Cache::builder())
        }

        /// As in moka.
        pub fn get(&self, key: &K) -> Option<V> {
            yield_now();
            self.0.get(key)
        }

        /// As in moka.
        pub fn get_with(&self, key: K, value: impl FnOnce() -> V) -> V {
            yield_now();
            self.0.get_with(key, value)
        }

        /// As in moka.
        pub fn contains_key(&self, key: &K) -> bool {
            yield_now();
            self.0.contains_key(key)
        }

        /// As in moka.
        pub fn insert(&self, key: K, value: V) {
            yield_now();
            self.0.insert(key, value);
        }

        /// As in moka.
        pub fn entry(&self, key: K) -> inner::OwnedKeyEntrySelector<'_, K, V, RandomState> {
            yield_now();
            self.0.entry(key)
        }

        /// As in moka.
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
        /// As in moka.
        #[must_use]
        pub fn max_capacity(self, entries: u64) -> Self {
            Self(self.0.max_capacity(entries))
        }

        /// As in moka.
        #[must_use]
        pub fn time_to_live(self, time: Duration) -> Self {
            Self(self.0.time_to_live(time))
        }

        /// As in moka.
        pub fn build(self) -> Cache<K, V> {
            Cache(self.0.build())
        }
    }
}
