//! `user disable` and `user enable`.

use super::operator::{Operator, audit, not_found};
use crate::host::failed;
use rolegate_program::program::{Failure, print};

/// The operator may disable the last admin too.
pub(super) async fn run(
    operator: &Operator,
    username: &str,
    disabled: bool,
) -> Result<(), Failure> {
    let id = operator.find(username).await?.id;
    let changed = operator.store.set_disabled(None, id, disabled).await;
    let user = changed.map_err(failed)?.ok_or_else(|| not_found(username))?;
    let (event, state) =
        if disabled { ("user_disabled", "disabled") } else { ("user_enabled", "enabled") };
    audit(event, &user);
    print(&format!("User {} ({:?}) is {state} now.", user.id, user.username));
    Ok(())
}
