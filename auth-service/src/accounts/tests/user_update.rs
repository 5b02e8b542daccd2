//! Tests of renaming users, and of the credentials that a new name revokes.

use super::{App, NOW, POLICY, api_keys::create_key, origin, sessions::created};
use crate::{
    accounts::{AccountError, AuditRequest, Requirement, SessionRequest, UserUpdateRequest},
    user::User,
};
use rolegate_proto::Role;
use secrecy::ExposeSecret as _;

impl App {
    async fn update(
        &self,
        token: &str,
        id: i64,
        username: Option<&str>,
        disabled: Option<bool>,
    ) -> Result<User, AccountError> {
        let request = UserUpdateRequest {
            username,
            disabled,
            end: None,
        };
        self.users.update_user(token, id, request).await
    }

    async fn rename(&self, id: i64, name: &str) -> Result<User, AccountError> {
        self.update(&self.admin, id, Some(name), None).await
    }

    async fn session_of(&self, username: &str) -> String {
        let made = self.authenticator.create_session(
            username,
            "sesame".into(),
            SessionRequest::default(),
            None,
            origin(1),
        );
        let made = created(made.await).expect("made");
        made.token.expose_secret().to_owned()
    }

    async fn name_of(&self, token: &str) -> Result<String, AccountError> {
        let any = Requirement::AnyAuthenticated;
        let actor = self.authorizer.authorize(token, &any).await;
        actor.map(|actor| actor.user.username)
    }

    async fn events(&self) -> Vec<(String, String)> {
        let page = self
            .record
            .list_audit(&self.admin, AuditRequest::default())
            .await
            .expect("listed");
        let shown = |row: &crate::audit::AuditRow| (row.event.clone(), row.readable_details());
        page.rows.iter().map(shown).collect()
    }
}

#[tokio::test]
async fn a_new_name_ends_access_tokens_and_the_session_goes_on_under_it() {
    let app = App::new(POLICY).await;
    let ann = app.register("ann").await.expect("registered");
    let token = app.login("ann", "sesame").await.expect("logged in");
    let session = app.session_of("ann").await;
    app.verify("ann", "sesame").await.expect("remembered");
    let renamed = app.rename(ann.id, "eve").await.expect("renamed");
    assert_eq!((renamed.id, &*renamed.username), (ann.id, "eve"));
    assert_err!(app.name_of(&token).await, TokenInvalid);
    assert_eq!(app.name_of(&session).await.expect("valid"), "eve");
    assert_err!(app.login("ann", "sesame").await, CredentialsInvalid);
    assert_err!(app.verify("ann", "sesame").await, CredentialsInvalid);
    assert_eq!(app.verify("eve", "sesame").await.expect("hers").id, ann.id);
    let token = app.login("eve", "sesame").await.expect("logged in");
    assert_eq!(app.name_of(&token).await.expect("valid"), "eve");

    // A user who registers the old name gets nothing that was cached or issued for the earlier user
    // of the name.
    let next = app
        .users
        .register("ann", "another".into(), origin(2))
        .await
        .expect("free");
    assert_ne!(next.id, ann.id);
    assert_err!(app.verify("ann", "sesame").await, CredentialsInvalid);

    // A token does not become valid again when its user gets the old name back.
    app.rename(next.id, "nan").await.expect("renamed");
    app.rename(ann.id, "ann").await.expect("renamed");
    assert_err!(app.name_of(&token).await, TokenInvalid);
    assert_eq!(app.name_of(&session).await.expect("valid"), "ann");
    let (event, details) = app.events().await.remove(0);
    assert_eq!(event, "user_renamed");
    assert_eq!(details, r#"{"from":"eve","to":"ann"}"#);
}

#[tokio::test]
async fn the_same_name_changes_and_records_nothing() {
    let app = App::new(POLICY).await;
    let ann = app.register("ann").await.expect("registered");
    let token = app.login("ann", "sesame").await.expect("logged in");
    let before = app.events().await;
    assert_eq!(app.rename(ann.id, "ann").await.expect("as before"), ann);
    assert_eq!(app.rename(1, "admin").await.expect("as before").id, 1);
    assert_eq!(app.events().await, before);
    assert_eq!(app.name_of(&token).await.expect("valid"), "ann");
    let disabled = app
        .update(&app.admin, ann.id, Some("ann"), Some(true))
        .await;
    assert!(disabled.expect("disabled").disabled);
    assert_eq!(app.events().await[0].0, "user_disabled");
    assert_eq!(app.events().await.len(), before.len() + 1);
}

#[tokio::test]
async fn names_are_refused_by_the_rules_of_new_ones_in_the_order_of_the_contract() {
    let app = App::new(POLICY).await;
    let ann = app.register("ann").await.expect("registered");
    app.register("bob").await.expect("registered");
    let token = app.login("ann", "sesame").await.expect("logged in");
    let long = "x".repeat(256);
    for invalid in ["", "a:b", " a", "a\u{200b}", "e\u{301}", &long] {
        assert_err!(app.rename(99, invalid).await, UserNotFound);
        assert_err!(app.rename(ann.id, invalid).await, UsernameInvalid);
        assert_err!(app.rename(1, invalid).await, UsernameInvalid);
    }
    assert_err!(app.rename(1, "root").await, UserNotRenamable);
    assert_err!(app.rename(1, "bob").await, UserNotRenamable);
    assert_err!(app.rename(ann.id, "bob").await, UsernameTaken);
    assert_err!(app.rename(ann.id, "admin").await, UsernameTaken);
    let nothing = app.update(&app.admin, ann.id, None, None);
    assert_err!(nothing.await, RequestInvalid);
    for (token, name) in [(&*token, Some("eve")), (&token, None)] {
        let refused = app.update(token, ann.id, name, None);
        assert_err!(refused.await, RoleInsufficient);
    }
    assert_eq!(app.name_of(&token).await.expect("valid"), "ann");
    app.store.set_time(NOW + 9);
    let both = app.update(&app.admin, 1, Some("root"), Some(true));
    assert_err!(both.await, UserNotRenamable);
    app.name_of(&app.admin).await.expect("not disabled either");
}

#[tokio::test]
async fn the_key_of_an_admin_renames_others_and_not_its_own_user() {
    let app = App::new(POLICY).await;
    let ann = app.register("ann").await.expect("registered");
    let bob = app.register("bob").await.expect("registered");
    let admin = Ok(Role::ADMIN);
    let promoted = app.users.set_user_role(&app.admin, ann.id, admin).await;
    promoted.expect("promoted");
    let token = app.login("ann", "sesame").await.expect("logged in");
    let (key, _) = create_key(&app, &token, None, None).await;
    let renamed = app.update(&key, bob.id, Some("rob"), None).await;
    assert_eq!(renamed.expect("renamed").username, "rob");
    for (name, disabled) in [(Some("eve"), None), (Some("ann"), None), (None, None)] {
        let own = app.update(&key, ann.id, name, disabled);
        assert_err!(own.await, RoleInsufficient);
    }
    // With an access token, admins may rename themselves. Their API keys stay valid.
    let own = app.update(&token, ann.id, Some("eve"), None);
    own.await.expect("renamed");
    assert_err!(app.name_of(&token).await, TokenInvalid);
    assert_eq!(app.name_of(&key).await.expect("valid"), "eve");
}
