//! The contract itself, asked with the generated client: what any internal service sees.

use auth_proto::auth_v1::{
    AllowedRoles, AnyAuthenticated, AuthorizeRequest, BatchAuthorizeRequest, BatchGetUsersRequest,
    ChangePasswordRequest, DeleteUserRequest, GetUserRequest, ListUsersRequest, LoginRequest,
    RegisterRequest, Role, SetPasswordRequest, SetUserRoleRequest, UserName,
    VerifyCredentialsRequest, auth_service_client::AuthServiceClient, authorize_outcome::Outcome,
    authorize_request::Requirement,
};
use e2e::{
    ADMIN_PASSWORD, Plan, SIGNING_SECRET, World,
    grpc::{self, acting, expect_refusal},
    in_every_world, token,
};
use tonic::{Code, Request, transport::Channel};

in_every_world!(
    every_call_answers_what_the_contract_says,
    authorize_refuses_a_requirement_that_says_nothing,
    the_stored_role_decides_at_once,
    every_refusal_carries_its_reason,
    hostile_tokens_are_refused_here_too,
    an_actor_is_the_bearer_of_the_token_in_the_metadata,
    a_batch_has_an_outcome_of_its_own_for_each_item,
    calls_that_manage_users_answer_what_the_contract_says,
    calls_that_manage_users_refuse_in_the_order_of_the_contract,
    names_need_no_actor_but_no_bad_one_either,
);

async fn client(world: &World) -> AuthServiceClient<Channel> {
    grpc::client(&world.auth().address("grpc")).await
}

fn roles(roles: &[i32]) -> Requirement {
    Requirement::Roles(AllowedRoles { roles: roles.to_vec() })
}

fn anybody() -> Requirement {
    Requirement::AnyAuthenticated(AnyAuthenticated {})
}

fn authorize(token: &str, requirement: impl Into<Option<Requirement>>) -> AuthorizeRequest {
    AuthorizeRequest { access_token: token.to_owned(), requirement: requirement.into() }
}

const USER: i32 = Role::User as i32;
const AUTHOR: i32 = Role::Author as i32;
const ADMIN: i32 = Role::Admin as i32;

async fn every_call_answers_what_the_contract_says(plan: Plan) {
    let world = plan.start().await;
    let mut client = client(&world).await;
    let (username, password) = ("ann".to_owned(), "pw".to_owned());

    let request = RegisterRequest { username: username.clone(), password: password.clone() };
    let ann = client.register(request).await.expect("registered").into_inner().user;
    let ann = ann.expect("a user");
    assert_eq!((ann.username.as_str(), ann.role()), ("ann", Role::User));
    assert!(ann.id >= 1);

    let request = LoginRequest { username: username.clone(), password: password.clone() };
    let login = client.login(request).await.expect("logged in").into_inner();
    assert_eq!(login.user, Some(ann.clone()));
    assert_eq!(token::claims(&login.access_token)["sub"], ann.id.to_string());

    let request = VerifyCredentialsRequest { username, password };
    let verified = client.verify_credentials(request).await.expect("verified").into_inner();
    assert_eq!(verified.user, Some(ann.clone()));

    let request = authorize(&login.access_token, anybody());
    let passed = client.authorize(request).await.expect("passed").into_inner();
    assert_eq!(passed.user, Some(ann.clone()));

    let admin = world.admin().await;
    let message = SetUserRoleRequest { user_id: ann.id, role: AUTHOR };
    let changed = client.set_user_role(acting(message, &admin.token)).await.expect("changed");
    let changed = changed.into_inner().user.expect("a user");
    assert_eq!((changed.id, changed.role()), (ann.id, Role::Author));

    let page = client.list_users(acting(ListUsersRequest::default(), &admin.token)).await;
    let page = page.expect("listed").into_inner();
    assert_eq!(page.users.len(), 2);
    assert_eq!(page.users[1], changed);
    assert_eq!(page.next_after, None);
    let message = ListUsersRequest { page_size: 1, ..ListUsersRequest::default() };
    let page = client.list_users(acting(message, &admin.token)).await.expect("listed").into_inner();
    assert_eq!(page.next_after, Some(page.users[0].id));
}

async fn authorize_refuses_a_requirement_that_says_nothing(plan: Plan) {
    let world = plan.start().await;
    let mut client = client(&world).await;
    let admin = world.admin().await.token;
    let says_nothing = [&[][..], &[0], &[ADMIN, 0], &[99], &[ADMIN, -1]];
    for requirement in says_nothing.map(|wanted| Some(roles(wanted))).into_iter().chain([None]) {
        // Before anything is said about the token.
        for token in [admin.as_str(), "nonsense", ""] {
            let outcome = client.authorize(authorize(token, requirement.clone())).await;
            expect_refusal(outcome, Code::InvalidArgument, "REQUEST_INVALID");
        }
    }
}

async fn the_stored_role_decides_at_once(plan: Plan) {
    let world = plan.start().await;
    let mut client = client(&world).await;
    let ann = world.user("ann").await;
    for (role, number) in [("user", USER), ("author", AUTHOR), ("admin", ADMIN), ("user", USER)] {
        world.database.set_role("ann", role).await;
        for required in [USER, AUTHOR, ADMIN] {
            let outcome = client.authorize(authorize(&ann.token, roles(&[required]))).await;
            if required == number {
                let user = outcome.expect("the role is enough").into_inner().user.expect("a user");
                assert_eq!(user.role, number);
            } else {
                expect_refusal(outcome, Code::PermissionDenied, "ROLE_INSUFFICIENT");
            }
        }
        let all = authorize(&ann.token, roles(&[USER, AUTHOR, ADMIN, ADMIN]));
        client.authorize(all).await.expect("any role is enough");
    }
    world.database.delete("ann").await;
    for requirement in [anybody(), roles(&[USER])] {
        let outcome = client.authorize(authorize(&ann.token, requirement)).await;
        expect_refusal(outcome, Code::Unauthenticated, "TOKEN_USER_NOT_FOUND");
    }
}

async fn every_refusal_carries_its_reason(plan: Plan) {
    let world = plan.start().await;
    let mut client = client(&world).await;
    let (admin, ann) = (world.admin().await, world.user("ann").await);
    for (username, password, code, reason) in [
        ("ann", "pw", Code::AlreadyExists, "USERNAME_TAKEN"),
        ("a:b", "pw", Code::InvalidArgument, "USERNAME_INVALID"),
        ("", "pw", Code::InvalidArgument, "USERNAME_INVALID"),
        ("bob", "", Code::InvalidArgument, "PASSWORD_INVALID"),
        ("bob", "\0", Code::InvalidArgument, "PASSWORD_INVALID"),
    ] {
        let request = RegisterRequest { username: username.into(), password: password.into() };
        let status = expect_refusal(client.register(request).await, code, reason);
        assert!(!status.message().is_empty(), "the rule is named");
    }
    for (username, password) in [("ann", "wrong"), ("nobody", "wrong"), ("", ""), ("a:b", "\0")] {
        let (username, password) = (username.to_owned(), password.to_owned());
        let request = LoginRequest { username: username.clone(), password: password.clone() };
        let login = client.login(request).await;
        let status = expect_refusal(login, Code::Unauthenticated, "CREDENTIALS_INVALID");
        let request = VerifyCredentialsRequest { username, password };
        let verified = client.verify_credentials(request).await;
        let same = expect_refusal(verified, Code::Unauthenticated, "CREDENTIALS_INVALID");
        assert_eq!(status.message(), same.message());
    }
    // Each is wrong in what comes later too.
    for (actor, user_id, role, code, reason) in [
        ("nonsense", 999, 0, Code::Unauthenticated, "TOKEN_INVALID"),
        (&*ann.token, 999, 0, Code::PermissionDenied, "ROLE_INSUFFICIENT"),
        (&*admin.token, 999, 0, Code::NotFound, "USER_NOT_FOUND"),
        (&*admin.token, -1, ADMIN, Code::NotFound, "USER_NOT_FOUND"),
        (&*admin.token, ann.id, 0, Code::InvalidArgument, "ROLE_INVALID"),
        (&*admin.token, ann.id, 4, Code::InvalidArgument, "ROLE_INVALID"),
    ] {
        let request = acting(SetUserRoleRequest { user_id, role }, actor);
        expect_refusal(client.set_user_role(request).await, code, reason);
    }
    let page =
        |page_size, role| ListUsersRequest { page_size, role, ..ListUsersRequest::default() };
    for (actor, message, code, reason) in [
        ("nonsense", page(201, Some(0)), Code::Unauthenticated, "TOKEN_INVALID"),
        (&*ann.token, page(201, Some(0)), Code::PermissionDenied, "ROLE_INSUFFICIENT"),
        (&*admin.token, page(201, Some(0)), Code::InvalidArgument, "REQUEST_INVALID"),
        (&*admin.token, page(-1, None), Code::InvalidArgument, "REQUEST_INVALID"),
        (&*admin.token, page(200, Some(0)), Code::InvalidArgument, "ROLE_INVALID"),
        (&*admin.token, page(200, Some(77)), Code::InvalidArgument, "ROLE_INVALID"),
    ] {
        expect_refusal(client.list_users(acting(message, actor)).await, code, reason);
    }
}

async fn hostile_tokens_are_refused_here_too(plan: Plan) {
    let world = plan.start().await;
    let mut client = client(&world).await;
    let claims = token::claims_of(world.admin().await.id);
    let mut expired = claims.clone();
    expired["exp"] = token::now().into();
    let none = token::signed(&serde_json::json!({ "alg": "none" }), &claims, SIGNING_SECRET);
    let unsigned = none[..=none.rfind('.').expect("a signature")].to_owned();
    for token in [
        String::new(),
        "nonsense".to_owned(),
        "a.b.c".to_owned(),
        "\0".to_owned(),
        "x".repeat(100_000),
        token::signed(&token::plain_header(), &expired, SIGNING_SECRET),
        token::signed(&token::plain_header(), &claims, "another secret of more than 32 bytes"),
        none,
        unsigned,
    ] {
        for requirement in [anybody(), roles(&[ADMIN])] {
            let outcome = client.authorize(authorize(&token, requirement)).await;
            expect_refusal(outcome, Code::Unauthenticated, "TOKEN_INVALID");
        }
    }
}

async fn an_actor_is_the_bearer_of_the_token_in_the_metadata(plan: Plan) {
    let world = plan.start().await;
    let mut client = client(&world).await;
    let (admin, ann) = (world.admin().await, world.user("ann").await);
    let message = SetUserRoleRequest { user_id: ann.id, role: ADMIN };
    let nobody = client.set_user_role(Request::new(message)).await;
    expect_refusal(nobody, Code::Unauthenticated, "TOKEN_INVALID");
    for value in [String::new(), admin.token.clone(), format!("Basic {}", admin.token)] {
        let mut request = Request::new(message);
        request.metadata_mut().insert("authorization", value.parse().expect("text"));
        let outcome = client.set_user_role(request).await;
        expect_refusal(outcome, Code::Unauthenticated, "TOKEN_INVALID");
    }
    let mut twice = acting(message, &ann.token);
    let second = format!("Bearer {}", admin.token).parse().expect("text");
    twice.metadata_mut().append("authorization", second);
    let outcome = client.set_user_role(twice).await;
    expect_refusal(outcome, Code::Unauthenticated, "TOKEN_INVALID");
    assert_eq!(world.database.user("ann").await.expect("stored").role, "user");
    let request = LoginRequest { username: "admin".into(), password: ADMIN_PASSWORD.into() };
    client.login(request).await.expect("the connection is still good");
}

async fn a_batch_has_an_outcome_of_its_own_for_each_item(plan: Plan) {
    let world = plan.start().await;
    let mut client = client(&world).await;
    let (admin, ann, gone) =
        (world.admin().await, world.user("ann").await, world.user("gone").await);
    world.database.delete("gone").await;
    let items = vec![
        authorize(&ann.token, anybody()),
        authorize("nonsense", anybody()),
        authorize(&ann.token, roles(&[ADMIN])),
        authorize(&admin.token, roles(&[ADMIN])),
        authorize(&gone.token, anybody()),
        authorize(&ann.token, None),
        authorize(&"x".repeat(5000), roles(&[])),
        authorize(&ann.token, roles(&[USER, 0])),
        authorize(&ann.token, roles(&[USER])),
    ];
    let wanted = [
        Ok("ann"),
        Err("TOKEN_INVALID"),
        Err("ROLE_INSUFFICIENT"),
        Ok("admin"),
        Err("TOKEN_USER_NOT_FOUND"),
        Err("REQUEST_INVALID"),
        Err("REQUEST_INVALID"),
        Err("REQUEST_INVALID"),
        Ok("ann"),
    ];
    let request = BatchAuthorizeRequest { items };
    let answer = client.batch_authorize(request).await.expect("decided").into_inner();
    let outcomes: Vec<_> = answer
        .outcomes
        .iter()
        .map(|outcome| match &outcome.outcome {
            Some(Outcome::User(user)) => Ok(user.username.as_str()),
            Some(Outcome::RefusalReason(reason)) => Err(reason.as_str()),
            None => Err("nothing"),
        })
        .collect();
    assert_eq!(outcomes, wanted);

    let many =
        |count| BatchAuthorizeRequest { items: vec![authorize(&ann.token, anybody()); count] };
    for count in [0, 1, 256] {
        let answer = client.batch_authorize(many(count)).await.expect("decided").into_inner();
        assert_eq!(answer.outcomes.len(), count);
    }
    let outcome = client.batch_authorize(many(257)).await;
    expect_refusal(outcome, Code::InvalidArgument, "REQUEST_INVALID");
}

async fn calls_that_manage_users_answer_what_the_contract_says(plan: Plan) {
    let world = plan.start().await;
    let mut client = client(&world).await;
    let (admin, ann) = (world.admin().await, world.user("ann").await);
    let user_id = ann.id;
    let request = acting(GetUserRequest { user_id }, &admin.token);
    let user = client.get_user(request).await.expect("found").into_inner().user.expect("a user");
    assert_eq!((user.id, user.username.as_str(), user.role()), (ann.id, "ann", Role::User));

    let password = "set by the admin".to_owned();
    let request = acting(SetPasswordRequest { user_id, password: password.clone() }, &admin.token);
    let of = client.set_password(request).await.expect("set").into_inner().user;
    assert_eq!(of.as_ref(), Some(&user));
    let old = client.authorize(authorize(&ann.token, anybody())).await;
    expect_refusal(old, Code::Unauthenticated, "TOKEN_INVALID");
    let request = LoginRequest { username: "ann".into(), password: password.clone() };
    let token = client.login(request).await.expect("logged in").into_inner().access_token;

    let message =
        ChangePasswordRequest { current_password: password, new_password: "own".to_owned() };
    let of = client.change_password(acting(message, &token)).await.expect("changed").into_inner();
    assert_eq!(of.user.as_ref(), Some(&user));
    let items = vec![authorize(&token, anybody()), authorize(&admin.token, anybody())];
    let request = BatchAuthorizeRequest { items };
    let decided = client.batch_authorize(request).await.expect("decided").into_inner().outcomes;
    let ended = Outcome::RefusalReason("TOKEN_INVALID".to_owned());
    assert_eq!(decided[0].outcome, Some(ended), "a batch judges as a single decision does");
    assert!(matches!(decided[1].outcome, Some(Outcome::User(_))));

    let request = acting(DeleteUserRequest { user_id }, &admin.token);
    let gone = client.delete_user(request).await.expect("deleted").into_inner().user;
    assert_eq!(gone, Some(user));
    assert_eq!(world.database.user("ann").await, None);
}

/// Each request is wrong in what comes later too.
async fn calls_that_manage_users_refuse_in_the_order_of_the_contract(plan: Plan) {
    let world = plan.start().await;
    let mut client = client(&world).await;
    let (admin, ann) = (world.admin().await, world.user("ann").await);
    let (nobody, of_admin) = (999, admin.id);
    for (actor, user_id, code, reason) in [
        ("", of_admin, Code::Unauthenticated, "TOKEN_INVALID"),
        (&*ann.token, nobody, Code::PermissionDenied, "ROLE_INSUFFICIENT"),
        (&*admin.token, nobody, Code::NotFound, "USER_NOT_FOUND"),
        (&*admin.token, i64::MIN, Code::NotFound, "USER_NOT_FOUND"),
    ] {
        let found = client.get_user(acting(GetUserRequest { user_id }, actor)).await;
        expect_refusal(found, code, reason);
        let deleted = client.delete_user(acting(DeleteUserRequest { user_id }, actor)).await;
        expect_refusal(deleted, code, reason);
        let message = SetPasswordRequest { user_id, password: String::new() };
        let set = client.set_password(acting(message, actor)).await;
        expect_refusal(set, code, reason);
    }
    let request = acting(DeleteUserRequest { user_id: of_admin }, &admin.token);
    let deleted = client.delete_user(request).await;
    expect_refusal(deleted, Code::FailedPrecondition, "USER_NOT_DELETABLE");
    let message = SetPasswordRequest { user_id: ann.id, password: String::new() };
    let set = client.set_password(acting(message, &admin.token)).await;
    expect_refusal(set, Code::InvalidArgument, "PASSWORD_INVALID");
    for (actor, new, code, reason) in [
        ("", "", Code::Unauthenticated, "TOKEN_INVALID"),
        (&*ann.token, "", Code::InvalidArgument, "PASSWORD_INVALID"),
        (&*ann.token, "new", Code::FailedPrecondition, "CURRENT_PASSWORD_WRONG"),
    ] {
        let (current_password, new_password) = ("wrong".to_owned(), new.to_owned());
        let message = ChangePasswordRequest { current_password, new_password };
        let changed = client.change_password(acting(message, actor)).await;
        expect_refusal(changed, code, reason);
    }
    world.try_log_in("ann", &ann.password).await.expect(200);
}

async fn names_need_no_actor_but_no_bad_one_either(plan: Plan) {
    let world = plan.start().await;
    let mut client = client(&world).await;
    let (admin, ann) = (world.admin().await, world.user("ann").await);
    let ids = |ids: &[i64]| BatchGetUsersRequest { ids: ids.to_vec() };
    let name = |id, username: &str| UserName { id, username: username.to_owned() };
    let both = vec![name(admin.id, "admin"), name(ann.id, "ann")];
    for (asked, named) in [
        (vec![], vec![]),
        (vec![ann.id], vec![name(ann.id, "ann")]),
        (vec![ann.id, 999, ann.id, -1, admin.id, i64::MAX], both.clone()),
        (vec![999], vec![]),
        (vec![999, 998], vec![]),
        ((1..=256).collect(), both),
    ] {
        let answer = client.batch_get_users(ids(&asked)).await.expect("named").into_inner();
        assert_eq!(answer.users, named, "{asked:?}");
    }
    let many: Vec<i64> = (1..=257).collect();
    let outcome = client.batch_get_users(ids(&many)).await;
    expect_refusal(outcome, Code::InvalidArgument, "REQUEST_INVALID");
    client.batch_get_users(acting(ids(&[1]), &ann.token)).await.expect("any user may act");
    for actor in ["nonsense", ""] {
        let outcome = client.batch_get_users(acting(ids(&many), actor)).await;
        expect_refusal(outcome, Code::Unauthenticated, "TOKEN_INVALID");
    }
    world.database.delete("ann").await;
    let outcome = client.batch_get_users(acting(ids(&[1]), &ann.token)).await;
    expect_refusal(outcome, Code::Unauthenticated, "TOKEN_USER_NOT_FOUND");
}
