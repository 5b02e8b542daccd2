//! Limits the memory that request bodies and responses may take; see [`memory_budget`].
//!
//! Bodies and responses of up to [`MAX_UNRESERVED`] bytes reserve nothing, because every connection has buffers of that
//! size anyway, and the number of connections is limited.
//!
//! [`memory_budget`]: rolegate_http_server::memory_budget

use crate::settings::PublicSettings;
use axum::response::{IntoResponse, Response};
use http::header::CONTENT_TYPE;
use rolegate_auth_client::{CallError, Reason, axum::ApiError};
use rolegate_http_server::memory_budget::{MemoryBudget, Reservation};
use serde::Serialize;
use std::{
    sync::{Arc, OnceLock},
    time::Duration,
};

/// The size of a body or response, in bytes, up to which nothing is reserved.
pub(crate) const MAX_UNRESERVED: usize = 4 * 1024;

const MIB: usize = 1024 * 1024;

/// The maximum time that a request waits for memory before it gets a 503.
const WAIT_TIMEOUT: Duration = Duration::from_secs(5);

/// The memory budgets that all requests of the gateway share: one for request bodies, and one for responses.
pub(crate) struct MemoryBudgets {
    pub(crate) requests: MemoryBudget,
    pub(crate) responses: MemoryBudget,
}

impl MemoryBudgets {
    pub(crate) fn new(settings: &PublicSettings) -> Self {
        let budget = |name, mib| MemoryBudget::new(name, mib * MIB, WAIT_TIMEOUT);
        Self {
            requests: budget("requests", settings.request_memory_mib),
            responses: budget("responses", settings.response_memory_mib),
        }
    }
}

/// The memory of one request body, in the extensions of its request. It stays reserved until the response is ready,
/// because handlers copy parts of the body.
#[derive(Clone)]
pub(crate) struct BodyMemory {
    budget: MemoryBudget,
    reserved: Arc<OnceLock<Reservation>>,
}

impl BodyMemory {
    pub(crate) fn new(budget: &MemoryBudget) -> Self {
        Self {
            budget: budget.clone(),
            reserved: Arc::default(),
        }
    }

    /// Reserves `bytes` until the last clone is dropped. Fails with 503 if too little memory becomes free.
    pub(crate) async fn reserve(&self, bytes: usize) -> Result<(), ApiError> {
        // A body is read only once, so `reserved` is empty.
        let _ = self.reserved.set(reserve(&self.budget, bytes).await?);
        Ok(())
    }
}

/// Reserves `bytes` of a budget. Waits if too little memory is free, and fails with 503 if that does not change in
/// time.
pub(crate) async fn reserve(budget: &MemoryBudget, bytes: usize) -> Result<Reservation, ApiError> {
    require(budget.reserve(bytes).await)
}

fn require(reservation: Option<Reservation>) -> Result<Reservation, ApiError> {
    reservation.ok_or_else(|| CallError::local(Reason::Overloaded).into())
}

/// Returns a JSON response with `body`, which has `text_bytes` of text and at most `max_json_bytes` of JSON.
///
/// `reservation` was made before the size of the body was known, so it is resized to the text and the JSON together.
/// Fails with 503 if too little memory becomes free. If the JSON is longer than [`MAX_UNRESERVED`], its memory stays
/// reserved until it is sent.
pub(crate) async fn write_json<T: Serialize>(
    reservation: Reservation,
    body: &T,
    text_bytes: usize,
    max_json_bytes: usize,
) -> Result<Response, ApiError> {
    let reservation = require(reservation.resize(text_bytes + max_json_bytes).await)?;
    let mut json = Vec::with_capacity(max_json_bytes);
    if serde_json::to_writer(&mut json, body).is_err() {
        return Err(CallError::Malformed.into());
    }
    json.shrink_to_fit();
    let content_type = [(CONTENT_TYPE, "application/json")];
    if json.len() <= MAX_UNRESERVED {
        return Ok((content_type, json).into_response());
    }
    let reservation = Arc::new(require(reservation.resize(json.len()).await)?);
    let mut response = (content_type, reservation.hold(json.into())).into_response();
    reservation.attach_to(response.extensions_mut());
    Ok(response)
}
