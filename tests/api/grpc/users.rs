//! The gRPC calls that manage users, and how they identify the actor.

use super::{ADMIN, any_user, authorize, client};
use e2e::{
    ADMIN_PASSWORD, TestSetup, for_one_deployment, for_two_deployments,
    grpc::{authenticated, expect_error},
};
use rolegate_proto::auth_v1::{
    BatchAuthorizeRequest, BatchGetUsersRequest, ChangePasswordRequest, CreateUserRequest,
    DeleteUserRequest, GetUserRequest, LoginRequest, Role, SetPasswordRequest, SetUserRoleRequest,
    UserName, authorize_outcome::Outcome,
};
use tonic::{Code, Request};

for_two_deployments!(
    user_management_calls_return_what_the_contract_says,
    a_user_is_created_with_a_password_or_a_link_but_not_both,
    username_lookup_needs_no_actor_but_rejects_an_invalid_one,
);
for_one_deployment!(
    user_management_calls_check_in_the_order_of_the_contract,
    actor_is_identified_by_the_token_in_the_metadata,
);

async fn user_management_calls_return_what_the_contract_says(setup: TestSetup) {
    let app = setup.start().await;
    let mut client = client(&app).await;
    let (admin, ann) = (app.admin().await, app.user("ann").await);
    let user_id = ann.id;
    let request = authenticated(GetUserRequest { user_id }, &admin.token);
    let user = client
        .get_user(request)
        .await
        .expect("found")
        .into_inner()
        .user
        .expect("a user");
    assert_eq!(
        (user.id, user.username.as_str(), user.role()),
        (ann.id, "ann", Role::User)
    );

    let password = "set by the admin".to_owned();
    let request = authenticated(
        SetPasswordRequest {
            user_id,
            password: password.clone(),
        },
        &admin.token,
    );
    let of = client
        .set_password(request)
        .await
        .expect("set")
        .into_inner()
        .user;
    assert_eq!(of.as_ref(), Some(&user));
    let old = client.authorize(authorize(&ann.token, any_user())).await;
    expect_error(old, Code::Unauthenticated, "TOKEN_INVALID");
    let request = LoginRequest {
        username: "ann".into(),
        password: password.clone(),
        otp: None,
    };
    let token = client
        .login(request)
        .await
        .expect("logged in")
        .into_inner()
        .access_token;

    let message = ChangePasswordRequest {
        current_password: password,
        new_password: "own".to_owned(),
    };
    let of = client
        .change_password(authenticated(message, &token))
        .await
        .expect("changed")
        .into_inner();
    assert_eq!(of.user.as_ref(), Some(&user));
    let items = vec![
        authorize(&token, any_user()),
        authorize(&admin.token, any_user()),
    ];
    let request = BatchAuthorizeRequest { items };
    let decided = client
        .batch_authorize(request)
        .await
        .expect("decided")
        .into_inner()
        .outcomes;
    let ended = Outcome::RefusalReason("TOKEN_INVALID".to_owned());
    assert_eq!(
        decided[0].outcome,
        Some(ended),
        "a batch judges as a single decision does"
    );
    assert!(matches!(decided[1].outcome, Some(Outcome::User(_))));

    let request = authenticated(DeleteUserRequest { user_id }, &admin.token);
    let deleted = client
        .delete_user(request)
        .await
        .expect("deleted")
        .into_inner()
        .user;
    assert_eq!(deleted, Some(user));
    assert_eq!(app.database.user("ann").await, None);
}

async fn a_user_is_created_with_a_password_or_a_link_but_not_both(setup: TestSetup) {
    let app = setup.start().await;
    let mut client = client(&app).await;
    let admin = app.admin().await;
    let mut create = async |actor: &str, username: &str, password: &str, password_link| {
        let message = CreateUserRequest {
            username: username.to_owned(),
            password: password.to_owned(),
            password_link,
            ..CreateUserRequest::default()
        };
        client.create_user(authenticated(message, actor)).await
    };
    for actor in [&*admin.token, ""] {
        let both = create(actor, "ann", "sesame", true).await;
        expect_error(both, Code::InvalidArgument, "REQUEST_INVALID");
    }
    assert_eq!(app.database.user("ann").await, None);
    let with_link = create(&admin.token, "ann", "", true).await;
    let with_link = with_link.expect("created").into_inner();
    assert!(with_link.password_link.is_some());
    let with_password = create(&admin.token, "bob", "sesame", false).await;
    let with_password = with_password.expect("created").into_inner();
    assert_eq!(with_password.password_link, None);
    app.try_log_in("bob", "sesame").await.expect(200);
    let neither = create(&admin.token, "eve", "", false).await;
    expect_error(neither, Code::InvalidArgument, "PASSWORD_INVALID");
}

/// Sends requests that fail the expected check and every check after it, which shows the order of
/// the checks.
async fn user_management_calls_check_in_the_order_of_the_contract(setup: TestSetup) {
    let app = setup.start().await;
    let mut client = client(&app).await;
    let (admin, ann) = (app.admin().await, app.user("ann").await);
    let (unknown, of_admin) = (999, admin.id);
    for (actor, user_id, code, reason) in [
        ("", of_admin, Code::Unauthenticated, "TOKEN_INVALID"),
        (
            &*ann.token,
            unknown,
            Code::PermissionDenied,
            "ROLE_INSUFFICIENT",
        ),
        (&*admin.token, unknown, Code::NotFound, "USER_NOT_FOUND"),
        (&*admin.token, i64::MIN, Code::NotFound, "USER_NOT_FOUND"),
    ] {
        let found = client
            .get_user(authenticated(GetUserRequest { user_id }, actor))
            .await;
        expect_error(found, code, reason);
        let deleted = client
            .delete_user(authenticated(DeleteUserRequest { user_id }, actor))
            .await;
        expect_error(deleted, code, reason);
        let message = SetPasswordRequest {
            user_id,
            password: String::new(),
        };
        let set = client.set_password(authenticated(message, actor)).await;
        expect_error(set, code, reason);
    }
    let request = authenticated(DeleteUserRequest { user_id: of_admin }, &admin.token);
    let deleted = client.delete_user(request).await;
    expect_error(deleted, Code::FailedPrecondition, "USER_NOT_DELETABLE");
    let message = SetPasswordRequest {
        user_id: of_admin,
        password: String::new(),
    };
    let set = client
        .set_password(authenticated(message, &admin.token))
        .await;
    expect_error(set, Code::FailedPrecondition, "OWN_PASSWORD");
    let message = SetPasswordRequest {
        user_id: ann.id,
        password: String::new(),
    };
    let set = client
        .set_password(authenticated(message, &admin.token))
        .await;
    expect_error(set, Code::InvalidArgument, "PASSWORD_INVALID");
    for (actor, new, code, reason) in [
        ("", "", Code::Unauthenticated, "TOKEN_INVALID"),
        (&*ann.token, "", Code::InvalidArgument, "PASSWORD_INVALID"),
        (
            &*ann.token,
            "new",
            Code::FailedPrecondition,
            "CURRENT_PASSWORD_WRONG",
        ),
    ] {
        let (current_password, new_password) = ("wrong".to_owned(), new.to_owned());
        let message = ChangePasswordRequest {
            current_password,
            new_password,
        };
        let changed = client.change_password(authenticated(message, actor)).await;
        expect_error(changed, code, reason);
    }
    app.try_log_in("ann", &ann.password).await.expect(200);
}

async fn actor_is_identified_by_the_token_in_the_metadata(setup: TestSetup) {
    let app = setup.start().await;
    let mut client = client(&app).await;
    let (admin, ann) = (app.admin().await, app.user("ann").await);
    let message = SetUserRoleRequest {
        user_id: ann.id,
        role: ADMIN,
        ..SetUserRoleRequest::default()
    };
    let anonymous = client.set_user_role(Request::new(message.clone())).await;
    expect_error(anonymous, Code::Unauthenticated, "TOKEN_INVALID");
    for value in [
        String::new(),
        admin.token.clone(),
        format!("Basic {}", admin.token),
    ] {
        let mut request = Request::new(message.clone());
        request
            .metadata_mut()
            .insert("authorization", value.parse().expect("text"));
        let outcome = client.set_user_role(request).await;
        expect_error(outcome, Code::Unauthenticated, "TOKEN_INVALID");
    }
    let mut twice = authenticated(message.clone(), &ann.token);
    let second = format!("Bearer {}", admin.token).parse().expect("text");
    twice.metadata_mut().append("authorization", second);
    let outcome = client.set_user_role(twice).await;
    expect_error(outcome, Code::Unauthenticated, "TOKEN_INVALID");
    assert_eq!(app.database.user("ann").await.expect("stored").role, "user");
    let (username, password) = ("admin".to_owned(), ADMIN_PASSWORD.to_owned());
    let request = LoginRequest {
        username,
        password,
        otp: None,
    };
    client
        .login(request)
        .await
        .expect("the connection is still good");
}

async fn username_lookup_needs_no_actor_but_rejects_an_invalid_one(setup: TestSetup) {
    let app = setup.start().await;
    let mut client = client(&app).await;
    let (admin, ann) = (app.admin().await, app.user("ann").await);
    let ids = |ids: &[i64]| BatchGetUsersRequest { ids: ids.to_vec() };
    let name = |id, username: &str| UserName {
        id,
        username: username.to_owned(),
    };
    let both = vec![name(admin.id, "admin"), name(ann.id, "ann")];
    for (asked, named) in [
        (vec![], vec![]),
        (vec![ann.id], vec![name(ann.id, "ann")]),
        (
            vec![ann.id, 999, ann.id, -1, admin.id, i64::MAX],
            both.clone(),
        ),
        (vec![999], vec![]),
        (vec![999, 998], vec![]),
        ((1..=256).collect(), both),
    ] {
        let response = client
            .batch_get_users(ids(&asked))
            .await
            .expect("named")
            .into_inner();
        assert_eq!(response.users, named, "{asked:?}");
    }
    let many: Vec<i64> = (1..=257).collect();
    let outcome = client.batch_get_users(ids(&many)).await;
    expect_error(outcome, Code::InvalidArgument, "REQUEST_INVALID");
    client
        .batch_get_users(authenticated(ids(&[1]), &ann.token))
        .await
        .expect("any user may act");
    for actor in ["nonsense", ""] {
        let outcome = client
            .batch_get_users(authenticated(ids(&many), actor))
            .await;
        expect_error(outcome, Code::Unauthenticated, "TOKEN_INVALID");
    }
    app.database.delete("ann").await;
    let outcome = client
        .batch_get_users(authenticated(ids(&[1]), &ann.token))
        .await;
    expect_error(outcome, Code::Unauthenticated, "TOKEN_USER_NOT_FOUND");
}
