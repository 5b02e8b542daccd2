//! Bytes of messages that have begun to arrive and are not complete.
//!
//! tonic keeps what has arrived of a message. A message has a limit, but a connection carries 256 at a
//! time, and a server has thousands of connections. The first bytes of a call are not counted, so that
//! plain decisions never depend on what others send.

use crate::error_status;
use http_body::{Body, Frame, SizeHint};
use rolegate_http_server::clients::{ClientSlots, client_key};
use rolegate_proto::Reason;
use std::{
    io,
    net::IpAddr,
    pin::Pin,
    sync::{Arc, LazyLock},
    task::{Context, Poll},
};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tonic::Status;

const KIB: usize = 1024;
/// Bytes of one connection.
const MAX_OF_CONNECTION: usize = 8 * 1024 * KIB;
/// Bytes of all connections.
const MAX: usize = 64 * 1024 * KIB;
/// Bytes of one address without a verified certificate.
const MAX_OF_ADDRESS: usize = MAX / 2;
/// Bytes of a call that are not counted.
const FREE: usize = 16 * KIB;

/// A permit is a KiB, here and below.
static ALL: LazyLock<Arc<Semaphore>> = LazyLock::new(|| Arc::new(Semaphore::new(MAX / KIB)));

static ADDRESSES: LazyLock<ClientSlots> =
    LazyLock::new(|| ClientSlots::new(u32::try_from(MAX_OF_ADDRESS / KIB).unwrap_or(u32::MAX)));

/// The unfinished bytes of a connection. Clones share the count.
#[derive(Clone, Debug)]
pub(crate) struct Unfinished(Arc<Semaphore>);

impl Default for Unfinished {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(MAX_OF_CONNECTION / KIB)))
    }
}

impl Unfinished {
    /// Counts a body of this connection, and of this address if it has a share. Calls whose body exceeds the
    /// limits fail.
    pub(crate) fn count<B>(&self, body: B, address: Option<IpAddr>) -> CountedBody<B> {
        CountedBody {
            body,
            connection: self.clone(),
            address,
            arrived: 0,
            reserved: Vec::new(),
        }
    }
}

/// A body whose bytes are counted until it is dropped. One that arrives in one piece is not counted.
#[derive(Debug)]
pub(crate) struct CountedBody<B> {
    body: B,
    connection: Unfinished,
    address: Option<IpAddr>,
    /// Bytes, of which all but the first [`FREE`] are counted.
    arrived: usize,
    reserved: Vec<OwnedSemaphorePermit>,
}

impl<B> CountedBody<B> {
    fn add(&mut self, bytes: usize) -> Result<(), Status> {
        let kib = |arrived: usize| arrived.saturating_sub(FREE).div_ceil(KIB);
        let before = kib(self.arrived);
        self.arrived += bytes;
        let kib = u32::try_from(kib(self.arrived) - before).unwrap_or(u32::MAX);
        if kib > 0 {
            let address = self
                .address
                .map(|address| ADDRESSES.of(client_key(Some(address))));
            for share in [&self.connection.0, &*ALL].into_iter().chain(&address) {
                let reserved = Arc::clone(share)
                    .try_acquire_many_owned(kib)
                    .map_err(|_full| {
                        let problem = io::Error::other("too many bytes of unfinished messages");
                        error_status(Reason::Overloaded, &problem, None)
                    })?;
                self.reserved.push(reserved);
            }
        }
        Ok(())
    }
}

impl<B> Body for CountedBody<B>
where
    B: Body<Data: AsRef<[u8]>, Error: Into<Box<dyn std::error::Error + Send + Sync>>> + Unpin,
{
    type Data = B::Data;
    type Error = Box<dyn std::error::Error + Send + Sync>;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<B::Data>, Self::Error>>> {
        let frame = Pin::new(&mut self.body).poll_frame(cx).map_err(Into::into);
        if let Poll::Ready(Some(Ok(frame))) = &frame
            && let Some(data) = frame.data_ref()
            && !self.body.is_end_stream()
            && let Err(status) = self.add(data.as_ref().len())
        {
            return Poll::Ready(Some(Err(status.into())));
        }
        frame
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests;
