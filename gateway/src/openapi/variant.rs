//! What the documents of the two variants differ in, besides their operations.

use utoipa::openapi::security::Http;

/// What the document says of a variant as a whole.
pub(crate) struct Variant {
    pub(crate) title: &'static str,
    /// Markdown.
    pub(crate) description: &'static str,
    /// The name in `components.securitySchemes` that annotations use.
    pub(crate) scheme_name: &'static str,
    pub(crate) scheme: Http,
    /// The `detail` texts of a 401.
    pub(crate) unauthenticated: &'static [&'static str],
    /// The `WWW-Authenticate` header of a 401.
    pub(crate) challenge: &'static str,
}
