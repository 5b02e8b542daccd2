//! Tests that a row of a token that contradicts itself grants nothing.

use super::end_all::{Opened, open};
use crate::tokens::TokenKind;

postgres_cluster::conformance_tests! {
    open: open,
    cases: [
        a_session_with_a_role_is_not_read,
    ]
}

async fn a_session_with_a_role_is_not_read(opened: &Opened) {
    let ann = opened.insert("ann").await;
    opened.add_token(&ann, TokenKind::Session, "session").await;
    let find = async || {
        let digests = ["session".to_owned()];
        let found = opened.store.tokens_by_digest(&digests, &[]).await;
        found.map(|found| found.value.len())
    };
    assert_eq!(find().await.expect("read"), 1);
    opened
        .execute("UPDATE api_key SET role = 'user' WHERE digest = 'session' RETURNING id")
        .await;
    let found = find().await;
    assert!(found.is_err(), "{found:?}");
    let sessions = TokenKind::Session;
    let listed = opened.store.tokens_of_user(sessions, ann.id).await;
    assert!(listed.is_err(), "{listed:?}");
}
