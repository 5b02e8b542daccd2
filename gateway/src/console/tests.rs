//! Tests what browsers get, and what the files may contain.

use super::{
    CONSOLE_ASSETS,
    assets::{SCRIPTS, asset},
    sources::SOURCES,
};
use crate::{
    basic, bearer,
    memory::MemoryBudgets,
    settings::Settings,
    state::GatewayState,
    test_support::{
        File, TestResponse, authorized, bare, fetch, send, shared_auth_service, sign_in,
    },
};
use axum::{Router, body::Body};
use flate2::read::GzDecoder;
use rolegate_sign_in::texts::Texts;
use std::{collections::BTreeSet, fs, io::Read as _, path::Path};
use tower::ServiceExt as _;

/// The maximum size of all files together, in bytes, including those of `/account` and `/set-password`.
const MAX_SIZE: usize = 230_000;
/// The maximum size of the page and its assets, compressed, in bytes.
const MAX_COMPRESSED_SIZE: usize = 80_000;

fn bearer_router(arguments: &[&str]) -> Router {
    let settings = Settings::from_args(arguments).expect("settings").public;
    let memory = MemoryBudgets::new(&settings);
    let state = GatewayState::for_tests(shared_auth_service(), sign_in(arguments));
    bearer::router(state, None, &settings, &memory)
}

fn basic_router() -> Router {
    let settings = Settings::from_args(&[]).expect("settings").public;
    let memory = MemoryBudgets::new(&settings);
    basic::router(
        GatewayState::for_tests(shared_auth_service(), None),
        &settings,
        &memory,
    )
}

async fn get(router: &Router, path: &str) -> File {
    fetch(router, bare("GET", path)).await
}

#[tokio::test]
async fn the_page_and_every_file_are_served_with_a_strict_policy() {
    let router = bearer_router(&[]);
    for path in CONSOLE_ASSETS.into_iter().chain([""]) {
        let response = get(&router, &format!("/console/{path}")).await;
        assert_eq!(response.status, 200, "{path}");
        let policy = response.header("content-security-policy");
        assert!(policy.starts_with("default-src 'none';"), "{policy}");
        for part in [
            "script-src 'self'",
            "style-src 'self'",
            "connect-src 'self'",
            "form-action 'none'",
            "frame-ancestors 'none'",
            "require-trusted-types-for 'script'",
            "trusted-types 'none'",
        ] {
            assert!(
                policy.split(';').any(|it| it.trim() == part),
                "{part}: {policy}"
            );
        }
        assert!(
            !policy.contains("unsafe") && !policy.contains("http"),
            "{policy}"
        );
        assert_eq!(response.header("x-content-type-options"), "nosniff");
        assert_eq!(response.header("referrer-policy"), "no-referrer");
        assert_eq!(response.header("cross-origin-opener-policy"), "same-origin");
        assert_eq!(response.header("cache-control"), "no-cache");
        let media_type = match path.rsplit_once('.').map_or("html", |(_, end)| end) {
            "js" => "text/javascript; charset=utf-8",
            "css" => "text/css; charset=utf-8",
            "svg" => "image/svg+xml",
            _ => "text/html; charset=utf-8",
        };
        assert_eq!(response.header("content-type"), media_type, "{path}");
    }
}

#[tokio::test]
async fn a_file_that_the_browser_has_is_not_sent_again() {
    let router = bearer_router(&[]);
    let tag = get(&router, "/console/main.js")
        .await
        .header("etag")
        .to_owned();
    let mut request = bare("GET", "/console/main.js");
    request
        .headers_mut()
        .insert("if-none-match", tag.parse().expect("a header"));
    let response = fetch(&router, request).await;
    assert_eq!(
        (response.status, response.header("etag")),
        (304, tag.as_str())
    );
    assert_eq!(response.text, "");
    assert!(
        response
            .header("content-security-policy")
            .starts_with("default-src 'none'")
    );
    assert_ne!(get(&router, "/console/style.css").await.header("etag"), tag);
}

/// Returns the names of the assets in a page below this path.
fn assets_in(page: &str, path: &str) -> Vec<String> {
    let quoted = page.split('"').skip(1).step_by(2);
    let names = quoted.filter_map(|text| text.strip_prefix(path).or(Some(text)));
    names
        .filter(|name| name.contains('-') && name.rsplit_once('.').is_some())
        .filter(|name| {
            [".js", ".css", ".svg"]
                .iter()
                .any(|end| name.ends_with(end))
        })
        .map(str::to_owned)
        .collect()
}

#[tokio::test]
async fn names_of_assets_contain_a_digest_and_browsers_keep_them() {
    let router = bearer_router(&[]);
    for (page, path, count) in [("/console/", "/console/", 4), ("/account", "/account/", 2)] {
        let mut request = bare("GET", page);
        request
            .headers_mut()
            .insert("host", "localhost".parse().expect("a header"));
        let text = fetch(&router, request).await.text;
        let names = assets_in(&text, path);
        assert_eq!(names.len(), count, "{text}");
        for name in names {
            let kept = get(&router, &format!("{path}{name}")).await;
            assert_eq!(kept.status, 200, "{name}");
            let caching = kept.header("cache-control");
            assert_eq!(caching, "public, max-age=31536000, immutable", "{name}");

            // Another replica may have another version of the file.
            let (stem, end) = name.split_once('-').expect("a digest");
            let (_, end) = end.split_once('.').expect("an end");
            let other = get(&router, &format!("{path}{stem}-0123456789abcdef.{end}")).await;
            assert_eq!((other.status, &other.text), (200, &kept.text), "{name}");
            assert_eq!(other.header("cache-control"), "no-store", "{name}");
        }
    }
    for name in [
        "main-.css",
        "users-0123456789abcdef.js",
        "-.js",
        "main-0.js.map",
    ] {
        let path = format!("/console/{name}");
        assert_eq!(get(&router, &path).await.status, 404, "{name}");
    }
}

#[tokio::test]
async fn assets_are_compressed_for_browsers_that_accept_it() {
    let router = bearer_router(&[]);
    for name in CONSOLE_ASSETS {
        let path = format!("/console/{name}");
        let plain = get(&router, &path).await;
        assert!(plain.headers.get("content-encoding").is_none(), "{name}");
        let mut request = bare("GET", &path);
        request
            .headers_mut()
            .insert("accept-encoding", "gzip, br".parse().expect("a header"));
        let response = router.clone().oneshot(request).await.expect("infallible");
        assert_eq!(response.headers()["content-encoding"], "gzip", "{name}");
        let vary: Vec<_> = response.headers().get_all("vary").iter().collect();
        assert!(
            vary.iter().any(|value| *value == "Accept-Encoding"),
            "{vary:?}"
        );
        let body = axum::body::to_bytes(response.into_body(), MAX_SIZE)
            .await
            .expect("a body");
        let mut text = String::new();
        GzDecoder::new(&*body)
            .read_to_string(&mut text)
            .expect("gzip");
        assert_eq!(text, plain.text, "{name}");
    }
}

#[test]
fn every_script_is_bundled_and_the_console_is_small() {
    for script in SCRIPTS {
        assert!(asset(script, Texts::english()).is_some(), "{script}");
    }
    let compressed = |name| {
        let asset = asset(name, Texts::english()).expect("an asset");
        asset.compressed.len()
    };
    let size: usize = CONSOLE_ASSETS.into_iter().map(compressed).sum();
    assert!(size <= MAX_COMPRESSED_SIZE, "{size} bytes");
}

#[tokio::test]
async fn console_is_one_path_and_only_reads() {
    let router = bearer_router(&[]);
    let response = get(&router, "/console").await;
    assert_eq!(
        (response.status, response.header("location")),
        (307, "/console/")
    );
    for path in [
        "/console/none.js",
        "/console/users.js",
        "/console/account.html",
        "/console/%ff",
        "/console/..%2fmain.js",
        "/console/a/b",
    ] {
        send(&router, bare("GET", path))
            .await
            .assert_error(404, "Not Found");
    }
    send(&router, bare("POST", "/console/"))
        .await
        .assert_error(405, "Method Not Allowed");
}

async fn picture(router: &Router, path: &str, token: &str, text: impl Into<Body>) -> TestResponse {
    let mut request = authorized("POST", path, &format!("Bearer {token}"));
    *request.body_mut() = text.into();
    send(router, request).await
}

#[tokio::test]
async fn a_picture_is_drawn_for_signed_in_people_and_bounded() {
    let router = bearer_router(&[]);
    // The `otpauth` URL has the longest username.
    let text = format!(
        "otpauth://totp/Rolegate:{}?secret={}",
        "%C3".repeat(255),
        "A".repeat(32)
    );
    // Pages of older replicas request the picture at the path of the console.
    for at in ["/account/picture", "/console/picture"] {
        for text in [
            text.as_str(),
            "otpauth://totp/Rolegate:ada?secret=GEZDGNBVGY3TQOJQ",
        ] {
            let response = picture(&router, at, "user", text.to_owned()).await;
            assert_eq!(response.status, 200);
            assert_eq!(response.header("cache-control"), "no-store");
            assert!(
                response.body["size"].as_u64().is_some_and(|size| size > 30),
                "{response:?}"
            );
            let path = response.body["path"].as_str().expect("a path");
            assert!(path.starts_with("M4 4h7v1h-7z"), "{path}");
        }
        picture(&router, at, "user", "a".repeat(1025))
            .await
            .assert_error(413, "Request body too large.");
        let malformed = picture(&router, at, "user", &b"\xff"[..]).await;
        malformed.assert_error(400, "Request body is not valid UTF-8.");
        picture(&router, at, "none", "a")
            .await
            .assert_error(401, "Invalid or expired token.");
        let anonymous = send(&router, bare("POST", at)).await;
        anonymous.assert_error(401, "Not authenticated.");
        send(&router, bare("GET", at))
            .await
            .assert_error(405, "Method Not Allowed");
    }
}

#[tokio::test]
async fn console_is_on_the_bearer_address_only_and_can_be_off() {
    let off = bearer_router(&["--console", "off"]);
    let nowhere_to_sign_in = bearer_router(&["--sign-in", "off"]);
    for router in [&off, &nowhere_to_sign_in, &basic_router()] {
        for path in ["/console", "/console/", "/console/main.js"] {
            send(router, bare("GET", path))
                .await
                .assert_error(404, "Not Found");
        }
        picture(router, "/console/picture", "user", "a")
            .await
            .assert_error(404, "Not Found");
        let docs = get(router, "/docs/").await;
        assert!(!docs.text.contains("/console/"), "{}", docs.text);
    }
    let docs = get(&bearer_router(&[]), "/docs/").await;
    assert!(docs.text.contains(r#"href="/console/""#), "{}", docs.text);
}

#[test]
fn every_file_of_the_folder_is_embedded_and_they_are_small() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("console");
    let entries = fs::read_dir(folder).expect("the folder");
    let present: BTreeSet<String> = entries
        .map(|entry| {
            entry
                .expect("an entry")
                .file_name()
                .into_string()
                .expect("a name")
        })
        .collect();
    let embedded: BTreeSet<String> = SOURCES.iter().map(|(name, _)| (*name).to_owned()).collect();
    assert_eq!(present, embedded);
    let size: usize = SOURCES.iter().map(|(_, text)| text.len()).sum();
    assert!(size <= MAX_SIZE, "{size} bytes");
}

/// The content policy also forbids some of these texts. Trusted Types forbid others, but only in browsers that have
/// them.
#[test]
fn no_file_turns_text_into_html_or_code_or_asks_another_server() {
    for (name, text) in SOURCES {
        for forbidden in [
            "innerHTML",
            "outerHTML",
            "insertAdjacentHTML",
            "setHTML",
            "document.write",
            "DOMParser",
            "createContextualFragment",
            "srcdoc",
            "eval(",
            "new Function",
            "javascript:",
            "style=",
            "localStorage",
            "sessionStorage",
            "document.cookie",
            "https://",
        ] {
            assert!(!text.contains(forbidden), "{name}: {forbidden}");
        }
        // Browsers do not fetch the name space of SVG.
        let addresses = text.replace("http://www.w3.org/2000/svg", "");
        assert!(!addresses.contains("http://"), "{name}");
        let inline =
            text.contains("<script>") || text.contains("<style") || text.contains(" onclick=\"");
        assert!(!inline, "{name}");
    }
}

/// A missing module would be noticed only in a browser.
#[test]
fn every_import_names_an_embedded_file_and_every_script_is_imported() {
    // The pages load these scripts.
    let mut imported = BTreeSet::from(SCRIPTS);
    let is_script = |name: &str| name.rsplit_once('.').is_some_and(|(_, end)| end == "js");
    for (name, text) in SOURCES.iter().filter(|(name, _)| is_script(name)) {
        for import in text.split("from \"./").skip(1) {
            let (file, _) = import.split_once('"').expect("a closed string");
            // This file is generated for each language.
            if file == "language.js" {
                continue;
            }
            assert!(
                SOURCES.iter().any(|(it, _)| *it == file),
                "{name} imports {file}"
            );
            imported.insert(file);
        }
    }
    let scripts = SOURCES
        .iter()
        .map(|(name, _)| *name)
        .filter(|name| is_script(name));
    assert_eq!(imported, scripts.collect());
}
