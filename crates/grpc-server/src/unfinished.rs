//! Bytes of messages that have begun to arrive and are not complete.
//!
//! tonic keeps what has arrived of a message. A message has a limit, but a connection carries 256 at a
//! time, and a server has thousands of connections. The first bytes of a call are not counted, so that
//! plain decisions never depend on what others send.

use crate::error_status;
use http_body::{Body, Frame, SizeHint};
use rolegate_http_server::clients::client_key;
use rolegate_proto::Reason;
use std::{
    collections::BTreeMap,
    net::IpAddr,
    pin::Pin,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    task::{Context, Poll},
};
use tonic::Status;

/// Bytes of one connection.
const MAX_OF_CONNECTION: usize = 8 * 1024 * 1024;
/// Bytes of all connections.
const MAX: usize = 64 * 1024 * 1024;

/// Bytes of one address without a verified certificate.
const MAX_OF_ADDRESS: usize = MAX / 2;
/// Bytes of a call that are not counted.
const FREE: usize = 16 * 1024;

static ALL: AtomicUsize = AtomicUsize::new(0);
static ADDRESSES: Mutex<BTreeMap<IpAddr, usize>> = Mutex::new(BTreeMap::new());

fn of_address(address: IpAddr, change: impl FnOnce(&mut usize)) -> usize {
    let mut addresses = ADDRESSES.lock().unwrap_or_else(PoisonError::into_inner);
    let bytes = addresses.entry(address).or_default();
    change(bytes);
    let bytes = *bytes;
    if bytes == 0 {
        addresses.remove(&address);
    }
    bytes
}

/// The unfinished bytes of a connection. Clones share the count.
#[derive(Clone, Debug, Default)]
pub(crate) struct Unfinished(Arc<AtomicUsize>);

impl Unfinished {
    /// Counts a body of this connection, and of this address if it has a share. Calls whose body exceeds the
    /// limits fail.
    pub(crate) fn count<B>(&self, body: B, address: Option<IpAddr>) -> CountedBody<B> {
        CountedBody { body, connection: self.clone(), address, arrived: 0 }
    }

    fn add(&self, bytes: usize, address: Option<IpAddr>) -> Result<(), Status> {
        let of_connection = self.0.fetch_add(bytes, Ordering::Relaxed) + bytes;
        let of_all = ALL.fetch_add(bytes, Ordering::Relaxed) + bytes;
        let of_address =
            address.map_or(0, |address| of_address(client_key(Some(address)), |sum| *sum += bytes));
        if of_connection > MAX_OF_CONNECTION || of_address > MAX_OF_ADDRESS || of_all > MAX {
            return Err(error_status(Reason::Overloaded, &TooMuchUnfinished, None, None));
        }
        Ok(())
    }

    fn subtract(&self, bytes: usize, address: Option<IpAddr>) {
        if let Some(address) = address {
            of_address(client_key(Some(address)), |sum| *sum -= bytes);
        }
        self.0.fetch_sub(bytes, Ordering::Relaxed);
        ALL.fetch_sub(bytes, Ordering::Relaxed);
    }
}

#[derive(Debug, thiserror::Error)]
#[error("too many bytes of unfinished messages")]
struct TooMuchUnfinished;

/// A body whose bytes are counted until it is dropped. One that arrives in one piece is not counted.
#[derive(Debug)]
pub(crate) struct CountedBody<B> {
    body: B,
    connection: Unfinished,
    address: Option<IpAddr>,
    /// Bytes, of which all but the first [`FREE`] are counted.
    arrived: usize,
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
        {
            let before = self.arrived.saturating_sub(FREE);
            self.arrived += data.as_ref().len();
            let bytes = self.arrived.saturating_sub(FREE) - before;
            if bytes > 0
                && let Err(status) = self.connection.add(bytes, self.address)
            {
                return Poll::Ready(Some(Err(status.into())));
            }
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

impl<B> Drop for CountedBody<B> {
    fn drop(&mut self) {
        let counted = self.arrived.saturating_sub(FREE);
        if counted > 0 {
            self.connection.subtract(counted, self.address);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{FREE, MAX, MAX_OF_ADDRESS, MAX_OF_CONNECTION, Unfinished};
    use axum::body::{Body, Bytes};
    use http_body_util::BodyExt as _;
    use std::{convert::Infallible, net::IpAddr, sync::atomic::Ordering};
    use tokio::sync::Mutex;
    use tokio_stream::StreamExt as _;
    use tonic::{Code, Status};

    /// The bytes of all connections are those of this process.
    static ALONE: Mutex<()> = Mutex::const_new(());

    /// A body of these parts that never ends.
    fn unfinished(parts: Vec<Bytes>) -> Body {
        let parts = parts.into_iter().map(Ok::<_, Infallible>);
        Body::from_stream(tokio_stream::iter(parts).chain(tokio_stream::pending()))
    }

    async fn read<B>(body: &mut super::CountedBody<B>) -> Result<(), Code>
    where
        super::CountedBody<B>:
            http_body::Body<Error = Box<dyn std::error::Error + Send + Sync>> + Unpin,
    {
        let Err(error) = body.frame().await.expect("a frame") else { return Ok(()) };
        Err(error.downcast::<Status>().expect("a status").code())
    }

    #[tokio::test]
    async fn unfinished_bytes_of_a_connection_are_limited_and_freed_with_their_body() {
        let _alone = ALONE.lock().await;
        let connection = Unfinished::default();
        let parts = vec![Bytes::from(vec![0; FREE]), Bytes::from(vec![0; MAX_OF_CONNECTION])];
        let mut body = connection.count(unfinished(parts), None);
        for _ in 0..2 {
            assert_eq!(read(&mut body).await, Ok(()));
        }
        let parts = vec![Bytes::from(vec![0; FREE]), Bytes::from_static(b"x")];
        let mut other = connection.count(unfinished(parts), None);
        assert_eq!(read(&mut other).await, Ok(()), "a small call depends on the budget");
        assert_eq!(read(&mut other).await, Err(Code::ResourceExhausted));

        let another = Unfinished::default();
        let mut elsewhere = another.count(Body::from(vec![0; 2 * FREE]), None);
        assert_eq!(read(&mut elsewhere).await, Ok(()), "another connection");
        assert_eq!(another.0.load(Ordering::Relaxed), 0, "a complete body was counted");
        drop((body, other));
        assert_eq!(connection.0.load(Ordering::Relaxed), 0);
    }

    #[tokio::test]
    async fn all_connections_together_are_limited() {
        let _alone = ALONE.lock().await;
        let read_new = async |bytes| {
            let connection = Unfinished::default();
            let parts = vec![Bytes::from(vec![0; FREE + bytes])];
            let mut body = connection.count(unfinished(parts), None);
            (read(&mut body).await, body)
        };
        let mut taken = Vec::new();
        for _ in 0..MAX / MAX_OF_CONNECTION {
            let (outcome, body) = read_new(MAX_OF_CONNECTION).await;
            assert_eq!(outcome, Ok(()));
            taken.push(body);
        }
        assert_eq!(read_new(1).await.0, Err(Code::ResourceExhausted));
        assert_eq!(read_new(0).await.0, Ok(()));
        drop(taken);
        assert_eq!(read_new(1).await.0, Ok(()));
    }

    #[tokio::test]
    async fn an_address_has_half_of_all_unless_it_has_a_certificate() {
        let _alone = ALONE.lock().await;
        let address = |text: &str| Some(text.parse::<IpAddr>().expect("an address"));
        let body = |bytes, address| {
            Unfinished::default().count(unfinished(vec![Bytes::from(vec![0; bytes])]), address)
        };
        let mut taken = Vec::new();
        for last in 0..MAX_OF_ADDRESS / MAX_OF_CONNECTION {
            let mut body = body(MAX_OF_CONNECTION + FREE, address(&format!("2001:db8::{last}")));
            assert_eq!(read(&mut body).await, Ok(()));
            taken.push(body);
        }
        let one_more = FREE + 1;
        let full = address("2001:db8::1:1");
        assert_eq!(read(&mut body(one_more, full)).await, Err(Code::ResourceExhausted));
        assert_eq!(read(&mut body(FREE, full)).await, Ok(()));
        assert_eq!(read(&mut body(one_more, address("2001:db8:0:1::1"))).await, Ok(()));
        assert_eq!(read(&mut body(one_more, None)).await, Ok(()));
        drop(taken);
        assert_eq!(read(&mut body(one_more, full)).await, Ok(()));
    }
}
