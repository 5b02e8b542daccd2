//! Error responses in the OpenAPI document.
#![expect(dead_code, reason = "the types describe responses and are never constructed")]

use rolegate_proto::{Reason, http::HttpReason};
use serde_json::json;
use std::collections::BTreeSet;
use utoipa::{
    IntoResponses, ToSchema,
    openapi::{
        Content, HeaderBuilder, ObjectBuilder, Ref, RefOr, Response, Type,
        example::{Example, ExampleBuilder},
        path::Operation,
    },
};

/// The body of every error.
// `rolegate_auth_client::axum::ApiError` serializes it.
#[derive(ToSchema)]
#[schema(as = ApiError)]
pub(crate) struct ErrorBody {
    /// What is wrong, as a sentence.
    #[schema(example = "User not found.")]
    detail: String,
}

/// A reason in the header of an error.
pub(crate) const REASON_SCHEMA: &str = "Reason";

/// Any text, because later versions have more reasons.
pub(crate) fn reason_schema() -> ObjectBuilder {
    let of_services = Reason::ALL.iter().map(|reason| reason.as_str());
    let reasons = of_services.chain(HttpReason::ALL.iter().map(|reason| reason.http().0));
    ObjectBuilder::new()
        .schema_type(Type::String)
        .description(Some(
            "Why the request failed, for programs. Stable; later versions have more.",
        ))
        .examples(reasons.collect::<BTreeSet<_>>())
}

/// Adds `Rolegate-Reason` to every error.
pub(crate) fn add_reasons(operation: &mut Operation) {
    for (status, response) in &mut operation.responses.responses {
        if let RefOr::T(response) = response
            && status.starts_with(['4', '5'])
        {
            let reason = HeaderBuilder::new().schema(Some(Ref::from_schema_name(REASON_SCHEMA)));
            response.headers.insert("Rolegate-Reason".to_owned(), reason.build().into());
        }
    }
}

/// The response of endpoints that verify passwords or register users.
#[derive(IntoResponses)]
#[response(
    status = 429,
    description = "Too many recent failures from this client or for this username.",
    headers(("Retry-After" = u64, description = "Seconds.")),
    example = json!({"detail": "Too many attempts, try again later."})
)]
pub(crate) struct TooManyAttempts(ErrorBody);

#[derive(IntoResponses)]
#[response(
    status = 403,
    description = "The caller presented an API key. Any `user`, `author` or `admin` with an access token \
                   is admitted.",
    example = json!({"detail": "Insufficient privileges."})
)]
pub(crate) struct AccessTokenNeeded(ErrorBody);

#[derive(IntoResponses)]
#[response(
    status = 403,
    description = "The user's stored role is not `author` or `admin`, or the user is an author and \
                   not the owner of the post.",
    example = json!({"detail": "Insufficient privileges."})
)]
pub(crate) struct NotPostOwner(ErrorBody);

/// Adds `details` as examples to the response of this status. `description` is used if the
/// operation does not describe the status itself.
pub(crate) fn add_response<'a>(
    operation: &'a mut Operation,
    status: u16,
    description: &str,
    details: &[&str],
) -> &'a mut Response {
    let responses = &mut operation.responses.responses;
    let response =
        responses.entry(status.to_string()).or_insert_with(|| RefOr::T(Response::new(description)));
    let RefOr::T(response) = response else {
        unreachable!("annotations describe responses in place");
    };
    let content = response
        .content
        .entry("application/json".to_owned())
        .or_insert_with(|| RefOr::T(Content::new(Some(Ref::from_schema_name("ApiError")))));
    let RefOr::T(content) = content else {
        unreachable!("annotations describe bodies in place");
    };
    // OpenAPI allows either one `example` or several `examples`.
    if let ([only], None, true) = (details, &content.example, content.examples.is_empty()) {
        content.example = Some(json!({ "detail": only }));
        return response;
    }
    if let Some(only) = content.example.take() {
        let name = only["detail"].as_str().unwrap_or("example").to_owned();
        content.examples.insert(name, example(only));
    }
    for detail in details {
        content.examples.insert((*detail).to_owned(), example(json!({ "detail": detail })));
    }
    response
}

fn example(value: serde_json::Value) -> RefOr<Example> {
    ExampleBuilder::new().value(Some(value)).build().into()
}
