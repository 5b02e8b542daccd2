//! Sends calls whose head contradicts itself or is malformed to the gRPC port of each service.

use crate::grpc_limits::{PREFACE, SETTINGS, connect, encoded_head, frame};
use e2e::{Store, TestSetup, within_bounds};
use h2::client::SendRequest;
use http::HeaderMap;
use std::net::SocketAddr;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};
use tonic::{Status, codegen::Bytes};

type Head = &'static [(&'static str, &'static str)];

/// The error code `PROTOCOL_ERROR` of HTTP/2 (RFC 9113, section 7).
const PROTOCOL_ERROR: u32 = 1;

const GRPC: (&str, &str) = ("content-type", "application/grpc");

/// Calls a health method with an empty message, and returns the response's status and headers, or the reset.
async fn check(sender: &SendRequest<Bytes>, head: Head) -> Result<(u16, HeaderMap), h2::Error> {
    let mut sender = sender.clone().ready().await?;
    let mut request = http::Request::post("http://x/grpc.health.v1.Health/Check");
    for (name, value) in head {
        request = request.header(*name, *value);
    }
    let request = request.body(()).expect("a request");
    let (response, mut body) = sender.send_request(request, false)?;
    // The server may have refused the call before the message is sent.
    let _ = body.send_data(Bytes::from_static(&[0; 5]), true);
    let response = within_bounds("a response", response).await?;
    Ok((response.status().as_u16(), response.headers().clone()))
}

/// Sends a head with this `te`, which no HTTP/2 library would send, and returns the code of the first `RST_STREAM`.
async fn reset_code(address: SocketAddr, te: &str) -> u32 {
    const HEADERS: u8 = 1;
    const RST_STREAM: u8 = 3;
    const END_OF_STREAM_AND_HEADERS: u8 = 5;
    let head = frame(HEADERS, END_OF_STREAM_AND_HEADERS, 1, &encoded_head(te));
    let mut stream = TcpStream::connect(address).await.expect("connected");
    let sent = [PREFACE, SETTINGS, &head].concat();
    stream.write_all(&sent).await.expect("sent");
    let read = async {
        loop {
            let mut head = [0; 9];
            stream.read_exact(&mut head).await.expect("a frame");
            let [a, b, c, kind, ..] = head;
            let length = u32::from_be_bytes([0, a, b, c]);
            let mut payload = vec![0; length.try_into().expect("a length")];
            stream.read_exact(&mut payload).await.expect("its payload");
            if kind == RST_STREAM {
                return u32::from_be_bytes(payload.try_into().expect("a code"));
            }
        }
    };
    within_bounds("a reset", read).await
}

#[tokio::test]
async fn malformed_and_contradictory_heads_are_refused_by_the_name_of_the_header() {
    let app = TestSetup::split(Store::Sqlite).start().await;
    for address in [
        app.auth().socket_address("grpc"),
        app.posts().socket_address("grpc"),
    ] {
        let sender = connect(address).await;
        let refused: &[(Head, &str, u16)] = &[
            (&[], "content-type", 415),
            (&[("content-type", "application/json")], "content-type", 415),
            (&[GRPC, GRPC], "content-type", 415),
            (
                &[GRPC, ("content-encoding", "gzip")],
                "content-encoding",
                200,
            ),
            (&[GRPC, ("grpc-timeout", "soon")], "grpc-timeout", 200),
            (&[GRPC, ("grpc-timeout", "123456789S")], "grpc-timeout", 200),
            (
                &[GRPC, ("grpc-timeout", "5S"), ("grpc-timeout", "50S")],
                "grpc-timeout",
                200,
            ),
            (
                &[
                    GRPC,
                    ("grpc-encoding", "identity"),
                    ("grpc-encoding", "gzip"),
                ],
                "grpc-encoding",
                200,
            ),
        ];
        for (head, name, http_status) in refused {
            let (status, headers) = check(&sender, head).await.expect("a response");
            assert_eq!(status, *http_status, "{head:?}");
            assert_eq!(headers["grpc-status"], "3", "{head:?}");
            let status = Status::from_header_map(&headers).expect("a status");
            assert!(status.message().starts_with(name), "{head:?}: {status:?}");
        }
        // HTTP/2 itself resets the stream (RFC 9113, section 8.2.2).
        assert_eq!(reset_code(address, "gzip").await, PROTOCOL_ERROR);
        assert_eq!(reset_code(address, "trailers, gzip").await, PROTOCOL_ERROR);
        for good in [
            &[GRPC][..],
            &[GRPC, ("te", "trailers"), ("grpc-timeout", "5S")],
        ] {
            let (status, headers) = check(&sender, good).await.expect("a response");
            assert_eq!(status, 200, "{good:?}");
            assert!(!headers.contains_key("grpc-status"), "{headers:?}");
        }
    }
}
