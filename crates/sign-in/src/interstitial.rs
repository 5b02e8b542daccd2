//! Interstitials: small pages of ours that stand where a page of an application would. They may be at the
//! application's host, so their style and their links are those of the page to sign in at, and they have no form.

use crate::{
    design::{Design, OWN_HOST},
    texts::Texts,
};

/// A small page.
#[derive(Debug)]
pub struct Interstitial {
    /// The whole page.
    pub html: String,
    texts: &'static Texts,
    content_policy: String,
}

impl Interstitial {
    /// A page with this HTML below its title, such as `{refused.title}`. `host` is the origin of the page to sign in
    /// at, which may be [`OWN_HOST`].
    pub fn new(design: Design<'_>, host: &str, title: &str, content: &str) -> Self {
        let source = if host == OWN_HOST { "'self'" } else { host };
        let content_policy = format!(
            "default-src 'none'; style-src {source}; img-src {source}; base-uri 'none'; form-action 'none'"
        );
        Self {
            html: design.page(host, title, content),
            texts: design.texts,
            content_policy,
        }
    }

    /// The headers of the page. It may be in a frame, because an application's page may be: all that a click can do there is to
    /// open a page of ours in the place of the whole one.
    pub fn headers(&self) -> [(&'static str, &str); 5] {
        let [content_language, vary] = self.texts.headers();
        [
            ("content-type", "text/html; charset=utf-8"),
            content_language,
            vary,
            ("content-security-policy", &self.content_policy),
            ("referrer-policy", "same-origin"),
        ]
    }
}
