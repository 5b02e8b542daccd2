use super::{MAX_PAGE_RESERVATION, PostRequest, PostsResponse, query, respond};
use crate::{endpoints::convert_all, extract::query_params::QueryParams, memory};
use http::StatusCode;
use prost_types::Timestamp;
use rolegate_auth_client::axum::ApiError;
use rolegate_http_server::memory_budget::MemoryBudget;
use rolegate_proto::{
    limits::{MAX_CONTENT_CHARS, MAX_TITLE_CHARS},
    posts_v1::{ListPostsRequest, Post},
};
use serde_json::to_value;
use std::time::Duration;
use utoipa::PartialSchema as _;

fn parse(text: &str) -> Result<ListPostsRequest, ApiError> {
    query(&QueryParams::parse(text)?)
}

#[test]
fn the_schema_has_the_bounds_of_the_contract() {
    let schema = to_value(PostRequest::schema()).expect("a schema");
    let bound = |field: &str| {
        schema["properties"][field]["maxLength"]
            .as_u64()
            .map(usize::try_from)
    };
    assert_eq!(bound("title"), Some(Ok(MAX_TITLE_CHARS)));
    assert_eq!(bound("content"), Some(Ok(MAX_CONTENT_CHARS)));
}

#[test]
fn all_parameters_are_optional() {
    assert_eq!(parse(""), Ok(ListPostsRequest::default()));
    let parsed = parse("limit=1&after=0&author_id=9223372036854775807");
    let expected = ListPostsRequest {
        page_size: 1,
        after: 0,
        author_id: Some(i64::MAX),
    };
    assert_eq!(parsed, Ok(expected));
}

#[test]
fn an_unknown_parameter_is_a_bad_request_that_names_it() {
    for (query, name) in [
        ("page=2", "page"),
        ("Limit=1&limit=1", "Limit"),
        ("limit=0&p%20q", "p q"),
    ] {
        let detail = format!("Query parameter \"{name}\" is not known.");
        assert_eq!(parse(query).expect_err(query).detail(), detail, "{query}");
    }
    let error = format!("{:?}", parse(&"x".repeat(10_000)).expect_err("unknown"));
    assert!(error.len() < 500, "{error}");
}

#[test]
fn invalid_or_repeated_parameter_is_a_bad_request_that_names_it() {
    let ids = ["", "-1", "%2B5", "x", "1.5", "9223372036854775808"];
    let limits = ["", "0", "201", "-1", "ten"];
    for (name, values) in [("limit", &limits[..]), ("after", &ids), ("author_id", &ids)] {
        for value in values
            .iter()
            .copied()
            .chain(["1&author_id=2&limit=1&after=1"])
        {
            let wrong = format!("{name}={value}");
            let error = parse(&wrong).expect_err(&wrong);
            assert_eq!(error.status(), StatusCode::BAD_REQUEST, "{wrong}");
            assert!(format!("{error:?}").contains(name), "{wrong}: {error:?}");
        }
    }
}

/// Returns a page with 2 MiB of this character.
fn page_of(character: char) -> PostsResponse {
    let post = Post {
        id: 1,
        title: "t".to_owned(),
        content: character.to_string().repeat(128 * 1024),
        author_id: 1,
        author: None,
        created_at: Some(Timestamp::default()),
        updated_at: Some(Timestamp::default()),
    };
    PostsResponse {
        posts: convert_all(vec![post; 16]).expect("posts"),
        next: None,
    }
}

#[tokio::test(start_paused = true)]
async fn a_page_of_control_characters_is_built_only_where_its_escapes_have_room() {
    const MIB: usize = 1024 * 1024;
    let budget = MemoryBudget::new("test-escapes", 32 * MIB, Duration::from_secs(5));
    let others = (
        budget.reserve(16 * MIB).await,
        budget.reserve(8 * MIB).await,
    );
    let reserve = || async {
        memory::reserve(&budget, MAX_PAGE_RESERVATION)
            .await
            .expect("free")
    };
    respond(reserve().await, &page_of('x'))
        .await
        .expect("room for plain text");
    let error = respond(reserve().await, &page_of('\u{1}'))
        .await
        .expect_err("no room");
    assert_eq!(error.status(), StatusCode::SERVICE_UNAVAILABLE);
    drop(others);
    let response = respond(reserve().await, &page_of('\u{1}'))
        .await
        .expect("room");
    assert!(budget.reserve(16 * MIB).await.is_some());
    let _rest = budget.reserve(16 * MIB).await;
    assert!(
        budget.reserve(5 * MIB).await.is_none(),
        "12 MiB of JSON are reserved"
    );
    drop(response);
}
