//! All pages for people have this in common: their language, and what the operator puts on them.

use crate::{
    settings::SignIn,
    texts::{Texts, escape},
};
use clap::Args;
use http::HeaderMap;
use url::Url;

/// The limits are in Unicode scalar values.
const MAX_TITLE_CHARS: usize = 64;
const MAX_HELP_CHARS: usize = 200;

/// The brand of pages whose operator sets none.
static NO_BRAND: Brand = Brand {
    sign_in_title: None,
    sign_in_help: None,
};

/// The operator puts these on the pages.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Browsers")]
pub struct Brand {
    /// Name on the pages where people sign in, and in their applications for one-time codes, at most 64 characters
    #[arg(long, env = "SIGN_IN_TITLE", value_parser = title)]
    pub sign_in_title: Option<String>,

    /// Where people get help, on those pages: a line of text, or an https or mailto address
    #[arg(long, env = "SIGN_IN_HELP", value_parser = help)]
    pub sign_in_help: Option<String>,
}

/// A design decides what the pages that one person sees look like.
#[derive(Clone, Copy, Debug)]
pub struct Design<'a> {
    /// The texts in the language of the person.
    pub texts: &'static Texts,
    brand: &'a Brand,
}

impl SignIn {
    /// The design for the browser that sent these headers.
    pub fn design(&self, headers: &HeaderMap) -> Design<'_> {
        Design {
            texts: Texts::preferred_by(headers),
            brand: &self.brand,
        }
    }
}

impl Design<'_> {
    /// The design has no brand. Without headers, it is in English.
    pub fn without_brand(headers: &HeaderMap) -> Self {
        Self {
            texts: Texts::preferred_by(headers),
            brand: &NO_BRAND,
        }
    }

    /// The HTML of a template with the texts, `{name}`, `{brand}`, `{help}`, and these values, which are HTML.
    pub fn render(&self, template: &str, values: &[(&str, &str)]) -> String {
        let title = self.brand.sign_in_title.as_deref();
        let name = title.map(escape).unwrap_or_default();
        let brand = title.map_or("Rolegate".to_owned(), escape);
        let help = self.help();
        let own = [
            ("language", self.texts.language),
            ("name", &name),
            ("brand", &brand),
            ("help", &help),
        ];
        self.texts.render(template, &[&own, values].concat())
    }

    /// A whole page with this HTML below its title, such as `{sign_in.title}`. The files of the page are at the origin
    /// `host`, or at the own one if that is empty.
    pub fn page(&self, host: &str, title: &str, content: &str) -> String {
        let host = escape(host);
        let title = self.render(title, &[]);
        let values = [("host", &*host), ("title", &title), ("content", content)];
        self.render(include_str!("page.html"), &values)
    }

    /// The text or the link as HTML.
    fn help(&self) -> String {
        let help = self.brand.sign_in_help.as_deref().unwrap_or_default();
        match address(help) {
            Some(url) => {
                let url = escape(url.as_str());
                self.texts
                    .render(include_str!("help.html"), &[("url", &url)])
            }
            None => escape(help),
        }
    }
}

/// A title may not have what separates the issuer from the username in the address for authenticator applications.
fn title(text: &str) -> Result<String, &'static str> {
    if is_line(text, MAX_TITLE_CHARS) && !text.contains(':') {
        return Ok(text.to_owned());
    }
    Err("must be a line of 1 to 64 characters without a colon and without white space at its ends")
}

/// A single word with a colon is meant as an address.
fn help(text: &str) -> Result<String, &'static str> {
    let is_text = text.contains(char::is_whitespace) || !text.contains(':');
    if is_line(text, MAX_HELP_CHARS) && (is_text || address(text).is_some()) {
        return Ok(text.to_owned());
    }
    Err("must be a line of 1 to 200 characters: text, or an https or mailto address")
}

/// The address that becomes a link.
fn address(help: &str) -> Option<Url> {
    let url = Url::parse(help).ok()?;
    let is_good = match url.scheme() {
        "https" => url.username().is_empty(),
        "mailto" => url.path().contains('@'),
        _ => false,
    };
    (is_good && !help.contains(char::is_whitespace)).then_some(url)
}

/// Returns whether the text is one line that shows something at both ends.
fn is_line(text: &str, max_chars: usize) -> bool {
    let breaks_line = |it: char| it.is_control() || matches!(it, '\u{2028}' | '\u{2029}');
    let length = text.chars().count();
    (1..=max_chars).contains(&length) && text.trim() == text && !text.contains(breaks_line)
}

#[cfg(test)]
mod tests;
