//! Posts over HTTP, which authors write and everyone reads.

use e2e::{
    Api, TestApp, TestResponse, TestSetup, TestUser, for_all_deployments, for_one_deployment,
    for_two_deployments,
};
use futures_util::future::join_all;
use reqwest::Method;
use serde_json::{Value, json};

for_all_deployments!(
    author_creates_reads_updates_and_deletes_a_post,
    demoted_author_cannot_write
);
for_two_deployments!(
    author_changes_own_posts_and_admin_changes_all,
    posts_of_a_deleted_user_stay_without_author_name,
    longest_post_is_accepted_in_any_escaping,
    updated_at_increases_with_every_change,
);
for_one_deployment!(
    reading_ignores_credentials,
    checks_run_in_the_documented_order,
    invalid_post_is_rejected_and_changes_nothing,
    id_must_be_an_integer,
);

async fn author(app: &TestApp, name: &str) -> (TestUser, Api) {
    let user = app.user_with_role(name, "author").await;
    let api = app.bearer.with_token(&user.token);
    (user, api)
}

fn draft(title: &str, content: &str) -> Value {
    json!({ "title": title, "content": content })
}

/// Creates a post. Returns its path and the post.
async fn write(api: &Api, title: &str) -> (String, Value) {
    let response = api.post("/posts", &draft(title, "content")).await;
    let post = response.expect(201).json();
    (
        response.header("location").expect("a location").to_owned(),
        post,
    )
}

async fn delete(api: &Api, path: &str) -> TestResponse {
    api.send(api.request(Method::DELETE, path)).await
}

/// Returns whether a value has the form `2026-11-21T06:00:00.000Z`.
fn is_time(value: &Value) -> bool {
    let form = "dddd-dd-ddTdd:dd:dd.dddZ";
    value.as_str().is_some_and(|text| {
        text.len() == form.len()
            && text
                .chars()
                .zip(form.chars())
                .all(|(have, want)| match want {
                    'd' => have.is_ascii_digit(),
                    want => have == want,
                })
    })
}

pub(crate) async fn author_creates_reads_updates_and_deletes_a_post(setup: TestSetup) {
    let app = setup.start().await;
    let (ann, api) = author(&app, "ann").await;
    let response = api
        .post("/posts", &draft("A title", "Line one\n\tline two"))
        .await;
    let post = response.expect(201).json();
    let id = post["id"].as_i64().expect("an id");
    assert!(id >= 1);
    let path = format!("/posts/{id}");
    response.expect_header("location", Some(&path));
    assert!(is_time(&post["created_at"]), "{post}");
    let expected = json!({
        "id": id, "title": "A title", "content": "Line one\n\tline two",
        "author_id": ann.id, "author": "ann",
        "created_at": post["created_at"], "updated_at": post["created_at"],
    });
    response.expect_json(201, &expected);
    app.bearer.get(&path).await.expect_json(200, &expected);
    let list = json!({ "posts": [expected], "next": null });
    app.bearer.get("/posts").await.expect_json(200, &list);

    let response = api.put(&path, &draft("Another", "text")).await;
    let changed = response.expect(200).json();
    assert!(is_time(&changed["updated_at"]), "{changed}");
    assert!(
        changed["updated_at"].as_str() > post["updated_at"].as_str(),
        "{changed}"
    );
    let expected = json!({
        "id": id, "title": "Another", "content": "text", "author_id": ann.id, "author": "ann",
        "created_at": post["created_at"], "updated_at": changed["updated_at"],
    });
    response.expect_json(200, &expected);
    app.bearer.get(&path).await.expect_json(200, &expected);

    delete(&api, &path)
        .await
        .expect_message("Post deleted successfully.");
    app.bearer
        .get(&path)
        .await
        .expect_detail(404, "Post not found.");
    delete(&api, &path)
        .await
        .expect_detail(404, "Post not found.");
    api.put(&path, &draft("t", "c"))
        .await
        .expect_detail(404, "Post not found.");
    assert_ne!(
        write(&api, "the next").await.0,
        path,
        "ids are not given out twice"
    );
}

async fn reading_ignores_credentials(setup: TestSetup) {
    let app = setup.start().await;
    let (ann, api) = author(&app, "ann").await;
    let (path, post) = write(&api, "title").await;
    for reader in [&app.bearer, &app.bearer.with_token("nonsense"), &api] {
        reader.get(&path).await.expect_json(200, &post);
        reader.get("/posts").await.expect(200);
    }
    let basic = app.basic.with_basic("ann", &ann.password);
    basic.get(&path).await.expect_detail(404, "Not Found");
}

async fn author_changes_own_posts_and_admin_changes_all(setup: TestSetup) {
    let app = setup.start().await;
    let ((_, ann), (_, bob)) = (author(&app, "ann").await, author(&app, "bob").await);
    let admin = app.bearer.with_token(&app.admin().await.token);
    let (path, post) = write(&ann, "of ann").await;
    bob.put(&path, &draft("t", "c"))
        .await
        .expect_detail(403, "Insufficient privileges.");
    delete(&bob, &path)
        .await
        .expect_detail(403, "Insufficient privileges.");
    app.bearer.get(&path).await.expect_json(200, &post);

    let changed = admin
        .put(&path, &draft("by the admin", "c"))
        .await
        .expect(200)
        .json();
    assert_eq!(
        (&changed["author"], &changed["author_id"]),
        (&json!("ann"), &post["author_id"])
    );
    ann.put(&path, &draft("by ann", "c")).await.expect(200);
    delete(&admin, &path)
        .await
        .expect_message("Post deleted successfully.");
    let (of_admin, _) = write(&admin, "of the admin").await;
    ann.put(&of_admin, &draft("t", "c"))
        .await
        .expect_detail(403, "Insufficient privileges.");
}

async fn demoted_author_cannot_write(setup: TestSetup) {
    let app = setup.start().await;
    let ((ann, api), admin) = (author(&app, "ann").await, app.admin().await);
    let (path, post) = write(&api, "title").await;
    app.set_role(&admin, &ann, "user").await.expect(200);
    for response in [
        api.post("/posts", &draft("t", "c")).await,
        api.put(&path, &draft("t", "c")).await,
        delete(&api, &path).await,
    ] {
        response.expect_detail(403, "Insufficient privileges.");
    }
    app.bearer.get(&path).await.expect_json(200, &post);
    app.set_role(&admin, &ann, "author").await.expect(200);
    delete(&api, &path).await.expect(200);
}

async fn posts_of_a_deleted_user_stay_without_author_name(setup: TestSetup) {
    let app = setup.start().await;
    let (ann, api) = author(&app, "ann").await;
    let (path, mut post) = write(&api, "title").await;
    app.database.delete("ann").await;
    post["author"] = Value::Null;
    app.bearer.get(&path).await.expect_json(200, &post);
    let by_ann = app
        .bearer
        .get(&format!("/posts?author_id={}", ann.id))
        .await;
    by_ann.expect_json(200, &json!({ "posts": [post], "next": null }));
    delete(&api, &path)
        .await
        .expect_detail(401, "User not found.");
    let admin = app.bearer.with_token(&app.admin().await.token);
    let changed = admin.put(&path, &draft("t", "c")).await.expect(200).json();
    assert_eq!(
        (&changed["author"], changed["author_id"].as_i64()),
        (&Value::Null, Some(ann.id))
    );
}

async fn checks_run_in_the_documented_order(setup: TestSetup) {
    let app = setup.start().await;
    let ((_, ann), (_, bob)) = (author(&app, "ann").await, author(&app, "bob").await);
    let user = app.bearer.with_token(&app.user("some user").await.token);
    let (path, _) = write(&ann, "title").await;
    let broken = async |api: &Api, path: &str| {
        let request = api
            .request(Method::PUT, path)
            .header("content-type", "application/json");
        api.send(request.body("{")).await
    };
    let (anonymous, invalid) = (&app.bearer, draft("", ""));
    broken(anonymous, "/posts/x")
        .await
        .expect_detail(401, "Not authenticated.");
    broken(&user, "/posts/x")
        .await
        .expect_detail(403, "Insufficient privileges.");
    broken(&bob, "/posts/999")
        .await
        .expect_detail(400, "Request body is not valid JSON.");
    broken(&bob, &path)
        .await
        .expect_detail(400, "Request body is not valid JSON.");
    let no_field = "Field \"content\" is required and must be a string.";
    bob.put("/posts/999", &json!({ "title": "" }))
        .await
        .expect_detail(400, no_field);
    bob.put(&path, &json!({ "title": "", "content": 1 }))
        .await
        .expect_detail(400, no_field);
    bob.put("/posts/999", &invalid)
        .await
        .expect_detail(404, "Post not found.");
    bob.put(&path, &invalid)
        .await
        .expect_detail(403, "Insufficient privileges.");
    ann.put(&path, &invalid)
        .await
        .expect_detail(400, "Title must have 1 to 200 characters.");
}

async fn invalid_post_is_rejected_and_changes_nothing(setup: TestSetup) {
    let app = setup.start().await;
    let (_, api) = author(&app, "ann").await;
    let (path, post) = write(&api, "title").await;
    let title_length = "Title must have 1 to 200 characters.";
    let title_control = "Title must not contain control characters.";
    let title_invisible = "Title must not contain invisible or unassigned characters.";
    let content_length = "Content must have 1 to 50000 characters.";
    let (too_long, far_too_long) = ("é".repeat(201), "é".repeat(50_001));
    for (title, content, detail) in [
        ("", "c", title_length),
        (&too_long, "c", title_length),
        ("a\0b", "c", title_control),
        ("a\nb", "c", title_control),
        ("\u{9f}", "c", title_control),
        ("   ", "c", "Title must not be all white space."),
        ("Sale\u{200b}", "c", title_invisible),
        ("\u{202e}elaS", "c", title_invisible),
        ("a\u{2029}b", "c", title_invisible),
        ("t", "", content_length),
        ("t", &far_too_long, content_length),
        ("t", "a\0b", "Content must not contain NUL."),
    ] {
        api.post("/posts", &draft(title, content))
            .await
            .expect_detail(400, detail);
        api.put(&path, &draft(title, content))
            .await
            .expect_detail(400, detail);
    }
    for body in [
        json!([]),
        json!("x"),
        json!({}),
        json!({ "title": 1, "content": "c" }),
    ] {
        api.post("/posts", &body).await.expect_error(400);
        api.put(&path, &body).await.expect_error(400);
    }
    let list = json!({ "posts": [post], "next": null });
    app.bearer.get("/posts").await.expect_json(200, &list);
    for title in [
        "'; DROP TABLE post; --",
        "%_\\",
        "<script>",
        " a ",
        "👩‍👩‍👧",
        "می\u{200c}خواهم",
    ] {
        let (path, post) = write(&api, title).await;
        assert_eq!(post["title"], title);
        app.bearer.get(&path).await.expect_json(200, &post);
    }
}

async fn longest_post_is_accepted_in_any_escaping(setup: TestSetup) {
    let app = setup.start().await;
    let (_, api) = author(&app, "ann").await;
    let send = async |body: String| {
        let request = api
            .request(Method::POST, "/posts")
            .header("content-type", "application/json");
        api.send(request.body(body)).await
    };
    let crab = r"\ud83e\udd80";
    let body = format!(
        r#"{{"title":"{}","content":"{}"}}"#,
        crab.repeat(200),
        crab.repeat(50_000)
    );
    let post = send(body).await.expect(201).json();
    assert_eq!(post["content"], "🦀".repeat(50_000));
    let response = app.bearer.get(&format!("/posts/{}", post["id"])).await;
    response.expect_json(200, &post);
    let body = format!(r#"{{"title":"t","content":"{}"}}"#, "x".repeat(1024 * 1024));
    send(body)
        .await
        .expect_detail(413, "Request body too large.");
}

async fn id_must_be_an_integer(setup: TestSetup) {
    let app = setup.start().await;
    let (_, api) = author(&app, "ann").await;
    let (path, post) = write(&api, "title").await;
    let not_an_integer = "Path parameter \"id\" must be an integer.";
    for id in ["abc", "1.5", "1e3", "%20", "1%00", "0x1"] {
        let path = format!("/posts/{id}");
        api.get(&path).await.expect_detail(400, not_an_integer);
        delete(&api, &path).await.expect_detail(400, not_an_integer);
        api.put(&path, &draft("t", "c"))
            .await
            .expect_detail(400, not_an_integer);
    }
    for id in ["0", "-1", "999999", "9223372036854775808", &"9".repeat(40)] {
        let path = format!("/posts/{id}");
        api.get(&path).await.expect_detail(404, "Post not found.");
        delete(&api, &path)
            .await
            .expect_detail(404, "Post not found.");
        api.put(&path, &draft("t", "c"))
            .await
            .expect_detail(404, "Post not found.");
    }
    app.bearer.get(&path).await.expect_json(200, &post);
}

async fn updated_at_increases_with_every_change(setup: TestSetup) {
    let app = setup.start().await;
    let (_, api) = author(&app, "ann").await;
    let (path, post) = write(&api, "title").await;
    let titles: Vec<String> = (0..16).map(|number| format!("title {number}")).collect();
    let changes = titles.iter().map(async |title| {
        api.put(&path, &draft(title, "content"))
            .await
            .expect(200)
            .json()
    });
    let mut changes = join_all(changes).await;
    changes.sort_by_key(|change| change["updated_at"].to_string());
    let times: Vec<&str> = [&post]
        .into_iter()
        .chain(&changes)
        .filter_map(|post| post["updated_at"].as_str())
        .collect();
    assert_eq!(times.len(), 17);
    assert!(times.is_sorted_by(|one, other| one < other), "{times:?}");
    let last = changes.last().expect("a change");
    app.bearer.get(&path).await.expect_json(200, last);
}
