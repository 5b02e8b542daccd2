use super::query;
use crate::extract::pagination::QueryParams;
use http::StatusCode;
use rolegate_auth_client::axum::ApiError;
use rolegate_posts_client::PostQuery;

fn parse(text: &str) -> Result<PostQuery, ApiError> {
    query(&QueryParams::parse(text)?)
}

#[test]
fn all_parameters_are_optional() {
    assert_eq!(parse(""), Ok(PostQuery::default()));
    let parsed = parse("limit=1&after=0&author_id=9223372036854775807");
    let expected = PostQuery { limit: Some(1), after: Some(0), author_id: Some(i64::MAX) };
    assert_eq!(parsed, Ok(expected));
}

#[test]
fn an_unknown_parameter_is_a_bad_request_that_names_it() {
    for (query, name) in
        [("page=2", "page"), ("Limit=1&limit=1", "Limit"), ("limit=0&p%20q", "p q")]
    {
        let detail = format!("Query parameter \"{name}\" is not known.");
        assert_eq!(parse(query), Err(ApiError::bad_request(detail)), "{query}");
    }
    let error = format!("{:?}", parse(&"x".repeat(10_000)).expect_err("unknown"));
    assert!(error.len() < 500, "{error}");
}

#[test]
fn invalid_or_repeated_parameter_is_a_bad_request_that_names_it() {
    let ids = ["", "-1", "%2B5", "x", "1.5", "9223372036854775808"];
    let limits = ["", "0", "201", "-1", "ten"];
    for (name, values) in [("limit", &limits[..]), ("after", &ids), ("author_id", &ids)] {
        for value in values.iter().copied().chain(["1&author_id=2&limit=1&after=1"]) {
            let wrong = format!("{name}={value}");
            let error = parse(&wrong).expect_err(&wrong);
            assert_eq!(error.status(), StatusCode::BAD_REQUEST, "{wrong}");
            assert!(format!("{error:?}").contains(name), "{wrong}: {error:?}");
        }
    }
}
