//! A slice of the other cases, with mutual TLS between gateway, posts-service and auth-service.

use e2e::{Authority, Store, TestSetup, Validity};

async fn over_tls<F: Future<Output = ()>>(case: impl FnOnce(TestSetup) -> F) {
    let authority = Authority::new();
    let own = authority.issue("services", &["127.0.0.1"], Validity::Current);
    let caller = authority.issue("gateway", &[], Validity::Current);
    case(TestSetup::split(Store::Sqlite).with_tls(&authority, &own, &caller)).await;
}

#[tokio::test]
async fn everybody_gets_what_the_table_says() {
    over_tls(crate::access::everybody_gets_what_the_table_says_and_nothing_else).await;
}

#[tokio::test]
async fn a_new_role_decides_at_once() {
    over_tls(crate::roles::a_new_role_decides_at_once_with_the_old_token).await;
}

#[tokio::test]
async fn every_role_can_become_every_role() {
    over_tls(crate::roles::every_role_can_become_every_role).await;
}

#[tokio::test]
async fn an_author_writes_reads_changes_and_deletes_a_post() {
    over_tls(crate::posts::an_author_writes_reads_changes_and_deletes_a_post).await;
}
