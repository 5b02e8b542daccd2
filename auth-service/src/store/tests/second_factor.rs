//! Tests password links and second factors.

use super::{
    assert_not_found,
    changes::{
        as_admin, as_owner, as_owner_in, begin_second_factor, change, create, create_link, delete,
        disable, enable, insert_token, insert_tokens, new_user, seen_at, set_password, stranger,
        turn_off_second_factor, turn_on_second_factor, use_recovery_code,
    },
    get, hash, insert,
};
use crate::{
    change::{Change, NewUser},
    principal::Principal,
    store::{CodeLimit, CodePurpose, OneTimeCodeUse, WriteError, user_store::UserStore},
    tokens::{NewPasswordLink, NewToken, TokenKind},
    user::User,
};
use rolegate_proto::Role;
use tokio::join;

async fn link(store: &UserStore, user: &User, digest: &str) {
    let made = create_link(store, Principal::Operator, user, digest).await;
    made.expect("made");
}

async fn redeem(store: &UserStore, user: &User, digest: &str) -> Result<User, WriteError> {
    let digest = digest.to_owned();
    set_password(store, Principal::Link { digest }, user, "new").await
}

async fn user_of(store: &UserStore, digest: &str) -> Option<i64> {
    let found = store.password_link(digest).await.expect("read");
    let link = found.value?;
    match link.refusal(found.at) {
        None => Some(link.user.id),
        Some(_) => None,
    }
}

pub(super) async fn a_link_is_good_once_and_until_another_or_a_password(store: &UserStore) {
    let [ann, bob] = [
        insert(store, "ann", Role::USER).await,
        insert(store, "bob", Role::USER).await,
    ];
    let now = store.users_by_id(&[], &[]).await.expect("read").at;
    link(store, &ann, "first").await;
    let first = store.password_link("first").await.expect("read");
    let expires_at = first.value.expect("a link").expires_at;
    assert!(
        (now..now + 9).contains(&(expires_at - 86_400)),
        "{expires_at}"
    );
    link(store, &ann, "second").await;
    assert_eq!(
        [
            user_of(store, "first").await,
            user_of(store, "second").await
        ],
        [None, Some(ann.id)]
    );
    for (user, digest) in [
        (&ann, "first"),
        (&bob, "second"),
        (&stranger(&ann), "second"),
    ] {
        assert_not_found(redeem(store, user, digest).await);
    }
    let (one, two) = join!(redeem(store, &ann, "second"), redeem(store, &ann, "second"));
    assert_eq!(
        [one.is_ok(), two.is_ok()]
            .iter()
            .filter(|won| **won)
            .count(),
        1
    );
    assert_eq!(user_of(store, "second").await, None);
    assert_eq!(
        [hash(store, "ann").await, hash(store, "bob").await],
        ["new", "hash"]
    );
    link(store, &ann, "third").await;
    set_password(store, Principal::Operator, &ann, "own")
        .await
        .expect("set");
    assert_not_found(redeem(store, &ann, "third").await);
    link(store, &ann, "fourth").await;
    delete(store, Principal::Operator, &ann)
        .await
        .expect("deleted");
    assert_eq!(user_of(store, "fourth").await, None);
    let gone = create_link(store, Principal::Operator, &ann, "x").await;
    assert!(matches!(gone, Err(WriteError::UserNotFound)), "{gone:?}");
}

pub(super) async fn a_link_of_a_disabled_user_ends_and_a_later_one_waits(store: &UserStore) {
    let ann = insert(store, "ann", Role::USER).await;
    link(store, &ann, "first").await;
    disable(store, Principal::Operator, &ann)
        .await
        .expect("disabled");
    link(store, &ann, "second").await;
    assert_not_found(redeem(store, &ann, "second").await);
    assert_eq!(user_of(store, "second").await, None);
    enable(store, Principal::Operator, &ann)
        .await
        .expect("enabled");
    assert_eq!(
        [
            user_of(store, "first").await,
            user_of(store, "second").await
        ],
        [None, Some(ann.id)]
    );
    redeem(store, &ann, "second").await.expect("good");
}

pub(super) async fn links_are_made_by_admins_and_with_new_users(store: &UserStore) {
    let [ann, bob] = [
        insert(store, "ann", Role::ADMIN).await,
        insert(store, "bob", Role::USER).await,
    ];
    let now = store.users_by_id(&[], &[]).await.expect("read").at;
    let make = async |by| create_link(store, by, &bob, "a").await;
    let refused = make(as_admin(&bob)).await;
    assert!(matches!(refused, Err(WriteError::NotAdmin)), "{refused:?}");
    make(as_admin(&ann)).await.expect("made");
    let new = |username: &str, digest: &str, end| NewUser {
        password_hash: "!".into(),
        link: Some(NewPasswordLink::with_digest(digest, end)),
        ..new_user(username, Role::USER)
    };
    let created = create(store, as_admin(&ann), new("cid", "new", now + 60)).await;
    assert_eq!(
        user_of(store, "new").await,
        Some(created.expect("created").id)
    );
    create(store, Principal::Operator, new("dan", "ended", now))
        .await
        .expect("made");
    assert_eq!(user_of(store, "ended").await, None);
    let taken = create(store, as_admin(&ann), new("bob", "taken", now + 60)).await;
    assert!(matches!(taken, Err(WriteError::UsernameTaken)), "{taken:?}");
    assert_eq!(user_of(store, "taken").await, None, "of nobody who exists");
    assert_eq!(user_of(store, "a").await, Some(bob.id));
}

async fn begin(store: &UserStore, user: &User, secret: &str) -> Result<User, WriteError> {
    let codes = [1, 2, 3].map(|code| format!("{secret} {code}")).into();
    begin_second_factor(store, user, secret, codes).await
}

async fn turn_on(store: &UserStore, user: &User, secret: &str) -> Result<User, WriteError> {
    turn_on_second_factor(store, as_owner(user), user, secret).await
}

/// Inserts a user and turns the second factor on.
pub(super) async fn enrolled(store: &UserStore, username: &str) -> User {
    let user = insert(store, username, Role::USER).await;
    begin(store, &user, "0123456789ab.sealed")
        .await
        .expect("begun");
    turn_on(store, &user, "0123456789ab.sealed")
        .await
        .expect("on")
}

pub(super) async fn a_second_factor_begins_and_is_on_by_its_secret(store: &UserStore) {
    let ann = insert(store, "ann", Role::USER).await;
    let stale = seen_at(1, &ann);
    assert_not_found(begin(store, &stale, "x").await);
    assert_not_found(turn_on(store, &ann, "x").await);
    begin(store, &ann, "0123456789ab.first")
        .await
        .expect("begun");
    begin(store, &ann, "0123456789ab.second")
        .await
        .expect("begun again");
    let begun = store
        .second_factor(ann.id)
        .await
        .expect("read")
        .value
        .expect("begun");
    assert_eq!(
        (&*begun.secret, begun.recovery_codes),
        ("0123456789ab.second", 3)
    );
    assert!(!get(store, ann.id).await.expect("there").second_factor);
    assert!(
        store
            .second_factor_key_ids()
            .await
            .expect("read")
            .is_empty(),
        "none is on"
    );
    let session = NewToken::session(&ann, "session");
    let session = insert_token(store, as_owner(&ann), session)
        .await
        .expect("made");

    assert_not_found(turn_on(store, &ann, "0123456789ab.first").await);
    assert_not_found(turn_on(store, &stale, "0123456789ab.second").await);
    let on = turn_on(store, &ann, "0123456789ab.second")
        .await
        .expect("on");
    assert!(on.second_factor && on.tokens_not_before > ann.tokens_not_before);
    assert_eq!(get(store, ann.id).await.as_ref(), Some(&on));
    let left = store
        .tokens_of_user(session.kind(), ann.id)
        .await
        .expect("read")
        .value;
    assert!(left.is_empty(), "older sessions end");
    assert_not_found(begin(store, &on, "third").await);
    assert_eq!(
        store.second_factor_key_ids().await.expect("read"),
        ["0123456789ab"]
    );

    assert_eq!(hash(store, "ann").await, "hash");
    assert!(
        store
            .replace_password(ann.id, &"hash".into(), "re".into())
            .await
            .expect("an answer")
    );
    assert_eq!(hash(store, "ann").await, "re");
    set_password(store, Principal::Operator, &ann, "new")
        .await
        .expect("set");
    assert_eq!(hash(store, "ann").await, "new");
    assert!(
        get(store, ann.id).await.expect("there").second_factor,
        "a new password keeps it"
    );
}

/// Inserts the two sessions of one sign-in, and returns their ids.
async fn insert_pair(store: &UserStore, user: &User) -> Vec<i64> {
    let mut tokens = Vec::new();
    for digest in ["console", "application"] {
        let mut new = NewToken::session(user, digest);
        new.session_mut().pair_id = Some(7);
        tokens.push(new);
    }
    let made = insert_tokens(store, as_owner(user), tokens).await;
    let made = made.expect("made");
    made.into_iter().map(|session| session.id).collect()
}

pub(super) async fn the_session_that_turns_a_second_factor_on_stays_with_its_pair(
    store: &UserStore,
) {
    let ann = insert(store, "ann", Role::USER).await;
    let own = insert_pair(store, &ann).await;
    let session = NewToken::session(&ann, "other");
    let other = insert_token(store, as_owner(&ann), session)
        .await
        .expect("made");
    begin(store, &ann, "secret").await.expect("begun");
    let turn_on = async |session| {
        let by = as_owner_in(session, &ann);
        turn_on_second_factor(store, by, &ann, "secret").await
    };
    assert_not_found(turn_on(999).await);
    assert!(!get(store, ann.id).await.expect("there").second_factor);
    let on = turn_on(own[1]).await.expect("on");
    let left = store
        .tokens_of_user(TokenKind::Session, ann.id)
        .await
        .expect("read")
        .value;
    let ids: Vec<i64> = left.iter().map(|session| session.id).collect();
    assert_eq!(ids, own, "and not {}", other.id);
    for session in left {
        let not_before = session.session().map(|details| details.not_before);
        assert_eq!(not_before, Some(on.tokens_not_before));
    }

    // After a slow write, the caller may revoke the tokens once more, whether or not the session has ended meanwhile.
    for (kept, expected) in [(own[0], &own[..]), (999, &[][..])] {
        let seen = get(store, ann.id).await.expect("there").tokens_not_before;
        let again = Change::RevokeTokensAgain {
            user_id: ann.id,
            tokens_not_before: seen,
        };
        let revoked = change(store, as_owner_in(kept, &ann), again)
            .await
            .expect("revoked");
        assert!(revoked.tokens_not_before > seen);
        let left = store
            .tokens_of_user(TokenKind::Session, ann.id)
            .await
            .expect("read")
            .value;
        let ids: Vec<i64> = left.iter().map(|session| session.id).collect();
        assert_eq!(ids, expected);
    }
}

pub(super) async fn an_admin_or_its_user_turns_a_second_factor_off(store: &UserStore) {
    let admin = insert(store, "admin", Role::ADMIN).await;
    let ann = enrolled(store, "ann").await;
    let off = async |by, user: &User| turn_off_second_factor(store, by, user).await;
    let refused = off(as_admin(&ann), &ann).await;
    assert!(matches!(refused, Err(WriteError::NotAdmin)), "{refused:?}");
    let is_off = |outcome| matches!(outcome, Err(WriteError::SecondFactorOff));
    assert!(is_off(off(as_admin(&admin), &admin).await));
    let nobody = stranger(&ann);
    assert_not_found(off(as_owner(&nobody), &nobody).await);
    let without = off(as_admin(&admin), &ann).await.expect("off");
    assert!(!without.second_factor);
    assert!(is_off(off(as_owner(&ann), &ann).await));
    assert_eq!(store.second_factor(ann.id).await.expect("read").value, None);
    assert_eq!(hash(store, "ann").await, "hash");
    let ann = get(store, ann.id).await.expect("there");
    begin(store, &ann, "again").await.expect("begun again");
}

pub(super) async fn a_step_and_a_recovery_code_are_used_once(store: &UserStore) {
    let ann = enrolled(store, "ann").await;
    let step = async |secret: &str, step| {
        let code = OneTimeCodeUse {
            step,
            secret: secret.to_owned(),
            new_secret: "0123456789ab.anew".to_owned(),
        };
        store
            .use_one_time_code(ann.id, SIGN_IN, code)
            .await
            .expect("an answer")
    };
    assert!(!step("0123456789ab.sealed", 7).await, "turned it on");
    assert!(!step("another", 9).await);
    let (one, two) = join!(
        step("0123456789ab.sealed", 9),
        step("0123456789ab.sealed", 9)
    );
    assert!(one != two, "of two at once, one counts");
    assert!(!step("0123456789ab.anew", 8).await, "an earlier one");
    assert!(step("0123456789ab.anew", 10).await);

    let code = async |digest: &str| use_recovery_code(store, &ann, SIGN_IN, digest).await;
    assert!(!code("another").await);
    let (one, two) = join!(code("0123456789ab.sealed 1"), code("0123456789ab.sealed 1"));
    assert!(one != two, "of two at once, one counts");
    assert!(code("0123456789ab.sealed 2").await);
    let left = store
        .second_factor(ann.id)
        .await
        .expect("read")
        .value
        .expect("on");
    assert_eq!((left.recovery_codes, left.last_step), (1, 10));
}

const SIGN_IN: CodePurpose = CodePurpose::SignIn;
const CONFIRMATION: CodePurpose = CodePurpose::Confirmation;

/// Counts `wrong` wrong codes, several of them at the same time. Returns the number that was counted.
async fn count_wrong(store: &UserStore, user: &User, limit: CodeLimit, wrong: usize) -> usize {
    let count = async |wrong: usize| {
        let mut counted = 0;
        for _ in 0..wrong {
            let is_counted = store.count_wrong_code(user.id, limit).await;
            counted += usize::from(is_counted.expect("an answer"));
        }
        counted
    };
    let (one, two, three) = join!(count(wrong / 3), count(wrong / 3), count(wrong / 3));
    one + two + three
}

/// Uses the code of the time step after the last used one, and returns whether it was accepted.
async fn takes_step(store: &UserStore, user: &User, purpose: CodePurpose) -> bool {
    let stored = store.second_factor(user.id).await.expect("read");
    let step = stored.value.expect("on").last_step + 1;
    let code = OneTimeCodeUse {
        step,
        secret: "0123456789ab.sealed".to_owned(),
        new_secret: "0123456789ab.sealed".to_owned(),
    };
    store
        .use_one_time_code(user.id, purpose, code)
        .await
        .expect("an answer")
}

/// Asserts that codes of this limit are refused for the rest of an hour that has just begun.
async fn assert_refused(store: &UserStore, user: &User, limit: CodeLimit) {
    let factor = store.second_factor(user.id).await.expect("read");
    let seconds = factor
        .value
        .expect("on")
        .refused_for(limit, factor.at)
        .expect("refused");
    assert!((3590..=3600).contains(&seconds), "{seconds}");
}

pub(super) async fn ten_wrong_one_time_codes_count_and_then_none_of_their_purpose_is_good(
    store: &UserStore,
) {
    for (name, purpose, other) in [
        ("ann", SIGN_IN, CONFIRMATION),
        ("bob", CONFIRMATION, SIGN_IN),
    ] {
        let user = enrolled(store, name).await;
        let limit = CodeLimit::OneTime(purpose);
        assert_eq!(count_wrong(store, &user, limit, 12).await, 10);
        assert_refused(store, &user, limit).await;
        assert!(!takes_step(store, &user, purpose).await);
        assert!(takes_step(store, &user, other).await, "has its own count");
        for (purpose, digest) in [(purpose, 1), (other, 2)] {
            let digest = format!("0123456789ab.sealed {digest}");
            assert!(use_recovery_code(store, &user, purpose, &digest).await);
        }
    }
    let limit = CodeLimit::OneTime(SIGN_IN);
    assert!(!store.count_wrong_code(999, limit).await.expect("an answer"));
}

pub(super) async fn a_hundred_wrong_recovery_codes_count_and_block_nothing_else(store: &UserStore) {
    for (name, purpose, other) in [
        ("ann", SIGN_IN, CONFIRMATION),
        ("bob", CONFIRMATION, SIGN_IN),
    ] {
        let user = enrolled(store, name).await;
        let limit = CodeLimit::Recovery(purpose);
        assert_eq!(count_wrong(store, &user, limit, 99).await, 99);
        let code = "0123456789ab.sealed 1";
        assert!(use_recovery_code(store, &user, purpose, code).await);
        assert_eq!(count_wrong(store, &user, limit, 3).await, 1);
        assert_refused(store, &user, limit).await;
        let code = "0123456789ab.sealed 2";
        assert!(!use_recovery_code(store, &user, purpose, code).await);
        assert!(use_recovery_code(store, &user, other, code).await);
        for purpose in [purpose, other] {
            assert!(takes_step(store, &user, purpose).await);
        }
    }
}
