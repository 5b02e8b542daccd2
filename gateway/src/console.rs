//! Serves `/console/`, a page for people who administer users.
//!
//! Its files are embedded in the program. The page calls the public API like any other client. The browser sends the
//! session in a cookie, which no script of the page sees. The pages `/account` and `/set-password` are made of the same
//! files, which are in `sources`. `assets` makes the files that browsers keep, and `bundle` joins the modules of a page into
//! one script.

mod assets;
mod bundle;
pub(crate) mod picture;
mod sources;

use crate::{
    embedded_pages::{self, not_found},
    state::GatewayState,
    static_file::{Caching, StaticFile},
};
use assets::{asset, name_assets, split_digest};
use axum::{
    Router,
    response::{AppendHeaders, IntoResponse as _, Response},
    routing::post,
};
use http::HeaderMap;
use rolegate_sign_in::design::Design;
use sources::source;

/// The `Content-Security-Policy` of the page. It allows the files of the page, but nothing inline, nothing from other
/// origins, and no framing. Where the browser has Trusted Types, scripts cannot turn text into HTML.
const CONTENT_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; \
                              img-src 'self'; connect-src 'self'; base-uri 'none'; \
                              form-action 'none'; frame-ancestors 'none'; \
                              require-trusted-types-for 'script'; trusted-types 'none'";

/// The assets of the console. Pages of older replicas load the style sheets one by one.
const CONSOLE_ASSETS: [&str; 5] = ["main.js", "style.css", "icon.svg", "base.css", "views.css"];

/// The assets of the account page. A host that only signs users in serves no others.
pub(crate) const ACCOUNT_ASSETS: [&str; 5] = [
    "account_page.js",
    "style.css",
    "icon.svg",
    "base.css",
    "views.css",
];

/// Returns the routes of the console: its files, and the QR codes for its scripts. The console is in English and has no
/// brand.
pub(crate) fn routes() -> Router<GatewayState> {
    let file = |name: &_, request: &_| {
        let no_language = HeaderMap::new();
        let design = Design::without_brand(&no_language);
        match name {
            "index.html" => page(name, design, request),
            name => asset_of(&CONSOLE_ASSETS, name, design, request),
        }
    };
    embedded_pages::routes("/console", file).route("/console/picture", post(picture::draw))
}

/// Returns a page, with its placeholders filled in by this design, and with the names of its assets. `request` holds the
/// headers of the request. Browsers revalidate the page each time, so that they notice new assets.
pub(crate) fn page(name: &str, design: Design<'_>, request: &HeaderMap) -> Response {
    let Some(template) = source(name) else {
        return not_found();
    };
    let (page, assets) = match name {
        "index.html" => (template.to_owned(), &CONSOLE_ASSETS[..]),
        // The files of `/set-password` have no digests.
        "set_password.html" => (design.render(template, &[]), &[][..]),
        _ => (design.render(template, &[]), &ACCOUNT_ASSETS[..]),
    };
    let file = StaticFile {
        body: name_assets(&page, assets, design.texts).into(),
        compressed: None,
        content_type: content_type(name),
        content_policy: CONTENT_POLICY,
        caching: Caching::Revalidate,
    };
    let language = AppendHeaders(design.texts.headers());
    (language, file.respond(request)).into_response()
}

/// Returns the asset of this name, with or without a digest, in the language of the design; a 404 if it is not in
/// `assets`.
///
/// While replicas are upgraded, a browser may request the digest of another replica. It then gets the asset of this
/// replica, so that the page works, and does not keep it.
pub(crate) fn asset_of(
    assets: &[&str],
    name: &str,
    design: Design<'_>,
    request: &HeaderMap,
) -> Response {
    let (name, digest) = split_digest(name);
    let found = assets
        .contains(&&*name)
        .then(|| asset(&name, design.texts))
        .flatten();
    let Some(asset) = found else {
        return not_found();
    };
    let file = StaticFile {
        body: asset.body.clone(),
        compressed: Some(asset.compressed.clone()),
        content_type: content_type(&name),
        content_policy: CONTENT_POLICY,
        caching: match digest {
            None => Caching::Revalidate,
            Some(digest) if digest == asset.digest => Caching::Keep,
            Some(_) => Caching::NoStore,
        },
    };
    let language = AppendHeaders(design.texts.headers());
    (language, file.respond(request)).into_response()
}

fn content_type(name: &str) -> &'static str {
    match name.rsplit_once('.') {
        Some((_, "js")) => "text/javascript; charset=utf-8",
        Some((_, "css")) => "text/css; charset=utf-8",
        Some((_, "svg")) => "image/svg+xml",
        _ => "text/html; charset=utf-8",
    }
}

#[cfg(test)]
mod tests;
