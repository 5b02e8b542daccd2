//! Tests the limits of unfinished messages.

use super::{
    ConnectionQuota, CountedBody, KIB, MAX_ADDRESS_BYTES, MAX_CONNECTION_BYTES, MAX_TOTAL_BYTES,
    MessageQuota, UNCOUNTED_BYTES,
};
use axum::body::{Body, Bytes};
use http_body_util::BodyExt as _;
use std::{convert::Infallible, net::IpAddr};
use tokio::sync::Mutex;
use tokio_stream::StreamExt as _;
use tonic::{Code, Status};

/// Tests take this lock, because they share the quota of all connections in this process.
static ALONE: Mutex<()> = Mutex::const_new(());

/// Returns a body that sends these parts and never ends.
fn unfinished(parts: Vec<Bytes>) -> Body {
    let parts = parts.into_iter().map(Ok::<_, Infallible>);
    Body::from_stream(tokio_stream::iter(parts).chain(tokio_stream::pending()))
}

/// Counts a body on this connection, without a quota for its address.
fn count(connection: &ConnectionQuota, body: Body) -> CountedBody<Body> {
    let quota = MessageQuota {
        connection: connection.clone(),
        address: None,
    };
    quota.count(body)
}

async fn read<B>(body: &mut CountedBody<B>) -> Result<(), Code>
where
    CountedBody<B>: http_body::Body<Error = Box<dyn std::error::Error + Send + Sync>> + Unpin,
{
    let Err(error) = body.frame().await.expect("a frame") else {
        return Ok(());
    };
    Err(error.downcast::<Status>().expect("a status").code())
}

#[tokio::test]
async fn unfinished_bytes_of_a_connection_are_limited_and_freed_with_their_body() {
    let _alone = ALONE.lock().await;
    let connection = ConnectionQuota::default();
    let parts = vec![
        Bytes::from(vec![0; UNCOUNTED_BYTES]),
        Bytes::from(vec![0; MAX_CONNECTION_BYTES]),
    ];
    let mut body = count(&connection, unfinished(parts));
    for _ in 0..2 {
        assert_eq!(read(&mut body).await, Ok(()));
    }
    let parts = vec![
        Bytes::from(vec![0; UNCOUNTED_BYTES]),
        Bytes::from_static(b"x"),
    ];
    let mut other = count(&connection, unfinished(parts));
    assert_eq!(
        read(&mut other).await,
        Ok(()),
        "a small call depends on the budget"
    );
    assert_eq!(read(&mut other).await, Err(Code::ResourceExhausted));

    let another = ConnectionQuota::default();
    let mut elsewhere = count(&another, Body::from(vec![0; 2 * UNCOUNTED_BYTES]));
    assert_eq!(read(&mut elsewhere).await, Ok(()), "another connection");
    assert_eq!(
        another.permits.available_permits(),
        MAX_CONNECTION_BYTES / KIB,
        "a complete body was counted"
    );
    drop((body, other));
    assert_eq!(
        connection.permits.available_permits(),
        MAX_CONNECTION_BYTES / KIB
    );
}

#[tokio::test]
async fn all_connections_together_are_limited() {
    let _alone = ALONE.lock().await;
    let read_new = async |bytes| {
        let connection = ConnectionQuota::default();
        let parts = vec![Bytes::from(vec![0; UNCOUNTED_BYTES + bytes])];
        let mut body = count(&connection, unfinished(parts));
        (read(&mut body).await, body)
    };
    let mut taken = Vec::new();
    for _ in 0..MAX_TOTAL_BYTES / MAX_CONNECTION_BYTES {
        let (outcome, body) = read_new(MAX_CONNECTION_BYTES).await;
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
        let quota = MessageQuota {
            connection: ConnectionQuota::default(),
            address,
        };
        quota.count(unfinished(vec![Bytes::from(vec![0; bytes])]))
    };
    let mut taken = Vec::new();
    for last in 0..MAX_ADDRESS_BYTES / MAX_CONNECTION_BYTES {
        let mut body = body(
            MAX_CONNECTION_BYTES + UNCOUNTED_BYTES,
            address(&format!("2001:db8::{last}")),
        );
        assert_eq!(read(&mut body).await, Ok(()));
        taken.push(body);
    }
    let one_more = UNCOUNTED_BYTES + 1;
    let full = address("2001:db8::1:1");
    assert_eq!(
        read(&mut body(one_more, full)).await,
        Err(Code::ResourceExhausted)
    );
    assert_eq!(read(&mut body(UNCOUNTED_BYTES, full)).await, Ok(()));
    assert_eq!(
        read(&mut body(one_more, address("2001:db8:0:1::1"))).await,
        Ok(())
    );
    assert_eq!(read(&mut body(one_more, None)).await, Ok(()));
    drop(taken);
    assert_eq!(read(&mut body(one_more, full)).await, Ok(()));
}
