use super::{LONGEST, MOST, drain_unread};
use axum::{
    Router,
    body::{Body, Bytes},
    middleware::{Next, from_fn},
    routing::post,
};
use http::{Request, StatusCode, header::CONNECTION};
use http_body_util::BodyExt;
use std::{
    convert::Infallible,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};
use tokio::time::Instant;
use tower::ServiceExt;

const PIECE: usize = 16 * 1024;

/// A body of unknown length that counts the pieces which were taken from it.
fn body(pieces: usize) -> (Body, Arc<AtomicUsize>) {
    let taken = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&taken);
    let pieces = (0..pieces).map(move |_| {
        count.fetch_add(1, Ordering::Relaxed);
        Ok::<_, Infallible>(Bytes::from_static(&[b' '; PIECE]))
    });
    (Body::from_stream(tokio_stream::iter(pieces)), taken)
}

/// Sends the body to a handler and says whether the connection is to be closed.
async fn closes(path: &str, body: Body, expect: Option<&str>) -> bool {
    let router = Router::new()
        .route("/refused", post(async || StatusCode::UNAUTHORIZED))
        .route("/slow", post(async || StatusCode::REQUEST_TIMEOUT))
        .route("/begun", post(async |mut body: Body| drop(body.frame().await)))
        .route("/read", post(async |body: Body| drop(body.collect().await)))
        .layer(from_fn(async |request, next: Next| {
            drain_unread(request, |request| next.run(request)).await
        }));
    let mut request = Request::post(path);
    if let Some(expect) = expect {
        request = request.header("expect", expect);
    }
    let request = request.body(body).expect("a request");
    let response = router.oneshot(request).await.expect("routers cannot fail");
    response.headers().get(CONNECTION).is_some_and(|value| value == "close")
}

#[tokio::test]
async fn what_the_handler_left_is_read_to_its_end() {
    for path in ["/refused", "/begun", "/read"] {
        let (body, taken) = body(100);
        assert!(!closes(path, body, None).await, "{path}");
        assert_eq!(taken.load(Ordering::Relaxed), 100, "{path}");
    }
    assert!(!closes("/refused", Body::empty(), None).await);
}

#[tokio::test]
async fn too_much_is_read_up_to_the_bound_and_then_the_connection_closes() {
    let most = usize::try_from(MOST).expect("it fits") / PIECE;
    let (exactly, _) = body(most);
    assert!(!closes("/refused", exactly, None).await);
    let (too_much, taken) = body(most + 100);
    assert!(closes("/refused", too_much, None).await);
    assert_eq!(taken.load(Ordering::Relaxed), most + 1);
    let announced = Body::from(vec![0; PIECE * (most + 1)]);
    assert!(closes("/refused", announced, None).await);
}

#[tokio::test]
async fn a_client_that_waits_to_be_told_is_not_asked_for_the_body() {
    let (waiting, taken) = body(3);
    assert!(closes("/refused", waiting, Some("100-continue")).await);
    assert_eq!(taken.load(Ordering::Relaxed), 0);
    let (begun, taken) = body(3);
    assert!(!closes("/begun", begun, Some("100-continue")).await);
    assert_eq!(taken.load(Ordering::Relaxed), 3);
}

#[tokio::test(start_paused = true)]
async fn a_slow_sender_gets_a_few_seconds_unless_it_had_its_time() {
    let never = || Body::from_stream(tokio_stream::pending::<Result<Bytes, Infallible>>());
    let start = Instant::now();
    assert!(closes("/slow", never(), None).await);
    assert!(start.elapsed().is_zero());
    assert!(closes("/refused", never(), None).await);
    assert_eq!(start.elapsed(), LONGEST);
}
