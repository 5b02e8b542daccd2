//! The conformance suite for stores of users. Its cases run on PostgreSQL and on SQLite.

mod additions;
mod admins;
mod api_keys;
mod audit;
mod changes;
mod groups;
mod idle_sessions;
mod listing;
mod passwords;
mod pending_sign_ins;
mod renaming;
mod revoked_tokens;
mod second_factor;
mod sessions;

pub(crate) use super::user_store::tests::test_store;

use additions::{
    additions_of_a_user_are_limited_together_and_ends_are_not,
    exactly_the_limit_is_added_when_much_is_added_at_once,
    refused_additions_leave_nothing_and_those_of_the_operator_are_not_refused,
    whoever_turns_a_second_factor_on_and_off_in_a_loop_does_not_fill_the_record,
};

use admins::{
    disabled_admin_may_not_write_and_is_no_admin_who_is_left,
    insert_for_an_actor_requires_an_admin, one_of_two_admins_who_leave_at_the_same_time_stays,
    set_disabled_requires_an_admin_and_revokes_tokens,
    who_has_no_condition_cannot_act_like_the_operator,
};

use api_keys::{
    a_key_is_made_only_while_the_tokens_are_those_that_were_seen,
    a_user_has_exactly_fifty_keys_at_most_when_many_are_made_at_once,
    admins_make_keys_of_users_who_are_no_admins, deleting_keys_requires_an_admin_or_their_user,
    extra_roles_are_stored_in_users_and_keys, keys_are_found_by_digest_with_their_users,
    keys_are_of_users_who_exist_and_are_not_disabled, roles_in_use_are_those_of_users_and_keys,
};

use audit::{
    changes_of_users_follow_a_revision_and_a_snapshot,
    concurrent_sealing_gives_each_row_one_revision,
    each_change_is_recorded_once_with_its_actor_and_nothing_else_is,
    what_was_noted_is_recorded_and_rows_are_found_by_user_actor_and_event,
};

use groups::{
    a_decision_learns_which_of_the_required_groups_exist,
    a_group_has_one_name_and_an_id_that_is_never_given_out_twice,
    a_group_that_a_key_names_is_not_deleted,
    a_membership_counts_until_its_end_and_in_nothing_afterwards,
    a_user_is_in_a_hundred_groups_at_most_when_many_are_set_at_once,
    an_account_that_has_ended_is_disabled_and_revoked_when_its_end_moves,
    deleting_a_group_ends_each_membership_and_records_it,
    the_last_admin_is_the_last_one_without_an_end,
};

use idle_sessions::{
    idle_sessions_are_deleted_once_whoever_finds_them,
    of_a_hundred_sessions_those_that_ended_and_then_the_idlest_make_room,
};

use listing::{
    a_search_finds_names_with_each_word_without_case_and_accents,
    users_are_listed_with_their_creation_and_their_last_login,
};

use passwords::{
    replace_password_compares_the_old_hash, set_password_advances_tokens_not_before,
    set_password_requires_what_its_writer_saw,
};

use pending_sign_ins::{
    a_pending_sign_in_is_of_its_user_only, a_pending_sign_in_makes_its_sessions_once,
    a_sign_in_is_pending_only_while_tokens_are_those_that_were_seen,
    a_sign_in_without_room_for_its_sessions_stays_pending,
    the_newest_ten_sign_ins_of_a_user_are_pending,
    whatever_ends_tokens_or_the_second_factor_ends_pending_sign_ins,
};

use renaming::{
    a_name_is_taken_by_one_of_those_who_want_it,
    a_renamed_user_keeps_good_sessions_and_keys_and_no_access_token,
    a_renaming_is_recorded_with_both_names_beside_a_second_change,
    a_user_who_has_changed_since_they_were_read_is_not_renamed,
    keys_that_a_renamed_admin_made_have_the_new_name,
    only_an_admin_renames_and_both_changes_are_made_or_neither,
};

use revoked_tokens::{
    a_time_after_every_token_stays_and_an_operator_lowers_it_and_marks_tokens,
    every_read_has_the_time_also_of_nothing, of_many_logouts_by_one_token_the_first_ends_it,
    revoking_tokens_outdates_all_that_can_exist_for_an_admin_or_their_user,
};

use second_factor::{
    a_hundred_wrong_recovery_codes_count_and_block_nothing_else,
    a_link_is_good_once_and_until_another_or_a_password,
    a_link_of_a_disabled_user_ends_and_a_later_one_waits,
    a_second_factor_begins_and_is_on_by_its_secret, a_step_and_a_recovery_code_are_used_once,
    an_admin_or_its_user_turns_a_second_factor_off, links_are_made_by_admins_and_with_new_users,
    ten_wrong_one_time_codes_count_and_then_none_of_their_purpose_is_good,
    the_session_that_turns_a_second_factor_on_stays_with_its_pair,
};

use sessions::{
    a_new_password_ends_all_sessions_but_that_of_its_writer,
    a_session_is_made_only_while_password_and_tokens_are_those_that_were_checked,
    sessions_and_keys_are_listed_deleted_and_limited_apart,
    sessions_are_ended_by_digest_whoever_they_are_of,
    sessions_are_found_by_digest_with_their_kind_and_their_own_not_before,
    sessions_are_restricted_to_cookies_and_keys_are_not,
    sessions_end_when_tokens_are_revoked_and_when_their_user_is_disabled,
    sessions_of_one_sign_in_are_made_together_or_not_at_all,
    sessions_of_one_sign_in_end_together_and_stay_together,
};

use super::{
    RoleFilter, UserCursor, UserFilter, WriteError,
    user_store::{UserStore, open},
};
use crate::{change::NewUser, principal::Principal, user::User};
use changes::{as_admin, create, delete, disable, new_user, set_role, stranger};
use rolegate_proto::Role;
use rolegate_sql_store::Store as _;
use secrecy::ExposeSecret;
use tokio::join;

postgres_cluster::conformance_tests! {
    open: open,
    cases: [
        ids_ascend_and_are_never_reused,
        usernames_are_unique_byte_for_byte,
        one_of_several_concurrent_inserts_wins,
        lookups_omit_unknown_keys,
        the_highest_password_cost_is_that_of_bcrypt_hashes,
        set_role_requires_an_admin,
        set_role_without_actor_is_allowed,
        delete_requires_an_admin,
        one_of_two_admins_deletes_the_other,
        one_of_two_admins_who_leave_at_the_same_time_stays,
        insert_for_an_actor_requires_an_admin,
        who_has_no_condition_cannot_act_like_the_operator,
        set_disabled_requires_an_admin_and_revokes_tokens,
        disabled_admin_may_not_write_and_is_no_admin_who_is_left,
        a_group_has_one_name_and_an_id_that_is_never_given_out_twice,
        a_membership_counts_until_its_end_and_in_nothing_afterwards,
        a_decision_learns_which_of_the_required_groups_exist,
        a_user_is_in_a_hundred_groups_at_most_when_many_are_set_at_once,
        a_group_that_a_key_names_is_not_deleted,
        deleting_a_group_ends_each_membership_and_records_it,
        an_account_that_has_ended_is_disabled_and_revoked_when_its_end_moves,
        the_last_admin_is_the_last_one_without_an_end,
        a_renamed_user_keeps_good_sessions_and_keys_and_no_access_token,
        a_name_is_taken_by_one_of_those_who_want_it,
        a_user_who_has_changed_since_they_were_read_is_not_renamed,
        only_an_admin_renames_and_both_changes_are_made_or_neither,
        a_renaming_is_recorded_with_both_names_beside_a_second_change,
        keys_that_a_renamed_admin_made_have_the_new_name,
        set_password_requires_what_its_writer_saw,
        set_password_advances_tokens_not_before,
        replace_password_compares_the_old_hash,
        keys_are_found_by_digest_with_their_users,
        a_user_has_exactly_fifty_keys_at_most_when_many_are_made_at_once,
        keys_are_of_users_who_exist_and_are_not_disabled,
        a_key_is_made_only_while_the_tokens_are_those_that_were_seen,
        admins_make_keys_of_users_who_are_no_admins,
        deleting_keys_requires_an_admin_or_their_user,
        roles_in_use_are_those_of_users_and_keys,
        extra_roles_are_stored_in_users_and_keys,
        sessions_are_found_by_digest_with_their_kind_and_their_own_not_before,
        a_session_is_made_only_while_password_and_tokens_are_those_that_were_checked,
        sessions_end_when_tokens_are_revoked_and_when_their_user_is_disabled,
        a_new_password_ends_all_sessions_but_that_of_its_writer,
        sessions_and_keys_are_listed_deleted_and_limited_apart,
        sessions_are_ended_by_digest_whoever_they_are_of,
        sessions_are_restricted_to_cookies_and_keys_are_not,
        sessions_of_one_sign_in_are_made_together_or_not_at_all,
        sessions_of_one_sign_in_end_together_and_stay_together,
        of_a_hundred_sessions_those_that_ended_and_then_the_idlest_make_room,
        idle_sessions_are_deleted_once_whoever_finds_them,
        of_many_logouts_by_one_token_the_first_ends_it,
        revoking_tokens_outdates_all_that_can_exist_for_an_admin_or_their_user,
        a_time_after_every_token_stays_and_an_operator_lowers_it_and_marks_tokens,
        every_read_has_the_time_also_of_nothing,
        a_link_is_good_once_and_until_another_or_a_password,
        a_link_of_a_disabled_user_ends_and_a_later_one_waits,
        links_are_made_by_admins_and_with_new_users,
        a_second_factor_begins_and_is_on_by_its_secret,
        the_session_that_turns_a_second_factor_on_stays_with_its_pair,
        a_pending_sign_in_makes_its_sessions_once,
        a_pending_sign_in_is_of_its_user_only,
        a_sign_in_is_pending_only_while_tokens_are_those_that_were_seen,
        whatever_ends_tokens_or_the_second_factor_ends_pending_sign_ins,
        the_newest_ten_sign_ins_of_a_user_are_pending,
        a_sign_in_without_room_for_its_sessions_stays_pending,
        an_admin_or_its_user_turns_a_second_factor_off,
        a_step_and_a_recovery_code_are_used_once,
        a_hundred_wrong_recovery_codes_count_and_block_nothing_else,
    ten_wrong_one_time_codes_count_and_then_none_of_their_purpose_is_good,
        pages_are_ordered_and_filtered,
        prefix_is_literal,
        a_search_finds_names_with_each_word_without_case_and_accents,
        users_are_listed_with_their_creation_and_their_last_login,
        each_change_is_recorded_once_with_its_actor_and_nothing_else_is,
        changes_of_users_follow_a_revision_and_a_snapshot,
        what_was_noted_is_recorded_and_rows_are_found_by_user_actor_and_event,
        concurrent_sealing_gives_each_row_one_revision,
        additions_of_a_user_are_limited_together_and_ends_are_not,
        exactly_the_limit_is_added_when_much_is_added_at_once,
        refused_additions_leave_nothing_and_those_of_the_operator_are_not_refused,
        whoever_turns_a_second_factor_on_and_off_in_a_loop_does_not_fill_the_record,
        closed_store_is_unavailable,
    ]
}

async fn insert(store: &UserStore, username: &str, role: Role) -> User {
    create(store, Principal::Operator, new_user(username, role))
        .await
        .expect("inserted")
}

/// Asserts that a write found no user to change.
fn assert_not_found<T: std::fmt::Debug>(outcome: Result<T, WriteError>) {
    let error = outcome.expect_err("no user to change");
    assert!(matches!(error, WriteError::UserNotFound), "{error:?}");
}

async fn get(store: &UserStore, id: i64) -> Option<User> {
    store
        .users_by_id(&[id], &[])
        .await
        .expect("read")
        .value
        .pop()
}

async fn hash(store: &UserStore, username: &str) -> String {
    let found = store
        .credentials_by_username(&[username.into()], &[])
        .await
        .expect("read")
        .value;
    found[0].password_hash.expose_secret().to_owned()
}

async fn ids_ascend_and_are_never_reused(store: &UserStore) {
    let admin = insert(store, "admin", Role::ADMIN).await;
    let first = insert(store, "ann", Role::USER).await;
    assert!(admin.id >= 1 && first.id > admin.id);
    delete(store, as_admin(&admin), &first)
        .await
        .expect("deleted");
    assert!(insert(store, "ann", Role::USER).await.id > first.id);
}

async fn usernames_are_unique_byte_for_byte(store: &UserStore) {
    let ann = insert(store, "ann", Role::AUTHOR).await;
    assert_eq!(
        (&*ann.username, ann.role, ann.tokens_not_before),
        ("ann", Role::AUTHOR, 0)
    );
    insert(store, "Ann", Role::USER).await;
    insert(store, "ann ", Role::USER).await;
    let taken = NewUser {
        password_hash: "x".into(),
        ..new_user("ann", Role::ADMIN)
    };
    let refused = create(store, Principal::Operator, taken).await;
    assert!(
        matches!(refused, Err(WriteError::UsernameTaken)),
        "{refused:?}"
    );
    assert_eq!(get(store, ann.id).await, Some(ann));
    assert_eq!(hash(store, "ann").await, "hash");
}

async fn one_of_several_concurrent_inserts_wins(store: &UserStore) {
    let insert = || create(store, Principal::Operator, new_user("ann", Role::USER));
    let results: [_; 4] = join!(insert(), insert(), insert(), insert()).into();
    assert_eq!(
        results.iter().filter(|result| result.is_ok()).count(),
        1,
        "{results:?}"
    );
}

async fn lookups_omit_unknown_keys(store: &UserStore) {
    let ann = insert(store, "ann", Role::USER).await;
    let bob = insert(store, "bob", Role::AUTHOR).await;
    let mut found = store
        .users_by_id(&[bob.id, 999, ann.id, -1], &[])
        .await
        .expect("read")
        .value;
    found.sort_by_key(|user| user.id);
    assert_eq!(found, [ann.clone(), bob]);
    assert_eq!(store.users_by_id(&[], &[]).await.expect("read").value, []);
    let names = [
        "carl".to_owned(),
        "ann".to_owned(),
        "Bob".to_owned(),
        "a'\"\\".to_owned(),
    ];
    let found = store
        .credentials_by_username(&names, &[])
        .await
        .expect("read")
        .value;
    assert_eq!(
        found.into_iter().map(|row| row.user).collect::<Vec<_>>(),
        [ann]
    );
}

async fn the_highest_password_cost_is_that_of_bcrypt_hashes(store: &UserStore) {
    let highest = async || store.highest_password_cost().await.expect("read");
    let add = async |username: &str, hash: String| {
        let new = NewUser {
            password_hash: hash.into(),
            ..new_user(username, Role::USER)
        };
        let created = create(store, Principal::Operator, new).await;
        created.expect("inserted");
    };
    insert(store, "ann", Role::USER).await;
    assert_eq!(highest().await, None);
    let peppered = "hmac-sha256:0123456789ab:";
    for (pepper, cost, expected) in [
        ("", "12", 12),
        ("", "04", 12),
        ("", "14", 14),
        ("", "13", 14),
        (peppered, "15", 15),
    ] {
        let hash = format!("{pepper}$2b${cost}${}", "x".repeat(53));
        add(&format!("user {cost}"), hash).await;
        assert_eq!(highest().await, Some(expected));
    }
    // A hash of Django has a part in the middle that looks like a hash of bcrypt.
    add(
        "imported",
        format!("pbkdf2_sha256$29$ab${}=", "z".repeat(43)),
    )
    .await;
    assert_eq!(highest().await, Some(15));
}

async fn set_role_requires_an_admin(store: &UserStore) {
    let admin = insert(store, "admin", Role::ADMIN).await;
    let ann = insert(store, "ann", Role::AUTHOR).await;
    let set = async |by: &User, user: &User| set_role(store, as_admin(by), user, Role::USER).await;
    let missing = set(&stranger(&admin), &ann).await;
    assert!(
        matches!(missing, Err(WriteError::ActorNotFound)),
        "{missing:?}"
    );
    let refused = set(&ann, &admin).await;
    assert!(matches!(refused, Err(WriteError::NotAdmin)), "{refused:?}");
    assert_not_found(set(&admin, &stranger(&ann)).await);
    let changed = set(&admin, &ann).await.expect("allowed");
    assert_eq!(
        changed,
        User {
            role: Role::USER,
            ..ann.clone()
        }
    );
    assert_eq!(get(store, ann.id).await, Some(changed));
    let last = set(&admin, &admin).await;
    assert!(matches!(last, Err(WriteError::LastAdmin)), "{last:?}");
    insert(store, "bob", Role::ADMIN).await;
    set(&admin, &admin)
        .await
        .expect("one of two admins may give up the role");
    let refused = set(&admin, &ann).await;
    assert!(matches!(refused, Err(WriteError::NotAdmin)), "{refused:?}");
}

async fn set_role_without_actor_is_allowed(store: &UserStore) {
    let ann = insert(store, "ann", Role::USER).await;
    let set = async |user: &User| set_role(store, Principal::Operator, user, Role::ADMIN).await;
    assert_eq!(set(&ann).await.expect("allowed").role, Role::ADMIN);
    assert_not_found(set(&stranger(&ann)).await);
}

async fn delete_requires_an_admin(store: &UserStore) {
    let admin = insert(store, "admin", Role::ADMIN).await;
    let ann = insert(store, "ann", Role::AUTHOR).await;
    let missing = delete(store, as_admin(&stranger(&admin)), &ann).await;
    assert!(
        matches!(missing, Err(WriteError::ActorNotFound)),
        "{missing:?}"
    );
    let refused = delete(store, as_admin(&ann), &admin).await;
    assert!(matches!(refused, Err(WriteError::NotAdmin)), "{refused:?}");
    let deleted = delete(store, as_admin(&admin), &ann)
        .await
        .expect("allowed");
    assert_eq!(deleted, ann);
    assert_eq!(get(store, ann.id).await, None);
    assert_not_found(delete(store, as_admin(&admin), &ann).await);
}

async fn one_of_two_admins_deletes_the_other(store: &UserStore) {
    let ann = insert(store, "ann", Role::ADMIN).await;
    let bob = insert(store, "bob", Role::ADMIN).await;
    let results: [_; 2] = join!(
        delete(store, as_admin(&ann), &bob),
        delete(store, as_admin(&bob), &ann)
    )
    .into();
    assert_eq!(results.iter().filter(|result| result.is_ok()).count(), 1);
    let late = results
        .iter()
        .filter(|result| matches!(result, Err(WriteError::ActorNotFound)));
    assert_eq!(late.count(), 1, "{results:?}");
}

async fn names(store: &UserStore, filter: &UserFilter) -> Vec<String> {
    assert!(store.write_search_keys().await.expect("written"));
    let users = store.list(filter).await.expect("read");
    users
        .into_iter()
        .map(|listed| listed.user.username)
        .collect()
}

async fn pages_are_ordered_and_filtered(store: &UserStore) {
    let first = insert(store, "carl", Role::AUTHOR).await;
    for (username, role) in [
        ("ann", Role::USER),
        ("bob", Role::AUTHOR),
        ("anne", Role::AUTHOR),
    ] {
        insert(store, username, role).await;
    }
    let all = UserFilter {
        limit: 10,
        ..UserFilter::default()
    };
    assert_eq!(names(store, &all).await, ["carl", "ann", "bob", "anne"]);
    let page = UserFilter {
        after: Some(UserCursor::at_id(first.id)),
        limit: 2,
        ..all.clone()
    };
    assert_eq!(names(store, &page).await, ["ann", "bob"]);
    assert!(
        names(
            store,
            &UserFilter {
                after: Some(UserCursor::at_id(999)),
                ..all.clone()
            }
        )
        .await
        .is_empty()
    );
    let authors = UserFilter {
        role: Some(RoleFilter::User(Role::AUTHOR)),
        ..all.clone()
    };
    assert_eq!(names(store, &authors).await, ["carl", "bob", "anne"]);
    disable(store, Principal::Operator, &first)
        .await
        .expect("disabled");
    let disabled = UserFilter {
        disabled: Some(true),
        ..authors.clone()
    };
    assert_eq!(names(store, &disabled).await, ["carl"]);
    let enabled = UserFilter {
        disabled: Some(false),
        ..authors
    };
    assert_eq!(names(store, &enabled).await, ["bob", "anne"]);
    let prefix = UserFilter {
        username_prefix: "ann".into(),
        ..all
    };
    assert_eq!(names(store, &prefix).await, ["ann", "anne"]);
    let both = UserFilter {
        role: Some(RoleFilter::User(Role::AUTHOR)),
        ..prefix
    };
    assert_eq!(names(store, &both).await, ["anne"]);
}

async fn prefix_is_literal(store: &UserStore) {
    let usernames = [
        "a%b",
        "a_b",
        "axb",
        "A",
        "é",
        "\u{d7ff}x",
        "\u{e000}",
        "\u{10ffff}x",
        "'",
    ];
    for username in usernames {
        insert(store, username, Role::USER).await;
    }
    for (prefix, found) in [
        ("a%", vec!["a%b"]),
        ("a_", vec!["a_b"]),
        ("a", vec!["a%b", "a_b", "axb"]),
        ("é", vec!["é"]),
        ("\u{d7ff}", vec!["\u{d7ff}x"]),
        ("\u{10ffff}", vec!["\u{10ffff}x"]),
        ("'", vec!["'"]),
        ("", usernames.to_vec()),
    ] {
        let username_prefix = prefix.to_owned();
        let filter = UserFilter {
            username_prefix,
            limit: 100,
            ..UserFilter::default()
        };
        assert_eq!(names(store, &filter).await, found, "{prefix:?}");
    }
}

async fn closed_store_is_unavailable(store: &UserStore) {
    store.ping().await.expect("open");
    store.close().await;
    store.ping().await.expect_err("closed");
    store.users_by_id(&[1], &[]).await.expect_err("closed");
}
