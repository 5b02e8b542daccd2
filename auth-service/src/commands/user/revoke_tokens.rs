//! `user revoke-tokens`.

use super::operator::{Operator, audit, not_found};
use crate::{host::failed, store::Revoker};
use rolegate_program::program::{Failure, print};

pub(super) async fn run(operator: &Operator, username: &str) -> Result<(), Failure> {
    let id = operator.find(username).await?.id;
    let revoked = operator.store.revoke_tokens(Revoker::Operator, id).await;
    let user = revoked.map_err(failed)?.ok_or_else(|| not_found(username))?;
    audit("tokens_revoked", &user);
    print(&format!("Every access token of user {} ({:?}) is revoked.", user.id, user.username));
    Ok(())
}
