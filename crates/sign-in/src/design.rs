//! The design of the pages for people: their language, and what the operator puts on them.

use crate::{
    brand::{Brand, NO_BRAND, parse_link},
    html::escape,
    texts::Texts,
};
use http::HeaderMap;

/// The host of a page whose files, and the page to sign in at, are at its own origin.
pub const OWN_HOST: &str = "";

/// The design of the pages that one person sees.
#[derive(Clone, Copy, Debug)]
pub struct Design<'a> {
    /// The texts in the language of the person.
    pub texts: &'static Texts,
    brand: &'a Brand,
}

impl<'a> Design<'a> {
    /// The design for the browser that sent these headers.
    pub(crate) fn new(brand: &'a Brand, headers: &HeaderMap) -> Self {
        Self {
            texts: Texts::preferred_by(headers),
            brand,
        }
    }

    /// A design without a brand for the browser that sent these headers; in English without headers.
    pub fn without_brand(headers: &HeaderMap) -> Self {
        Self::new(&NO_BRAND, headers)
    }

    /// The HTML of a template with the texts, `{name}`, `{brand}`, `{help}`, and these values, which are HTML.
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

    /// A whole page with this HTML below its title, such as `{sign_in.title}`. The files of the page are at the origin
    /// `host`, which may be [`OWN_HOST`].
    pub fn page(&self, host: &str, title: &str, content: &str) -> String {
        let host = escape(host);
        let title = self.render(title, &[]);
        let values = [("host", &*host), ("title", &title), ("content", content)];
        self.render(include_str!("page.html"), &values)
    }

    /// The operator's help as HTML: a text or a link.
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
