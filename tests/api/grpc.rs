//! The gRPC API of auth-service, called by the generated client.
//!
//! This file checks that every call returns what the contract says and every error has its reason.
//! `users` has the calls that manage users, `api_keys` those about keys, `decisions` has
//! `Authorize`, and `credentials` has `BatchVerifyCredentials`.

mod api_keys;
mod credentials;
mod decisions;
mod users;

use e2e::{
    TestApp, TestSetup, for_all_deployments, for_two_deployments,
    grpc::{self, authenticated, expect_error},
    token,
};
use rolegate_proto::auth_v1::{
    AnyAuthenticated, AuthorizeRequest, GetPasswordPolicyRequest, ListAuditRequest,
    ListUsersRequest, LoginRequest, RegisterRequest, Role, SetUserRoleRequest,
    VerifyCredentialsRequest, auth_service_client::AuthServiceClient,
    authorize_request::Requirement,
};
use tonic::{Code, Request, transport::Channel};
use tonic_types::StatusExt as _;

for_all_deployments!(every_call_returns_what_the_contract_says);
for_two_deployments!(every_error_carries_its_reason);
for_two_deployments!(compressed_messages_and_large_metadata_are_refused_by_their_codes);

pub(crate) async fn client(app: &TestApp) -> AuthServiceClient<Channel> {
    grpc::client(&app.auth().address("grpc")).await
}

fn any_user() -> Requirement {
    Requirement::AnyAuthenticated(AnyAuthenticated {})
}

fn authorize(token: &str, requirement: impl Into<Option<Requirement>>) -> AuthorizeRequest {
    let requirement = requirement.into();
    AuthorizeRequest {
        access_token: token.to_owned(),
        requirement,
        client_address: None,
        from_cookie: false,
    }
}

const AUTHOR: i32 = Role::Author as i32;
const ADMIN: i32 = Role::Admin as i32;

async fn every_call_returns_what_the_contract_says(setup: TestSetup) {
    let app = setup.start().await;
    let mut client = client(&app).await;
    let (username, password) = ("ann".to_owned(), "pw".to_owned());

    let request = RegisterRequest {
        username: username.clone(),
        password: password.clone(),
    };
    let ann = client
        .register(request)
        .await
        .expect("registered")
        .into_inner()
        .user;
    let ann = ann.expect("a user");
    assert_eq!((ann.username.as_str(), ann.role()), ("ann", Role::User));
    assert!(ann.id >= 1);

    let request = LoginRequest {
        username: username.clone(),
        password: password.clone(),
        otp: None,
    };
    let login = client.login(request).await.expect("logged in").into_inner();
    assert_eq!(login.user, Some(ann.clone()));
    assert_eq!(
        token::claims(&login.access_token)["sub"],
        ann.id.to_string()
    );

    let request = VerifyCredentialsRequest {
        username,
        password,
        ..Default::default()
    };
    let verified = client
        .verify_credentials(request)
        .await
        .expect("verified")
        .into_inner();
    assert_eq!(verified.user, Some(ann.clone()));

    let request = authorize(&login.access_token, any_user());
    let passed = client
        .authorize(request)
        .await
        .expect("passed")
        .into_inner();
    assert_eq!(passed.user, Some(ann.clone()));

    let admin = app.admin().await;
    let message = SetUserRoleRequest {
        user_id: ann.id,
        role: AUTHOR,
        ..SetUserRoleRequest::default()
    };
    let changed = client
        .set_user_role(authenticated(message, &admin.token))
        .await
        .expect("changed");
    let changed = changed.into_inner().user.expect("a user");
    assert_eq!((changed.id, changed.role()), (ann.id, Role::Author));

    let page = client
        .list_users(authenticated(ListUsersRequest::default(), &admin.token))
        .await;
    let page = page.expect("listed").into_inner();
    assert_eq!(page.users.len(), 2);
    assert_eq!(page.users[1], changed);
    assert_eq!(page.next_after, None);
    let message = ListUsersRequest {
        page_size: 1,
        ..ListUsersRequest::default()
    };
    let page = client
        .list_users(authenticated(message, &admin.token))
        .await
        .expect("listed")
        .into_inner();
    assert_eq!(page.next_after, Some(page.users[0].id));
}

#[expect(clippy::too_many_lines, reason = "a table of cases")]
async fn every_error_carries_its_reason(setup: TestSetup) {
    let app = setup.start().await;
    let mut client = client(&app).await;
    let (admin, ann) = (app.admin().await, app.user("ann").await);
    for (username, password, code, reason) in [
        ("ann", "pw", Code::AlreadyExists, "USERNAME_TAKEN"),
        ("a:b", "pw", Code::InvalidArgument, "USERNAME_INVALID"),
        ("", "pw", Code::InvalidArgument, "USERNAME_INVALID"),
        ("bob", "", Code::InvalidArgument, "PASSWORD_INVALID"),
        ("bob", "\0", Code::InvalidArgument, "PASSWORD_INVALID"),
    ] {
        let request = RegisterRequest {
            username: username.into(),
            password: password.into(),
        };
        let status = expect_error(client.register(request).await, code, reason);
        assert!(!status.message().is_empty(), "the rule is named");
    }
    for (username, password) in [
        ("ann", "wrong"),
        ("stranger", "wrong"),
        ("", ""),
        ("a:b", "\0"),
    ] {
        let (username, password) = (username.to_owned(), password.to_owned());
        let request = LoginRequest {
            username: username.clone(),
            password: password.clone(),
            otp: None,
        };
        let login = client.login(request).await;
        let status = expect_error(login, Code::Unauthenticated, "CREDENTIALS_INVALID");
        let request = VerifyCredentialsRequest {
            username,
            password,
            ..Default::default()
        };
        let verified = client.verify_credentials(request).await;
        let same = expect_error(verified, Code::Unauthenticated, "CREDENTIALS_INVALID");
        assert_eq!(status.message(), same.message());
    }
    // Each request also fails every check after the expected one, which shows the order of the
    // checks.
    for (actor, user_id, role, code, reason) in [
        ("nonsense", 999, 0, Code::Unauthenticated, "TOKEN_INVALID"),
        (
            &*ann.token,
            999,
            0,
            Code::PermissionDenied,
            "ROLE_INSUFFICIENT",
        ),
        (&*admin.token, 999, 0, Code::NotFound, "USER_NOT_FOUND"),
        (&*admin.token, -1, ADMIN, Code::NotFound, "USER_NOT_FOUND"),
        (
            &*admin.token,
            ann.id,
            0,
            Code::InvalidArgument,
            "ROLE_INVALID",
        ),
        (
            &*admin.token,
            ann.id,
            4,
            Code::InvalidArgument,
            "ROLE_INVALID",
        ),
    ] {
        let request = authenticated(
            SetUserRoleRequest {
                user_id,
                role,
                role_name: String::new(),
            },
            actor,
        );
        expect_error(client.set_user_role(request).await, code, reason);
    }
    let page = |page_size, role| ListUsersRequest {
        page_size,
        role,
        ..ListUsersRequest::default()
    };
    // A number of a later release.
    let of_unknown_order = ListUsersRequest {
        order: 99,
        ..ListUsersRequest::default()
    };
    let of_unknown_events = ListAuditRequest {
        event_group: 99,
        ..ListAuditRequest::default()
    };
    expect_error(
        client
            .list_audit(authenticated(of_unknown_events, &admin.token))
            .await,
        Code::InvalidArgument,
        "REQUEST_INVALID",
    );
    for (actor, message, code, reason) in [
        (
            "nonsense",
            page(201, Some(0)),
            Code::Unauthenticated,
            "TOKEN_INVALID",
        ),
        (
            &*ann.token,
            page(201, Some(0)),
            Code::PermissionDenied,
            "ROLE_INSUFFICIENT",
        ),
        (
            &*admin.token,
            page(201, Some(0)),
            Code::InvalidArgument,
            "REQUEST_INVALID",
        ),
        (
            &*admin.token,
            page(-1, None),
            Code::InvalidArgument,
            "REQUEST_INVALID",
        ),
        (
            &*ann.token,
            of_unknown_order.clone(),
            Code::PermissionDenied,
            "ROLE_INSUFFICIENT",
        ),
        (
            &*admin.token,
            of_unknown_order,
            Code::InvalidArgument,
            "REQUEST_INVALID",
        ),
        (
            &*admin.token,
            page(200, Some(0)),
            Code::InvalidArgument,
            "ROLE_INVALID",
        ),
        (
            &*admin.token,
            page(200, Some(77)),
            Code::InvalidArgument,
            "ROLE_INVALID",
        ),
    ] {
        expect_error(
            client.list_users(authenticated(message, actor)).await,
            code,
            reason,
        );
    }
}

/// The service refuses these calls without looking at them. The error has no reason, so that no
/// client takes it for an answer.
async fn compressed_messages_and_large_metadata_are_refused_by_their_codes(setup: TestSetup) {
    let app = setup.start().await;
    let mut client = client(&app).await;
    let mut ask = async |name: &'static str, value: &str| {
        let mut request = Request::new(GetPasswordPolicyRequest {});
        let value = value.parse().expect("a value of metadata");
        request.metadata_mut().insert(name, value);
        client.get_password_policy(request).await
    };
    for encoding in ["gzip", "deflate", "zstd", "snappy"] {
        let refused = ask("grpc-encoding", encoding).await.expect_err(encoding);
        assert_eq!(refused.code(), Code::Unimplemented, "{refused:?}");
        let accepted = refused.metadata().get("grpc-accept-encoding");
        assert_eq!(accepted.expect("what is accepted"), "identity");
        assert!(refused.get_details_error_info().is_none(), "{refused:?}");
    }
    ask("grpc-encoding", "identity").await.expect("served");
    ask("x-note", &"a".repeat(15_000)).await.expect("served");
    for size in [16 * 1024, 20_000, 60_000] {
        let refused = ask("x-note", &"a".repeat(size)).await.expect_err("refused");
        assert_eq!(refused.code(), Code::ResourceExhausted, "{refused:?}");
        assert!(refused.get_details_error_info().is_none(), "{refused:?}");
    }
    ask("x-note", "a").await.expect("the connection goes on");
}
