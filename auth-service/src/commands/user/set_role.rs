//! `auth-service user set-role`.

use super::{audit, failed, nobody, user_named};
use crate::store::UserStore;
use rolegate_proto::Role;
use rolegate_service_runtime::program::{Failure, print};

pub(super) async fn run(store: &dyn UserStore, username: &str, role: Role) -> Result<(), Failure> {
    let before = user_named(store, username).await?;
    let changed = store.set_role(None, before.id, role).await.map_err(failed)?;
    let user = changed.ok_or_else(|| nobody(username))?;
    audit("role_set", &user);
    print(&format!(
        "User {} ({:?}) has the role {} now; it was {}.",
        user.id, user.username, user.role, before.role
    ));
    Ok(())
}
