//! Makes the OpenAPI document of a variant, and serves it.
//!
//! The document starts with the annotations of the endpoints. [`complete_document`] adds title, description and tags
//! (`variant`, `tags`). `operations` adds the responses and headers that follow from the kind of an operation.
//!
//! Annotations use `parameters` and `responses`, which describe what several endpoints have. `guard` restricts routes
//! to roles, in the router and in the document at once. `docs_ui` serves the document at `/openapi.json`, and Swagger
//! UI at `/docs`.

pub(crate) mod docs_ui;
pub(crate) mod guard;
mod operations;
pub(crate) mod parameters;
pub(crate) mod responses;
mod tags;
pub(crate) mod variant;

use operations::{complete_operation, operations};
use responses::{REASON_SCHEMA, reason_schema};
use rolegate_program::version::version;
use tags::add_tags;
use utoipa::openapi::{InfoBuilder, LicenseBuilder, OpenApi, Server, security::SecurityScheme};
use variant::Variant;

const LICENSE: &str = env!("CARGO_PKG_LICENSE");

/// Returns the complete document of a variant. `document` has only the annotations of its routes.
pub(crate) fn complete_document(variant: Variant, mut document: OpenApi) -> OpenApi {
    let license = LicenseBuilder::new()
        .name(LICENSE)
        .identifier(Some(LICENSE))
        .build();
    document.info = InfoBuilder::new()
        .title(variant.title)
        .version(version())
        .description(Some(variant.description))
        .license(Some(license))
        .build();
    document.servers = Some(vec![Server::new("/")]);
    add_tags(&mut document);
    for operation in operations(&mut document) {
        complete_operation(operation, &variant);
    }
    let components = document.components.get_or_insert_default();
    components
        .schemas
        .insert(REASON_SCHEMA.into(), reason_schema().into());
    components.add_security_scheme(variant.scheme_name, SecurityScheme::Http(variant.scheme));
    document
}

#[cfg(test)]
mod tests;
