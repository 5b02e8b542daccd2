//! The channels of futures-channel, with a point before each operation at which shuttle may run another task.

/// Wraps the one-shot channels of futures-channel.
pub mod oneshot {
    use original::oneshot as inner;
    pub use original::oneshot::Canceled;
    use shuttle::thread::yield_now;
    use std::{
        pin::Pin,
        task::{Context, Poll},
    };

    /// Wraps the sender of futures-channel.
    #[derive(Debug)]
    pub struct Sender<T>(inner::Sender<T>);

    /// Wraps the receiver of futures-channel.
    #[derive(Debug)]
    pub struct Receiver<T>(inner::Receiver<T>);

    /// Creates a channel, as futures-channel does.
    pub fn channel<T>() -> (Sender<T>, Receiver<T>) {
        let (sender, receiver) = inner::channel();
        (Sender(sender), Receiver(receiver))
    }

    impl<T> Sender<T> {
        /// Lets another task run, and then sends the value.
        pub fn send(self, value: T) -> Result<(), T> {
            yield_now();
            self.0.send(value)
        }

        /// Returns whether the receiver was dropped. No other task can run here, because the engine calls this under a
        /// lock, for each job of a queue.
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
