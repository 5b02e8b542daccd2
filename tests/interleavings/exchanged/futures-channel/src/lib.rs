//! Channels of futures-channel, with a point before each operation at which shuttle may run another task.

/// As in futures-channel.
pub mod oneshot {
    use original::oneshot as inner;
    pub use original::oneshot::Canceled;
    use shuttle::thread::yield_now;
    use std::{
        pin::Pin,
        task::{Context, Poll},
    };

    /// As in futures-channel.
    #[derive(Debug)]
    pub struct Sender<T>(inner::Sender<T>);

    /// As in futures-channel.
    #[derive(Debug)]
    pub struct Receiver<T>(inner::Receiver<T>);

    /// As in futures-channel.
    pub fn channel<T>() -> (Sender<T>, Receiver<T>) {
        let (sender, receiver) = inner::channel();
        (Sender(sender), Receiver(receiver))
    }

    impl<T> Sender<T> {
        /// As in futures-channel.
        pub fn send(self, value: T) -> Result<(), T> {
            yield_now();
            self.0.send(value)
        }

        /// As in futures-channel. No point for others: it is asked under locks, about each job of a queue.
        pub fn is_canceled(&self) -> bool {
            self.0.is_canceled()
        }
    }

    impl<T> Future for Receiver<T> {
        type Output = Result<T, Canceled>;

        fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
            Pin::new(&mut self.0).poll(context)
        }
    }
}
