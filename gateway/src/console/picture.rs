//! Serves `/account/picture` and `/console/picture`: draws a text as a QR code, which the pages show while a user
//! enrolls a second factor.
//!
//! The text is neither kept nor logged, and the response contains nothing but the picture. The caller must be signed
//! in, because drawing a code costs the server more than the request costs a client. A page of another origin cannot
//! use a person's session here, because the console's cookie is ignored in its requests.

use crate::extract::json_body::{invalid_body, read_body};
use axum::{Json, extract::Request};
use qrcodegen::{QrCode, QrCodeEcc};
use rolegate_auth_client::axum::{ApiError, CurrentUser};
use serde::Serialize;
use std::fmt::Write as _;

/// The maximum length of a text, in bytes. It is enough for an `otpauth` URL with the longest username, even if
/// percent-encoding turns each of its bytes into three.
const MAX_TEXT_LEN: usize = 1024;

/// The number of light modules on each side, without which readers may not find the code (ISO/IEC 18004).
const QUIET_ZONE: i32 = 4;

/// A QR code: a square with `size` modules on each side. The page's script makes an SVG element of it. An SVG document
/// would not do, because the content policy of the page does not let scripts parse one.
#[derive(Serialize)]
pub(crate) struct Picture {
    size: i32,
    /// The dark modules, as an SVG path.
    path: String,
}

/// Returns the QR code of the text in the request body. Fails if the caller is not signed in, or if the body is not
/// UTF-8 or is too long.
pub(crate) async fn draw(_: CurrentUser, request: Request) -> Result<Json<Picture>, ApiError> {
    let (head, body) = request.into_parts();
    let text = read_body(&head, body, MAX_TEXT_LEN).await?;
    let text =
        str::from_utf8(&text).map_err(|_| invalid_body("Request body is not valid UTF-8."))?;
    let picture = Picture::encode(text).ok_or_else(|| invalid_body("Request body is too long."))?;
    Ok(Json(picture))
}

impl Picture {
    /// Encodes the text with the highest level of error correction that does not make the code larger. Returns `None`
    /// if the text is too long for any code.
    fn encode(text: &str) -> Option<Self> {
        let code = QrCode::encode_text(text, QrCodeEcc::Low).ok()?;
        let mut path = String::new();
        for y in 0..code.size() {
            push_runs(&mut path, &code, y);
        }
        Some(Self {
            size: code.size() + 2 * QUIET_ZONE,
            path,
        })
    }
}

/// Adds a rectangle for each run of dark modules in the row `y`.
fn push_runs(path: &mut String, code: &QrCode, y: i32) {
    let top = y + QUIET_ZONE;
    let mut start = None;
    // The loop includes one module beyond the end of the row. It counts as light, so it ends a run at the edge.
    for x in 0..=code.size() {
        match (start, code.get_module(x, y)) {
            (None, true) => start = Some(x),
            (Some(first), false) => {
                let left = first + QUIET_ZONE;
                let width = x - first;
                // Writing to a string cannot fail.
                let _ = write!(path, "M{left} {top}h{width}v1h-{width}z");
                start = None;
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{MAX_TEXT_LEN, Picture, QUIET_ZONE};
    use qrcodegen::{QrCode, QrCodeEcc};

    /// Returns for each row whether its modules are dark.
    fn modules(picture: &Picture) -> Vec<Vec<bool>> {
        let side = usize::try_from(picture.size).expect("a size");
        let mut rows = vec![vec![false; side]; side];
        for run in picture.path.split_terminator('z') {
            let (place, shape) = run.split_once('h').expect("a width");
            let (x, y) = place
                .strip_prefix('M')
                .and_then(|it| it.split_once(' '))
                .expect("a place");
            let (width, rest) = shape.split_once('v').expect("a height");
            assert_eq!(rest, format!("1h-{width}"));
            let [x, y, width] = [x, y, width].map(|it| it.parse::<usize>().expect("a number"));
            rows[y][x..x + width].fill(true);
        }
        rows
    }

    #[test]
    fn picture_is_the_code_with_a_quiet_zone() {
        for text in [
            "",
            "otpauth://totp/Rolegate:ada?secret=GEZDGNBVGY3TQOJQ&issuer=Rolegate",
        ] {
            let picture = Picture::encode(text).expect("short enough");
            let code = QrCode::encode_text(text, QrCodeEcc::Low).expect("short enough");
            let rows = modules(&picture);
            for (y, row) in (-QUIET_ZONE..).zip(&rows) {
                for (x, is_dark) in (-QUIET_ZONE..).zip(row) {
                    assert_eq!(*is_dark, code.get_module(x, y), "{x} {y}");
                }
            }
            // Readers find a corner of the code by this pattern.
            let corner = rows[4..11]
                .iter()
                .map(|row| &row[4..11])
                .collect::<Vec<_>>();
            for (row, expected) in corner.iter().zip(["#######", "#     #", "# ### #"]) {
                let row: String = row.iter().map(|it| if *it { '#' } else { ' ' }).collect();
                assert_eq!(row, expected);
            }
        }
    }

    #[test]
    fn every_text_of_the_largest_size_has_a_picture_and_a_longer_one_may_have_none() {
        for text in ["a", "%", "1", "\u{e9}"] {
            let text = text.repeat(MAX_TEXT_LEN / text.len());
            assert_eq!(text.len(), MAX_TEXT_LEN);
            let picture = Picture::encode(&text).expect("short enough");
            assert!(
                picture.size <= 117 && picture.path.len() < 120_000,
                "{}",
                picture.path.len()
            );
        }
        assert!(Picture::encode(&"a".repeat(4000)).is_none());
    }
}
