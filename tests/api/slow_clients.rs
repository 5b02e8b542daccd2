//! Slow clients, and clients that only hold connections open.

use e2e::{Store, TestSetup, within_bounds};
use std::time::{Duration, Instant};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};

async fn connect(base: &str) -> TcpStream {
    TcpStream::connect(base.trim_start_matches("http://"))
        .await
        .expect("it accepts")
}

#[tokio::test]
async fn incomplete_request_head_times_out_after_10_seconds() {
    let app = TestSetup::all_in_one(Store::Sqlite).start().await;
    let started = Instant::now();
    let mut slow = connect(app.bearer.base()).await;
    slow.write_all(b"GET /public HTTP/1.1\r\nHost: slow\r\nX-Half:")
        .await
        .expect("sent");
    // One byte every half second must not extend the timeout.
    let trickle = async {
        let mut received = Vec::new();
        let (mut reading, mut writing) = slow.split();
        let sending = async {
            while writing.write_all(b"x").await.is_ok() {
                tokio::time::sleep(Duration::from_millis(500)).await;
            }
        };
        tokio::select! {
            _ = reading.read_to_end(&mut received) => {}
            () = sending => {}
        }
    };
    within_bounds("the connection to be closed", trickle).await;
    let waited = started.elapsed().as_secs();
    assert!((9..60).contains(&waited), "closed after {waited} s");
}

#[tokio::test]
async fn idle_connections_do_not_block_others() {
    let app = TestSetup::all_in_one(Store::Sqlite).start().await;
    let mut idle = Vec::new();
    for _ in 0..300 {
        idle.push(connect(app.bearer.base()).await);
    }
    app.bearer.get("/public").await.expect(200);
    app.admin().await;
    drop(idle);
}
