//! `BatchAuthorize`.

use super::{AuthGrpc, RpcResult, authorize::requirement, status::reason_of};
use crate::{
    accounts::{AccountError, Bearer},
    metrics,
};
use rolegate_proto::{
    auth_v1::{
        AuthorizeOutcome, AuthorizeRequest, BatchAuthorizeRequest, BatchAuthorizeResponse,
        authorize_outcome::Outcome,
    },
    limits::MAX_AUTHORIZE_BATCH,
};
use tonic::{Request, Response};

pub(super) async fn call(
    service: &AuthGrpc,
    request: Request<BatchAuthorizeRequest>,
) -> RpcResult<BatchAuthorizeResponse> {
    let (_, call, BatchAuthorizeRequest { items }) = request.into_parts();
    if items.len() > MAX_AUTHORIZE_BATCH {
        return Err(AccountError::RequestInvalid("a batch has at most 256 items").into());
    }
    let bearer = |item: AuthorizeRequest| {
        let client_address = service.reported_address(&item, &call);
        let requirement = requirement(item.requirement)?;
        Ok(Bearer { access_token: item.access_token, requirement, client_address })
    };
    let bearers = items.into_iter().map(bearer).collect();
    let outcomes = service.accounts.authorize_batch(bearers).await?;
    let outcomes = outcomes
        .into_iter()
        .map(|outcome| outcome.map_err(|error| reason_of(&error)))
        .inspect(|outcome| metrics::authorization(outcome.as_ref().err().copied()))
        .map(|outcome| match outcome {
            Ok(user) => Outcome::User(user.into()),
            Err(reason) => Outcome::RefusalReason(reason.as_str().to_owned()),
        })
        .map(|outcome| AuthorizeOutcome { outcome: Some(outcome) })
        .collect();
    Ok(Response::new(BatchAuthorizeResponse { outcomes }))
}
