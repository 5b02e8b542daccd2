use super::{BUSY_DRAIN_TIMEOUT, DRAIN_TIMEOUT, MAX_DRAIN, drain_unread};
use axum::{
    Router,
    body::{Body, Bytes},
    middleware::{Next, from_fn},
    routing::post,
};
use http::{Request, StatusCode, header::CONNECTION};
use http_body_util::BodyExt;
use rolegate_http_server::memory_budget::MemoryBudget;
use std::{
    convert::Infallible,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};
use tokio::time::Instant;
use tower::ServiceExt;

const CHUNK: usize = 16 * 1024;

/// Returns a body of unknown length, and the number of chunks that were read from it.
fn body(chunks: usize) -> (Body, Arc<AtomicUsize>) {
    let read = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&read);
    let chunks = (0..chunks).map(move |_| {
        count.fetch_add(1, Ordering::Relaxed);
        Ok::<_, Infallible>(Bytes::from_static(&[b' '; CHUNK]))
    });
    (Body::from_stream(tokio_stream::iter(chunks)), read)
}

/// Sends the body to a handler and returns whether the response closes the connection.
async fn closes(path: &str, body: Body, expect: Option<&str>) -> bool {
    let router = Router::new()
        .route("/rejected", post(async || StatusCode::UNAUTHORIZED))
        .route("/busy", post(async || StatusCode::SERVICE_UNAVAILABLE))
        .route("/slow", post(async || StatusCode::REQUEST_TIMEOUT))
        .route(
            "/started",
            post(async |mut body: Body| drop(body.frame().await)),
        )
        .route("/read", post(async |body: Body| drop(body.collect().await)))
        .layer(from_fn(async |request, next: Next| {
            drain_unread(
                request,
                &MemoryBudget::new("test", 1024, DRAIN_TIMEOUT),
                |request| next.run(request),
            )
            .await
        }));
    let mut request = Request::post(path);
    if let Some(expect) = expect {
        request = request.header("expect", expect);
    }
    let request = request.body(body).expect("a request");
    let response = router.oneshot(request).await.expect("routers cannot fail");
    response
        .headers()
        .get(CONNECTION)
        .is_some_and(|value| value == "close")
}

#[tokio::test]
async fn unread_rest_is_drained() {
    for path in ["/rejected", "/started", "/read"] {
        let (body, read) = body(100);
        assert!(!closes(path, body, None).await, "{path}");
        assert_eq!(read.load(Ordering::Relaxed), 100, "{path}");
    }
    assert!(!closes("/rejected", Body::empty(), None).await);
}

#[tokio::test]
async fn body_over_the_limit_is_read_up_to_it_and_closes_the_connection() {
    let max = usize::try_from(MAX_DRAIN).expect("it fits") / CHUNK;
    let (at_limit, _) = body(max);
    assert!(!closes("/rejected", at_limit, None).await);
    let (over_limit, read) = body(max + 100);
    assert!(closes("/rejected", over_limit, None).await);
    assert_eq!(read.load(Ordering::Relaxed), max + 1);
    let announced = Body::from(vec![0; CHUNK * (max + 1)]);
    assert!(closes("/rejected", announced, None).await);
}

#[tokio::test]
async fn body_is_not_requested_from_a_client_that_expects_100_continue() {
    let (waiting, read) = body(3);
    assert!(closes("/rejected", waiting, Some("100-continue")).await);
    assert_eq!(read.load(Ordering::Relaxed), 0);
    let (started, read) = body(3);
    assert!(!closes("/started", started, Some("100-continue")).await);
    assert_eq!(read.load(Ordering::Relaxed), 3);
}

#[tokio::test(start_paused = true)]
async fn slow_sender_gets_the_drain_timeout_unless_it_timed_out_already() {
    let never = || Body::from_stream(tokio_stream::pending::<Result<Bytes, Infallible>>());
    let start = Instant::now();
    assert!(closes("/slow", never(), None).await);
    assert!(start.elapsed().is_zero());
    assert!(closes("/rejected", never(), None).await);
    assert_eq!(start.elapsed(), DRAIN_TIMEOUT);
    assert!(closes("/busy", never(), None).await);
    assert_eq!(start.elapsed(), DRAIN_TIMEOUT + BUSY_DRAIN_TIMEOUT);
}
