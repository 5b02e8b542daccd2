//! Memberships that are given, taken away and ending through failovers.

use super::{Outcome, Scenario};
use crate::{
    history::Change,
    subject::{MEMBER, STRANGER},
};
use e2e::{Api, TestResponse, timestamp, until_served};
use serde_json::{Value, json};
use std::time::{Duration, Instant, SystemTime};

/// The group of all users.
pub(super) const GROUP: &str = "staff";

/// How far ahead an end is.
const AHEAD: Duration = Duration::from_secs(3);
/// The time before and after an end in which a read may see either state. It covers the drift between
/// the clock of the databases and the clock by which reads are ordered.
const TOLERANCE: Duration = Duration::from_millis(10);

/// Creates the group as an admin, and returns its id.
pub(super) async fn create_group(admin: &Api) -> i64 {
    let group = json!({ "name": GROUP });
    let created = until_served(|| async { admin.post("/groups", &group).await }).await;
    created.expect(201).json()["id"].as_i64().expect("an id")
}

/// Returns whether the user is stored as a member, and the response that says so.
pub(super) async fn stored(admin: &Api, user_id: i64) -> (TestResponse, String) {
    let path = format!("/users/{user_id}/groups");
    let response = until_served(|| async { admin.get(&path).await }).await;
    let is_member = response.expect(200).json()["groups"] != Value::Array(Vec::new());
    let state = if is_member { MEMBER } else { STRANGER };
    (response, state.to_owned())
}

impl Scenario {
    /// Gives the membership, takes it away, or gives it with an end and waits for that, in turns.
    /// Returns the changes that happened or may have happened.
    pub(super) async fn change_membership(
        &self,
        admin: &Api,
        user_id: i64,
        turn: usize,
        outcome: &mut Outcome,
    ) -> Vec<Change> {
        let path = format!("/groups/{}/members/{user_id}", self.group_id);
        let began = Instant::now();
        let (response, state) = match turn % 3 {
            0 => return end(admin, &path, outcome).await,
            1 => (admin.put(&path, &json!({})).await, MEMBER),
            _ => (admin.delete(&path).await, STRANGER),
        };
        vec![Change {
            began,
            acknowledged: outcome.add_change(&response).then(Instant::now),
            state,
        }]
    }
}

/// Gives a membership that soon ends by itself, and waits for its end.
async fn end(admin: &Api, path: &str, outcome: &mut Outcome) -> Vec<Change> {
    let began = Instant::now();
    let now = machine_time();
    let until = now.as_secs() + AHEAD.as_secs();
    let ahead = Duration::from_secs(until).saturating_sub(now);
    let response = admin.put(path, &json!({ "until": timestamp(until) })).await;
    if response.status == 400 {
        // The request took so long that the end had passed, so it changed nothing.
        response.expect_detail(400, "End must be in the future.");
        return Vec::new();
    }
    let mut given = Change {
        began,
        acknowledged: None,
        state: MEMBER,
    };
    if !outcome.add_change(&response) {
        return vec![given];
    }
    let earliest = began + ahead.saturating_sub(TOLERANCE);
    let latest = began + ahead + TOLERANCE;
    given.acknowledged = Some(Instant::now().min(earliest));
    tokio::time::sleep_until(latest.into()).await;
    let ended = Change {
        began: earliest,
        acknowledged: Some(latest),
        state: STRANGER,
    };
    vec![given, ended]
}

/// Returns the time since 1970 by the clock of this machine, on which all databases run.
#[expect(
    clippy::disallowed_methods,
    reason = "the databases of this cluster have the clock of this machine"
)]
fn machine_time() -> Duration {
    SystemTime::now()
        .duration_since(SystemTime::UNIX_EPOCH)
        .expect("after 1970")
}
