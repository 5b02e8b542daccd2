//! Paths and methods that do not exist.

use e2e::{ADMIN_PASSWORD, TestSetup, for_one_deployment};
use reqwest::Method;

for_one_deployment!(
    unknown_path_is_not_found,
    wrong_method_gets_405_with_the_allowed_methods,
    each_variant_serves_its_own_endpoints_only,
);

async fn unknown_path_is_not_found(setup: TestSetup) {
    let app = setup.start().await;
    for api in [&app.bearer, &app.basic] {
        for path in [
            "/nowhere",
            "/public/",
            "/PUBLIC",
            "//",
            "/users/1/name",
            "/livez",
            "/readyz",
            "/metrics",
        ] {
            for method in [Method::GET, Method::POST, Method::DELETE] {
                let response = api.send(api.request(method, path)).await;
                response.expect_detail(404, "Not Found");
            }
        }
    }
}

async fn wrong_method_gets_405_with_the_allowed_methods(setup: TestSetup) {
    let app = setup.start().await;
    let (bearer, basic) = (&app.bearer, &app.basic);
    for (api, path, right, wrong) in [
        (bearer, "/", "GET", Method::POST),
        (bearer, "/public", "GET", Method::PUT),
        (bearer, "/register", "POST", Method::GET),
        (bearer, "/login", "POST", Method::DELETE),
        (bearer, "/profile", "GET", Method::POST),
        (bearer, "/author", "GET", Method::PATCH),
        (bearer, "/admin", "GET", Method::POST),
        (bearer, "/users", "POST", Method::PUT),
        (bearer, "/users/1", "DELETE", Method::PUT),
        (bearer, "/users/1/role", "PUT", Method::GET),
        (bearer, "/users/1/password", "PUT", Method::DELETE),
        (bearer, "/profile/password", "PUT", Method::GET),
        (bearer, "/password", "PUT", Method::POST),
        (bearer, "/password-link", "POST", Method::GET),
        (bearer, "/password-policy", "GET", Method::PUT),
        (bearer, "/users/1/password-link", "POST", Method::GET),
        (bearer, "/profile/second-factor", "DELETE", Method::PATCH),
        (bearer, "/users/1/second-factor", "DELETE", Method::PUT),
        (basic, "/", "GET", Method::POST),
        (basic, "/public", "GET", Method::DELETE),
        (basic, "/register", "POST", Method::GET),
        (basic, "/protected", "GET", Method::POST),
    ] {
        let response = api.send(api.request(wrong, path)).await;
        response.expect_detail(405, "Method Not Allowed");
        let allowed = response.header("allow").unwrap_or_default();
        assert!(
            allowed.split(',').any(|method| method.trim() == right),
            "{response}"
        );
    }
}

async fn each_variant_serves_its_own_endpoints_only(setup: TestSetup) {
    let app = setup.start().await;
    for path in [
        "/profile",
        "/profile/password",
        "/profile/second-factor",
        "/password",
        "/password-policy",
        "/author",
        "/admin",
        "/users",
        "/users/1",
    ] {
        app.basic.get(path).await.expect_detail(404, "Not Found");
    }
    let login = app.basic.request(Method::POST, "/login");
    app.basic.send(login).await.expect_detail(404, "Not Found");
    // The path exists, but the request has the scheme of the other address.
    let basic = app
        .bearer
        .with_basic("admin", ADMIN_PASSWORD)
        .get("/protected")
        .await;
    basic.expect_detail(401, "Not authenticated.");
    let token = app.admin().await.token;
    let bearer = app.basic.with_token(&token).get("/protected").await;
    bearer.expect_detail(401, "Not authenticated.");
}
