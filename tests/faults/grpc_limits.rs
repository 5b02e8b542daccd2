//! Tests callers of the gRPC ports that try to take more than their share of memory, streams or time.

use e2e::{
    Store, TestApp, TestSetup, ext_authz,
    grpc::{channel, client},
    within_bounds,
};
use h2::client::{ResponseFuture, SendRequest};
use rolegate_proto::{
    auth_v1::{
        AllowedRoles, AnyAuthenticated, AuthorizeRequest, BatchAuthorizeRequest,
        BatchVerifyCredentialsRequest, VerifyCredentialsRequest, authorize_request,
    },
    posts_v1::{
        BatchGetPostsRequest, CreatePostRequest, UpdatePostRequest,
        post_service_client::PostServiceClient,
    },
};
use std::net::SocketAddr;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};
use tonic::{Code, codegen::Bytes};
use tonic_health::pb::{HealthCheckRequest, health_client::HealthClient};
use tonic_reflection::pb::v1::{
    ServerReflectionRequest, server_reflection_client::ServerReflectionClient,
    server_reflection_request::MessageRequest,
};

pub(crate) const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
pub(crate) const SETTINGS: &[u8] = &[0, 0, 0, 4, 0, 0, 0, 0, 0];

fn authorize(token: String) -> AuthorizeRequest {
    let requirement = Some(authorize_request::Requirement::AnyAuthenticated(
        AnyAuthenticated {},
    ));
    AuthorizeRequest {
        access_token: token,
        requirement,
        client_address: None,
        from_cookie: false,
    }
}

#[tokio::test]
async fn a_message_has_66_kib_and_a_batch_or_a_post_2200() {
    let app = TestSetup::split(Store::Sqlite).start().await;
    let mut client = client(&app.auth().address("grpc")).await;
    for (size, code) in [(67_500, Code::Unauthenticated), (67_600, Code::OutOfRange)] {
        let outcome = client.authorize(authorize("x".repeat(size))).await;
        assert_eq!(outcome.expect_err("no token").code(), code, "{size} bytes");
    }
    // These are the longest lists of roles and groups: built-in roles can also be given by number.
    let roles = AllowedRoles {
        roles: vec![1, 2, 3],
        role_names: vec!["r".repeat(32); 35],
        group_names: vec!["g".repeat(32); 100],
    };
    let roles = Some(authorize_request::Requirement::Roles(roles));
    let client_address = Some("2001:db8:1234:1234:1234:1234:1234:1234".to_owned());
    for (size, code) in [(4_096, None), (5_000, Some(Code::OutOfRange))] {
        let (access_token, requirement) = ("x".repeat(size), roles.clone());
        let item = AuthorizeRequest {
            access_token,
            requirement,
            client_address: client_address.clone(),
            from_cookie: false,
        };
        let items = vec![item; 256];
        let outcome = client
            .batch_authorize(BatchAuthorizeRequest { items })
            .await;
        assert_eq!(
            outcome.err().map(|status| status.code()),
            code,
            "{size} bytes"
        );
    }
    // These are the longest credentials that the Basic cache takes.
    for (size, code) in [(1_024, None), (5_000, Some(Code::OutOfRange))] {
        let item = VerifyCredentialsRequest {
            username: "u".repeat(255),
            password: "x".repeat(size),
            role_names: vec!["r".repeat(32); 35],
            group_names: vec!["g".repeat(32); 100],
            client_address: client_address.clone(),
            accept_api_keys: true,
        };
        let batch = BatchVerifyCredentialsRequest {
            items: vec![item; 256],
        };
        let outcome = client.batch_verify_credentials(batch).await;
        assert_eq!(
            outcome.err().map(|status| status.code()),
            code,
            "{size} bytes"
        );
    }
    let mut posts = PostServiceClient::new(channel(&app.posts_address()).await);
    // Each id takes one byte of the message.
    for (size, code) in [(67_500, Code::InvalidArgument), (67_600, Code::OutOfRange)] {
        let outcome = posts
            .batch_get_posts(BatchGetPostsRequest {
                post_ids: vec![1; size],
            })
            .await;
        assert_eq!(
            outcome.expect_err("too many ids").code(),
            code,
            "{size} bytes"
        );
    }
    for (size, code) in [
        (2_200_000, Code::Unauthenticated),
        (2_300_000, Code::OutOfRange),
    ] {
        let (title, content) = ("title".to_owned(), "x".repeat(size));
        let post = CreatePostRequest {
            title: title.clone(),
            content: content.clone(),
        };
        assert_eq!(
            posts.create_post(post).await.expect_err("no token").code(),
            code,
            "{size}"
        );
        let post = UpdatePostRequest {
            post_id: 1,
            title,
            content,
        };
        assert_eq!(
            posts.update_post(post).await.expect_err("no token").code(),
            code,
            "{size}"
        );
    }
}

#[tokio::test]
async fn a_message_to_health_or_reflection_has_66_kib_and_one_of_envoy_2200() {
    let app = TestSetup::split(Store::Sqlite).start().await;
    let channel = channel(&app.auth().address("grpc")).await;
    let mut health = HealthClient::new(channel.clone());
    for (size, code) in [(65_000, Code::NotFound), (67_600, Code::OutOfRange)] {
        let request = HealthCheckRequest {
            service: "x".repeat(size),
        };
        let refused = health.check(request).await.expect_err("no such service");
        assert_eq!(refused.code(), code, "{size} bytes");
        let mut reflection = ServerReflectionClient::new(channel.clone());
        let message_request = Some(MessageRequest::FileContainingSymbol("x".repeat(size)));
        let request = ServerReflectionRequest {
            host: String::new(),
            message_request,
        };
        let answers = reflection
            .server_reflection_info(tokio_stream::once(request))
            .await;
        let answer = answers.expect("a stream").into_inner().message().await;
        // tonic-reflection has no answer to a message that it cannot read.
        let expected = Some(code).filter(|code| *code == Code::NotFound);
        assert_eq!(
            answer.err().map(|status| status.code()),
            expected,
            "{size} bytes"
        );
    }
    let envoy = ext_authz::client(&app.auth().address("grpc")).await;
    for (size, code) in [(2_200_000, None), (2_300_000, Some(Code::OutOfRange))] {
        let check = ext_authz::check(Some("*"), Some(&"x".repeat(size)));
        let outcome = envoy.clone().check(check).await;
        assert_eq!(
            outcome.err().map(|status| status.code()),
            code,
            "{size} bytes"
        );
    }
}

pub(crate) async fn connect(address: SocketAddr) -> SendRequest<Bytes> {
    let stream = TcpStream::connect(address).await.expect("connected");
    let (sender, mut connection) = h2::client::handshake(stream).await.expect("HTTP/2");
    let mut pings = connection.ping_pong().expect("unused");
    tokio::spawn(connection);
    // The pong comes after the server's settings, so they are known from here on.
    let answer = within_bounds("an answer to a ping", pings.ping(h2::Ping::opaque())).await;
    answer.expect("a pong");
    sender.ready().await.expect("ready")
}

/// Calls `Authorize` with an announced message that never ends.
async fn begin(sender: &SendRequest<Bytes>, bytes: usize) -> ResponseFuture {
    let mut sender = sender.clone().ready().await.expect("a stream");
    let request = http::Request::post("http://x/rolegate.auth.v1.AuthService/Authorize")
        .header("content-type", "application/grpc")
        .header("te", "trailers");
    let (response, mut body) = sender
        .send_request(request.body(()).expect("a request"), false)
        .expect("sent");
    let announced = u32::try_from(bytes + 1).expect("small").to_be_bytes();
    let message = [&[0][..], &announced, &vec![b'x'; bytes]].concat();
    body.send_data(message.into(), false).expect("queued");
    // The body is kept, because dropping it would reset the stream.
    tokio::spawn(async move {
        let _ = std::future::poll_fn(|cx| body.poll_reset(cx)).await;
    });
    response
}

async fn admin_can_log_in(app: &TestApp) {
    app.admin().await;
}

#[tokio::test]
async fn unfinished_messages_of_a_connection_have_a_budget() {
    const MESSAGE: usize = 60_000;
    let app = TestSetup::split(Store::Sqlite).start().await;
    let sender = connect(app.auth().socket_address("grpc")).await;
    assert_eq!(sender.current_max_send_streams(), 256);
    let mut calls = Vec::new();
    // The first 16 KiB of each message are free. The rest of 192 messages fills the budget of 8 MiB.
    for _ in 0..250 {
        calls.push(begin(&sender, MESSAGE).await);
    }
    let refused = async {
        let (response, ..) = futures_util::future::select_all(calls).await;
        response.expect("a response")
    };
    let response = within_bounds("a refusal", refused).await;
    assert_eq!(response.headers()["grpc-status"], "8", "{response:?}");
    admin_can_log_in(&app).await;
}

/// Encodes a frame of HTTP/2 (RFC 9113, section 4.1).
pub(crate) fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).expect("small").to_be_bytes();
    [&length[1..], &[kind, flags], &stream.to_be_bytes(), payload].concat()
}

/// Encodes the head of an `Authorize` call with this `te`, as HPACK literals without an index.
pub(crate) fn encoded_head(te: &str) -> Vec<u8> {
    let mut head = Vec::new();
    for (name, value) in [
        (":method", "POST"),
        (":scheme", "http"),
        (":path", "/rolegate.auth.v1.AuthService/Authorize"),
        (":authority", "x"),
        ("content-type", "application/grpc"),
        ("te", te),
    ] {
        let length = |text: &str| u8::try_from(text.len()).expect("short");
        head.extend([0, length(name)]);
        head.extend(name.as_bytes());
        head.push(length(value));
        head.extend(value.as_bytes());
    }
    head
}

/// Returns whether the server ends the connection with `ENHANCE_YOUR_CALM`. If it does not, it closes the connection
/// after 30 seconds, because its pings are not answered.
async fn is_calmed(mut stream: TcpStream) -> bool {
    let mut received = Vec::new();
    let _ = within_bounds(
        "the end of the connection",
        stream.read_to_end(&mut received),
    )
    .await;
    let mut frames = &received[..];
    while let [a, b, c, kind, _, _, _, _, _, rest @ ..] = frames {
        let length = usize::from(*a) << 16 | usize::from(*b) << 8 | usize::from(*c);
        if *kind == 7 {
            return rest.get(4..8) == Some(&[0, 0, 0, 11]);
        }
        frames = rest.get(length..).unwrap_or_default();
    }
    false
}

/// Tests the attack of CVE-2025-8671, in which stream errors make the server reset streams that it already serves.
#[tokio::test]
async fn streams_that_the_server_must_reset_end_the_connection() {
    let app = TestSetup::split(Store::Sqlite).start().await;
    let address = app.auth().socket_address("grpc");
    let mut stream = TcpStream::connect(address).await.expect("connected");
    let head = encoded_head("trailers");
    let mut bytes = [PREFACE, SETTINGS].concat();
    // The server allows 64 such resets. More bytes would stay unread, which would reset the connection and lose its
    // GOAWAY.
    for stream in (1..=2 * 65).step_by(2) {
        bytes.extend(frame(1, 4, stream, &head));
        // A flow-control window of more than 2^31 - 1 bytes is a stream error (RFC 9113, section 6.9.1).
        bytes.extend(frame(8, 0, stream, &0x7fff_ffff_u32.to_be_bytes()));
    }
    stream.write_all(&bytes).await.expect("sent");
    assert!(is_calmed(stream).await, "no GOAWAY with ENHANCE_YOUR_CALM");
    admin_can_log_in(&app).await;
}

/// Floods a server with frames that it must answer. h2 reads the next frame only after it has written the answer. A
/// peer that does not read the answers therefore stops being read, and a peer that reads them does as much work as it
/// causes.
#[tokio::test]
async fn floods_of_control_frames_disturb_no_other_connection() {
    let app = TestSetup::split(Store::Sqlite).start().await;
    let address = app.auth().socket_address("grpc");
    for flood in [
        frame(6, 0, 0, &[0; 8]),
        SETTINGS.to_vec(),
        frame(2, 0, 1, &[0, 0, 0, 0, 1]),
    ] {
        let stream = TcpStream::connect(address).await.expect("connected");
        let (_unread, mut stream) = stream.into_split();
        let bytes = flood.repeat(10_000);
        let flooding = tokio::spawn(async move {
            let _ = stream.write_all(&[PREFACE, SETTINGS].concat()).await;
            while stream.write_all(&bytes).await.is_ok() {}
        });
        for _ in 0..5 {
            admin_can_log_in(&app).await;
        }
        flooding.abort();
    }
}
