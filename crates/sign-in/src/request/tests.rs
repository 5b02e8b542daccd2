//! Tests what is read from the headers of a request.

use super::{BrowserRequest, is_same_origin, is_subresource_request};
use crate::{
    origin::Origin,
    test_support::{OWN, PAGE, headers, request},
};

#[test]
fn pages_are_told_from_people_and_programs() {
    for (list, expected) in [
        (&[("sec-fetch-mode", "cors")][..], true),
        (&[("sec-fetch-mode", "no-cors")], true),
        (
            &[
                ("sec-fetch-mode", "navigate"),
                ("sec-fetch-mode", "navigate"),
            ],
            true,
        ),
        (&[("sec-fetch-mode", "navigate")], false),
        (&[("sec-fetch-mode", "")], false),
        (&[("accept", "text/html")], false),
        (&[], false),
    ] {
        assert_eq!(is_subresource_request(&headers(list)), expected, "{list:?}");
    }
}

#[test]
fn proxy_describes_the_request_in_headers_that_are_given_once() {
    let map = headers(&[
        ("x-forwarded-method", "GET"),
        ("x-forwarded-proto", "https"),
        ("x-forwarded-host", "app.example.org"),
        ("x-forwarded-uri", "/a"),
    ]);
    let request = BrowserRequest::forwarded(&map);
    let described = (request.method, request.scheme, request.host, request.path);
    assert_eq!(
        described,
        (
            Some("GET"),
            Some("https"),
            Some("app.example.org"),
            Some("/a")
        )
    );
    let forged = headers(&[
        ("x-forwarded-method", "GET"),
        ("x-forwarded-method", "POST"),
    ]);
    assert_eq!(BrowserRequest::forwarded(&forged).method, None);
}

#[test]
fn form_counts_only_from_a_page_of_the_same_origin() {
    let own = Origin::new("https", "app.example.org");
    for (list, expected) in [
        (&[PAGE][..], true),
        (&[OWN], true),
        (&[PAGE, OWN], true),
        (&[("sec-fetch-site", "same-site"), OWN], false),
        (&[("sec-fetch-site", "none")], false),
        (&[PAGE, PAGE], false),
        (&[("origin", "https://evil.example")], false),
        (&[("origin", "null")], false),
        (&[OWN, OWN], false),
        (&[], false),
    ] {
        assert_eq!(
            is_same_origin(&headers(list), own.as_ref()),
            expected,
            "{list:?}"
        );
    }
    assert!(!is_same_origin(&headers(&[OWN]), None));
    assert!(!is_same_origin(&headers(&[("origin", "")]), None));
}

#[test]
fn password_that_a_browser_remembers_is_good_for_no_change_by_another_site() {
    let site = |site| ("sec-fetch-site", site);
    let mode = |mode| ("sec-fetch-mode", mode);
    let get = Some("GET");
    let post = Some("POST");
    for (method, list, expected) in [
        (post, &[site("cross-site"), mode("navigate")][..], true),
        (post, &[site("cross-site"), mode("no-cors")], true),
        (Some("DELETE"), &[site("cross-site"), mode("no-cors")], true),
        (Some("get"), &[site("cross-site"), mode("navigate")], true),
        // The proxy does not say the method.
        (None, &[site("cross-site"), mode("navigate")], true),
        // A repeated header counts, whether it has several lines or Envoy has joined them.
        (
            post,
            &[site("same-origin"), site("cross-site"), mode("navigate")],
            true,
        ),
        (
            post,
            &[site("same-origin,cross-site"), mode("cors, no-cors")],
            true,
        ),
        // A WebSocket begins with GET.
        (
            get,
            &[
                site("cross-site"),
                mode("websocket"),
                ("upgrade", "websocket"),
            ],
            true,
        ),
        (get, &[site("cross-site"), mode("navigate")], false),
        (Some("HEAD"), &[site("cross-site"), mode("no-cors")], false),
        // A script may know a password; CORS has to allow its request.
        (post, &[site("cross-site"), mode("cors")], false),
        (post, &[site("same-origin"), mode("navigate")], false),
        (post, &[site("same-site"), mode("navigate")], false),
        (post, &[site("none"), mode("navigate")], false),
        (post, &[site("cross-site")], false),
        (post, &[mode("navigate")], false),
        // Programs send no Fetch Metadata.
        (post, &[], false),
        (None, &[], false),
    ] {
        let headers = headers(list);
        let request = request(method, &headers);
        assert_eq!(
            request.is_cross_site_change(),
            expected,
            "{method:?} {list:?}"
        );
    }
}
