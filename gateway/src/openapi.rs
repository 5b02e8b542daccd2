//! The OpenAPI document of a variant: the annotations of its endpoints, completed by the responses
//! that follow from the kind of operation.

pub(crate) mod docs_ui;
pub(crate) mod guard;
mod operations;
pub(crate) mod parameters;
pub(crate) mod responses;
pub(crate) mod tags;
pub(crate) mod variant;

use operations::{complete_operation, operations};
use responses::{REASON_SCHEMA, reason_schema};
use rolegate_program::version::version;
use tags::describe_tags;
use utoipa::openapi::{InfoBuilder, LicenseBuilder, OpenApi, Server, security::SecurityScheme};
use variant::Variant;

const LICENSE: &str = env!("CARGO_PKG_LICENSE");

/// Completes `document`, the annotations of a variant's routes.
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
    describe_tags(&mut document);
    for operation in document.paths.paths.values_mut().flat_map(operations) {
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
