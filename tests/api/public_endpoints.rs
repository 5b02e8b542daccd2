//! The endpoints that need no credentials.

use e2e::{TestSetup, for_one_deployment};

for_one_deployment!(
    index_names_the_variant,
    public_endpoint_exists_on_both_variants,
    public_routes_ignore_invalid_credentials,
);

async fn index_names_the_variant(setup: TestSetup) {
    let app = setup.start().await;
    app.bearer
        .get("/")
        .await
        .expect_message("Role-Based Authorization API");
    app.basic
        .get("/")
        .await
        .expect_message("Authentication API");
}

async fn public_endpoint_exists_on_both_variants(setup: TestSetup) {
    let app = setup.start().await;
    for api in [&app.bearer, &app.basic] {
        api.get("/public")
            .await
            .expect_message("This is a public endpoint.");
    }
}

async fn public_routes_ignore_invalid_credentials(setup: TestSetup) {
    let app = setup.start().await;
    for api in [&app.bearer, &app.basic] {
        for value in ["Bearer nonsense", "Basic !!!", "nonsense", ""] {
            let api = api.with_authorization(value.as_bytes());
            api.get("/public")
                .await
                .expect(200)
                .expect_header("www-authenticate", None);
            api.get("/").await.expect(200);
        }
    }
}
