//! `GET /users`, which lists users in pages.

use e2e::{
    Api, TestApp, TestResponse, TestSetup, for_all_deployments, for_one_deployment,
    for_two_deployments,
};
use reqwest::{Method, Url};
use serde_json::{Value, json};

for_all_deployments!(users_are_listed_by_id_with_name_and_role_only);
for_two_deployments!(
    pages_have_no_gaps_and_no_overlap,
    username_prefix_is_matched_literally,
    role_filters,
    search_finds_names_with_each_word_whatever_case_and_accents,
    disabled_users_are_listed_apart,
    times_are_listed_on_request,
    lists_are_sorted_in_pages_and_counted,
    filters_find_users_by_how_and_when_they_sign_in,
    users_of_a_group_and_those_whose_account_ends_are_listed,
);
for_one_deployment!(
    out_of_range_parameters_are_rejected,
    malformed_orders_and_positions_are_rejected,
);

async fn admin_api(app: &TestApp) -> Api {
    app.bearer.with_token(&app.admin().await.token)
}

async fn list(api: &Api, query: &[(&str, &str)]) -> TestResponse {
    let url = Url::parse_with_params("http://x/users", query).expect("a URL");
    api.get(&format!("/users?{}", url.query().unwrap_or_default()))
        .await
}

async fn names(api: &Api, query: &[(&str, &str)]) -> Vec<String> {
    let response = list(api, query).await;
    let body = response.expect(200).json();
    let users = body["users"]
        .as_array()
        .unwrap_or_else(|| panic!("no users: {response}"));
    users
        .iter()
        .map(|user| user["username"].as_str().expect("a name").to_owned())
        .collect()
}

async fn users_are_listed_by_id_with_name_and_role_only(setup: TestSetup) {
    let app = setup.start().await;
    let api = admin_api(&app).await;
    let admin_id = app.admin().await.id;
    let (bob, ann) = (
        app.user("bob").await,
        app.user_with_role("ann", "author").await,
    );
    let users = json!([
        { "id": admin_id, "username": "admin", "role": "admin", "disabled": false },
        { "id": bob.id, "username": "bob", "role": "user", "disabled": false },
        { "id": ann.id, "username": "ann", "role": "author", "disabled": false },
    ]);
    api.get("/users")
        .await
        .expect_json(200, &json!({ "users": users, "next": null }));
}

async fn pages_have_no_gaps_and_no_overlap(setup: TestSetup) {
    let app = setup.start().await;
    let api = admin_api(&app).await;
    for index in 0..54 {
        app.try_register(&format!("user {index:02}"), "pw")
            .await
            .expect(200);
    }
    assert_eq!(names(&api, &[]).await.len(), 50, "the default");
    assert_eq!(names(&api, &[("limit", "200")]).await.len(), 55);
    for limit in ["1", "7", "54", "55"] {
        let (mut seen, mut after) = (Vec::new(), None::<String>);
        loop {
            let mut query = vec![("limit", limit)];
            query.extend(after.as_deref().map(|after| ("after", after)));
            let page = list(&api, &query).await.expect(200).json();
            let users = page["users"].as_array().expect("users").clone();
            seen.extend(users.iter().map(|user| user["id"].as_i64().expect("an id")));
            if page["next"] == Value::Null {
                break;
            }
            assert_eq!(
                users.len().to_string(),
                limit,
                "a page that is not the last is full"
            );
            assert_eq!(
                page["next"].as_i64(),
                seen.last().copied(),
                "the last id of the page"
            );
            after = Some(page["next"].to_string());
        }
        assert_eq!(seen.len(), 55, "limit {limit}");
        assert!(seen.is_sorted_by(|one, other| one < other), "{seen:?}");
    }
    let beyond = list(&api, &[("after", "9223372036854775807")]).await;
    beyond.expect_json(200, &json!({ "users": [], "next": null }));
}

async fn username_prefix_is_matched_literally(setup: TestSetup) {
    let app = setup.start().await;
    let api = admin_api(&app).await;
    for name in [
        "ann", "anna", "Ann", "a%", "a_b", "a\\b", "a'b", "an", "änne", "*a",
    ] {
        app.try_register(name, "pw").await.expect(200);
    }
    for (prefix, wanted) in [
        ("ann", &["ann", "anna"][..]),
        ("Ann", &["Ann"]),
        ("a%", &["a%"]),
        ("a_", &["a_b"]),
        ("a\\", &["a\\b"]),
        ("a'", &["a'b"]),
        ("ä", &["änne"]),
        ("*", &["*a"]),
        ("%", &[]),
        ("_", &[]),
        ("' OR 1=1;--", &[]),
        ("stranger", &[]),
    ] {
        assert_eq!(
            names(&api, &[("username", prefix)]).await,
            wanted,
            "{prefix:?}"
        );
    }
    assert_eq!(names(&api, &[("username", "")]).await.len(), 11);
    list(&api, &[("username", "a\0")]).await.expect_error(400);
}

async fn role_filters(setup: TestSetup) {
    let app = setup.start().await;
    let api = admin_api(&app).await;
    app.user("ann").await;
    app.user_with_role("bob", "author").await;
    app.user_with_role("bea", "author").await;
    assert_eq!(names(&api, &[("role", "user")]).await, ["ann"]);
    assert_eq!(names(&api, &[("role", "author")]).await, ["bob", "bea"]);
    assert_eq!(names(&api, &[("role", "admin")]).await, ["admin"]);
    assert_eq!(
        names(&api, &[("role", "author"), ("username", "be")]).await,
        ["bea"]
    );
    for role in ["nonsense", "Admin", "0", "unspecified"] {
        list(&api, &[("role", role)])
            .await
            .expect_detail(400, "Invalid role.");
    }
}

async fn out_of_range_parameters_are_rejected(setup: TestSetup) {
    let app = setup.start().await;
    let api = admin_api(&app).await;
    let many = "9".repeat(30);
    for (name, value) in [
        ("limit", "0"),
        ("limit", "-1"),
        ("limit", "201"),
        ("limit", "1.5"),
        ("limit", "abc"),
        ("limit", &many),
        ("after", "abc"),
        ("after", "1.5"),
    ] {
        list(&api, &[(name, value)]).await.expect_error(400);
    }
    list(&api, &[("limit", "1"), ("limit", "2")])
        .await
        .expect_error(400);
    let unknown = list(&api, &[("limit", "1"), ("page", "2")]).await;
    unknown.expect_detail(400, "Query parameter \"page\" is not known.");
}

async fn search_finds_names_with_each_word_whatever_case_and_accents(setup: TestSetup) {
    let app = setup.start().await;
    let api = admin_api(&app).await;
    for name in [
        "Ärger",
        "bärbel",
        "100%",
        "a_b",
        "[x]",
        "back\\slash",
        "joe*",
    ] {
        app.try_register(name, "pw").await.expect(200);
    }
    for (text, wanted) in [
        ("ÄR", &["Ärger", "bärbel"][..]),
        ("är", &["Ärger", "bärbel"]),
        ("GER", &["Ärger"]),
        ("bar", &["bärbel"]),
        ("el bär", &["bärbel"]),
        ("el arg", &[]),
        ("ADMIN", &["admin"]),
        ("%", &["100%"]),
        ("_", &["a_b"]),
        ("[", &["[x]"]),
        ("\\S", &["back\\slash"]),
        ("*", &["joe*"]),
        (".", &[]),
        ("stranger", &[]),
    ] {
        assert_eq!(names(&api, &[("search", text)]).await, wanted, "{text:?}");
    }
    assert_eq!(names(&api, &[("search", "")]).await.len(), 8);
    let page = list(&api, &[("search", "B"), ("limit", "1")])
        .await
        .expect(200)
        .json();
    assert_eq!(page["users"][0]["username"], "bärbel");
    let next = page["next"].to_string();
    let rest = names(&api, &[("search", "B"), ("after", &next)]).await;
    assert_eq!(rest, ["a_b", "back\\slash"]);
    let prefixed = names(
        &api,
        &[("search", "B"), ("username", "a"), ("role", "user")],
    )
    .await;
    assert_eq!(prefixed, ["a_b"]);
    for text in ["a\0", "\u{7f}", &"x".repeat(256)] {
        list(&api, &[("search", text)]).await.expect_error(400);
    }
}

async fn disabled_users_are_listed_apart(setup: TestSetup) {
    let app = setup.start().await;
    let api = admin_api(&app).await;
    let (ann, _) = (app.user("ann").await, app.user("bob").await);
    let disable = api.request(Method::PATCH, &format!("/users/{}", ann.id));
    api.send(disable.json(&json!({ "disabled": true })))
        .await
        .expect(200);
    assert_eq!(names(&api, &[("disabled", "true")]).await, ["ann"]);
    assert_eq!(
        names(&api, &[("disabled", "false")]).await,
        ["admin", "bob"]
    );
    assert_eq!(
        names(&api, &[("disabled", "true"), ("search", "B")]).await,
        [""; 0]
    );
    for value in ["", "1", "TRUE", "null"] {
        let detail = "Query parameter \"disabled\" must be true or false.";
        list(&api, &[("disabled", value)])
            .await
            .expect_detail(400, detail);
    }
}

async fn times_are_listed_on_request(setup: TestSetup) {
    let app = setup.start().await;
    let api = admin_api(&app).await;
    app.try_register("ann", "pw").await.expect(200);
    app.basic
        .with_basic("ann", "pw")
        .get("/protected")
        .await
        .expect(200);
    let ann = async || {
        let query = [("username", "ann"), ("include", "times")];
        list(&api, &query).await.expect(200).json()["users"][0].clone()
    };
    let before = ann().await;
    assert_eq!(before["last_sign_in_at"], Value::Null, "Basic is no login");
    let created_at = before["created_at"].as_str().expect("a time");
    let is_time = |text: &str| text.starts_with("20") && text.len() == 24 && text.contains(".000Z");
    assert!(is_time(created_at), "{created_at}");
    let login = json!({ "username": "ann", "password": "pw" });
    app.bearer
        .send(app.bearer.request(Method::POST, "/login").json(&login))
        .await
        .expect(200);
    let after = ann().await;
    let last = after["last_sign_in_at"].as_str().expect("a time");
    assert!(last >= created_at && is_time(last), "{last}");
    assert_eq!(after["created_at"], before["created_at"]);
    assert_eq!(after.as_object().expect("a user").len(), 6);
    let body = list(&api, &[("username", "ann")]).await.expect(200).json();
    let plain = json!({ "id": after["id"], "username": "ann", "role": "user", "disabled": false });
    assert_eq!(body, json!({ "users": [plain], "next": null }));
    for value in ["", "all", "times,roles"] {
        let detail = "Query parameter \"include\" must be times, groups or sign_in.";
        list(&api, &[("include", value)])
            .await
            .expect_detail(400, detail);
    }
}

/// Reads all pages of a list with this limit, each from the position that the page before names.
async fn names_on_pages(api: &Api, query: &[(&str, &str)]) -> Vec<String> {
    let mut found = Vec::new();
    let mut after: Option<String> = None;
    loop {
        let mut page = query.to_vec();
        page.push(("limit", "2"));
        if let Some(after) = &after {
            page.push(("after", after));
        }
        found.extend(names(api, &page).await);
        after = match &list(api, &page).await.expect(200).json()["next"] {
            Value::Null => return found,
            Value::String(text) => Some(text.clone()),
            number => Some(number.to_string()),
        };
    }
}

async fn lists_are_sorted_in_pages_and_counted(setup: TestSetup) {
    let app = setup.start().await;
    let api = admin_api(&app).await;
    for name in ["bob", "Ärger", "zoë", "Bob", "anna"] {
        app.try_register(name, "pw").await.expect(200);
    }
    let by_name = ["admin", "anna", "Ärger", "bob", "Bob", "zoë"];
    let sorted = names_on_pages(&api, &[("sort", "username")]).await;
    assert_eq!(sorted, by_name);
    let mut reversed = by_name;
    reversed.reverse();
    let descending = names_on_pages(&api, &[("sort", "-username")]).await;
    assert_eq!(descending, reversed);
    let newest_first = names_on_pages(&api, &[("sort", "-id")]).await;
    assert_eq!(
        newest_first,
        ["anna", "Bob", "zoë", "Ärger", "bob", "admin"]
    );
    let found = names_on_pages(&api, &[("sort", "username"), ("search", "b")]).await;
    assert_eq!(found, ["bob", "Bob"]);

    let page = [("sort", "username"), ("limit", "2"), ("total", "true")];
    let body = list(&api, &page).await.expect(200).json();
    assert_eq!(
        (&body["total"], &body["next"]),
        (&json!(6), &json!("6:anna"))
    );
    let body = list(&api, &[("total", "true"), ("search", "b"), ("limit", "1")])
        .await
        .expect(200)
        .json();
    assert_eq!((&body["total"], &body["next"]), (&json!(2), &json!(2)));
    let body = list(&api, &[("total", "false")]).await.expect(200).json();
    assert_eq!(body.get("total"), None);
}

async fn filters_find_users_by_how_and_when_they_sign_in(setup: TestSetup) {
    let app = setup.start().await;
    let api = admin_api(&app).await;
    app.try_register("ann", "pw").await.expect(200);
    let invite = api.request(Method::POST, "/users");
    api.send(invite.json(&json!({ "username": "bob" })))
        .await
        .expect(201);
    let invited = names(&api, &[("has_password", "false")]).await;
    assert_eq!(invited, ["bob"]);
    let others = names(&api, &[("has_password", "true")]).await;
    assert_eq!(others, ["admin", "ann"]);
    let with_second_factor = names(&api, &[("second_factor", "true")]).await;
    assert_eq!(with_second_factor, [""; 0]);
    let without = names(&api, &[("second_factor", "false")]).await;
    assert_eq!(without.len(), 3);
    let query = [("username", "bob"), ("include", "sign_in")];
    let body = list(&api, &query).await.expect(200).json();
    let bob = &body["users"][0];
    assert_eq!(
        (&bob["second_factor"], &bob["has_password"]),
        (&json!(false), &json!(false))
    );
    for time in ["2020-01-01", "2020-01-01T00:00:00+01:00"] {
        let absent = names(&api, &[("not_since", time)]).await;
        assert!(absent.contains(&"bob".to_owned()), "never: {absent:?}");
    }
    for (name, value) in [
        ("not_since", "March"),
        ("not_since", "2026-02-30"),
        ("not_since", "2026-03-01T00:00:00"),
        ("ends_before", "never"),
        ("has_password", "no"),
        ("second_factor", "1"),
        ("total", "all"),
    ] {
        let refused = list(&api, &[(name, value)]).await;
        assert!(refused.expect_error(400).contains(name), "{name}={value}");
    }
}

async fn users_of_a_group_and_those_whose_account_ends_are_listed(setup: TestSetup) {
    let app = setup.start().await;
    let api = admin_api(&app).await;
    let (ann, bob) = (app.user("ann").await, app.user("bob").await);
    let create = api.request(Method::POST, "/groups");
    let group = api.send(create.json(&json!({ "name": "staff" }))).await;
    let id = group.expect(201).json()["id"].clone();
    let join = api.request(Method::PUT, &format!("/groups/{id}/members/{}", ann.id));
    api.send(join.json(&json!({}))).await.expect(200);
    assert_eq!(names(&api, &[("group", "staff")]).await, ["ann"]);
    for name in ["crew", "Staff", "a b"] {
        let refused = list(&api, &[("group", name)]).await;
        refused.expect_detail(400, "Group name must be that of an existing group.");
    }
    let refused = list(&api, &[("group", "")]).await;
    let rule = "Query parameter \"group\" must be the name of a group.";
    refused.expect_detail(400, rule);
    let end = api.request(Method::PATCH, &format!("/users/{}", bob.id));
    api.send(end.json(&json!({ "until": "2090-06-01T00:00:00Z" })))
        .await
        .expect(200);
    assert_eq!(names(&api, &[("ends_before", "2090-06-02")]).await, ["bob"]);
    let at_the_end = names(&api, &[("ends_before", "2090-06-01")]).await;
    assert_eq!(at_the_end, [""; 0]);
    let sorted = names_on_pages(&api, &[("sort", "until")]).await;
    assert_eq!(sorted, ["bob", "admin", "ann"]);
}

async fn malformed_orders_and_positions_are_rejected(setup: TestSetup) {
    let app = setup.start().await;
    let api = admin_api(&app).await;
    let detail = "Query parameter \"after\" must be the \"next\" of the previous page.";
    for (sort, after) in [
        ("username", "7"),
        ("username", "x:ann"),
        ("username", "7:ann\0"),
        ("until", "7:ann"),
        ("-last_sign_in_at", "7:"),
    ] {
        list(&api, &[("sort", sort), ("after", after)])
            .await
            .expect_detail(400, detail);
    }
    list(&api, &[("sort", "id"), ("after", "7:ann")])
        .await
        .expect_error(400);
    list(&api, &[("sort", "password")]).await.expect_error(400);
}
