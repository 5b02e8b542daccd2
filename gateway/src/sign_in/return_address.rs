//! Decides where a browser may go after a sign-in or a sign-out, so that the pages are no open redirects.

use rolegate_sign_in::{
    origin::Origin,
    page_query::{MAX_RETURN_ADDRESS_LEN, RETURN},
    return_origins::ReturnOrigins,
};
use url::{Position, form_urlencoded::byte_serialize};

/// An address to which a browser may be sent.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ReturnAddress {
    /// The value of `Location`, in visible ASCII. On the page's own origin, it is a path, which may have a query and a
    /// fragment.
    pub(crate) location: String,
}

/// The reason why a browser is not redirected to an address.
#[derive(Debug)]
pub(crate) enum ReturnAddressError {
    /// The address is empty or too long, or browsers may take it for another one.
    Malformed,
    /// The address is neither at the page's own origin nor at an origin in `RETURN_ORIGINS`.
    OriginNotAllowed(Origin),
}

impl ReturnAddress {
    /// Parses an address and returns it in normal form. The text as given is never used, because browsers may read it
    /// differently.
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
        // `Origin::new` refuses schemes other than `http` and `https`, and a URL with credentials.
        let origin = Origin::new(url.scheme(), url.authority()).ok_or(Malformed)?;
        let location = if origin == *own {
            let path = &url[Position::BeforePath..];
            // A browser would read the text after `//` as a host.
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

    /// Tells whether the address is a page that uses the console's cookie.
    pub(crate) fn is_in_console(&self) -> bool {
        let path = self.location.split(['?', '#']).next().unwrap_or_default();
        ["/console", "/account"].iter().any(|page| {
            path.strip_prefix(page)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        })
    }
}

/// Returns the path of the sign-in page, with `back` as the address to which the person returns.
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
