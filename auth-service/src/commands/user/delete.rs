//! `user delete`.

use super::operator::{Operator, audit, not_found};
use crate::{accounts::ADMIN_USERNAME, host::failed};
use rolegate_service_runtime::program::{Failure, print};

/// The operator may delete the last admin too.
pub(super) async fn run(operator: &Operator, username: &str) -> Result<(), Failure> {
    let id = operator.find(username).await?.id;
    let deleted = operator.store.delete(None, id).await.map_err(failed)?;
    let user = deleted.ok_or_else(|| not_found(username))?;
    audit("user_deleted", &user);
    print(&format!("User {} ({:?}) is deleted.", user.id, user.username));
    if user.username == ADMIN_USERNAME {
        print("The next start creates the user admin again.");
    }
    Ok(())
}
