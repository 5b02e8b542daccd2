//! Refusals of password checks cost the gateway little, and auth-service nothing.
//!
//! A client that floods makes the gateway refuse as fast as it asks. So the gateway keeps each refusal
//! of auth-service for as long as it lasts (`memory`), lets no client have more than 32 logins in
//! progress, and gives no client more than its share of refusals per second (`pacer`).

mod memory;
mod pacer;

use memory::{Memory, Request};
use pacer::Pacer;
use rolegate_auth_client::{CallContext, CallError, Reason, ServiceError, axum::ApiError};
use rolegate_http_server::clients::{ClientSlots, MAX_LOGINS_PER_CLIENT, client_key};
use std::{net::IpAddr, sync::Arc, time::Instant};

/// The reasons of refusals, as opposed to answers: what lasts longer comes first.
pub(crate) const REFUSALS: [Reason; 2] = [Reason::TooManyAttempts, Reason::Overloaded];

/// The refusals of both variants. Clones share them.
#[derive(Clone)]
pub(crate) struct Refusals(Arc<Parts>);

struct Parts {
    memory: Memory,
    pacer: Pacer,
    logins: ClientSlots,
}

impl Refusals {
    /// `replica_of` identifies the auth-service that checks the password of a username now.
    pub(crate) fn new(replica_of: impl Fn(&str) -> Option<u64> + Send + Sync + 'static) -> Self {
        let (memory, pacer) = (Memory::new(replica_of), Pacer::new());
        Self(Arc::new(Parts { memory, pacer, logins: ClientSlots::new(MAX_LOGINS_PER_CLIENT) }))
    }

    /// Makes the call of a login, unless it would be refused.
    pub(crate) async fn login<T>(
        &self,
        context: CallContext,
        username: &str,
        call: impl Future<Output = Result<T, CallError>>,
    ) -> Result<T, ApiError> {
        let client = client_key(context.client_address);
        let request = Request { client, username };
        let refused = self.0.memory.find(&request, &REFUSALS);
        if let Some(refusal) = refused {
            return Err(self.refuse(client, refusal).await);
        }
        let Some(slot) = self.0.logins.acquire(client) else {
            return Err(self.refuse(client, CallError::local(Reason::Overloaded)).await);
        };
        let outcome = call.await;
        drop(slot);
        self.answer(&request, outcome).await
    }

    /// Makes the call of a Basic request, unless its client or username is over the limit. Not asked
    /// for capacity: most passwords are in the cache of auth-service.
    pub(crate) async fn verify<T>(
        &self,
        context: CallContext,
        username: &str,
        call: impl AsyncFnOnce() -> Result<T, CallError>,
    ) -> Result<T, ApiError> {
        let client = client_key(context.client_address);
        let request = Request { client, username };
        let refused = self.0.memory.find(&request, &[Reason::TooManyAttempts]);
        if let Some(refusal) = refused {
            return Err(Box::pin(self.refuse(client, refusal)).await);
        }
        self.answer(&request, call().await).await
    }

    /// Makes another call that hashes a password, whose refusals say nothing about logins.
    pub(crate) async fn other<T>(
        &self,
        context: CallContext,
        call: impl Future<Output = Result<T, CallError>>,
    ) -> Result<T, ApiError> {
        match call.await {
            Err(error) if is_refusal(&error) => {
                Err(self.refuse(client_key(context.client_address), error).await)
            }
            outcome => Ok(outcome?),
        }
    }

    async fn answer<T>(
        &self,
        request: &Request<'_>,
        outcome: Result<T, CallError>,
    ) -> Result<T, ApiError> {
        match outcome {
            Err(CallError::Refused(error)) if is_refusal_reason(error.reason) => {
                self.0.memory.keep(request, &error, Instant::now());
                // Boxed: most requests need no room for a delay.
                Err(Box::pin(self.refuse(request.client, CallError::Refused(error))).await)
            }
            outcome => Ok(outcome?),
        }
    }

    /// The response, at once or when the client's share allows it.
    async fn refuse(&self, client: IpAddr, refusal: CallError) -> ApiError {
        let delay = self.0.pacer.delay(client, Instant::now());
        if !delay.is_zero() {
            tokio::time::sleep(delay).await;
        }
        refusal.into()
    }
}

/// Whether auth-service, or the gateway in its place, refused a password check.
pub(crate) fn is_refusal(error: &CallError) -> bool {
    matches!(error, CallError::Refused(ServiceError { reason, .. }) if is_refusal_reason(*reason))
}

fn is_refusal_reason(reason: Reason) -> bool {
    REFUSALS.contains(&reason)
}

#[cfg(test)]
mod tests;
