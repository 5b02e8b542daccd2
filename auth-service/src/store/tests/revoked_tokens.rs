//! The end of access tokens.

use super::{get, insert};
use crate::{
    store::{ActorError, Revoker, UserStore},
    user::User,
};
use rolegate_proto::Role;
use tokio::join;

pub(super) async fn revoking_tokens_outdates_all_that_can_exist_for_an_admin_or_their_user(
    store: &dyn UserStore,
) {
    let admin = insert(store, "admin", Role::Admin).await;
    let ann = insert(store, "ann", Role::Author).await;
    let refused = store.revoke_tokens(Revoker::Admin(ann.id), admin.id, 5).await;
    assert!(matches!(refused, Err(ActorError::NotAdmin)), "{refused:?}");
    for by in [Revoker::Operator, Revoker::Bearer { issued: 9 }, Revoker::Admin(admin.id)] {
        assert_eq!(store.revoke_tokens(by, 999, 5).await.expect("allowed"), None);
    }
    for (by, given, stored) in [
        (Revoker::Bearer { issued: 0 }, 1_000, 1_000),
        (Revoker::Operator, 990, 1_001),
        (Revoker::Bearer { issued: 1_001 }, 990, 1_002),
        (Revoker::Admin(admin.id), 1_002, 1_003),
        // Issued at 1,003 at the latest, 30 seconds ahead of a clock that is a second ahead of 972.
        (Revoker::Admin(admin.id), 974, 1_004),
        (Revoker::Admin(admin.id), 974, 1_004),
        (Revoker::Operator, 10, 1_004),
        // Somebody has one after all.
        (Revoker::Bearer { issued: 1_004 }, 974, 1_005),
        (Revoker::Admin(admin.id), 2_000, 2_000),
    ] {
        let revoked = store.revoke_tokens(by, ann.id, given).await.expect("allowed");
        assert_eq!(revoked, Some(User { tokens_not_before: stored, ..ann.clone() }));
        assert_eq!(get(store, ann.id).await, revoked);
    }
    assert_eq!(get(store, admin.id).await, Some(admin));
}

pub(super) async fn of_many_logouts_by_one_token_the_first_ends_it(store: &dyn UserStore) {
    let ann = insert(store, "ann", Role::User).await;
    let revoke = || store.revoke_tokens(Revoker::Bearer { issued: 7 }, ann.id, 9);
    let ended: [_; 4] = join!(revoke(), revoke(), revoke(), revoke()).into();
    let ended = ended.map(|outcome| outcome.expect("an answer"));
    assert_eq!(ended.iter().flatten().count(), 1, "{ended:?}");
    assert_eq!(get(store, ann.id).await, Some(User { tokens_not_before: 9, ..ann }));
}
