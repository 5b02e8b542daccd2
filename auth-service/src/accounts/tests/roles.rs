//! Tests of the extra roles that an operator defines.

use super::{App, POLICY};
use crate::accounts::{ApiKeyRequest, Policy, Requirement, UserPageRequest};
use rolegate_proto::{Role, UnknownRole};
use secrecy::ExposeSecret as _;

fn role(name: &str) -> Role {
    name.parse().expect("a role")
}

async fn app(extra: &str) -> App {
    App::new(Policy {
        roles: extra.parse().expect("roles"),
        ..POLICY
    })
    .await
}

#[tokio::test]
async fn an_extra_role_is_granted_required_and_listed_and_others_do_not_exist() {
    let app = app("editor,auditor").await;
    let ann = app.register("ann").await.expect("registered");
    let token = app.login("ann", "sesame").await.expect("logged in");
    let editor = role("editor");
    let set = async |role| app.users.set_user_role(&app.admin, ann.id, role).await;
    assert_err!(set(Ok(role("edit"))).await, RoleInvalid);
    assert_err!(set(Err(UnknownRole)).await, RoleInvalid);
    set(Ok(editor)).await.expect("set");
    assert_eq!(
        app.authorize(&token, &[editor, Role::ADMIN])
            .await
            .expect("met")
            .role,
        editor
    );
    for others in [
        &[role("auditor")][..],
        &[Role::USER],
        &[Role::AUTHOR, Role::ADMIN],
    ] {
        assert_err!(app.authorize(&token, others).await, RoleInsufficient);
    }
    let of_role = |role| UserPageRequest {
        role: Some(Ok(role)),
        ..UserPageRequest::default()
    };
    let page = app
        .users
        .list_users(&app.admin, of_role(editor))
        .await
        .expect("listed");
    assert_eq!(page.users.len(), 1);
    assert_err!(
        app.users
            .list_users(&app.admin, of_role(role("edit")))
            .await,
        RoleInvalid
    );
    let roles = app.users.list_roles(&app.admin).await.expect("listed");
    assert_eq!(
        roles,
        ["user", "author", "admin", "editor", "auditor"].map(role)
    );
    assert_err!(app.users.list_roles(&token).await, RoleInsufficient);
}

#[tokio::test]
async fn a_requirement_of_an_unknown_role_is_a_mistake_of_the_caller_and_never_a_decision() {
    let app = app("editor").await;
    // A requirement with an unknown role is refused even if the user has another role in the list.
    for required in [vec![role("edit")], vec![Role::ADMIN, role("edit")]] {
        let required = Requirement::AnyOf {
            roles: required,
            groups: Vec::new(),
        };
        assert_err!(
            app.authorizer.authorize(&app.admin, &required).await,
            RequestInvalid
        );
        assert_err!(app.authorizer.authorize("x", &required).await, TokenInvalid);
    }
}

#[tokio::test]
async fn a_stored_role_that_is_not_known_grants_what_any_user_may() {
    let app = app("").await;
    let ann = app.register("ann").await.expect("registered");
    let (token, removed) = (
        app.login("ann", "sesame").await.expect("in"),
        role("editor"),
    );
    app.set_role(ann.id, removed).await;
    let actor = app
        .authorizer
        .authorize(&token, &Requirement::AnyAuthenticated)
        .await;
    let actor = actor.expect("any user");
    assert_eq!(
        (actor.user.role, actor.ineffective_role),
        (Role::USER, Some(removed))
    );
    assert!(app.authorize(&token, &[Role::USER]).await.is_ok());
    assert_err!(
        app.authorize(&token, &[Role::AUTHOR, Role::ADMIN]).await,
        RoleInsufficient
    );
    assert_eq!(
        app.verify("ann", "sesame").await.expect("verified").role,
        Role::USER
    );
    let stored = app
        .users
        .get_user(&app.admin, ann.id)
        .await
        .expect("a user");
    assert_eq!(stored.role, removed, "admins see what is stored");
}

#[tokio::test]
async fn a_key_of_an_extra_role_acts_as_user_once_its_user_has_another() {
    let app = app("editor,auditor").await;
    let ann = app.register("ann").await.expect("registered");
    let token = app.login("ann", "sesame").await.expect("logged in");
    let create = async |name| {
        let role = Some(Ok(role(name)));
        let request = ApiKeyRequest {
            name: "export".into(),
            role,
            ..ApiKeyRequest::default()
        };
        app.users.create_api_key(&token, request).await
    };
    assert_err!(create("edit").await, RoleInvalid);
    let key = create("editor").await.expect("created").key;
    for (stored, acts_as) in [
        ("editor", "editor"),
        ("auditor", "user"),
        ("author", "user"),
        ("admin", "editor"),
        ("user", "user"),
    ] {
        app.set_role(ann.id, role(stored)).await;
        let actor = app
            .authorizer
            .authorize(key.expose_secret(), &Requirement::AnyAuthenticated)
            .await
            .expect("valid");
        assert_eq!(actor.user.role, role(acts_as), "{stored}");
    }
}
