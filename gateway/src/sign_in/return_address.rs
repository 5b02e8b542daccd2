//! Where a browser goes after a sign-in.

use rolegate_sign_in::{
    origin::{Origin, ReturnOrigins},
    request::MAX_RETURN,
};
use url::Position;

/// An address that a browser may be sent to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ReturnAddress {
    /// For `Location`: visible ASCII, and on the own origin a path, which may have a query and a fragment.
    pub(crate) location: String,
    /// Another origin than the own one.
    pub(crate) origin: Option<Origin>,
}

impl ReturnAddress {
    /// The address in normal form, never as it was given, because others may read that in another way;
    /// `None` if it is neither of the own origin nor of one of `others`.
    pub(crate) fn parse(given: &str, own: &Origin, others: &ReturnOrigins) -> Option<Self> {
        let url = own.url().join(given).ok().filter(|_| !given.is_empty())?;
        // None for other schemes, and for a URL with credentials.
        let origin = Origin::new(url.scheme(), url.authority())?;
        let address = if origin == *own {
            Self::own(&url[Position::BeforePath..])
        } else {
            Self {
                location: url.into(),
                origin: Some(origin),
            }
        };
        let is_good = match &address.origin {
            Some(origin) => others.contains(origin),
            // A browser would take the next segment for a host.
            None => !address.location.starts_with("//"),
        };
        (is_good && address.location.len() <= MAX_RETURN).then_some(address)
    }

    pub(crate) fn own(path: &str) -> Self {
        Self {
            location: path.to_owned(),
            origin: None,
        }
    }

    pub(crate) fn is_of_console(&self) -> bool {
        let path = self.location.split(['?', '#']).next().unwrap_or_default();
        path == "/console" || path.starts_with("/console/")
    }
}

#[cfg(test)]
mod tests;
