//! Admins who act on each other concurrently. One request comes first, and the other is then
//! refused because its sender is no longer an admin or no longer exists.

use e2e::{TestApp, TestResponse, TestSetup, TestUser, for_two_deployments, proof};
use reqwest::Method;
use serde_json::json;

for_two_deployments!(
    two_admins_demoting_each_other_leave_one,
    two_admins_deleting_each_other_leave_one,
    one_admin_deleting_and_the_other_demoting_leave_one,
);

const ROUNDS: usize = 20;

/// A change that one admin makes to the other.
#[derive(Clone, Copy)]
enum Act {
    Delete,
    Demote,
}

async fn act(app: &TestApp, act: Act, actor: &TestUser, target: &TestUser) -> TestResponse {
    let api = app.bearer.with_token(&actor.token);
    let path = format!("/users/{}", target.id);
    match act {
        Act::Delete => api.send(api.request(Method::DELETE, &path)).await,
        Act::Demote => {
            api.put(&format!("{path}/role"), &json!({ "role": "user" }))
                .await
        }
    }
}

async fn race(setup: TestSetup, one_does: Act, other_does: Act) {
    let app = setup.start().await;
    let mut without = 0;
    for round in 0..ROUNDS {
        let names = [format!("one {round}"), format!("other {round}")];
        let (one, other) = (app.user(&names[0]).await, app.user(&names[1]).await);
        for name in &names {
            app.database.set_role(name, "admin").await;
        }
        let (first, second) = tokio::join!(
            act(&app, one_does, &one, &other),
            act(&app, other_does, &other, &one)
        );
        let mut admins = 0;
        for name in &names {
            let user = app.database.user(name).await;
            admins += usize::from(user.is_some_and(|user| user.role == "admin"));
        }
        without += usize::from(admins == 0);
        assert_eq!(admins, 1, "round {round}\n{first}\n{second}");
        let (done, refused) = if first.status == 200 {
            (first, second)
        } else {
            (second, first)
        };
        done.expect(200);
        match refused.status {
            401 => refused.expect_detail(401, "User not found."),
            _ => refused.expect_detail(403, "Insufficient privileges."),
        };
    }
    proof(
        "admins",
        &[("races of two admins", ROUNDS)],
        &[("left without an admin", without)],
    );
}

async fn two_admins_deleting_each_other_leave_one(setup: TestSetup) {
    race(setup, Act::Delete, Act::Delete).await;
}

async fn one_admin_deleting_and_the_other_demoting_leave_one(setup: TestSetup) {
    race(setup, Act::Delete, Act::Demote).await;
}

async fn two_admins_demoting_each_other_leave_one(setup: TestSetup) {
    race(setup, Act::Demote, Act::Demote).await;
}
