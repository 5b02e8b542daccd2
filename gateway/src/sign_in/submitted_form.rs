//! Reads the forms of the pages, and refuses forms of other sites.

use super::{
    return_address::ReturnAddress,
    state::{SignInState, is_forwarded},
};
use crate::extract::{credentials::cross_site, form::Form, query_params::QueryParams};
use axum::{
    extract::Request,
    response::{Redirect, Result},
};
use http::HeaderMap;
use rolegate_sign_in::{origin::Origin, page_query::RETURN, request::is_same_origin};

/// A form that a page of Rolegate sent.
pub(super) struct SubmittedForm {
    pub(super) headers: HeaderMap,
    pub(super) query: QueryParams,
    pub(super) fields: Form,
    /// The address in the field `return`, or in the query if there is no such field. `None` if there is none, or if
    /// people may not be redirected there.
    pub(super) return_address: Option<ReturnAddress>,
    /// The origin of the page that sent the form, which is also the origin of this request.
    pub(super) origin: Origin,
    /// True if a proxy passed the form on.
    pub(super) is_forwarded: bool,
}

impl SubmittedForm {
    /// Reads the form, and refuses one that another site sent. Otherwise another site could sign its visitors in or
    /// out, or use their browsers to guess passwords. An unencrypted form is redirected to `/sign-in`.
    pub(super) async fn read(state: &SignInState, request: Request) -> Result<Self> {
        let headers = request.headers().clone();
        let origin = Origin::from_request_headers(&headers);
        if !is_same_origin(&headers, origin.as_ref()) {
            return Err(cross_site().into());
        }
        let origin = origin
            .filter(Origin::is_secure)
            .ok_or_else(|| Redirect::to("/sign-in"))?;
        let query = QueryParams::parse(request.uri().query().unwrap_or_default())?;
        let is_forwarded = is_forwarded(&request);
        let fields = Form::read(request).await?;
        let given = match fields.optional(RETURN)? {
            Some(field) => Some(field),
            None => query.get(RETURN)?,
        };
        let return_address = given.and_then(|given| state.return_address(given, &origin));
        Ok(Self {
            headers,
            query,
            fields,
            return_address,
            origin,
            is_forwarded,
        })
    }
}
