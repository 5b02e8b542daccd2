//! Browsers that sign in at a page: what the gateway and auth-service must decide alike.
//!
//! - [`settings`]: `SIGN_IN`, `SIGN_IN_URL`, `COOKIE_DOMAIN`, `RETURN_ORIGINS`, and what the pages show.
//! - [`cookie`]: the cookies that hold a session.
//! - [`design`]: the language of the pages, and what the operator puts on them.
//! - [`interstitial`]: small pages in the place of an application's.
//! - [`origin`]: where a page is from.
//! - [`password_link`]: where password links lead.
//! - [`request`]: whether a request to an application may use its cookie, and whether it is led to the page.
//! - [`texts`]: the texts of the pages, in the languages of people.

pub mod cookie;
pub mod design;
pub mod interstitial;
pub mod origin;
pub mod password_link;
pub mod request;
pub mod settings;
pub mod texts;
