//! `DeleteApiKeys`.

use super::{AuthGrpc, RpcResult};
use crate::accounts::{AccountError, KeySelection};
use rolegate_grpc_server::actor;
use rolegate_proto::auth_v1::{
    DeleteApiKeysRequest, DeleteApiKeysResponse, delete_api_keys_request::Keys,
};
use tonic::{Request, Response};

pub(super) async fn call(
    service: &AuthGrpc,
    request: Request<DeleteApiKeysRequest>,
) -> RpcResult<DeleteApiKeysResponse> {
    let DeleteApiKeysRequest { user_id, keys } = *request.get_ref();
    let selection = match keys {
        Some(Keys::KeyId(id)) => KeySelection::One(id),
        Some(Keys::All(_)) => KeySelection::All,
        None => return Err(AccountError::RequestInvalid("say which keys: key_id or all").into()),
    };
    let actor = actor::token(request.metadata());
    let keys = service.accounts.delete_api_keys(actor, user_id, selection).await?;
    Ok(Response::new(DeleteApiKeysResponse {
        api_keys: keys.into_iter().map(Into::into).collect(),
    }))
}
