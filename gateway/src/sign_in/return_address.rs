//! Where a browser goes after a sign-in.

use rolegate_sign_in::{
    origin::Origin,
    page_query::{MAX_RETURN_ADDRESS_LEN, RETURN},
    return_origins::ReturnOrigins,
};
use url::{Position, form_urlencoded::byte_serialize};

/// An address that a browser may be sent to.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ReturnAddress {
    /// For `Location`: visible ASCII, and on the own origin a path, which may have a query and a fragment.
    pub(crate) location: String,
}

/// Why a browser is not sent to an address.
#[derive(Debug)]
pub(crate) enum ReturnAddressError {
    /// The address is empty or too long, or browsers may take it for another one.
    Malformed,
    /// The address is neither of the own origin nor of one of the others.
    OriginNotAllowed(Origin),
}

impl ReturnAddress {
    /// The address in normal form, never as it was given, because others may read that in another way.
    pub(crate) fn parse(
        given: &str,
        own: &Origin,
        others: &ReturnOrigins,
    ) -> Result<Self, ReturnAddressError> {
        use ReturnAddressError::{Malformed, OriginNotAllowed};
        if given.is_empty() {
            return Err(Malformed);
        }
        let url = own.url().join(given).map_err(|_invalid| Malformed)?;
        // None for other schemes, and for a URL with credentials.
        let origin = Origin::new(url.scheme(), url.authority()).ok_or(Malformed)?;
        let location = if origin == *own {
            let path = &url[Position::BeforePath..];
            // A browser would take the next segment for a host.
            if path.starts_with("//") {
                return Err(Malformed);
            }
            path.to_owned()
        } else if others.contains(&origin) {
            url.into()
        } else {
            return Err(OriginNotAllowed(origin));
        };
        if location.len() > MAX_RETURN_ADDRESS_LEN {
            return Err(Malformed);
        }
        Ok(Self { location })
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
