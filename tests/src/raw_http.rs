//! Requests that no HTTP client would send, byte by byte.

use crate::{api::TestResponse, eventually::within_bounds};
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};

/// Sends bytes to `http://address`, and reads until the other side closes. The request should say
/// `Connection: close`.
///
/// # Panics
///
/// When what comes back is no HTTP answer.
pub async fn exchange(base: &str, request: &[u8]) -> TestResponse {
    let address = base.trim_start_matches("http://");
    let stream = TcpStream::connect(address).await.expect("it accepts connections");
    let (mut reading, mut writing) = stream.into_split();
    // A server may answer and stop reading before the end: that is what some tests are about.
    let writing = async {
        let _ = writing.write_all(request).await;
        writing
    };
    let mut received = Vec::new();
    let both = async { tokio::join!(writing, reading.read_to_end(&mut received)) };
    let (_writing, _read) = within_bounds("a raw response", both).await;
    let first_line = request.split(|&byte| byte == b'\r').next().unwrap_or_default();
    parse(&String::from_utf8_lossy(first_line), &String::from_utf8_lossy(&received))
}

/// A request with this head line, these further header lines and this body, to be sent as it is.
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

fn parse(asked: &str, text: &str) -> TestResponse {
    let (head, body) = text
        .split_once("\r\n\r\n")
        .unwrap_or_else(|| panic!("{asked} was answered without a whole head: {text:?}"));
    let mut lines = head.split("\r\n");
    let status = lines.next().and_then(|line| line.split(' ').nth(1)?.parse().ok());
    let mut headers = HeaderMap::new();
    for (name, value) in lines.filter_map(|line| line.split_once(": ")) {
        let name = HeaderName::from_bytes(name.as_bytes()).expect("a header name");
        headers.append(name, HeaderValue::from_str(value).expect("a header value"));
    }
    TestResponse {
        request: asked.to_owned(),
        status: status.unwrap_or_else(|| panic!("{asked} was answered without a status: {head}")),
        headers,
        body: body.to_owned(),
    }
}
