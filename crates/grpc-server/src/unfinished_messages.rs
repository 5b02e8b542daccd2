//! Limits the memory of messages that have begun to arrive and are not complete.
//!
//! tonic keeps the arrived part of a message in memory. Each message has a limit, but a connection carries 256
//! messages at a time, and a server has thousands of connections. The first bytes of a call are not counted, so
//! that plain decisions never depend on what other clients send.

use crate::error_status::error_status;
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
/// The maximum number of unfinished bytes of all calls on one connection.
const MAX_CONNECTION_BYTES: usize = 8 * 1024 * KIB;
/// The maximum number of unfinished bytes of all calls on all connections.
const MAX_TOTAL_BYTES: usize = 64 * 1024 * KIB;
/// The maximum number of unfinished bytes of all calls from one address without a verified certificate.
const MAX_ADDRESS_BYTES: usize = MAX_TOTAL_BYTES / 2;
/// The number of bytes at the start of each call that are not counted.
const UNCOUNTED_BYTES: usize = 16 * KIB;

/// The quota of all connections. A permit stands for one KiB, as in the other quotas below.
static TOTAL: LazyLock<Arc<Semaphore>> =
    LazyLock::new(|| Arc::new(Semaphore::new(MAX_TOTAL_BYTES / KIB)));

static ADDRESSES: LazyLock<ClientSlots> =
    LazyLock::new(|| ClientSlots::new(u32::try_from(MAX_ADDRESS_BYTES / KIB).unwrap_or(u32::MAX)));

/// The quota of a connection. Clones share it.
#[derive(Clone, Debug)]
pub(crate) struct ConnectionQuota {
    permits: Arc<Semaphore>,
}

impl Default for ConnectionQuota {
    fn default() -> Self {
        Self {
            permits: Arc::new(Semaphore::new(MAX_CONNECTION_BYTES / KIB)),
        }
    }
}

/// The quotas that limit a call, in addition to the quota of all connections.
#[derive(Debug)]
pub(crate) struct MessageQuota {
    pub(crate) connection: ConnectionQuota,
    /// The address whose quota limits the call; `None` for a caller with a verified certificate.
    pub(crate) address: Option<IpAddr>,
}

impl MessageQuota {
    /// Wraps a body so that its bytes are counted. Reading fails with OVERLOADED when a quota is used up.
    pub(crate) fn count<B>(self, body: B) -> CountedBody<B> {
        CountedBody {
            body,
            quota: self,
            arrived: 0,
            permits: Vec::new(),
        }
    }
}

/// A body whose bytes are counted until it is dropped. The piece that ends the body is not counted, because the
/// message is then complete.
#[derive(Debug)]
pub(crate) struct CountedBody<B> {
    body: B,
    quota: MessageQuota,
    /// The number of bytes that have arrived, without the piece that ends the body. All except the first
    /// [`UNCOUNTED_BYTES`] are counted.
    arrived: usize,
    permits: Vec<OwnedSemaphorePermit>,
}

impl<B> CountedBody<B> {
    fn add(&mut self, bytes: usize) -> Result<(), Status> {
        let counted_before = counted_kib(self.arrived);
        self.arrived += bytes;
        let kib = u32::try_from(counted_kib(self.arrived) - counted_before).unwrap_or(u32::MAX);
        if kib == 0 {
            return Ok(());
        }
        self.acquire(Arc::clone(&self.quota.connection.permits), kib)?;
        self.acquire(Arc::clone(&TOTAL), kib)?;
        if let Some(address) = self.quota.address {
            self.acquire(ADDRESSES.slots_of(client_key(Some(address))), kib)?;
        }
        Ok(())
    }

    fn acquire(&mut self, quota: Arc<Semaphore>, kib: u32) -> Result<(), Status> {
        let Ok(permit) = quota.try_acquire_many_owned(kib) else {
            let problem = io::Error::other("too many bytes of unfinished messages");
            return Err(error_status(Reason::Overloaded, &problem, None));
        };
        self.permits.push(permit);
        Ok(())
    }
}

fn counted_kib(arrived: usize) -> usize {
    arrived.saturating_sub(UNCOUNTED_BYTES).div_ceil(KIB)
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
