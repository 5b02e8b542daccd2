//! Requests role decisions from auth-service. Concurrent requests share a call. The call is sent only after all
//! of these requests have arrived, so a decision never uses a role that was read before its request.

use super::AuthClient;
use crate::{requirement::Requirement, user::User};
use rolegate_grpc_client::{Call, CallBatcher, CallContext, CallError, Client};
#[cfg(feature = "program")]
use rolegate_program::metrics::{Histogram, SIZE_BUCKETS, histogram, observe_size};
use rolegate_proto::{
    Reason,
    auth_v1::{
        AuthorizeOutcome, AuthorizeRequest, BatchAuthorizeRequest, authorize_outcome::Outcome,
    },
    authorization::is_api_key,
    limits::{MAX_AUTHORIZE_BATCH, MAX_GROUPS, MAX_ROLES, MAX_TOKEN_LEN},
};
use secrecy::{ExposeSecret, SecretString};
use std::net::IpAddr;
#[cfg(feature = "program")]
use std::sync::LazyLock;

/// The number of role decisions in each call. All clients of a process share this histogram.
#[cfg(feature = "program")]
pub static DECISIONS: LazyLock<Histogram> = LazyLock::new(|| {
    let help = "Role decisions in one call to auth-service.";
    histogram("rolegate_client_batch_size_decisions", help, SIZE_BUCKETS)
});

impl AuthClient {
    /// Asks auth-service whether the bearer of an access token, session or API key meets a requirement. Returns
    /// the user if so, and an error otherwise. The decision uses the role that is stored now.
    ///
    /// Concurrent decisions share calls. A call carries the request ids of all its decisions. The client address
    /// is sent only with an API key.
    ///
    /// The future must be polled until it ends, or be dropped. While it is not polled, later decisions of this client
    /// wait for it a moment, and if there are many such futures, until their deadlines.
    pub async fn authorize(
        &self,
        access_token: &SecretString,
        requirement: Requirement<'_>,
        context: CallContext,
    ) -> Result<User, CallError> {
        let request = authorize_request(access_token, requirement, context.client_address)?;
        self.shared
            .decisions
            .submit(request, context.request_id)
            .await
    }

    /// Decides as [`Self::authorize`] does, but about a session from a cookie of the sign-in page. No other
    /// kind of token is accepted.
    pub async fn authorize_cookie(
        &self,
        session: &SecretString,
        requirement: Requirement<'_>,
        context: CallContext,
    ) -> Result<User, CallError> {
        let mut request = authorize_request(session, requirement, context.client_address)?;
        request.from_cookie = true;
        self.shared
            .decisions
            .submit(request, context.request_id)
            .await
    }

    pub(super) fn decision_batcher(client: Client) -> CallBatcher<AuthorizeRequest, User> {
        CallBatcher::new(MAX_AUTHORIZE_BATCH, move |requests, call| {
            request_decisions(client.clone(), requests, call)
        })
    }
}

/// Builds the request for one decision, which may become an item of a batch.
///
/// A token that is too long is refused here, and so is a list of more roles or groups than a requirement can
/// have. They would take the space of other requests in the batch. The client address is sent only with an API key,
/// because auth-service records from where API keys are used.
fn authorize_request(
    access_token: &SecretString,
    requirement: Requirement<'_>,
    client_address: Option<IpAddr>,
) -> Result<AuthorizeRequest, CallError> {
    let access_token = access_token.expose_secret();
    if access_token.len() > MAX_TOKEN_LEN {
        return Err(CallError::local(Reason::TokenInvalid));
    }
    if requirement.roles().len() > MAX_ROLES || requirement.groups().len() > MAX_GROUPS {
        return Err(CallError::local(Reason::RequestInvalid));
    }
    let client_address = match client_address {
        Some(address) if is_api_key(access_token) => Some(address.to_string()),
        _ => None,
    };
    Ok(AuthorizeRequest {
        access_token: access_token.to_owned(),
        requirement: Some(requirement.into()),
        client_address,
        // `AuthClient::authorize_cookie` sets this field.
        from_cookie: false,
    })
}

/// Sends one request as `Authorize`, or several as `BatchAuthorize`. Returns the outcomes in the order of the
/// requests.
async fn request_decisions(
    client: Client,
    requests: Vec<AuthorizeRequest>,
    call: Call,
) -> Vec<Result<User, CallError>> {
    let size = requests.len();
    #[cfg(feature = "program")]
    observe_size(&DECISIONS, size);
    let items = match <[_; 1]>::try_from(requests) {
        Ok([request]) => {
            let response = call.send(&client, request).await;
            return vec![response.and_then(|response| User::try_from_response(response.user))];
        }
        Err(several) => several,
    };
    let batch = BatchAuthorizeRequest { items };
    match call.send(&client, batch).await {
        // Outcomes belong to items by their order. If one were missing, users would get the outcomes of
        // others.
        Ok(response) if response.outcomes.len() == size => {
            response.outcomes.into_iter().map(read_outcome).collect()
        }
        Ok(_) => vec![Err(CallError::Malformed); size],
        Err(error) => vec![Err(error); size],
    }
}

fn read_outcome(outcome: AuthorizeOutcome) -> Result<User, CallError> {
    match outcome.outcome {
        Some(Outcome::User(user)) => user.try_into(),
        Some(Outcome::RefusalReason(name)) => match Reason::from_name(&name) {
            // The outcome of an item has only a reason, without a message and without a delay before a retry.
            Some(reason) => Err(CallError::local(reason)),
            None => Err(CallError::Malformed),
        },
        None => Err(CallError::Malformed),
    }
}
