//! Tests which pictures are accepted.

use super::{PNG, PNG_END, PNG_START, SVG, default_logo, parse};
use std::{fs, path::Path};

/// Returns the start and the end of a PNG with these sides.
fn png(width: u32, height: u32) -> Vec<u8> {
    [
        PNG_START,
        &width.to_be_bytes(),
        &height.to_be_bytes(),
        &[8, 6, 0, 0, 0, 0, 0, 0, 0],
        PNG_END,
    ]
    .concat()
}

/// Returns an SVG with this content.
fn svg(content: &str) -> Vec<u8> {
    format!(
        r#"<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink">{content}</svg>"#
    )
    .into()
}

fn problem(bytes: impl Into<Vec<u8>>) -> String {
    parse(bytes.into()).expect_err("it is refused")
}

#[test]
fn a_whole_png_is_accepted_and_no_other() {
    let whole = png(16, 16);
    for end in 4..whole.len() {
        assert_eq!(problem(&whole[..end]), "is a damaged PNG", "{end}");
    }
    let logo = parse(whole.clone()).expect("a PNG");
    assert_eq!(logo.content_type, PNG);
    let mut other_chunk = whole.clone();
    other_chunk[12..16].copy_from_slice(b"IDAT");
    let mut line_ends = whole;
    line_ends[4] = b'\n';
    for damaged in [other_chunk, line_ends] {
        assert_eq!(problem(damaged), "is a damaged PNG");
    }
}

#[test]
fn an_svg_of_shapes_is_accepted() {
    for content in [
        "",
        "<!-- a comment --><title>A logo</title><g><path d=\"M0 0h1v1z\"/></g>",
        r#"<defs><linearGradient id="a"/></defs><rect fill="url(#a)" style="filter: url( '#b' )"/>"#,
        r##"<style>@media (prefers-color-scheme: dark) { .a { fill: url("#a") } }</style>"##,
        r##"<use href="#a"/><use xlink:href="#a"/>"##,
        r"<text>onload url(a) @import</text>",
        r#"<metadata><a xmlns="http://example.org/">text</a></metadata>"#,
    ] {
        let logo = parse(svg(content)).expect(content);
        assert_eq!(logo.content_type, SVG);
    }
    let declared = [
        b"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n".to_vec(),
        svg(""),
    ]
    .concat();
    assert!(parse(declared).is_ok());
    assert!(parse(default_logo().body.to_vec()).is_ok(), "ours");
}

#[test]
fn an_svg_that_does_something_or_refers_to_something_is_refused_by_name() {
    for (content, part) in [
        ("<script>alert(1)</script>", "the element script"),
        ("<g><SCRIPT/></g>", "the element SCRIPT"),
        (
            r#"<a:script xmlns:a="http://www.w3.org/1999/xhtml">1</a:script>"#,
            "the element script",
        ),
        (
            r#"<img xmlns="http://www.w3.org/1999/xhtml" alt=""/>"#,
            "the element img",
        ),
        ("<foreignObject/>", "the element foreignObject"),
        (
            r##"<a href="#a"><set attributeName="href" to="javascript:alert(1)"/></a>"##,
            "the element set",
        ),
        (r#"<animate attributeName="href"/>"#, "the element animate"),
        (r"<handler/>", "the element handler"),
        (r#"<g onload="alert(1)"/>"#, "the attribute onload="),
        (r#"<g onClick="alert(1)"/>"#, "the attribute onclick="),
        (r#"<a href="javascript:alert(1)"/>"#, "the attribute href="),
        (
            r#"<a xlink:href="javascript:alert(1)"/>"#,
            "the attribute href=",
        ),
        (
            r#"<use href="//evil.example/a.svg#a"/>"#,
            "the attribute href=",
        ),
        (r#"<use href=" #a"/>"#, "the attribute href="),
        (
            r#"<image href="data:image/png;base64,"/>"#,
            "the attribute href=",
        ),
        (
            r#"<g xml:base="https://evil.example/"/>"#,
            "the attribute base=",
        ),
        (
            r#"<rect fill="url(https://evil.example/)"/>"#,
            "the attribute fill=",
        ),
        (r#"<rect fill="URL( 'a.svg#a' )"/>"#, "the attribute fill="),
        (
            r#"<rect style="fill: url(#a); stroke: url(a)"/>"#,
            "the attribute style=",
        ),
        (r#"<rect style="fill: u\72l(a)"/>"#, "the attribute style="),
        (
            r#"<rect style="mask: image-set('a.png' 1x)"/>"#,
            "the attribute style=",
        ),
        ("<style>@import 'a.css';</style>", "style refers"),
        ("<style>a { fill: url(a) }</style>", "style refers"),
        (
            "<style><![CDATA[a { fill: url(a) }]]></style>",
            "style refers",
        ),
        ("<style>@\\69mport 'a.css';</style>", "style refers"),
        (
            "<?xml-stylesheet href=\"a.css\"?>",
            "a processing instruction",
        ),
    ] {
        let problem = problem(svg(content));
        assert!(
            problem.starts_with("is an SVG") && problem.contains(part),
            "{content}: {problem}"
        );
    }
}

#[test]
fn what_is_no_picture_is_refused() {
    let entities =
        r#"<!DOCTYPE svg [<!ENTITY a "b">]><svg xmlns="http://www.w3.org/2000/svg">&a;</svg>"#;
    for (bytes, part) in [
        (&b""[..], "is neither a PNG nor an SVG: "),
        (b"GIF89a", "is neither a PNG nor an SVG: "),
        (b"\xff\xd8\xff\xe0", "is neither a PNG nor an SVG in UTF-8"),
        (
            b"\xff\xfe<\0s\0v\0g\0",
            "is neither a PNG nor an SVG in UTF-8",
        ),
        (b"<svg xmlns=\"http://www.w3.org/2000/svg\">", "an SVG: "),
        (
            b"<svg xmlns=\"http://www.w3.org/2000/svg\"><g></svg>",
            "an SVG: ",
        ),
        (b"<svg/>", "is XML, but not an SVG"),
        (
            b"<html xmlns=\"http://www.w3.org/1999/xhtml\"/>",
            "is XML, but not an SVG",
        ),
        (
            b"<svg xmlns=\"http://www.w3.org/1999/xhtml\"/>",
            "is XML, but not an SVG",
        ),
        (entities.as_bytes(), "DTD"),
    ] {
        let problem = problem(bytes);
        assert!(problem.contains(part), "{problem}");
    }
}

#[test]
fn the_file_may_have_64_kib_and_must_be_readable() {
    let folder = tempfile::tempdir().expect("a folder");
    let load = |name: &str| super::load(Some(&folder.path().join(name)));
    let write = |name: &str, size: usize| {
        let comment = "a".repeat(size - svg("<!---->").len());
        fs::write(folder.path().join(name), svg(&format!("<!--{comment}-->"))).expect("written");
    };
    write("fits", 64 * 1024);
    write("too-large", 64 * 1024 + 1);
    fs::write(folder.path().join("text"), "text").expect("written");
    assert!(load("fits").is_ok());
    for (name, part) in [
        ("too-large", "it is not a file of at most 64 KiB"),
        ("missing", "does not exist"),
        (".", "it is not a file of at most 64 KiB"),
        ("text", "is neither a PNG nor an SVG"),
    ] {
        let error = load(name).expect_err("it is refused").to_string();
        assert!(error.starts_with("SIGN_IN_LOGO_FILE: "), "{error}");
        assert!(error.contains(part), "{name}: {error}");
    }
    let deep = ["<g>".repeat(9_000), "</g>".repeat(9_000)].concat();
    fs::write(folder.path().join("deep"), svg(&deep)).expect("written");
    // The file may be read or refused, but must not end the program.
    drop(load("deep"));
    let ours = super::load(None::<&Path>).expect("ours");
    assert_eq!(ours.content_type, SVG);
}
