//! TCP connections, encrypted or not: how many, and how long they may take to say what they are.

use rolegate_grpc_tls::ServerTls;
use std::{
    future::Future,
    io,
    net::SocketAddr,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::{TcpListener, TcpStream},
    sync::{OwnedSemaphorePermit, Semaphore, mpsc},
    time::{Instant, Sleep, sleep_until, timeout_at},
};
use tokio_rustls::server::TlsStream;
use tokio_stream::wrappers::ReceiverStream;
use tonic::transport::server::Connected;

/// Bounds on what callers may take.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// Connections at one time, handshakes included; more wait in the kernel's backlog.
    connections: usize,
    /// From the accept to the end of the client's preface, the handshake included.
    introduction: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self { connections: 4096, introduction: Duration::from_secs(10) }
    }
}

/// The connection preface of HTTP/2 (RFC 9113, section 3.4), in bytes. Who has sent it is watched by
/// the pings of HTTP/2.
const PREFACE: usize = 24;

/// What the server is handed, one connection after the other.
pub(crate) type Guests<S> = ReceiverStream<io::Result<Guest<S>>>;

/// Connections of this listener as they are, until `stopping`.
pub(crate) fn plain(
    listener: TcpListener,
    limits: Limits,
    stopping: impl Future<Output = ()> + Send + 'static,
) -> Guests<TcpStream> {
    accept(listener, limits, stopping, async |stream| Ok(stream))
}

/// Connections of this listener whose handshake succeeded, until `stopping`.
pub(crate) fn encrypted(
    listener: TcpListener,
    tls: Arc<ServerTls>,
    limits: Limits,
    stopping: impl Future<Output = ()> + Send + 'static,
) -> Guests<TlsStream<TcpStream>> {
    accept(listener, limits, stopping, move |stream| tls.acceptor().accept(stream))
}

fn accept<S, F>(
    listener: TcpListener,
    limits: Limits,
    stopping: impl Future<Output = ()> + Send + 'static,
    greet: impl Fn(TcpStream) -> F + Send + Sync + 'static,
) -> Guests<S>
where
    S: Send + 'static,
    F: Future<Output = io::Result<S>> + Send + 'static,
{
    let (hand_over, guests) = mpsc::channel(1);
    tokio::spawn(async move {
        let places = Arc::new(Semaphore::new(limits.connections));
        let accepting = async {
            loop {
                let place = place(&places).await;
                let (stream, peer) = match listener.accept().await {
                    Ok(accepted) => accepted,
                    Err(error) => {
                        wait_out(&error).await;
                        continue;
                    }
                };
                // Small messages must not wait for the acknowledgement of the one before.
                let _ = stream.set_nodelay(true);
                let until = Instant::now() + limits.introduction;
                let (greeting, hand_over) = (greet(stream), hand_over.clone());
                // On its own, so that nobody waits for another's handshake.
                tokio::spawn(async move {
                    match timeout_at(until, greeting).await {
                        Ok(Ok(stream)) => {
                            // The server may be gone by now.
                            let _ = hand_over.send(Ok(Guest::new(stream, until, place))).await;
                        }
                        Ok(Err(error)) => said_nothing_good(peer, &error),
                        Err(_elapsed) => said_nothing_good(peer, &"no handshake in time"),
                    }
                });
            }
        };
        tokio::select! {
            () = accepting => {}
            () = stopping => {}
            () = hand_over.closed() => {}
        }
    });
    ReceiverStream::new(guests)
}

/// Waits for a place; `None` cannot be, since nobody closes the semaphore.
async fn place(places: &Arc<Semaphore>) -> Option<OwnedSemaphorePermit> {
    if places.available_permits() == 0 {
        tracing::warn!("there are too many gRPC connections; further ones wait until one ends");
    }
    Arc::clone(places).acquire_owned().await.ok()
}

fn said_nothing_good(peer: SocketAddr, error: &dyn std::fmt::Display) {
    tracing::debug!(%peer, %error, "a gRPC connection ended in its handshake");
}

/// Errors of one connection pass at once; out of file descriptors needs a moment to pass.
async fn wait_out(error: &io::Error) {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
    if !matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset) {
        tracing::error!(%error, "cannot accept gRPC connections");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

/// An accepted connection, and the place that it takes.
#[derive(Debug)]
pub(crate) struct Guest<S> {
    stream: S,
    /// Until the preface is read: bytes of it that are missing, and how long they are waited for.
    introduction: Option<(usize, Pin<Box<Sleep>>)>,
    _place: Option<OwnedSemaphorePermit>,
}

impl<S> Guest<S> {
    fn new(stream: S, until: Instant, place: Option<OwnedSemaphorePermit>) -> Self {
        let introduction = Some((PREFACE, Box::pin(sleep_until(until))));
        Self { stream, introduction, _place: place }
    }
}

impl<S: Connected> Connected for Guest<S> {
    type ConnectInfo = S::ConnectInfo;

    fn connect_info(&self) -> Self::ConnectInfo {
        self.stream.connect_info()
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Guest<S> {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let before = buffer.filled().len();
        let read = Pin::new(&mut this.stream).poll_read(cx, buffer);
        if let Some((missing, patience)) = &mut this.introduction {
            *missing = missing.saturating_sub(buffer.filled().len() - before);
            if *missing == 0 {
                this.introduction = None;
            } else if read.is_pending() && patience.as_mut().poll(cx).is_ready() {
                return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
            }
        }
        read
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Guest<S> {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.get_mut().stream).poll_write(cx, bytes)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.get_mut().stream).poll_write_vectored(cx, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use super::{Limits, PREFACE, plain};
    use std::{future::pending, io::ErrorKind, net::SocketAddr, time::Duration};
    use tokio::{
        io::{AsyncReadExt, AsyncWriteExt},
        net::{TcpListener, TcpStream},
        time::timeout,
    };
    use tokio_stream::StreamExt as _;

    async fn listener() -> (TcpListener, SocketAddr) {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("bound");
        (listener, address)
    }

    #[tokio::test]
    async fn one_more_waits_until_a_connection_ends() {
        let (listener, address) = listener().await;
        let limits = Limits { connections: 2, ..Limits::default() };
        let mut guests = plain(listener, limits, pending());
        let mut callers = Vec::new();
        for _ in 0..3 {
            callers.push(TcpStream::connect(address).await.expect("the kernel answers"));
        }
        let first = guests.next().await.expect("one").expect("accepted");
        let _second = guests.next().await.expect("two").expect("accepted");
        let third = timeout(Duration::from_millis(50), guests.next()).await;
        assert!(third.is_err(), "a third was accepted");
        drop(first);
        guests.next().await.expect("three").expect("accepted");
    }

    #[tokio::test]
    async fn who_does_not_introduce_himself_in_time_is_let_go_and_who_does_may_stay_silent() {
        let (listener, address) = listener().await;
        let limits = Limits { introduction: Duration::from_millis(50), ..Limits::default() };
        let mut guests = plain(listener, limits, pending());
        for said in [0, PREFACE - 1] {
            let mut caller = TcpStream::connect(address).await.expect("the kernel answers");
            caller.write_all(&[b'x'; PREFACE][..said]).await.expect("sent");
            let mut guest = guests.next().await.expect("one").expect("accepted");
            let error = guest.read_exact(&mut [0; PREFACE]).await.expect_err("too late");
            assert_eq!(error.kind(), ErrorKind::TimedOut);
        }
        let mut caller = TcpStream::connect(address).await.expect("the kernel answers");
        caller.write_all(&[b'x'; PREFACE]).await.expect("sent");
        let mut guest = guests.next().await.expect("one").expect("accepted");
        guest.read_exact(&mut [0; PREFACE]).await.expect("introduced");
        let more = timeout(Duration::from_millis(200), guest.read_u8()).await;
        assert!(more.is_err(), "cut off: {more:?}");
    }
}
