//! The query of `GET /users`: `?limit=&after=&username=&role=`, each at most once.

use super::role_name::RoleName;
use crate::extract::pagination::{QueryParams, id_parameter, limit_parameter, parameter};
use axum::extract::FromRequestParts;
use http::{Uri, request::Parts};
use rolegate_auth_client::{UserQuery, axum::ApiError};
use utoipa::{
    IntoParams, ToSchema,
    openapi::{
        Ref, Type,
        path::{Parameter, ParameterIn},
        schema::ObjectBuilder,
    },
};

/// Filters of the list of users. Rejects with 400; unknown parameters are ignored.
pub(crate) struct UserListQuery(pub(crate) UserQuery);

impl<S: Sync> FromRequestParts<S> for UserListQuery {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiError> {
        parse(&parts.uri).map(Self)
    }
}

impl IntoParams for UserListQuery {
    fn into_params(_: impl Fn() -> Option<ParameterIn>) -> Vec<Parameter> {
        // Usernames have at most 255 bytes and no control characters.
        let prefix = ObjectBuilder::new()
            .schema_type(Type::String)
            .max_length(Some(255))
            .pattern(Some(r"^[^\u0000-\u001f\u007f-\u009f]*$"));
        let role = Ref::from_schema_name(RoleName::name());
        vec![
            limit_parameter("Maximum number of users."),
            id_parameter("after", "Only users with a greater id."),
            parameter(
                "username",
                "Only users whose username starts with this; no wildcards.",
                prefix.into(),
            ),
            parameter("role", "Only users with this role.", role.into()),
        ]
    }
}

fn parse(uri: &Uri) -> Result<UserQuery, ApiError> {
    let params = QueryParams::parse(uri)?;
    Ok(UserQuery {
        limit: params.limit()?,
        after: params.id("after")?,
        username_prefix: params.get("username")?.unwrap_or_default().to_owned(),
        role: params
            .get("role")?
            .map(|name| name.parse().map_err(|_| ApiError::bad_request("Invalid role.")))
            .transpose()?,
    })
}

#[cfg(test)]
mod tests {
    use super::parse;
    use http::{StatusCode, Uri};
    use rolegate_auth_client::{Role, UserQuery, axum::ApiError};

    fn uri(query: &str) -> Uri {
        format!("/users?{query}").parse().expect("a URI")
    }

    #[test]
    fn all_parameters_are_optional_and_unknown_ones_are_ignored() {
        for query in ["", "page=2", "Limit=0", "username="] {
            assert_eq!(parse(&uri(query)), Ok(UserQuery::default()), "{query}");
        }
    }

    #[test]
    fn invalid_utf8_is_rejected_and_not_replaced() {
        for query in ["username=%fe", "username=a%C3", "page=%ff", "%ff=1"] {
            let error = parse(&uri(query)).expect_err(query);
            assert_eq!(error, ApiError::bad_request("The query is not valid UTF-8."), "{query}");
        }
        for query in ["username=%C3%A9", "username=%EF%BF%BD", "username=%zz", "username=%", "a=%4"]
        {
            assert!(parse(&uri(query)).is_ok(), "{query}");
        }
    }

    #[test]
    fn every_parameter_is_decoded() {
        let query = parse(&uri("limit=200&after=0&username=%C3%A9+%25_&role=author"));
        let expected = UserQuery {
            limit: Some(200),
            after: Some(0),
            username_prefix: "é %_".to_owned(),
            role: Some(Role::Author),
        };
        assert_eq!(query, Ok(expected));
    }

    #[test]
    fn invalid_or_repeated_parameter_is_a_bad_request_that_names_it() {
        for (name, values) in [
            ("limit", ["", "0", "201", "-1", "%2B5", "+5", "ten", "1.5", "99999999999999999999"]),
            ("after", ["", "-1", "%2B5", "+5", "x", "1.5", "0x1", "٣", "9223372036854775808"]),
        ] {
            for value in values {
                let error = parse(&uri(&format!("{name}={value}"))).expect_err(value);
                assert_eq!(error.status(), StatusCode::BAD_REQUEST, "{name}={value}");
                assert!(format!("{error:?}").contains(name), "{name}={value}: {error:?}");
            }
        }
        for twice in ["limit=1&limit=1", "after=1&after=", "username=a&username=a"] {
            let error = parse(&uri(twice)).expect_err(twice);
            assert!(format!("{error:?}").contains("more than once"), "{error:?}");
        }
    }

    #[test]
    fn unknown_role_is_an_invalid_role() {
        for name in ["", "root", "Admin", "admin%20", "unspecified"] {
            let error = parse(&uri(&format!("role={name}"))).expect_err(name);
            assert!(format!("{error:?}").contains("Invalid role."), "{name}: {error:?}");
        }
    }
}
