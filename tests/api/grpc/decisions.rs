//! The gRPC calls `Authorize` and `BatchAuthorize`.

use super::{ADMIN, AUTHOR, any_user, authorize, client};
use e2e::{
    SIGNING_SECRET, TestSetup, for_all_deployments, for_one_deployment, for_two_deployments,
    grpc::expect_error, token,
};
use rolegate_proto::auth_v1::{
    AllowedRoles, BatchAuthorizeRequest, Role, authorize_outcome::Outcome,
    authorize_request::Requirement,
};
use tonic::Code;

for_all_deployments!(stored_role_takes_effect_at_once);
for_two_deployments!(batch_returns_one_outcome_per_item);
for_one_deployment!(
    authorize_rejects_an_empty_requirement,
    invalid_tokens_are_rejected
);

const USER: i32 = Role::User as i32;

fn roles(roles: &[i32]) -> Requirement {
    Requirement::Roles(AllowedRoles {
        roles: roles.to_vec(),
        role_names: Vec::new(),
        group_names: Vec::new(),
    })
}

async fn authorize_rejects_an_empty_requirement(setup: TestSetup) {
    let app = setup.start().await;
    let mut client = client(&app).await;
    let admin = app.admin().await.token;
    let says_nothing = [&[][..], &[0], &[ADMIN, 0], &[99], &[ADMIN, -1]];
    for requirement in says_nothing
        .map(|wanted| Some(roles(wanted)))
        .into_iter()
        .chain([None])
    {
        // The requirement is checked before the token.
        for token in [admin.as_str(), "nonsense", ""] {
            let outcome = client
                .authorize(authorize(token, requirement.clone()))
                .await;
            expect_error(outcome, Code::InvalidArgument, "REQUEST_INVALID");
        }
    }
}

async fn stored_role_takes_effect_at_once(setup: TestSetup) {
    let app = setup.start().await;
    let mut client = client(&app).await;
    let ann = app.user("ann").await;
    for (role, number) in [
        ("user", USER),
        ("author", AUTHOR),
        ("admin", ADMIN),
        ("user", USER),
    ] {
        app.database.set_role("ann", role).await;
        for required in [USER, AUTHOR, ADMIN] {
            let outcome = client
                .authorize(authorize(&ann.token, roles(&[required])))
                .await;
            if required == number {
                let user = outcome
                    .expect("the role is enough")
                    .into_inner()
                    .user
                    .expect("a user");
                assert_eq!(user.role, number);
            } else {
                expect_error(outcome, Code::PermissionDenied, "ROLE_INSUFFICIENT");
            }
        }
        let all = authorize(&ann.token, roles(&[USER, AUTHOR, ADMIN, ADMIN]));
        client.authorize(all).await.expect("any role is enough");
    }
    app.database.delete("ann").await;
    for requirement in [any_user(), roles(&[USER])] {
        let outcome = client.authorize(authorize(&ann.token, requirement)).await;
        expect_error(outcome, Code::Unauthenticated, "TOKEN_USER_NOT_FOUND");
    }
}

async fn invalid_tokens_are_rejected(setup: TestSetup) {
    let app = setup.start().await;
    let mut client = client(&app).await;
    let claims = token::claims_of(app.admin().await.id);
    let mut expired = claims.clone();
    expired["exp"] = token::now().into();
    let none = token::signed(
        &serde_json::json!({ "alg": "none" }),
        &claims,
        SIGNING_SECRET,
    );
    let unsigned = none[..=none.rfind('.').expect("a signature")].to_owned();
    for token in [
        String::new(),
        "nonsense".to_owned(),
        "a.b.c".to_owned(),
        "\0".to_owned(),
        "x".repeat(60_000),
        token::signed(&token::plain_header(), &expired, SIGNING_SECRET),
        token::signed(
            &token::plain_header(),
            &claims,
            "another secret of more than 32 bytes",
        ),
        none,
        unsigned,
    ] {
        for requirement in [any_user(), roles(&[ADMIN])] {
            let outcome = client.authorize(authorize(&token, requirement)).await;
            expect_error(outcome, Code::Unauthenticated, "TOKEN_INVALID");
        }
    }
}

async fn batch_returns_one_outcome_per_item(setup: TestSetup) {
    let app = setup.start().await;
    let mut client = client(&app).await;
    let (admin, ann, deleted) = (
        app.admin().await,
        app.user("ann").await,
        app.user("deleted").await,
    );
    app.database.delete("deleted").await;
    let items = vec![
        authorize(&ann.token, any_user()),
        authorize("nonsense", any_user()),
        authorize(&ann.token, roles(&[ADMIN])),
        authorize(&admin.token, roles(&[ADMIN])),
        authorize(&deleted.token, any_user()),
        authorize(&ann.token, None),
        authorize(&"x".repeat(5000), roles(&[])),
        authorize(&ann.token, roles(&[USER, 0])),
        authorize(&ann.token, roles(&[USER])),
    ];
    let wanted = [
        Ok("ann"),
        Err("TOKEN_INVALID"),
        Err("ROLE_INSUFFICIENT"),
        Ok("admin"),
        Err("TOKEN_USER_NOT_FOUND"),
        Err("REQUEST_INVALID"),
        Err("REQUEST_INVALID"),
        Err("REQUEST_INVALID"),
        Ok("ann"),
    ];
    let request = BatchAuthorizeRequest { items };
    let response = client
        .batch_authorize(request)
        .await
        .expect("decided")
        .into_inner();
    let outcomes: Vec<_> = response
        .outcomes
        .iter()
        .map(|outcome| match &outcome.outcome {
            Some(Outcome::User(user)) => Ok(user.username.as_str()),
            Some(Outcome::RefusalReason(reason)) => Err(reason.as_str()),
            None => Err("nothing"),
        })
        .collect();
    assert_eq!(outcomes, wanted);

    let many = |count| BatchAuthorizeRequest {
        items: vec![authorize(&ann.token, any_user()); count],
    };
    for count in [0, 1, 256] {
        let response = client
            .batch_authorize(many(count))
            .await
            .expect("decided")
            .into_inner();
        assert_eq!(response.outcomes.len(), count);
    }
    let outcome = client.batch_authorize(many(257)).await;
    expect_error(outcome, Code::InvalidArgument, "REQUEST_INVALID");
}
