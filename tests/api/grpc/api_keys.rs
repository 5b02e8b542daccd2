//! The gRPC calls about API keys.

use super::client;
use crate::api_keys::create_key;
use e2e::{
    TestSetup, for_two_deployments,
    grpc::{authenticated, expect_error},
};
use rolegate_proto::auth_v1::{DeleteApiKeysRequest, ListApiKeysRequest};
use serde_json::json;
use tonic::Code;

for_two_deployments!(calls_about_keys_say_what_the_contract_says);

async fn calls_about_keys_say_what_the_contract_says(setup: TestSetup) {
    let app = setup.start().await;
    let (admin, ann) = (app.admin().await, app.user("ann").await);
    create_key(
        &app.bearer.with_token(&ann.token),
        &json!({ "name": "export" }),
    )
    .await;
    let mut client = client(&app).await;
    // The request does not say which keys to delete, so none is deleted.
    let nothing = DeleteApiKeysRequest {
        user_id: None,
        keys: None,
    };
    let refused = client
        .delete_api_keys(authenticated(nothing, &ann.token))
        .await;
    expect_error(refused, Code::InvalidArgument, "REQUEST_INVALID");
    for (token, user_id, code, reason) in [
        ("", None, Code::Unauthenticated, "TOKEN_INVALID"),
        (
            &*ann.token,
            Some(admin.id),
            Code::PermissionDenied,
            "ROLE_INSUFFICIENT",
        ),
        (&*admin.token, Some(999), Code::NotFound, "USER_NOT_FOUND"),
    ] {
        let list = client
            .list_api_keys(authenticated(ListApiKeysRequest { user_id }, token))
            .await;
        expect_error(list, code, reason);
    }
    let user_id = Some(ann.id);
    let list = client.list_api_keys(authenticated(ListApiKeysRequest { user_id }, &admin.token));
    let keys = list.await.expect("listed").into_inner().api_keys;
    assert_eq!(
        (keys.len(), keys[0].user_id, &*keys[0].name),
        (1, ann.id, "export")
    );
}
