//! `user revoke-tokens`.

use super::operator::{Operator, audit, not_found};
use crate::{clock::SystemClock, host::failed, store::Revoker, token::revocation_time};
use rolegate_service_runtime::program::{Failure, print};

pub(super) async fn run(operator: &Operator, username: &str) -> Result<(), Failure> {
    let id = operator.find(username).await?.id;
    let not_before = revocation_time(&SystemClock);
    let revoked =
        operator.store.revoke_tokens(Revoker::Operator, id, not_before).await.map_err(failed)?;
    let user = revoked.ok_or_else(|| not_found(username))?;
    audit("tokens_revoked", &user);
    print(&format!("Every access token of user {} ({:?}) is revoked.", user.id, user.username));
    Ok(())
}
