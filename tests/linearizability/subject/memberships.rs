//! Gives a membership and takes it away, and lets memberships and accounts end by themselves.

use super::{Changed, Credential, Effect, Kind, Scenario, Subject};
use crate::history::ENDED;
use e2e::{Api, DatabaseClock, TestUser, timestamp};
use serde_json::{Value, json};
use std::time::{Duration, Instant};

/// The states of a credential where a group is required.
pub(crate) const MEMBER: &str = "member";
pub(crate) const STRANGER: &str = "stranger";
pub(crate) const UNKNOWN_GROUP: &str = "unknown group";

const ALL: [Kind; 3] = [Kind::AccessToken, Kind::ApiKey, Kind::Password];
/// An end that does not pass during the test.
const LATER: &str = "2999-01-01T00:00:00Z";

/// A user who is in a group of the same name at times.
pub(crate) struct MembershipSubject {
    user: TestUser,
    group_id: i64,
    admin: String,
    gateways: [Api; 2],
    clock: DatabaseClock,
}

/// What ends by itself.
#[derive(Clone, Copy)]
enum Ending {
    Membership,
    Account,
}

impl MembershipSubject {
    pub(crate) async fn scenario(
        user: TestUser,
        admin: String,
        gateways: [Api; 2],
        clock: DatabaseClock,
    ) -> Scenario<Self> {
        let key = user.key(&gateways[0]).await;
        let group_id = create_group(&gateways[0].with_token(&admin), &user.username).await;
        let credentials = [
            (Kind::AccessToken, &user.token),
            (Kind::ApiKey, &key.token),
            (Kind::Password, &user.password),
        ]
        .map(|(kind, secret)| Credential {
            kind,
            username: user.username.clone(),
            secret: secret.clone(),
        })
        .to_vec();
        let subject = Self {
            user,
            group_id,
            admin,
            gateways,
            clock,
        };
        Scenario::new(subject, credentials, STRANGER)
    }

    fn account(&self) -> String {
        format!("/users/{}", self.user.id)
    }

    fn membership(&self) -> String {
        format!("/groups/{}/members/{}", self.group_id, self.user.id)
    }

    async fn save_membership(&self, api: &Api, body: &Value) {
        api.put(&self.membership(), body).await.expect(200);
    }

    /// Sets an end that passes soon, and waits until the clock of the database has passed it.
    /// Returns a moment before that.
    async fn end(&mut self, api: &Api, ending: Ending) -> Instant {
        loop {
            let mut before = Instant::now();
            let until = self.clock.now().await.as_secs() + 2;
            let body = json!({ "until": timestamp(until) });
            let response = match ending {
                Ending::Membership => api.put(&self.membership(), &body).await,
                Ending::Account => api.patch(&self.account(), &body).await,
            };
            if response.status == 400 {
                // The request took so long that the end had passed, so it changed nothing.
                response.expect_detail(400, "End must be in the future.");
                continue;
            }
            response.expect(200);
            loop {
                let now = Instant::now();
                if self.clock.now().await >= Duration::from_secs(until) {
                    return before;
                }
                before = now;
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        }
    }
}

impl Subject for MembershipSubject {
    fn name(&self) -> &str {
        &self.user.username
    }

    /// Makes one change, through the two gateways in turns.
    async fn change(&mut self, turn: usize) -> Changed {
        const CHANGES: usize = 10;
        let api = &self.gateways[(turn / CHANGES + turn) % 2];
        let own = api.clone();
        let api = api.with_token(&self.admin);
        let mut began = Instant::now();
        let state = match turn % CHANGES {
            0 | 4 => {
                self.save_membership(&api, &json!({})).await;
                MEMBER
            }
            1 => {
                api.delete(&self.membership()).await.expect(200);
                STRANGER
            }
            2 => {
                self.save_membership(&api, &json!({ "until": LATER })).await;
                MEMBER
            }
            3 => {
                began = self.end(&api, Ending::Membership).await;
                STRANGER
            }
            5 => {
                began = self.end(&api, Ending::Account).await;
                ENDED
            }
            6 => {
                let body = json!({ "until": null });
                api.patch(&self.account(), &body).await.expect(200);
                // The access tokens from before the end stay revoked.
                let effects = [Kind::ApiKey, Kind::Password];
                let effects = effects.map(|kind| (kind, Effect::Grants(MEMBER))).into();
                return Changed { began, effects };
            }
            7 => {
                let TestUser {
                    username, password, ..
                } = &self.user;
                self.user = TestUser::log_in(&own, username, password).await;
                let replaced = Effect::Replaced {
                    secret: self.user.token.clone(),
                    state: MEMBER,
                };
                let effects = vec![(Kind::AccessToken, replaced)];
                return Changed { began, effects };
            }
            8 => {
                let path = format!("/groups/{}", self.group_id);
                api.delete(&path).await.expect_message("Group deleted.");
                UNKNOWN_GROUP
            }
            _ => {
                self.group_id = create_group(&api, &self.user.username).await;
                STRANGER
            }
        };
        let effects = ALL.map(|kind| (kind, Effect::Grants(state))).into();
        Changed { began, effects }
    }
}

/// Creates a group as an admin, and returns its id.
async fn create_group(admin: &Api, name: &str) -> i64 {
    let created = admin.post("/groups", &json!({ "name": name })).await;
    created.expect(201).json()["id"].as_i64().expect("an id")
}
