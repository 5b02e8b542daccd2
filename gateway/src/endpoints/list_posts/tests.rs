use super::query;
use crate::extract::pagination::QueryParams;
use http::StatusCode;
use rolegate_auth_client::axum::ApiError;
use rolegate_posts_client::PostQuery;

fn parse(text: &str) -> Result<PostQuery, ApiError> {
    query(&QueryParams::parse(text)?)
}

#[test]
fn all_parameters_are_optional_and_unknown_ones_are_ignored() {
    for query in ["", "page=2", "Limit=0", "author=ann"] {
        assert_eq!(parse(query), Ok(PostQuery::default()), "{query}");
    }
    let parsed = parse("limit=1&after=0&author_id=9223372036854775807");
    let expected = PostQuery { limit: Some(1), after: Some(0), author_id: Some(i64::MAX) };
    assert_eq!(parsed, Ok(expected));
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
