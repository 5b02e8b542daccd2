//! Groups, memberships that end by themselves, and accounts with an end.

use crate::api_keys::create_key;
use e2e::{
    Api, DatabaseClock, TestSetup, TestUser, eventually, ext_authz, for_all_deployments,
    for_one_deployment, for_two_deployments, grpc, timestamp, token, within_bounds,
};
use rolegate_proto::auth_v1::{
    AllowedRoles, AuthorizeRequest, BatchAuthorizeRequest, UserChange, WatchUsersRequest,
    WatchUsersResponse, authorize_outcome::Outcome, authorize_request::Requirement,
    watch_users_response::Item,
};
use serde_json::{Value, json};
use std::time::Duration;
use tonic::Streaming;

for_all_deployments!(a_requirement_names_roles_and_groups_and_any_of_them_admits);
for_two_deployments!(
    groups_and_memberships_are_managed_by_admins,
    a_membership_ends_to_the_second_everywhere,
    an_account_ends_like_a_disabled_one_and_its_tokens_stay_revoked,
    a_key_has_those_of_its_groups_that_its_user_is_in,
    the_error_of_a_group_in_use_names_ten_keys_however_long_their_names_are,
    the_stream_of_changes_has_the_groups_and_the_ends_of_users,
    an_unknown_group_is_an_error_even_beside_a_name_that_admits,
);
for_one_deployment!(
    mistakes_in_requests_about_groups_are_named_in_the_order_of_the_checks,
    keys_of_an_admin_change_groups_but_not_the_access_of_their_user,
);

const UNKNOWN_GROUPS: &str =
    "Query parameter \"groups\" must be names of groups, separated by commas.";
const UNKNOWN_ROLES: &str =
    "Query parameter \"roles\" must be names of roles, separated by commas.";

/// Creates a group, and returns its id.
async fn create_group(admin: &Api, name: &str) -> i64 {
    let response = admin.post("/groups", &json!({ "name": name })).await;
    let id = response.expect(201).json()["id"].as_i64().expect("an id");
    response
        .expect_json(201, &json!({ "id": id, "name": name }))
        .expect_header("location", Some(&format!("/groups/{id}")));
    id
}

async fn join(admin: &Api, group: i64, user: &TestUser) {
    let path = format!("/groups/{group}/members/{}", user.id);
    admin
        .put(&path, &json!({}))
        .await
        .expect_message("Membership saved.");
}

/// Returns a time this many seconds from now, in RFC 3339.
fn after(seconds: u64) -> String {
    timestamp(token::now() + seconds)
}

async fn groups_and_memberships_are_managed_by_admins(setup: TestSetup) {
    let app = setup.start().await;
    let (admin, ann, bob) = (
        app.admin().await,
        app.user("ann").await,
        app.user("bob").await,
    );
    let as_admin = app.bearer.with_token(&admin.token);
    let as_ann = app.bearer.with_token(&ann.token);
    let empty = json!({ "groups": [], "next": null });
    as_admin.get("/groups").await.expect_json(200, &empty);
    let staff = create_group(&as_admin, "staff").await;
    let crew = create_group(&as_admin, "crew").await;
    as_admin
        .post("/groups", &json!({ "name": "staff" }))
        .await
        .expect_detail(400, "Group already exists.");
    join(&as_admin, staff, &bob).await;
    join(&as_admin, staff, &ann).await;
    let until = after(3600);
    let membership = format!("/groups/{crew}/members/{}", ann.id);
    as_admin
        .put(&membership, &json!({ "until": until }))
        .await
        .expect_message("Membership saved.");
    let shown = until.replace('Z', ".000Z");
    let own = json!({ "groups": [
        { "id": staff, "name": "staff", "until": null },
        { "id": crew, "name": "crew", "until": shown },
    ] });
    as_ann.get("/profile/groups").await.expect_json(200, &own);
    let path = format!("/users/{}/groups", ann.id);
    as_admin.get(&path).await.expect_json(200, &own);
    as_ann
        .get(&path)
        .await
        .expect_detail(403, "Insufficient privileges.");
    assert_eq!(
        as_ann.get("/me").await.expect(200).json()["groups"],
        json!(["crew", "staff"])
    );
    let page = json!({ "groups": [{ "id": staff, "name": "staff", "members": 2 }], "next": staff });
    as_admin
        .get("/groups?limit=1")
        .await
        .expect_json(200, &page);
    let page = json!({ "groups": [{ "id": crew, "name": "crew", "members": 1 }], "next": null });
    let rest = format!("/groups?after={staff}");
    as_admin.get(&rest).await.expect_json(200, &page);
    let group = json!({ "id": crew, "name": "crew", "members": 1 });
    let path = format!("/groups/{crew}");
    as_admin.get(&path).await.expect_json(200, &group);
    let members = json!({
        "members": [{ "user_id": ann.id, "username": "ann", "until": null }],
        "next": ann.id,
    });
    let path = format!("/groups/{staff}/members?limit=1");
    as_admin.get(&path).await.expect_json(200, &members);
    let listed = as_admin
        .get("/users?username=ann&include=groups")
        .await
        .expect(200)
        .json();
    let user = &listed["users"][0];
    assert_eq!(
        (&user["groups"], &user["until"]),
        (&json!(["crew", "staff"]), &json!(null))
    );
    let listed = as_admin.get("/users?username=ann").await.expect(200).json();
    assert!(listed["users"][0].get("groups").is_none());
    as_admin
        .delete(&membership)
        .await
        .expect_message("Membership removed.");
    as_admin
        .delete(&membership)
        .await
        .expect_detail(404, "Membership not found.");
    as_admin
        .delete(&format!("/groups/{staff}"))
        .await
        .expect_message("Group deleted.");
    let none = json!({ "groups": [] });
    as_ann.get("/profile/groups").await.expect_json(200, &none);
    assert_eq!(
        as_ann.get("/me").await.expect(200).json()["groups"],
        json!([])
    );
}

fn allowed(roles: &[&str], groups: &[&str]) -> Requirement {
    let names = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
    Requirement::Roles(AllowedRoles {
        roles: Vec::new(),
        role_names: names(roles),
        group_names: names(groups),
    })
}

/// A requirement, and whether a member of `staff` with the role `user` meets it.
type Case = (&'static [&'static str], &'static [&'static str], bool);

async fn a_requirement_names_roles_and_groups_and_any_of_them_admits(setup: TestSetup) {
    let app = setup.start().await;
    let (admin, ann) = (app.admin().await, app.user("ann").await);
    let as_admin = app.bearer.with_token(&admin.token);
    let staff = create_group(&as_admin, "staff").await;
    create_group(&as_admin, "crew").await;
    join(&as_admin, staff, &ann).await;
    let proxy = Api::at(&app.gateway().address("forward"));
    let envoy = ext_authz::client(&app.auth().address("grpc")).await;
    let mut client = grpc::client(&app.auth().address("grpc")).await;
    let cases: [Case; 6] = [
        (&[], &["staff"], true),
        (&[], &["crew", "staff"], true),
        (&[], &["crew"], false),
        (&["author"], &["staff"], true),
        (&["user"], &["crew"], true),
        (&["author", "admin"], &["crew"], false),
    ];
    let mut items = Vec::new();
    for (roles, groups, passes) in cases {
        let mut query = format!("/authorize?groups={}", groups.join(","));
        if !roles.is_empty() {
            query = format!("{query}&roles={}", roles.join(","));
        }
        for caller in [
            proxy.with_token(&ann.token),
            proxy.with_basic("ann", &ann.password),
        ] {
            let response = caller.get(&query).await;
            if passes {
                response
                    .expect(200)
                    .expect_header("rolegate-groups", Some("staff"))
                    .expect_header("remote-groups", Some("staff"));
            } else {
                response.expect_detail(403, "Insufficient privileges.");
            }
        }
        let mut check = ext_authz::check(None, Some(&format!("Bearer {}", ann.token)));
        let extensions = &mut check
            .attributes
            .as_mut()
            .expect("attributes")
            .context_extensions;
        extensions.insert("groups".to_owned(), groups.join(","));
        if !roles.is_empty() {
            extensions.insert("roles".to_owned(), roles.join(","));
        }
        let decision = ext_authz::decide(&envoy, check).await;
        assert_eq!(decision.code, if passes { 0 } else { 7 }, "{decision:?}");
        items.push(AuthorizeRequest {
            access_token: ann.token.clone(),
            requirement: Some(allowed(roles, groups)),
            client_address: None,
            from_cookie: false,
        });
    }
    let batch = BatchAuthorizeRequest { items };
    let outcomes = client
        .batch_authorize(batch)
        .await
        .expect("decided")
        .into_inner()
        .outcomes;
    let passed: Vec<bool> = outcomes
        .into_iter()
        .map(|outcome| match outcome.outcome {
            Some(Outcome::User(user)) => {
                assert_eq!(user.group_names, ["staff"]);
                true
            }
            _ => false,
        })
        .collect();
    assert_eq!(passed, cases.map(|(_, _, passes)| passes));
    // No role includes a group.
    proxy
        .with_token(&admin.token)
        .get("/authorize?groups=staff")
        .await
        .expect_detail(403, "Insufficient privileges.");
    let response = proxy.with_token(&admin.token).get("/authorize").await;
    response
        .expect(200)
        .expect_header("rolegate-groups", Some(""))
        .expect_header("remote-groups", Some(""));
}

async fn an_unknown_group_is_an_error_even_beside_a_name_that_admits(setup: TestSetup) {
    let app = setup.start().await;
    let (admin, ann) = (app.admin().await, app.user("ann").await);
    let as_admin = app.bearer.with_token(&admin.token);
    let staff = create_group(&as_admin, "staff").await;
    join(&as_admin, staff, &ann).await;
    let proxy = Api::at(&app.gateway().address("forward"));
    for caller in [
        proxy.with_token(&ann.token),
        proxy.with_basic("ann", &ann.password),
    ] {
        for query in [
            "staff,nobody",
            "nobody",
            "",
            "*",
            "staff,",
            "staff, crew",
            "Staff",
        ] {
            let response = caller.get(&format!("/authorize?groups={query}")).await;
            response.expect_detail(400, UNKNOWN_GROUPS);
        }
        let response = caller.get("/authorize?roles=user&groups=nobody").await;
        response.expect_detail(400, UNKNOWN_GROUPS);
        for query in [
            "roles=nobody&groups=staff",
            "roles=*&groups=staff",
            "roles=&groups=staff",
        ] {
            let response = caller.get(&format!("/authorize?{query}")).await;
            response.expect_detail(400, UNKNOWN_ROLES);
        }
    }
    let stranger = proxy.with_token("x").get("/authorize?groups=nobody").await;
    stranger.expect_detail(401, "Invalid or expired token.");
    let envoy = ext_authz::client(&app.auth().address("grpc")).await;
    for (roles, groups) in [
        (None, "nobody"),
        (Some("user"), "nobody"),
        (Some("*"), "staff"),
        (Some(""), "staff"),
        (None, ""),
    ] {
        let mut check = ext_authz::check(roles, Some(&format!("Bearer {}", ann.token)));
        let extensions = &mut check
            .attributes
            .as_mut()
            .expect("attributes")
            .context_extensions;
        extensions.insert("groups".to_owned(), groups.to_owned());
        let decision = ext_authz::decide(&envoy, check).await;
        assert_eq!(
            decision.http_status, 500,
            "{roles:?} {groups:?}: {decision:?}"
        );
    }
}

async fn a_membership_ends_to_the_second_everywhere(setup: TestSetup) {
    let app = setup.start().await;
    let (admin, ann) = (app.admin().await, app.user("ann").await);
    let as_admin = app.bearer.with_token(&admin.token);
    let staff = create_group(&as_admin, "staff").await;
    let proxy = Api::at(&app.gateway().address("forward")).with_token(&ann.token);
    let mut clock = DatabaseClock::open(&app.database).await;
    let until = clock.now().await.as_secs() + 3;
    let body = json!({ "until": timestamp(until) });
    let path = format!("/groups/{staff}/members/{}", ann.id);
    as_admin
        .put(&path, &body)
        .await
        .expect_message("Membership saved.");
    proxy.get("/authorize?groups=staff").await.expect(200);
    loop {
        let asked_at = clock.now().await;
        let response = proxy.get("/authorize?groups=staff").await;
        if asked_at >= Duration::from_secs(until) {
            response.expect_detail(403, "Insufficient privileges.");
            break;
        }
    }
    let nobody = json!({ "members": [], "next": null });
    let members = format!("/groups/{staff}/members");
    as_admin.get(&members).await.expect_json(200, &nobody);
    let own = app
        .bearer
        .with_token(&ann.token)
        .get("/profile/groups")
        .await;
    own.expect_json(200, &json!({ "groups": [] }));
    as_admin
        .delete(&path)
        .await
        .expect_detail(404, "Membership not found.");
}

async fn an_account_ends_like_a_disabled_one_and_its_tokens_stay_revoked(setup: TestSetup) {
    let app = setup.start().await;
    let (admin, ann) = (app.admin().await, app.user("ann").await);
    let as_admin = app.bearer.with_token(&admin.token);
    let as_ann = app.bearer.with_token(&ann.token);
    let path = format!("/users/{}", ann.id);
    let last = as_admin
        .patch(
            &format!("/users/{}", admin.id),
            &json!({ "until": after(60) }),
        )
        .await;
    last.expect_detail(400, "The last admin cannot be removed.");
    let session = ann.session(&app.bearer).await.token;
    let response = as_admin.patch(&path, &json!({ "until": after(3) })).await;
    assert_eq!(response.expect(200).json()["disabled"], false);
    as_ann.get("/profile").await.expect(200);
    eventually("the account ends", async || {
        let response = as_ann.get("/profile").await;
        (response.status == 401).then_some(())
    })
    .await;
    as_ann
        .get("/profile")
        .await
        .expect_detail(401, "User not found.");
    app.try_log_in("ann", &ann.password)
        .await
        .expect_detail(401, "Invalid username or password.");
    let listed = as_admin
        .get("/users?disabled=true&include=groups")
        .await
        .expect(200)
        .json();
    assert_eq!(listed["users"][0]["username"], "ann");
    let response = as_admin.patch(&path, &json!({ "until": null })).await;
    assert_eq!(response.expect(200).json()["disabled"], false);
    for token in [&ann.token, &session] {
        let response = app.bearer.with_token(token).get("/profile").await;
        response.expect_detail(401, "Invalid or expired token.");
    }
    app.try_log_in("ann", &ann.password).await.expect(200);
}

async fn a_key_has_those_of_its_groups_that_its_user_is_in(setup: TestSetup) {
    let app = setup.start().await;
    let (admin, ann) = (app.admin().await, app.user("ann").await);
    let as_admin = app.bearer.with_token(&admin.token);
    let as_ann = app.bearer.with_token(&ann.token);
    let staff = create_group(&as_admin, "staff").await;
    let crew = create_group(&as_admin, "crew").await;
    join(&as_admin, staff, &ann).await;
    let body = json!({ "name": "ci", "groups": ["staff", "crew"] });
    let (named, shown) = create_key(&as_ann, &body).await;
    assert_eq!(shown["groups"], json!(["crew", "staff"]));
    let body = json!({ "name": "bounded", "role": "user" });
    let (bounded, shown) = create_key(&as_ann, &body).await;
    assert_eq!(shown["groups"], json!(null));
    let (unbounded, _) = create_key(&as_ann, &json!({ "name": "all" })).await;
    let (none, shown) = create_key(&as_ann, &json!({ "name": "none", "groups": [] })).await;
    assert_eq!(shown["groups"], json!([]));
    let expect = async |key: &str, groups: Value| {
        let me = app
            .bearer
            .with_token(key)
            .get("/me")
            .await
            .expect(200)
            .json();
        assert_eq!(me["groups"], groups);
    };
    expect(&named, json!(["staff"])).await;
    expect(&bounded, json!([])).await;
    expect(&unbounded, json!(["staff"])).await;
    expect(&none, json!([])).await;
    join(&as_admin, crew, &ann).await;
    expect(&named, json!(["crew", "staff"])).await;
    let unknown = json!({ "name": "ci", "groups": ["staff", "nobody"] });
    as_ann
        .post("/profile/keys", &unknown)
        .await
        .expect_detail(400, "API key groups must be names of groups.");
    as_admin
        .delete(&format!("/groups/{crew}"))
        .await
        .expect_detail(400, "Group is named by API keys: ci (ann).");
    as_ann.delete("/profile/keys").await.expect(200);
    as_admin
        .delete(&format!("/groups/{crew}"))
        .await
        .expect_message("Group deleted.");
}

async fn mistakes_in_requests_about_groups_are_named_in_the_order_of_the_checks(setup: TestSetup) {
    let app = setup.start().await;
    let (admin, ann) = (app.admin().await, app.user("ann").await);
    let as_admin = app.bearer.with_token(&admin.token);
    let staff = create_group(&as_admin, "staff").await;
    for name in [
        "",
        "Staff",
        "1st",
        "a b",
        "admin",
        "author",
        &"z".repeat(33),
    ] {
        let response = as_admin.post("/groups", &json!({ "name": name })).await;
        assert!(
            response.expect(400).json()["detail"]
                .to_string()
                .contains("Group name must ")
        );
    }
    let path = |group: i64, user: i64| format!("/groups/{group}/members/{user}");
    let past = json!({ "until": "2020-01-01T00:00:00Z" });
    for (target, body, status, detail) in [
        (
            path(999, ann.id),
            json!({ "untill": "x" }),
            400,
            "Field \"untill\" is not known.",
        ),
        (path(999, 999), past.clone(), 404, "Group not found."),
        (path(staff, 999), past.clone(), 404, "User not found."),
        (path(staff, ann.id), past, 400, "End must be in the future."),
        (
            path(staff, ann.id),
            json!({ "until": "+10000-01-01T00:00:00Z" }),
            400,
            "Field \"until\" must be a time in RFC 3339, such as 2030-01-31T00:00:00Z.",
        ),
        (
            path(staff, ann.id),
            json!({ "until": 7 }),
            400,
            "Field \"until\" must be a string.",
        ),
    ] {
        as_admin
            .put(&target, &body)
            .await
            .expect_detail(status, detail);
    }
    as_admin
        .put(&path(staff, ann.id), &json!(null))
        .await
        .expect_message("Membership saved.");
    let nothing = as_admin
        .patch(&format!("/users/{}", ann.id), &json!({}))
        .await;
    nothing.expect_detail(
        400,
        "Field \"username\", \"disabled\" or \"until\" is required.",
    );
    let response = as_admin.get("/groups/x").await;
    response.expect_detail(400, "Path parameter \"group_id\" must be an integer.");
    let unknown = as_admin.get("/users?include=times,roles").await;
    unknown.expect(400);
}

async fn keys_of_an_admin_change_groups_but_not_the_access_of_their_user(setup: TestSetup) {
    let app = setup.start().await;
    let (admin, ann) = (app.admin().await, app.user("ann").await);
    let as_admin = app.bearer.with_token(&admin.token);
    let (key, _) = create_key(&as_admin, &json!({ "name": "terraform" })).await;
    let by_key = app.bearer.with_token(&key);
    let staff = create_group(&by_key, "staff").await;
    join(&by_key, staff, &ann).await;
    let own = format!("/groups/{staff}/members/{}", admin.id);
    for response in [
        by_key.put(&own, &json!({})).await,
        by_key.delete(&own).await,
        by_key
            .patch(&format!("/users/{}", admin.id), &json!({ "until": null }))
            .await,
    ] {
        response.expect_detail(403, "Insufficient privileges.");
    }
}

async fn the_error_of_a_group_in_use_names_ten_keys_however_long_their_names_are(setup: TestSetup) {
    let app = setup.start().await;
    let (admin, ann) = (app.admin().await, app.user("ann").await);
    let as_admin = app.bearer.with_token(&admin.token);
    let as_ann = app.bearer.with_token(&ann.token);
    let staff = create_group(&as_admin, "staff").await;
    // The error travels in a header of gRPC, where each of these characters needs 12 bytes.
    let name = "\u{1d11e}".repeat(100);
    for _ in 0..11 {
        let body = json!({ "name": name, "groups": ["staff", "staff"] });
        let (_, shown) = create_key(&as_ann, &body).await;
        assert_eq!(shown["groups"], json!(["staff"]));
    }
    let key = format!("{}… (ann)", "\u{1d11e}".repeat(20));
    let keys = [&*key; 10].join(", ");
    as_admin
        .delete(&format!("/groups/{staff}"))
        .await
        .expect_detail(
            400,
            &format!("Group is named by API keys: {keys} and 1 more."),
        );
}

/// Returns the groups and the end of a change as the JSON of this API would show them.
fn shown(change: &UserChange) -> Value {
    let groups = change.groups.as_ref().expect("groups").groups.iter();
    let groups: Vec<Value> = groups
        .map(|group| json!({ "name": group.name, "until": group.until.map(|end| end.seconds) }))
        .collect();
    json!({ "groups": groups, "until": change.until })
}

/// Returns the next change of this user on the stream.
async fn next_change(stream: &mut Streaming<WatchUsersResponse>, user_id: i64) -> UserChange {
    loop {
        let message = within_bounds("a change", stream.message()).await;
        let item = message.expect("no error").expect("no end").item;
        if let Some(Item::Change(change)) = item
            && change.user_id == user_id
        {
            return change;
        }
    }
}

async fn the_stream_of_changes_has_the_groups_and_the_ends_of_users(setup: TestSetup) {
    let app = setup.start().await;
    let (admin, ann) = (app.admin().await, app.user("ann").await);
    let as_admin = app.bearer.with_token(&admin.token);
    let staff = create_group(&as_admin, "staff").await;
    let crew = create_group(&as_admin, "crew").await;
    join(&as_admin, staff, &ann).await;
    let request = grpc::authenticated(WatchUsersRequest::default(), &admin.token);
    let mut client = grpc::client(&app.auth().address("grpc")).await;
    let mut stream = client
        .watch_users(request)
        .await
        .expect("a stream")
        .into_inner();
    let of_staff = json!({ "name": "staff", "until": null });
    let snapshot = next_change(&mut stream, ann.id).await;
    assert_eq!(
        shown(&snapshot),
        json!({ "groups": [of_staff], "until": null })
    );

    let until = token::now() + 3600;
    let membership = format!("/groups/{crew}/members/{}", ann.id);
    as_admin
        .put(&membership, &json!({ "until": timestamp(until) }))
        .await
        .expect(200);
    let joined = next_change(&mut stream, ann.id).await;
    let of_crew = json!({ "name": "crew", "until": until });
    let expected = json!({ "groups": [of_crew, of_staff], "until": null });
    assert_eq!(shown(&joined), expected);

    let user = format!("/users/{}", ann.id);
    as_admin
        .patch(&user, &json!({ "until": timestamp(until) }))
        .await
        .expect(200);
    let ending = next_change(&mut stream, ann.id).await;
    let expected = json!({ "groups": [of_crew, of_staff], "until": until });
    assert_eq!((shown(&ending), ending.disabled), (expected, false));

    as_admin
        .delete(&format!("/groups/{staff}"))
        .await
        .expect(200);
    let left = next_change(&mut stream, ann.id).await;
    assert_eq!(shown(&left), json!({ "groups": [of_crew], "until": until }));

    as_admin.delete(&user).await.expect(200);
    let deleted = next_change(&mut stream, ann.id).await;
    assert_eq!(
        (shown(&deleted), deleted.deleted),
        (json!({ "groups": [], "until": null }), true)
    );
}
