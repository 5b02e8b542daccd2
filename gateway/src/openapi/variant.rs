//! Describes how the documents of the two variants differ, besides their operations.

use utoipa::openapi::security::Http;

/// The parts of the document that describe a variant as a whole.
pub(crate) struct Variant {
    pub(crate) title: &'static str,
    /// The description, in Markdown.
    pub(crate) description: &'static str,
    /// The name of the scheme in `components.securitySchemes`, which annotations use to refer to it.
    pub(crate) scheme_name: &'static str,
    pub(crate) scheme: Http,
    /// The texts that the `detail` of a 401 can have.
    pub(crate) unauthenticated: &'static [&'static str],
    /// The description of the header `WWW-Authenticate` of a 401.
    pub(crate) challenge: &'static str,
}
