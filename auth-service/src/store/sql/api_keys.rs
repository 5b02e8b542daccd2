//! API keys in an SQL database.

use super::{SqlStore, seconds_to_store, stored_seconds};
use crate::{
    api_key::{ApiKey, KeyBearer},
    store::{ApiKeyStore, NewApiKey, StoreError, WriteError, Writer, tables::COLUMNS},
    user::User,
};
use async_trait::async_trait;
use rolegate_proto::{Role, limits::MAX_API_KEYS};
use rolegate_sql_store::Timed;
use sqlx::{Error, FromRow, Row};

const RETURNING: &str =
    " RETURNING id, user_id, name, prefix, role, created_at, expires_at, last_used_at";

#[async_trait]
impl ApiKeyStore for SqlStore {
    async fn insert_key(&self, key: NewApiKey, writer: Writer) -> Result<ApiKey, WriteError> {
        let lock = self.select().push(" WHERE id = $1").bind(key.user_id);
        // A statement of its own after the lock: it counts what the transaction before has committed.
        let sql =
            "INSERT INTO api_key (user_id, name, prefix, digest, role, created_at, expires_at)
            SELECT $1, $2, $3, $4, $5, $6, $7
            WHERE (SELECT count(*) FROM api_key WHERE user_id = $1) < $8";
        let insert = self.0.statement(sql).push(RETURNING).bind(key.user_id).bind(key.name);
        let insert =
            insert.bind(key.prefix).bind(key.digest).bind(key.role.as_ref().map(Role::as_str));
        let insert = insert.bind(seconds_to_store(key.created_at));
        let insert = insert.bind(key.expires_at.map(seconds_to_store));
        let insert = insert.bind(i64::try_from(MAX_API_KEYS).unwrap_or(i64::MAX));
        let check = move |locked: &[User]| match locked {
            [user] if writer.may_add_key(user) => Ok(()),
            _ => Err(WriteError::UserNotFound),
        };
        self.0.write_if(lock, check, insert).await?.pop().ok_or(WriteError::ApiKeyLimit)
    }

    async fn keys_by_digest(
        &self,
        digests: &[String],
    ) -> Result<Timed<Vec<KeyBearer>>, StoreError> {
        let keys = ", digest, key_id, key_role, expires_at
            FROM (SELECT user_id, digest, id AS key_id, role AS key_role, expires_at
                FROM api_key WHERE digest";
        let select = self.0.statement("SELECT ").push(COLUMNS).push(keys).push_any(digests);
        let select = select.push(r#") AS k JOIN "user" ON id = user_id"#);
        self.0.read_timed(select).await
    }

    async fn keys_of_user(&self, user_id: i64) -> Result<Vec<ApiKey>, StoreError> {
        let sql = "SELECT id, user_id, name, prefix, role, created_at, expires_at, last_used_at
            FROM api_key WHERE user_id = $1";
        Ok(by_id(self.0.read(self.0.statement(sql).bind(user_id)).await?))
    }

    async fn delete_keys(
        &self,
        actor: Option<i64>,
        user_id: i64,
        key_id: Option<i64>,
    ) -> Result<Vec<ApiKey>, WriteError> {
        let sql = "DELETE FROM api_key WHERE user_id = $1 AND ($2 IS NULL OR id = $2)";
        let delete = self.0.statement(sql).push(RETURNING).bind(user_id).bind(key_id);
        Ok(by_id(match actor {
            Some(_) => self.write_as_admin(actor, user_id, true, delete).await?,
            None => self.0.write(delete).await?,
        }))
    }

    fn note_key_use(&self, key_id: i64, at: u64) {
        self.1.note(key_id, at);
    }
}

fn by_id(mut keys: Vec<ApiKey>) -> Vec<ApiKey> {
    keys.sort_unstable_by_key(|key| key.id);
    keys
}

impl<'r, R: Row> FromRow<'r, R> for ApiKey
where
    (i64, i64, String, String, Option<String>, i64, Option<i64>, Option<i64>): FromRow<'r, R>,
{
    fn from_row(row: &'r R) -> sqlx::Result<Self> {
        let (id, user_id, name, prefix, role, created_at, expires_at, last_used_at) =
            FromRow::from_row(row)?;
        let (role, created_at) = (bound(role)?, stored_seconds(created_at)?);
        let expires_at = expires_at.map(stored_seconds).transpose()?;
        let last_used_at = last_used_at.map(stored_seconds).transpose()?;
        Ok(Self { id, user_id, name, prefix, role, created_at, expires_at, last_used_at })
    }
}

impl<'r, R: Row> FromRow<'r, R> for KeyBearer
where
    User: FromRow<'r, R>,
    (i64, String, String, i64, bool, i64, String, i64, Option<String>, Option<i64>): FromRow<'r, R>,
{
    fn from_row(row: &'r R) -> sqlx::Result<Self> {
        type Columns =
            (i64, String, String, i64, bool, i64, String, i64, Option<String>, Option<i64>);
        let (.., digest, key_id, role, expires_at) = Columns::from_row(row)?;
        let (role, expires_at) = (bound(role)?, expires_at.map(stored_seconds).transpose()?);
        Ok(Self { digest, key_id, role, expires_at, user: User::from_row(row)? })
    }
}

/// An unreadable role is an error: without it the key would grant more.
fn bound(role: Option<String>) -> sqlx::Result<Option<Role>> {
    let role = role.map(|role| role.parse()).transpose();
    role.map_err(|error| Error::Decode(Box::new(error)))
}
