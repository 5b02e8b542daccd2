use super::query;
use crate::extract::query_params::QueryParams;
use http::StatusCode;
use prost_types::Timestamp;
use rolegate_auth_client::{Role, axum::ApiError};
use rolegate_proto::auth_v1::{ListUsersRequest, UserOrder};

fn parse(text: &str) -> Result<ListUsersRequest, ApiError> {
    query(&QueryParams::parse(text)?)
}

#[test]
fn all_parameters_are_optional() {
    for query in ["", "username=", "search="] {
        assert_eq!(parse(query), Ok(ListUsersRequest::default()), "{query}");
    }
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
fn invalid_utf8_is_rejected_and_not_replaced() {
    for query in ["username=%fe", "username=a%C3", "page=%ff", "%ff=1"] {
        let error = parse(query).expect_err(query);
        assert_eq!(error.detail(), "The query is not valid UTF-8.", "{query}");
    }
    for query in [
        "username=%C3%A9",
        "username=%EF%BF%BD",
        "username=%zz",
        "username=%",
        "username=%4",
    ] {
        assert!(parse(query).is_ok(), "{query}");
    }
}

#[test]
fn every_parameter_is_decoded() {
    let parsed = parse(
        "limit=200&after=0&username=%C3%A9+%25_&role=author&search=%C3%84+%25&disabled=false&include=times",
    );
    let expected = ListUsersRequest {
        page_size: 200,
        after: 0,
        username_prefix: "é %_".to_owned(),
        role: Some(Role::AUTHOR.request_number()),
        role_name: Some(Role::AUTHOR.to_string()),
        disabled: Some(false),
        search: "Ä %".to_owned(),
        with_times: true,
        ..ListUsersRequest::default()
    };
    assert_eq!(parsed, Ok(expected));
    let parsed = parse(
        "sort=-last_sign_in_at&after=7:30&total=true&second_factor=true&has_password=false&group=staff\
         &not_since=2026-03-01&ends_before=2026-12-04T18:00:00%2B01:00&include=sign_in",
    );
    let at = |seconds| Some(Timestamp { seconds, nanos: 0 });
    let expected = ListUsersRequest {
        order: UserOrder::LastLogin.into(),
        descending: true,
        cursor: "7:30".to_owned(),
        with_total: true,
        second_factor: Some(true),
        has_password: Some(false),
        group_name: "staff".to_owned(),
        not_since: at(1_772_323_200),
        ends_before: at(1_796_403_600),
        with_sign_ins: true,
        ..ListUsersRequest::default()
    };
    assert_eq!(parsed, Ok(expected));
    assert_eq!(
        parse("total=false&sort=id"),
        Ok(ListUsersRequest::default())
    );
}

#[test]
fn invalid_or_repeated_parameter_is_a_bad_request_that_names_it() {
    for (name, values) in [
        (
            "limit",
            [
                "",
                "0",
                "201",
                "-1",
                "%2B5",
                "+5",
                "ten",
                "1.5",
                "99999999999999999999",
            ],
        ),
        (
            "after",
            [
                "",
                "-1",
                "%2B5",
                "+5",
                "x",
                "1.5",
                "0x1",
                "٣",
                "9223372036854775808",
            ],
        ),
    ] {
        for value in values {
            let error = parse(&format!("{name}={value}")).expect_err(value);
            assert_eq!(error.status(), StatusCode::BAD_REQUEST, "{name}={value}");
            assert!(
                format!("{error:?}").contains(name),
                "{name}={value}: {error:?}"
            );
        }
    }
    for twice in [
        "limit=1&limit=1",
        "after=1&after=",
        "username=a&username=a",
        "search=a&search=a",
        "disabled=true&disabled=true",
        "include=times&include=times",
        "sort=id&sort=id",
        "sort=until&after=1:2&after=1:2",
        "total=true&total=true",
        "second_factor=true&second_factor=true",
        "has_password=true&has_password=true",
        "group=staff&group=staff",
        "not_since=2026-03-01&not_since=2026-03-01",
        "ends_before=2026-03-01&ends_before=2026-03-01",
    ] {
        let error = parse(twice).expect_err(twice);
        assert!(format!("{error:?}").contains("more than once"), "{error:?}");
    }
}

#[test]
fn an_empty_group_is_not_everybody() {
    let error = parse("group=").expect_err("empty");
    assert_eq!(
        error.detail(),
        "Query parameter \"group\" must be the name of a group."
    );
}

#[test]
fn a_parameter_with_other_values_than_its_own_is_a_bad_request_that_says_them() {
    for (name, values, rule) in [
        (
            "disabled",
            ["", "True", "1", "yes", "true "],
            "true or false",
        ),
        (
            "include",
            ["", "Times", "times,times", "times,", "groups,groups"],
            "times, groups or sign_in",
        ),
        (
            "sort",
            ["", "name", "--id", "ID", "last_login_at"],
            "id or -id or username or -username or last_sign_in_at or -last_sign_in_at or until or -until",
        ),
        ("total", ["", "1", "TRUE", "yes", "all"], "true or false"),
        (
            "second_factor",
            ["", "1", "on", "yes", "True"],
            "true or false",
        ),
        (
            "has_password",
            ["", "0", "no", "none", "False"],
            "true or false",
        ),
        (
            "not_since",
            ["", "March", "2026-3-1", "2026-02-30", "1772323200"],
            "a time in RFC 3339, such as 2030-01-31T00:00:00Z, or a date, such as 2030-01-31",
        ),
        (
            "ends_before",
            ["", "never", "2026-03-01T00:00:00", "2026-13-01", "-1"],
            "a time in RFC 3339, such as 2030-01-31T00:00:00Z, or a date, such as 2030-01-31",
        ),
    ] {
        for value in values {
            let error = parse(&format!("{name}={value}")).expect_err(value);
            let detail = format!("Query parameter \"{name}\" must be {rule}.");
            assert_eq!(
                (error.status(), error.detail()),
                (StatusCode::BAD_REQUEST, &*detail)
            );
        }
    }
}

#[test]
fn malformed_role_is_an_invalid_role() {
    for name in ["", "Admin", "admin%20", "1", "%C3%A9", "user,admin"] {
        let error = parse(&format!("role={name}")).expect_err(name);
        assert!(
            format!("{error:?}").contains("Invalid role."),
            "{name}: {error:?}"
        );
    }
}
