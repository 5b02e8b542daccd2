use super::{
    changes::{as_admin, create, new_user},
    get, insert, names,
};
use crate::{
    search_key::search_words,
    store::{UsageKind, UserFilter, user_store::UserStore},
};
use rolegate_proto::Role;

pub(super) async fn a_search_finds_names_with_each_word_without_case_and_accents(
    store: &UserStore,
) {
    let usernames = [
        "Ärger",
        "ärger",
        "ÉCOLE",
        "école",
        "Σοφός",
        "straße",
        "a%b",
        "a_b",
        "a*b",
        "a?b",
        "a[b]",
        "a.b",
        "a\\b",
        "a^b$",
        "(a|b)",
        "a{2}",
        "a-b",
        "a'b",
        "lovelace bo",
        "日本",
        "ÇA",
        "***:x",
        "Ada",
    ];
    for username in usernames {
        insert(store, username, Role::USER).await;
    }
    for (search, found) in [
        ("ärg", &["Ärger", "ärger"][..]),
        ("ARG", &["Ärger", "ärger"]),
        ("RGE", &["Ärger", "ärger"]),
        ("École", &["ÉCOLE", "école"]),
        ("ecole", &["ÉCOLE", "école"]),
        ("ΣΟΦΌΣ", &["Σοφός"]),
        ("σΟφος", &["Σοφός"]),
        ("STRAß", &["straße"]),
        ("strass", &["straße"]),
        ("%", &["a%b"]),
        ("_", &["a_b"]),
        ("*", &["a*b", "***:x"]),
        ("***:", &["***:x"]),
        ("?", &["a?b"]),
        ("[", &["a[b]"]),
        ("[b]", &["a[b]"]),
        ("]", &["a[b]"]),
        (".", &["a.b"]),
        ("\\", &["a\\b"]),
        ("^", &["a^b$"]),
        ("b$", &["a^b$"]),
        ("(A|B)", &["(a|b)"]),
        ("{2}", &["a{2}"]),
        ("a-b", &["a-b"]),
        ("'", &["a'b"]),
        ("b lo", &["lovelace bo"]),
        ("bo lovelace", &["lovelace bo"]),
        ("本", &["日本"]),
        ("ca", &["ÇA"]),
        ("ADA", &["Ada"]),
        ("ada bo", &[]),
        ("a+", &[]),
        ("\\d", &[]),
        ("ae", &[]),
        ("stranger", &[]),
        ("' OR 1=1;--", &[]),
    ] {
        let filter = UserFilter {
            search: search_words(search),
            limit: 100,
            ..UserFilter::default()
        };
        assert_eq!(names(store, &filter).await, found, "{search:?}");
    }
}

pub(super) async fn users_are_listed_with_their_creation_and_their_last_login(store: &UserStore) {
    let started = store.users_by_id(&[], &[]).await.expect("read").at;
    let ann = insert(store, "ann", Role::ADMIN).await;
    let bob = create(store, as_admin(&ann), new_user("bob", Role::USER))
        .await
        .expect("inserted");
    let ended = store.users_by_id(&[], &[]).await.expect("read").at;
    let filter = UserFilter {
        limit: 10,
        ..UserFilter::default()
    };
    let listed = store.list(&filter).await.expect("read");
    assert_eq!(
        listed.iter().map(|it| it.user.clone()).collect::<Vec<_>>(),
        [ann, bob.clone()]
    );
    for listed in listed {
        let created_at = listed.user.created_at.expect("it is kept");
        assert!(
            (started..=ended).contains(&created_at),
            "{started} {created_at} {ended}"
        );
        assert_eq!(listed.last_login_at, None);
    }
    assert_eq!(get(store, bob.id).await, Some(bob.clone()));
    for at in [ended + 7, ended] {
        store.note_use(UsageKind::Password, bob.id, at);
    }
    let listed = store.list(&filter).await.expect("read").remove(1);
    let noted = store.unwritten_use(UsageKind::Password, bob.id);
    assert_eq!(
        listed.last_login_at.max(noted),
        Some(ended + 7),
        "noted, or already written"
    );
    assert_eq!(
        store.unwritten_use(UsageKind::Token, bob.id),
        None,
        "another row's"
    );
}
