//! Runs some of the other cases with mutual TLS between the services.

use e2e::{Authority, Store, TestSetup, Validity};

async fn over_tls<F: Future<Output = ()>>(case: impl FnOnce(TestSetup) -> F) {
    let authority = Authority::new();
    let own = authority.issue("services", &["127.0.0.1"], Validity::Current);
    let caller = authority.issue("gateway", &[], Validity::Current);
    case(TestSetup::split(Store::Sqlite).with_tls(&authority, &own, &caller)).await;
}

#[tokio::test]
async fn each_documented_operation_admits_exactly_its_documented_callers() {
    over_tls(crate::access::each_documented_operation_admits_exactly_its_documented_callers).await;
}

#[tokio::test]
async fn new_role_takes_effect_at_once_with_the_old_token() {
    over_tls(crate::roles::new_role_takes_effect_at_once_with_the_old_token).await;
}

#[tokio::test]
async fn any_role_can_be_changed_to_any_role() {
    over_tls(crate::roles::any_role_can_be_changed_to_any_role).await;
}

#[tokio::test]
async fn author_creates_reads_updates_and_deletes_a_post() {
    over_tls(crate::posts::author_creates_reads_updates_and_deletes_a_post).await;
}
