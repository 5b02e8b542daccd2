//! `GET /posts`, which lists posts in pages.

use e2e::{Api, TestApp, TestSetup, for_one_deployment, for_two_deployments};
use serde_json::{Value, json};

for_two_deployments!(
    pages_have_no_gaps_and_no_overlap,
    author_filters,
    page_of_long_posts_is_shorter,
);
for_one_deployment!(out_of_range_parameters_are_rejected);

async fn author(app: &TestApp, name: &str) -> (i64, Api) {
    let user = app.user_with_role(name, "author").await;
    (user.id, app.bearer.with_token(&user.token))
}

async fn write(api: &Api, title: &str, content: &str) -> i64 {
    let response = api
        .post("/posts", &json!({ "title": title, "content": content }))
        .await;
    response.expect(201).json()["id"].as_i64().expect("an id")
}

fn ids(page: &Value) -> Vec<i64> {
    let posts = page["posts"]
        .as_array()
        .unwrap_or_else(|| panic!("no posts: {page}"));
    posts
        .iter()
        .map(|post| post["id"].as_i64().expect("an id"))
        .collect()
}

/// Returns the ids on every page of this query.
async fn pages(api: &Api, query: &str) -> Vec<Vec<i64>> {
    let (mut pages, mut after) = (Vec::new(), String::new());
    loop {
        let page = api
            .get(&format!("/posts?{query}{after}"))
            .await
            .expect(200)
            .json();
        pages.push(ids(&page));
        let last = pages.last().and_then(|page| page.last());
        match &page["next"] {
            Value::Null => return pages,
            next => assert_eq!(next.as_i64(), last.copied(), "the last id of the page"),
        }
        after = format!("&after={}", page["next"]);
    }
}

async fn pages_have_no_gaps_and_no_overlap(setup: TestSetup) {
    let app = setup.start().await;
    let (_, ann) = author(&app, "ann").await;
    app.bearer
        .get("/posts")
        .await
        .expect_json(200, &json!({ "posts": [], "next": null }));
    let mut all = Vec::new();
    for number in 0..52 {
        all.push(write(&ann, &format!("title {number}"), "c").await);
    }
    assert!(all.is_sorted_by(|one, other| one < other), "{all:?}");
    let lengths = |pages: &[Vec<i64>]| pages.iter().map(Vec::len).collect::<Vec<_>>();
    for (query, expected) in [
        ("", &[50, 2][..]),
        ("limit=200", &[52]),
        ("limit=51", &[51, 1]),
        ("limit=52", &[52]),
        ("limit=20", &[20, 20, 12]),
        ("limit=26", &[26, 26]),
    ] {
        let pages = pages(&app.bearer, query).await;
        assert_eq!(lengths(&pages), expected, "{query}");
        assert_eq!(pages.concat(), all, "{query}");
    }
    let beyond = app.bearer.get("/posts?after=9223372036854775807").await;
    beyond.expect_json(200, &json!({ "posts": [], "next": null }));
}

async fn author_filters(setup: TestSetup) {
    let app = setup.start().await;
    let ((ann, by_ann), (bob, by_bob)) = (author(&app, "ann").await, author(&app, "bob").await);
    let mut written = (Vec::new(), Vec::new());
    for number in 0..5 {
        written
            .0
            .push(write(&by_ann, &format!("title {number}"), "c").await);
        written
            .1
            .push(write(&by_bob, &format!("title {number}"), "c").await);
    }
    for limit in [1, 2, 5, 200] {
        let query = format!("limit={limit}&author_id={ann}");
        assert_eq!(
            pages(&app.bearer, &query).await.concat(),
            written.0,
            "{query}"
        );
        let query = format!("limit={limit}&author_id={bob}");
        assert_eq!(
            pages(&app.bearer, &query).await.concat(),
            written.1,
            "{query}"
        );
    }
    let mixed = app.bearer.get("/posts").await.expect(200).json();
    let names = mixed["posts"]
        .as_array()
        .expect("posts")
        .iter()
        .map(|post| &post["author"]);
    assert_eq!(
        names.collect::<Vec<_>>()[..3],
        [&json!("ann"), &json!("bob"), &json!("ann")]
    );
    for unknown in ["0", "999999", "9223372036854775807"] {
        let page = app.bearer.get(&format!("/posts?author_id={unknown}")).await;
        page.expect_json(200, &json!({ "posts": [], "next": null }));
    }
}

async fn page_of_long_posts_is_shorter(setup: TestSetup) {
    let app = setup.start().await;
    let (ann, by_ann) = author(&app, "ann").await;
    let longest = "🦀".repeat(50_000);
    let mut all = Vec::new();
    for _ in 0..12 {
        all.push(write(&by_ann, "long", &longest).await);
    }
    for query in ["limit=200".to_owned(), format!("limit=200&author_id={ann}")] {
        let pages = pages(&app.bearer, &query).await;
        assert_eq!(pages.concat(), all, "{query}");
        let lengths: Vec<_> = pages.iter().map(Vec::len).collect();
        assert_eq!(lengths, [11, 1], "the eleventh brings it to 2 MiB");
    }
    assert_eq!(pages(&app.bearer, "limit=11").await.len(), 2);
    assert_eq!(pages(&app.bearer, "limit=6").await.len(), 2);
}

async fn out_of_range_parameters_are_rejected(setup: TestSetup) {
    let app = setup.start().await;
    let many = "9".repeat(30);
    for name in ["limit", "after", "author_id"] {
        for value in ["abc", "1.5", "-1", "+1", "", "%00", &many] {
            let response = app.bearer.get(&format!("/posts?{name}={value}")).await;
            let detail = response.expect_error(400);
            assert!(detail.contains(&format!("\"{name}\"")), "{detail}");
        }
        let twice = app.bearer.get(&format!("/posts?{name}=1&{name}=1")).await;
        twice.expect_detail(
            400,
            &format!("Query parameter \"{name}\" is given more than once."),
        );
    }
    for limit in ["0", "201"] {
        app.bearer
            .get(&format!("/posts?limit={limit}"))
            .await
            .expect_error(400);
    }
    let unknown = app.bearer.get("/posts?limit=1&page=2").await;
    unknown.expect_detail(400, "Query parameter \"page\" is not known.");
}
