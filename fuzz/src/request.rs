//! Makes HTTP requests with bodies for the extractors of the gateway, and runs the extractors.

use axum::{
    body::{Body, Bytes},
    extract::Request,
};
use http_body::Frame;
use std::{
    convert::Infallible,
    pin::Pin,
    task::{Context, Poll},
};

/// A body that arrives in pieces of this size, without a declared length.
struct Pieces(Bytes, usize);

impl http_body::Body for Pieces {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let length = self.1.min(self.0.len());
        let piece = self.0.split_to(length);
        Poll::Ready((!piece.is_empty()).then(|| Ok(Frame::data(piece))))
    }
}

/// Makes a request with these values of `Content-Type`, except for values that no header can have. If `pieces`
/// is 0, the body has a declared length; otherwise it arrives in pieces of that many bytes.
pub fn request(types: &[&[u8]], body: Vec<u8>, pieces: usize) -> Request {
    let body = if pieces == 0 {
        Body::from(body)
    } else {
        Body::new(Pieces(body.into(), pieces))
    };
    let mut request = Request::new(body);
    for value in types
        .iter()
        .filter_map(|it| http::HeaderValue::from_bytes(it).ok())
    {
        request
            .headers_mut()
            .append(http::header::CONTENT_TYPE, value);
    }
    request
}

/// Returns the media type of a request that has exactly one `Content-Type`, without its parameters.
pub fn essence(request: &Request) -> Option<String> {
    let values: Vec<_> = request
        .headers()
        .get_all(http::header::CONTENT_TYPE)
        .iter()
        .collect();
    let [value] = values[..] else { return None };
    let is_text = value
        .as_bytes()
        .iter()
        .all(|byte| matches!(byte, b'\t' | b' '..=b'~'));
    let text = str::from_utf8(value.as_bytes()).ok().filter(|_| is_text)?;
    let essence = text.split_once(';').map_or(text, |(essence, _)| essence);
    Some(essence.trim_matches([' ', '\t']).to_lowercase())
}

/// Runs a future to its end on this thread, and returns its output.
pub fn run<T>(future: impl Future<Output = T>) -> T {
    thread_local! {
        static RUNTIME: tokio::runtime::Runtime =
            tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime");
    }
    RUNTIME.with(|runtime| runtime.block_on(future))
}
