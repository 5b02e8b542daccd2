//! Fills the templates of the pages for people with texts in their language and with the operator's brand.

use crate::{
    brand::{Brand, NO_BRAND, parse_link},
    html::escape,
    texts::Texts,
};
use http::HeaderMap;

/// Stands for the page's own origin where a page needs the host of its files and of the sign-in page.
pub const OWN_HOST: &str = "";

/// The language and the brand of the pages that one person sees.
#[derive(Clone, Copy, Debug)]
pub struct Design<'a> {
    /// The texts in the person's language.
    pub texts: &'static Texts,
    brand: &'a Brand,
}

impl<'a> Design<'a> {
    /// Creates a design in the language that the browser prefers according to these request headers.
    pub(crate) fn new(brand: &'a Brand, headers: &HeaderMap) -> Self {
        Self {
            texts: Texts::preferred_by(headers),
            brand,
        }
    }

    /// Creates a design in the language that the browser prefers, with the default brand. Without headers, the language
    /// is English.
    pub fn without_brand(headers: &HeaderMap) -> Self {
        Self::new(&NO_BRAND, headers)
    }

    /// Fills a template and returns HTML. Replaces `{language}`, `{name}` (the title, or nothing), `{brand}` (the
    /// title, or `Rolegate`), `{help}`, the keys of texts, and the names in `values`. The values must be HTML already.
    pub fn render(&self, template: &str, values: &[(&str, &str)]) -> String {
        let title = self.brand.sign_in_title.as_deref();
        let name = title.map(escape).unwrap_or_default();
        let brand = title.map_or("Rolegate".to_owned(), escape);
        let help = self.help();
        let own_values = [
            ("language", self.texts.language),
            ("name", &name),
            ("brand", &brand),
            ("help", &help),
        ];
        self.texts.render(template, &[&own_values, values].concat())
    }

    /// Returns a whole page: `title`, which is a template such as `{sign_in.title}`, and below it `content`, which is
    /// HTML. The files of the page are at the origin `host`, which may be [`OWN_HOST`].
    pub fn page(&self, host: &str, title: &str, content: &str) -> String {
        let host = escape(host);
        let title = self.render(title, &[]);
        let values = [("host", &*host), ("title", &title), ("content", content)];
        self.render(include_str!("page.html"), &values)
    }

    /// Returns the operator's help text as HTML: a link if it is one, otherwise text.
    fn help(&self) -> String {
        let help = self.brand.sign_in_help.as_deref().unwrap_or_default();
        match parse_link(help) {
            Some(url) => {
                let url = escape(url.as_str());
                self.texts
                    .render(include_str!("help.html"), &[("url", &url)])
            }
            None => escape(help),
        }
    }
}

#[cfg(test)]
mod tests;
