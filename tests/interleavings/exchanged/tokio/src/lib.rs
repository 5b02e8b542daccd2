//! The tokio of shuttle, with what the balancer needs besides.

pub use tokio::*;

/// Channels and locks.
pub mod sync {
    pub use tokio::sync::*;

    /// As in tokio.
    pub mod watch {
        use tokio::sync::watch as inner;
        pub use tokio::sync::watch::{Receiver, Ref};

        /// As in tokio.
        #[derive(Debug)]
        pub struct Sender<T>(inner::Sender<T>);

        impl<T> Sender<T> {
            /// As in tokio.
            pub fn new(value: T) -> Self {
                Self(inner::channel(value).0)
            }

            /// As in tokio.
            pub fn borrow(&self) -> Ref<'_, T> {
                self.0.borrow()
            }

            /// As in tokio.
            pub fn subscribe(&self) -> Receiver<T> {
                self.0.subscribe()
            }

            /// As in tokio.
            pub fn send_replace(&self, value: T) -> T {
                self.0.send_replace(value)
            }
        }

        impl<T: Default> Default for Sender<T> {
            fn default() -> Self {
                Self::new(T::default())
            }
        }
    }
}

/// Tasks.
pub mod task {
    use futures_util::FutureExt as _;
    pub use tokio::task::*;

    /// As in tokio.
    #[derive(Debug, Default)]
    pub struct JoinSet<T: 'static>(tokio::task::JoinSet<T>);

    impl<T: 'static> JoinSet<T> {
        /// As in tokio.
        pub fn try_join_next(&mut self) -> Option<Result<T, JoinError>> {
            self.0.join_next().now_or_never().flatten()
        }
    }

    impl<T: Send + 'static, F: Future<Output = T> + Send + 'static> FromIterator<F> for JoinSet<T> {
        fn from_iter<I: IntoIterator<Item = F>>(tasks: I) -> Self {
            let mut set = tokio::task::JoinSet::new();
            for task in tasks {
                set.spawn(task);
            }
            Self(set)
        }
    }
}

/// Timers.
pub mod time {
    pub use tokio::time::*;

    /// Ends at once, but lets its task be cancelled, as the sleep of shuttle does not.
    pub async fn sleep(_: Duration) {
        tokio::task::yield_now().await;
    }
}
