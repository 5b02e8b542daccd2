//! `GET /users`: pages of users.

use e2e::{
    Api, TestApp, TestResponse, TestSetup, for_all_deployments, for_one_deployment,
    for_two_deployments,
};
use reqwest::Url;
use serde_json::{Value, json};

for_all_deployments!(users_are_listed_by_id_with_name_and_role_only);
for_two_deployments!(
    pages_have_no_gaps_and_no_overlap,
    username_prefix_is_matched_literally,
    role_filters,
);
for_one_deployment!(out_of_range_parameters_are_rejected);

async fn admin_api(app: &TestApp) -> Api {
    app.bearer.with_token(&app.admin().await.token)
}

async fn list(api: &Api, query: &[(&str, &str)]) -> TestResponse {
    let url = Url::parse_with_params("http://x/users", query).expect("a URL");
    api.get(&format!("/users?{}", url.query().unwrap_or_default())).await
}

async fn names(api: &Api, query: &[(&str, &str)]) -> Vec<String> {
    let response = list(api, query).await;
    let body = response.expect(200).json();
    let users = body["users"].as_array().unwrap_or_else(|| panic!("no users: {response}"));
    users.iter().map(|user| user["username"].as_str().expect("a name").to_owned()).collect()
}

async fn users_are_listed_by_id_with_name_and_role_only(setup: TestSetup) {
    let app = setup.start().await;
    let api = admin_api(&app).await;
    let admin_id = app.admin().await.id;
    let (bob, ann) = (app.user("bob").await, app.user_with_role("ann", "author").await);
    let users = json!([
        { "id": admin_id, "username": "admin", "role": "admin", "disabled": false },
        { "id": bob.id, "username": "bob", "role": "user", "disabled": false },
        { "id": ann.id, "username": "ann", "role": "author", "disabled": false },
    ]);
    api.get("/users").await.expect_json(200, &json!({ "users": users, "next": null }));
}

async fn pages_have_no_gaps_and_no_overlap(setup: TestSetup) {
    let app = setup.start().await;
    let api = admin_api(&app).await;
    for index in 0..54 {
        app.try_register(&format!("user {index:02}"), "pw").await.expect(200);
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
            assert_eq!(users.len().to_string(), limit, "a page that is not the last is full");
            assert_eq!(page["next"].as_i64(), seen.last().copied(), "the last id of the page");
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
    for name in ["ann", "anna", "Ann", "a%", "a_b", "a\\b", "a'b", "an", "änne", "*a"] {
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
        assert_eq!(names(&api, &[("username", prefix)]).await, wanted, "{prefix:?}");
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
    assert_eq!(names(&api, &[("role", "author"), ("username", "be")]).await, ["bea"]);
    for role in ["nonsense", "Admin", "0", "unspecified"] {
        list(&api, &[("role", role)]).await.expect_detail(400, "Invalid role.");
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
    list(&api, &[("limit", "1"), ("limit", "2")]).await.expect_error(400);
    let unknown = list(&api, &[("limit", "1"), ("page", "2")]).await;
    unknown.expect_detail(400, "Query parameter \"page\" is not known.");
}
