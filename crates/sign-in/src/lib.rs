//! Decides how people sign in with a browser, so that the gateway and auth-service decide alike.
//!
//! The gateway answers proxies such as nginx, and auth-service answers Envoy. Both read the same settings and describe
//! a request of a browser to this crate. The crate reads the candidates for a session from the cookies, and says
//! whether the browser is redirected to the sign-in page. It calls no service: only auth-service knows whether a
//! candidate is a valid session, so the caller passes a function that asks it.
//!
//! A request moves through the modules in this order:
//!
//! - [`settings`] reads `SIGN_IN`, `SIGN_IN_URL`, `COOKIE_DOMAIN` and `RETURN_ORIGINS`, and warns about settings that
//!   contradict each other. [`sign_in`] holds the parsed settings, and uses them to decide about a request.
//! - [`request`] describes what a browser asked an application for, and what the browser says about itself. [`headers`]
//!   reads headers that must not be ambiguous.
//! - [`cookie`] finds the candidates in the cookies, and writes `Set-Cookie`.
//! - [`origin`] says which origin a request or a page has, and [`return_origins`] which other origins people may come
//!   from and go back to. `domain` checks domain names.
//! - [`page_query`] names the query parameters of the sign-in page, and [`password_link`] writes the links that lead to
//!   the page where a user chooses a password.
//!
//! The pages for people are made of the other modules:
//!
//! - [`brand`] has the operator's title and help text, [`texts`] the texts in each language, and [`design`] puts both
//!   into the templates. [`html`] escapes text.
//! - [`interstitial`] makes small pages that are shown instead of an application's page.
//! - [`clear_site_data`] defines the header that makes a browser delete the pages of a session that has ended from its
//!   cache.

#![cfg_attr(
    test,
    expect(
        clippy::too_many_lines,
        reason = "a test tells its story in order, with its values in sight"
    )
)]

pub mod brand;
pub mod clear_site_data;
pub mod cookie;
pub mod design;
mod domain;
pub mod headers;
pub mod html;
pub mod interstitial;
pub mod origin;
pub mod page_query;
pub mod password_link;
pub mod request;
pub mod return_origins;
pub mod settings;
pub mod sign_in;
#[cfg(test)]
mod test_support;
pub mod texts;
