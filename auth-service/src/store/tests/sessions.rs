//! Tests sessions, and that no operation mistakes a session for an API key or the reverse.

use super::{
    assert_not_found,
    changes::{
        as_admin, as_owner, as_owner_in, delete, delete_tokens, disable, enable, end_sessions,
        insert_token, insert_tokens, revoke_tokens, seen_at, set_password, stranger,
    },
    insert,
};
use crate::{
    change::{SessionEnd, TokenSelection},
    principal::Principal,
    store::{WriteError, additions::MAX_ADDITIONS, user_store::UserStore},
    tokens::{
        NewToken, OpaqueToken, SessionDetails, TokenBearer, TokenBounds, TokenDetails, TokenKind,
    },
    user::User,
};
use rolegate_proto::Role;

const ALL: TokenSelection = TokenSelection::All;
pub(super) const END: u64 = 1_000_000;

pub(super) fn new(kind: TokenKind, user: &User, digest: &str) -> NewToken {
    let mut new = match kind {
        TokenKind::ApiKey => NewToken::key(user.id, digest),
        TokenKind::Session => NewToken::session(user, digest),
    };
    new.stored.prefix = "rgx_abcd".to_owned();
    new.stored.expires_at = new.stored.expires_at.map(|_| END);
    new
}

fn bounds_of(user: &User) -> TokenBounds {
    TokenBounds::Session {
        not_before: user.tokens_not_before,
        cookie_only: false,
    }
}

pub(super) async fn add(
    store: &UserStore,
    kind: TokenKind,
    user: &User,
    digest: &str,
) -> OpaqueToken {
    insert_token(store, Principal::Operator, new(kind, user, digest))
        .await
        .expect("inserted")
}

pub(super) async fn session(store: &UserStore, user: &User, digest: &str) -> OpaqueToken {
    add(store, TokenKind::Session, user, digest).await
}

pub(super) async fn ids(store: &UserStore, kind: TokenKind, user: &User) -> Vec<i64> {
    let tokens = store
        .tokens_of_user(kind, user.id)
        .await
        .expect("read")
        .value;
    tokens.into_iter().map(|token| token.id).collect()
}

pub(super) async fn sessions(store: &UserStore, user: &User) -> Vec<i64> {
    ids(store, TokenKind::Session, user).await
}

pub(super) async fn find(store: &UserStore, digest: &str) -> Option<TokenBearer> {
    store
        .tokens_by_digest(&[digest.to_owned()], &[])
        .await
        .expect("read")
        .value
        .pop()
}

pub(super) async fn sessions_are_found_by_digest_with_their_kind_and_their_own_not_before(
    store: &UserStore,
) {
    let ann = insert(store, "ann", Role::ADMIN).await;
    let mut laptop = new(TokenKind::Session, &ann, "one");
    laptop.stored.name = "laptop".to_owned();
    let details = TokenDetails::Session(SessionDetails {
        not_before: 5,
        client_address: Some("2001:db8::1".to_owned()),
        user_agent: Some("Mozilla/5.0 é".to_owned()),
        cookie_only: true,
        pair_id: Some(i64::MAX),
    });
    laptop.stored.details = details.clone();
    let one = insert_token(store, Principal::Operator, laptop)
        .await
        .expect("inserted");
    let expected = OpaqueToken {
        id: one.id,
        user_id: ann.id,
        name: "laptop".to_owned(),
        prefix: "rgx_abcd".to_owned(),
        created_at: 7,
        expires_at: Some(END),
        last_used_at: None,
        details,
    };
    assert_eq!((&one, one.kind()), (&expected, TokenKind::Session));
    let key = add(store, TokenKind::ApiKey, &ann, "two").await;
    assert!(key.id > one.id, "both kinds share their ids");
    let found = find(store, "one").await.expect("a session");
    assert_eq!(
        (found.kind(), found.token_id, &found.user),
        (TokenKind::Session, one.id, &ann)
    );
    let bounds = TokenBounds::Session {
        not_before: 5,
        cookie_only: true,
    };
    assert_eq!(
        (found.bounds, found.expires_at, found.last_used_at),
        (bounds, Some(END), 7)
    );
    let found = find(store, "two").await.expect("a key");
    assert_eq!((found.kind(), found.token_id), (TokenKind::ApiKey, key.id));
    assert_eq!(
        found.bounds,
        TokenBounds::ApiKey {
            role: None,
            groups: None
        }
    );
    let listed = store
        .tokens_of_user(TokenKind::Session, ann.id)
        .await
        .expect("read")
        .value;
    assert_eq!(listed, [expected]);
    delete(store, Principal::Operator, &ann)
        .await
        .expect("deleted");
    assert!(find(store, "one").await.is_none() && sessions(store, &ann).await.is_empty());
    let bob = insert(store, "bob", Role::USER).await;
    assert!(
        session(store, &bob, "one").await.id > key.id,
        "ids are never reused"
    );
}

/// Returns this user, who has signed in with the password of this hash.
fn login(user: &User, password_hash: &str) -> Principal {
    Principal::Login {
        tokens_not_before: user.tokens_not_before,
        password_hash: password_hash.into(),
    }
}

pub(super) async fn a_session_is_made_only_while_password_and_tokens_are_those_that_were_checked(
    store: &UserStore,
) {
    let mut ann = insert(store, "ann", Role::USER).await;
    let make = async |ann: &User, digest: &str, password_hash: &str| {
        let by = login(ann, password_hash);
        insert_token(store, by, new(TokenKind::Session, ann, digest)).await
    };
    make(&ann, "first", "hash")
        .await
        .expect("nothing has changed");
    assert_not_found(make(&ann, "late", "another").await);
    let rehashed = store
        .replace_password(ann.id, &"hash".into(), "rehashed".into())
        .await;
    assert!(rehashed.expect("replaced"));
    assert_not_found(make(&ann, "late", "hash").await);
    make(&ann, "second", "rehashed")
        .await
        .expect("nothing has changed");
    for change in ["logout", "password", "disabled"] {
        let changed = match change {
            "logout" => revoke_tokens(store, Principal::Operator, &ann).await,
            "password" => set_password(store, Principal::Operator, &ann, "rehashed").await,
            _ => disable(store, Principal::Operator, &ann).await,
        };
        assert_not_found(make(&ann, "late", "rehashed").await);
        ann = changed.expect("changed");
        assert!(sessions(store, &ann).await.is_empty(), "{change}");
        if change != "disabled" {
            make(&ann, change, "rehashed").await.expect("checked since");
        }
    }
    assert_not_found(make(&ann, "late", "rehashed").await);
    assert_not_found(make(&stranger(&ann), "late", "rehashed").await);
    assert!(find(store, "late").await.is_none());
}

pub(super) async fn sessions_end_when_tokens_are_revoked_and_when_their_user_is_disabled(
    store: &UserStore,
) {
    let admin = insert(store, "admin", Role::ADMIN).await;
    let bob = insert(store, "bob", Role::USER).await;
    let kept = [
        session(store, &admin, "of the admin").await.id,
        session(store, &bob, "b").await.id,
    ];
    let mut ann = insert(store, "ann", Role::USER).await;
    let key = add(store, TokenKind::ApiKey, &ann, "key").await.id;
    for end in [
        "owner",
        "admin",
        "operator",
        "disabled by an admin",
        "disabled by the operator",
    ] {
        let (one, two) = (format!("{end} 1"), format!("{end} 2"));
        let made = [
            session(store, &ann, &one).await.id,
            session(store, &ann, &two).await.id,
        ];
        // A refused revocation ends no session.
        let outdated = as_owner(&seen_at(ann.tokens_not_before + 1, &ann));
        assert_not_found(revoke_tokens(store, outdated, &ann).await);
        let refused = revoke_tokens(store, as_admin(&bob), &ann).await;
        assert!(matches!(refused, Err(WriteError::NotAdmin)), "{refused:?}");
        let refused = disable(store, as_admin(&bob), &ann).await;
        assert!(matches!(refused, Err(WriteError::NotAdmin)), "{refused:?}");
        assert_eq!(sessions(store, &ann).await, made);
        let ended = match end {
            "owner" => revoke_tokens(store, as_owner(&ann), &ann).await,
            "admin" => revoke_tokens(store, as_admin(&admin), &ann).await,
            "operator" => revoke_tokens(store, Principal::Operator, &ann).await,
            "disabled by an admin" => disable(store, as_admin(&admin), &ann).await,
            _ => disable(store, Principal::Operator, &ann).await,
        };
        assert!(
            ended.expect("allowed").tokens_not_before > ann.tokens_not_before,
            "{end}"
        );
        for digest in [&one, &two] {
            assert_eq!(find(store, digest).await, None, "{end}");
        }
        assert!(sessions(store, &ann).await.is_empty(), "{end}");
        ann = enable(store, Principal::Operator, &ann)
            .await
            .expect("enabled");
        assert!(
            sessions(store, &ann).await.is_empty(),
            "enabling revives none"
        );
    }
    assert_eq!(
        ids(store, TokenKind::ApiKey, &ann).await,
        [key],
        "keys stay"
    );
    let others = [sessions(store, &admin).await, sessions(store, &bob).await].concat();
    assert_eq!(others, kept);
}

pub(super) async fn a_new_password_ends_all_sessions_but_that_of_its_writer(store: &UserStore) {
    let admin = insert(store, "admin", Role::ADMIN).await;
    let mut ann = insert(store, "ann", Role::USER).await;
    let own = session(store, &ann, "own").await.id;
    for round in 0..2 {
        let other = session(store, &ann, &format!("other {round}")).await.id;
        for refused in [
            as_owner_in(own, &seen_at(ann.tokens_not_before + 1, &ann)),
            as_owner_in(999, &ann),
            as_admin(&ann),
        ] {
            assert_not_found(set_password(store, refused, &ann, "new").await);
        }
        assert_eq!(
            sessions(store, &ann).await,
            [own, other],
            "what is refused ends none"
        );
        ann = set_password(store, as_owner_in(own, &ann), &ann, "new")
            .await
            .expect("set");
        assert_eq!(sessions(store, &ann).await, [own]);
        let kept = find(store, "own").await.expect("kept");
        assert_eq!(kept.bounds, bounds_of(&ann), "it follows its user");
        assert!(kept.is_active_at(8));
        // The other session has ended, so every write with it is refused.
        let ended = as_owner_in(other, &ann);
        assert_not_found(set_password(store, ended.clone(), &ann, "new").await);
        let late = new(TokenKind::ApiKey, &ann, "late");
        assert_not_found(insert_token(store, ended, late).await);
    }
    let key = new(TokenKind::ApiKey, &ann, "key");
    insert_token(store, as_owner_in(own, &ann), key)
        .await
        .expect("the session is good");
    for (round, by) in [as_owner(&ann), as_admin(&admin), Principal::Operator]
        .into_iter()
        .enumerate()
    {
        let set = set_password(store, by.clone(), &ann, "new").await;
        set.expect("set");
        assert!(sessions(store, &ann).await.is_empty(), "{by:?}");
        session(store, &ann, &format!("next {round}")).await;
    }
    assert_eq!(
        ids(store, TokenKind::ApiKey, &ann).await.len(),
        1,
        "keys stay"
    );
}

pub(super) async fn sessions_and_keys_are_listed_deleted_and_limited_apart(store: &UserStore) {
    let admin = insert(store, "admin", Role::ADMIN).await;
    let ann = insert(store, "ann", Role::USER).await;
    let (mut keys, mut made) = (Vec::new(), Vec::new());
    for index in 0..50 {
        keys.push(
            add(store, TokenKind::ApiKey, &ann, &format!("key {index}"))
                .await
                .id,
        );
        made.push(session(store, &ann, &format!("session {index}")).await.id);
    }
    let one_more = new(TokenKind::ApiKey, &ann, "one more");
    let refused = insert_token(store, Principal::Operator, one_more).await;
    assert!(
        matches!(refused, Err(WriteError::ApiKeyLimit)),
        "{refused:?}"
    );
    for index in 50..101 {
        made.push(session(store, &ann, &format!("session {index}")).await.id);
    }
    made.remove(0);
    assert_eq!(
        sessions(store, &ann).await,
        made,
        "of those of one second the first makes room"
    );
    assert_eq!(ids(store, TokenKind::ApiKey, &ann).await, keys);
    let delete = async |kind, by: &Principal, selection| {
        let deleted = delete_tokens(store, by.clone(), kind, &ann, selection).await;
        deleted
            .expect("allowed")
            .into_iter()
            .map(|token| token.id)
            .collect::<Vec<_>>()
    };
    let by_owner = as_owner(&ann);
    let by_admin = as_admin(&admin);
    for by in [&by_owner, &by_admin] {
        let one = TokenSelection::One;
        assert_eq!(delete(TokenKind::ApiKey, by, one(made[0])).await, [0; 0]);
        assert_eq!(delete(TokenKind::Session, by, one(keys[0])).await, [0; 0]);
        assert_eq!(
            delete(TokenKind::Session, by, one(made[0])).await,
            [made.remove(0)]
        );
    }
    let refused = delete_tokens(store, as_admin(&ann), TokenKind::Session, &admin, ALL).await;
    assert!(matches!(refused, Err(WriteError::NotAdmin)), "{refused:?}");
    let current = made.remove(9);
    let others = TokenSelection::AllBut(current);
    assert_eq!(delete(TokenKind::Session, &by_owner, others).await, made);
    assert_eq!(sessions(store, &ann).await, [current]);
    assert_eq!(delete(TokenKind::ApiKey, &by_admin, ALL).await, keys);
    assert_eq!(sessions(store, &ann).await, [current]);
    assert_eq!(delete(TokenKind::Session, &by_admin, ALL).await, [current]);
}

pub(super) async fn sessions_are_ended_by_digest_whoever_they_are_of(store: &UserStore) {
    let ann = insert(store, "ann", Role::USER).await;
    let bob = insert(store, "bob", Role::USER).await;
    let one = session(store, &ann, "one").await;
    let other = session(store, &bob, "two").await;
    let kept = session(store, &ann, "three").await;
    let key = add(store, TokenKind::ApiKey, &ann, "key").await;
    let end = async |digests: &[&str]| end_sessions(store, digests, SessionEnd::Alone).await;
    assert_eq!(end(&["unknown", "key", ""]).await, []);
    assert_eq!(
        end(&["two", "unknown", "key", "one", "one"]).await,
        [one, other]
    );
    assert_eq!(end(&["one", "two"]).await, [], "they have ended");
    assert_eq!(sessions(store, &ann).await, [kept.id]);
    assert!(sessions(store, &bob).await.is_empty());
    assert_eq!(ids(store, TokenKind::ApiKey, &ann).await, [key.id]);
}

pub(super) async fn sessions_are_restricted_to_cookies_and_keys_are_not(store: &UserStore) {
    let ann = insert(store, "ann", Role::USER).await;
    let made = [
        session(store, &ann, "one").await.id,
        session(store, &ann, "two").await.id,
        add(store, TokenKind::ApiKey, &ann, "key").await.id,
    ];
    session(store, &ann, "other").await;
    // The ids may come in any order, more than once, and belong to sessions that have ended.
    for ids in [&[made[1], made[0]][..], &made, &[999], &[made[2], 999]] {
        store.restrict_to_cookies(ids).await.expect("written");
    }
    for (digest, cookie_only) in [
        ("one", true),
        ("two", true),
        ("key", false),
        ("other", false),
    ] {
        let found = find(store, digest).await.expect("kept");
        assert_eq!(found.is_cookie_only(), cookie_only, "{digest}");
    }
}

/// Returns the two sessions of one sign-in: one for the console, and one for applications.
fn pair(user: &User, name: &str, pair_id: i64) -> Vec<NewToken> {
    let session = |suffix: &str, cookie_only| {
        let mut session = new(TokenKind::Session, user, &format!("{name} {suffix}"));
        session.session_mut().cookie_only = cookie_only;
        session.session_mut().pair_id = Some(pair_id);
        session
    };
    vec![session("console", false), session("application", true)]
}

async fn add_pair(store: &UserStore, user: &User, name: &str, pair_id: i64) -> [i64; 2] {
    let inserted = insert_tokens(store, Principal::Operator, pair(user, name, pair_id))
        .await
        .expect("inserted");
    let [console, application] = &inserted[..] else {
        panic!("two sessions: {inserted:?}");
    };
    let is_cookie_only = |token: &OpaqueToken| token.session().map(|details| details.cookie_only);
    assert_eq!(is_cookie_only(console), Some(false));
    assert_eq!(is_cookie_only(application), Some(true));
    [console.id, application.id]
}

pub(super) async fn sessions_of_one_sign_in_are_made_together_or_not_at_all(store: &UserStore) {
    let ann = insert(store, "ann", Role::USER).await;
    let stale = insert_tokens(store, login(&ann, "another"), pair(&ann, "stale", 1)).await;
    assert_not_found(stale);
    // Each of the two sessions counts as an addition. There is room for one more session, but not for two.
    for index in 0..MAX_ADDITIONS - 1 {
        let one = new(TokenKind::Session, &ann, &format!("{index}"));
        insert_token(store, login(&ann, "hash"), one)
            .await
            .expect("inserted");
    }
    let refused = insert_tokens(store, login(&ann, "hash"), pair(&ann, "refused", 2)).await;
    assert!(
        matches!(refused, Err(WriteError::TooManyAdditions { .. })),
        "{refused:?}"
    );
    for digest in ["stale console", "refused console", "refused application"] {
        assert_eq!(find(store, digest).await, None, "{digest}");
    }
    // Neither of the two new sessions ends the other one.
    let made = add_pair(store, &ann, "made", 3).await;
    let left = sessions(store, &ann).await;
    assert_eq!((left.len(), &left[98..]), (100, &made[..]));
}

pub(super) async fn sessions_of_one_sign_in_end_together_and_stay_together(store: &UserStore) {
    let mut ann = insert(store, "ann", Role::USER).await;
    let bob = insert(store, "bob", Role::USER).await;
    // A pair of another user might have the same `pair_id`.
    let of_bob = add_pair(store, &bob, "bob", 1).await;
    let alone = session(store, &ann, "alone").await.id;
    let owner = ann.clone();
    let delete = async |selection| {
        let by = as_owner(&owner);
        let deleted = delete_tokens(store, by, TokenKind::Session, &owner, selection).await;
        let deleted = deleted.expect("deleted").into_iter();
        deleted.map(|token| token.id).collect::<Vec<_>>()
    };
    for round in 0..2 {
        let kept = add_pair(store, &ann, &format!("kept {round}"), 2).await;
        let ended = add_pair(store, &ann, &format!("ended {round}"), 1).await;
        assert_eq!(delete(TokenSelection::One(of_bob[round])).await, [0; 0]);
        assert_eq!(delete(TokenSelection::One(ended[round])).await, ended);
        let ended = add_pair(store, &ann, &format!("others {round}"), 1).await;
        assert_eq!(delete(TokenSelection::AllBut(kept[round])).await, {
            let mut all = ended.to_vec();
            all.extend((round == 0).then_some(alone));
            all.sort_unstable();
            all
        });
        assert_eq!(sessions(store, &ann).await, kept);
        assert_eq!(delete(TokenSelection::All).await, kept);
    }
    // A new password that one session of a pair sets ends all sessions but this pair.
    let own = add_pair(store, &ann, "own", 3).await;
    add_pair(store, &ann, "other", 4).await;
    session(store, &ann, "single").await;
    ann = set_password(store, as_owner_in(own[0], &ann), &ann, "new")
        .await
        .expect("set");
    assert_eq!(sessions(store, &ann).await, own);
    for digest in ["own console", "own application"] {
        let kept = find(store, digest).await.expect("kept");
        assert!(kept.is_active_at(8), "{digest}");
    }
    // One session of the pair may have expired. A sign-out with either session ends both, and no other session.
    let end = async |digest: &str, extent| end_sessions(store, &[digest], extent).await.len();
    assert_eq!(end("own console", SessionEnd::Alone).await, 1);
    for half in ["console", "application"] {
        add_pair(store, &ann, half, 5).await;
        let presented = format!("{half} {half}");
        assert_eq!(end(&presented, SessionEnd::WithPairs).await, 2, "{half}");
    }
    assert_eq!(end("own application", SessionEnd::WithPairs).await, 1);
    let own = add_pair(store, &ann, "last", 6).await;
    assert_eq!(delete(TokenSelection::One(own[1])).await, own);
    assert_eq!(sessions(store, &bob).await, of_bob);
}
