//! The items that a stream sends, and their receiver.

use crate::{
    accounts::error::AccountError,
    store::{SealReference, UserChange},
};
use futures_util::Stream;
use std::{
    pin::Pin,
    task::{Context, Poll},
};
use tokio::sync::{mpsc, oneshot};

#[derive(Debug)]
pub(crate) enum WatchItem {
    /// A change of a user, or a user in a snapshot.
    Change(UserChange),
    /// The position of the stream.
    Progress(StreamPosition),
}

/// The position in the record that a stream has reached.
#[derive(Clone, Debug)]
pub(crate) struct StreamPosition {
    /// Every change up to this revision was sent.
    pub(crate) revision: i64,
    /// The last seal that the stream has seen.
    pub(crate) seal: Option<SealReference>,
}

/// Receives the items of a stream.
pub(crate) struct WatchItems {
    /// The items. An error among them is returned after the items before it.
    pub(super) items: mpsc::Receiver<Result<WatchItem, AccountError>>,
    /// Receives an error of the stream's task, which overtakes the waiting items; `None` after the
    /// task has ended.
    pub(super) error: Option<oneshot::Receiver<AccountError>>,
}

impl WatchItems {
    fn discard_items(&mut self) {
        self.items.close();
        while self.items.try_recv().is_ok() {}
    }
}

impl Stream for WatchItems {
    type Item = Result<WatchItem, AccountError>;

    /// Polls for the next item, or for the error that ends the stream. The result is `None` if the
    /// replica stops, and after an error.
    ///
    /// An error of the stream's task overtakes the waiting items, because a caller who may not
    /// watch any more must get none of them.
    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if let Some(error) = &mut self.error
            && let Poll::Ready(error) = Pin::new(error).poll(context)
        {
            self.error = None;
            if let Ok(error) = error {
                self.discard_items();
                return Poll::Ready(Some(Err(error)));
            }
        }
        match self.items.poll_recv(context) {
            // The error may have been sent after it was polled above.
            Poll::Ready(None) => {
                let error = self
                    .error
                    .take()
                    .and_then(|mut error| error.try_recv().ok());
                Poll::Ready(error.map(Err))
            }
            item => {
                if let Poll::Ready(Some(Err(_))) = item {
                    self.items.close();
                }
                item
            }
        }
    }
}
