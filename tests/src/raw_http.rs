//! Sends HTTP requests byte by byte, even ones that no client would send.

use crate::{api::TestResponse, eventually::within_bounds};
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};

/// Sends bytes to `http://address` and reads until the server closes the connection. The request
/// needs `Connection: close`.
///
/// # Panics
///
/// Panics if the response is not HTTP.
pub async fn exchange(base: &str, request: &[u8]) -> TestResponse {
    let address = base.trim_start_matches("http://");
    let stream = TcpStream::connect(address)
        .await
        .expect("it accepts connections");
    let (mut reading, mut writing) = stream.into_split();
    // The server may respond and stop reading before the end of the request.
    let writing = async {
        let _ = writing.write_all(request).await;
        writing
    };
    let mut received = Vec::new();
    let both = async { tokio::join!(writing, reading.read_to_end(&mut received)) };
    let (_writing, _read) = within_bounds("a raw response", both).await;
    let first_line = request
        .split(|&byte| byte == b'\r')
        .next()
        .unwrap_or_default();
    parse(
        &String::from_utf8_lossy(first_line),
        &String::from_utf8_lossy(&received),
    )
}

/// Builds a request with this request line, these headers and this body.
#[must_use]
pub fn request(line: &str, headers: &[&[u8]], body: &[u8]) -> Vec<u8> {
    let mut bytes = format!("{line} HTTP/1.1\r\nHost: raw\r\nConnection: close\r\n").into_bytes();
    for header in headers {
        bytes.extend_from_slice(header);
        bytes.extend_from_slice(b"\r\n");
    }
    bytes.extend_from_slice(b"\r\n");
    bytes.extend_from_slice(body);
    bytes
}

fn parse(request: &str, text: &str) -> TestResponse {
    let (head, body) = text
        .split_once("\r\n\r\n")
        .unwrap_or_else(|| panic!("{request} got an incomplete head: {text:?}"));
    let mut lines = head.split("\r\n");
    let status = lines
        .next()
        .and_then(|line| line.split(' ').nth(1)?.parse().ok());
    let mut headers = HeaderMap::new();
    for (name, value) in lines.filter_map(|line| line.split_once(": ")) {
        let name = HeaderName::from_bytes(name.as_bytes()).expect("a header name");
        headers.append(name, HeaderValue::from_str(value).expect("a header value"));
    }
    TestResponse {
        request: request.to_owned(),
        status: status.unwrap_or_else(|| panic!("{request} got no status: {head}")),
        headers,
        body: body.to_owned(),
    }
    .checked()
}
