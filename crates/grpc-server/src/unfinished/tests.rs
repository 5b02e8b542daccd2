//! The limits of unfinished messages.

use super::{FREE, KIB, MAX, MAX_OF_ADDRESS, MAX_OF_CONNECTION, Unfinished};
use axum::body::{Body, Bytes};
use http_body_util::BodyExt as _;
use std::{convert::Infallible, net::IpAddr};
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
    let Err(error) = body.frame().await.expect("a frame") else {
        return Ok(());
    };
    Err(error.downcast::<Status>().expect("a status").code())
}

#[tokio::test]
async fn unfinished_bytes_of_a_connection_are_limited_and_freed_with_their_body() {
    let _alone = ALONE.lock().await;
    let connection = Unfinished::default();
    let parts = vec![
        Bytes::from(vec![0; FREE]),
        Bytes::from(vec![0; MAX_OF_CONNECTION]),
    ];
    let mut body = connection.count(unfinished(parts), None);
    for _ in 0..2 {
        assert_eq!(read(&mut body).await, Ok(()));
    }
    let parts = vec![Bytes::from(vec![0; FREE]), Bytes::from_static(b"x")];
    let mut other = connection.count(unfinished(parts), None);
    assert_eq!(
        read(&mut other).await,
        Ok(()),
        "a small call depends on the budget"
    );
    assert_eq!(read(&mut other).await, Err(Code::ResourceExhausted));

    let another = Unfinished::default();
    let mut elsewhere = another.count(Body::from(vec![0; 2 * FREE]), None);
    assert_eq!(read(&mut elsewhere).await, Ok(()), "another connection");
    assert_eq!(
        another.0.available_permits(),
        MAX_OF_CONNECTION / KIB,
        "a complete body was counted"
    );
    drop((body, other));
    assert_eq!(connection.0.available_permits(), MAX_OF_CONNECTION / KIB);
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
        let mut body = body(
            MAX_OF_CONNECTION + FREE,
            address(&format!("2001:db8::{last}")),
        );
        assert_eq!(read(&mut body).await, Ok(()));
        taken.push(body);
    }
    let one_more = FREE + 1;
    let full = address("2001:db8::1:1");
    assert_eq!(
        read(&mut body(one_more, full)).await,
        Err(Code::ResourceExhausted)
    );
    assert_eq!(read(&mut body(FREE, full)).await, Ok(()));
    assert_eq!(
        read(&mut body(one_more, address("2001:db8:0:1::1"))).await,
        Ok(())
    );
    assert_eq!(read(&mut body(one_more, None)).await, Ok(()));
    drop(taken);
    assert_eq!(read(&mut body(one_more, full)).await, Ok(()));
}
