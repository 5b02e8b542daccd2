//! Inserts opaque tokens, if the condition of the principal holds and the limits allow them.

use super::{
    ending::push_session_exists,
    rows::{RETURNING_TOKEN, last_use},
};
use crate::{
    audit::Requested,
    change::{NewTokens, TokenChange},
    group::{join_group_names, to_names},
    principal::Principal,
    store::{
        WriteError,
        locked_rows::check_new_token,
        user_store::{
            UserStore,
            additions::{push_has_room, recent_additions},
            encoding::{encode_count, encode_seconds},
            groups::push_groups_exist,
            tokens::pending_sign_ins::push_from_pending_sign_in,
            user_rows::SELECT_CREDENTIALS,
        },
    },
    tokens::{NewToken, OpaqueToken, TokenDetails, TokenKind},
    user::Credentials,
};
use rolegate_proto::limits::{MAX_API_KEYS, MAX_SESSIONS};
use rolegate_sql_store::{Statement, row};
use serde::Serialize;
use std::sync::Arc;

row! {
    /// A new token, as a row to insert.
    #[derive(Default, Serialize)]
    struct NewTokenRow {
        /// The user of an API key.
        user_id: Option<i64>,
        /// The user of a session.
        session_user_id: Option<i64>,
        name: String,
        prefix: String,
        digest: String,
        role: Option<String>,
        created_at: i64,
        expires_at: Option<i64>,
        not_before: Option<i64>,
        client_address: Option<String>,
        user_agent: Option<String>,
        created_by: Option<String>,
        cookie_only: bool,
        pair_id: Option<i64>,
        group_names: Option<String>,
    }
}

/// Deletes sessions of the user `$1` to make room for the ones that were just inserted.
///
/// It deletes the sessions that have expired at the time `$2`, and those that have been idle longest, so that at most
/// `$3` are left. The `$4` new sessions stay. SQLite requires the `LIMIT` before the `OFFSET`.
const MAKE_ROOM: &str = concat!(
    "DELETE FROM api_key WHERE session_user_id = $1 AND (expires_at <= $2
        OR id NOT IN (SELECT id FROM api_key WHERE session_user_id = $1 ORDER BY id DESC LIMIT $4)
            AND id IN (SELECT id FROM api_key WHERE session_user_id = $1 AND expires_at > $2 ORDER BY ",
    last_use!(),
    " DESC, id DESC LIMIT 2147483647 OFFSET $3))"
);

impl UserStore {
    /// Inserts all of these tokens or none, and returns them.
    pub(super) async fn insert_tokens(
        &self,
        request: &Arc<Requested<TokenChange>>,
        new: &NewTokens,
    ) -> Result<Vec<OpaqueToken>, WriteError> {
        let by = &request.by;
        let user_id = new.user_id;
        let lock = self
            .database
            .statement(SELECT_CREDENTIALS)
            .push(" WHERE id IN ($1, $2) ORDER BY id")
            .bind(user_id)
            .bind(by.admin_id().unwrap_or(user_id));
        let insert = self.insert_if_allowed(new, by);
        let then = self.statements_after_insert(new, by);
        let follow_up = self.record_tokens(request, then);
        let checked = Arc::clone(request);
        let check = move |locked: &[Credentials]| check_new_token(&checked.by, locked, user_id);
        let inserted = self
            .database
            .write_if(lock, check, insert, follow_up)
            .await?;
        if !inserted.is_empty() {
            return Ok(inserted);
        }
        // Nothing was inserted, so one of the conditions did not hold. The reads below find out which one.
        if let Some(session_id) = by.session_id() {
            self.require_session(session_id).await?;
        }
        if is_limited(by) {
            let additions = recent_additions(&self.database, user_id).await?;
            additions.check(new.tokens.len())?;
        }
        let groups = to_names(&new.groups());
        if self.existing_groups(&groups).await?.len() < groups.len() {
            return Err(WriteError::GroupNotFound);
        }
        Err(match new.kind {
            TokenKind::ApiKey => WriteError::ApiKeyLimit,
            TokenKind::Session => WriteError::UserNotFound,
        })
    }

    /// Returns the statement that inserts the tokens if the limits allow them and the condition of the principal holds.
    ///
    /// It runs after the lock and as a separate statement, so that it counts the tokens that earlier transactions have
    /// committed.
    fn insert_if_allowed(&self, new: &NewTokens, by: &Principal) -> Statement {
        let rows: Vec<NewTokenRow> = new.tokens.iter().map(NewTokenRow::from).collect();
        let key_user_id = match new.kind {
            TokenKind::ApiKey => Some(new.user_id),
            TokenKind::Session => None,
        };
        let mut insert = self
            .database
            .statement("INSERT INTO api_key (")
            .push_columns::<NewTokenRow>()
            .push(") SELECT ")
            .push_columns::<NewTokenRow>()
            .push_rows(&rows)
            .push(" AND (SELECT count(*) FROM api_key WHERE user_id = ")
            .push_bind(key_user_id)
            .push(") < ")
            .push_bind(encode_count(MAX_API_KEYS));
        // A group that a key names must not be deleted before the key is committed, because a later group of the same
        // name would give the key access.
        insert = push_groups_exist(insert, &new.groups());
        insert = push_session_exists(insert, by);
        if let Principal::PendingSignIn { digest, .. } = by {
            insert = push_from_pending_sign_in(insert.push(" AND EXISTS (SELECT 1"), digest)
                .push(" AND id = ")
                .push_bind(new.user_id)
                .push(")");
        }
        if is_limited(by) {
            insert = push_has_room(insert.push(" AND "), new.user_id, new.tokens.len());
        }
        insert.push(RETURNING_TOKEN)
    }

    /// Returns the statements that follow the insert. They count the tokens as additions, delete the pending sign-in
    /// that was completed, and delete old sessions beyond the limit.
    fn statements_after_insert(&self, new: &NewTokens, by: &Principal) -> Vec<Statement> {
        let mut statements = Vec::new();
        for _ in &new.tokens {
            statements.push(self.count_addition(new.user_id));
        }
        if let Principal::PendingSignIn { digest, .. } = by {
            let end = self
                .database
                .statement("DELETE FROM pending_sign_in WHERE digest = $1")
                .bind(digest.as_str());
            statements.push(end);
        }
        if new.kind == TokenKind::Session {
            let make_room = self
                .database
                .statement(MAKE_ROOM)
                .bind(new.user_id)
                .bind(encode_seconds(new.created_at))
                .bind(encode_count(MAX_SESSIONS))
                .bind(encode_count(new.tokens.len()));
            statements.push(make_room);
        }
        statements
    }

    /// Fails with [`WriteError::UserNotFound`] if this session has ended.
    async fn require_session(&self, session_id: i64) -> Result<(), WriteError> {
        let session = self
            .database
            .statement("SELECT id FROM api_key WHERE id = $1")
            .bind(session_id);
        if self.database.read::<i64>(session).await?.is_empty() {
            return Err(WriteError::UserNotFound);
        }
        Ok(())
    }
}

/// Returns whether the limit of additions in a minute applies to the principal.
fn is_limited(by: &Principal) -> bool {
    !matches!(by, Principal::Operator)
}

impl From<&NewToken> for NewTokenRow {
    fn from(new: &NewToken) -> Self {
        let stored = new.stored.clone();
        let row = Self {
            name: stored.name,
            prefix: stored.prefix,
            digest: new.digest.clone(),
            created_at: encode_seconds(stored.created_at),
            expires_at: stored.expires_at.map(encode_seconds),
            ..Self::default()
        };
        match stored.details {
            TokenDetails::ApiKey {
                role,
                groups,
                created_by,
            } => Self {
                user_id: Some(stored.user_id),
                role: role.map(|role| role.to_string()),
                group_names: groups.as_deref().map(join_group_names),
                created_by,
                ..row
            },
            TokenDetails::Session(session) => Self {
                session_user_id: Some(stored.user_id),
                not_before: Some(encode_seconds(session.not_before)),
                client_address: session.client_address,
                user_agent: session.user_agent,
                cookie_only: session.cookie_only,
                pair_id: session.pair_id,
                ..row
            },
        }
    }
}
