//! Concurrent role decisions share calls: one alone is an `Authorize`, several are a `BatchAuthorize`.

use crate::{Requirement, User};
use rolegate_grpc_client::{BalancedChannel, BatchCall, CallBatcher, CallError};
use rolegate_proto::{
    Reason, RequestId,
    auth_v1::{
        AuthorizeOutcome, AuthorizeRequest, BatchAuthorizeRequest,
        auth_service_client::AuthServiceClient, authorize_outcome::Outcome,
    },
    limits::{MAX_AUTHORIZE_BATCH, MAX_TOKEN_LEN},
};
use secrecy::{ExposeSecret, SecretString};

type Client = AuthServiceClient<BalancedChannel>;

#[derive(Clone, Debug)]
pub(crate) struct AuthorizeBatcher(CallBatcher<AuthorizeRequest, User>);

impl AuthorizeBatcher {
    pub(crate) fn new(client: Client) -> Self {
        let send = move |items, call| decide(client.clone(), items, call);
        Self(CallBatcher::new(MAX_AUTHORIZE_BATCH, send))
    }

    pub(crate) fn observe(&self, observer: impl Fn(usize) + Send + Sync + 'static) {
        self.0.observe(observer);
    }

    pub(crate) async fn authorize(
        &self,
        access_token: &SecretString,
        requirement: Requirement<'_>,
        request_id: Option<RequestId>,
    ) -> Result<User, CallError> {
        let access_token = access_token.expose_secret();
        // Bounds the size of the batch.
        if access_token.len() > MAX_TOKEN_LEN {
            return Err(CallError::local(Reason::TokenInvalid));
        }
        let access_token = access_token.to_owned();
        let item = AuthorizeRequest { access_token, requirement: Some(requirement.into()) };
        self.0.submit(item, request_id).await
    }
}

async fn decide(
    client: Client,
    mut items: Vec<AuthorizeRequest>,
    call: BatchCall,
) -> Vec<Result<User, CallError>> {
    let size = items.len();
    if size == 1
        && let Some(item) = items.pop()
    {
        return vec![decide_one(client, item, call).await];
    }
    let response = call.send(BatchAuthorizeRequest { items }, |request| {
        let mut client = client.clone();
        async move { client.batch_authorize(request).await }
    });
    match response.await {
        // Outcomes belong to items by their order: with one missing, users would get another's.
        Ok(response) if response.outcomes.len() == size => {
            response.outcomes.into_iter().map(user).collect()
        }
        Ok(_) => vec![Err(CallError::Malformed); size],
        Err(error) => vec![Err(error); size],
    }
}

async fn decide_one(
    client: Client,
    item: AuthorizeRequest,
    call: BatchCall,
) -> Result<User, CallError> {
    let response = call.send(item, |request| {
        let mut client = client.clone();
        async move { client.authorize(request).await }
    });
    User::try_from_response(response.await?.user)
}

fn user(outcome: AuthorizeOutcome) -> Result<User, CallError> {
    match outcome.outcome {
        Some(Outcome::User(user)) => user.try_into(),
        Some(Outcome::RefusalReason(name)) => {
            Err(Reason::from_name(&name).map_or(CallError::Malformed, CallError::local))
        }
        None => Err(CallError::Malformed),
    }
}
