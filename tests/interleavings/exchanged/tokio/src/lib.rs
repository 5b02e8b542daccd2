//! The tokio of shuttle, with the few items that the balancer needs and shuttle's tokio lacks.

pub use tokio::*;

/// Channels and locks of shuttle, and `watch`.
pub mod sync {
    pub use tokio::sync::*;

    /// Channels whose receivers see the newest value, as in tokio.
    pub mod watch {
        use tokio::sync::watch as inner;
        pub use tokio::sync::watch::{Receiver, Ref};

        /// Wraps the sender of tokio, with the methods that shuttle's tokio lacks.
        #[derive(Debug)]
        pub struct Sender<T>(inner::Sender<T>);

        impl<T> Sender<T> {
            /// Creates a channel that has no receiver yet.
            pub fn new(value: T) -> Self {
                Self(inner::channel(value).0)
            }

            /// Returns the newest value.
            pub fn borrow(&self) -> Ref<'_, T> {
                self.0.borrow()
            }

            /// Creates a receiver.
            pub fn subscribe(&self) -> Receiver<T> {
                self.0.subscribe()
            }

            /// Sends a value, and returns the one before.
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

/// Tasks of shuttle, and `JoinSet`.
pub mod task {
    use futures_util::FutureExt as _;
    pub use tokio::task::*;

    /// Wraps a set of tasks of tokio.
    #[derive(Debug, Default)]
    pub struct JoinSet<T: 'static>(tokio::task::JoinSet<T>);

    impl<T: 'static> JoinSet<T> {
        /// Returns the result of a task that has ended, if there is one.
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

/// Timers of shuttle, and `sleep`.
pub mod time {
    pub use tokio::time::*;

    /// Ends at once, but the waiting task can be cancelled, unlike in the `sleep` of shuttle.
    pub async fn sleep(_: Duration) {
        tokio::task::yield_now().await;
    }
}
