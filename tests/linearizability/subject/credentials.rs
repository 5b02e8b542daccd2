//! Changes the role of a user, and ends credentials in every way.

use super::{Changed, Credential, Effect, Kind, Scenario, Subject};
use crate::history::ENDED;
use e2e::{Api, OpaqueToken, TestApp, TestUser};
use serde_json::json;
use std::{mem, sync::Arc, time::Instant};

/// A user whose role and credentials change.
pub(crate) struct CredentialSubject {
    user: TestUser,
    session: OpaqueToken,
    key: OpaqueToken,
    role: &'static str,
    admin: String,
    gateways: [Api; 2],
    app: Arc<TestApp>,
}

impl CredentialSubject {
    pub(crate) async fn scenario(
        user: TestUser,
        admin: String,
        gateways: [Api; 2],
        app: Arc<TestApp>,
    ) -> Scenario<Self> {
        let session = user.session(&gateways[0]).await;
        let key = user.key(&gateways[1]).await;
        let role = "user";
        let credentials = [
            (Kind::AccessToken, &user.token),
            (Kind::Session, &session.token),
            (Kind::ApiKey, &key.token),
        ]
        .map(|(kind, secret)| Credential {
            kind,
            username: user.username.clone(),
            secret: secret.clone(),
        })
        .to_vec();
        let subject = Self {
            user,
            session,
            key,
            role,
            admin,
            gateways,
            app,
        };
        Scenario::new(subject, credentials, role)
    }

    /// Makes one change, through the two gateways in turns or by SQL.
    async fn change_credentials(&mut self, turn: usize) -> Vec<(Kind, Effect)> {
        const ENDS: Effect = Effect::Grants(ENDED);
        const ALL: [Kind; 3] = [Kind::AccessToken, Kind::Session, Kind::ApiKey];
        let (round, turn) = (turn / 12, turn % 12);
        let api = self.gateways[(round + turn) % 2].clone();
        match turn {
            0 | 3 | 6 => {
                self.role = ["author", "admin", "user"][turn / 3];
                self.set_role(&api, turn == 6).await;
                ALL.map(|kind| (kind, Effect::Grants(self.role))).into()
            }
            1 => {
                self.end_session(&api, round).await;
                vec![(Kind::Session, ENDS)]
            }
            2 => vec![self.replace_session(&api).await],
            4 => {
                let path = format!("/profile/keys/{}", self.key.id);
                api.with_token(&self.user.token)
                    .delete(&path)
                    .await
                    .expect(200);
                vec![(Kind::ApiKey, ENDS)]
            }
            5 => {
                self.key = self.user.key(&api).await;
                vec![(Kind::ApiKey, self.replaced(&self.key.token))]
            }
            7 => {
                let survives = self.revoke_tokens(&api, round).await;
                let ended = [
                    Some(Kind::AccessToken),
                    (!survives).then_some(Kind::Session),
                ];
                ended
                    .into_iter()
                    .flatten()
                    .map(|kind| (kind, ENDS))
                    .collect()
            }
            9 => {
                self.set_disabled(&api, true).await;
                ALL.map(|kind| (kind, ENDS)).into()
            }
            // When the user is enabled again, only the API key becomes valid again.
            10 => {
                self.set_disabled(&api, false).await;
                vec![(Kind::ApiKey, Effect::Grants(self.role))]
            }
            _ => {
                let TestUser {
                    username, password, ..
                } = &self.user;
                self.user = TestUser::log_in(&api, username, password).await;
                let token = (Kind::AccessToken, self.replaced(&self.user.token));
                vec![token, self.replace_session(&api).await]
            }
        }
    }

    /// Returns the effect that this credential takes the place of the one before.
    fn replaced(&self, secret: &str) -> Effect {
        Effect::Replaced {
            secret: secret.to_owned(),
            state: self.role,
        }
    }

    async fn set_role(&self, api: &Api, by_sql: bool) {
        if by_sql {
            return self
                .app
                .database
                .set_role(&self.user.username, self.role)
                .await;
        }
        let path = format!("/users/{}/role", self.user.id);
        let response = api
            .with_token(&self.admin)
            .put(&path, &json!({ "role": self.role }))
            .await;
        response.expect_message("User role updated successfully.");
    }

    /// Ends only the session, in one of four ways: with the session itself, with the access token,
    /// together with all other sessions, or as an admin.
    async fn end_session(&self, api: &Api, round: usize) {
        let id = self.session.id;
        let (own, admin) = (
            api.with_token(&self.user.token),
            api.with_token(&self.admin),
        );
        match round % 4 {
            0 => api.with_token(&self.session.token).log_out().await,
            1 => drop(
                own.delete(&format!("/profile/sessions/{id}"))
                    .await
                    .expect(200),
            ),
            2 => drop(own.delete("/profile/sessions").await.expect(200)),
            _ => {
                let path = format!("/users/{}/sessions/{id}", self.user.id);
                admin.delete(&path).await.expect(200);
            }
        }
    }

    async fn replace_session(&mut self, api: &Api) -> (Kind, Effect) {
        self.session = self.user.session(api).await;
        (Kind::Session, self.replaced(&self.session.token))
    }

    /// Ends all credentials but the API key, in one of three ways: as the user, as an admin, or by
    /// a new password. The session that sets the password survives. Returns whether the session
    /// survives.
    async fn revoke_tokens(&mut self, api: &Api, round: usize) -> bool {
        match round % 3 {
            0 => api.with_token(&self.user.token).log_out().await,
            1 => {
                let path = format!("/users/{}/tokens", self.user.id);
                api.with_token(&self.admin).delete(&path).await.expect(200);
            }
            _ => {
                let new = format!("password {round}");
                let current = mem::replace(&mut self.user.password, new);
                let body =
                    json!({ "current_password": current, "new_password": self.user.password });
                let own = api.with_token(&self.session.token);
                own.put("/profile/password", &body).await.expect(200);
                return true;
            }
        }
        false
    }

    async fn set_disabled(&self, api: &Api, disabled: bool) {
        api.with_token(&self.admin)
            .patch(
                &format!("/users/{}", self.user.id),
                &json!({ "disabled": disabled }),
            )
            .await
            .expect(200);
    }
}

impl Subject for CredentialSubject {
    fn name(&self) -> &str {
        &self.user.username
    }

    async fn change(&mut self, turn: usize) -> Changed {
        let began = Instant::now();
        let effects = self.change_credentials(turn).await;
        Changed { began, effects }
    }
}
