//! Where a browser goes after a sign-in.

use rolegate_sign_in::{
    origin::Origin,
    page_query::{MAX_RETURN_ADDRESS_LEN, RETURN},
    return_origins::ReturnOrigins,
};
use url::{Position, form_urlencoded::byte_serialize};

/// An address that a browser may be sent to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ReturnAddress {
    /// For `Location`: visible ASCII, and on the own origin a path, which may have a query and a fragment.
    pub(crate) location: String,
}

impl ReturnAddress {
    /// The address in normal form, never as it was given, because others may read that in another way;
    /// `None` if it is neither of the own origin nor of one of `others`.
    pub(crate) fn parse(given: &str, own: &Origin, others: &ReturnOrigins) -> Option<Self> {
        if given.is_empty() {
            return None;
        }
        let url = own.url().join(given).ok()?;
        // None for other schemes, and for a URL with credentials.
        let origin = Origin::new(url.scheme(), url.authority())?;
        let location = if origin == *own {
            let path = &url[Position::BeforePath..];
            // A browser would take the next segment for a host.
            if path.starts_with("//") {
                return None;
            }
            path.to_owned()
        } else if others.contains(&origin) {
            url.into()
        } else {
            return None;
        };
        (location.len() <= MAX_RETURN_ADDRESS_LEN).then_some(Self { location })
    }

    /// Tells whether the address is of a page that uses the console's cookie.
    pub(crate) fn is_in_console(&self) -> bool {
        let path = self.location.split(['?', '#']).next().unwrap_or_default();
        ["/console", "/account"].iter().any(|page| {
            path.strip_prefix(page)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        })
    }
}

/// The address of the page to sign in at, which leads there afterwards.
pub(super) fn sign_in_path(back: Option<&ReturnAddress>) -> String {
    match back {
        Some(back) => {
            let address: String = byte_serialize(back.location.as_bytes()).collect();
            format!("/sign-in?{RETURN}={address}")
        }
        None => "/sign-in".to_owned(),
    }
}

#[cfg(test)]
mod tests;
