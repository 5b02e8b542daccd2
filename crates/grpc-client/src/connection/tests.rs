//! Tests a connection to an HTTP/2 server in the test, over a stream that counts writes.

use super::{Connection, NewConnection, PING_INTERVAL, PING_TIMEOUT, open};
use bytes::Bytes;
use h2::server::{self, SendResponse};
use http::{HeaderMap, Request, Response};
use http_body_util::{BodyExt as _, Full};
use std::{
    io,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    task::{Context, Poll},
    time::Duration,
};
use tokio::{
    io::{AsyncRead, AsyncWrite, DuplexStream, ReadBuf, duplex},
    sync::oneshot,
    task::{JoinHandle, yield_now},
    time::{Instant, timeout},
};
use tonic::body::Body;

/// A stream that counts its writes.
struct CountingStream {
    stream: DuplexStream,
    writes: Arc<AtomicUsize>,
}

impl AsyncRead for CountingStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl AsyncWrite for CountingStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        data: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.writes.fetch_add(1, Ordering::Relaxed);
        Pin::new(&mut self.stream).poll_write(context, data)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

struct TestConnection {
    connection: Connection,
    failure: oneshot::Receiver<io::Error>,
    writes: Arc<AtomicUsize>,
    /// The task of the server, which ends with the connection.
    server: JoinHandle<()>,
}

/// Connects to a server that handles each request with `answer`.
async fn connect(answer: fn(Request<h2::RecvStream>, SendResponse<Bytes>)) -> TestConnection {
    let (ours, theirs) = duplex(1024 * 1024);
    let server = tokio::spawn(async move {
        let mut connection = server::handshake(theirs).await.expect("a preface");
        while let Some(Ok((request, respond))) = connection.accept().await {
            answer(request, respond);
        }
    });
    let writes = Arc::default();
    let stream = CountingStream {
        stream: ours,
        writes: Arc::clone(&writes),
    };
    let NewConnection {
        connection,
        failure,
    } = open(Box::new(stream)).await.expect("a connection");
    TestConnection {
        connection,
        failure,
        writes,
        server,
    }
}

/// Sends the message back, with trailers, as gRPC does.
fn echo(request: Request<h2::RecvStream>, mut respond: SendResponse<Bytes>) {
    tokio::spawn(async move {
        let message = request
            .into_body()
            .data()
            .await
            .expect("a message")
            .expect("received");
        let mut stream = respond
            .send_response(Response::new(()), false)
            .expect("sent");
        stream.send_data(message, false).expect("sent");
        let trailers = HeaderMap::from_iter([("grpc-status".parse().expect("a name"), 0.into())]);
        stream.send_trailers(trailers).expect("sent");
    });
}

fn request(message: &'static [u8]) -> Request<Body> {
    let body = Body::new(Full::new(Bytes::from_static(message)));
    Request::post("http://replica/method")
        .body(body)
        .expect("a request")
}

#[tokio::test]
async fn a_call_is_one_write_and_its_response_has_data_and_trailers() {
    let opened = connect(echo).await;
    for call in 0..3 {
        let before = opened.writes.load(Ordering::Relaxed);
        let response = opened
            .connection
            .clone()
            .send(request(b"hello"))
            .await
            .expect("answered");
        let body = response.into_body().collect().await.expect("received");
        assert_eq!(body.trailers().expect("trailers")["grpc-status"], "0");
        assert_eq!(body.to_bytes(), "hello");
        // Before the first call, the client also writes the acknowledgement of settings.
        if call > 0 {
            assert_eq!(opened.writes.load(Ordering::Relaxed) - before, 1);
        }
    }
}

#[tokio::test]
async fn a_connection_closes_with_its_last_clone_also_after_calls() {
    let TestConnection {
        connection, server, ..
    } = connect(echo).await;
    for _ in 0..100 {
        let response = connection
            .clone()
            .send(request(b"hello"))
            .await
            .expect("answered");
        response.into_body().collect().await.expect("received");
    }
    assert!(!connection.is_closed() && !server.is_finished());
    drop(connection);
    server.await.expect("the server ends");
}

#[tokio::test]
async fn a_response_larger_than_the_window_arrives_whole() {
    fn large(_: Request<h2::RecvStream>, mut respond: SendResponse<Bytes>) {
        let mut stream = respond
            .send_response(Response::new(()), false)
            .expect("sent");
        stream
            .send_data(vec![7; 5 * 1024 * 1024].into(), true)
            .expect("sent");
    }
    let opened = connect(large).await;
    let response = opened
        .connection
        .send(request(b""))
        .await
        .expect("answered");
    let body = response.into_body().collect().await.expect("received");
    assert_eq!(body.to_bytes().len(), 5 * 1024 * 1024);
}

#[tokio::test]
async fn a_response_that_nobody_reads_holds_up_no_other_call() {
    fn large(_: Request<h2::RecvStream>, mut respond: SendResponse<Bytes>) {
        let mut stream = respond
            .send_response(Response::new(()), false)
            .expect("sent");
        stream
            .send_data(vec![7; 2 * 1024 * 1024].into(), true)
            .expect("sent");
    }
    let connection = connect(large).await.connection;
    let unread = connection
        .clone()
        .send(request(b""))
        .await
        .expect("answered")
        .into_body();
    let other = async {
        let response = connection.send(request(b"")).await.expect("answered");
        response
            .into_body()
            .collect()
            .await
            .expect("received")
            .to_bytes()
    };
    let other = timeout(Duration::from_secs(10), other)
        .await
        .expect("it waits for nothing");
    assert_eq!(other.len(), 2 * 1024 * 1024);
    drop(unread);
}

#[tokio::test(start_paused = true)]
async fn a_peer_that_answers_no_ping_fails_the_calls_in_flight() {
    let (ours, theirs) = duplex(1024 * 1024);
    let NewConnection {
        connection,
        failure,
    } = open(Box::new(ours)).await.expect("a connection");
    let start = Instant::now();
    let failed = connection
        .clone()
        .send(request(b"hello"))
        .await
        .expect_err("no answer");
    assert_eq!(
        start.elapsed().as_secs(),
        (PING_INTERVAL + PING_TIMEOUT).as_secs()
    );
    assert_eq!(
        failure.await.expect("a cause").kind(),
        io::ErrorKind::TimedOut,
        "{failed}"
    );
    assert!(connection.is_closed());
    drop(theirs);
}

#[tokio::test]
async fn a_connection_that_the_peer_leaves_is_closed_and_takes_no_calls() {
    let TestConnection {
        connection,
        server,
        failure,
        ..
    } = connect(echo).await;
    server.abort();
    let _ = failure.await;
    assert!(connection.is_closed());
    connection
        .send(request(b"hello"))
        .await
        .expect_err("closed");
}

#[tokio::test]
async fn a_peer_that_shuts_down_gets_no_new_call_and_answers_the_one_in_flight() {
    let (ours, theirs) = duplex(1024 * 1024);
    let (answer, told) = oneshot::channel();
    tokio::spawn(async move {
        let mut connection = server::handshake(theirs).await.expect("a preface");
        let (request, respond) = connection
            .accept()
            .await
            .expect("a call")
            .expect("received");
        connection.graceful_shutdown();
        tokio::spawn(async move {
            told.await.expect("told to answer");
            echo(request, respond);
        });
        assert!(connection.accept().await.is_none(), "a second call");
    });
    let NewConnection {
        connection,
        failure: _failure,
    } = open(Box::new(ours)).await.expect("a connection");
    let in_flight = tokio::spawn(connection.clone().send(request(b"hello")));
    while !connection.is_closed() {
        yield_now().await;
    }
    connection
        .send(request(b"hello"))
        .await
        .expect_err("it takes no more");
    answer.send(()).expect("it waits");
    in_flight.await.expect("no panic").expect("answered");
}
