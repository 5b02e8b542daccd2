//! Browsers that sign in at a page: what the gateway and auth-service must decide alike.
//!
//! - [`settings`]: `SIGN_IN`, `SIGN_IN_URL`, `COOKIE_DOMAIN`, `RETURN_ORIGINS`, and warnings about them.
//! - [`sign_in`]: what these settings mean for a request: its session, its redirect, its pages.
//! - [`request`]: what a browser asked an application for, and what it says about itself.
//! - [`cookie`]: the cookies that hold a session.
//! - [`origin`], [`return_origins`]: where a page is from, and where people go back to.
//! - [`page_query`]: the query of the page to sign in at.
//! - [`password_link`]: where password links lead.
//! - [`clear_site_data`]: the header by which a browser forgets pages.
//! - [`brand`], [`design`], [`texts`], [`html`]: what the operator puts on pages, and their texts in the languages of
//!   people.
//! - [`interstitial`]: small pages in the place of an application's.
//! - [`headers`]: values of headers, and what proxies say about a request in them; `domain`: domain names.

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
