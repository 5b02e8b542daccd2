//! `user set-role`.

use super::operator::{Operator, audit, not_found};
use crate::host::failed;
use rolegate_program::program::{Failure, print};
use rolegate_proto::Role;

pub(super) async fn run(operator: &Operator, username: &str, role: Role) -> Result<(), Failure> {
    let before = operator.find(username).await?;
    let changed = operator.store.set_role(None, before.id, role).await.map_err(failed)?;
    let user = changed.ok_or_else(|| not_found(username))?;
    audit("role_set", &user);
    print(&format!(
        "User {} ({:?}) has the role {} now; it was {}.",
        user.id, user.username, user.role, before.role
    ));
    Ok(())
}
