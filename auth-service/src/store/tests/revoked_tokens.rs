//! Tests the revocation of access tokens.

use super::{
    assert_not_found,
    changes::{as_admin, as_owner, disable, enable, revoke_tokens, set_password, stranger},
    get, insert,
};
use crate::{
    principal::Principal,
    store::{WriteError, user_store::UserStore},
    tokens::{MAX_CLOCK_SETBACK_SECONDS, MAX_ISSUE_AHEAD_SECONDS, REVOCATION_AHEAD_SECONDS},
    user::User,
};
use rolegate_proto::Role;
use tokio::join;

async fn now(store: &UserStore) -> u64 {
    store.users_by_id(&[], &[]).await.expect("read").at
}

/// Asserts that `tokens_not_before` of the user is the time of a revocation between `began` and now.
pub(super) async fn assert_revoked_since(store: &UserStore, began: u64, user: &User) {
    let stored = user.tokens_not_before;
    let expected = began + REVOCATION_AHEAD_SECONDS..=now(store).await + REVOCATION_AHEAD_SECONDS;
    assert!(
        expected.contains(&stored),
        "{stored} is not in {expected:?}"
    );
}

pub(super) async fn revoking_tokens_outdates_all_that_can_exist_for_an_admin_or_their_user(
    store: &UserStore,
) {
    let admin = insert(store, "admin", Role::ADMIN).await;
    let ann = insert(store, "ann", Role::AUTHOR).await;
    let refused = revoke_tokens(store, as_admin(&ann), &admin).await;
    assert!(matches!(refused, Err(WriteError::NotAdmin)), "{refused:?}");
    let revoke = async |by| revoke_tokens(store, by, &ann).await.expect("allowed");
    let nobody = stranger(&ann);
    for by in [Principal::Operator, as_owner(&nobody), as_admin(&admin)] {
        assert_not_found(revoke_tokens(store, by, &nobody).await);
    }
    let began = now(store).await;
    let first = revoke(as_owner(&ann)).await;
    assert_revoked_since(store, began, &first).await;
    let mut last = first.tokens_not_before;
    assert_eq!(get(store, ann.id).await.as_ref(), Some(&first));
    assert_not_found(revoke_tokens(store, as_owner(&ann), &ann).await);
    for by in [as_owner(&first), Principal::Operator, as_admin(&admin)] {
        let revoked = revoke(by.clone()).await;
        let tokens_not_before = revoked.tokens_not_before;
        assert!(tokens_not_before > last, "{by:?}");
        assert_eq!(
            revoked,
            User {
                tokens_not_before,
                ..ann.clone()
            }
        );
        assert_eq!(get(store, ann.id).await, Some(revoked));
        last = tokens_not_before;
    }
    for (name, by) in [("bob", Principal::Operator), ("carl", as_admin(&admin))] {
        let other = insert(store, name, Role::USER).await;
        let began = now(store).await;
        let first = revoke_tokens(store, by, &other).await.expect("allowed");
        assert_revoked_since(store, began, &first).await;
    }
    assert_eq!(get(store, admin.id).await, Some(admin));
}

pub(super) async fn a_time_after_every_token_stays_and_an_operator_lowers_it_and_marks_tokens(
    store: &UserStore,
) {
    let admin = insert(store, "admin", Role::ADMIN).await;
    let ann = insert(store, "ann", Role::AUTHOR).await;
    let mut marks = Vec::new();
    for _ in 0..2 {
        let latest = now(store).await + MAX_ISSUE_AHEAD_SECONDS + MAX_CLOCK_SETBACK_SECONDS;
        let mut ahead = get(store, ann.id).await.expect("a user");
        // Each new password increases `tokens_not_before` by a second.
        while ahead.tokens_not_before <= latest + 60 {
            let set = set_password(store, Principal::Operator, &ann, "new").await;
            ahead = set.expect("set");
        }
        let revoked = revoke_tokens(store, as_admin(&admin), &ann)
            .await
            .expect("allowed");
        assert_eq!(revoked, ahead, "nothing to revoke");
        let logged_out = revoke_tokens(store, as_owner(&ahead), &ann).await;
        ahead.tokens_not_before += 1;
        assert_eq!(
            logged_out.expect("allowed"),
            ahead,
            "somebody has one after all"
        );
        let disabled = disable(store, Principal::Operator, &ann)
            .await
            .expect("disabled");
        assert_eq!(
            disabled,
            User {
                disabled: true,
                ..ahead.clone()
            }
        );
        enable(store, Principal::Operator, &ann)
            .await
            .expect("enabled");

        let began = now(store).await;
        let lowered = revoke_tokens(store, Principal::Operator, &ann)
            .await
            .expect("allowed");
        let mark = lowered.tokens_marked_until;
        // A clock that was ahead dates the tokens of later logins at the old value or later.
        let latest = ahead.tokens_not_before + 86400;
        assert!(mark >= latest && !marks.contains(&mark), "{mark} {marks:?}");
        marks.push(mark);
        assert_revoked_since(store, began, &lowered).await;
        assert_eq!(get(store, ann.id).await, Some(lowered));
        let again = revoke_tokens(store, Principal::Operator, &ann)
            .await
            .expect("allowed");
        assert_eq!(again.tokens_marked_until, mark, "nothing was in the future");
    }
}

pub(super) async fn of_many_logouts_by_one_token_the_first_ends_it(store: &UserStore) {
    let ann = insert(store, "ann", Role::USER).await;
    let revoke = || revoke_tokens(store, as_owner(&ann), &ann);
    let ended: [_; 4] = join!(revoke(), revoke(), revoke(), revoke()).into();
    assert_eq!(ended.iter().flatten().count(), 1, "{ended:?}");
    assert_eq!(get(store, ann.id).await, ended.into_iter().flatten().next());
}

pub(super) async fn every_read_has_the_time_also_of_nothing(store: &UserStore) {
    let ann = insert(store, "ann", Role::USER).await;
    let began = now(store).await;
    let times = [
        store.users_by_id(&[ann.id], &[]).await.expect("read").at,
        store.users_by_id(&[999], &[]).await.expect("read").at,
        store
            .credentials_by_username(&["ann".into()], &[])
            .await
            .expect("read")
            .at,
        store
            .tokens_by_digest(&["none".into()], &[])
            .await
            .expect("read")
            .at,
    ];
    let ended = now(store).await;
    assert!(
        times.iter().all(|at| (began..=ended).contains(at)),
        "{began} {times:?} {ended}"
    );
}
