//! The scripts, style sheets and pictures of the pages. Each is made once, at its first request. In a page, its name
//! contains a digest of its content, such as `main-0f3a….js`, so that browsers keep it until the content changes.

use super::{bundle::bundle, sources::source};
use axum::body::Bytes;
use flate2::{Compression, write::GzEncoder};
use parking_lot::Mutex;
use rolegate_program::logs::error_chain;
use rolegate_sign_in::texts::Texts;
use std::{
    collections::HashMap,
    hash::{DefaultHasher, Hash as _, Hasher as _},
    io::{self, Write as _},
    sync::{Arc, LazyLock},
};

/// The style sheet of the console and of the account page, and the sources of which it consists.
const STYLE: (&str, [&str; 2]) = ("style.css", ["base.css", "views.css"]);
/// The scripts that pages load. Each contains the modules that it imports.
pub(super) const SCRIPTS: [&str; 3] = ["main.js", "account_page.js", "set_password.js"];
/// The module with the texts for the scripts. It is generated for each language, so it is not in `gateway/console/`.
const LANGUAGE: &str = "language.js";

/// The assets that were requested, by their name and language.
type Assets = HashMap<(String, &'static str), Arc<Asset>>;
static ASSETS: LazyLock<Mutex<Assets>> = LazyLock::new(Mutex::default);

/// A file that browsers keep.
pub(crate) struct Asset {
    pub(super) body: Bytes,
    /// The body, compressed with gzip.
    pub(super) compressed: Bytes,
    /// The digest of the body, which is in the name.
    pub(super) digest: String,
}

impl Asset {
    fn new(text: String) -> io::Result<Self> {
        let mut hasher = DefaultHasher::new();
        text.hash(&mut hasher);
        let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(text.as_bytes())?;
        Ok(Self {
            compressed: encoder.finish()?.into(),
            body: text.into(),
            digest: format!("{:016x}", hasher.finish()),
        })
    }
}

/// Returns the asset with this name, in the language of the texts; `None` if there is none.
pub(super) fn asset(name: &str, texts: &'static Texts) -> Option<Arc<Asset>> {
    let mut assets = ASSETS.lock();
    let key = (name.to_owned(), texts.language);
    if let Some(asset) = assets.get(&key) {
        return Some(Arc::clone(asset));
    }
    let asset = Arc::new(Asset::new(text(name, texts)?).ok()?);
    assets.insert(key, Arc::clone(&asset));
    Some(asset)
}

/// Returns the text of an asset.
fn text(name: &str, texts: &Texts) -> Option<String> {
    let (style, parts) = STYLE;
    if name == style {
        return parts.into_iter().map(source).collect();
    }
    if !SCRIPTS.contains(&name) {
        return source(name).map(str::to_owned);
    }
    let read = |module: &str| {
        if module == LANGUAGE {
            // JSON is a valid expression in JavaScript.
            return Some(format!(
                "export const texts = {};",
                texts.json.replace('\n', "")
            ));
        }
        source(module).map(str::to_owned)
    };
    bundle(name, read)
        .inspect_err(|error| tracing::error!(error = error_chain(error), "cannot make {name}"))
        .ok()
}

/// Inserts the digests into the names of these assets in a page.
pub(super) fn name_assets(page: &str, names: &[&str], texts: &'static Texts) -> String {
    let mut html = page.to_owned();
    for name in names {
        if let (Some(asset), Some((stem, end))) = (asset(name, texts), name.rsplit_once('.')) {
            let with_digest = format!("{stem}-{}.{end}\"", asset.digest);
            html = html.replace(&format!("{name}\""), &with_digest);
        }
    }
    html
}

/// Splits a name into that of an asset and the digest, such as `main-0f3a….js` into `main.js` and `0f3a…`.
pub(super) fn split_digest(name: &str) -> (String, Option<&str>) {
    let parts = name
        .rsplit_once('.')
        .and_then(|(stem, end)| Some((stem.rsplit_once('-')?, end)));
    match parts {
        Some(((stem, digest), end)) => (format!("{stem}.{end}"), Some(digest)),
        None => (name.to_owned(), None),
    }
}
