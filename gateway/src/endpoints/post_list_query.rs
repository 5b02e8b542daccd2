//! The query of `GET /posts`: `?limit=&after=&author_id=`, each at most once.

use crate::extract::pagination::{QueryParams, id_parameter, limit_parameter};
use axum::extract::FromRequestParts;
use http::{Uri, request::Parts};
use rolegate_auth_client::axum::ApiError;
use rolegate_posts_client::PostQuery;
use utoipa::{
    IntoParams,
    openapi::path::{Parameter, ParameterIn},
};

/// Filters of the list of posts. Rejects with 400; unknown parameters are ignored.
pub(crate) struct PostListQuery(pub(crate) PostQuery);

impl<S: Sync> FromRequestParts<S> for PostListQuery {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiError> {
        parse(&parts.uri).map(Self)
    }
}

impl IntoParams for PostListQuery {
    fn into_params(_: impl Fn() -> Option<ParameterIn>) -> Vec<Parameter> {
        vec![
            limit_parameter("Maximum number of posts; a page of long posts has fewer."),
            id_parameter("after", "Only posts with a greater id."),
            id_parameter("author_id", "Only posts of this author."),
        ]
    }
}

fn parse(uri: &Uri) -> Result<PostQuery, ApiError> {
    let params = QueryParams::parse(uri)?;
    Ok(PostQuery {
        limit: params.limit()?,
        after: params.id("after")?,
        author_id: params.id("author_id")?,
    })
}

#[cfg(test)]
mod tests {
    use super::parse;
    use http::{StatusCode, Uri};
    use rolegate_posts_client::PostQuery;

    fn uri(query: &str) -> Uri {
        format!("/posts?{query}").parse().expect("a URI")
    }

    #[test]
    fn all_parameters_are_optional_and_unknown_ones_are_ignored() {
        for query in ["", "page=2", "Limit=0", "author=ann"] {
            assert_eq!(parse(&uri(query)), Ok(PostQuery::default()), "{query}");
        }
        let query = parse(&uri("limit=1&after=0&author_id=9223372036854775807"));
        let expected = PostQuery { limit: Some(1), after: Some(0), author_id: Some(i64::MAX) };
        assert_eq!(query, Ok(expected));
    }

    #[test]
    fn invalid_or_repeated_parameter_is_a_bad_request_that_names_it() {
        let ids = ["", "-1", "%2B5", "x", "1.5", "9223372036854775808"];
        let limits = ["", "0", "201", "-1", "ten"];
        for (name, values) in [("limit", &limits[..]), ("after", &ids), ("author_id", &ids)] {
            for value in values.iter().copied().chain(["1&author_id=2&limit=1&after=1"]) {
                let wrong = format!("{name}={value}");
                let error = parse(&uri(&wrong)).expect_err(&wrong);
                assert_eq!(error.status(), StatusCode::BAD_REQUEST, "{wrong}");
                assert!(format!("{error:?}").contains(name), "{wrong}: {error:?}");
            }
        }
    }
}
