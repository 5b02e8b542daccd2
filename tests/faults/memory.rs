//! Tests clients without credentials that try to exhaust the memory of the gateway and of posts-service.

use e2e::{Api, Process, Store, TestApp, TestSetup, eventually, within_bounds};
use futures_util::future::join_all;
use serde_json::json;
use std::{net::SocketAddr, time::Duration};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpSocket, TcpStream},
    time::sleep,
};

const MIB: f64 = 1024.0 * 1024.0;

/// Connects from this loopback address and sends these bytes. The client's receive buffer is small.
async fn send_from(source: &str, app: &TestApp, bytes: &[u8]) -> TcpStream {
    let socket = TcpSocket::new_v4().expect("a socket");
    let _ = socket.set_recv_buffer_size(4096);
    socket
        .bind(SocketAddr::new(source.parse().expect("an address"), 0))
        .expect("bound");
    let mut stream = socket
        .connect(app.gateway().socket_address("bearer"))
        .await
        .expect("connected");
    stream.write_all(bytes).await.expect("sent");
    stream
}

async fn status(stream: TcpStream) -> String {
    try_status(stream).await.expect("a status line")
}

/// Reads the status of the response, or returns `None` if the connection ends without one.
async fn try_status(mut stream: TcpStream) -> Option<String> {
    let mut line = [0; 12];
    within_bounds("a response", stream.read_exact(&mut line))
        .await
        .ok()?;
    Some(String::from_utf8_lossy(&line[9..]).into_owned())
}

/// Returns the value of a metric.
async fn metric(process: &Process, name: &str) -> f64 {
    let metrics = Api::at(&process.address("ops")).get("/metrics").await.body;
    let value = metrics.lines().find_map(|line| line.strip_prefix(name));
    value
        .unwrap_or_else(|| panic!("no {name}"))
        .trim()
        .parse()
        .expect("a number")
}

async fn resident(process: &Process) -> f64 {
    metric(process, "process_resident_memory_bytes").await / MIB
}

/// Waits until a process has returned its memory to the system.
async fn expect_returned(process: &Process, idle: f64) {
    let what = "memory to return";
    eventually(what, async || {
        (resident(process).await < idle + 64.0).then_some(())
    })
    .await;
}

#[tokio::test]
async fn bodies_that_never_end_take_no_more_than_their_budget() {
    const BODY: usize = 60_000;
    let app = TestSetup::split(Store::Sqlite)
        .with("REQUEST_MEMORY_MIB", "16")
        .start()
        .await;
    let idle = resident(app.gateway()).await;
    let head = format!(
        "POST /login HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n\
         Content-Length: {}\r\n\r\n",
        BODY + 1
    );
    let unfinished = [head.into_bytes(), vec![b' '; BODY]].concat();
    let strangers = (0..400).map(|_| send_from("127.0.0.1", &app, &unfinished));
    let strangers = join_all(strangers).await;
    // Half of the budget has room for 139 bodies. Each of the others waits and is refused. On a slow machine, the first
    // bodies may time out while the last ones still arrive.
    let refused = app.gateway();
    let count = "rolegate_memory_refusals_total{budget=\"requests\"}";
    eventually("refusals", async || {
        (metric(refused, count).await >= 100.0).then_some(())
    })
    .await;
    let taken = "rolegate_memory_reserved_bytes{budget=\"requests\"}";
    assert!(metric(app.gateway(), taken).await <= 8.0 * MIB);
    let resident = resident(app.gateway()).await;
    assert!(resident < idle + 40.0, "{resident} MiB, idle {idle} MiB");

    // Small bodies need no memory of the budget, and there is still some for large bodies of other clients.
    app.try_log_in("admin", "wrong").await.expect(401);
    let finished = [&unfinished[..], b" "].concat();
    assert_eq!(
        status(send_from("127.0.0.2", &app, &finished).await).await,
        "400"
    );
    let statuses = join_all(strangers.into_iter().map(try_status)).await;
    let refused = statuses
        .iter()
        .filter(|status| status.as_deref() == Some("503"))
        .count();
    assert!(refused >= 100, "{refused} of 400: {statuses:?}");
    eventually("free memory", async || {
        (metric(app.gateway(), taken).await == 0.0).then_some(())
    })
    .await;
    assert_eq!(
        status(send_from("127.0.0.1", &app, &finished).await).await,
        "400"
    );
}

#[tokio::test]
async fn readers_that_read_nothing_take_no_more_than_their_budget() {
    const PAGE: &[u8] = b"GET /posts?limit=200 HTTP/1.1\r\nHost: x\r\n\r\n";
    let app = TestSetup::split(Store::Sqlite)
        .with("RESPONSE_MEMORY_MIB", "32")
        .start()
        .await;
    let author = app.user_with_role("ann", "author").await;
    let posts = app.bearer.with_token(&author.token);
    for _ in 0..42 {
        let post = json!({ "title": "t", "content": "x".repeat(50_000) });
        posts.post("/posts", &post).await.expect(201);
    }
    let idle = (resident(app.gateway()).await, resident(app.posts()).await);
    let strangers = join_all((0..150).map(|_| send_from("127.0.0.1", &app, PAGE))).await;
    let served = "rolegate_http_requests_total{method=\"GET\",route=\"/posts\",";
    let served_all = async || {
        let metrics = Api::at(&app.gateway().address("ops"))
            .get("/metrics")
            .await
            .body;
        let counts = metrics.lines().filter_map(|line| line.strip_prefix(served));
        let count = |line: &str| line.rsplit(' ').next()?.parse::<u32>().ok();
        (counts.filter_map(count).sum::<u32>() >= 100).then_some(())
    };
    eventually("answers", served_all).await;
    let budget = "rolegate_memory_reserved_bytes{budget=\"responses\"}";
    assert!(metric(app.gateway(), budget).await <= 32.0 * MIB);
    let now = (resident(app.gateway()).await, resident(app.posts()).await);
    assert!(
        now.0 < idle.0 + 128.0 && now.1 < idle.1 + 128.0,
        "{now:?} MiB, idle {idle:?} MiB"
    );

    // Other clients are served meanwhile.
    app.bearer.get("/public").await.expect(200);
    app.try_log_in("admin", "wrong").await.expect(401);
    assert_eq!(
        status(send_from("127.0.0.2", &app, PAGE).await).await,
        "200"
    );
    drop(strangers);
    eventually("free memory", async || {
        (metric(app.gateway(), budget).await == 0.0).then_some(())
    })
    .await;
    expect_returned(app.gateway(), idle.0).await;
    expect_returned(app.posts(), idle.1).await;
    assert_eq!(
        status(send_from("127.0.0.1", &app, PAGE).await).await,
        "200"
    );
}

#[tokio::test]
async fn readers_that_read_slowly_do_not_keep_the_memory_for_which_others_wait() {
    const PAGE: &str = "GET /posts?limit=50 HTTP/1.1\r\nHost: x\r\n\r\n";
    let app = TestSetup::split(Store::Sqlite)
        .with("RESPONSE_MEMORY_MIB", "32")
        .start()
        .await;
    let author = app.user_with_role("ann", "author").await;
    let posts = app.bearer.with_token(&author.token);
    for _ in 0..14 {
        let post = json!({ "title": "t", "content": "🦀".repeat(50_000) });
        posts.post("/posts", &post).await.expect(201);
    }
    let pipelined = PAGE.repeat(4);
    let read_slowly = async |source: &str| {
        let mut stream = send_from(source, &app, pipelined.as_bytes()).await;
        tokio::spawn(async move {
            while stream.read_exact(&mut [0; 600]).await.is_ok() {
                sleep(Duration::from_millis(100)).await;
            }
        });
    };
    let sources = ["127.0.0.1", "127.0.0.2", "127.0.0.3"];
    join_all(sources.repeat(30).into_iter().map(read_slowly)).await;
    for _ in 0..10 {
        sleep(Duration::from_secs(1)).await;
        assert_eq!(
            status(send_from("127.0.0.4", &app, PAGE.as_bytes()).await).await,
            "200"
        );
    }
}
