//! The query of `GET /users`: `?limit=&after=&username=&role=`, each at most once.

use crate::role_name::RoleName;
use auth_client::{UserQuery, axum::Problem};
use axum::extract::{FromRequestParts, Query};
use http::{Uri, request::Parts};
use utoipa::{
    IntoParams, ToSchema,
    openapi::{
        Ref, RefOr, Schema, Type,
        path::{Parameter, ParameterBuilder, ParameterIn},
        schema::{KnownFormat, ObjectBuilder, SchemaFormat},
    },
};

/// Which users to list. Rejects with 400; parameters that it does not know are ignored.
pub(crate) struct UserListQuery(pub(crate) UserQuery);

impl<S: Sync> FromRequestParts<S> for UserListQuery {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        parse(&parts.uri).map(Self)
    }
}

impl IntoParams for UserListQuery {
    fn into_params(_: impl Fn() -> Option<ParameterIn>) -> Vec<Parameter> {
        let number = || ObjectBuilder::new().schema_type(Type::Integer);
        let limit = number().minimum(Some(1)).maximum(Some(200)).default(Some(50.into()));
        let int64 = SchemaFormat::KnownFormat(KnownFormat::Int64);
        let after = number().minimum(Some(0)).maximum(Some(i64::MAX)).format(Some(int64));
        // What no username has. Names have at most 255 bytes, prefixes too.
        let prefix = ObjectBuilder::new()
            .schema_type(Type::String)
            .max_length(Some(255))
            .pattern(Some(r"^[^\u0000-\u001f\u007f-\u009f]*$"));
        let role = Ref::from_schema_name(RoleName::name());
        vec![
            parameter("limit", "How many users at most.", limit.into()),
            parameter("after", "Only users with a larger id.", after.into()),
            parameter("username", "Only users whose name begins so; no wildcards.", prefix.into()),
            parameter("role", "Only users with this role.", role.into()),
        ]
    }
}

fn parameter(name: &str, description: &str, schema: RefOr<Schema>) -> Parameter {
    let parameter = ParameterBuilder::new().name(name).parameter_in(ParameterIn::Query);
    parameter.description(Some(description)).schema(Some(schema)).build()
}

fn parse(uri: &Uri) -> Result<UserQuery, Problem> {
    let Query(parameters) = Query::<Vec<(String, String)>>::try_from_uri(uri)
        .map_err(|_| Problem::bad_request("The query is not of the form name=value&name=value."))?;
    let value_of = |name: &str| {
        let mut values = parameters.iter().filter(|(given, _)| given == name);
        match (values.next(), values.next()) {
            (value, None) => Ok(value.map(|(_, value)| value.as_str())),
            _ => Err(Problem::bad_request(format!(
                "Query parameter \"{name}\" is given more than once."
            ))),
        }
    };
    Ok(UserQuery {
        limit: value_of("limit")?.map(limit).transpose()?,
        after: value_of("after")?.map(after).transpose()?,
        username_prefix: value_of("username")?.unwrap_or_default().to_owned(),
        role: value_of("role")?
            .map(|name| name.parse().map_err(|_| Problem::bad_request("Invalid role.")))
            .transpose()?,
    })
}

fn limit(text: &str) -> Result<u16, Problem> {
    whole_number(text).filter(|limit| (1..=200).contains(limit)).ok_or_else(|| {
        Problem::bad_request("Query parameter \"limit\" must be a whole number from 1 to 200.")
    })
}

fn after(text: &str) -> Result<i64, Problem> {
    whole_number(text).ok_or_else(|| {
        Problem::bad_request("Query parameter \"after\" must be an id, a whole number from 0.")
    })
}

/// Digits only: `parse` alone would take a sign.
fn whole_number<N: std::str::FromStr>(text: &str) -> Option<N> {
    let digits = text.bytes().all(|byte| byte.is_ascii_digit());
    if digits { text.parse().ok() } else { None }
}

#[cfg(test)]
mod tests {
    use super::parse;
    use auth_client::{Role, UserQuery};
    use http::{StatusCode, Uri};

    fn uri(query: &str) -> Uri {
        format!("/users?{query}").parse().expect("a URI")
    }

    #[test]
    fn everything_is_optional_and_what_is_unknown_is_ignored() {
        for query in ["", "page=2", "Limit=0", "username="] {
            assert_eq!(parse(&uri(query)), Ok(UserQuery::default()), "{query}");
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
    fn a_parameter_that_is_out_of_bounds_empty_or_repeated_is_a_bad_request_that_names_it() {
        for (name, values) in [
            ("limit", ["", "0", "201", "-1", "%2B5", "+5", "ten", "1.5", "99999999999999999999"]),
            ("after", ["", "-1", "%2B5", "+5", "x", "1.5", "0x1", "٣", "9223372036854775808"]),
        ] {
            for value in values {
                let problem = parse(&uri(&format!("{name}={value}"))).expect_err(value);
                assert_eq!(problem.status(), StatusCode::BAD_REQUEST, "{name}={value}");
                assert!(format!("{problem:?}").contains(name), "{name}={value}: {problem:?}");
            }
        }
        for twice in ["limit=1&limit=1", "after=1&after=", "username=a&username=a"] {
            let problem = parse(&uri(twice)).expect_err(twice);
            assert!(format!("{problem:?}").contains("more than once"), "{problem:?}");
        }
    }

    #[test]
    fn a_name_that_is_no_role_is_an_invalid_role() {
        for name in ["", "root", "Admin", "admin%20", "unspecified"] {
            let problem = parse(&uri(&format!("role={name}"))).expect_err(name);
            assert!(format!("{problem:?}").contains("Invalid role."), "{name}: {problem:?}");
        }
    }
}
