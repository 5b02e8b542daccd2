//! Makes interstitials: small pages of Rolegate that are shown instead of an application's page.
//!
//! They may be shown at the application's host, so their style sheet and their links have the host of the sign-in page.
//! They have no form.

use crate::{
    design::{Design, OWN_HOST},
    texts::Texts,
};

/// A small page with its headers.
#[derive(Debug)]
pub struct Interstitial {
    /// The HTML of the whole page.
    pub html: String,
    texts: &'static Texts,
    content_policy: String,
}

impl Interstitial {
    /// Makes a page with the template `title`, such as `{refused.title}`, and below it `content`, which is HTML. `host`
    /// is the origin of the sign-in page, which may be [`OWN_HOST`].
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

    /// Returns the headers of the page. They allow frames, because the application's page may be in one. Framing is
    /// safe, because a click in this page can only open a page of Rolegate in place of the whole window.
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
