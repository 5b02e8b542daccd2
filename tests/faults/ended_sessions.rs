//! Creates sessions, ends some of them in each possible way, and later checks that a fault has revived none and lost
//! none.

use e2e::{Api, TestUser};
use reqwest::Method;
use serde_json::json;

/// How the session of a user ends.
#[derive(Clone, Copy, Debug)]
enum Way {
    Logout,
    LogoutByAccessToken,
    Deletion,
    DeletionByAnotherSession,
    DeletionByAdmin,
    DeletionOfAllByAdmin,
    NewPassword,
    NewPasswordByAdmin,
    Revocation,
    Disabling,
    DeletionOfTheUser,
}

const WAYS: [Way; 11] = [
    Way::Logout,
    Way::LogoutByAccessToken,
    Way::Deletion,
    Way::DeletionByAnotherSession,
    Way::DeletionByAdmin,
    Way::DeletionOfAllByAdmin,
    Way::NewPassword,
    Way::NewPasswordByAdmin,
    Way::Revocation,
    Way::Disabling,
    Way::DeletionOfTheUser,
];

/// The tokens of ended sessions and of good ones.
pub(crate) struct EndedSessions {
    ended: Vec<(Way, String)>,
    good: Vec<String>,
}

impl EndedSessions {
    /// Creates sessions of new users and ends them in each way. Every step is acknowledged.
    pub(crate) async fn of_each_way(bearer: &Api, admin: &TestUser) -> Self {
        Self::of_users("ann", bearer, admin).await
    }

    /// Does the same as [`Self::of_each_way`] with users whose names begin with `names`.
    pub(crate) async fn of_users(names: &str, bearer: &Api, admin: &TestUser) -> Self {
        let (mut ended, mut good) = (Vec::new(), Vec::new());
        for way in WAYS {
            let user = TestUser::register(bearer, &format!("{names} {way:?}")).await;
            let (session, other) = (user.session(bearer).await, user.session(bearer).await);
            let by_session = bearer.with_token(&session.token);
            let by_other = bearer.with_token(&other.token);
            by_session.get("/profile").await.expect(200);
            end(
                way,
                &user,
                session.id,
                bearer,
                &bearer.with_token(&admin.token),
                [&by_session, &by_other],
            )
            .await;
            // These are other sessions of the same user, which this way of ending leaves valid.
            match way {
                Way::Logout
                | Way::Deletion
                | Way::DeletionByAnotherSession
                | Way::DeletionByAdmin
                | Way::NewPassword => good.push(other.token),
                _ => ended.push((way, other.token)),
            }
            ended.push((way, session.token));
        }
        Self { ended, good }
    }

    /// Asserts that no ended session is accepted, and that the others are. Returns how many sessions were checked, and
    /// how many of them were wrong.
    pub(crate) async fn expect(&self, bearer: &Api) -> [usize; 2] {
        let mut wrong = Vec::new();
        for (way, token) in &self.ended {
            let answer = bearer.with_token(token).get("/profile").await;
            if answer.status == 401 {
                answer.expect_detail(401, "Invalid or expired token.");
            } else {
                wrong.push(format!("after {way:?}: {answer}"));
            }
        }
        for token in &self.good {
            let answer = bearer.with_token(token).get("/profile").await;
            if answer.status != 200 {
                wrong.push(format!("of a good session: {answer}"));
            }
        }
        assert!(wrong.is_empty(), "{wrong:#?}");
        [self.ended.len() + self.good.len(), wrong.len()]
    }
}

async fn end(
    way: Way,
    user: &TestUser,
    session: i64,
    bearer: &Api,
    admin: &Api,
    [by_session, by_other]: [&Api; 2],
) {
    let own = bearer.with_token(&user.token);
    let id = user.id;
    let new = json!({ "current_password": user.password, "new_password": "new" });
    let ended = match way {
        Way::Logout => return by_session.log_out().await,
        Way::LogoutByAccessToken => return own.log_out().await,
        Way::Deletion => own.delete(&format!("/profile/sessions/{session}")).await,
        Way::DeletionByAnotherSession => by_other.delete("/profile/sessions").await,
        Way::DeletionByAdmin => {
            admin
                .delete(&format!("/users/{id}/sessions/{session}"))
                .await
        }
        Way::DeletionOfAllByAdmin => admin.delete(&format!("/users/{id}/sessions")).await,
        Way::NewPassword => by_other.put("/profile/password", &new).await,
        Way::NewPasswordByAdmin => {
            admin
                .put(
                    &format!("/users/{id}/password"),
                    &json!({ "password": "new" }),
                )
                .await
        }
        Way::Revocation => admin.delete(&format!("/users/{id}/tokens")).await,
        Way::Disabling => {
            set_disabled(admin, id, true).await;
            return set_disabled(admin, id, false).await;
        }
        Way::DeletionOfTheUser => admin.delete(&format!("/users/{id}")).await,
    };
    ended.expect(200);
}

async fn set_disabled(admin: &Api, id: i64, disabled: bool) {
    let request = admin.request(Method::PATCH, &format!("/users/{id}"));
    admin
        .send(request.json(&json!({ "disabled": disabled })))
        .await
        .expect(200);
}
