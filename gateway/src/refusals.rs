//! Refusals of password checks: no client has more than 32 logins in progress, or gets more than its
//! share of refusals per second (`pacer`). A client that floods would otherwise be refused as fast as it
//! asks.

mod pacer;

use pacer::Pacer;
use rolegate_auth_client::{CallContext, CallError, Reason, axum::ApiError};
use rolegate_http_server::clients::{ClientSlots, MAX_LOGINS_PER_CLIENT, client_key};
use std::{sync::Arc, time::Instant};

/// The reasons of refusals, as opposed to answers.
pub(crate) const REFUSALS: [Reason; 2] = [Reason::TooManyAttempts, Reason::Overloaded];

/// The limits of both variants. Clones share them.
#[derive(Clone)]
pub(crate) struct Refusals {
    pacer: Arc<Pacer>,
    logins: ClientSlots,
}

impl Refusals {
    pub(crate) fn new() -> Self {
        let logins = ClientSlots::new(MAX_LOGINS_PER_CLIENT);
        Self { pacer: Arc::new(Pacer::new()), logins }
    }

    /// Makes the call of a login, unless the client has too many in progress.
    pub(crate) async fn login<T>(
        &self,
        context: CallContext,
        call: impl Future<Output = Result<T, CallError>>,
    ) -> Result<T, ApiError> {
        let slot = self.logins.acquire(client_key(context.client_address));
        let outcome = match &slot {
            Some(_) => call.await,
            None => Err(CallError::local(Reason::Overloaded)),
        };
        drop(slot);
        self.answer(context, outcome).await
    }

    /// The outcome of a call that checks or hashes a password: a refusal when the client's share allows
    /// it, anything else at once.
    pub(crate) async fn answer<T>(
        &self,
        context: CallContext,
        outcome: Result<T, CallError>,
    ) -> Result<T, ApiError> {
        if outcome.as_ref().is_err_and(is_refusal) {
            let delay = self.pacer.delay(client_key(context.client_address), Instant::now());
            if !delay.is_zero() {
                // Boxed: most requests need no room for a delay.
                Box::pin(tokio::time::sleep(delay)).await;
            }
        }
        Ok(outcome?)
    }
}

/// Whether auth-service, or the gateway in its place, refused a password check.
pub(crate) fn is_refusal(error: &CallError) -> bool {
    error.reason().is_some_and(|reason| REFUSALS.contains(&reason))
}

#[cfg(test)]
mod tests;
