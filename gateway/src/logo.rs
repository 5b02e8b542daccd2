//! Checks and serves the logo, the picture at the top of the pages. The operator can replace the logo with a file.

use crate::static_file::{Caching, StaticFile};
use axum::body::Bytes;
use rolegate_grpc_tls::{explain_read_error, read_file};
use rolegate_program::settings::SettingError;
use roxmltree::{Document, Node};
use std::path::Path;

/// The maximum size of a picture's file, in KiB.
const MAX_KIB: u64 = 64;

/// The `Content-Security-Policy` of a picture. It keeps a picture from running scripts and from loading anything, even
/// if a person opens its address as a page.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; sandbox";

const PNG: &str = "image/png";
const SVG: &str = "image/svg+xml";

/// The first bytes of a PNG, including the length and the type of its first chunk.
const PNG_START: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR";

/// The last chunk of a PNG.
const PNG_END: &[u8] = b"\0\0\0\0IEND\xae\x42\x60\x82";

/// The elements of SVG that are refused: they run scripts, show something other than SVG, or change other elements
/// later.
const REFUSED_ELEMENTS: [&str; 9] = [
    "script",
    "foreignobject",
    "handler",
    "listener",
    "set",
    "animate",
    "animatemotion",
    "animatetransform",
    "discard",
];

/// Returns Rolegate's own picture.
pub(crate) fn default_logo() -> StaticFile {
    let icon = include_bytes!("../console/icon.svg");
    picture(Bytes::from_static(icon), SVG)
}

/// Returns the picture in the file of `SIGN_IN_LOGO_FILE`, or Rolegate's picture if no file is set. Fails if the file
/// cannot be read or is not a picture that may be shown.
pub(crate) fn load(path: Option<&Path>) -> Result<StaticFile, SettingError> {
    let Some(path) = path else {
        return Ok(default_logo());
    };
    let refuse = |problem: String| {
        let problem = format!("{} {problem}", path.display());
        SettingError::new("SIGN_IN_LOGO_FILE", problem)
    };
    let bytes = read_file(path, MAX_KIB)
        .map_err(|error| refuse(explain_read_error(&error)).transient_if_retryable(&error))?;
    parse(bytes).map_err(refuse)
}

fn parse(bytes: Vec<u8>) -> Result<StaticFile, String> {
    let content_type = if bytes.starts_with(b"\x89PNG") {
        if !bytes.starts_with(PNG_START) || !bytes.ends_with(PNG_END) {
            return Err("is a damaged PNG".to_owned());
        }
        PNG
    } else {
        check_svg(&bytes)?;
        SVG
    };
    Ok(picture(bytes.into(), content_type))
}

fn picture(body: Bytes, content_type: &'static str) -> StaticFile {
    StaticFile {
        body,
        compressed: None,
        content_type,
        content_policy: POLICY,
        caching: Caching::Revalidate,
    }
}

/// Fails unless the file is an SVG without scripts, animations and processing instructions, and without references to
/// anything outside of the file. The parser refuses a DTD.
fn check_svg(bytes: &[u8]) -> Result<(), String> {
    let text = str::from_utf8(bytes).map_err(|_| "is neither a PNG nor an SVG in UTF-8")?;
    let document =
        Document::parse(text).map_err(|error| format!("is neither a PNG nor an SVG: {error}"))?;
    let root = document.root_element();
    if !root.has_tag_name(("http://www.w3.org/2000/svg", "svg")) {
        return Err("is XML, but not an SVG".to_owned());
    }
    document.root().descendants().try_for_each(check_node)
}

fn check_node(node: Node<'_, '_>) -> Result<(), String> {
    if node.is_pi() {
        return Err("is an SVG with a processing instruction".to_owned());
    }
    let name = node.tag_name().name();
    let is_html = node.tag_name().namespace() == Some("http://www.w3.org/1999/xhtml");
    if is_html || REFUSED_ELEMENTS.contains(&&*name.to_ascii_lowercase()) {
        return Err(format!("is an SVG with the element {name}"));
    }
    for attribute in node.attributes() {
        let name = attribute.name().to_ascii_lowercase();
        let value = attribute.value();
        let is_event = name.starts_with("on");
        let is_reference = ["href", "src", "base"].contains(&&*name);
        if is_event || (is_reference && !value.starts_with('#')) || leads_outside(value) {
            return Err(format!("is an SVG with the attribute {name}=\"{value}\""));
        }
    }
    let is_style = node
        .parent()
        .is_some_and(|parent| parent.tag_name().name() == "style");
    if is_style && node.text().is_some_and(leads_outside) {
        return Err("is an SVG whose style refers to another file".to_owned());
    }
    Ok(())
}

/// Returns `true` if CSS may refer to something outside of the picture. CSS with an escape counts as such, because the
/// escape could hide a reference.
fn leads_outside(css: &str) -> bool {
    let css: String = css
        .chars()
        .filter(|char| !char.is_whitespace() && !"\"'".contains(*char))
        .map(|char| char.to_ascii_lowercase())
        .collect();
    let mut urls = css.split("url(").skip(1);
    let other_references = ["\\", "@import", "src(", "image-set(", "image("];
    urls.any(|url| !url.starts_with('#')) || other_references.iter().any(|text| css.contains(text))
}

#[cfg(test)]
mod tests;
