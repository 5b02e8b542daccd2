//! What all pages for people have in common.

use crate::{
    settings::SignIn,
    texts::{Texts, escape},
};
use clap::Args;
use http::HeaderMap;
use url::Url;

/// Unicode scalar values of a title, and of a text that helps.
const MAX_TITLE_CHARS: usize = 64;
const MAX_HELP_CHARS: usize = 200;

/// The brand of pages whose operator sets none.
static NO_BRAND: Brand = Brand {
    title: None,
    help: None,
};

/// What the operator puts on the pages.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Browsers")]
pub struct Brand {
    /// Name on the pages where people sign in, and in their applications for one-time codes, at most 64 characters
    #[arg(id = "sign_in_title", long = "sign-in-title", env = "SIGN_IN_TITLE", value_parser = title)]
    pub title: Option<String>,

    /// Where people get help, on those pages: a line of text, or an https or mailto address
    #[arg(id = "sign_in_help", long = "sign-in-help", env = "SIGN_IN_HELP", value_parser = help)]
    pub help: Option<String>,
}

/// What the pages that one person sees look like.
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
    /// The same without a brand. Without headers, it is in English.
    pub fn without_brand(headers: &HeaderMap) -> Self {
        Self {
            texts: Texts::preferred_by(headers),
            brand: &NO_BRAND,
        }
    }

    /// The HTML of a template with the texts, `{name}`, `{brand}`, `{help}`, and these values, which are HTML.
    pub fn render(&self, template: &str, values: &[(&str, &str)]) -> String {
        let title = self.brand.title.as_deref();
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

    /// A whole page with this HTML below its title, which is the text `title`. The files of the page are at the origin
    /// `host`, or at the own one if that is empty.
    pub fn page(&self, host: &str, title: &str, content: &str) -> String {
        self.render(
            include_str!("page.html"),
            &[
                ("host", &escape(host)),
                ("title", &self.texts.html(title, &[])),
                ("content", content),
            ],
        )
    }

    /// The text or the link as HTML.
    fn help(&self) -> String {
        let help = self.brand.help.as_deref().unwrap_or_default();
        let html = escape(help);
        if is_address(help) {
            let link = self.texts.html("help.link", &[]);
            return format!("<a href=\"{html}\" target=\"_blank\" rel=\"noreferrer\">{link}</a>");
        }
        html
    }
}

/// A title may not have what separates the issuer from the username in the address for authenticator applications.
fn title(text: &str) -> Result<String, &'static str> {
    if is_line(text, MAX_TITLE_CHARS) && !text.contains(':') {
        return Ok(text.to_owned());
    }
    Err("must be a line of 1 to 64 characters without a colon and without white space at its ends")
}

fn help(text: &str) -> Result<String, &'static str> {
    let scheme = text.split_once(':').map_or("", |(scheme, _)| scheme);
    let is_link = ["https", "mailto"].contains(&&*scheme.to_ascii_lowercase());
    let has_space = text.contains(char::is_whitespace);
    let url = Url::parse(text).ok();
    let is_good = match &url {
        Some(url) if url.scheme() == "https" => !has_space && url.username().is_empty(),
        Some(url) if url.scheme() == "mailto" => !has_space && url.path().contains('@'),
        // An address of another kind, which would not become a link; or text with a colon.
        Some(_) => has_space,
        None => !is_link,
    };
    match url {
        _ if !is_line(text, MAX_HELP_CHARS) || !is_good => {
            Err("must be a line of 1 to 200 characters: text, or an https or mailto address")
        }
        Some(url) if is_link => Ok(url.into()),
        _ => Ok(text.to_owned()),
    }
}

/// Whether a value of `SIGN_IN_HELP` becomes a link.
fn is_address(help: &str) -> bool {
    help.starts_with("https://") || help.starts_with("mailto:")
}

/// Whether the text is one line that shows something at both ends.
fn is_line(text: &str, max_chars: usize) -> bool {
    let breaks_line = |it: char| it.is_control() || matches!(it, '\u{2028}' | '\u{2029}');
    let length = text.chars().count();
    (1..=max_chars).contains(&length) && text.trim() == text && !text.contains(breaks_line)
}

#[cfg(test)]
mod tests;
