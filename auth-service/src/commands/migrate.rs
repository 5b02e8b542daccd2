//! `auth-service migrate`.

use crate::{settings::Settings, store};
use rolegate_service_runtime::program::{Failure, print};

/// Brings the schema up to date, as every start of the server does; for those who want it done by
/// one process, with its own outcome, before any server is started. Needs no secret but the
/// database's. The first admin is the server's to create: it takes the password.
pub(super) async fn run(settings: &Settings) -> Result<(), Failure> {
    let url = settings.store_url()?;
    let store = store::open(&url).await?;
    store.close().await;
    print(&format!("The schema is up to date: {url}"));
    Ok(())
}
