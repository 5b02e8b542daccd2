//! What all pages for people have in common.

use crate::texts::{Texts, escape};
use http::HeaderMap;

/// What the pages that one person sees look like.
#[derive(Clone, Copy, Debug)]
pub struct Design {
    /// The texts in the language of the person.
    pub texts: &'static Texts,
}

impl Design {
    /// The design for the browser that sent these headers.
    pub fn for_browser(headers: &HeaderMap) -> Self {
        Self {
            texts: Texts::preferred_by(headers),
        }
    }

    /// The design for administrators.
    pub fn in_english() -> Self {
        Self {
            texts: Texts::english(),
        }
    }

    /// A whole page with this HTML below its title, which is the text `title`. The files of the page are at the origin
    /// `host`, or at the own one if that is empty.
    pub fn page(&self, host: &str, title: &str, content: &str) -> String {
        self.texts.render(
            include_str!("page.html"),
            &[
                ("language", self.texts.language),
                ("host", &escape(host)),
                ("title", &self.texts.html(title, &[])),
                ("content", content),
            ],
        )
    }
}
