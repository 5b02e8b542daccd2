//! Tests of lists of users.

use super::{App, NOW, POLICY, origin, sessions::created};
use crate::{
    accounts::{AccountError, SessionRequest, UserPageRequest},
    user::ListedUser,
};
use rolegate_proto::{Reason, Role};
use std::{sync::Arc, time::Duration};

impl App {
    async fn list(&self, request: UserPageRequest) -> Result<Vec<ListedUser>, AccountError> {
        self.users
            .list_users(&self.admin, request)
            .await
            .map(|page| page.users)
    }

    async fn search(&self, text: &str) -> Result<Vec<String>, AccountError> {
        let request = UserPageRequest {
            search: text.to_owned(),
            ..UserPageRequest::default()
        };
        let found = self.list(request).await?;
        Ok(found
            .into_iter()
            .map(|listed| listed.user.username)
            .collect())
    }

    async fn last_login(&self, username: &str) -> Option<u64> {
        let username_prefix = username.to_owned();
        let listed = self
            .list(UserPageRequest {
                username_prefix,
                ..UserPageRequest::default()
            })
            .await;
        listed.expect("listed").remove(0).last_login_at
    }
}

#[tokio::test]
async fn an_admin_searches_once_at_a_time() {
    let app = App::new(POLICY).await;
    let ann = app.register("ann").await.expect("registered");
    let admin = app
        .list(UserPageRequest::default())
        .await
        .expect("listed")
        .remove(0)
        .user
        .id;
    let running = app.users.searches.acquire(admin).expect("the first");
    let refused = app.search("NN").await.expect_err("a second one");
    assert_eq!(refused.reason(), Reason::Overloaded);
    assert_eq!(refused.retry_after(), Some(Duration::from_secs(1)));
    assert_eq!(
        app.list(UserPageRequest::default())
            .await
            .expect("no search")
            .len(),
        2
    );
    drop(app.users.searches.acquire(ann.id).expect("another admin's"));
    drop(running);
    for _ in 0..2 {
        assert_eq!(app.search("NN").await.expect("the only one"), ["ann"]);
    }
}

#[tokio::test]
async fn lists_that_read_all_users_wait_for_a_permit_and_other_pages_do_not() {
    let app = App::new(POLICY).await;
    let permits = Arc::clone(&app.users.list_reads);
    let held = permits.acquire_many_owned(2).await.expect("all permits");
    let counted = || UserPageRequest {
        with_total: true,
        ..UserPageRequest::default()
    };
    let disabled = UserPageRequest {
        disabled: Some(true),
        ..UserPageRequest::default()
    };
    let page = app.list(UserPageRequest::default()).await.expect("listed");
    assert_eq!(page.len(), 1);
    for request in [counted(), disabled] {
        let refused = app.list(request).await.expect_err("no permit");
        assert_eq!(refused.reason(), Reason::Overloaded);
        assert_eq!(refused.retry_after(), Some(Duration::from_secs(2)));
    }
    drop(held);
    assert_eq!(app.list(counted()).await.expect("listed").len(), 1);
}

#[tokio::test]
async fn a_search_is_as_long_as_a_username_and_has_no_control_characters() {
    let app = App::new(POLICY).await;
    assert_eq!(app.search(&"x".repeat(255)).await.expect("valid"), [""; 0]);
    for text in [&*"x".repeat(256), "a\0", "\n", "\u{85}", &"é".repeat(128)] {
        assert_err!(app.search(text).await, UsernameInvalid);
        assert_eq!(
            app.search("").await.expect("all"),
            ["admin"],
            "nothing runs on"
        );
    }
    let token = app
        .register("ann")
        .await
        .map(|_| app.login("ann", "sesame"))
        .expect("in")
        .await;
    let request = UserPageRequest {
        search: "ann".to_owned(),
        ..UserPageRequest::default()
    };
    let refused = app
        .users
        .list_users(&token.expect("logged in"), request)
        .await;
    assert_err!(refused, RoleInsufficient);
}

#[tokio::test]
async fn logins_are_noted_and_neither_wrong_passwords_nor_basic() {
    let app = App::new(POLICY).await;
    for username in ["ann", "bob"] {
        app.register(username).await.expect("registered");
    }
    app.verify("ann", "sesame").await.expect("verified");
    assert_err!(app.login("ann", "wrong").await, CredentialsInvalid);
    assert_eq!(app.last_login("ann").await, None);
    app.store.set_time(NOW + 10);
    app.login("ann", "sesame").await.expect("logged in");
    assert_eq!(app.last_login("ann").await, Some(NOW + 10));
    app.store.set_read_only(true);
    app.store.set_time(NOW + 20);
    let request = SessionRequest::default();
    let session = app
        .authenticator
        .create_session("bob", "sesame".into(), request, None, origin(1))
        .await;
    created(session).expect("made");
    app.login("ann", "sesame")
        .await
        .expect("a store that cannot write does not keep one out");
    for username in ["ann", "bob"] {
        assert_eq!(app.last_login(username).await, Some(NOW + 20), "noted");
    }
    app.store.set_read_only(false);
    assert_eq!(app.last_login("bob").await, Some(NOW + 20), "written");
}

#[tokio::test]
async fn lists_are_of_those_who_are_disabled_or_are_not() {
    let app = App::new(POLICY).await;
    let ann = app.register("ann").await.expect("registered");
    app.set_disabled(ann.id, true).await;
    for (disabled, expected) in [(Some(true), &["ann"][..]), (Some(false), &["admin"])] {
        let search = "N".to_owned();
        let found = app
            .list(UserPageRequest {
                disabled,
                search,
                ..UserPageRequest::default()
            })
            .await;
        let found = found.expect("listed");
        let names: Vec<_> = found.iter().map(|listed| &*listed.user.username).collect();
        assert_eq!(names, expected);
    }
    let role = Some(Ok(Role::ADMIN));
    let both = UserPageRequest {
        disabled: Some(true),
        role,
        ..UserPageRequest::default()
    };
    assert_eq!(app.list(both).await.expect("listed"), []);
}
