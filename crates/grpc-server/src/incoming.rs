//! TCP connections for tonic: accepted, encrypted where TLS is configured, with a deadline until the
//! HTTP/2 preface.

use crate::connection::Connection;
use rolegate_http_server::{
    incoming::{Accepted, Incoming},
    refused_peer,
};
use std::{future::Future, io, time::Duration};
use tokio::{
    net::TcpStream,
    sync::mpsc,
    time::{Instant, timeout_at},
};
use tokio_stream::wrappers::ReceiverStream;
use tonic::transport::server::Connected;

/// Handshakes in progress count too.
pub(crate) const MAX_CONNECTIONS: usize = 4096;

/// From the accept to the end of the HTTP/2 preface, TLS handshake included.
pub(crate) const PREFACE_TIMEOUT: Duration = Duration::from_secs(10);

/// The connections of a listener, ready for tonic.
pub(crate) type Connections<S> = ReceiverStream<io::Result<Connection<S>>>;

/// Accepts connections, until `stopping`, and completes `handshake` on each.
pub(crate) fn accept<S, F>(
    mut incoming: Incoming,
    timeout: Duration,
    stopping: impl Future<Output = ()> + Send + 'static,
    handshake: impl Fn(TcpStream) -> F + Send + Sync + 'static,
) -> Connections<S>
where
    S: Connected + Send + 'static,
    F: Future<Output = io::Result<S>> + Send + 'static,
{
    let (sender, connections) = mpsc::channel(1);
    tokio::spawn(async move {
        let accepting = async {
            loop {
                let Accepted { stream, peer, permit } = incoming.accept(|| false).await;
                let deadline = Instant::now() + timeout;
                let (handshake, sender) = (handshake(stream), sender.clone());
                // A task of its own, so that a slow handshake does not delay other connections.
                tokio::spawn(async move {
                    match timeout_at(deadline, handshake).await {
                        Ok(Ok(stream)) => {
                            // Fails if the server has stopped.
                            let _ = sender
                                .send(Ok(Connection::new(stream, peer.ip(), deadline, permit)))
                                .await;
                        }
                        Ok(Err(error)) => refused_peer::log_handshake_error(peer, &error),
                        Err(_elapsed) => tracing::debug!(%peer, "the TLS handshake timed out"),
                    }
                });
            }
        };
        tokio::select! {
            () = accepting => {}
            () = stopping => {}
            () = sender.closed() => {}
        }
    });
    ReceiverStream::new(connections)
}

#[cfg(test)]
mod tests {
    use super::{Connections, MAX_CONNECTIONS, PREFACE_TIMEOUT, accept};
    use crate::connection::PREFACE_LEN;
    use rolegate_http_server::incoming::Incoming;
    use std::{
        future::{pending, ready},
        io::ErrorKind,
        net::SocketAddr,
        time::Duration,
    };
    use tokio::{
        io::{AsyncReadExt, AsyncWriteExt},
        net::TcpStream,
        time::timeout,
    };
    use tokio_stream::StreamExt as _;

    async fn listen(limit: usize, deadline: Duration) -> (Connections<TcpStream>, SocketAddr) {
        let address = "127.0.0.1:0".parse().expect("an address");
        let incoming = Incoming::bind("LISTEN_ADDR", address, limit).await.expect("bound");
        let address = incoming.address();
        (accept(incoming, deadline, pending(), |stream| ready(Ok(stream))), address)
    }

    #[tokio::test]
    async fn at_the_limit_a_connection_waits_until_another_ends() {
        let (mut connections, address) = listen(2, PREFACE_TIMEOUT).await;
        let mut clients = Vec::new();
        for _ in 0..3 {
            clients.push(TcpStream::connect(address).await.expect("connected"));
        }
        let first = connections.next().await.expect("one").expect("accepted");
        let _second = connections.next().await.expect("two").expect("accepted");
        let third = timeout(Duration::from_millis(50), connections.next()).await;
        assert!(third.is_err(), "a third was accepted");
        drop(first);
        connections.next().await.expect("three").expect("accepted");
    }

    #[tokio::test]
    async fn without_a_preface_a_connection_times_out_and_with_one_it_may_be_idle() {
        let (mut connections, address) = listen(MAX_CONNECTIONS, Duration::from_millis(50)).await;
        for sent in [0, PREFACE_LEN - 1] {
            let mut client = TcpStream::connect(address).await.expect("connected");
            client.write_all(&[b'x'; PREFACE_LEN][..sent]).await.expect("sent");
            let mut server = connections.next().await.expect("one").expect("accepted");
            let error = server.read_exact(&mut [0; PREFACE_LEN]).await.expect_err("too late");
            assert_eq!(error.kind(), ErrorKind::TimedOut);
        }
        let mut client = TcpStream::connect(address).await.expect("connected");
        client.write_all(&[b'x'; PREFACE_LEN]).await.expect("sent");
        let mut server = connections.next().await.expect("one").expect("accepted");
        server.read_exact(&mut [0; PREFACE_LEN]).await.expect("the preface");
        let more = timeout(Duration::from_millis(200), server.read_u8()).await;
        assert!(more.is_err(), "cut off: {more:?}");
    }
}
