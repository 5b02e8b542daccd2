//! `EXTRA_ROLES`: roles that the operator defines, from their assignment to every kind of
//! requirement.

use crate::api_keys::create_key;
use base64::{Engine as _, engine::general_purpose::STANDARD};
use e2e::{
    Api, TestApp, TestSetup, ext_authz, for_all_deployments, for_one_deployment,
    for_two_deployments, grpc,
};
use reqwest::Method;
use rolegate_proto::auth_v1::{
    AllowedRoles, AuthorizeRequest, BatchAuthorizeRequest, Role, VerifyCredentialsRequest,
    authorize_outcome::Outcome, authorize_request::Requirement,
};
use serde_json::json;

for_all_deployments!(an_extra_role_is_assigned_listed_and_required_everywhere);
for_two_deployments!(
    an_unknown_role_in_a_requirement_fails_alone_and_decides_nothing,
    a_stored_role_that_does_not_exist_grants_what_any_user_may,
    a_key_for_an_extra_role_acts_by_the_lower_of_both,
);
for_one_deployment!(names_of_no_role_are_refused_wherever_a_role_is_set);

const EXTRA_ROLES: (&str, &str) = ("EXTRA_ROLES", "editor,auditor");

async fn start(setup: TestSetup) -> TestApp {
    setup.with(EXTRA_ROLES.0, EXTRA_ROLES.1).start().await
}

fn basic(username: &str, password: &str) -> String {
    format!(
        "Basic {}",
        STANDARD.encode(format!("{username}:{password}"))
    )
}

fn item(credential: &str, names: &[&str]) -> AuthorizeRequest {
    let role_names = names.iter().map(|&name| name.to_owned()).collect();
    AuthorizeRequest {
        access_token: credential.to_owned(),
        requirement: Some(Requirement::Roles(AllowedRoles {
            role_names,
            roles: vec![],
            group_names: vec![],
        })),
        client_address: None,
        from_cookie: false,
    }
}

async fn an_extra_role_is_assigned_listed_and_required_everywhere(setup: TestSetup) {
    let app = start(setup).await;
    let (admin, ann) = (app.admin().await, app.user("ann").await);
    let as_admin = app.bearer.with_token(&admin.token);
    let roles = json!({ "roles": ["user", "author", "admin", "editor", "auditor"] });
    as_admin.get("/roles").await.expect_json(200, &roles);
    let refused = app.bearer.with_token(&ann.token).get("/roles").await;
    refused.expect_detail(403, "Insufficient privileges.");
    app.set_role(&admin, &ann, "editor")
        .await
        .expect_message("User role updated successfully.");
    let body = json!({ "username": "eve", "password": "password of eve", "role": "auditor" });
    assert_eq!(
        as_admin.post("/users", &body).await.expect(201).json()["role"],
        "auditor"
    );
    for (role, name) in [("editor", "ann"), ("auditor", "eve")] {
        let page = as_admin
            .get(&format!("/users?role={role}"))
            .await
            .expect(200)
            .json();
        assert_eq!(
            (&page["users"][0]["username"], &page["users"][1]),
            (&json!(name), &json!(null))
        );
    }
    let profile = json!({ "message": "Welcome ann!", "role": "editor" });
    app.bearer
        .with_token(&ann.token)
        .get("/profile")
        .await
        .expect_json(200, &profile);
    for path in ["/author", "/admin"] {
        let refused = app.bearer.with_token(&ann.token).get(path).await;
        refused.expect_detail(403, "Insufficient privileges.");
    }

    let proxy = Api::at(&app.gateway().address("forward"));
    let envoy = ext_authz::client(&app.auth().address("grpc")).await;
    let mut client = grpc::client(&app.auth().address("grpc")).await;
    let header = basic("ann", &ann.password);
    for (roles, passes) in [
        ("editor", true),
        ("auditor,editor", true),
        ("auditor", false),
        ("user,author,admin", false),
    ] {
        for caller in [
            proxy.with_token(&ann.token),
            proxy.with_basic("ann", &ann.password),
        ] {
            let response = caller.get(&format!("/authorize?roles={roles}")).await;
            if passes {
                response
                    .expect(200)
                    .expect_header("rolegate-role", Some("editor"));
            } else {
                response.expect_detail(403, "Insufficient privileges.");
            }
        }
        for authorization in [&format!("Bearer {}", ann.token), &header] {
            let check = ext_authz::check(Some(roles), Some(authorization));
            let decision = ext_authz::decide(&envoy, check).await;
            if passes {
                decision.expect_passed(ann.id, "ann", "editor");
            } else {
                decision.expect_refused(7, 403, "Insufficient privileges.");
            }
        }
        let names: Vec<_> = roles.split(',').collect();
        let outcome = client.authorize(item(&ann.token, &names)).await;
        if passes {
            let user = outcome
                .expect("it passes")
                .into_inner()
                .user
                .expect("a user");
            // A client of the previous version does not know the role, so it reads the role `user`.
            assert_eq!((&*user.role_name, user.role()), ("editor", Role::User));
        } else {
            grpc::expect_error(outcome, tonic::Code::PermissionDenied, "ROLE_INSUFFICIENT");
        }
    }
}

#[expect(
    clippy::too_many_lines,
    reason = "one story, whose later steps depend on the earlier ones"
)]
async fn an_unknown_role_in_a_requirement_fails_alone_and_decides_nothing(setup: TestSetup) {
    let app = start(setup).await;
    let (admin, ann) = (app.admin().await, app.user("ann").await);
    app.set_role(&admin, &ann, "editor").await.expect(200);
    let proxy = Api::at(&app.gateway().address("forward"));
    let detail = "Query parameter \"roles\" must be names of roles, separated by commas.";
    let lists = [
        "edit",
        "editor,edit",
        "edit,admin",
        "editor,",
        "",
        "Editor",
        "*",
        "admin editor",
    ];
    for roles in lists {
        let path = format!("/authorize?roles={roles}");
        // A caller who is not authenticated must learn nothing about the configuration.
        proxy
            .get(&path)
            .await
            .expect_detail(401, "Not authenticated.");
        let refused = proxy.with_token("rgs_x").get(&path).await;
        refused.expect_detail(401, "Invalid or expired token.");
        let refused = proxy.with_basic("ann", "wrong").get(&path).await;
        refused.expect_detail(401, "Invalid username or password.");
        for caller in [
            proxy.with_token(&ann.token),
            proxy.with_basic("ann", &ann.password),
            proxy.with_token(&admin.token),
        ] {
            let refused = caller.get(&path).await;
            refused
                .expect_detail(400, detail)
                .expect_header("rolegate-role", None);
        }
    }

    let mut client = grpc::client(&app.auth().address("grpc")).await;
    for names in [
        &["edit"][..],
        &["editor", "edit"],
        &["admin", ""],
        &["Editor"],
        &[],
    ] {
        let invalid = client.authorize(item(&ann.token, names)).await;
        grpc::expect_error(invalid, tonic::Code::InvalidArgument, "REQUEST_INVALID");
    }
    let items = vec![
        item(&ann.token, &["editor"]),
        item(&ann.token, &["editor", "edit"]),
        item("x", &["edit"]),
        item(&ann.token, &["auditor"]),
        item(&admin.token, &["admin"]),
    ];
    let batch = client
        .batch_authorize(BatchAuthorizeRequest { items })
        .await
        .expect("decided");
    let outcomes = batch
        .into_inner()
        .outcomes
        .into_iter()
        .map(|outcome| match outcome.outcome {
            Some(Outcome::User(user)) => user.role_name,
            Some(Outcome::RefusalReason(reason)) => reason,
            None => panic!("no outcome"),
        });
    let expected = [
        "editor",
        "REQUEST_INVALID",
        "TOKEN_INVALID",
        "ROLE_INSUFFICIENT",
        "admin",
    ];
    assert_eq!(outcomes.collect::<Vec<_>>(), expected);
    let verify = |password: &str| VerifyCredentialsRequest {
        username: "ann".to_owned(),
        password: password.to_owned(),
        role_names: vec!["edit".to_owned()],
        ..Default::default()
    };
    let wrong = client.verify_credentials(verify("wrong")).await;
    grpc::expect_error(wrong, tonic::Code::Unauthenticated, "CREDENTIALS_INVALID");
    let invalid = client.verify_credentials(verify(&ann.password)).await;
    grpc::expect_error(invalid, tonic::Code::InvalidArgument, "REQUEST_INVALID");

    let envoy = ext_authz::client(&app.auth().address("grpc")).await;
    let ask = async |roles: Option<&str>, authorization: &str| {
        ext_authz::decide(&envoy, ext_authz::check(roles, Some(authorization))).await
    };
    let (token, header) = (format!("Bearer {}", ann.token), basic("ann", &ann.password));
    for authorization in [&token, &header] {
        let refused = ask(Some("editor,edit"), authorization).await;
        refused.expect_refused(3, 500, "Internal server error.");
        let missing = ask(None, authorization).await;
        missing.expect_refused(7, 403, "Insufficient privileges.");
    }
    let refused = ask(Some("edit"), "Bearer x").await;
    refused.expect_refused(16, 401, "Invalid or expired token.");
    let names_the_route = |line: &str| {
        line.contains("WARN") && line.contains("/reports") && line.contains("app.example")
    };
    app.auth().logs("the route", names_the_route).await;
}

async fn a_stored_role_that_does_not_exist_grants_what_any_user_may(setup: TestSetup) {
    let app = start(setup).await;
    let (admin, ann) = (app.admin().await, app.user("ann").await);
    app.database.set_role("ann", "removed").await;
    let own = app.bearer.with_token(&ann.token);
    let profile = json!({ "message": "Welcome ann!", "role": "removed" });
    own.get("/profile").await.expect_json(200, &profile);
    assert_eq!(own.get("/me").await.expect(200).json()["role"], "user");
    for path in ["/author", "/admin", "/users"] {
        own.get(path)
            .await
            .expect_detail(403, "Insufficient privileges.");
    }
    let proxy = Api::at(&app.gateway().address("forward"));
    for caller in [
        proxy.with_token(&ann.token),
        proxy.with_basic("ann", &ann.password),
    ] {
        for query in ["", "?roles=user"] {
            let passed = caller.get(&format!("/authorize{query}")).await;
            passed
                .expect(200)
                .expect_header("rolegate-role", Some("user"));
        }
        let denied = caller
            .get("/authorize?roles=editor,auditor,author,admin")
            .await;
        denied.expect_detail(403, "Insufficient privileges.");
        caller
            .get("/authorize?roles=removed")
            .await
            .expect_error(400);
    }
    let form = proxy
        .with_token(&admin.token)
        .request(Method::POST, "/introspect");
    let form = form.header("content-type", "application/x-www-form-urlencoded");
    let active = proxy
        .send(form.body(format!("token={}", ann.token)))
        .await
        .expect(200)
        .json();
    assert_eq!(active["role"], "user");
    let envoy = ext_authz::client(&app.auth().address("grpc")).await;
    let check = ext_authz::check(Some("*"), Some(&format!("Bearer {}", ann.token)));
    ext_authz::decide(&envoy, check)
        .await
        .expect_passed(ann.id, "ann", "user");
    let mut client = grpc::client(&app.auth().address("grpc")).await;
    let user = client
        .authorize(item(&ann.token, &["user"]))
        .await
        .expect("it passes");
    let user = user.into_inner().user.expect("a user");
    let told = (&*user.role_name, &*user.unknown_role_name, user.role());
    assert_eq!(told, ("user", "removed", Role::User));
    // Admins see the stored role and can change it.
    let as_admin = app.bearer.with_token(&admin.token);
    for (path, pointer) in [
        (format!("/users/{}", ann.id), "/role"),
        ("/users".to_owned(), "/users/1/role"),
    ] {
        let body = as_admin.get(&path).await.expect(200).json();
        assert_eq!(body.pointer(pointer), Some(&json!("removed")), "{body}");
    }
    app.set_role(&admin, &ann, "editor").await.expect(200);
    assert_eq!(own.get("/me").await.expect(200).json()["role"], "editor");
}

async fn a_key_for_an_extra_role_acts_by_the_lower_of_both(setup: TestSetup) {
    let app = start(setup).await;
    let (admin, ann) = (app.admin().await, app.user("ann").await);
    let own = app.bearer.with_token(&ann.token);
    let (key, stored) = create_key(&own, &json!({ "name": "a", "role": "editor" })).await;
    assert_eq!(stored["role"], "editor");
    let path = format!("/users/{}/keys", ann.id);
    let body = json!({ "name": "b", "role": "auditor" });
    let made = app
        .bearer
        .with_token(&admin.token)
        .post(&path, &body)
        .await
        .expect(201)
        .json();
    assert_eq!(made["role"], "auditor");
    for (role, acts_as) in [
        ("user", "user"),
        ("editor", "editor"),
        ("auditor", "user"),
        ("author", "user"),
        ("admin", "editor"),
    ] {
        app.set_role(&admin, &ann, role).await.expect(200);
        let me = app.bearer.with_token(&key).get("/me").await;
        assert_eq!(me.expect(200).json()["role"], acts_as, "{role}");
    }
}

async fn names_of_no_role_are_refused_wherever_a_role_is_set(setup: TestSetup) {
    let app = start(setup).await;
    let (admin, ann) = (app.admin().await, app.user("ann").await);
    let as_admin = app.bearer.with_token(&admin.token);
    let long = "x".repeat(33);
    for name in [
        "edit",
        "Editor",
        "editor ",
        "editor,auditor",
        "editor\0",
        "éditor",
        "",
        &long,
    ] {
        app.set_role(&admin, &ann, name)
            .await
            .expect_detail(400, "Invalid role.");
        let body = json!({ "username": "eve", "password": "password of eve", "role": name });
        as_admin
            .post("/users", &body)
            .await
            .expect_detail(400, "Invalid role.");
        let body = json!({ "name": "a", "role": name });
        as_admin
            .post("/profile/keys", &body)
            .await
            .expect_detail(400, "Invalid role.");
        let path = format!("/users/{}/keys", ann.id);
        as_admin
            .post(&path, &body)
            .await
            .expect_detail(400, "Invalid role.");
    }
    as_admin
        .get("/users?role=edit")
        .await
        .expect_detail(400, "Invalid role.");
    assert_eq!(app.database.user("ann").await.expect("stored").role, "user");
}
